import DaemonSupport
import Detection
import Journal
import Loop
import Motion
import Pictures
import Replay

/// A clip of the journal, and what its detectors made of it.
struct PastClip {
    let stored: StoredClip

    var replay: ClipReplay {
        ClipReplay(sensor: self.stored.sensor, channels: self.stored.channels, motion: self.stored.motion)
    }

    /// A detector that looks at another pace is hit a little before or behind, and another threshold is passed a little later.
    static let (slack, reach) = (TimeSpan.milliseconds(300), TimeSpan.seconds(1))

    /// When what is hit counts as a moment, with the clip as a trace.
    func span(of moment: StoredClip.Moment) -> ClosedRange<Timestamp> {
        let start = Timestamp(microseconds: self.stored.motion.times.first ?? 0)
        let time = Timestamp.zero + (Timestamp(microseconds: moment.time) - start)
        return time - Self.slack...time + Self.reach
    }

    /// About how long it is as a trace, in bytes: for how far something is that reads both.
    var weight: Int64 { Int64(self.stored.motion.count) * 40 }

    /// The detector of a moment as it was then; `nil`: it cannot be made any more.
    static func detector(of moment: StoredClip.Moment) -> CompiledDetector? {
        try? DetectorCompiler.compile(DetectorText.read(moment.options, name: moment.detector), for: nil)
    }

    /// How far it went, and of what: `2.1 g of 2.3 g`.
    func strength(of moment: StoredClip.Moment) -> Strength { self.strength(of: moment, Self.detector(of: moment)) }

    /// The same of a moment whose detector is known.
    func strength(of moment: StoredClip.Moment, _ detector: CompiledDetector?) -> Strength {
        let unit = detector.map { $0.dimension.canonicalUnit } ?? ""
        let found =
            moment.isNear
            ? detector.flatMap { self.replay.reach(of: $0, from: moment.time, before: self.end(of: moment)) } : nil
        // What is kept is a little rounded: it does not pass what it did not pass.
        var reach = found ?? moment.peak
        if let threshold = moment.threshold, let detector, moment.isNear {
            reach = detector.isCompared && threshold > 0 ? max(reach, moment.peak) : reach
            // Where less is more it stayed above.
            if threshold > 0 { reach = detector.asksForLittle ? max(reach, threshold) : min(reach, threshold) }
        }
        return Strength(reach: reach, threshold: moment.threshold, unit: unit)
    }

    /// Before when a near miss went as far as it did: what comes shortly before the next hit of its detector is another motion.
    private func end(of moment: StoredClip.Moment) -> Int64 {
        let later = self.stored.moments.filter {
            !$0.isNear && $0.app == moment.app && $0.detector == moment.detector && $0.time > moment.time
        }
        return later.map(\.time).min().map { (Timestamp(microseconds: $0) - Self.slack).microseconds } ?? .max
    }

    /// How far a motion went, and what it would have had to pass.
    struct Strength {
        var reach: Double
        var threshold: Double?
        var unit: String

        var reachText: String { PastClip.value(self.reach, self.unit) }
        var text: String {
            self.threshold.map { "\(self.reachText) of \(PastClip.value($0, self.unit))" } ?? self.reachText
        }
    }

    static func value(_ value: Double, _ unit: String) -> String {
        unit.isEmpty ? Digits.text(value) : "\(Digits.text(value)) \(unit)"
    }
}

extension JSONLine {
    /// The beginning of each line about a moment.
    init(_ clip: PastClip, _ moment: StoredClip.Moment) {
        self.init()
        self.add("clip", clip.stored.id)
        self.add("wall_us", moment.wall, on: .realtime)
        self.add("app", moment.app)
        self.add("detector", moment.detector)
    }
}

/// Which moments of clips a command is about: of one app or of all, and only near misses or hits, too.
struct MomentChoice {
    let app: String?
    let isNear: Bool

    init(app: String?, isNear: Bool) {
        self.app = app
        self.isNear = isNear
    }

    init(_ arguments: Arguments) {
        self.init(app: arguments.value(of: ClipSource.app), isNear: arguments.has(ClipSource.near))
    }

    func has(_ moment: StoredClip.Moment) -> Bool {
        (self.app.map { $0 == moment.app } ?? true) && (moment.isNear || !self.isNear)
    }
}

/// Which clips of which journal a command is about.
struct ClipSource {
    static let since = TypedOption.time(
        "since", "TIME", "what the journal holds of so long ago and later, such as 48h (default: 24h)",
        expected: "a time, such as 24h")
    static let app = CommandOption.value("app", "ID", "only this app", naming: .app)
    static let near = CommandOption.flag("near", "only what nearly was a hit")

    private let directory: String
    private let since: TimeSpan

    init(_ invocation: Invocation, _ command: String) throws {
        let arguments = invocation.arguments
        self.directory = try JournalPlace.directory(arguments, on: invocation.bus, for: command)
        self.since = try arguments.value(of: Self.since) ?? .seconds(86_400)
    }

    /// The clips of the time, the oldest first.
    func clips() throws(CommandFailure) -> [PastClip] {
        let now = Clock.wallClock()
        return try Self.clips(in: self.directory, from: now - min(self.since.microseconds, now), to: .max)
    }

    static func clips(in directory: String, from since: Int64, to until: Int64) throws(CommandFailure) -> [PastClip] {
        var found: [PastClip] = []
        do throws(JournalFailure) {
            let reader = try JournalReader(in: directory)
            let unreadable = try reader.eachClip(from: since, to: until) { found.append(PastClip(stored: $0)) }
            if unreadable > 0 { complain("\(unreadable) clips cannot be read; they are left out") }
        } catch {
            throw CommandFailure(.no, error.description)
        }
        return found
    }

    /// The same; nothing there is a failure that says what to do.
    func someClips() throws(CommandFailure) -> [PastClip] {
        let clips = try self.clips()
        guard !clips.isEmpty else {
            throw CommandFailure(
                .no, "there are no clips of that time in \(self.directory); 'jostle-brokerd --clips 2s' keeps them")
        }
        return clips
    }
}
