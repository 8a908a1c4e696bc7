import DaemonSupport
import Detection
import Journal
import JostleClient
import Loop
import Motion
import Replay

/// `jostle tune`: sweeps a parameter of a preset or a condition over labelled traces and recommends a value.
struct TuneCommand {
    private static let preset = CommandOption.value(
        "preset", "PRESET[,option=value...]", "the preset to tune (default: shake)", naming: .detector, repeats: true)
    private static let parameter = CommandOption.value(
        "parameter", "NAME[=LOW..HIGH]",
        "what to find a value for, and between which: the name in the condition (level=1g..4g), or a parameter of the preset "
            + "(default: its threshold)")
    private static let positive = CommandOption.list(
        "positive", "FILE", "a trace in which the motion is to be found", naming: .file)
    private static let negative = CommandOption.list(
        "negative", "FILE", "a trace in which each hit is false", naming: .file)
    private static let target = TypedOption<Double>(
        "target", "N", "false hits an hour that are allowed (default: 1)", expected: "a number of false hits an hour"
    ) { text in
        (try? Quantity.parse(text)).flatMap { $0.dimension == .none && $0.value >= 0 ? $0.value : nil }
    }
    private static let phases = TypedOption.number(
        "phases", "N", "grid phases to try (default: 5)", in: 1...20, expected: "a number from 1 to 20")

    private static let fromClips = CommandOption.flag(
        "from-clips", "tune with the clips of a journal, too: what was a hit of the preset, or nearly, is to be found")

    static let syntax = CommandSyntax(
        "tune", "find the threshold of a preset, or a number in a condition, that finds most and disturbs least",
        reaching: .files,
        options: [
            preset, CommonOption.gesture, CommonOption.when, CommonOption.sensorOfCondition, CommonOption.every,
            CommonOption.rest, parameter, positive, negative, fromClips, ClipSource.near, ClipSource.app,
            ClipSource.since,
            JournalPlace.option, target, phases, ReportFile.option,
        ],
        arguments: [
            CommandArgument(
                "TRACE", "traces whose labels say what they show ('shake …', 'not-shake …'); others are skipped", .list,
                naming: .file)
        ]
    ) { try TuneCommand($0).run() }

    /// What `--parameter` says.
    private struct Parameter {
        let name: String
        let range: (low: Quantity, high: Quantity)?

        init(_ text: String) throws(UsageProblem) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            self.name = parts[0]
            guard !self.name.isEmpty else {
                throw UsageProblem("option '--parameter' needs a name, not '\(printable(text))'")
            }
            guard parts.count > 1 else {
                self.range = nil
                return
            }
            let ends = Self.ends(parts[1]).map { try? Quantity.parse($0) }
            guard ends.count == 2, let low = ends[0], let high = ends[1], low.dimension == high.dimension,
                low.value < high.value
            else {
                throw UsageProblem(
                    "option '--parameter' needs a name and a range, such as level=1g..4g, not '\(printable(text))'")
            }
            self.range = (low, high)
        }

