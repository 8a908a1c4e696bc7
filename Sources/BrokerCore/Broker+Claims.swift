import Arbitration
package import Motion

/// What becomes of our claims on sensors, and whether samples come of them.
extension Broker {
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
        self.sensing.change(sensor, body)
        self.tellNews(of: sensor, at: arrival, &actions)
    }

    /// Has everybody know if the detectors of a sensor can fire by now, or cannot any more, or look less often.
    mutating func tellNews(of sensor: String, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard let outlook = self.sensing.news(of: sensor) else { return }
        self.setAvailable(outlook.standing == .ready, at: arrival, on: sensor)
        self.perform(&actions)
        actions.append(.availability(sensor: sensor))
    }

    /// Tells the arbiter whether detectors can fire, of one sensor or of all: nobody waits for those that cannot.
    mutating func setAvailable(_ isAvailable: Bool, at arrival: Timestamp, on sensor: String?) {
        for detector in self.sensing.detectors(on: sensor) {
            self.tell(.available(detector, isAvailable), at: arrival)
        }
    }

    /// Claims each sensor at the fastest rate its detectors need, and releases it with the last of them.
    mutating func steer(_ actions: inout [BrokerAction]) {
        var index = 0
        while let next = self.sensing.steer(from: &index) {
            // What was refused and is not wanted any more is no obstacle.
            self.tellNews(of: next.sensor, at: self.decisions.arbiter.arrivalTime, &actions)
            switch next.change {
            case .claim(let pace): actions.append(.claim(sensor: next.sensor, pace))
            case .release: actions.append(.release(sensor: next.sensor))
            }
        }
    }

    /// Tries again what came to nothing, once its time has come.
    mutating func retryClaims(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for sensor in self.sensing.retries(at: arrival) { self.retryClaim(of: sensor, &actions) }
    }

    /// Tries again what came to nothing of one sensor, at once.
    mutating func retryClaim(of sensor: String, _ actions: inout [BrokerAction]) {
        self.sensing.change(sensor) { $0.tryAgain() }
        self.steer(&actions)
    }

    // MARK: Silence

    /// When to call `checkSilence` next; `nil` while no sensor has to speak.
    package func nextSilence(at now: Timestamp) -> Timestamp? { self.sensing.nextSilence(at: now) }

    /// Finds out which sensors have stalled: nothing new comes of them, and it should.
    package mutating func checkSilence(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for sensor in self.sensing.silent(at: arrival) { self.tellNews(of: sensor, at: arrival, &actions) }
    }
}
