/// What the reader of one stream has been told, and what it is still owed.
///
/// The numbers of a stream only rise. Whatever does not come is told as a gap before the next samples.
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
    /// It asked for all that waits, and has not been told that this has come.
    package private(set) var owesWord = false

    package init() {}

    /// What is missing before a number, `nil` if nothing is.
    package func gap(before number: UInt64) -> Gap? {
        number > self.next ? Gap(first: self.next, count: number - self.next) : nil
    }

    /// The reader was told of everything before this number.
    package mutating func told(before number: UInt64) { self.next = max(self.next, number) }

    /// The reader asked for all that waits.
    package mutating func asked() { self.owesWord = true }

    /// It was told that all of it has come.
    package mutating func gaveWord() { self.owesWord = false }
}
