import DBus
import Protocol

/// How a session of ours stands beside those of other apps, from now on.
public struct SessionChange: Hashable, Sendable {
    /// What is another than before.
    public enum Change: Hashable, Sendable {
        /// It may be heard.
        case began
        /// It begins later, when others are done.
        case waits
        /// It is silent now, for the sake of another.
        case interrupted
        /// Its interruption is over. Without `resume` it would not be heard if it went on.
        case resumed(resume: Bool)
        /// It is to be soft, at this share of how loud it would be.
        case ducked(share: Double)
        /// It may be as loud as before.
        case restored
        /// The screen is locked, and it is not to be heard.
        case silenced
        /// The screen is unlocked.
        case audible
    }

    /// The class of the session.
    public let name: String
    /// The number of the activity that it belongs to.
    public let number: UInt64
    /// What is another than before.
    public let change: Change

    /// What a signal says of a session; `nil` for what no broker says.
    static func read(_ message: borrowing Message) -> SessionChange? {
        guard let (name, word, details) = try? message.read(String.self, String.self, [String: Value].self) else {
            return nil
        }
        return SessionChange(name, word, details)
    }

    /// `nil` for what no broker says.
    private init?(_ name: String, _ word: String, _ details: [String: Value]) {
        guard case .uint64(let number) = details[HeldKey.number] else { return nil }
        self.name = name
        self.number = number
        switch word {
        case "began": self.change = .began
        case "waits": self.change = .waits
        case "interrupted": self.change = .interrupted
        case "resumed":
            guard case .boolean(let resume) = details[HeldKey.resume] else { return nil }
            self.change = .resumed(resume: resume)
        case "ducked":
            guard case .double(let share) = details[HeldKey.share] else { return nil }
            self.change = .ducked(share: share)
        case "restored": self.change = .restored
        case "silenced": self.change = .silenced
        case "audible": self.change = .audible
        default: return nil
        }
    }
}
