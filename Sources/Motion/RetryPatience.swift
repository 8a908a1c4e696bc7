/// When what came to nothing is tried again: after a second, after two more, and so on up to a minute.
package struct RetryPatience: Equatable, Sendable {
    package static let first = TimeSpan.seconds(1)
    package static let longest = TimeSpan.seconds(60)

    /// `nil` while nothing is to be tried again.
    package private(set) var nextTry: Timestamp?
    /// Why the last one came to nothing, until one does not.
    package private(set) var refusal: String?
    private var wait = Self.first

    package init() {}

    package mutating func failed(_ why: String? = nil, at now: Timestamp) {
        self.refusal = why
        self.nextTry = now + self.wait
        self.wait = min(Self.longest, self.wait + self.wait)
    }

    /// It is tried again. Another failure makes the next wait longer.
    package mutating func tried() { self.nextTry = nil }
}
