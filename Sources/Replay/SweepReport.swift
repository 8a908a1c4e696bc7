/// Sweeps as a page that needs nothing else: a curve for each preset, and the figures behind it.
package struct SweepReport {
    private static let width = 640.0
    private static let height = 280.0
    private static let margin = 48.0

    private let title: String
    private let target: Double
    private var sections: [String] = []

    package init(title: String, target: Double) {
        self.title = title
        self.target = target
    }

    package mutating func add(_ sweep: ThresholdSweep) {
        let advice = sweep.advice(target: self.target)
        let unit = sweep.subject.unit
        var section = "<h2>\(Self.escape(sweep.subject.title))</h2>\n"
        section += "<p>\(Self.escape(Self.sentence(advice, target: self.target, unit: unit)))</p>\n"
        if let doubt = sweep.doubt { section += "<p>Beware: \(Self.escape(doubt)).</p>\n" }
        section += self.chart(sweep.curve, advice)
        section += self.table(sweep.curve, unit: unit)
        self.sections.append(section)
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

    package var html: String {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><title>\(Self.escape(self.title))</title>
        <style>
        body { font: 16px/1.5 sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; color: #222; }
        table { border-collapse: collapse; } th, td { padding: 0.1em 1em 0.1em 0; text-align: right; }
        svg { width: 100%; height: auto; } text { font: 12px sans-serif; fill: #444; }
        </style></head><body>
        <h1>\(Self.escape(self.title))</h1>
        \(self.sections.joined())</body></html>

        """
    }

    private func chart(_ curve: [ThresholdSweep.Point], _ advice: ThresholdSweep.Advice?) -> String {
        guard let low = curve.first?.threshold, let high = curve.last?.threshold, high > low else { return "" }
        let most = max(1, curve.compactMap(\.falsePerHour).max() ?? 1)
        func x(_ threshold: Double) -> String {
            Self.number(Self.margin + (threshold - low) / (high - low) * (Self.width - 2 * Self.margin))
        }
        func y(_ share: Double) -> String {
            Self.number(Self.height - Self.margin - share * (Self.height - 2 * Self.margin))
        }
        func line(_ color: String, _ value: (ThresholdSweep.Point) -> Double?) -> String {
            let points = curve.compactMap { point in value(point).map { "\(x(point.threshold)),\(y($0))" } }
            return points.isEmpty
                ? ""
                : "<polyline fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\" points=\"\(points.joined(separator: " "))\"/>\n"
        }
        var svg = "<svg viewBox=\"0 0 \(Self.number(Self.width)) \(Self.number(Self.height))\" role=\"img\" "
        svg += "aria-label=\"Recall and false hits an hour over the threshold\">\n"
        svg += "<path d=\"M\(x(low)) \(y(1))V\(y(0))H\(x(high))\" stroke=\"#999\" fill=\"none\"/>\n"
        if let advice {
            let place = x(advice.point.threshold)
            svg += "<path d=\"M\(place) \(y(1))V\(y(0))\" stroke=\"#888\" stroke-dasharray=\"4 4\"/>\n"
            svg +=
                "<text x=\"\(place)\" y=\"\(y(1.06))\" text-anchor=\"middle\">\(Self.number(advice.point.threshold))</text>\n"
        }
        svg += line("#1a7f37", \.recall) + line("#c1121f") { $0.falsePerHour.map { $0 / most } }
        for step in 0...4 {
            let threshold = low + (high - low) * Double(step) / 4
            svg +=
                "<text x=\"\(x(threshold))\" y=\"\(y(-0.09))\" text-anchor=\"middle\">\(Self.number(threshold))</text>\n"
        }
        svg += "<text x=\"4\" y=\"\(y(1))\">100 %</text><text x=\"4\" y=\"\(y(0))\">0</text>\n"
        svg += "<text x=\"\(x(low))\" y=\"\(y(-0.2))\">"
        svg += "over the threshold: recall (green); false hits an hour (red), \(Self.number(most)) at the top</text>\n"
        return svg + "</svg>\n"
    }

    private func table(_ curve: [ThresholdSweep.Point], unit: String) -> String {
        var html = "<table><tr><th>threshold</th><th>recall</th><th>false hits an hour</th></tr>\n"
        for point in curve {
            let recall = point.recall.map { "\(Self.number($0 * 100)) %" } ?? "–"
            html += "<tr><td>\(Self.escape(Self.value(point.threshold, unit)))</td><td>\(recall)</td>"
            html += "<td>\(point.falsePerHour.map(Self.number) ?? "–")</td></tr>\n"
        }
        return html + "</table>\n"
    }

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

    private static func escape(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
        return result
    }
}
