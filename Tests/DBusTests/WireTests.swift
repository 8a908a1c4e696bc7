import CDBus
import Glibc
import Loop
import Testing

@testable import DBus
import Randomness

/// A message with these values, as another process would have sent it: written, marshalled, and read again.
func delivered<each T: WireValue>(_ values: repeat each T) throws -> Message {
    let message = try call()
    message.write(repeat each values)
    return try delivered(message)
}

func call() throws -> Message {
    try Message(callTo: CallTarget("org.example.Name", ObjectPath(literal: "/"), "org.example.Wire"), "Test")
}

func delivered(_ message: borrowing Message) throws -> Message {
    guard let message = Message.parsed(try message.marshalled()) else { throw WireError.badDescriptor }
    return message
}

extension Message {
    func marshalled() throws -> [UInt8] {
        dbus_message_set_serial(self.raw, 1)
        var bytes: UnsafeMutablePointer<CChar>?
        var count: Int32 = 0
        try #require(dbus_message_marshal(self.raw, &bytes, &count) != 0)
        defer { dbus_free(bytes) }
        return UnsafeBufferPointer(start: bytes, count: Int(count)).map { UInt8(bitPattern: $0) }
    }

    /// What libdbus makes of bytes from the wire; `nil` when it refuses them.
    static func parsed(_ bytes: [UInt8]) -> Message? {
        let raw = bytes.withUnsafeBytes { buffer in
            dbus_message_demarshal(
                buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), nil)
        }
        return raw.map { Message(adopting: $0) }
    }
}

/// Values of one type: they come back equal, alone, in arrays and in structs, under the signature they should have.
private func roundTrip<T: WireValue & Equatable>(
    _ values: [T], as signature: String, location: SourceLocation = #_sourceLocation
) throws {
    #expect(T.signature == signature, sourceLocation: location)
    for value in values {
        let message = try delivered(value)
        #expect(message.signature == signature, sourceLocation: location)
        #expect(try message.read(T.self) == value, sourceLocation: location)
    }
    for array in [[], values, Array(values.prefix(1))] {
        let message = try delivered(array, [array, [], array], Structure(array, UInt8(9)))
        #expect(
            message.signature == "a\(signature)aa\(signature)(a\(signature)y)", sourceLocation: location)
        let (one, nested, structure) = try message.read([T].self, [[T]].self, Structure<[T], UInt8>.self)
        #expect(one == array && nested == [array, [], array], sourceLocation: location)
        #expect(structure.fields.0 == array && structure.fields.1 == 9, sourceLocation: location)
    }
    let variants = try delivered(VariantOf(values))
    #expect(variants.signature == "v", sourceLocation: location)
    let back = try variants.read(Value.self)
    #expect(back.ownSignature == "a" + signature, sourceLocation: location)
}

/// Writes a typed value inside a variant.
private struct VariantOf<T: WireValue>: WireValue {
    let value: T
    init(_ value: T) { self.value = value }
    static var signature: String { "v" }
    func write(to writer: inout WireWriter) { writer.variant(self.value) }
    static func read(from reader: inout WireReader) throws(WireError) -> VariantOf {
        VariantOf(try reader.container { (inner: inout WireReader) throws(WireError) in try T.read(from: &inner) })
    }
}

@Suite struct WireTests {
    @Test func fixedTypesRoundTrip() throws {
        try roundTrip([UInt8](0...255), as: "y")
        try roundTrip([Int16.min, -1, 0, 1, .max], as: "n")
        try roundTrip([UInt16.min, 1, .max], as: "q")
        try roundTrip([Int32.min, -1, 0, 1, .max], as: "i")
        try roundTrip([UInt32.min, 1, .max], as: "u")
        try roundTrip([Int64.min, -1, 0, 1, .max], as: "x")
        try roundTrip([UInt64.min, 1, .max], as: "t")
        try roundTrip([-Double.infinity, -0.0, 0, .leastNonzeroMagnitude, 1, .pi, .infinity], as: "d")
        try roundTrip([true, false], as: "b")
        let nan = try delivered(Double.nan, [Double.nan])
        let (one, many) = try nan.read(Double.self, [Double].self)
        #expect(one.isNaN && many.count == 1 && many[0].isNaN)
    }

