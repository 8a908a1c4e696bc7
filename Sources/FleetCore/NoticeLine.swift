/// Messages that are neither events nor verdicts, in the order in which they are to be said.
///
/// Of what a server keeps only the newest of a topic is said. And while events wait, too, one of them goes behind what waited when the
/// last one went: an app that changes its state all the time keeps neither what is told of other apps from being said, nor events.
struct NoticeLine: Sendable {
    private var messages: [Outgoing] = []
    /// The first so many have been taken.
    private var taken = 0
    /// Where that of a topic stands of which the server is to keep one.
    private var places: [String: Int] = [:]
    /// How many go before an event that waits; `nil`: as many as there are when the first goes.
    private var ahead: Int?

    /// So many wait at most.
    static let most = 4_096

    var isEmpty: Bool { self.taken == self.messages.count }

    /// Whether the next one goes before an event that waits.
    var isFirst: Bool { !self.isEmpty && self.ahead != 0 }

    mutating func add(_ message: Outgoing) {
        if message.isRetained, let place = self.places[message.topic] {
            self.messages[place] = message
            return
        }
        guard self.messages.count - self.taken < Self.most else { return }
        if message.isRetained { self.places[message.topic] = self.messages.count }
        self.messages.append(message)
    }

    mutating func popFirst() -> Outgoing? {
        guard !self.isEmpty else { return nil }
        self.ahead = max(0, (self.ahead ?? self.messages.count - self.taken) - 1)
        let message = self.messages[self.taken]
        self.taken += 1
        if message.isRetained { self.places[message.topic] = nil }
        self.tidy()
        return message
    }

    /// An event has gone: what waits by now goes before the next.
    mutating func letBy() { self.ahead = self.messages.count - self.taken }

    private mutating func tidy() {
        guard self.isEmpty || self.taken == Self.most else { return }
        let taken = self.taken
        self.messages.removeFirst(taken)
        self.places = self.places.mapValues { $0 - taken }
        self.taken = 0
    }
}
