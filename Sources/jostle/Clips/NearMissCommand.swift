import DaemonSupport
import Detection
import Journal
import Loop
import Motion
import Pictures

/// `jostle explain --clip`: what nearly was a hit, and what would have made it one.
struct NearMissCommand {
    private let directory: String
    /// `nil`: the newest.
    private let clip: Int64?
    private let choice: MomentChoice
    private let isJSON: Bool
    private let terminal: Terminal

    init(_ word: String, _ invocation: Invocation, app: String?) throws(UsageProblem) {
        let arguments = invocation.arguments
        guard arguments.positionals.isEmpty else {
            throw UsageProblem("explain: give an epoch, or --clip: what nearly was a hit has no epoch")
        }
        let number = Int64(word)
        guard word == "near" || (number ?? 0) > 0 else {
            throw UsageProblem("explain: give --clip the number of a clip or 'near', not '\(printable(word))'")
        }
        self.directory = try JournalPlace.directory(arguments, on: invocation.bus, for: "explain")
        self.clip = number
        self.choice = MomentChoice(app: app, isNear: true)
        (self.isJSON, self.terminal) = (invocation.isJSON, invocation.terminal)
    }

    func run() throws(CommandFailure) {
        var found: (clip: PastClip, moments: [StoredClip.Moment])?
        for clip in try ClipSource.clips(in: self.directory, from: 0, to: .max)
        where self.clip.map({ $0 == clip.stored.id }) ?? true {
            let moments = clip.stored.moments.filter(self.choice.has)
            if !moments.isEmpty { found = (clip, moments) }
        }
        guard let (clip, moments) = found else {
            throw CommandFailure(
                .no,
                self.clip.map { "nothing in clip \($0) nearly was a hit, or there is no such clip" }
                    ?? "no near miss is kept here; a broker with --clips 2s keeps those that come")
        }
        for (index, moment) in moments.enumerated() {
            if self.isJSON {
                self.terminal.print(self.json(clip, moment))
                continue
            }
            if index > 0 { self.terminal.print() }
            NearMissText.lines(clip, moment, time: Moment(wall: moment.wall).line).forEach { self.terminal.print($0) }
        }
    }

    private func json(_ clip: PastClip, _ moment: StoredClip.Moment) -> String {
        let strength = clip.strength(of: moment)
        var line = JSONLine(clip, moment)
        line.add("preset", moment.preset)
        line.add("reach", strength.reach)
        if let threshold = strength.threshold { line.add("threshold", threshold) } else { line.addNull("threshold") }
        line.add("text", NearMissText.lines(clip, moment, time: Moment(wall: moment.wall).text))
        return line.text
    }
}

/// What nearly was a hit, in words.
enum NearMissText {
    static func lines(_ clip: PastClip, _ moment: StoredClip.Moment, time: String) -> [String] {
        let detector = PastClip.detector(of: moment)
        return self.lines(clip, moment, detector, clip.strength(of: moment, detector), time: time)
    }

    /// The same of a moment of which all is known.
    static func lines(
        _ clip: PastClip, _ moment: StoredClip.Moment, _ detector: CompiledDetector?, _ strength: PastClip.Strength,
        time: String
    ) -> [String] {
        var lines = [
            "\(printable(AppID.shown(moment.app)))  \(printable(moment.detector)), nearly  \(time)  clip \(clip.stored.id)",
            "  it was \(strength.text): no hit, so that nothing was decided and nobody was refused",
        ]
        guard let detector, let threshold = strength.threshold else { return lines }
        let unit = detector.dimension.canonicalUnit
        // What is shown is to be a hit: rounded away from it, upwards where less is more.
        let sign = detector.asksForLittle ? -1.0 : 1
        let (reach, limit) = (sign * strength.reach, sign * threshold)
        let lower = reach < limit ? (reach * 100).rounded(.down) / 100 : reach
        let spelled = "\(Digits.text(sign * (lower < reach ? lower : lower - 0.01)))\(unit)"
        if PresetCatalogue.hasThreshold(moment.preset) {
            lines.append("  a threshold of \(spelled) would have made it one; what else that would hit, says")
            lines.append("  jostle whatif --detector \(moment.preset),threshold=\(spelled)")
        }
        return lines
    }
}

extension PresetCatalogue {
    /// Whether there is such a preset, and a threshold is what it asks for.
    static func hasThreshold(_ preset: String) -> Bool {
        self.named(preset)?.parameters.contains { $0.name == "threshold" } == true
    }
}
