/// Something around the apps is otherwise from now on: what the device does, what an app is at, how a sensor runs.
///
/// A row says how it is, and holds until the next one of its kind, app and value, or until its broker ended.
package struct JournalChange: Equatable, Sendable {
    /// What there is to note. Their names stand in files.
    package enum Kind: String, CaseIterable, Sendable {
        /// `locked` or `unlocked`.
        case lock
        /// The app in front; nothing: none, or nobody said.
        case foreground
        /// `battery` or `ac`.
        case power
        /// `asleep` or `awake`.
        case sleep
        /// `off`: somebody switched motion off; or `on`.
        case motion
        /// The state of an app; `gone`: it is not known any more.
        case state
        /// What an app's detectors ask of the sensor in `value`: the rate, and how many looks a second they need.
        case asks
        /// The rate at which the sensor in `value` runs for us; 0: it does not.
        case sensor
        /// How many samples of the sensor in `value` were sent and did not come, since the row before.
        case lost
        /// How many gaps the samples of the sensor in `value` had, since the row before.
        case gaps
        /// An app was launched or resumed for something, and this came of it.
        case launch
        /// The broker ended as it should.
        case end
    }

    package var kind: Kind
    /// Of which app; nothing: of none.
    package var app: String
    /// Whose app it is, or who runs the broker.
    package var user: UInt32
    package var value: String
    /// In Hz.
    package var rate: Double?
    package var count: Double?

    package init(
        _ kind: Kind, app: String = "", user: UInt32, _ value: String = "", rate: Double? = nil, count: Double? = nil
    ) {
        self.kind = kind
        self.app = app
        self.user = user
        self.value = value
        self.rate = rate
        self.count = count
    }
}

/// A change that waits to be written, and when it was.
struct ChangeRow: Sendable {
    let change: JournalChange
    /// In µs of the wall clock.
    let wall: Int64
}

extension [ChangeRow] {
    /// Removes so many, the oldest of whoever has most: who is restless loses its own.
    mutating func removeOldest(_ count: Int) {
        guard count > 0 else { return }
        func owner(of row: ChangeRow) -> JournalShares.Holder {
            JournalShares.Holder(app: row.change.app, user: Int64(row.change.user))
        }
        var held: [JournalShares.Holder: Int] = [:]
        for row in self { held[owner(of: row), default: 0] += 1 }
        var (cuts, left) = (JournalShares.cuts(held, excess: count), count)
        self.removeAll { row in
            let holder = owner(of: row)
            guard left > 0, let cut = cuts[holder], cut > 0 else { return false }
            cuts[holder] = cut - 1
            left -= 1
            return true
        }
    }
}
