/// A scale from one value to another, and where its marks stand.
package struct Axis: Sendable {
    /// A mark, and what stands there.
    package struct Tick: Equatable, Sendable {
        package var value: Double
        package var text: String

        package init(_ value: Double, _ text: String) {
            self.value = value
            self.text = text
        }
    }

    /// What it measures, with its unit.
    package let title: String
    package let low: Double
    package let high: Double
    package let ticks: [Tick]

    /// An axis whose marks are known.
    package init(_ title: String, from low: Double, to high: Double, ticks: [Tick]) {
        self.title = title
        self.low = low.isFinite ? low : 0
        self.high = high.isFinite && high > self.low ? high : self.low + 1
        let range = self.low...self.high
        self.ticks = ticks.filter { range.contains($0.value) }
    }

    /// An axis of numbers, with marks at round ones.
    ///
    /// - Parameters:
    ///   - unit: Stands behind the title; empty: none.
    ///   - widened: Whether it may reach on to the next mark.
    package init(
        _ title: String, unit: String = "", from low: Double, to high: Double, marks: Int = 5, widened: Bool = true
    ) {
        let title = unit.isEmpty ? title : "\(title) (\(unit))"
        let (low, high) = (low.isFinite ? low : 0, high.isFinite ? high : 1)
        let span = high > low ? high - low : max(low.magnitude, 1)
        let step = Self.round(span / Double(max(1, marks)))
        let first = widened ? (low / step).rounded(.down) : (low / step).rounded(.up)
        let last = widened ? ((low + span) / step).rounded(.up) : ((low + span) / step).rounded(.down)
        guard first.magnitude < 1e12, last.magnitude < 1e12 else {
            self.init(title, from: low, to: low + span, ticks: [])
            return
        }
        var ticks: [Tick] = []
        for index in 0...max(0, min(64, Int(last - first))) {
            let value = (first + Double(index)) * step
            ticks.append(Tick(value, Self.text(value, step: step)))
        }
        let ends = widened ? (first * step, last * step) : (low, low + span)
        self.init(title, from: ends.0, to: ends.1, ticks: ticks)
    }

    /// Where a value stands, from 0 to 1; what is beyond stands at the end.
    package func place(_ value: Double) -> Double {
        guard value.isFinite else { return value > 0 ? 1 : 0 }
        return min(1, max(0, (value - self.low) / (self.high - self.low)))
    }

    /// 1, 2 or 5 with zeros: no less than `value`.
    private static func round(_ value: Double) -> Double {
        guard value > 0, value.isFinite else { return 1 }
        var scale = 1.0
        while scale * 10 <= value, scale < 1e15 { scale *= 10 }
        while scale > value, scale > 1e-9 { scale /= 10 }
        for factor in [1, 2, 5] as [Double] where factor * scale >= value { return factor * scale }
        return 10 * scale
    }

    private static func text(_ value: Double, step: Double) -> String {
        var digits = 0
        var rest = step
        while rest < 0.999, digits < 9 {
            rest *= 10
            digits += 1
        }
        return Digits.text(value, atMost: digits)
    }
}

/// Numbers as people and pictures have them.
package enum Digits {
    /// So many digits behind the point at most, and no zeros at their end.
    package static func text(_ value: Double, atMost digits: Int = 2) -> String {
        guard value.isFinite, value.magnitude < 1e12 else { return value.isNaN ? "–" : value > 0 ? "∞" : "-∞" }
        var scale = 1.0
        for _ in 0..<max(0, digits) { scale *= 10 }
        let scaled = (value.magnitude * scale).rounded()
        guard scaled < 9e18 else { return "\(value)" }
        let whole = UInt64(scaled) / UInt64(scale)
        var text = "\(whole)"
        var fraction = "\(UInt64(scaled) - whole * UInt64(scale))"
        if digits > 0, fraction != "0" {
            fraction = String(repeating: "0", count: max(0, digits - fraction.count)) + fraction
            while fraction.last == "0" { fraction.removeLast() }
            text += "." + fraction
        }
        return value < 0 && scaled > 0 ? "-" + text : text
    }

    /// A whole number, in groups of three.
    package static func grouped(_ value: Int) -> String {
        let digits = "\(value.magnitude)"
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "\u{202F}" }
            text.append(digit)
        }
        return value < 0 ? "-" + text : text
    }
}
