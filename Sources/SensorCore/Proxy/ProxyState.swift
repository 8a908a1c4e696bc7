package import Detection
package import Motion

/// What `net.hadess.SensorProxy` hands out.
package enum ProxySensor: Int, Hashable, Sendable, CaseIterable {
    case accelerometer
    case light
    case proximity
    case compass

    /// What the sensor behind it is called.
    package var name: String {
        switch self {
        case .accelerometer: SensorDescription.accelerometer
        case .light: "light"
        case .proximity: "proximity"
        case .compass: "magnetometer"
        }
    }
}

/// What there is to know of the sensors, as that interface's properties.
package enum ProxyProperty: Hashable, Sendable, CaseIterable {
    case hasAccelerometer, orientation, tilt
    case hasLight, lightUnit, lightLevel
    case hasProximity, isNear
    case hasCompass, heading
}

/// What a light sensor counts, in the words of `net.hadess.SensorProxy`.
package enum LightUnit: String, Hashable, Sendable {
    case lux
    /// Percent of the most that it can show.
    case vendor
}

/// Who wants which sensor, and what those are told: everything that `net.hadess.SensorProxy` decides.
///
/// A sensor is wanted while somebody claims it, whether it is there or not. A claim is answered when there is a reading, so
/// that whoever asks then gets a true one, or when it has waited for long enough; a claim on a sensor that is not there is
/// answered at once, and kept until it comes. Only claimants are told: first of all that is known, then of changes. Claims
/// outlive the device behind a sensor. A claim that rests keeps its place, wants nothing and is told nothing.
package struct ProxyState: Sendable {
    /// What the shell has to do, in this order.
    package enum Action: Hashable, Sendable {
        /// Claim the sensor, now or when it comes.
        case run(ProxySensor)
        case stop(ProxySensor)
        /// Answer the calls of these clients that wait for the sensor.
        case answer(ProxySensor, [String])
        /// Tell the clients that these properties changed.
        case tell([String], [ProxyProperty])
    }

    /// What is known of a sensor's device.
    package enum Presence: Hashable, Sendable {
        case there
        case absent
        case broken
    }

    private struct Claimant: Sendable {
        let client: String
        /// In whose share it counts.
        let user: UInt32
    }

    private struct Sensor: Sendable {
        var isThere = false
        /// True from its breaking to its next reading.
        var isDoubtful = false
        /// In the order in which they came.
        var claimants: [Claimant] = []
        /// How many of them each user may have.
        var places = SensorHub.strangers
        /// Those of them whose claims do not rest, in the order in which they came or came back.
        var awake: [String] = []
        /// Those of the awake that were told nothing yet.
        var fresh: [String] = []
        /// Those of them that have not been answered.
        var waiting: [String] = []
        /// True from the first reading after the sensor began to run.
        var isRead = false

        func isClaimed(by client: String) -> Bool { self.claimants.contains { $0.client == client } }
    }

    private var sensors = [Sensor](repeating: Sensor(), count: ProxySensor.allCases.count)
    package private(set) var orientation = Orientation.undefined
    package private(set) var tilt = Tilt.undefined
    package private(set) var lightLevel = 0.0
    package private(set) var lightUnit = LightUnit.lux
    package private(set) var isNear = false
    /// Degrees, or -1 while nobody knows.
    package private(set) var heading = -1.0
    /// Where a screen turns calmly, what says so.
    private var calm: CalmScreen?
    /// When the tilt was looked at last there.
    private var tilted = Timestamp(microseconds: .min / 2)

    /// As often as the original looks.
    package static let usualPeriod = TimeSpan.milliseconds(700)

    /// - Parameter calm: `nil`: the orientation is the original's, of each reading by itself.
    package init(calm: CalmScreen? = nil) { self.calm = calm }

    package var isCalm: Bool { self.calm != nil }

    private subscript(_ sensor: ProxySensor) -> Sensor {
        get { self.sensors[sensor.rawValue] }
        set { self.sensors[sensor.rawValue] = newValue }
    }

    package func isThere(_ sensor: ProxySensor) -> Bool { self[sensor].isThere }
    /// Whose claims on a sensor do not rest.
    package func claimants(of sensor: ProxySensor) -> [String] { self[sensor].awake }

    /// Whether a client holds a claim that does not rest.
    package func isTold(_ client: String, of sensor: ProxySensor) -> Bool { self[sensor].awake.contains(client) }

    /// What there is of each sensor for all, and who has it.
    package var usage: [LimitUsage] {
        ProxySensor.allCases.map { LimitUsage(Self.limit, of: .sensor($0.name), self[$0].places) }
    }

    // MARK: Claims

    /// As `Limits` names it.
    package static let limit = "proxy-claimants"

    /// A client claims a sensor. Answered by an action, perhaps a later one; never, when it is returned why there is no place for it.
    ///
    /// - Parameter user: Whose claim it is: nobody takes all places.
    package mutating func claim(
        _ sensor: ProxySensor, by client: String, of user: UInt32, _ actions: inout [Action]
    ) -> ClaimProblem? {
        guard !self[sensor].isClaimed(by: client) else {
            // Whoever waits already is answered with the first reading.
            if !self[sensor].waiting.contains(client) { actions.append(.answer(sensor, [client])) }
            return nil
        }
        guard self[sensor].places.take(1, for: user) else {
            return ClaimProblem(Self.limit, 1, beyond: self[sensor].places, of: user)
        }
        self[sensor].claimants.append(Claimant(client: client, user: user))
        self.begin(sensor, for: client, isAnswered: false, &actions)
        return nil
    }

    /// What is known is told at once, or with the first reading.
    private mutating func begin(
        _ sensor: ProxySensor, for client: String, isAnswered: Bool, _ actions: inout [Action]
    ) {
        self[sensor].awake.append(client)
        if self[sensor].isRead {
            actions.append(.tell([client], Self.readings(of: sensor)))
        } else {
            self[sensor].fresh.append(client)
        }
        if !isAnswered {
            if self[sensor].isThere, !self[sensor].isRead {
                self[sensor].waiting.append(client)
            } else {
                actions.append(.answer(sensor, [client]))
            }
        }
        if self[sensor].awake.count == 1 { actions.append(.run(sensor)) }
    }

    /// A client has waited for long enough: it is answered without a reading, and told of the first when it comes.
    package mutating func waited(for sensor: ProxySensor, by client: String, _ actions: inout [Action]) {
        guard let index = self[sensor].waiting.firstIndex(of: client) else { return }
        self[sensor].waiting.remove(at: index)
        actions.append(.answer(sensor, [client]))
    }

    /// A client wants a sensor no more, or is gone. Nothing when it had no claim.
    package mutating func release(_ sensor: ProxySensor, by client: String, _ actions: inout [Action]) {
        guard let index = self[sensor].claimants.firstIndex(where: { $0.client == client }) else { return }
        let claimant = self[sensor].claimants.remove(at: index)
        self[sensor].places.giveBack(1, for: claimant.user)
        self.end(sensor, for: client, &actions)
    }

    private mutating func end(_ sensor: ProxySensor, for client: String, _ actions: inout [Action]) {
        guard let index = self[sensor].awake.firstIndex(of: client) else { return }
        self[sensor].awake.remove(at: index)
        self[sensor].fresh.removeAll { $0 == client }
        self.waited(for: sensor, by: client, &actions)
        guard self[sensor].awake.isEmpty else { return }
        self[sensor].isRead = false
        actions.append(.stop(sensor))
    }

    /// Lets all claims of a client rest: nothing runs for it, and it is told nothing.
    package mutating func rest(_ client: String, _ actions: inout [Action]) {
        for sensor in ProxySensor.allCases { self.end(sensor, for: client, &actions) }
    }

    /// Lets all claims of a client go on that rested.
    package mutating func wake(_ client: String, _ actions: inout [Action]) {
        for sensor in ProxySensor.allCases
        where self[sensor].isClaimed(by: client) && !self[sensor].awake.contains(client) {
            // It may have come or gone meanwhile.
            let news = self[sensor].isThere ? [Self.presence(of: sensor)] : Self.properties(of: sensor)
            actions.append(.tell([client], news))
            self.begin(sensor, for: client, isAnswered: true, &actions)
        }
    }

    /// A sensor came, went, broke or may work again.
    ///
    /// One that broke is tried again and again: for those who claim it, it is there again with its next reading.
    package mutating func set(_ sensor: ProxySensor, to presence: Presence, _ actions: inout [Action]) {
        switch presence {
        case .there where self[sensor].isDoubtful && !self[sensor].awake.isEmpty: return
        case .there, .absent: self[sensor].isDoubtful = false
        case .broken: self[sensor].isDoubtful = true
        }
        self.set(sensor, isThere: presence == .there, &actions)
    }

    private mutating func set(_ sensor: ProxySensor, isThere: Bool, _ actions: inout [Action]) {
        guard self[sensor].isThere != isThere else { return }
        self[sensor].isThere = isThere
        self[sensor].isRead = false
        if !isThere {
            // What was true of it is so no more.
            switch sensor {
            case .accelerometer: (self.orientation, self.tilt) = (.undefined, .undefined)
            case .compass: self.heading = -1
            case .proximity: self.isNear = false
            case .light: break
            }
        }
        guard !self[sensor].awake.isEmpty else { return }
        self[sensor].fresh = []
        actions.append(.tell(self[sensor].awake, Self.properties(of: sensor)))
        // Nobody can be kept waiting for what is not there.
        if !isThere { self.answerWaiting(sensor, &actions) }
    }

    private mutating func answerWaiting(_ sensor: ProxySensor, _ actions: inout [Action]) {
        let waiting = self[sensor].waiting
        guard !waiting.isEmpty else { return }
        self[sensor].waiting = []
        actions.append(.answer(sensor, waiting))
    }

    private static func properties(of sensor: ProxySensor) -> [ProxyProperty] {
        [self.presence(of: sensor)] + self.readings(of: sensor)
    }

    private static func presence(of sensor: ProxySensor) -> ProxyProperty {
        switch sensor {
        case .accelerometer: .hasAccelerometer
        case .light: .hasLight
        case .proximity: .hasProximity
        case .compass: .hasCompass
        }
    }

    private static func readings(of sensor: ProxySensor) -> [ProxyProperty] {
        switch sensor {
        case .accelerometer: [.orientation, .tilt]
        case .light: [.lightUnit, .lightLevel]
        case .proximity: [.isNear]
        case .compass: [.heading]
        }
    }

    /// Tells a client anew all that it is to know of the sensors that it claims: it was not told of some change.
    package func tellAnew(_ client: String, _ actions: inout [Action]) {
        for sensor in ProxySensor.allCases where self.isTold(client, of: sensor) {
            // Who waits for the first reading is told with it.
            let isFresh = self[sensor].fresh.contains(client)
            actions.append(.tell([client], isFresh ? [Self.presence(of: sensor)] : Self.properties(of: sensor)))
        }
    }

    // MARK: Readings

    /// An accelerometer's sample came. The words are those that the original has for what Linux reads.
    package mutating func accelerated(
        _ sample: SIMD3<Double>, at time: Timestamp = .zero, _ actions: inout [Action]
    ) {
        let acceleration = DeviceAxes.turned(sample)
        let isFirst = !self[.accelerometer].isRead
        self.begin(.accelerometer, &actions)
        self.calm?.take(sample, at: time)
        var changed: [ProxyProperty] = []
        // What is asked first is to be true at once; from then on it turns when it is calm.
        let orientation =
            self.calm == nil || isFirst
            ? self.orientation.next(acceleration)
            : self.calm?.edge.map { Orientation(edge: $0) } ?? self.orientation
        if orientation != self.orientation { changed.append(.orientation) }
        self.orientation = orientation
        let isDue = self.calm == nil || isFirst || time - self.tilted >= Self.usualPeriod
        if isDue { self.tilted = time }
        let tilt = isDue ? Tilt(acceleration) : self.tilt
        if tilt != self.tilt { changed.append(.tilt) }
        self.tilt = tilt
        self.finish(.accelerometer, changed, &actions)
    }

    package mutating func lit(_ level: Double, in unit: LightUnit, _ actions: inout [Action]) {
        self.begin(.light, &actions)
        var changed: [ProxyProperty] = []
        if unit != self.lightUnit { changed.append(.lightUnit) }
        self.lightUnit = unit
        if level != self.lightLevel { changed.append(.lightLevel) }
        self.lightLevel = level
        self.finish(.light, changed, &actions)
    }

    package mutating func approached(_ isNear: Bool, _ actions: inout [Action]) {
        self.begin(.proximity, &actions)
        let isNews = isNear != self.isNear
        self.isNear = isNear
        self.finish(.proximity, isNews ? [.isNear] : [], &actions)
    }

    /// `nil`: the field gives no north.
    package mutating func pointed(_ heading: Double?, _ actions: inout [Action]) {
        self.begin(.compass, &actions)
        let heading = heading ?? -1
        let isNews = heading != self.heading
        self.heading = heading
        self.finish(.compass, isNews ? [.heading] : [], &actions)
    }

    /// What can be read works.
    private mutating func begin(_ sensor: ProxySensor, _ actions: inout [Action]) {
        guard self[sensor].isDoubtful else { return }
        self[sensor].isDoubtful = false
        self.set(sensor, isThere: true, &actions)
    }

    /// What is told comes before the answers to claims.
    private mutating func finish(_ sensor: ProxySensor, _ changed: [ProxyProperty], _ actions: inout [Action]) {
        let (awake, fresh) = (self[sensor].awake, self[sensor].fresh)
        let known = fresh.isEmpty ? awake : awake.filter { !fresh.contains($0) }
        if !changed.isEmpty, !known.isEmpty { actions.append(.tell(known, changed)) }
        if !fresh.isEmpty {
            actions.append(.tell(fresh, Self.readings(of: sensor)))
            self[sensor].fresh = []
        }
        self[sensor].isRead = !awake.isEmpty
        self.answerWaiting(sensor, &actions)
    }
}
