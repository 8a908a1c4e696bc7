import Motion
import Testing
import Traces
import Randomness

@Suite struct DecimalTests {
    let decimal = Decimal()

    /// Reads `text`, and says how this differs from what the standard library makes of the same bytes.
    func difference(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        var index = 0
        let value = self.decimal.read(bytes.span, at: &index)
        let length = decimalPrefix(of: bytes.span)
        guard index == length else { return "'\(text)' ends at \(index), not \(length)" }
        guard length > 0 else { return value == nil ? nil : "'\(text)' is no number" }
        let expected = Double(String(decoding: bytes[..<length], as: UTF8.self))
        return value?.bitPattern == expected?.bitPattern
            ? nil : "'\(text)' is \(String(describing: expected)), not \(String(describing: value))"
    }

    @Test(arguments: [
        "0", "-0", "+0", "1", "-1.5", "2.", ".5", "-.5e3", "1e5", "1E-5", "1e+5", "1e", "1e+", "1ex", ".", "-", "+", "",
        "e5", ".e5", "1.2.3", "--1", "0x10", "nan", "inf", "-inf", "1_0", "00012", "0.0000000000000000000000000001",
        "9007199254740993", "9007199254740992", "9007199254740993.0", "18446744073709551615", "18446744073709551616",
        "9999999999999999999", "99999999999999999999", "0.1", "0.3", "2.2250738585072014e-308", "5e-324", "2e-324",
        "1.7976931348623157e308", "1.7976931348623159e308", "1e308", "1e309", "-1e400", "1e-400",
        "1e999999999999999999",
        "1e-999999999999999999", "123456789012345678", "1234567890.123456789", "0.30000000000000004",
        "1.00000000000000011102230246251565404236316680908203125", "1e22", "1e23", "1e-22", "1e-23", "1e-27", "1e-28",
        "9999999999999999999e-27", "1000000000000000000e-27", "9007199254740993e-1", "0.000123e+4", "1.5e0007",
    ])
    func readsAsTheStandardLibraryDoes(_ text: String) {
        #expect(self.difference(text) == nil)
    }

    @Test(arguments: 1...8)
    func readsRandomNumbersExactly(_ seed: UInt64) {
        print("Decimal seed \(seed)")
        var generator = SeededRandom(seed: seed)
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in Character(Unicode.Scalar(UInt8.random(in: 48...57, using: &generator))) })
        }
        var wrong: [String] = []
        for _ in 0..<25_000 {
            let text: String
            switch Int.random(in: 0..<6, using: &generator) {
            case 0:
                text =
                    digits(Int.random(in: 1...3, using: &generator)) + "."
                    + digits(Int.random(in: 0...20, using: &generator))
            case 1:
                text =
                    digits(Int.random(in: 1...24, using: &generator)) + "e"
                    + String(Int.random(in: -340...320, using: &generator))
            case 2: text = "0." + digits(Int.random(in: 1...30, using: &generator))
            case 3: text = Double(bitPattern: generator.next()).magnitude.description
            case 4: text = Double.random(in: -16...16, using: &generator).description
            default:
                // Exactly, or nearly, in the middle between two Doubles: the hardest to round.
                let odd = (UInt64.random(in: 1 << 52..<1 << 53, using: &generator) << 1) | 1
                let twos = Int.random(in: 0...10, using: &generator)
                let five = (0..<twos).reduce(odd) { value, _ in value.multipliedReportingOverflow(by: 5).partialValue }
                let near = five &+ [0, 1, UInt64.max].randomElement(using: &generator, or: 0)
                text = "\(near)e-\(twos)"
            }
            if let difference = self.difference(text) { wrong.append(difference) }
        }
        #expect(wrong.isEmpty, "seed \(seed): \(wrong.prefix(5))")
    }

    @Test(arguments: 1...4)
    func takesTheSamePrefixOfRandomBytes(_ seed: UInt64) {
        print("Decimal bytes seed \(seed)")
        var generator = SeededRandom(seed: seed)
        let alphabet = Array("0012359..eE+-+- x,")
        var wrong: [String] = []
        for _ in 0..<25_000 {
            let text = String(
                (0..<Int.random(in: 0...14, using: &generator)).map { _ in
                    alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                })
            if let difference = self.difference(text) { wrong.append(difference) }
        }
        #expect(wrong.isEmpty, "seed \(seed): \(wrong.prefix(5))")
    }
}

extension Array {
    /// An element by chance, `fallback` when there is none.
    func randomElement(using generator: inout SeededRandom, or fallback: Element) -> Element {
        self.randomElement(using: &generator) ?? fallback
    }
}
