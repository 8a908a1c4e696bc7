import FocusCore
import Testing

/// What an X server says, as it comes, and what it is shown.
@Suite struct X11Tests {
    private static func join(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }
    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    /// Of a vendor whose name fills no words, with a format, and a screen of one depth and one visual.
    private static let greeting = join(
        [1, 0, 11, 0, 0, 0, 30, 0], zeros(16), [5, 0, 255, 255, 1, 1], zeros(10), Array("Maker".utf8), zeros(3),
        zeros(8), [0x23, 1, 0, 0], zeros(35), [1, 24, 0, 1, 0, 0, 0, 0, 0], zeros(24))
    private static let event = join([28, 0, 7, 0, 9, 0, 0, 0, 0x39, 5, 0, 0], zeros(20))

    /// - Parameter words: how much comes behind what each message has.
    private static func answer(_ words: Int, code: UInt8 = 1) -> [UInt8] {
        join(
            [code, 8, 2, 0, UInt8(words & 0xFF), UInt8(words >> 8), 0, 0], zeros(24),
            [UInt8](repeating: 7, count: 4 * words))
    }

    /// What is handed on of bytes that come in pieces of a size, and whether the server is left after that.
    private static func hear(_ bytes: [UInt8], cutBy size: Int) -> (parcels: [X11Messages.Parcel], isOver: Bool) {
        var messages = X11Messages()
        var parcels: [X11Messages.Parcel] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            messages.add(bytes[start..<min(start + size, bytes.count)])
            while let parcel = messages.next() { parcels.append(parcel) }
        }
        return (parcels, messages.isOver)
    }

    /// All that was handed on behind the greeting.
    private static func bytes(_ parcels: [X11Messages.Parcel]) -> [UInt8] {
        parcels.dropFirst().flatMap { parcel -> [UInt8] in
            guard case .messages(let bytes) = parcel else { return [] }
            return bytes
        }
    }

    /// Errors, events and answers; those whose length is their own have it behind their first 32 bytes.
    @Test(arguments: [1, 7, 64, 4_096]) func whatComesInPiecesIsHandedOnWhole(_ size: Int) {
        let error = Self.join([0, 3, 7, 0, 255, 255, 255, 255], Self.zeros(24))
        // Sent by another client, one of them under the number of an answer.
        let marked = Self.join([0x80 | 17], Self.zeros(31), [0x81, 0, 0, 0, 255, 255], Self.zeros(26))
        let said = Self.join(
            Self.answer(0), Self.answer(2), error, Self.event, marked, Self.answer(3, code: 35),
            Self.answer(1, code: 0x80 | 35), Self.event)
        let heard = Self.hear(Self.join(Self.greeting, said, Array(Self.event.dropLast())), cutBy: size)
        guard case .greeting(let greeting)? = heard.parcels.first else {
            Issue.record("no greeting comes first")
            return
        }
        #expect(greeting.bytes == Self.greeting)
        #expect(greeting.roots == [0x123])
        // Not the last, of which a byte has not come.
        #expect(Self.bytes(heard.parcels) == said)
        #expect(!heard.isOver)
    }

    /// Many together, or one that is longer than they.
    @Test func aParcelIsOfMessagesThatTheLibraryReadsAtOnce() {
        let events = [[UInt8]](repeating: Self.event, count: 200).flatMap { $0 }
        let long = Self.answer(Desk.mostWindows)
        let said = Self.join(Self.greeting, events, long, Self.event)
        let parcels = Self.hear(said, cutBy: said.count).parcels
        let expected: [[UInt8]] = [Array(events.prefix(4_096)), Array(events.dropFirst(4_096)), long, Self.event]
        let wanted: [X11Messages.Parcel] = expected.map { .messages($0) }
        #expect(Array(parcels.dropFirst()) == wanted)
    }

    /// What was said before it is handed on; nothing of it is kept, whatever comes behind.
    @Test(arguments: [100, 4_096]) func whatNoServerSaysEndsIt(_ size: Int) {
        let endless = Self.join([1, 0, 1, 0, 255, 255, 255, 255], Self.zeros(1_024))
        let tooLong = Self.answer(Desk.mostWindows + 1)
        for nonsense in [endless, tooLong] {
            let heard = Self.hear(Self.join(Self.greeting, Self.event, nonsense, Self.event), cutBy: size)
            #expect(heard.isOver)
            #expect(Self.bytes(heard.parcels) == Self.event)
        }
    }

    /// libxcb would believe each of these.
    @Test func aGreetingThatCannotBeIsNone() {
        let withoutScreens = Self.join(
            [1, 0, 11, 0, 0, 0, 8, 0], Self.zeros(18), [255, 255], Self.zeros(12))
        // It says that it has a depth, and ends.
        let short = Self.join(
            [1, 0, 11, 0, 0, 0, 18, 0], Self.zeros(18), [255, 255, 1], Self.zeros(50), [1])
        // It has no room for what it says that it has.
        let head: [UInt8] = [1, 0, 11, 0, 0, 0, 1, 0, 0, 0, 0, 0]
        let empty: [UInt8] = [1, 0, 11, 0, 0, 0, 0, 0]
        let endless = Self.join([1, 0, 11, 0, 0, 0, 255, 255], Self.zeros(32))
        var smallRequests = Self.greeting
        smallRequests[26] = 4
        smallRequests[27] = 0
        var manyFormats = Self.greeting
        manyFormats[29] = 255
        let refusal: [UInt8] = [0, 0, 11, 0, 0, 0, 0, 0]
        let question: [UInt8] = [2, 0, 0, 0, 0, 0, 0, 0]
        for said in [withoutScreens, short, head, empty, endless, smallRequests, manyFormats, refusal, question] {
            let heard = Self.hear(said, cutBy: 9)
            #expect(heard.isOver, "\(said)")
            #expect(heard.parcels.isEmpty, "\(said)")
        }
    }

    @Test func whatThereIsToShowIsShown() {
        let nothing: [UInt8] = [UInt8(ascii: "l"), 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        #expect(X11Authority().request == nothing)
        let name = Array("MIT-MAGIC-COOKIE-1".utf8)
        let request = Self.join(
            [UInt8(ascii: "l"), 0, 11, 0, 0, 0, 18, 0, 5, 0, 0, 0], name, Self.zeros(2), Array("ours!".utf8),
            Self.zeros(3))
        #expect(X11Authority(name: name, secret: Array("ours!".utf8)).request == request)
    }
}
