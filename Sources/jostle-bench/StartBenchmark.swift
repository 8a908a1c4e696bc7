import DBus
import Loop
import TestSupport

/// The time from a daemon's start until it owns its name, against a daemon in C that does nothing else. The broker has epochs on
/// the disk before, so against it that one has a number there.
enum StartBenchmark {
    private static let baseline = "org.jostle.Baseline.Daemon"
    /// Starts in a round: one takes a few milliseconds, and the first after a while is slow.
    private static let repetitions = 4

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let stage = try Stage()
        defer { stage.end() }
        let programs = [
            ("jostle-sensord", [], "org.jostle.Sensors1", []),
            ("jostle-brokerd", stage.brokerOptions, "org.jostle.Broker1", self.keeping(on: stage)),
        ]
        for (program, options, name, theirs) in programs {
            try self.measure(program, options, owning: name, beside: theirs, on: stage, plan) {
                report($0.figure("start.\(program)", "ms", within: .atMost(4)))
            }
        }
    }

    /// Has the least daemon keep something, where the broker does.
    static func keeping(on stage: Stage) -> [String] { ["--keep", "\(stage.bus.directory)/number"] }

    /// Starts a program and the least daemon in turn.
    static func measure(
        _ program: String, _ options: [String], owning name: String, beside least: [String], on stage: Stage,
        _ plan: Plan, _ report: (Pairs) -> Void
    ) throws(Failure) {
        let bus = ["--bus", stage.bus.address]
        let watch = try StartWatch(stage.bus.address)
        var times = Pairs()
        for _ in 0..<plan.rounds * Self.repetitions {
            let ours = try watch.time(program, bus + options + ["--log-level", "err"], owning: name)
            let theirs = try watch.time(
                "jostle-baseline", ["daemon"] + bus + ["--name", baseline] + least, owning: baseline)
            times.add(ours: ours, baseline: theirs)
        }
        report(times)
    }
}

/// Starts programs and is told by the bus when they own their names. It is there before, so that nothing is waited for
/// but the program.
private final class StartWatch {
    private let loop: EventLoop
    private let connection: Connection
    private let names: NameWatch

    private static let patience: Int64 = 20_000_000

    init(_ address: String) throws(Failure) {
        do {
            self.loop = try EventLoop()
            self.connection = Connection(to: .address(address), on: self.loop)
            try self.connection.openAndWait()
        } catch {
            throw Failure("\(error)")
        }
        self.names = NameWatch(on: self.connection)
    }

    /// Milliseconds from the start until the name has an owner. The program has ended when this returns.
    func time(_ program: String, _ arguments: [String], owning name: String) throws(Failure) -> Double {
        var owned: Int64?
        var isKnown = false
        let token = self.names.follow(name) { owner in
            isKnown = true
            if owner != nil { owned = Clock.monotonic.now() }
        }
        defer { self.names.unfollow(token) }
        try self.run("the bus did not answer") { isKnown }
        guard owned == nil else { throw Failure("\(name) has an owner before \(program) starts") }

        var command = ChildProcess.Command(Programs.path(of: program), arguments)
        (command.output, command.errorOutput) = (.null, .null)
        let began = Clock.monotonic.now()
        let child: ChildProcess
        do throws(SystemError) {
            child = try ChildProcess(command, on: self.loop)
        } catch {
            throw Failure("cannot start \(program): \(error)")
        }
        try self.run("\(program) did not own \(name)") { owned != nil || child.ending != nil }
        guard let owned, child.ending == nil else { throw Failure("\(program) ended at its start") }
        try? child.terminate()
        try self.run("\(program) did not end") { child.ending != nil }
        return Double(owned - began) / 1_000
    }

    private func run(_ complaint: String, until isDone: () -> Bool) throws(Failure) {
        let deadline = Clock.monotonic.now() + Self.patience
        while !isDone() {
            let left = deadline - Clock.monotonic.now()
            guard left > 0 else { throw Failure("\(complaint) within \(Self.patience / 1_000_000) s") }
            do throws(SystemError) {
                try self.loop.runOnce(timeout: left)
            } catch {
                throw Failure("\(error)")
            }
        }
    }
}
