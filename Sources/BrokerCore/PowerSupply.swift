package import Arbitration

/// What UPower says of what the device runs on: whether that is its battery, and how much is left in it.
///
/// The two are said by two objects, each for itself.
package struct PowerSupply: Sendable {
    private var isOnBattery: Bool?
    private var hasBattery = false
    /// In whole percents; `nil`: not known.
    private var percents: Double?

    package init() {}

    /// It said by itself, or answered, what is so now; `nil`: that is as it was.
    package mutating func changed(isOnBattery: Bool?) { self.isOnBattery = isOnBattery ?? self.isOnBattery }

    /// The same of the device that stands for all batteries together. A percentage that no battery has is no charge.
    package mutating func changed(hasBattery: Bool?, percentage: Double?) {
        self.hasBattery = hasBattery ?? self.hasBattery
        guard let percentage else { return }
        // UPower says each tenth of a percent, which is nobody's news.
        self.percents = (0...100).contains(percentage) ? percentage.rounded(.down) : nil
    }

    /// `nil`: it never said what that is.
    package var power: Power? {
        guard let isOnBattery else { return nil }
        guard isOnBattery else { return .ac }
        guard self.hasBattery, let percents else { return .battery(nil) }
        // As the percents of a rule are read: a charge of 35 % has to be the same number as its `35%`.
        return .battery(percents * 0.01)
    }
}
