import Motion

/// Numbers as the kernel writes them into attributes: always with a point, whatever the locale.
package enum AttributeText {
    /// A number with blanks and a line feed around it; `nil` when there is anything else, or it is not finite.
    package static func number(_ text: some StringProtocol) -> Double? {
        let bytes = Array(text.utf8)
        return self.number(bytes.span)
    }

    /// The same from bytes, without an allocation for the integers that readings are.
    package static func number(_ bytes: Span<UInt8>) -> Double? {
        var start = 0
        var end = bytes.count
        while start < end, self.isBlank(bytes[start]) { start += 1 }
        while end > start, self.isBlank(bytes[end - 1]) { end -= 1 }
        let trimmed = bytes.extracting(start..<end)
        if let integer = self.integer(trimmed) { return Double(integer) }
        guard !trimmed.isEmpty, decimalPrefix(of: trimmed) == trimmed.count else { return nil }
        var text = ""
        for index in trimmed.indices { text.unicodeScalars.append(Unicode.Scalar(trimmed[index])) }
        guard let number = Double(text), number.isFinite else { return nil }
        return number
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) || byte == 0 }

    private static func integer(_ bytes: Span<UInt8>) -> Int64? {
        let isNegative = !bytes.isEmpty && bytes[0] == 0x2D
        let first = isNegative ? 1 : 0
        // Eighteen digits fit whatever they are.
        guard bytes.count > first, bytes.count - first <= 18 else { return nil }
        var value: Int64 = 0
        for index in first..<bytes.count {
            let digit = bytes[index] &- 0x30
            guard digit <= 9 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return isNegative ? -value : value
    }

    /// The rates that an `…_available` attribute offers, rising: a list, or `[first step last]`.
    ///
    /// What is no rate is left out. A range becomes its powers-of-two steps, the last included: nobody can tell a person
    /// thousands of rates, and the nearest at or above is at most twice what was wanted.
    package static func rates(_ text: String) -> [Double] {
        let numbers = text.split { "[], \t\n".contains($0) }.map { self.number($0) }
        guard text.contains("[") else {
            return Array(Set(numbers.compactMap { $0 }.filter { SensorLimits.rates.contains($0) })).sorted()
        }
        guard numbers.count == 3, let first = numbers[0], let step = numbers[1], let last = numbers[2], step > 0,
            SensorLimits.rates.contains(first), SensorLimits.rates.contains(last), first <= last
        else { return [] }
        var rates: [Double] = []
        var rate = first
        while rate < last {
            rates.append(rate)
            rate = max(rate * 2, rate + step)
        }
        return rates + [last]
    }
}

extension AttributeText {
    /// The brighter of a pair of light sensors, `(12,250)`, whose numbers end at 255, in percent of that; `nil` for anything else.
    package static func brightness(_ bytes: Span<UInt8>) -> Double? {
        var text = ""
        for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].hasPrefix("("), let end = parts[1].lastIndex(of: ")"),
            parts[1][parts[1].index(after: end)...].allSatisfy(\.isWhitespace),
            let left = self.number(parts[0].dropFirst()), let right = self.number(parts[1][..<end]),
            left >= 0, right >= 0
        else { return nil }
        return max(left, right) / 255 * 100
    }

    /// A rate as attributes take it: at most six decimals, and never an exponent.
    package static func decimal(_ rate: Double) -> String {
        let millionths = (min(max(rate, 0), 1e9) * 1_000_000).rounded()
        let whole = Int64(millionths) / 1_000_000
        let rest = Int64(millionths) % 1_000_000
        guard rest > 0 else { return "\(whole)" }
        var digits = String(1_000_000 + rest).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(whole).\(digits)"
    }
}
