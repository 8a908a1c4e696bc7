import DaemonSupport
import Glibc
import JostleClient
import Loop
import Motion
import Protocol

/// `jostle watch`: registers detectors and prints events until it is stopped.
struct WatchCommand {
    private static let kept = CommandOption.flag(
        "kept", "begin with the events that are kept for the app, and say when they end")
    private static let count = TypedOption.number(
        "count", "N", "end after N events", in: 1...Int.max, expected: "a number of events")

    static let syntax = CommandSyntax(
        "watch", "register detectors and print their events", reaching: .broker,
        options: [
            CommonOption.json, CommonOption.app, kept, count, CommonOption.gesture, CommonOption.when,
            CommonOption.sensorOfCondition,
            CommonOption.every, CommonOption.rest,
        ],
        arguments: [CommonArgument.presets],
        exits: [.done: "it was told to end (Ctrl-C, SIGTERM), has printed --count events, or nobody reads any more"],
        action: {
            let count = try $0.arguments.value(of: count)
            if $0.arguments.has(kept), !$0.arguments.has(CommonOption.app) {
                throw UsageProblem("watch: --kept goes with --app: for a client without a name nothing is kept")
            }
            try WatchCommand(
                detectors: try $0.arguments.detectors(), app: $0.arguments.value(of: CommonOption.app) ?? "",
                loop: $0.loop, bus: JostleApp.Bus($0.bus), isJSON: $0.isJSON, count: count,
                subscribes: $0.arguments.has(kept), terminal: $0.terminal
            ).run()
        })

    var detectors: [Detector]
    var app: String
    let loop: EventLoop
    var bus: JostleApp.Bus
    var isJSON: Bool
    /// End after so many events; `nil`: never.
    var count: Int?
    /// Ask for what is kept for the app first.
    var subscribes: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        do throws(JostleError) {
            let client = JostleApp(app: self.app, on: self.bus, loop: self.loop)
            var left = self.count
            client.onEvent = { event in
                // A reader that left ends us, as it ends every filter. What it did not get comes again.
                guard self.terminal.print(self.isJSON ? event.json : event.line(self.terminal)) else {
                    client.leaveOpen(event)
                    return client.stop()
                }
                left = left.map { $0 - 1 }
                if left == 0 { client.stop() }
            }
            client.onGap = { gap in
                if !self.terminal.print(self.isJSON ? gap.json : self.terminal.styled(gap.line, .dim)) { client.stop() }
            }
            client.onCaughtUp = { last in
                var line = JSONLine()
                line.add("caught_up", last)
                let text = self.isJSON ? line.text : self.terminal.styled("nothing more is kept", .dim)
                if !self.terminal.print(text) { client.stop() }
            }
            endOnSignals(self.loop)
            try client.connectForGood()
            if self.subscribes {
                _ = try client.askForGood(on: self.loop) { () throws(JostleError) in try client.subscribe() }
            }
            let effective = try client.askForGood(on: self.loop) { () throws(JostleError) in
                try client.add(self.detectors)
            }
            let isHeard = self.announce(effective)
            stopOnSignals(self.loop) { client.stop() }
            if left != 0, isHeard { try client.run(watching: effective, on: self.loop) }
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Says what is in force, and what the broker thinks of it.
    ///
    /// - Returns: false when nobody reads it.
    private func announce(_ effective: [EffectiveDetector]) -> Bool {
        var isHeard = true
        for detector in effective {
            let line = self.terminal.styled("watching \(detector.line)", .dim)
            isHeard = self.terminal.print(self.isJSON ? detector.json : line)
            detector.warn()
        }
        return isHeard
    }
}

extension JostleApp {
    /// Connects, and from then on says on standard error when the broker is waited for, and when it is back.
    func connectForGood() throws(JostleError) {
        self.onBrokerChange = { complain($0 ? "the broker is back" : "the broker is gone; waiting for it") }
        try self.connect { complain("the broker is not running; waiting for it") }
    }

    /// Asks the broker for something; one that leaves before it answers is waited for, too, and the next one asked.
    func askForGood<Answer>(
        on loop: EventLoop, _ ask: () throws(JostleError) -> Answer
    ) throws(JostleError) -> Answer {
        let tell = self.onBrokerChange
        defer { self.onBrokerChange = tell }
        while true {
            var isThere: Bool?
            self.onBrokerChange = { news in
                tell(news)
                isThere = news
            }
            do throws(JostleError) {
                return try ask()
            } catch {
                guard error.kind == .noService else { throw error }
                // That it has left may be heard a little later.
                var isLate = false
                let timer = loop.schedule(after: 1_000_000) { isLate = true }
                defer { loop.cancel(timer) }
                try self.run(until: { isThere != nil || isLate })
                guard isThere != nil else { throw error }
            }
            try self.run(until: { isThere == true })
        }
    }

