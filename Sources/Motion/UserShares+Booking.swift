extension UserShares {
    /// Gives back or takes until a user has an amount, for what is there whatever the share is. While it is more than that, the
    /// user can take no more.
    package mutating func set(_ amount: Int, for user: UInt32) {
        let more = max(0, amount) - self.held(by: user)
        if more < 0 { self.giveBack(-more, for: user) } else { self.add(more, for: user) }
    }
}
