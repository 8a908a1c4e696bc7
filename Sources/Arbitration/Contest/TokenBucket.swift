package import Motion

/// How much of a quota is left. Kept as the time at which the bucket is full again, so that nothing needs to be refilled.
package struct TokenBucket: Equatable, Sendable {
    private var fullAt = Timestamp(microseconds: .min)

    package init() {}

    /// The time in which one token comes back.
    private static func interval(_ quota: Quota) -> Int64 {
        max(1, quota.period.microseconds / Int64(max(1, quota.count)))
    }

    /// Tokens at a time; below zero when more was spent than was there.
    package func tokens(of quota: Quota, at now: Timestamp) -> Int {
        let missing = (self.fullAt - now).microseconds
        if missing <= 0 { return quota.burst }
        let spent = missing / Self.interval(quota) + (missing % Self.interval(quota) == 0 ? 0 : 1)
        return Int(clamping: Int64(quota.burst).subtractingReportingOverflow(spent).partialValue)
    }

    /// When a token is there next, besides some that are promised.
    func nextToken(of quota: Quota, at now: Timestamp, besides promised: Int = 0) -> Timestamp {
        if self.tokens(of: quota, at: now) > promised { return now }
        let missing = Int64(max(0, quota.burst - 1 - promised))
        let (span, overflow) = Self.interval(quota).multipliedReportingOverflow(by: missing)
        return max(now, self.fullAt - TimeSpan(microseconds: overflow ? .max : span))
    }

    /// Takes a token, also one that is not there any more: what was promised at S3 is kept, whatever another policy gives.
    package mutating func spend(_ quota: Quota, at now: Timestamp) {
        self.fullAt = max(self.fullAt, now) + TimeSpan(microseconds: Self.interval(quota))
    }

    /// Goes by another quota: no more is missing than all of that.
    mutating func adopt(_ quota: Quota, at now: Timestamp) {
        let (span, overflow) = Self.interval(quota).multipliedReportingOverflow(by: Int64(quota.burst))
        self.fullAt = min(self.fullAt, now + TimeSpan(microseconds: overflow ? .max : span))
    }

    /// Goes on from a time that is earlier than the last: what is missing then is still missing.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        guard self.fullAt > now else { return }
        self.fullAt = self.fullAt > last ? now + (self.fullAt - last) : now
    }

    /// Whether nothing would change if it were forgotten.
    package func isFull(at now: Timestamp) -> Bool { self.fullAt <= now }
}
