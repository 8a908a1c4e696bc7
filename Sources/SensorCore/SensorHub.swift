package import Motion

/// Who claims one sensor, how fast its device must run for them, and which samples are due to whom.
///
/// A value: inputs are mutating methods that append what the shell has to do to `actions`. The shell performs the actions
/// before the next input, because a block lives only that long, and before it answers the call that caused them, so
/// that a claimant gets what was left of its old claim ahead of the answer to its new one.
///
/// All times are of one clock, the one that the samples' times are of. A source that plays faster than time passes hands
/// in its own clock's now as the arrival.
package struct SensorHub: Sendable {
    /// Indices of clients beyond this are no small numbers any more.
    private static let clientIndices: UInt32 = 1 << 20

    /// What strangers share of a sensor while nobody claims it.
    package static let strangers = UserShares(
        limit: SensorLimits.claimants, reserve: SensorLimits.claimantsOfRoot)
    /// How many messages a second they share.
    package static let messages = UserShares(limit: SensorLimits.messages, reserve: SensorLimits.messagesOfRoot)

    package private(set) var sensor: SensorDescription
    /// The pace the device runs at, `nil` while nobody claims the sensor.
    package private(set) var running: SensorPace?
    package internal(set) var counters = SensorCounters()

    /// How many claimants strangers may be, and how many messages a second they may have.
    private var places = Self.strangers
    private var messages = Self.messages
    /// Those that are awake, in the order in which the clients came, which is that of their numbers; behind them those that rest,
    /// which no sample ever comes across.
    var claims: [SensorClaim] = []
    /// How many are awake.
    private(set) var awake = 0
    private var lastClaim: UInt64 = 0
    /// How many samples a second all may see.
    private(set) var viewRate = SensorLimits.rateForAll
    /// The time of the last sample accepted.
    var lastTime = Timestamp(microseconds: -1)
    /// The samples that all may see: many claims that read slowly enough, each at times of its own, would together read fast.
    var view = ClaimGrid(isBounded: true)
    /// What is asked of the device.
    private var device = DevicePace()
    /// Client index -> position in `claims`, or -1.
    private var positions: [Int32] = []

    package init(_ sensor: SensorDescription) {
        self.sensor = sensor
    }

    /// What there is for all strangers, and who has it.
    package var usage: [LimitUsage] {
        let part = LimitUsage.Part.sensor(self.sensor.name)
        return [
            LimitUsage("claimants", of: part, self.places), LimitUsage("messages-per-second", of: part, self.messages),
        ]
    }

    // MARK: Claims

    /// Claims the sensor, replacing what the client claimed before; returns what is in force for it.
    ///
    /// The sequence begins at 0. Samples that waited under the client's old claim are due at once. A prompt claim lets the
    /// device gather samples as another does, and takes them at each `tick`: for claimants to whom messages cost nothing.
    ///
    /// - Parameter user: whose claim it is; `nil` for our own and the broker's, which are few, so that strangers' number is no
    ///   limit to them.
    package mutating func claim(
        _ client: ClientID, _ request: SensorRequest, of user: UInt32?, isPrompt: Bool = false, at now: Timestamp,
        into actions: inout [SensorAction]
    ) throws(ClaimProblem) -> SensorPace {
        try Self.check(request.pace)
        let position: Int
        if let known = self.position(of: client) {
            position = known
            try self.takePlace(for: self.claims[position].user, request, insteadOf: self.claims[position].request)
            if self.claims[position].replace(request) { actions.append(.send(client)) }
        } else {
            try self.takePlace(for: user, request, insteadOf: nil)
            position = self.awake
            self.lastClaim += 1
            self.claims.insert(
                SensorClaim(
                    client: client, number: self.lastClaim, of: user, channels: self.sensor.channels.count, request,
                    isPrompt: isPrompt), at: position)
            self.awake += 1
            self.setPositions(from: position)
        }
        self.steer(causedBy: client, at: now, into: &actions)
        return self.claims[position].inForce
    }

    /// Ends a client's claim; samples that wait for it are given up, and its id may be used again. Returns false when it had
    /// none.
    package mutating func release(
        _ client: ClientID, at now: Timestamp, into actions: inout [SensorAction]
    ) -> Bool {
        guard let position = self.position(of: client) else { return false }
        let claim = self.claims.remove(at: position)
        if let user = claim.user {
            self.places.giveBack(1, for: user)
            self.messages.giveBack(claim.request.messages, for: user)
        }
        if position < self.awake { self.awake -= 1 }
        self.positions[Int(client.index)] = -1
        self.setPositions(from: position)
        self.steer(causedBy: nil, at: now, into: &actions)
        return true
    }

    /// Lets a client's claim rest: nothing is due to it any more. What waits for it is given up, and a number is left out, so that it
    /// sees the gap. The device goes on as before until `settle`, so that what it holds can be read for the others first.
    package mutating func rest(_ client: ClientID) {
        guard let position = self.position(of: client), position < self.awake else { return }
        var claim = self.claims.remove(at: position)
        claim.giveUp()
        self.claims.append(claim)
        self.awake -= 1
        self.setPositions(from: position)
    }

    /// Has the device run for those that are awake, and for nobody else.
    package mutating func settle(at now: Timestamp, into actions: inout [SensorAction]) {
        self.steer(causedBy: nil, at: now, into: &actions)
    }

    /// Lets a client's claim go on that rested.
    package mutating func wake(_ client: ClientID, at now: Timestamp, into actions: inout [SensorAction]) {
        guard let position = self.position(of: client), position >= self.awake else { return }
        let claim = self.claims.remove(at: position)
        let place = self.claims[..<self.awake].firstIndex { $0.number > claim.number } ?? self.awake
        self.claims.insert(claim, at: place)
        self.awake += 1
        self.setPositions(from: place)
        self.steer(causedBy: client, at: now, into: &actions)
    }

    /// Makes what waits for a client due at once. An open bucket of samples is not: it has not come to its end.
    package mutating func flush(_ client: ClientID, into actions: inout [SensorAction]) {
        guard let position = self.position(of: client), self.claims[position].handOver() else { return }
        actions.append(.send(client))
    }

    /// Takes the device's word for the pace it really runs at after `.run`; until then it runs as it was asked to.
    package mutating func deviceRuns(at pace: SensorPace, into actions: inout [SensorAction]) {
        guard self.running != nil, pace.rate.isFinite, pace.rate > 0 else { return }
        let latency = min(max(pace.batchLatency, .zero), SensorLimits.batchLatency)
        self.follow(SensorPace(rate: pace.rate, batchLatency: latency), causedBy: nil, into: &actions)
    }

    /// Takes note of another device behind the sensor, or of what was found out about it. Name and channels must be the same.
    package mutating func describe(
        _ sensor: SensorDescription, at now: Timestamp, into actions: inout [SensorAction]
    ) {
        guard sensor.name == self.sensor.name, sensor.channels == self.sensor.channels else { return }
        let isOtherChoice = sensor.rates != self.sensor.rates
        self.sensor = sensor
        guard isOtherChoice else { return }
        self.device.hurry()
        self.steer(causedBy: nil, at: now, into: &actions)
    }

    /// When `tick` is to ask less of the device, for want of claims that need as much; `nil`: it does what is claimed.
    package var slowsDown: Timestamp? { self.device.deadline }

    /// Asks the device for the fastest rate and the shortest latency claimed: for more at once, for less after a while.
    ///
    /// Claims that are passive or rest ask nothing of it.
    mutating func steer(causedBy client: ClientID?, at now: Timestamp, into actions: inout [SensorAction]) {
        let awake = self.claims[..<self.awake]
        guard let first = awake.first(where: { !$0.request.isPassive })?.requested else {
            return self.standStill(causedBy: client, into: &actions)
        }
        var fastest = first.rate
        var latency = first.batchLatency
        for claim in awake where !claim.request.isPassive {
            fastest = max(fastest, claim.requested.rate)
            latency = min(latency, claim.requested.batchLatency)
        }
        let rate = self.sensor.rate(for: fastest)
        // A device cannot gather what comes less than once in the latency.
        if Double(latency.microseconds) < 1_000_000 / rate { latency = .zero }
        let claimed = SensorPace(rate: rate, batchLatency: latency)
        if let pace = self.device.follow(claimed, among: self.sensor.rates, at: now) {
            actions.append(.run(pace))
            self.follow(pace, causedBy: client, into: &actions)
        } else if let client, let running = self.running, let position = self.position(of: client) {
            _ = self.claims[position].follow(running)
        }
    }

    /// Nobody wants the device to run. Who rides along sees a gap when it runs again.
    private mutating func standStill(causedBy client: ClientID?, into actions: inout [SensorAction]) {
        if self.device.standStill() {
            self.gap(into: &actions)
            actions.append(.stop)
        }
        self.running = nil
        for index in 0..<self.awake where self.claims[index].standStill() {
            let claim = self.claims[index]
            if claim.client != client { actions.append(.tell(claim.client, claim.inForce)) }
        }
    }

    /// Lets every claim follow the device's pace, and tells those for whom that changes something.
    private mutating func follow(_ pace: SensorPace, causedBy client: ClientID?, into actions: inout [SensorAction]) {
        self.running = pace
        self.viewRate = self.view.follow(pace, wanted: SensorLimits.rateForAll)
        for index in 0..<self.awake where self.claims[index].follow(pace) {
            let claim = self.claims[index]
            if claim.client != client { actions.append(.tell(claim.client, claim.inForce)) }
        }
    }

    /// Takes what a claim needs of the share of its user, in place of what its last one needed.
    private mutating func takePlace(
        for user: UInt32?, _ request: SensorRequest, insteadOf old: SensorRequest?
    ) throws(ClaimProblem) {
        guard let user else { return }
        if old == nil, !self.places.take(1, for: user) {
            throw ClaimProblem("claimants", 1, beyond: self.places, of: user)
        }
        // Whoever wants no more than it has keeps that, however little the others leave.
        let more = request.messages - (old?.messages ?? 0)
        if more <= 0 { return self.messages.giveBack(-more, for: user) }
        guard !self.messages.take(more, for: user) else { return }
        if old == nil { self.places.giveBack(1, for: user) }
        throw ClaimProblem("messages-per-second", more, beyond: self.messages, of: user)
    }

    private static func check(_ pace: SensorPace) throws(ClaimProblem) {
        let rates = SensorLimits.rates
        guard rates.contains(pace.rate) else {
            throw ClaimProblem(
                kind: .value, key: "rate", value: "\(pace.rate) Hz",
                range: "\(rates.lowerBound) to \(rates.upperBound) Hz")
        }
        let latency = pace.batchLatency
        guard latency >= .zero, latency <= SensorLimits.batchLatency else {
            throw ClaimProblem(
                kind: .value, key: "batch-latency", value: "\(latency.microseconds) us",
                range: "0 to \(SensorLimits.batchLatency.microseconds) us")
        }
    }

    // MARK: Clients

    /// Who claims the sensor, in the order in which they came: so many at most whose claims have higher numbers.
    package func claimants(after number: UInt64 = 0, atMost count: Int = .max) -> [Claimant] {
        let claims = self.awake == self.claims.count ? self.claims : self.claims.sorted { $0.number < $1.number }
        return claims.lazy.filter { $0.number > number }.prefix(count).map { Self.claimant($0) }
    }

    package var claimCount: Int { self.claims.count }

    /// One claimant, or `nil` when the client claims nothing.
    package func claimant(_ client: ClientID) -> Claimant? {
        guard let position = self.position(of: client) else { return nil }
        return Self.claimant(self.claims[position])
    }

    private static func claimant(_ claim: SensorClaim) -> Claimant {
        Claimant(
            client: claim.client, number: claim.number, requested: claim.requested, isPassive: claim.request.isPassive,
            decimation: claim.request.decimation, inForce: claim.inForce, gathering: claim.gathering, sent: claim.sent,
            dropped: claim.dropped)
    }

    func position(of client: ClientID) -> Int? {
        guard client.index < self.positions.count else { return nil }
        let position = self.positions[Int(client.index)]
        return position < 0 ? nil : Int(position)
    }

    private mutating func setPositions(from first: Int) {
        for index in first..<self.claims.count { self.setPosition(of: self.claims[index].client, to: index) }
    }

    private mutating func setPosition(of client: ClientID, to position: Int) {
        precondition(client.index < Self.clientIndices, "client ids are small numbers, used again when free")
        while client.index >= self.positions.count { self.positions.append(-1) }
        self.positions[Int(client.index)] = Int32(position)
    }
}