    @Test func textsRoundTrip() throws {
        let noncharacters = String(decoding: [0xEF, 0xBF, 0xBE, 0xEF, 0xB7, 0x90], as: UTF8.self)
        let long = String(repeating: "x", count: 300_000)
        try roundTrip(["", "a", "äöü€𝄞", "e\u{301}", noncharacters, "\r\n\t\u{1}", long], as: "s")
        #expect(try delivered("cut\0off").read(String.self) == "cut")
        try roundTrip(
            ["/", "/a", "/org/example/_31"].compactMap { ObjectPath($0) }, as: "o")
        for invalid in ["", "a", "/a/", "//", "/ä", "/a-b", "/a\0", "/a\0b"] { #expect(ObjectPath(invalid) == nil) }
        let root = ObjectPath(literal: "/")
        #expect(root.appending(escaped: ":1.5").text == "/_3a1_2e5")
        #expect(root.appending(escaped: "").text == "/_")
        #expect(root.appending(escaped: "a_ß").appending(escaped: "\0").text == "/a_5f_c3_9f/_00")
        #expect(ObjectPath(root.appending(escaped: "a_ß").text) != nil)
    }

    @Test func containersRoundTrip() throws {
        let dictionary: [String: [UInt32]] = ["": [], "a": [1], "b": [2, 3]]
        let message = try delivered(dictionary, [dictionary, [:]], [Int64: Value]())
        #expect(message.signature == "a{sau}aa{sau}a{xv}")
        let (one, two, three) = try message.read(
            [String: [UInt32]].self, [[String: [UInt32]]].self, [Int64: Value].self)
        #expect(one == dictionary && two == [dictionary, [:]] && three.isEmpty)

        typealias Deep = Structure<
            UInt8, [Structure<String, Structure<Double, Bool>>], [UInt16: Structure<Int32, String>]
        >
        #expect(Deep.signature == "(ya(s(db))a{q(is)})")
        let deep = Deep(
            7, [Structure("x", Structure(0.5, true)), Structure("y", Structure(-1, false))], [5: Structure(-5, "v")])
        let (first, second) = try delivered(deep, "end").read(Deep.self, String.self)
        #expect(second == "end" && first.fields.0 == 7)
        #expect(first.fields.1.map(\.fields.0) == ["x", "y"])
        #expect(first.fields.1[1].fields.1.fields == (-1, false))
        #expect(first.fields.2[5]?.fields.1 == "v")
    }

    @Test func theSameDictionaryIsTheSameBytes() throws {
        var generator = SeededRandom(seed: 1)
        let keys = (0..<50).map { "key\($0)" }
        let first = try bytes(Dictionary(uniqueKeysWithValues: keys.shuffled(using: &generator).map { ($0, $0) }))
        for _ in 0..<5 {
            let again = Dictionary(uniqueKeysWithValues: keys.shuffled(using: &generator).map { ($0, $0) })
            #expect(try bytes(again) == first)
        }
    }

    private func bytes(_ value: [String: String]) throws -> [UInt8] {
        let message = try call()
        message.write(value)
        return try message.marshalled()
    }

    @Test func theFirstOfEqualKeysCounts() throws {
        let entries = ["a": 1, "b": 2].flatMap { [($0.key, $0.value), ($0.key, 9)] }
        let value = Value.dictionary(
            key: "s", value: "i", entries.map { Value.Entry(.string($0.0), .int32(Int32($0.1))) })
        let message = try call()
        var writer = WireWriter(message.raw)
        value.writeBare(to: &writer)
        #expect(try delivered(message).read([String: Int32].self) == ["a": 1, "b": 2] as [String: Int32])
    }

    /// Whoever could not read the name of one device, say, could read none of those that are told with it.
    @Test func whatIsToldCanBeRead() throws {
        let text = "a" + String(repeating: "\u{301}", count: 40)
        let rest = "a" + String(repeating: "\u{301}", count: 30)
        let answer = Message(error: .failed(text), to: ":1.1", answering: 1)
        answer.write([text, "b"], ["k": Value.string(text)])
        let (message, list, table) = try delivered(answer).read(String.self, [String].self, [String: Value].self)
        #expect(message == rest && list == [rest, "b"])
        #expect(table == ["k": Value.string(rest)] as [String: Value])
    }

    @Test(arguments: [0, 1, 100_000]) func blocksOfAnySizeTravelWhole(count: Int) throws {
        let times = (0..<count).map { Int64($0) * 1_000 }
        let values = times.map(Double.init)
        let message = try call()
        message.write(UInt8(1))
        var writer = WireWriter(message.raw)
        writer.array(of: "t") { $0.fixedElements(times.span, as: UInt64.self) }
        writer.array(of: "d") { $0.fixedElements(values.span) }
        let arrived = try delivered(message)
        #expect(arrived.signature == "yatad")
        let (_, one, two) = try arrived.read(UInt8.self, [UInt64].self, [Double].self)
        #expect(one == times.map(UInt64.init) && two == values)
        var lent: [Int64] = []
        try arrived.withReader { (reader: inout WireReader) throws(WireError) in
            _ = try UInt8.read(from: &reader)
            lent = Array(try reader.fixedArray(of: Int64.self, as: UInt64.self))
        }
        #expect(lent == times)
    }

    /// What only names a file is no descriptor to most calls, and nobody who sends one ends us by it.
    @Test func aNameOfAFileIsNoDescriptor() throws {
        let open = WireDescriptor(try OwnedDescriptor(opening: "/dev/null", O_RDONLY))
        let isOpen = open.take() != nil
        #expect(isOpen)
        // O_PATH, which the C library does not show.
        let name = WireDescriptor(try OwnedDescriptor(opening: "/", 0o10_000_000))
        let isNone = name.take() == nil
        #expect(isNone)
    }

    @Test func descriptorsTravelAndAreClosed() throws {
        let pipe = try Pipe()
        let message = try call()
        message.write(WireDescriptor(try pipe.writer.duplicate()), "x")
        #expect(message.signature == "hs")
        let (received, text) = try message.read(WireDescriptor.self, String.self)
        #expect(text == "x")
        guard let descriptor = received.take() else { throw WireError.badDescriptor }
        let isTaken = received.take() == nil
        #expect(isTaken)
        #expect(write(descriptor.raw, "y", 1) == 1)
        #expect(fcntl(descriptor.raw, F_GETFD) & FD_CLOEXEC != 0)
        // A tool that looks at everything is told of it; nobody else finds a descriptor where none belongs.
        #expect(try message.readValues() == [.descriptor, .string("x")])
        let hidden = try call()
        hidden.write(VariantOf(WireDescriptor(try pipe.writer.duplicate())))
        #expect(throws: WireError.unexpectedDescriptor) { try hidden.read(Value.self) }
        #expect(try hidden.readValues() == [.variant(.descriptor)])
    }

    @Test func emptyBodiesAreWhatTheySay() throws {
        let message = try delivered()
        #expect(message.signature.isEmpty)
        #expect(try message.readValues().isEmpty)
        #expect(throws: WireError.signature(expected: "s", found: "")) { try message.read(String.self) }
        #expect(try !message.withReader { _ in Issue.record("there is nothing to read") })
    }

    @Test func argumentsMustFitExactly() throws {
        let message = try delivered("a", UInt32(1))
        #expect(throws: WireError.signature(expected: "s", found: "su")) { try message.read(String.self) }
        #expect(throws: WireError.signature(expected: "sus", found: "su")) {
            try message.read(String.self, UInt32.self, String.self)
        }
        #expect(throws: WireError.signature(expected: "si", found: "su")) { try message.read(String.self, Int32.self) }
        #expect(throws: WireError.signature(expected: "(su)", found: "su")) {
            try message.read(Structure<String, UInt32>.self)
        }
        #expect(throws: WireError.signature(expected: "v", found: "su")) { try message.read(Value.self) }
    }
}
