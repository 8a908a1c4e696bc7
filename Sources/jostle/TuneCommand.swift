import DaemonSupport
import Detection
import JostleClient
import Loop
import Motion
import Replay

/// `jostle tune`: sweeps a preset's threshold over labelled traces and recommends one.
struct TuneCommand {
    private static let preset = CommandOption.value(
        "preset", "PRESET[,option=value...]", "the preset to tune (default: shake)", naming: .preset, repeats: true)
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
    private static let report = CommandOption.value("report", "FILE", "write the curves as a page", naming: .file)

    static let syntax = CommandSyntax(
        "tune", "find the threshold of a preset that finds most and disturbs least",
        options: [preset, positive, negative, target, phases, report],
        arguments: [CommandArgument("TRACE", "traces whose labels say what they show", .list, naming: .file)],
        action: Invocation.action { try TuneCommand($0.arguments, $0.terminal).run() })

    /// `PRESET[,option=value…]`; the threshold is ours to choose.
    var specs: [String]
    var files: [(path: String, kind: ThresholdSweep.Kind?)]
    /// False hits an hour that are allowed.
    var target: Double
    var phases: Int
    var report: String?
    let terminal: Terminal

    private static let steps = 60

    private init(_ arguments: Arguments, _ terminal: Terminal) throws(UsageProblem) {
        self.target = try arguments.value(of: Self.target) ?? 1
        self.phases = try arguments.value(of: Self.phases) ?? 5
        let presets = arguments.values(of: Self.preset)
        self.specs = presets.isEmpty ? ["shake"] : presets
        self.files =
            arguments.values(of: Self.positive).map { (path: $0, kind: .some(.positive)) }
            + arguments.values(of: Self.negative).map { (path: $0, kind: .some(.negative)) }
            + arguments.positionals.map { (path: $0, kind: nil) }
        self.report = arguments.value(of: Self.report)
        self.terminal = terminal
        guard !self.files.isEmpty else { throw UsageProblem("tune: give traces to tune with") }
    }

    private func run() throws(CommandFailure) {
        var page = SweepReport(title: "Thresholds", target: self.target)
        for spec in self.specs {
            let sweep = try self.sweep(spec)
            page.add(sweep)
            self.terminal.print(self.terminal.styled(spec, .bold))
            self.table(sweep).lines(self.terminal).forEach { self.terminal.print($0) }
            self.terminal.print()
            self.terminal.print(SweepReport.sentence(sweep.advice(target: self.target), target: self.target))
            self.terminal.print()
        }
        guard let report else { return }
        let file = try OutputFile(report)
        do throws(SystemError) {
            try file.write(Array(page.html.utf8))
        } catch {
            throw CommandFailure(.no, "\(report): \(error)")
        }
    }

    private func sweep(_ spec: String) throws(CommandFailure) -> ThresholdSweep {
        let detector: DetectorRequest
        do throws(DetectorSpec.Problem) {
            detector = try DetectorSpec(spec).detector.request
        } catch {
            throw .usage(error.message)
        }
        guard case .text(let name) = detector.options["preset"] else { throw .usage("give a preset to tune") }
        guard let preset = PresetCatalogue.named(name) else {
            let near = Suggestion.nearest(to: name, among: PresetCatalogue.all.map(\.name))
            throw .usage("there is no preset '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        guard let threshold = preset.parameters.first(where: { $0.name == "threshold" }) else {
            throw .usage("the preset '\(name)' has no threshold to tune")
        }
        // What nobody would use is left out: ten times the default covers every motion.
        let low = max(threshold.range.lowerBound, threshold.defaultValue / 10)
        let high = min(threshold.range.upperBound, threshold.defaultValue * 3)
        var sweep = ThresholdSweep(
            preset: name, options: detector.options, over: low...max(low, high), steps: Self.steps, phases: self.phases)
        for (path, kind) in self.files {
            for phase in 0..<sweep.phases {
                let lead = sweep.lead(in: phase, every: preset.every ?? .zero)
                var replay = TraceReplay(sweep.requests, lead: lead)
                try stream(path, into: &replay) { _ in }
                guard let kind = kind ?? ThresholdSweep.Kind(label: replay.label) else {
                    throw .usage(
                        "\(path): no label says whether this is a shake ('# label: shake …' or '# label: not-shake …');"
                            + " use --positive or --negative")
                }
                sweep.count(replay, as: kind)
            }
        }
        return sweep
    }

    /// A dozen lines of the curve; the report has all.
    private func table(_ sweep: ThresholdSweep) -> Table {
        var table = Table(["THRESHOLD", "RECALL", "FALSE HITS/HOUR"], right: [0, 1, 2])
        let curve = sweep.curve
        for index in stride(from: 0, to: curve.count, by: max(1, curve.count / 12)) {
            let point = curve[index]
            table.add([
                rounded(point.threshold), point.recall.map { "\(rounded($0 * 100, 0)) %" } ?? "–",
                point.falsePerHour.map { rounded($0, 1) } ?? "–",
            ])
        }
        return table
    }
}
