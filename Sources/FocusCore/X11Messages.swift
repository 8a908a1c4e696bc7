/// What an X server says, cut into whole messages as it comes.
///
/// libxcb waits for the rest of a message of which it sees a part, so it is to see none.
/// Memory is bounded by the longest message that can be; who says that his is longer is no server.
package struct X11Messages: Sendable {
    /// What can be handed on.
    package enum Parcel: Hashable, Sendable {
        /// The server takes us in. It comes once, before all else.
        case greeting(X11Greeting)
        /// Messages, each of them whole.
        case messages([UInt8])
    }

    private var bytes: [UInt8] = []
    /// The place of the first byte that was not handed on yet.
    private var first = 0
    private var isGreeted = false
    /// The server does not take us in, or says what none says. Nothing is read any more.
    package private(set) var isOver = false

    package static let longestGreeting = 128 << 10
    /// The longest answer to what we ask: a list of as many windows as are followed.
    package static let longestMessage = head + 4 * Desk.mostWindows
    /// The most bytes that are handed on together, unless they are of one message.
    package static let longestParcel = 4_096

    /// What each message has, and most have no more.
    private static let head = 32
    private static let (taken, reply, generic): (UInt8, UInt8, UInt8) = (1, 1, 35)

    package init() {}

    /// Takes in what came.
    package mutating func add(_ piece: ArraySlice<UInt8>) {
        guard !self.isOver else { return }
        self.bytes.removeFirst(self.first)
        self.first = 0
        self.bytes += piece
    }

    /// What has come whole since; `nil` when there is nothing more.
    package mutating func next() -> Parcel? {
        guard !self.isOver else { return nil }
        guard self.isGreeted else { return self.greeting() }
        var end = self.first
        while let length = self.length(at: end) {
            guard length <= Self.longestMessage else {
                // What was said before it is handed on first.
                if end > self.first { break }
                return self.giveUp()
            }
            guard self.bytes.count - end >= length else { break }
            guard end == self.first || end + length - self.first <= Self.longestParcel else { break }
            end += length
        }
        guard end > self.first else { return nil }
        defer { self.first = end }
        return .messages(Array(self.bytes[self.first..<end]))
    }

    private mutating func greeting() -> Parcel? {
        guard self.bytes.count >= X11Greeting.head else { return nil }
        let length = X11Greeting.head + 4 * Int(self.bytes.half(at: 6))
        guard self.bytes[0] == Self.taken, length <= Self.longestGreeting else { return self.giveUp() }
        guard self.bytes.count >= length else { return nil }
        guard let greeting = X11Greeting(Array(self.bytes.prefix(length))) else { return self.giveUp() }
        self.first = length
        self.isGreeted = true
        return .greeting(greeting)
    }

    private mutating func giveUp() -> Parcel? {
        self.isOver = true
        (self.bytes, self.first) = ([], 0)
        return nil
    }

    /// How long the message is that begins there, as it says itself; `nil` while it has not said that.
    private func length(at place: Int) -> Int? {
        guard self.bytes.count - place >= Self.head else { return nil }
        let code = self.bytes[place]
        // Another client can have sent an event, which has a mark then; an answer has none.
        guard code == Self.reply || code & 0x7F == Self.generic else { return Self.head }
        return Int(clamping: UInt64(Self.head) + 4 * UInt64(self.bytes.word(at: place + 4)))
    }
}
