import Detection
import Motion
import Pictures

/// Replays as a page that needs nothing else: each trace with the thresholds of detectors, their looks, hits and holds.
package struct ReplayReport {
    private var page: Page

    /// Hits that are drawn and listed of one trace; of more nobody reads.
    private static let mostHits = 1_000

    /// What a hit is told by.
    private typealias NamedHit = TraceReplay.NamedHit

    package init(traces: Int) {
        self.page = Page(
            title: "Replay",
            lead:
                "What detectors make of \(traces == 1 ? "a recorded trace" : "\(traces) recorded traces"), in the time of the trace. "
                + "A line is the length of a vector, or a sensor's first channel; a detector looks at what its condition says of it."
        )
    }

    package var html: String { self.page.html }

    /// Hits of a trace as they come, of which the first are kept.
    package struct Hits {
        fileprivate private(set) var kept: [TraceReplay.NamedHit] = []
        fileprivate private(set) var count = 0

        package init() {}

        package mutating func add(_ hit: TraceReplay.NamedHit) {
            self.count += 1
            if self.kept.count < ReplayReport.mostHits { self.kept.append(hit) }
        }
    }

    /// Adds what became of a trace.
    package mutating func add(_ file: String, _ replay: TraceReplay, _ hits: Hits) {
        self.page.section(file) { page in
            page.figures([
                (Digits.grouped(replay.samples), "samples", .main),
                (Self.span(replay.hours * 3_600), "long", .main), (Digits.grouped(hits.count), "hits", .good),
                (Digits.grouped(Int(clamping: replay.refused)), "samples left out", replay.refused > 0 ? .warn : .calm),
            ])
            if let label = replay.label { page.paragraph("The trace says of itself: \(label)") }
            if hits.count > hits.kept.count {
                page.paragraph("Of the hits the first \(Digits.grouped(hits.kept.count)) are shown.")
            }
            for signal in replay.signals { Self.write(signal, hits.kept, replay, to: &page) }
            Self.writeDetectors(replay, to: &page)
            Self.writeHits(hits.kept, replay, to: &page)
        }
    }

    // MARK: Pictures

    private static func write(
        _ signal: TraceSignal, _ hits: [TraceReplay.NamedHit], _ replay: TraceReplay, to page: inout Markup
    ) {
        guard let start = signal.start else { return }
        let across = Self.timeAxis(from: start, to: signal.end)
        let names = Dictionary(signal.watchers.map { ($0.detector.name, $0.index) }) { first, _ in first }
        let own = hits.filter { names[$0.detector] != nil }
        var picture = LinePicture(
            "\(signal.sensor): \(signal.title)", across: across.axis, up: Self.valueAxis(signal))
        for hit in own {
            let tone = Tone.of((names[hit.detector] ?? 0) + 1)
            picture.add(
                LinePicture.Mark(
                    across.place(hit.time.microseconds), tone,
                    "hit: \(hit.detector), \(Self.time(hit.time)), peak \(Digits.text(hit.peak))"))
        }
        for watcher in signal.watchers {
            guard let threshold = Self.threshold(watcher.detector, signal) else { continue }
            picture.add(
                LinePicture.Level(
                    threshold, Tone.of(watcher.index + 1),
                    "\(watcher.detector.name) over \(Digits.text(threshold)) \(signal.unit)"))
        }
        picture.add(
            LinePicture.Line(signal.title, .main, Self.points(signal).map { (across.place($0.time), $0.value) }))
        picture.write(to: &page)
        Self.writeStrips(signal, own, replay, across, to: &page)
    }

    /// Below the signal: for each detector when it looked, was hit, and held still.
    private static func writeStrips(
        _ signal: TraceSignal, _ hits: [TraceReplay.NamedHit], _ replay: TraceReplay, _ across: TimeAxis,
        to page: inout Markup
    ) {
        var strips = StripPicture("Looks, hits and holds", along: across.axis)
        for watcher in signal.watchers {
            let own = hits.filter { $0.detector == watcher.detector.name }
            let rest = watcher.detector.rest.microseconds
            let tally = replay.tallies[watcher.index]
            let counted =
                Self.count(tally.hits, "hit")
                + (tally.held > 0 ? ", \(Digits.grouped(Int(clamping: tally.held))) held by activity" : "")
            strips.add(
                StripPicture.Strip(
                    watcher.detector.name, total: "\(Self.count(watcher.looks, "look")), \(counted)",
                    spans: Self.looks(watcher, signal, across)
                        + own.filter { _ in rest > 0 }.map { hit in
                            StripPicture.Span(
                                from: across.place(hit.time.microseconds),
                                to: across.place(hit.time.microseconds + rest),
                                .calm,
                                "holds \(Self.span(watcher.detector.rest.seconds)) from \(Self.time(hit.time)) on",
                                height: 0.65)
                        },
                    moments: own.map {
                        StripPicture.Moment(
                            across.place($0.time.microseconds), .good,
                            "hit at \(Self.time($0.time)), peak \(Digits.text($0.peak))")
                    }
                        + watcher.held.map {
                            StripPicture.Moment(
                                across.place($0.microseconds), .warn, "held by activity at \(Self.time($0))")
                        }))
        }
        var key: [(tone: Tone, meaning: String)] = [
            (.second, "looks"), (.good, "hit"),
            (.calm, "hold: it rests after a hit, at least so long"),
        ]
        if signal.watchers.contains(where: { !$0.held.isEmpty }) {
            key.append((.warn, "held by activity: no hit in the rhythm of steps"))
        }
        strips.write(to: &page, key: key)
    }

    /// The looks: a few each for itself, many as the time in which they follow each other.
    private static func looks(
        _ watcher: TraceSignal.Watcher, _ signal: TraceSignal, _ across: TimeAxis
    ) -> [StripPicture.Span] {
        let isFew = watcher.looks <= Self.fewLooks
        let every = watcher.detector.every.map { "every \(Self.span($0.seconds))" } ?? "at each sample"
        var spans: [(from: Int64, to: Int64)] = []
        for (index, looks) in watcher.looksOfParts.enumerated() where looks > 0 {
            let time = (signal.start ?? 0) + Int64(index) * signal.width
            if !isFew, let last = spans.last, time - last.to <= signal.longest {
                spans[spans.count - 1].to = time
            } else {
                spans.append((time, time))
            }
        }
        return spans.map { span in
            StripPicture.Span(
                from: across.place(span.from), to: across.place(span.to), .second,
                isFew ? "a look" : "looks \(every)", height: 0.3)
        }
    }

    /// More cannot be told apart.
    private static let fewLooks = 150

    /// The signal as a line that reaches from the lowest to the highest of each part, broken where samples are missing.
    private static func points(_ signal: TraceSignal) -> [(time: Int64, value: Double?)] {
        var points: [(time: Int64, value: Double?)] = []
        var last: Int64?
        for part in signal.parts where !part.isEmpty {
            if let last, part.first - last > signal.longest { points.append((part.first, nil)) }
            points.append((part.first, part.low))
            if part.high > part.low { points.append((part.last, part.high)) }
            last = part.last
        }
        return points
    }

    // MARK: Tables

    private static func writeDetectors(_ replay: TraceReplay, to page: inout Markup) {
        var table = DataTable(
            "Detectors",
            [
                "detector", "sensor", "threshold", "looks every", "rests", "looks", "hits", "hits an hour",
                "held by activity",
            ])
        for signal in replay.signals {
            for watcher in signal.watchers {
                let detector = watcher.detector
                let hits = replay.tallies[watcher.index].hits
                let unit = detector.dimension.canonicalUnit
                table.add([
                    .text(detector.name), .text(signal.sensor),
                    detector.threshold.map { .number($0, "\(Digits.text($0)) \(unit)") } ?? .text("–"),
                    .text(detector.every.map { Self.span($0.seconds) } ?? "sample"),
                    .text(Self.span(detector.rest.seconds)), .count(watcher.looks), .count(hits),
                    replay.hours > 0 ? .value(Double(hits) / replay.hours, digits: 1) : .text("–"),
                    .count(Int(clamping: replay.tallies[watcher.index].held)),
                ])
            }
        }
        table.write(to: &page)
    }

    private static func writeHits(_ hits: [TraceReplay.NamedHit], _ replay: TraceReplay, to page: inout Markup) {
        var detectors: [String: CompiledDetector] = [:]
        for watcher in replay.signals.flatMap(\.watchers) { detectors[watcher.detector.name] = watcher.detector }
        var table = DataTable("Hits", ["time", "detector", "peak", "of its threshold", "remark"], empty: "no hit")
        for hit in hits {
            let detector = detectors[hit.detector]
            let unit = detector?.dimension.canonicalUnit ?? ""
            let share = detector?.threshold.flatMap { $0 > 0 ? hit.peak / $0 * 100 : nil }
            var remarks = hit.note.transition.map { [$0] } ?? []
            if hit.isClipped { remarks.append("at the limit of the sensor") }
            table.add([
                .text(Self.time(hit.time)), .text(hit.detector), .number(hit.peak, "\(Digits.text(hit.peak)) \(unit)"),
                share.map { .number($0, "\(Digits.text($0, atMost: 0)) %") } ?? .text("–"),
                .text(remarks.joined(separator: ", ")),
            ])
        }
        table.fold(into: &page, "Hits, one by one")
    }

    // MARK: Axes

    /// An axis of time in the unit that suits its length.
    private struct TimeAxis {
        let axis: Axis
        private let unit: Double

        init(axis: Axis, unit: Double) { (self.axis, self.unit) = (axis, unit) }

        /// Where a time in µs stands.
        func place(_ time: Int64) -> Double { Double(time) / 1_000_000 / self.unit }
    }

    private static func timeAxis(from start: Int64, to end: Int64) -> TimeAxis {
        let seconds = Double(end - start) / 1_000_000
        let (unit, name): (Double, String) =
            seconds < 600 ? (1, "s") : seconds < 36_000 ? (60, "min") : (3_600, "h")
        let (low, high) = (Double(start) / 1_000_000 / unit, Double(end) / 1_000_000 / unit)
        return TimeAxis(
            axis: Axis("time since the trace began", unit: name, from: low, to: high, marks: 8, widened: false),
            unit: unit)
    }

    /// From 0, or less, to the highest that is drawn.
    private static func valueAxis(_ signal: TraceSignal) -> Axis {
        let seen = signal.parts.filter { !$0.isEmpty }
        let thresholds = signal.watchers.compactMap { Self.threshold($0.detector, signal) }
        let low = min(0, seen.map(\.low).min() ?? 0)
        let high = max(thresholds.max() ?? 0, seen.map(\.high).max() ?? 0)
        return Axis(signal.title, unit: signal.unit, from: min(low, thresholds.min() ?? 0), to: max(high, low + 1e-6))
    }

    /// Where a detector's line is: only where it measures what is drawn.
    private static func threshold(_ detector: CompiledDetector, _ signal: TraceSignal) -> Double? {
        guard !signal.unit.isEmpty, detector.dimension.canonicalUnit == signal.unit else { return nil }
        return detector.threshold
    }

    private static func time(_ time: Timestamp) -> String {
        "\(Digits.text(Double(time.microseconds) / 1_000_000, atMost: 3)) s"
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(Digits.grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// A time as people say it.
    private static func span(_ seconds: Double) -> String {
        switch seconds {
        case ..<1: "\(Digits.text(seconds * 1_000, atMost: 1)) ms"
        case ..<600: "\(Digits.text(seconds, atMost: 2)) s"
        case ..<36_000: "\(Digits.text(seconds / 60, atMost: 1)) min"
        default: "\(Digits.text(seconds / 3_600, atMost: 1)) h"
        }
    }
}