        /// What stands before and behind two dots.
        private static func ends(_ text: String) -> [String] {
            let characters = Array(text)
            guard let dots = characters.indices.dropLast().first(where: { characters[$0...($0 + 1)] == [".", "."] })
            else { return [] }
            return [String(characters[..<dots]), String(characters[(dots + 2)...])]
        }
    }

    private let requests: [DetectorRequest]
    private let parameter: Parameter?
    private let files: [(path: String, kind: ThresholdSweep.Kind?)]
    /// Where clips are, and what of them counts; `nil`: none do.
    private let clips: (source: ClipSource, choice: MomentChoice)?
    /// False hits an hour that are allowed.
    private let target: Double
    private let phases: Int
    private let report: String?
    private let terminal: Terminal

    private static let steps = 60

    private init(_ invocation: Invocation) throws {
        let (arguments, terminal) = (invocation.arguments, invocation.terminal)
        let inputs = [Self.positive, Self.negative, CommonOption.gesture].flatMap { arguments.values(of: $0) }
        self.report = try ReportFile.path(arguments, beside: inputs + arguments.positionals)
        self.target = try arguments.value(of: Self.target) ?? 1
        self.phases = try arguments.value(of: Self.phases) ?? 5
        self.parameter = try arguments.value(of: Self.parameter).map { text throws(UsageProblem) in try Parameter(text)
        }
        try arguments.checkOptionsOfConditions()
        let presets = arguments.values(of: Self.preset)
        var detectors: [Detector] = []
        do throws(DetectorSpec.Problem) {
            let isDefault =
                presets.isEmpty && !arguments.has(CommonOption.when) && !arguments.has(CommonOption.gesture)
            detectors = try DetectorSpec.detectors(isDefault ? ["shake"] : presets)
        } catch {
            throw UsageProblem(error.message)
        }
        for path in arguments.values(of: CommonOption.gesture) { detectors.append(try GestureFile.detector(path)) }
        if let condition = arguments.value(of: CommonOption.when) {
            detectors.append(arguments.detector(when: condition))
        }
        self.requests = detectors.map(\.request)
        self.files =
            arguments.values(of: Self.positive).map { (path: $0, kind: .some(.positive)) }
            + arguments.values(of: Self.negative).map { (path: $0, kind: .some(.negative)) }
            + arguments.positionals.map { (path: $0, kind: nil) }
        self.terminal = terminal
        self.clips = arguments.has(Self.fromClips) ? (try ClipSource(invocation, "tune"), MomentChoice(arguments)) : nil
        let ofClips = [ClipSource.near, ClipSource.app, JournalPlace.option].first { arguments.has($0) }
        if self.clips == nil, let option = ofClips {
            throw UsageProblem("tune: --\(option.name) has no effect without --from-clips")
        }
        guard !self.files.isEmpty || self.clips != nil else { throw UsageProblem("tune: give traces to tune with") }
    }

    private func run() throws(CommandFailure) {
        var page = SweepReport(title: "Thresholds", target: self.target)
        var unlabelled: Set<String> = []
        let clips = try self.clips?.source.someClips() ?? []
        // Each trace and each clip is read once for each detector and phase.
        let bytes = Progress.bytes(of: self.files.map(\.path)).map {
            Progress.total([$0] + clips.map(\.weight), times: self.requests.count * self.phases)
        }
        let progress = Progress("tune", of: bytes, self.terminal)
        defer { progress.end() }
        for request in self.requests {
            let sweep = try self.sweep(request, clips, &unlabelled, progress)
            page.add(sweep)
            self.terminal.print(self.terminal.styled(sweep.subject.title, .bold))
            self.table(sweep).lines(self.terminal).forEach { self.terminal.print($0) }
            self.terminal.print()
            self.terminal.print(
                SweepReport.sentence(
                    sweep.advice(target: self.target), target: self.target, unit: sweep.subject.unit))
            if let kept = self.kept(clips, sweep.subject) {
                self.terminal.print(
                    "unknown: all \(kept.elsewhere) \(rounded(kept.bound)) \(sweep.subject.unit); no motion was kept there"
                )
            }
            progress.hide()
            if let doubt = sweep.doubt { complain("\(sweep.subject.title): \(doubt)") }
            self.terminal.print()
        }
        if let report { try ReportFile.write(page.html, to: report) }
    }

    /// - Parameter unlabelled: the traces that were said to be skipped.
    private func sweep(
        _ request: DetectorRequest, _ clips: [PastClip], _ unlabelled: inout Set<String>, _ progress: Progress
    ) throws(CommandFailure) -> ThresholdSweep {
        var (sweep, every) = try self.begin(request, clips)
        var count = try self.count(clips, in: &sweep, every, progress)
        for (path, kind) in self.files {
            for phase in 0..<sweep.phases {
                var replay = TraceReplay(sweep.requests, lead: sweep.lead(in: phase, every: every))
                try stream(path, into: &replay, progress) { _ in }
                guard let kind = kind ?? ThresholdSweep.Kind(label: replay.label) else {
                    if unlabelled.insert(path).inserted {
                        progress.hide()
                        complain(
                            "\(path) is skipped: no label says whether this is a shake ('# label: shake …' or "
                                + "'# label: not-shake …'); --positive or --negative says it, too")
                    }
                    break
                }
                sweep.count(replay, as: kind, of: path)
                count += 1
            }
        }
        guard count > 0 else { throw .usage("tune: no trace is left to tune with") }
        return sweep
    }

    // MARK: Clips

    /// Whether a moment says anything of what is tuned.
    private func counts(_ moment: StoredClip.Moment, _ subject: ThresholdSweep.Subject) -> Bool {
        guard case .preset(let name, _) = subject, let clips, moment.preset == name else { return false }
        return clips.choice.has(moment)
    }

    /// Beyond which value nobody knows what there was; `nil`: all that there is was kept, or it is no threshold that is tuned.
    private func kept(_ clips: [PastClip], _ subject: ThresholdSweep.Subject) -> KeptMotion? {
        guard subject.parameterName == "threshold" else { return nil }
        let moments = clips.flatMap(\.stored.moments).filter { self.counts($0, subject) }
        return KeptMotion.ofAll(moments.compactMap { KeptMotion($0) })
    }

    /// Counts clips as motion that is to be found. Returns how many there were.
    private func count(
        _ clips: [PastClip], in sweep: inout ThresholdSweep, _ every: TimeSpan, _ progress: Progress
    ) throws(CommandFailure) -> Int {
        var count = 0
        for clip in clips {
            defer { progress.advance(by: Int(clip.weight) * sweep.phases) }
            let moments = clip.stored.moments.filter { self.counts($0, sweep.subject) }
            guard !moments.isEmpty else { continue }
            // What else is in it, as the shake before, is not what is to be found.
            let spans = moments.map { clip.span(of: $0) }
            let (name, bytes) = ("clip \(clip.stored.id)", try clip.trace())
            for phase in 0..<sweep.phases {
                var replay = TraceReplay(sweep.requests, lead: sweep.lead(in: phase, every: every), in: spans)
                do throws(TraceReplay.Problem) {
                    try replay.feed(bytes.span) { _ in }
                    try replay.finish { _ in }
                } catch {
                    throw CommandFailure(.no, "\(name): \(error)")
                }
                sweep.count(replay, as: .positive, of: name)
            }
            count += 1
        }
        return count
    }

    // MARK: What is tuned

    /// What is tuned of a detector, and the time between its looks.
    private func begin(
        _ request: DetectorRequest, _ clips: [PastClip]
    ) throws(CommandFailure) -> (ThresholdSweep, TimeSpan) {
        if case .text(let condition) = request.options["when"] { return try self.begin(request, condition) }
        guard case .text(let name) = request.options["preset"] else { throw .usage("give a preset to tune") }
        guard let preset = PresetCatalogue.named(name) else {
            let near = Suggestion.nearest(to: name, among: PresetCatalogue.all.map(\.name))
            throw .usage("there is no preset '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        let wanted = self.parameter?.name ?? "threshold"
        guard let parameter = preset.parameters.first(where: { $0.name == wanted }) else {
            let names = preset.parameters.map(\.name)
            throw .usage(
                "the preset '\(name)' has no \(printable(wanted)) to tune"
                    + (names.isEmpty ? "" : "; --parameter can name \(names.joined(separator: ", "))"))
        }
        var range = parameter.range
        if let (low, high) = self.parameter?.range {
            guard low.dimension == parameter.dimension || low.dimension == .none,
                range.contains(low.value), range.contains(high.value)
            else {
                throw .usage(
                    "tune: '\(wanted)' of '\(name)' lies from \(range.lowerBound) to \(range.upperBound) \(parameter.unit)"
                )
            }
            range = low.value...high.value
        } else {
            // What nobody would use is left out: three times the default covers every motion.
            let low = max(range.lowerBound, parameter.defaultValue / 10)
            range = low...max(low, min(range.upperBound, parameter.defaultValue * 3))
        }
        let subject = ThresholdSweep.Subject.preset(name, parameter: parameter)
        if let kept = self.kept(clips, subject) {
            let bound = min(max(kept.bound, range.lowerBound), range.upperBound)
            range = kept.isOfLittle ? range.lowerBound...bound : bound...range.upperBound
        }
        let sweep = ThresholdSweep(
            subject, options: request.options, over: range, steps: Self.steps, phases: self.phases)
        return (sweep, preset.every ?? .zero)
    }

    private func begin(
        _ request: DetectorRequest, _ condition: String
    ) throws(CommandFailure) -> (ThresholdSweep, TimeSpan) {
        guard let parameter, let (low, high) = parameter.range else {
            throw .usage(
                "tune: with --when say which name in it stands for the number to find, and between which: "
                    + "--when 'norm(user) > level' --parameter level=0.5g..3g")
        }
        // A name that means something already would be the sensor's, or a function.
        let own = try? DetectorCompiler.compile(request, for: nil)
        let sweep = ThresholdSweep(
            .condition(condition, name: parameter.name, low.dimension), options: request.options,
            over: low.value...high.value, steps: Self.steps, phases: self.phases)
        guard own == nil else {
            throw .usage("tune: no name in the condition is left for a number; '\(printable(parameter.name))' is none")
        }
        guard let first = sweep.requests.first else { throw .usage("tune: the range is empty") }
        do throws(DetectorProblem) {
            return (sweep, try DetectorCompiler.compile(first, for: nil).every ?? .zero)
        } catch {
            throw .usage("tune: with a number in place of '\(printable(parameter.name))': \(error.message)")
        }
    }

    /// A dozen lines of the curve; the report has all.
    private func table(_ sweep: ThresholdSweep) -> Columns {
        var table = Columns(
            [self.parameter?.name.uppercased() ?? "THRESHOLD", "RECALL", "FALSE HITS/HOUR"], right: [0, 1, 2])
        let curve = sweep.curve
        for index in stride(from: 0, to: curve.count, by: max(1, curve.count / 12)) {
            let point = curve[index]
            table.add([
                rounded(point.threshold) + (sweep.subject.unit.isEmpty ? "" : " \(sweep.subject.unit)"),
                point.recall.map { "\(rounded($0 * 100, 0)) %" } ?? "–",
                point.falsePerHour.map { rounded($0, 1) } ?? "–",
            ])
        }
        return table
    }
}
