import Loop
import Motion

/// Follows who owns which bus names.
///
/// Many names share one match rule, installed while any is followed, because the bus walks its rules for every message.
/// A name that should not wake us for everybody's coming and going gets a rule of its own, as long as there are few: a bus
/// keeps only so many for a connection, and of what it does not keep we would never hear.
/// Not `Sendable`: it belongs to the thread of its connection's loop.
package final class NameWatch {
    /// Told the owner's unique name, or `nil` for none: once soon after following began, then at every change.
    package typealias Handler = (String?) -> Void

    package struct Token: Hashable, Sendable {
        fileprivate let name: String
        fileprivate let number: UInt64
    }

    private final class Follower {
        let handler: Handler
        let ownRule: Bool
        /// False until the bus has told the first owner.
        var isInformed = false
        var owner: String?
        /// Which question for the owner is the last: only that one is asked again when it comes to nothing.
        var question: UInt64 = 0
        /// When the bus is asked again that did not say who that is.
        var patience = RetryPatience()

        init(ownRule: Bool, _ handler: @escaping Handler) {
            self.ownRule = ownRule
            self.handler = handler
        }

        func tell(_ owner: String?) {
            guard !self.isInformed || owner != self.owner else { return }
            self.isInformed = true
            self.owner = owner
            self.handler(owner)
        }
    }

    /// Weak, because what runs when the connection comes or goes is told to us in turn.
    private weak var connection: Connection?
    private var followers: [String: [UInt64: Follower]] = [:]
    private var lastNumber: UInt64 = 0
    /// How many followers have a rule of their own.
    private var ownRules = 0
    /// The system bus keeps 512 rules for a connection, of which others may be ours as well.
    private static let mostOwnRules = 64
    /// Told of each connection that is heard to have left, followed or not: of all while any name is followed that has no rule
    /// of its own.
    var onDeparture: (String) -> Void = { _ in }
    /// Signals that pretended to come from the bus.
    package private(set) var forgeries: UInt64 = 0
    /// How often the bus was asked for an owner.
    private(set) var asked: UInt64 = 0

    private static let rule =
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
        + "path='/org/freedesktop/DBus',member='NameOwnerChanged'"

    package init(on connection: Connection) {
        self.connection = connection
        connection.onSignal("org.freedesktop.DBus", "NameOwnerChanged") { [weak self] message in
            // Anybody can send us a signal of this name; only the bus's own counts.
            guard message.sender == "org.freedesktop.DBus",
                let (name, _, new) = try? message.read(String.self, String.self, String.self)
            else {
                self?.forgeries &+= 1
                return
            }
            self?.tell(name, new.isEmpty ? nil : new)
            if new.isEmpty, name.hasPrefix(":") { self?.onDeparture(name) }
        }
        connection.whenInDoubt { [weak self] _ in self?.refresh() }
    }

    /// Begins to follow a bus name. Nobody owns a text that is none.
    ///
    /// - Parameter ownRule: ask the bus about this name alone, rather than about all, if there are not too many already.
    package func follow(_ name: String, ownRule: Bool = false, _ handler: @escaping Handler) -> Token {
        self.lastNumber += 1
        let ownRule = ownRule && self.ownRules < Self.mostOwnRules
        if ownRule { self.ownRules += 1 }
        let token = Token(name: name, number: self.lastNumber)
        self.followers[name, default: [:]][token.number] = Follower(ownRule: ownRule, handler)
        self.connection?.addMatch(self.rule(for: name, ownRule))
        self.ask(token)
        return token
    }

    package func unfollow(_ token: Token) {
        guard let follower = self.followers[token.name]?.removeValue(forKey: token.number) else { return }
        if self.followers[token.name]?.isEmpty == true { self.followers[token.name] = nil }
        if follower.ownRule { self.ownRules -= 1 }
        self.connection?.removeMatch(self.rule(for: token.name, follower.ownRule))
    }

    /// Gives back memory that was needed for names that nobody follows any more.
    package func shrink() {
        guard self.followers.capacity / 4 > self.followers.count + 64 else { return }
        var fresh: [String: [UInt64: Follower]] = [:]
        for (name, followers) in self.followers { fresh[name] = followers }
        self.followers = fresh
    }

    /// Asks for all owners again; also to be called when the connection has come back.
    package func refresh() {
        for (name, followers) in self.followers {
            for number in followers.keys { self.ask(Token(name: name, number: number)) }
        }
    }

    /// The bus is gone, and every owner with it.
    package func forgetAll() {
        for name in self.followers.keys { self.tell(name, nil) }
    }

    /// A text that is no bus name gets no rule of its own: it could be the text of a rule.
    private func rule(for name: String, _ ownRule: Bool) -> String {
        ownRule && BusNames.isValid(name) ? Self.rule + ",arg0='\(name)'" : Self.rule
    }

    /// The rule was sent before, so no change can fall between the answer and the first signal.
    private func ask(_ token: Token) {
        guard let connection = self.connection, connection.isReady,
            let asking = self.followers[token.name]?[token.number]
        else { return }
        asking.question += 1
        let question = asking.question
        self.asked &+= 1
        connection.callBus("GetNameOwner", token.name) { [weak self] result in
            var owner: String?
            do throws(BusError) {
                owner = try result.take().read(reply: String.self)
            } catch {
                // A bus that is there and says anything else has not said that there is none. Whom it shows no name, nobody has it.
                if !error.isNameFree, !error.isDenied, BusNames.isValid(token.name), let connection = self?.connection,
                    connection.isReady
                {
                    self?.askAgain(token, question, after: error, on: connection)
                    return
                }
            }
            guard let follower = self?.followers[token.name]?[token.number] else { return }
            follower.patience = RetryPatience()
            follower.tell(owner)
        }
    }

    /// Whoever floods us has all owners asked for every few seconds, and the bus drop the answers: were each question asked again until it
    /// has one, there would be more and more of them.
    private func askAgain(_ token: Token, _ question: UInt64, after error: BusError, on connection: Connection) {
        guard let follower = self.followers[token.name]?[token.number], follower.question == question else { return }
        // One that said nothing took its time already.
        if error.isUnanswered { return self.ask(token) }
        follower.patience.failed(at: Timestamp(microseconds: Clock.monotonic.now()))
        guard let next = follower.patience.nextTry else { return }
        connection.loop.once(at: next.microseconds) { [weak self] in
            if self?.followers[token.name]?[token.number]?.question == question { self?.ask(token) }
        }
    }

    private func tell(_ name: String, _ owner: String?) {
        guard let followers = self.followers[name] else { return }
        // In order of following; a handler may unfollow others.
        for number in followers.keys.sorted() { self.followers[name]?[number]?.tell(owner) }
    }
}
