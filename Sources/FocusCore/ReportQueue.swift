/// All that somebody knows of something; the next takes its place.
package protocol WholeReport: Sendable {
    /// Whether it is what a broker takes for granted of whom it has not heard of.
    var isNothing: Bool { get }
}

extension Desk.Report: WholeReport {
    package var isNothing: Bool { self == .forget }
}

/// What of a source's reports goes to the broker next: one at a time, and the newest.
package struct ReportQueue<Report: WholeReport>: Sendable {
    /// What the broker should know.
    private var wanted: Report?
    /// The broker was told, or is being told.
    private var isSaid = true
    /// The number of the call that has no answer yet.
    private var underWay: UInt64?
    private var lastCall: UInt64 = 0
    private var isBrokerThere = false

    package init() {}

    /// There is something new to say.
    package mutating func add(_ report: Report) {
        self.wanted = report
        self.isSaid = false
    }

    /// Another broker has the name, or nobody. What one was told, the next does not know.
    package mutating func brokerChanged(isThere: Bool) {
        self.isBrokerThere = isThere
        self.underWay = nil
        // A broker that comes has nothing to forget.
        self.isSaid = self.wanted?.isNothing ?? true
    }

    /// A call was answered. A broker that was silent, or had no room, may have heard nothing.
    package mutating func answered(_ call: UInt64, isHeard: Bool = true) {
        guard self.underWay == call else { return }
        self.underWay = nil
        if !isHeard { self.isSaid = false }
    }

    /// What to say now, and the number of the call; it counts as said.
    package mutating func next() -> (report: Report, call: UInt64)? {
        guard self.isBrokerThere, self.underWay == nil, !self.isSaid, let wanted else { return nil }
        self.isSaid = true
        self.lastCall += 1
        self.underWay = self.lastCall
        return (wanted, self.lastCall)
    }
}
