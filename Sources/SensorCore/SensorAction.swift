package import Motion

/// One claimant of a sensor, as the shell numbers its connections and streams: small numbers, used again when free.
package struct ClientID: Hashable, Comparable, Sendable {
    package let index: UInt32

    package init(_ index: UInt32) { self.index = index }

    package static func < (a: ClientID, b: ClientID) -> Bool { a.index < b.index }
}

/// What the shell has to do, in this order and before the hub's next input.
package enum SensorAction: Hashable, Sendable {
    /// Run the device at this pace, starting it if it stands still.
    ///
    /// A device that comes out at another pace is reported back with `deviceRuns(at:into:)`.
    case run(SensorPace)
    /// Nobody wants the sensor to run any more: let the device stand still.
    case stop
    /// Tell this claimant what is in force for it now; it changed through no call of its own.
    case tell(ClientID, SensorPace)
    /// A block is due to this claimant: read it with `withBlock(of:_:)`, then report `delivered` or `dropped`.
    case send(ClientID)
}

/// What became of a sample at the intake.
package enum SampleVerdict: Hashable, Sendable {
    case accepted
    /// The row has not one value per channel.
    case malformed
    /// A value is NaN or infinite.
    case notFinite
    /// The time is not after the last accepted sample's, or before the clock's zero.
    case notRising
    /// The time lies more than `SensorLimits.ahead` ahead of the arrival.
    case farAhead
}

/// What a sensor has counted since its start.
package struct SensorCounters: Hashable, Sendable {
    /// Samples accepted from the device.
    package var accepted: UInt64 = 0
    /// Samples refused, by the reason that `SampleVerdict` gives.
    package var malformed: UInt64 = 0
    package var notFinite: UInt64 = 0
    package var notRising: UInt64 = 0
    package var farAhead: UInt64 = 0
    /// Samples delivered, counted once for each claimant that got them.
    package var sent: UInt64 = 0
    /// Samples that were due to a claimant and could not be delivered to it.
    package var dropped: UInt64 = 0

    package init() {}

    /// All samples refused.
    package var refused: UInt64 { self.malformed &+ self.notFinite &+ self.notRising &+ self.farAhead }
}

/// One claimant as a person may see it.
package struct Claimant: Hashable, Sendable {
    package var client: ClientID
    /// Which claim it is, counted from 1 in the order in which they came.
    package var number: UInt64
    /// What it asked for.
    package var requested: SensorPace
    package var isPassive: Bool
    package var decimation: Decimation
    /// What it gets, while the device runs.
    package var inForce: SensorPace
    /// Where its samples wait for each other.
    package var gathering: Gathering
    /// Samples delivered to it.
    package var sent: UInt64
    /// Samples that were due to it and could not be delivered.
    package var dropped: UInt64
}

/// Why a claim was refused.
package struct ClaimProblem: Swift.Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of problem it is: each kind has an error name of its own on the bus.
    package enum Kind: Hashable, Sendable {
        /// A value lies outside its range.
        case value
        /// A limit is reached.
        case limit
    }

    package var kind: Kind
    /// The option or limit: `rate`, `batch-latency`, `claimants`, `messages-per-second`.
    package var key: String
    /// The value that was given.
    package var value: String
    /// The values that are accepted.
    package var range: String

    package var description: String {
        switch self.kind {
        case .value: "\(self.key) \(self.value) is outside \(self.range)"
        case .limit: "\(self.key) is at its limit of \(self.range)"
        }
    }
}

extension ClaimProblem {
    /// What there is no room for: so much more than a user has of a limit.
    init(_ key: String, _ more: Int, beyond shares: UserShares, of user: UInt32) {
        let (held, limit) = (shares.held(by: user), shares.limit)
        let range = shares.taken == limit ? "\(limit)" : "\(held) for one user, as much as the others leave"
        self.init(kind: .limit, key: key, value: "\(held + more)", range: range)
    }
}
