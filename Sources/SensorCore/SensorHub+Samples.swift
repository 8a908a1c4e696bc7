package import Motion

/// The way of the samples: from the device, through the claims, to the claimants.
extension SensorHub {
    /// Takes a sample from the device.
    ///
    /// Only blocks that are full or of claims without batching become due here; the rest become due in `tick`, so that
    /// samples a device gathered itself travel on together. A sample waits from its own time on if the device may have
    /// held it since, and from its arrival otherwise.
    @discardableResult
    package mutating func process(
        _ time: Timestamp, _ row: Span<Double>, arrivedAt arrival: Timestamp, into actions: inout [SensorAction]
    ) -> SampleVerdict {
        let verdict = self.judge(time, row, arrival)
        guard verdict == .accepted else { return verdict }
        self.lastTime = time
        let held = self.running?.batchLatency ?? .zero
        let since = min(max(time, arrival - held), arrival)
        let isForAll = self.view.reaches(time, at: self.viewRate)
        for index in 0..<self.awake where self.claims[index].offer(time, row, since: since, isForAll: isForAll) {
            actions.append(.send(self.claims[index].client))
        }
        return .accepted
    }

    /// The device was away, or stood still: what comes next does not follow on from what came before.
    ///
    /// What waits is due now, and one number is left out for every claimant that has had samples, so that each sees the gap.
    package mutating func gap(into actions: inout [SensorAction]) {
        for index in 0..<self.awake where self.claims[index].breakOff() {
            actions.append(.send(self.claims[index].client))
        }
    }

    private mutating func judge(_ time: Timestamp, _ row: Span<Double>, _ arrival: Timestamp) -> SampleVerdict {
        guard row.count == self.sensor.channels.count else {
            self.counters.malformed &+= 1
            return .malformed
        }
        for index in row.indices where !row[index].isFinite {
            self.counters.notFinite &+= 1
            return .notFinite
        }
        guard time > self.lastTime else {
            self.counters.notRising &+= 1
            return .notRising
        }
        guard time - arrival <= SensorLimits.ahead else {
            self.counters.farAhead &+= 1
            return .farAhead
        }
        self.counters.accepted &+= 1
        return .accepted
    }

    /// When `tick` must run next, `nil` when nothing waits. It may lie in the past: then at once.
    package var nextDeadline: Timestamp? {
        var earliest = self.slowsDown
        for index in 0..<self.awake {
            guard let deadline = self.claims[index].deadline else { continue }
            earliest = min(earliest ?? deadline, deadline)
        }
        return earliest
    }

    /// Makes every block due whose oldest sample has waited as long as its claim allows, and asks less of the device when it is time.
    ///
    /// To be called when `nextDeadline` comes; best also after each run of `process` for what one read of the device gave.
    package mutating func tick(at now: Timestamp, into actions: inout [SensorAction]) {
        for index in 0..<self.awake {
            let deadline = self.claims[index].isPrompt ? now : self.claims[index].deadline
            guard let deadline, deadline <= now else { continue }
            if self.claims[index].handOver() { actions.append(.send(self.claims[index].client)) }
        }
        // Behind what is due: the device may tell what it still holds, in place of that.
        if let slowsDown, slowsDown <= now { self.steer(causedBy: nil, at: now, into: &actions) }
    }

    /// Lends the block that is due to a client: the first sample's sequence number, the times, the values row by row.
    ///
    /// Returns false, without calling `body`, when the client has no claim any more, or one that rests, or nothing was ever due to it.
    @discardableResult
    package func withBlock(
        of client: ClientID, _ body: (_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Void
    ) -> Bool {
        guard let position = self.position(of: client), position < self.awake else { return false }
        return self.claims[position].lend(body)
    }

    /// Counts samples that went out to a client. A client that has left meanwhile still counts in the total.
    package mutating func delivered(_ client: ClientID, samples: Int) {
        let count = UInt64(max(0, samples))
        self.counters.sent &+= count
        if let position = self.position(of: client) { self.claims[position].sent &+= count }
    }

    /// Counts samples that could not go out to a client. Their numbers are used up, so that it sees the gap.
    package mutating func dropped(_ client: ClientID, samples: Int) {
        let count = UInt64(max(0, samples))
        self.counters.dropped &+= count
        if let position = self.position(of: client) { self.claims[position].dropped &+= count }
    }
}
