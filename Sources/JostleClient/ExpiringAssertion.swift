import DBus
import Protocol

/// An assertion of ours that ends soon.
public struct ExpiringAssertion: Hashable, Sendable {
    /// The app's own name for it.
    public let name: String
    /// The number that `Assertion` has, which tells two of one name apart.
    public let number: UInt64
    /// How long it still lasts.
    public let remaining: Duration

    /// What a signal says; `nil` for what no broker says.
    static func read(_ message: borrowing Message) -> ExpiringAssertion? {
        guard let (name, details) = try? message.read(String.self, [String: Value].self),
            case .uint64(let number) = details[HeldKey.number], case .uint64(let left) = details[HeldKey.remaining]
        else { return nil }
        return ExpiringAssertion(name: name, number: number, remaining: .microseconds(Int64(clamping: left)))
    }
}
