import CDBus
import Testing

@testable import DBus

/// A body like the one before comes from a copy, and is the same bytes as one that is written.
@Suite struct SignalPatternTests {
    private let path = ObjectPath(literal: "/org/example/Pattern")
    private let interface: StaticString = "org.example.Pattern"
    private let member: StaticString = "Event"

    private func write(_ body: BodyLikeness, to writer: inout WireWriter) {
        writer.structure { fields in
            fields.uint64(body.numbers.first)
            fields.uint64(body.numbers.second)
            fields.uint64(body.numbers.third)
            fields.string(body.text)
            fields.double(Double(bitPattern: body.numbers.fourth))
            fields.array(of: "{sv}") { if body.rest != 0 { $0.entry("rest", body.rest) } }
        }
    }

    private func body(_ number: UInt64, _ text: String, rest: UInt64 = 0) -> BodyLikeness {
        let numbers = BodyLikeness.Numbers(
            number, .max - number, number << 40, behindText: Double(number).squareRoot().bitPattern)
        return BodyLikeness(numbers, text: text, rest: rest)
    }

    private func bytes(of message: borrowing Message) -> [UInt8] {
        var start: UnsafeMutablePointer<CChar>?
        var count: Int32 = 0
        guard dbus_message_marshal(message.raw, &start, &count) != 0 else { return [] }
        defer { dbus_free(start) }
        return UnsafeRawBufferPointer(start: start, count: Int(count)).map { $0 }
    }

    /// Sends bodies by one way, each compared with what is written. Returns how many were written.
    private func send(_ bodies: [BodyLikeness]) throws -> Int {
        var forms = SignalForms()
        var written = 0
        for body in bodies {
            let isReady = forms.prepare(self.path, self.interface, self.member, to: ":1.1")
            try #require(isReady)
            let sent = forms.message(body) {
                written += 1
                self.write(body, to: &$0)
            }
            var plain = SignalForms()
            _ = plain.prepare(self.path, self.interface, self.member, to: ":1.1")
            let other = plain.message(nil) { self.write(body, to: &$0) }
            guard let sent, let other else {
                Issue.record("there is no message")
                continue
            }
            let (found, expected) = (self.bytes(of: sent), self.bytes(of: other))
            #expect(found == expected && !expected.isEmpty)
        }
        return written
    }

    @Test(arguments: [
        "", "a", "shake", "shaking", "shakings", "zäh", "org.example.App", String(repeating: "long ", count: 50),
    ])
    func whatIsAlikeIsCopied(text: String) throws {
        #expect(try self.send((1...6).map { self.body($0, text) }) == 2)
        #expect(try self.send((1...6).map { self.body($0, text, rest: 7) }) == 2)
    }

    @Test func whatComesBetweenIsWritten() throws {
        let bodies = [
            self.body(1, "a"), self.body(2, "a"), self.body(3, "b"), self.body(4, "a"), self.body(5, "a", rest: 1),
            self.body(6, "a"), self.body(7, "b"), self.body(8, "b"), self.body(9, "b"), self.body(10, "a"),
        ]
        // All but the third, fourth and sixth of "a", and the last of "b".
        #expect(try self.send(bodies) == 7)
        #expect(try self.send((1...6).map { self.body($0, $0.isMultiple(of: 2) ? "a" : "b") }) == 6)
    }

    /// Swift takes these for equal; they are other bytes.
    @Test func whatLooksAlikeIsNotAlike() throws {
        let bodies = (1...6).map { self.body($0, $0 < 4 ? "caf\u{E9}" : "cafe\u{301}") }
        #expect(try self.send(bodies) == 4)
    }

    /// What follows a zero is left out, so that the number behind stands elsewhere.
    @Test func aTextWithAZeroIsWritten() throws {
        #expect(try self.send((1...4).map { self.body($0, "a\0and more") }) == 4)
    }

    @Test func anotherNameBeginsAnew() throws {
        var forms = SignalForms()
        var written = 0
        for number in UInt64(1)...4 {
            let body = self.body(number, "a")
            let member: StaticString = number < 4 ? "Event" : "Other"
            _ = forms.prepare(self.path, self.interface, member, to: ":1.1")
            let message = forms.message(body) {
                written += 1
                self.write(body, to: &$0)
            }
            guard let message else {
                Issue.record("there is no message")
                continue
            }
            let found = message.member
            #expect(found == member.description)
        }
        #expect(written == 3)
        let isReady = forms.prepare(self.path, self.interface, "Event", to: "no bus name")
        #expect(!isReady)
    }
}
