/// What of a source's reports goes to the broker next: one at a time, and the newest.
package struct ReportQueue: Sendable {
    /// What the broker should know.
    private var wanted: Desk.Report?
    /// The broker was told, or is being told.
    private var isSaid = true
    /// The number of the call that has no answer yet.
    private var underWay: UInt64?
    private var lastCall: UInt64 = 0
    private var isBrokerThere = false

    package init() {}

    /// There is something new to say.
    package mutating func add(_ report: Desk.Report) {
        self.wanted = report
        self.isSaid = false
    }

    /// Another broker has the name, or nobody. What one was told, the next does not know.
    package mutating func brokerChanged(isThere: Bool) {
        self.isBrokerThere = isThere
        self.underWay = nil
        // A broker that comes has nothing to forget.
        self.isSaid = self.wanted == nil || self.wanted == .forget
    }

    /// A call was answered. A broker that was silent may have heard nothing.
    package mutating func answered(_ call: UInt64, isSilence: Bool = false) {
        guard self.underWay == call else { return }
        self.underWay = nil
        if isSilence { self.isSaid = false }
    }

    /// What to say now, and the number of the call; it counts as said.
    package mutating func next() -> (report: Desk.Report, call: UInt64)? {
        guard self.isBrokerThere, self.underWay == nil, !self.isSaid, let wanted else { return nil }
        self.isSaid = true
        self.lastCall += 1
        self.underWay = self.lastCall
        return (wanted, self.lastCall)
    }
}