    /// Runs until it is stopped, or the broker refuses for good what it took before.
    func run(watching effective: [EffectiveDetector], on loop: EventLoop) throws(JostleError) {
        var refusal: JostleError?
        self.onRefusal = { [unowned self] error in
            guard error.isFinal else { return complain("\(error); the broker is asked again") }
            refusal = error
            self.stop()
        }
        try self.tellMissing(effective, on: loop)
        if !self.isStopped { try self.run() }
        if let refusal { throw refusal }
    }

    /// Says after a second of which detectors the sensor is not there: until then it may be for them that the reader is being started.
    private func tellMissing(_ effective: [EffectiveDetector], on loop: EventLoop) throws(JostleError) {
        let missing = Set(effective.lazy.filter(\.isMissing).map(\.name))
        guard !missing.isEmpty else { return }
        var isDue = false
        let timer = loop.schedule(after: 1_000_000) { isDue = true }
        defer { loop.cancel(timer) }
        try self.run(until: { isDue })
        if self.isStopped { return }
        // Meanwhile whoever ends us is heard. A broker that is gone by now is complained of already.
        var detectors: [EffectiveDetector]?
        self.detectors { detectors = $0 }
        try self.run(until: { detectors != nil })
        if self.isStopped { return }
        for detector in detectors ?? [] where missing.contains(detector.name) && detector.isMissing {
            complain("\(detector.name): the sensor is not there; waiting for it")
        }
    }
}

extension EffectiveDetector {
    /// What it is called, and what is in force for it.
    var line: String {
        "\(self.name)  " + self.settings.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }

    /// Says what the broker thinks of it.
    func warn() {
        for warning in self.warnings { complain("\(self.name): \(warning)") }
    }

    fileprivate var isMissing: Bool {
        self.settings.contains { $0.key == DetectorKey.available && $0.content == .flag(false) }
    }

    /// `{"watching":NAME,…}`, so that a program knows when events can come.
    var json: String {
        var line = JSONLine()
        line.add("watching", self.name)
        for setting in self.settings {
            let key = setting.key.replacing("-", with: "_")
            switch setting.content {
            case .text(let text): line.add(key, text)
            case .number(let number): line.add(key, number)
            case .whole(let number): line.add(key, number)
            case .time(let time): line.add("\(key)_us", time.microseconds)
            case .flag(let flag): line.add(key, flag)
            }
        }
        if !self.warnings.isEmpty { line.add("warnings", self.warnings.map(\.text)) }
        return line.text
    }
}

extension MotionEvent {
    /// How long after its sample the event reached us, in µs.
    var delay: UInt64 { self.received &- min(self.time, self.received) }

    var json: String {
        var line = JSONLine()
        line.add("detector", self.detector)
        line.add("sequence", self.sequence)
        line.add("epoch", self.epoch)
        line.add("t_us", self.time, on: .boottime)
        line.add("peak", self.peak)
        line.add("delay_us", self.delay)
        line.add("simulated", self.isSimulated)
        line.add("clipped", self.isClipped)
        line.add("redelivered", self.isRedelivered)
        if let transition = self.transition { line.add("transition", transition) }
        if let distance = self.distance { line.add("distance_m", distance) }
        if let filter = self.filter { line.add("filter_m", filter) }
        if let stay = self.stay { line.add("stay_us", stay) }
        return line.text
    }

    func line(_ terminal: Terminal) -> String {
        // What was kept may be old.
        let delay =
            self.delay < 1_000_000
            ? "\(rounded(Double(self.delay) / 1_000, 2)) ms"
            : TimeSpan(microseconds: Int64(clamping: self.delay)).inWords
        return "\(terminal.styled(self.detector, .bold))  at \(Moment(boottime: self.time).text)  "
            + "peak \(rounded(self.peak))"
            + (self.filter.map { "  filter \(rounded($0, 0)) m" } ?? "") + (self.transition.map { "  \($0)" } ?? "")
            + (self.isClipped ? " (clipped)" : "") + (self.isRedelivered ? " (sent again)" : "")
            + terminal.styled("  \(delay) after the sample", .dim)
    }
}

extension EventGap {
    /// `{"gap":COUNT,…}`.
    var json: String {
        var line = JSONLine()
        line.add("gap", self.count)
        line.add("first", self.first)
        line.add("last", self.last)
        line.add("dropped", self.dropped)
        line.add("expired", self.expired)
        line.add("removed", self.removed)
        return line.text
    }

    var line: String {
        let reasons = [("dropped", self.dropped), ("too old", self.expired), ("removed", self.removed)]
        let told = reasons.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        let what = self.count == 1 ? "event \(self.first) is" : "events \(self.first) to \(self.last) are"
        return "\(what) missing: \(told)"
    }
}
