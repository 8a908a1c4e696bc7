/// When something is due from another thread, in µs. Whoever looks for it much too late was not there himself: stopped, or without a
/// processor, as the other thread was.
struct DueTime: Sendable {
    private(set) var time: Int64
    /// Somebody looked too late, and `time` is that of his second look.
    private var isPutOff = false

    /// Who is so much too late was not there.
    static let absence: Int64 = 20_000
    /// So long the other thread has then to say that it is done.
    private static let moment: Int64 = 500_000

    init(_ time: Int64) { self.time = time }

    /// Whether it is overdue to somebody who looks now, when the time has come. Otherwise he looks once more at `time`, and once only:
    /// whoever never has a processor in time must hear of it, too.
    mutating func isOverdue(at now: Int64) -> Bool {
        guard !self.isPutOff, now - self.time > Self.absence else { return true }
        (self.time, self.isPutOff) = (now + Self.moment, true)
        return false
    }
}
