import Motion
import SensorCore

/// A block as a claimant would receive it.
struct Received: Equatable {
    var first: UInt64
    var times: [Int64]
    var values: [Double]
}

/// A hub with a shell around it that performs the actions and keeps what everybody received.
final class Shell {
    var hub: SensorHub
    var received: [ClientID: [Received]] = [:]
    /// Everything but `.send`, which turns into `received`.
    var told: [SensorAction] = []
    /// When the last sample arrived, or the last tick was.
    var now = Timestamp.zero
    /// Clients that cannot take anything at present.
    var blocked: Set<ClientID> = []

    init(rates: [Double], channels: [String] = ["x"]) {
        self.hub = SensorHub(
            SensorDescription(
                name: "accelerometer", channels: channels, unit: "g", rates: rates, source: "test", isSimulated: true))
    }

    func claim(
        _ client: ClientID, _ rate: Double, _ latency: TimeSpan = .zero, isPrompt: Bool = false,
        isPassive: Bool = false, _ decimation: Decimation = .last, of user: UInt32? = nil
    ) throws -> SensorPace {
        var actions: [SensorAction] = []
        let request = SensorRequest(
            SensorPace(rate: rate, batchLatency: latency), isPassive: isPassive, decimation: decimation)
        let inForce = try self.hub.claim(
            client, request, of: user, isPrompt: isPrompt, at: self.now, into: &actions)
        self.perform(actions)
        return inForce
    }

    func flush(_ client: ClientID) {
        var actions: [SensorAction] = []
        self.hub.flush(client, into: &actions)
        self.perform(actions)
    }

    func release(_ client: ClientID) -> Bool {
        var actions: [SensorAction] = []
        let was = self.hub.release(client, at: self.now, into: &actions)
        self.perform(actions)
        return was
    }

    func rest(_ client: ClientID) {
        var actions: [SensorAction] = []
        self.hub.rest(client)
        self.hub.settle(at: self.now, into: &actions)
        self.perform(actions)
    }

    func wake(_ client: ClientID) {
        var actions: [SensorAction] = []
        self.hub.wake(client, at: self.now, into: &actions)
        self.perform(actions)
    }

    func deviceRuns(_ rate: Double, _ latency: TimeSpan = .zero) {
        var actions: [SensorAction] = []
        self.hub.deviceRuns(at: SensorPace(rate: rate, batchLatency: latency), into: &actions)
        self.perform(actions)
    }

    @discardableResult
    func sample(_ time: Int64, arrival: Int64? = nil, _ row: [Double]? = nil) -> SampleVerdict {
        var actions: [SensorAction] = []
        let row = row ?? [Double(time)]
        self.now = Timestamp(microseconds: arrival ?? time)
        let verdict = self.hub.process(
            Timestamp(microseconds: time), row.span, arrivedAt: self.now, into: &actions)
        self.perform(actions)
        return verdict
    }

    func gap() {
        var actions: [SensorAction] = []
        self.hub.gap(into: &actions)
        self.perform(actions)
    }

    func describe(rates: [Double], channels: [String] = ["x"]) {
        var actions: [SensorAction] = []
        self.hub.describe(
            SensorDescription(
                name: "accelerometer", channels: channels, unit: "g", rates: rates, source: "test", isSimulated: true),
            at: self.now, into: &actions)
        self.perform(actions)
    }

    func tick(_ now: Int64) {
        var actions: [SensorAction] = []
        self.now = Timestamp(microseconds: now)
        self.hub.tick(at: self.now, into: &actions)
        self.perform(actions)
    }

    /// The actions since the last call, `.send` excepted.
    func takeTold() -> [SensorAction] {
        defer { self.told = [] }
        return self.told
    }

    func times(_ client: ClientID) -> [Int64] { (self.received[client] ?? []).flatMap(\.times) }

    private func perform(_ actions: [SensorAction]) {
        for action in actions {
            guard case .send(let client) = action else {
                self.told.append(action)
                continue
            }
            var block = Received(first: 0, times: [], values: [])
            self.hub.withBlock(of: client) { first, times, values in
                block.first = first
                for index in times.indices { block.times.append(times[index]) }
                for index in values.indices { block.values.append(values[index]) }
            }
            if self.blocked.contains(client) {
                self.hub.dropped(client, samples: block.times.count)
            } else {
                self.received[client, default: []].append(block)
                self.hub.delivered(client, samples: block.times.count)
            }
        }
    }
}

let a = ClientID(0)
let b = ClientID(1)
let c = ClientID(7)
