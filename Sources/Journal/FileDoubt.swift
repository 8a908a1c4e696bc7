/// Whether others may have written to a file without being seen, and when to look it over for that.
///
/// The kernel tells that a file was written to, but not by whom: what others write while we write is hidden by it. It also
/// tells when somebody closes the file who could have written to it, and that is never we. All who read with SQLite do the
/// same, so that a file is looked over only once after what we wrote, and never for long. Times are those of `Clock.monotonic`.
package struct FileDoubt: Sendable {
    private let pause: Int64
    /// We wrote since the file was looked over. One that was just opened is written to at once.
    private var isHidden = true
    private var isDoubted = false
    private var next = Int64.min

    /// How much longer than the look the pause behind it is at least.
    private static let share: Int64 = 20
    /// And how many pauses it is at most: a look also takes long because others have the processor.
    private static let longest: Int64 = 100

    /// - Parameter pause: How long to leave at least between two looks.
    package init(pause: Int64) { self.pause = pause }

    package mutating func wrote() { self.isHidden = true }

    /// Somebody else closed the file who had it open to write.
    package mutating func othersClosed() { self.isDoubted = self.isDoubted || self.isHidden }

    /// When to look the file over; `nil` when nobody need.
    package var deadline: Int64? { self.isDoubted ? self.next : nil }

    /// Whether to look the file over now. Whatever comes of it, the next time is a while later.
    package mutating func isTimeToLook(at now: Int64) -> Bool {
        guard self.isDoubted, now >= self.next else { return false }
        self.next = now + self.pause
        return true
    }

    /// The file was looked over, and is in order.
    package mutating func looked(from start: Int64, to end: Int64) {
        (self.isHidden, self.isDoubted) = (false, false)
        self.next = end + max(self.pause, min((end - start) * Self.share, self.pause * Self.longest))
    }
}
