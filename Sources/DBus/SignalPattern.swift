import CDBus
import Glibc

/// What tells a body from others like it, where it begins with `(ttts` and one more number of eight bytes.
package struct BodyLikeness {
    /// What differs from one to the next.
    package struct Numbers: Equatable {
        package var first: UInt64
        package var second: UInt64
        package var third: UInt64
        /// Behind the text. Of a `d` the bits.
        package var fourth: UInt64

        package init(_ first: UInt64, _ second: UInt64, _ third: UInt64, behindText fourth: UInt64) {
            self.first = first
            self.second = second
            self.third = third
            self.fourth = fourth
        }
    }

    package var numbers: Numbers
    package var text: String
    /// The same for all whose rest is the same.
    package var rest: UInt64

    package init(_ numbers: Numbers, text: String, rest: UInt64) {
        self.numbers = numbers
        self.text = text
        self.rest = rest
    }

    /// Whether only the numbers of two bodies differ. By bytes, where Swift takes texts that look alike for equal.
    func isLike(_ text: String, _ rest: UInt64) -> Bool {
        guard self.rest == rest else { return false }
        var (text, other) = (text, self.text)
        return text.withUTF8 { bytes in
            other.withUTF8 { others in
                guard bytes.count == others.count else { return false }
                guard let start = bytes.baseAddress, let otherStart = others.baseAddress else { return true }
                // SAFETY: both have so many bytes.
                return unsafe memcmp(start, otherStart, bytes.count) == 0
            }
        }
    }
}

/// A signal that was sent, for others that differ from it in numbers alone.
///
/// They are put into a copy of it, where it has them: to write a body anew costs ten times as much, most of it for the
/// signature, which libdbus puts together piece by piece and enters into the header. libdbus has no call for that. It lends a
/// text where it stands in the body, though, and what stands before and behind, the specification says. That this is so is seen
/// with each pattern before it is used; otherwise there is none, and bodies are written.
@safe
struct SignalPattern: ~Copyable {
    private let message: Message
    private let text: String
    private let rest: UInt64

    /// Three numbers, and the length of the text.
    private static let beforeText = 3 * MemoryLayout<UInt64>.size + MemoryLayout<UInt32>.size

    /// `nil` when the numbers of the message, which is whole, are not where they are expected.
    init?(_ message: borrowing Message, _ likeness: BodyLikeness) {
        // SAFETY: the message is live, and its numbers are read before anything is written anywhere.
        guard let body = unsafe Self.body(of: message),
            // Of a text with a zero in it only what is before that goes.
            unsafe body.loadUnaligned(fromByteOffset: Self.beforeText - 4, as: UInt32.self) == likeness.text.utf8.count,
            unsafe Self.numbers(in: body, Self.place(behind: likeness.text)) == likeness.numbers
        else { return nil }
        self.message = unsafe Message(retaining: message.raw)
        self.text = likeness.text
        self.rest = likeness.rest
    }

    func fits(_ likeness: BodyLikeness) -> Bool { likeness.isLike(self.text, self.rest) }

    /// A message like this one, with other numbers; `nil`: it is to be written.
    func copy(_ numbers: BodyLikeness.Numbers) -> Message? {
        let copy = self.message.copy()
        // SAFETY: the copy is ours and not sent, its body has the form of the one that was looked at, and nobody else has it.
        guard let body = unsafe Self.body(of: copy) else { return nil }
        unsafe body.storeBytes(of: numbers.first, as: UInt64.self)
        unsafe body.storeBytes(of: numbers.second, toByteOffset: 8, as: UInt64.self)
        unsafe body.storeBytes(of: numbers.third, toByteOffset: 16, as: UInt64.self)
        unsafe body.storeBytes(of: numbers.fourth, toByteOffset: Self.place(behind: self.text), as: UInt64.self)
        return copy
    }

    private static func numbers(in body: UnsafeMutableRawPointer, _ place: Int) -> BodyLikeness.Numbers {
        // SAFETY: the caller's body has so many bytes, or its text would stand elsewhere.
        unsafe BodyLikeness.Numbers(
            body.loadUnaligned(as: UInt64.self), body.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            body.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
            behindText: body.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    /// Where the number behind a text stands: the text ends with a zero, and numbers stand at multiples of their size.
    private static func place(behind text: String) -> Int { (Self.beforeText + text.utf8.count + 1 + 7) & ~7 }

    /// The body of a message whose signature begins with `(ttts`.
    @unsafe
    private static func body(of message: borrowing Message) -> UnsafeMutableRawPointer? {
        var arguments = unsafe DBusMessageIter()
        var fields = unsafe DBusMessageIter()
        // SAFETY: the message is live; only a structure is entered, and only a text is fetched, which is lent where it stands.
        guard unsafe dbus_message_iter_init(message.raw, &arguments) != 0,
            unsafe dbus_message_iter_get_arg_type(&arguments) == CDBUS_TYPE_STRUCT
        else { return nil }
        unsafe dbus_message_iter_recurse(&arguments, &fields)
        for _ in 0..<3 { unsafe dbus_message_iter_next(&fields) }
        guard unsafe dbus_message_iter_get_arg_type(&fields) == CDBUS_TYPE_STRING else { return nil }
        var text: UnsafePointer<CChar>?
        unsafe dbus_message_iter_get_basic(&fields, &text)
        return unsafe text.map { unsafe UnsafeMutableRawPointer(mutating: $0) - Self.beforeText }
    }
}

/// What is kept of the last signals to one peer, so that the next costs less.
struct SignalForms: ~Copyable {
    private var header: SignalHeader?
    private var pattern: SignalPattern?
    /// What the last body was like. A pattern is made for what comes twice in a row: one for each body would cost more than it
    /// saves.
    private var last: (text: String, rest: UInt64)?

    /// Makes ready for a signal of this name; false when there can be none, because the destination is no bus name.
    mutating func prepare(
        _ path: ObjectPath, _ interface: StaticString, _ member: StaticString, to destination: String
    ) -> Bool {
        if self.header?.fits(path, interface, member) == true { return true }
        self.pattern = nil
        self.last = nil
        self.header = SignalHeader(from: path, interface, member, to: destination)
        return self.header != nil
    }

    /// The signal that was made ready for.
    mutating func message(_ likeness: BodyLikeness?, _ body: (inout WireWriter) -> Void) -> Message? {
        guard let likeness else { return self.written(body) }
        if self.pattern?.fits(likeness) == true, let message = self.pattern?.copy(likeness.numbers) { return message }
        guard let message = self.written(body) else { return nil }
        if let last, likeness.isLike(last.text, last.rest) {
            self.pattern = SignalPattern(message, likeness)
        } else {
            self.last = (likeness.text, likeness.rest)
        }
        return message
    }

    private func written(_ body: (inout WireWriter) -> Void) -> Message? {
        guard let message = self.header?.copy() else { return nil }
        message.withWriter(body)
        return message
    }
}
