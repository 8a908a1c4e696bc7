import Pictures

/// Sweeps as a page that needs nothing else: what each value finds and disturbs, and the recordings behind it.
package struct SweepReport {
    private let target: Double
    private var page: Page

    /// Recordings of a kind that are drawn; the table names the others.
    private static let mostRecordings = 100

    package init(title: String, target: Double) {
        self.target = target
        self.page = Page(
            title: title,
            lead: "What each value finds of the motion that is meant, and how often it is disturbed by other motion. "
                + "At most \(Self.number(target)) false hits an hour are allowed.")
    }

    package var html: String { self.page.html }

    package mutating func add(_ sweep: ThresholdSweep) {
        let advice = sweep.advice(target: self.target)
        let (unit, target) = (sweep.subject.unit, self.target)
        self.page.section(sweep.subject.title) { page in
            page.paragraph(Self.sentence(advice, target: target, unit: unit))
            if let doubt = sweep.doubt { page.paragraph("Beware: \(doubt).") }
            Self.writeCurves(sweep, advice, target, to: &page)
            Self.writeRecordings(sweep, advice, to: &page)
            Self.table(sweep, unit).fold(into: &page, "Every value, and the recordings behind it")
        }
    }

    /// What the advice says, for people.
    package static func sentence(_ advice: ThresholdSweep.Advice?, target: Double, unit: String) -> String {
        guard let advice else { return "No traces." }
        let point = advice.point
        let recall =
            point.recall.map { "finds \(Self.number($0 * 100)) % of the positive traces" } ?? "no positive traces"
        let rate = point.falsePerHour.map { "\(Self.number($0)) false hits an hour" } ?? "no negative traces"
        guard advice.meetsTarget else {
            return "No threshold has at most \(Self.number(target)) false hits an hour and still finds something. "
                + "The best compromise is \(Self.value(point.threshold, unit)): \(recall), \(rate)."
        }
        return "Use \(Self.value(point.threshold, unit)): \(recall), \(rate). "
            + "From \(Self.value(advice.lowest, unit)) to \(Self.value(advice.highest, unit)) it finds at least nine tenths of that."
    }

    // MARK: Pictures

    private static func axis(_ sweep: ThresholdSweep) -> Axis {
        Axis(
            sweep.subject.parameterName, unit: sweep.subject.unit, from: sweep.thresholds.first ?? 0,
            to: sweep.thresholds.last ?? 1, marks: 8, widened: false)
    }

    private static func writeCurves(
        _ sweep: ThresholdSweep, _ advice: ThresholdSweep.Advice?, _ target: Double, to page: inout Markup
    ) {
        let (curve, across) = (sweep.curve, Self.axis(sweep))
        func marked(_ picture: LinePicture) -> LinePicture {
            var picture = picture
            guard let advice else { return picture }
            if advice.highest > advice.lowest {
                picture.add(
                    LinePicture.Mark(
                        advice.lowest, to: advice.highest, .good,
                        "from \(Self.number(advice.lowest)) to \(Self.number(advice.highest)) it does nearly as well"))
            }
            picture.add(
                LinePicture.Mark(
                    advice.point.threshold, .second, "chosen: \(Self.value(advice.point.threshold, sweep.subject.unit))"
                ))
            return picture
        }
        if curve.contains(where: { $0.recall != nil }) {
            var picture = marked(
                LinePicture(
                    "What it finds", across: across,
                    up: Axis("positive traces found", unit: "%", from: 0, to: 100, widened: false)))
            picture.add(
                LinePicture.Line("found", .good, curve.map { ($0.threshold, $0.recall.map { $0 * 100 }) }))
            picture.write(to: &page)
        }
        let most = curve.compactMap(\.falsePerHour).max()
        if let most {
            var picture = marked(
                LinePicture(
                    "What disturbs it", across: across,
                    up: Axis("false hits an hour", from: 0, to: max(most, target, 1))))
            picture.add(LinePicture.Level(target, .warn, "allowed: \(Self.number(target)) an hour"))
            picture.add(LinePicture.Line("false hits an hour", .bad, curve.map { ($0.threshold, $0.falsePerHour) }))
            picture.write(to: &page)
        }
    }

    /// A strip for each recording: with which values it is hit.
    private static func writeRecordings(
        _ sweep: ThresholdSweep, _ advice: ThresholdSweep.Advice?, to page: inout Markup
    ) {
        guard let last = sweep.thresholds.last, let first = sweep.thresholds.first, last > first else { return }
        var picture = StripPicture("The recordings behind the curves", along: Self.axis(sweep))
        let chosen = advice.map { advice in
            StripPicture.Moment(
                advice.point.threshold, .second, "chosen: \(Self.value(advice.point.threshold, sweep.subject.unit))")
        }
        for (kind, group) in [
            (ThresholdSweep.Kind.positive, "To be found"), (.negative, "Not to be hit"),
        ] {
            picture.add(
                sweep.recordings.filter { $0.kind == kind }.prefix(Self.mostRecordings).map { recording in
                    StripPicture.Strip(
                        recording.name, total: Self.total(recording),
                        spans: Self.spans(recording, sweep.thresholds), moments: chosen.map { [$0] } ?? [])
                }, group: group)
        }
        picture.write(
            to: &page,
            key: [
                (.good, "found: as high as the share of its phases"), (.bad, "hit, and should not be"),
                (.second, "the chosen value"),
            ])
    }

    private static func total(_ recording: ThresholdSweep.Recording) -> String {
        let minutes = recording.hours * 60 / Double(max(1, recording.runs))
        return minutes < 1 ? "\(Self.number(minutes * 60)) s" : "\(Self.number(minutes)) min"
    }

    /// Each value stands for the room halfway to its neighbours; what is alike beside each other is one.
    private static func spans(
        _ recording: ThresholdSweep.Recording, _ thresholds: [Double]
    ) -> [StripPicture.Span] {
        var spans: [StripPicture.Span] = []
        let tone: Tone = recording.kind == .positive ? .good : .bad
        for (index, threshold) in thresholds.enumerated() where recording.runsHit[index] > 0 {
            let from = index == 0 ? threshold : (thresholds[index - 1] + threshold) / 2
            let to = index + 1 == thresholds.count ? threshold : (threshold + thresholds[index + 1]) / 2
            let height = Double(recording.runsHit[index]) / Double(max(1, recording.runs))
            if let before = spans.last, before.to == from, before.height == height {
                spans[spans.count - 1].to = to
            } else {
                spans.append(
                    StripPicture.Span(
                        from: from, to: to, tone,
                        "hit in \(recording.runsHit[index]) of \(recording.runs) phases", height: height))
            }
        }
        return spans
    }

    private static func table(_ sweep: ThresholdSweep, _ unit: String) -> DataTable {
        var table = DataTable(
            "Every value", [sweep.subject.parameterName, "found", "false hits an hour", "missed in", "disturbed by"])
        for (index, point) in sweep.curve.enumerated() {
            let missed = sweep.recordings.filter { $0.kind == .positive && $0.runsHit[index] < $0.runs }
            let hit = sweep.recordings.filter { $0.kind == .negative && $0.hits[index] > 0 }
            table.add([
                .number(point.threshold, Self.value(point.threshold, unit)),
                point.recall.map { .number($0, "\(Self.number($0 * 100)) %") } ?? .text("–"),
                point.falsePerHour.map { .number($0, Self.number($0)) } ?? .text("–"),
                .text(Self.listed(missed.map { ($0.name, $0.runs - $0.runsHit[index], $0.runs) })),
                .text(Self.listed(hit.map { ($0.name, $0.runsHit[index], $0.runs) })),
            ])
        }
        return table
    }

    /// Recordings, each with in how many of its phases, if not in all.
    private static func listed(_ all: [(name: String, count: Int, of: Int)]) -> String {
        let shown = all.prefix(8).map { $0.count == $0.of ? $0.name : "\($0.name) (\($0.count) of \($0.of) phases)" }
        return shown.joined(separator: ", ") + (all.count > 8 ? " and \(all.count - 8) more" : "")
    }

    // MARK: Numbers

    private static func value(_ value: Double, _ unit: String) -> String {
        self.number(value) + (unit.isEmpty ? "" : " \(unit)")
    }

    /// At most two digits after the point, without trailing zeros.
    static func number(_ value: Double) -> String {
        guard value.isFinite, value.magnitude < 1e12 else { return "\(value)" }
        let scaled = Int64((value * 100).rounded())
        let digits = "\(scaled.magnitude % 100)"
        let fraction = (digits.count == 1 ? "0" + digits : digits)
        var text = "\(scaled < 0 ? "-" : "")\(scaled.magnitude / 100).\(fraction)"
        while text.last == "0" { text.removeLast() }
        if text.last == "." { text.removeLast() }
        return text
    }
}
