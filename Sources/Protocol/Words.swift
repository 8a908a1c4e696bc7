package import DBus
import Motion

/// Reads words of a fixed set, of which a caller gave one.
package enum GivenWord {
    /// - Parameter what: what the words are, in the singular.
    package static func read<T>(
        _ word: String, _ what: String, among all: [T], name: (T) -> String
    ) throws(BusError) -> T {
        if let found = all.first(where: { name($0) == word }) { return found }
        let names = all.map(name)
        let near = Suggestion.nearest(to: word, among: names)
        throw .invalidConfiguration(
            "there is no \(what) '\(printable(word))', "
                + (near.map { "did you mean '\($0)'?" } ?? "give one of: \(names.joined(separator: ", "))"))
    }
}

/// How an app ended a task that was under way.
package enum TaskResult: String, CaseIterable, Sendable {
    case done
    /// It was broken off.
    case cancelled
}

/// Whether the screen is locked.
package enum LockState: String, CaseIterable, Sendable {
    case locked
    case unlocked
}

/// What a call takes that has nothing further to say: each can be given options, so that it can grow.
package let noOptions: [String: Value] = [:]

/// The options that lists take.
package enum ListOptions {
    /// The last row that is known: the list goes on behind it.
    package static let after = "after"
}

/// The options of `Forget`.
package enum ForgetOptions {
    package static let clips = "clips"
}

/// The options of `Register`.
package enum RegisterOptions {
    package static let durable = "durable"
}
