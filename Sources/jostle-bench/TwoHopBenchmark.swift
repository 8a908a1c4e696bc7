import Glibc
import Loop
import TestSupport

/// A sample published until its event is received, one event for each sample: through our broker, and through the least
/// that could stand in its place.
enum TwoHopBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var median = Pairs()
        var tail = Pairs()
        var cost = Pairs()
        for _ in 0..<plan.rounds {
            let ours = try TwoHopRun(through: .broker).measure(for: plan.stream)
            let relayed = try TwoHopRun(through: .relay).measure(for: plan.stream)
            median.add(ours: ours.median, baseline: relayed.median)
            tail.add(ours: ours.tail, baseline: relayed.tail)
            cost.add(ours: ours.cost, baseline: relayed.cost)
        }
        report(median.figure("two-hops.p50", "us", within: .atMost(1.25)))
        report(tail.figure("two-hops.p99", "us", within: .atMost(1.5)))
        report(cost.figure("two-hops.cpu", "us/event"))
    }
}

/// The three processes on one bus: a publisher, what is in the middle, and a subscriber.
struct TwoHopRun {
    enum Middle {
        case broker
        case relay
    }

    struct Result {
        /// Latencies in microseconds.
        var median: Double
        var tail: Double
        /// Microseconds of processor time that the middle took for a sample and its event.
        var cost: Double
    }

    private let stage: Stage
    private let publisher: BackgroundProgram
    private let subscriber: BackgroundProgram
    let middle: BackgroundProgram
    /// Others were there before the subscriber, to whom samples went, too.
    private let isPrepared: Bool

    static let rate = 1_000.0
    /// Until caches and the processor's clock have settled.
    private static let warmUp = 0.5
    /// More than any run sends; the publisher is ended.
    private static let plenty = "1000000"

    /// Starts everything; the samples flow when this returns.
    ///
    /// - Parameters:
    ///   - options: for our broker.
    ///   - environment: for the program in the middle.
    ///   - tool: a command that runs the program in the middle, with its arguments.
    ///   - count: of the samples; `nil`: until the end.
    ///   - prepare: what is to be there before the subscriber is.
    init(
        through middle: Middle, _ options: [String] = [], on stage: Stage? = nil, environment: [String: String] = [:],
        under tool: [String] = [], rate: Double = Self.rate, count: Int? = nil,
        prepare: (() throws(Failure) -> Void)? = nil
    ) throws(Failure) {
        self.isPrepared = prepare != nil
        let stage = if let stage { stage } else { try Stage() }
        self.stage = stage
        let count = count.map { "\($0)" } ?? Self.plenty
        self.publisher = try stage.baseline("publish", ["--rate", "\(Int(rate))", "--count", count])
        try stage.bus.waitForName("org.jostle.Sensors1")
        switch middle {
        case .broker:
            self.middle = try stage.broker(options, environment: environment, under: tool)
            try prepare?()
            // Without a pace every sample is a look, and without rest every look a hit.
            self.subscriber = try stage.baseline(
                "subscribe",
                [
                    "--broker", "--app", "org.example.App", "--count", count, "--when", "hypot(x, y) > 1g", "--rest",
                    "0",
                ])
            _ = try self.subscriber.connected()
        case .relay:
            self.subscriber = try stage.baseline("subscribe", ["--count", count])
            let name = try self.subscriber.connected()
            self.middle = try stage.baseline("relay", ["--to", name], environment: environment, under: tool)
            try stage.bus.waitForName("org.jostle.Baseline.Relay", timeout: .seconds(60))
        }
    }

    /// Takes what `counter` counts for a sample in the middle of the stream.
    func perSample(for seconds: Double, _ counter: () throws(Failure) -> [Double]) throws(Failure) -> [Double] {
        pass(seconds: Self.warmUp)
        let before = try counter()
        let began = Clock.monotonic.now()
        pass(seconds: seconds)
        let samples = Double(Clock.monotonic.now() - began) / 1_000_000 * Self.rate
        return zip(try counter(), before).map { ($0 - $1) / samples }
    }

    func measure(for seconds: Double) throws(Failure) -> Result {
        let pid = self.middle.pid
        let cost = try self.perSample(for: seconds) { () throws(Failure) in [try ProcessAccount.cpuTime(of: pid)] }[0]
        let latencies = try self.end()
        return Result(median: try latencies.number("p50_us"), tail: try latencies.number("p99_us"), cost: cost)
    }

    /// Waits for the last of so many events, and ends the program in the middle as it ends by itself.
    func complete(_ events: Int) throws(Failure) {
        guard let received = Figures(try self.subscriber.waitForLine(timeout: .seconds(60)) { $0.hasPrefix("{") }),
            try received.number("events") == Double(events), try received.number("lost") == 0
        else { throw Failure("\(events) samples did not make as many events: \(self.subscriber.output)") }
        try self.middle.signal(SIGTERM)
        _ = try self.middle.waitForEnd(timeout: .seconds(60))
    }

    /// Ends the stream, and makes sure that it was one event for each sample. Tells what the subscriber measured.
    func end() throws(Failure) -> Figures {
        defer { self.stage.end() }
        let published = try self.publisher.finalFigures().number("published")
        let received = try self.subscriber.finalFigures()
        let events = try received.number("events")
        // The last of them may be under way.
        let areWhole = self.isPrepared ? try received.number("lost") == 0 && events > 0 : events > 0.98 * published
        guard areWhole, try received.number("refused") == 0 else {
            throw Failure("\(published) samples made \(events) events: the two sides did not do the same work")
        }
        return received
    }
}
