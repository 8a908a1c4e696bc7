/// How it is seen that whoever looks too late was not there: stopped, or without a processor. Times are in µs.
enum Absence {
    /// Who is so much too late was not there.
    static let shortest: Int64 = 20_000
    /// So long another thread has then to say that it is done: it was away, too.
    private static let moment: Int64 = 500_000

    /// When somebody looks once more for what was due from another thread, because he was not there in time; `nil`: he was, or
    /// this is that look. Whoever never has a processor in time must hear of it, too.
    static func nextLook(for due: Int64, at now: Int64, isSecond: Bool) -> Int64? {
        !isSecond && now - due > self.shortest ? now + self.moment : nil
    }
}
