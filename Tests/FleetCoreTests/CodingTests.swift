import FleetCore
import Randomness
import Testing

@Suite struct CodingTests {
    private static let example: DataValue = .fields([
        "app": .text("org.example.A\u{1F600}\"\\\n"), "epoch": .integer(1_732_500_000_000_001), "peak": .double(2.5),
        "flag": .bool(true), "none": .null, "list": .list([.integer(-1), .integer(0), .integer(.min), .integer(.max)]),
        "missing": nil,
    ])

    @Test func whatIsWrittenIsReadBack() throws {
        for format in PayloadFormat.allCases {
            let bytes = format.bytes(Self.example)
            #expect(try PayloadFormat.read(bytes, contentType: format.contentType) == Self.example)
        }
    }

    @Test func jsonIsAsPeopleReadIt() {
        let value: DataValue = .fields(["a": .integer(1), "b": .list([.null, .double(0.5)]), "c": .text("\"\u{7}")])
        #expect(JSONCoding.text(value) == #"{"a":1,"b":[null,0.5],"c":"\"\u0007"}"#)
        #expect(JSONCoding.text(.double(.infinity)) == "null")
    }

    /// What acts on a terminal is written as an escape: a line can be shown as it is, and is still JSON.
    @Test(arguments: ["\u{0}", "\u{7F}", "\u{85}", "\u{61C}", "\u{200F}", "\u{2028}", "\u{202E}", "\u{2069}"])
    func nothingInJSONActsOnATerminal(text: String) throws {
        let value: DataValue = .fields(["a\(text)": .text("\(text)b")])
        let line = JSONCoding.text(value)
        #expect(line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(line)")
        #expect(try JSONCoding.read(Array(line.utf8)) == value)
        // What is only to be seen stays.
        #expect(JSONCoding.text(.text("\u{E9}\u{4E2D}\u{1F600}~")) == "\"\u{E9}\u{4E2D}\u{1F600}~\"")
    }

    /// Nobody could compare it in time.
    @Test(arguments: PayloadFormat.allCases) func aTextOfManyMarksIsNone(_ format: PayloadFormat) throws {
        for (count, isTaken) in [(30, true), (31, false), (100_000, false)] {
            let text = "a" + String(repeating: "\u{301}", count: count)
            for value: DataValue in [.text(text), .fields(["a": .text(text)])] {
                let read = try? PayloadFormat.read(format.bytes(value), contentType: format.contentType)
                #expect((read != nil) == isTaken)
            }
        }
    }

    @Test func cborIsAsTheStandardHasIt() {
        // Of the examples of RFC 8949, appendix A.
        let examples: [(DataValue, [UInt8])] = [
            (.integer(23), [0x17]), (.integer(24), [0x18, 0x18]), (.integer(1_000), [0x19, 0x03, 0xE8]),
            (.integer(-1), [0x20]), (.integer(-1_000), [0x39, 0x03, 0xE7]), (.bool(true), [0xF5]), (.null, [0xF6]),
            (.double(1.1), [0xFB, 0x3F, 0xF1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9A]),
            (.text("IETF"), [0x64, 0x49, 0x45, 0x54, 0x46]),
            (.list([.integer(1), .integer(2)]), [0x82, 0x01, 0x02]),
            (.fields(["a": .integer(1)]), [0xA1, 0x61, 0x61, 0x01]),
        ]
        for (value, bytes) in examples { #expect(CBORCoding.bytes(value) == bytes) }
    }

    @Test(arguments: [
        "", "{", "[1,", "[1 2]", "{\"a\":1,\"a\":2}", "01", "1.", "-", "\"\\ud800\"", "\"\u{1}\"", "nul", "{a:1}",
        "1 2", "\"x",
        "[1]]", "1e999", "NaN",
    ])
    func whatIsNoJSONIsRefused(_ text: String) {
        #expect(throws: DataProblem.self) { try JSONCoding.read(Array(text.utf8)) }
    }

    @Test func nothingIsNestedWithoutEnd() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: DataProblem.self) { try JSONCoding.read(Array(deep.utf8)) }
        #expect(throws: DataProblem.self) { try CBORCoding.read([UInt8](repeating: 0x81, count: 100_000)) }
        // A length that is not there takes no memory.
        #expect(throws: DataProblem.self) {
            try CBORCoding.read([0x9B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        }
    }

    @Test(arguments: someSeeds(UInt64(1)...40))
    func anyBytesAreReadOrRefused(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let good = [JSONCoding.bytes(Self.example), CBORCoding.bytes(Self.example)]
        for _ in 0..<2_000 {
            for (index, bytes) in good.enumerated() {
                var bytes = bytes
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                let read = index == 0 ? try? JSONCoding.read(bytes) : try? CBORCoding.read(bytes)
                guard let read else { continue }
                #expect(try JSONCoding.read(JSONCoding.bytes(read)) == read || index == 1)
                #expect(try CBORCoding.read(CBORCoding.bytes(read)) == read)
            }
        }
    }
}
