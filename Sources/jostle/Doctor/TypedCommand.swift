import DBus

/// A command that `jostle doctor` names, as one types it: each word is quoted for a shell where it has to be.
struct TypedCommand: Equatable {
    /// Whom a command of our own speaks to, and so which buses it has to be told.
    enum Audience {
        case nobody
        case broker
        case reader
    }

    /// The buses that `jostle doctor` itself was told.
    struct Buses {
        var broker: BusAddress
        var reader: BusAddress
    }

    private let words: [String]
    private let audience: Audience
    /// Whether it runs on while the shell is given back.
    private let isLeft: Bool

    /// A command of others.
    static func run(_ words: String...) -> TypedCommand {
        TypedCommand(words: words, audience: .nobody, isLeft: false)
    }

    /// A program that goes on until it is ended.
    static func leave(_ words: [String]) -> TypedCommand {
        TypedCommand(words: words, audience: .nobody, isLeft: true)
    }

    /// A command of `jostle`.
    static func jostle(_ words: String..., to audience: Audience) -> TypedCommand {
        TypedCommand(words: ["jostle"] + words, audience: audience, isLeft: false)
    }

    func line(on buses: Buses) -> String {
        let all = self.words + self.options(for: buses)
        return all.map(Self.quoted).joined(separator: " ") + (self.isLeft ? " &" : "")
    }

    private func options(for buses: Buses) -> [String] {
        switch self.audience {
        case .broker where buses.broker != .session: ["--bus", buses.broker.option]
        case .reader where buses.reader != .session: ["--sensor-bus", buses.reader.option]
        case .nobody, .broker, .reader: []
        }
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:=@%+,".utf8.contains(byte)
            }
        }
        guard !isPlain || word.isEmpty else { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
