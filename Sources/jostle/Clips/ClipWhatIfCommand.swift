import DaemonSupport
import Detection
import JostleClient
import Journal
import Loop
import Motion
import Pictures
import Replay

/// `jostle whatif`: what another detector would have made of the motion that was kept.
struct ClipWhatIfCommand {
    static let syntax = CommandSyntax(
        "whatif", "show what another threshold would have made of the motion in clips", reaching: .files,
        options: [
            CommonOption.detector, ClipSource.since, JournalPlace.option, ClipSource.app, CommonOption.json,
        ],
        action: { try ClipWhatIfCommand($0).run() })

    /// What a moment would have been.
    private enum Fate: String {
        case hit
        case none
        /// Less than what was kept would have been one, so that of others like it nobody knows.
        case unknown
    }

    private struct Tally {
        var hitsThen = 0
        var hits = 0
        var more = 0
        var fewer = 0
        var isUnknown = false
        /// Those for which something would be otherwise.
        var apps: Set<String> = []
    }

    private let source: ClipSource
    private let requests: [DetectorRequest]
    private let choice: MomentChoice
    private let isJSON: Bool
    private let terminal: Terminal

    private init(_ invocation: Invocation) throws {
        let arguments = invocation.arguments
        do throws(DetectorSpec.Problem) {
            self.requests = try DetectorSpec.detectors(arguments.values(of: CommonOption.detector)).map(\.request)
        } catch {
            throw UsageProblem(error.message)
        }
        guard !self.requests.isEmpty else {
            throw UsageProblem("whatif: give a detector to try with --detector, such as shake.planar,threshold=2g")
        }
        self.source = try ClipSource(invocation, "whatif")
        self.choice = MomentChoice(arguments)
        (self.isJSON, self.terminal) = (invocation.isJSON, invocation.terminal)
    }

    private func run() throws(CommandFailure) {
        var tried: [CompiledDetector] = []
        for request in self.requests {
            do throws(DetectorProblem) {
                tried.append(try DetectorCompiler.compile(request, for: nil))
            } catch {
                throw .usage("\(error)")
            }
        }
        let clips = try self.source.someClips()
        let progress = Progress("whatif", of: Int64(clips.count * tried.count), self.terminal)
        defer { progress.end() }
        for detector in tried { self.tryOut(detector, on: clips, progress) }
    }

    private func tryOut(_ detector: CompiledDetector, on clips: [PastClip], _ progress: Progress) {
        var tally = Tally()
        var kept: KeptMotion?
        for clip in clips {
            progress.advance(by: 1)
            guard clip.stored.sensor == detector.sensor else { continue }
            for moment in clip.stored.moments where self.isLike(moment, detector) {
                let fate = self.fate(of: moment, in: clip, detector)
                if !moment.isNear { tally.hitsThen += 1 }
                if fate == .hit { tally.hits += 1 }
                if fate == .hit, moment.isNear { tally.more += 1 }
                if fate == .none, !moment.isNear { tally.fewer += 1 }
                if moment.isNear == (fate == .hit) { tally.apps.insert(moment.app) }
                if let own = KeptMotion(moment), let threshold = detector.threshold, own.isTooMuch(threshold) {
                    tally.isUnknown = true
                    kept = KeptMotion.ofAll([kept, own].compactMap { $0 })
                }
                self.show(moment, in: clip, fate)
            }
        }
        self.summarize(detector, tally, kept)
    }

    /// A detector is compared with those of its own kind only: what others kept says nothing of it.
    private func isLike(_ moment: StoredClip.Moment, _ detector: CompiledDetector) -> Bool {
        moment.preset == (detector.preset ?? "") && self.choice.has(moment)
    }

    private func fate(
        of moment: StoredClip.Moment, in clip: PastClip, _ detector: CompiledDetector
    ) -> Fate {
        // What is in force for it besides its threshold, such as its pace, is what is tried.
        let hits = clip.replay.hits(of: detector.withoutRest, lookingAt: moment.time)
        let time = Timestamp(microseconds: moment.time)
        let (first, last) = (time - PastClip.slack, time + PastClip.reach)
        return hits.contains { (first...last).contains($0.time) } ? .hit : .none
    }

    // MARK: Showing

    private func show(_ moment: StoredClip.Moment, in clip: PastClip, _ fate: Fate) {
        let strength = clip.strength(of: moment)
        if self.isJSON {
            var line = JSONLine(clip, moment)
            line.add("was", moment.isNear ? "near" : "hit")
            line.add("would_be", fate.rawValue)
            line.add("reach", strength.reach)
            self.terminal.print(line.text)
            return
        }
        // Only what would be otherwise is worth a line.
        guard moment.isNear == (fate == .hit) else { return }
        self.terminal.print(
            "\(Moment(wall: moment.wall).text)  \(printable(AppID.shown(moment.app)))  \(printable(moment.detector))  clip \(clip.stored.id)"
        )
        self.terminal.print("  was       \(moment.isNear ? "no hit" : "a hit"): \(strength.text)")
        self.terminal.print("  would be  \(fate == .hit ? "a hit" : "no hit")")
    }

    private func summarize(_ detector: CompiledDetector, _ tally: Tally, _ kept: KeptMotion?) {
        let unit = detector.dimension.canonicalUnit
        if self.isJSON {
            var line = JSONLine()
            line.add("detector", detector.name)
            line.add("hits_then", tally.hitsThen)
            line.add("hits", tally.hits)
            line.add("more", tally.more)
            line.add("fewer", tally.fewer)
            line.add("unknown", tally.isUnknown)
            if let kept { line.add("kept_from", kept.bound) } else { line.addNull("kept_from") }
            self.terminal.print(line.text)
            return
        }
        let side = detector.asksForLittle ? "below" : "over"
        let threshold = detector.threshold.map { " \(side) \(PastClip.value($0, unit))" } ?? ""
        self.terminal.print(
            "\(printable(detector.name))\(threshold): \(tally.hits) \(tally.hits == 1 ? "hit" : "hits") in clips instead of \(tally.hitsThen), "
                + "\(tally.more) more and \(tally.fewer) fewer")
        if tally.isUnknown, let kept {
            self.terminal.print(
                "unknown: how many more there would be; \(kept.elsewhere) \(PastClip.value(kept.bound, unit)) "
                    + "no motion was kept")
        }
        guard let value = detector.threshold, let preset = detector.preset, PresetCatalogue.hasThreshold(preset),
            let advice = Self.advice(to: tally.apps, "\(preset):\(Digits.text(value))\(unit)")
        else { return }
        self.terminal.print(advice)
    }

    /// What puts another threshold in force for apps. Policy names no client without a name: of these alone there is none.
    static func advice(to apps: Set<String>, _ threshold: String) -> String? {
        let named = apps.filter { AppID.isValid($0) }
        guard let app = named.first else { return nil }
        let section = "[App \(named.count == 1 ? printable(app) : "ID")]"
        return "a policy file puts it in force: \(section) Thresholds=\(threshold)"
    }
}
