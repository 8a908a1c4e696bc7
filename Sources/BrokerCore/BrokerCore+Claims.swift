package import Motion

/// What becomes of our claims on sensors, and whether samples come of them.
extension BrokerCore {
    /// - Parameter allowed: the fastest rate that we may have, where that is less than we claimed.
    package mutating func claimAnswered(
        _ sensor: String, _ pace: SensorPace, allowed: Double? = nil, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.change(sensor, at: arrival, &actions) { $0.claimAnswered(pace, allowed: allowed) }
    }

    /// A claim came to nothing. It is tried again after a while, and as soon as something changes about the sensor.
    package mutating func claimFailed(
        _ sensor: String, _ reason: String, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.change(sensor, at: arrival, &actions) { $0.claimFailed(reason, at: arrival) }
    }

    /// What was in force ended, through no wish of ours.
    package mutating func claimEnded(_ sensor: String, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.change(sensor, at: arrival, &actions) { $0.claimEnded() }
    }

    private mutating func change(
        _ sensor: String, at arrival: Timestamp, _ actions: inout [BrokerAction],
        _ body: (inout SensorStream) -> Void
    ) {
        guard let index = self.index(of: sensor) else { return }
        body(&self.streams[index])
        self.tellOutlook(of: index, at: arrival, &actions)
    }

    /// Has everybody know if the detectors of a sensor can fire by now, or cannot any more, or look less often.
    mutating func tellOutlook(of index: Int, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        let outlook = self.streams[index].outlook
        guard self.streams[index].told != outlook else { return }
        self.streams[index].told = outlook
        let sensor = self.streams[index].name
        self.setAvailable(outlook.standing == .ready, at: arrival) { $0 == sensor }
        self.perform(&actions)
        actions.append(.availability(sensor: sensor))
    }

    /// Tries again what came to nothing, once its time has come.
    mutating func retryClaims(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for index in self.streams.indices {
            guard let next = self.streams[index].nextTry, next <= arrival else { continue }
            self.retryClaims(at: arrival, of: index, &actions)
        }
    }

    /// Tries again what came to nothing of one sensor, at once.
    mutating func retryClaims(at arrival: Timestamp, of index: Int, _ actions: inout [BrokerAction]) {
        self.streams[index].tryAgain()
        self.steer(&actions)
    }

    // MARK: Silence

    /// When to call `checkSilence` next; `nil` while no sensor has to speak.
    package func nextSilence(at now: Timestamp) -> Timestamp? {
        var earliest: Timestamp?
        for index in self.streams.indices {
            guard let deadline = self.streams[index].silenceDeadline(at: now) else { continue }
            earliest = min(earliest ?? deadline, deadline)
        }
        return earliest
    }

    /// Finds out which sensors have stalled: nothing new comes of them, and it should.
    package mutating func checkSilence(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for index in self.streams.indices where self.streams[index].fallSilent(at: arrival) {
            self.tellOutlook(of: index, at: arrival, &actions)
        }
    }
}
