/// What the reader of one stream has been told, and what it is still owed.
///
/// The numbers of a stream only rise. Whatever did not go out is told as a gap: before the next samples, or as soon as there is
/// room, should none come.
package struct StreamLedger: Equatable, Sendable {
    /// Numbers that the reader does not get.
    package struct Gap: Equatable, Sendable {
        package var first: UInt64
        package var count: UInt64

        package init(first: UInt64, count: UInt64) {
            self.first = first
            self.count = count
        }
    }

    /// The number that the reader expects next.
    package private(set) var next: UInt64 = 0
    /// The number behind the last one that was due.
    private var end: UInt64 = 0
    /// It asked for all that waits, and has not been told that this has come.
    package private(set) var owesWord = false

    package init() {}

    /// True while there is something to be told as soon as there is room.
    package var isBehind: Bool { self.end > self.next || self.owesWord }

    /// What is missing before a number, `nil` if nothing is.
    package func gap(before number: UInt64) -> Gap? {
        number > self.next ? Gap(first: self.next, count: number - self.next) : nil
    }

    /// What is missing of all that was due so far.
    package var gap: Gap? { self.gap(before: self.end) }

    /// The reader was told of everything before this number.
    package mutating func told(before number: UInt64) {
        self.next = max(self.next, number)
        self.end = max(self.end, number)
    }

    /// What was due before this number and not told is lost.
    package mutating func lost(before number: UInt64) { self.end = max(self.end, number) }

    /// The reader asked for all that waits.
    package mutating func asked() { self.owesWord = true }

    /// It was told that all of it has come.
    package mutating func gaveWord() { self.owesWord = false }
}
