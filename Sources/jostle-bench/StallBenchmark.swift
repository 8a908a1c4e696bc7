import Glibc
import Loop
import TestSupport

/// What an app that does not read costs others, and what is held for it: apps that have 200 events a second, and one among
/// them that is stopped by SIGSTOP all the while.
///
/// The same without the stop runs beside it, on a bus of its own, so that the machine's moods hit both alike.
enum StallBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var median = Pairs()
        var tail = Pairs()
        var memory = Pairs()
        var held = Pairs()
        for _ in 0..<plan.longRounds {
            let unbounded = try StalledRelay()
            let stalled = try StallRun()
            let plain = try StallRun()
            try stalled.stop()
            for run in [stalled, plain] { try run.publish() }
            var most = 0.0
            for _ in 0..<StallRun.looks {
                pass(seconds: plan.stall / Double(StallRun.looks))
                most = max(most, try stalled.held())
                // Asking is work for the bus, which both are to have.
                _ = try plain.held()
            }
            held.add(ours: most, baseline: try unbounded.end())
            memory.add(ours: try stalled.memory(), baseline: try plain.memory())
            let (ours, baseline) = (try stalled.end(), try plain.end())
            median.add(ours: ours.median, baseline: baseline.median)
            tail.add(ours: ours.tail, baseline: baseline.tail)
        }
        report(median.figure("stall.p50", "us"))
        report(tail.figure("stall.p99", "us", within: .atMost(1.1)))
        // The relay's grows as long as the app is stopped; in a short run ours has not come to its bound.
        report(held.figure("stall.held", "KiB", within: plan.stall < 15 ? nil : .atMost(0.4)))
        report(memory.figure("stall.memory", "KiB"))
    }
}

/// An app that is stopped behind the plain relay, which knows no bound: the bus keeps what it does not read.
private final class StalledRelay {
    private let stage: Stage
    private let app: BackgroundProgram
    private let name: String
    private let others: [BackgroundProgram]

    /// Samples flow and the app is stopped when this returns.
    init() throws(Failure) {
        let stage = try Stage()
        self.stage = stage
        let publisher = try stage.baseline("publish", ["--rate", "\(StallRun.rate)", "--count", "1000000"])
        try stage.bus.waitForName("org.jostle.Sensors1")
        self.app = try stage.baseline("subscribe", ["--count", "1000000"])
        self.name = try self.app.connected()
        try self.app.signal(SIGSTOP)
        self.others = [publisher, try stage.baseline("relay", ["--to", self.name])]
    }

    /// KiB that are held for the app at the end.
    func end() throws(Failure) -> Double {
        defer { self.stage.end() }
        let held = try self.stage.bus.outgoingBytes(to: self.name)
        guard held > 0, self.others.allSatisfy({ $0.end == nil }) else { throw Failure("nothing is held for an app") }
        try self.app.signal(SIGCONT)
        return Double(held) / 1_024
    }
}

/// A publisher, a broker, the app that may be stopped, and others beside it.
final class StallRun {
    struct Result {
        /// Latencies of the others in microseconds: the median of what each of them measured.
        var median: Double
        var tail: Double
    }

    private let stage: Stage
    private let broker: BackgroundProgram
    private let suspect: BackgroundProgram
    private let suspectName: String
    private let others: [BackgroundProgram]
    private var publisher: BackgroundProgram?
    private var isStopped = false

    /// How often is looked at what is held.
    static let looks = 10
    static let rate = 200
    private static let app = "org.example.Suspect"

    /// Starts all but the samples.
    init() throws(Failure) {
        let stage = try Stage()
        self.stage = stage
        self.broker = try stage.broker()
        self.suspect = try Self.app(Self.app, on: stage)
        self.suspectName = try self.suspect.connected()
        self.others = try (0..<3).map { index throws(Failure) in
            let app = try Self.app("org.example.Other\(index)", on: stage)
            _ = try app.connected()
            return app
        }
    }

    /// An app that has an event for each sample.
    private static func app(_ id: String, on stage: Stage) throws(Failure) -> BackgroundProgram {
        try stage.baseline(
            "subscribe",
            [
                "--broker", "--app", id, "--count", "1000000", "--timeout", "3600", "--when", "hypot(x, y) > 1g",
                "--rest", "0",
            ])
    }

    func stop() throws(Failure) {
        try self.suspect.signal(SIGSTOP)
        self.isStopped = true
    }

    func publish() throws(Failure) {
        self.publisher = try self.stage.baseline("publish", ["--rate", "\(Self.rate)", "--count", "1000000"])
    }

    /// KiB that are held for the app: in the broker's queue, and sent but not known to be read. What the bus says that it
    /// has for the app must be among the latter.
    func held() throws(Failure) -> Double {
        let unread = try self.count("UnreadBytes")
        let atBus = try self.stage.bus.outgoingBytes(to: self.suspectName)
        if self.isStopped, Double(atBus) > unread {
            throw Failure("the bus holds \(atBus) bytes for the app, and the broker believes \(unread)")
        }
        return (try self.count("QueuedBytes") + unread) / 1_024
    }

    /// KiB of memory that only the bus and the broker have.
    func memory() throws(Failure) -> Double {
        try ProcessAccount.memory(of: self.stage.bus.pid).own + ProcessAccount.memory(of: self.broker.pid).own
    }

    /// Ends the stream, makes sure that the others had all of it and the stopped app was told of what it missed.
    func end() throws(Failure) -> Result {
        defer { self.stage.end() }
        guard let publisher else { throw Failure("nothing was published") }
        let published = try publisher.finalFigures().number("published")
        if self.isStopped { try self.suspect.signal(SIGCONT) }
        // With the answer to a ping comes the rest.
        let deadline = Clock.monotonic.now() + 20_000_000
        while try self.count("QueuedBytes") > 0 {
            guard Clock.monotonic.now() < deadline else { throw Failure("what was kept for the app does not come") }
        }
        let figures = try self.suspect.finalFigures()
        let (lost, told) = (try figures.number("lost"), try figures.number("told"))
        guard lost == told, (lost > 0) == self.isStopped else {
            throw Failure("the app lost \(lost) events and was told of \(told)")
        }
        var medians: [Double] = []
        var tails: [Double] = []
        for other in self.others {
            let figures = try other.finalFigures()
            let (events, lost) = (try figures.number("events"), try figures.number("lost"))
            guard events > 0.98 * published, lost == 0, try figures.number("refused") == 0 else {
                throw Failure("\(published) samples made \(events) events for another app, which lost \(lost)")
            }
            medians.append(try figures.number("p50_us"))
            tails.append(try figures.number("p99_us"))
        }
        return Result(median: medians.median, tail: tails.median)
    }

    private func count(_ property: String) throws(Failure) -> Double {
        let object = "/org/jostle/Broker1/apps/org_2eexample_2eSuspect"
        let answer = try self.stage.bus.busctl([
            "get-property", "org.jostle.Broker1", object, "org.jostle.Broker1.App", property,
        ])
        guard let count = Double(answer.stdout.dropFirst(2).dropLast()) else {
            throw Failure("\(property): \(answer.stdout)\(answer.stderr)")
        }
        return count
    }
}
