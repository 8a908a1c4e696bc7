import DBus
import Loop
import Protocol
import TestSupport

/// What it costs the apps that are there when 50 that are not are started for the same shake, two at a time.
///
/// In turn with it, in the same run: as many starts that a program has the bus make by itself, two at a time, which is what
/// starting costs here whoever asks for it; and no starts at all.
enum StormBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var duration = Pairs()
        var median = Pairs()
        var tail = Pairs()
        var quietTail = Pairs()
        for _ in 0..<plan.longRounds {
            let bare = try StormRun(.bare).result()
            let storm = try StormRun(.storm).result()
            let quiet = try StormRun(.quiet(seconds: storm.seconds)).result()
            duration.add(ours: storm.seconds * 1_000, baseline: bare.seconds * 1_000)
            median.add(ours: storm.median, baseline: bare.median)
            tail.add(ours: storm.tail, baseline: bare.tail)
            quietTail.add(ours: storm.tail, baseline: quiet.tail)
        }
        report(duration.figure("storm.starts", "ms"))
        report(median.figure("storm.p50", "us"))
        report(tail.figure("storm.p99", "us", within: .atMost(1.2)))
        report(quietTail.figure("storm.p99-quiet", "us"))
    }
}

/// Three apps that have an event for each sample, and others that are started beside them.
private final class StormRun {
    enum Kind {
        /// The broker starts them for the first sample.
        case storm
        /// We do, and the broker knows nothing of them.
        case bare
        /// Nobody does, for so long.
        case quiet(seconds: Double)
    }

    struct Result {
        /// From the first sample to the last answer of those that were started.
        var seconds: Double
        /// Latencies of those that are there in microseconds: the median of what each of them measured.
        var median: Double
        var tail: Double
    }

    private static let names = (0..<50).map { "org.example.Dead\($0)" }
    private static let mostStarting = 2
    private static let rate = 500
    private static let patience: Int64 = 120_000_000
    /// What policy says, and what the apps say that it is given, in directories beside the bus.
    private static let files = """
        cd "$1"; shift; mkdir policy apps
        printf '[Policy]\\nDefault=allow\\n[Rule wake]\\nWhenState=dead\\nThen=allow\\nDeliver=wake\\nLifespan=10min\\n' \
        > policy/10-bench.conf
        for name; do
        printf '[App]\\nUsage=Measures\\n[Detector d]\\nwhen=hypot(x, y) > 1g\\nrest=1h\\n' > "apps/$name.conf"
        done
        """

    private let kind: Kind
    private let stage: Stage
    private let broker: BackgroundProgram
    private let others: [BackgroundProgram]
    private let loop: EventLoop
    private let connection: Connection
    private var asked = 0
    private var called = 0
    private var failure: Failure?

    init(_ kind: Kind) throws(Failure) {
        let program = Programs.path(of: "jostle-bench")
        let stage = try Stage(
            services: Self.names.map { PrivateBus.Service(name: $0, command: "\(program) --launched \($0)") })
        self.kind = kind
        self.stage = stage
        let directory = stage.bus.directory
        // Every broker has the same policy; only one knows of apps that are not there.
        let known = if case .storm = kind { Self.names } else { [String]() }
        let made = try stage.bus.run(["sh", "-ec", Self.files, "sh", directory] + known)
        guard made.status == 0 else { throw Failure("cannot write files: \(made.stderr)") }
        self.broker = try stage.broker(["--policy", "\(directory)/policy", "--apps", "\(directory)/apps"])
        self.others = try (0..<3).map { index throws(Failure) in
            let app = try stage.baseline(
                "subscribe",
                [
                    "--broker", "--app", "org.example.Other\(index)", "--count", "1000000", "--timeout", "3600",
                    "--when", "hypot(x, y) > 1g", "--rest", "0",
                ])
            _ = try app.connected()
            return app
        }
        do {
            self.loop = try EventLoop()
            self.connection = Connection(to: .address(stage.bus.address), on: self.loop, names: [LaunchedApp.listener])
            try self.connection.openAndWait()
        } catch {
            throw Failure("\(error)")
        }
        self.connection.onSignal(LaunchedApp.interface, "Called") { [unowned self] _ in self.called += 1 }
    }

    func result() throws(Failure) -> Result {
        defer { self.stage.end() }
        let publisher = try self.stage.baseline("publish", ["--rate", "\(Self.rate)", "--count", "1000000"])
        let began = Clock.monotonic.now()
        switch self.kind {
        case .storm: try self.run { self.called == Self.names.count }
        case .bare:
            for _ in 0..<Self.mostStarting { self.launchNext() }
            try self.run { self.called == Self.names.count }
        case .quiet(let seconds): pass(seconds: seconds)
        }
        let seconds = Double(Clock.monotonic.now() - began) / 1_000_000
        _ = try publisher.finalFigures()
        var medians: [Double] = []
        var tails: [Double] = []
        for other in self.others {
            let figures = try other.finalFigures()
            guard try figures.number("events") > 0, try figures.number("lost") == 0 else {
                throw Failure("an app that was there lost events")
            }
            medians.append(try figures.number("p50_us"))
            tails.append(try figures.number("p99_us"))
        }
        guard self.broker.end == nil else { throw Failure("the broker ended") }
        return Result(seconds: seconds, median: medians.median, tail: tails.median)
    }

    /// Starts the next one, as the broker does: with a call to its name.
    private func launchNext() {
        guard self.asked < Self.names.count else { return }
        let target = CallTarget(Self.names[self.asked], Path.receiver, InterfaceName.receiver.description)
        self.asked += 1
        self.connection.call(target, "Deliver", "push", [EventCodec.Wire](), [String: Value]()) { [weak self] result in
            do throws(BusError) {
                _ = try result.take()
            } catch {
                self?.failure = Failure("\(error)")
            }
            self?.launchNext()
        }
    }

    private func run(until isDone: () -> Bool) throws(Failure) {
        let deadline = Clock.monotonic.now() + Self.patience
        while !isDone() {
            if let failure { throw failure }
            guard Clock.monotonic.now() < deadline else { throw Failure("only \(self.called) were called in time") }
            do throws(SystemError) {
                _ = try self.loop.runOnce(timeout: 100)
            } catch {
                throw Failure("\(error)")
            }
        }
    }
}
