/// Reads decimal numbers from bytes, to the nearest Double.
///
/// The grammar is that of `decimalPrefix` in `Motion`. The result equals what the standard library reads from the same
/// text, without making a String for nearly every number that a trace holds:
/// * up to 2^53 with a power of ten that is exact, too: one division of exact numbers rounds once (Clinger's fast path);
/// * up to 19 digits with up to 27 of them behind the point, as shortest round-trip output has: a 128-bit division, whose
///   remainder tells on which side of the middle between two Doubles the number lies;
/// * all else goes through `Double(String)`.
package struct Decimal: Sendable {
    /// 10^0 … 10^22, each an exact Double.
    private let tens: [Double]
    /// 5^0 … 5^27, each below 2^63.
    private let fives: [UInt64]

    package init() {
        var tens = [1.0]
        for _ in 1...22 { tens.append(tens[tens.count - 1] * 10) }
        var fives: [UInt64] = [1]
        for _ in 1...27 { fives.append(fives[fives.count - 1] * 5) }
        self.tens = tens
        self.fives = fives
    }

    /// Reads the number that starts at `index` and moves the index behind it; `nil`, and no move, when there is none.
    ///
    /// A number beyond the largest Double reads as infinity.
    package func read(_ bytes: Span<UInt8>, at index: inout Int) -> Double? {
        let start = index
        let count = bytes.count
        var i = index
        var isNegative = false
        if i < count, bytes[i] == 0x2B || bytes[i] == 0x2D {
            isNegative = bytes[i] == 0x2D
            i += 1
        }
        var mantissa: UInt64 = 0
        var significant = 0
        var power = 0
        var digits = 0
        while i < count, bytes[i] &- 0x30 <= 9 {
            if significant < 19 {
                mantissa = mantissa &* 10 &+ UInt64(bytes[i] &- 0x30)
                if mantissa != 0 { significant += 1 }
            } else {
                significant += 1
            }
            digits += 1
            i += 1
        }
        if i < count, bytes[i] == 0x2E, digits > 0 || i + 1 < count && bytes[i + 1] &- 0x30 <= 9 {
            i += 1
            while i < count, bytes[i] &- 0x30 <= 9 {
                if significant < 19 {
                    mantissa = mantissa &* 10 &+ UInt64(bytes[i] &- 0x30)
                    if mantissa != 0 { significant += 1 }
                    power -= 1
                } else {
                    significant += 1
                }
                digits += 1
                i += 1
            }
        }
        guard digits > 0 else { return nil }
        if i < count, bytes[i] | 0x20 == 0x65 { power += Self.exponent(bytes, at: &i) }
        index = i
        if significant <= 19, let value = self.value(mantissa, power) { return isNegative ? -value : value }
        return Self.slow(bytes, start..<i)
    }

    /// The `e-5` at `index`, or 0 without a move when no digit follows the `e`. Absurd ones stop at a million.
    private static func exponent(_ bytes: Span<UInt8>, at index: inout Int) -> Int {
        var i = index + 1
        var isNegative = false
        if i < bytes.count, bytes[i] == 0x2B || bytes[i] == 0x2D {
            isNegative = bytes[i] == 0x2D
            i += 1
        }
        guard i < bytes.count, bytes[i] &- 0x30 <= 9 else { return 0 }
        var value = 0
        while i < bytes.count, bytes[i] &- 0x30 <= 9 {
            value = min(value * 10 + Int(bytes[i] &- 0x30), 1_000_000)
            i += 1
        }
        index = i
        return isNegative ? -value : value
    }

    /// mantissa · 10^power, rounded once; `nil` when that takes more than we can do here.
    private func value(_ mantissa: UInt64, _ power: Int) -> Double? {
        if mantissa == 0 { return 0 }
        if mantissa <= 1 << 53 {
            if power == 0 { return Double(mantissa) }
            if power < 0, power >= -22 { return Double(mantissa) / self.tens[-power] }
            if power > 0, power <= 22 { return Double(mantissa) * self.tens[power] }
        }
        if power == 0 { return Double(mantissa) }
        guard power < 0, power >= -27 else { return nil }
        // mantissa / 5^k, both shifted so that their top bit is set: the quotient has 63 or 64 bits.
        let five = self.fives[-power]
        let shift = mantissa.leadingZeroBitCount
        let fiveShift = five.leadingZeroBitCount
        let top = mantissa << UInt64(shift)
        let (quotient, remainder) = (five << UInt64(fiveShift)).dividingFullWidth((top >> 1, top << 63))
        // At least ten bits will be rounded away, so the last one can stand for all that is behind it.
        let sticky = quotient | (remainder == 0 ? 0 : 1)
        let exponent = fiveShift - shift - 63 + power
        return Double(sticky) * Double(bitPattern: UInt64(1_023 + exponent) << 52)
    }

    @inline(never)
    private static func slow(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        for index in range { text.append(bytes[index]) }
        return Double(String(decoding: text, as: UTF8.self))
    }
}
