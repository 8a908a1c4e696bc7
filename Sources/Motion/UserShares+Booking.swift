extension UserShares {
    /// Gives back or takes until a user has an amount, or as much of it as there is room for: for what is there whatever the
    /// share is.
    package mutating func set(_ amount: Int, for user: UInt32) {
        let more = max(0, amount) - self.held(by: user)
        if more < 0 { return self.giveBack(-more, for: user) }
        _ = self.take(min(more, max(0, self.room(for: user))), for: user)
    }
}
