import Motion
import SensorCore

/// Knows who claims what of the reader, as far as somebody sees who only watches; and says where its core says something else.
struct ReaderWatch {
    private var claims: [String: [ClientID: ReaderClaim]] = [:]
    /// Connections that the reader was told are gone.
    private var gone: Set<String> = []

    mutating func readerEnds() {
        self.claims = [:]
        self.gone = []
    }

    mutating func claims(_ client: ReaderClient, _ claim: ReaderClaim) {
        self.claims[claim.sensor, default: [:]][client.id] = claim
    }

    mutating func ends(_ client: ReaderClient) { self.claims[client.sensor.name]?[client.id] = nil }
    mutating func gone(_ name: String) { self.gone.insert(name) }
    func isGone(_ name: String) -> Bool { self.gone.contains(name) }

    // MARK: What must hold

    func check(_ process: ReaderProcess) -> String? {
        for sensor in process.sensors {
            if let wrong = self.check(sensor, isSettled: process.isSettled) { return "\(sensor.name): \(wrong)" }
        }
        return nil
    }

    private func check(_ sensor: ReaderSensor, isSettled: Bool) -> String? {
        let claims = self.claims[sensor.name] ?? [:]
        if sensor.hub.claimCount != claims.count {
            return "\(sensor.hub.claimCount) claims are kept of \(claims.count)"
        }
        var fastest: Double?
        var latency = TimeSpan.seconds(1_000)
        var hasAwake = false
        for claim in claims.values {
            if isSettled, let owner = claim.owner, self.gone.contains(owner) {
                return "\(owner) is gone, and claims it"
            }
            if claim.isResting { continue }
            hasAwake = true
            guard !claim.request.isPassive else { continue }
            fastest = max(fastest ?? 0, claim.request.pace.rate)
            latency = min(latency, claim.request.pace.batchLatency)
        }
        if !hasAwake, sensor.hub.nextDeadline != nil { return "nobody gets samples, and it waits for some" }
        guard let fastest else {
            if sensor.retryTimer != nil { return "its device is tried again for nobody" }
            return sensor.pace == nil && sensor.hub.running == nil ? nil : "it runs for nobody"
        }
        guard let pace = sensor.pace, sensor.hub.running != nil else {
            return "\(fastest) Hz are claimed, and it stands still"
        }
        let rate = sensor.hub.sensor.rate(for: fastest)
        let slowsDown = sensor.hub.slowsDown
        if pace.rate < rate || pace.rate > rate && slowsDown == nil || pace.batchLatency > latency {
            return "\(pace) is asked of it, and \(fastest) Hz within \(latency) are claimed"
        }
        if let slowsDown, sensor.timer.map({ $0 > slowsDown }) ?? true {
            return "it is to slow down at \(slowsDown), and nothing wakes the reader then"
        }
        return nil
    }

    /// Compares the books of a sensor with what is claimed.
    func checkBooks(_ sensor: ReaderSensor) -> String? {
        var (places, messages) = ([UInt32: Int](), [UInt32: Int]())
        for claim in (self.claims[sensor.name] ?? [:]).values {
            guard let user = claim.user else { continue }
            places[user, default: 0] += 1
            messages[user, default: 0] += claim.request.messages
        }
        for limit in sensor.hub.usage {
            let counts = limit.name == "claimants" ? places : messages
            if limit.held > limit.limit { return "\(limit.held) of \(limit.limit) \(limit.name) are held" }
            if limit.held != counts.values.reduce(0, +) {
                return "\(limit.held) \(limit.name) are counted of \(counts)"
            }
            for (user, count) in counts where limit.held(by: user) != count {
                return "user \(user) is said to hold \(limit.held(by: user)) \(limit.name), and holds \(count)"
            }
        }
        return nil
    }

    /// Who gets samples although their session is not in front.
    func behind(_ front: Set<UInt32>) -> ReaderClaim? {
        for claims in self.claims.values {
            for claim in claims.values where !claim.isResting {
                if let user = claim.user, user != UserShares.root, !front.contains(user) { return claim }
            }
        }
        return nil
    }
}
