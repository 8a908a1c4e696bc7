package import Motion

/// Divides among users on how many sensors their detectors may be, whether there are such sensors or not.
///
/// A name that no sensor has may be one's that comes, so it has an engine that waits for it; and names cost nothing.
package struct SensorPlaces {
    package static let shares = UserShares(limit: 256, reserve: 128)
    private var shares = Self.shares

    var usage: LimitUsage { LimitUsage("sensors", self.shares) }

    /// Why a user may not have detectors on so many sensors; `nil`: they may.
    func refusal(of count: Int, to user: UInt32) -> Refusal? {
        self.shares.admits(count, for: user)
            ? nil : Refusal("sensors", self.shares, user, "the conditions are on \(count) sensors")
    }

    /// Books on how many sensors a user's detectors are now.
    mutating func book(_ count: Int, for user: UInt32) { self.shares.set(count, for: user) }
}
