import Motion
import Testing

@Suite struct UserSharesTests {
    @Test func `the first user may have a half, the next half of the rest`() {
        var shares = UserShares(limit: 72, reserve: 8)
        #expect(shares.share == 32)
        #expect(shares.take(32, for: 1000) && !shares.take(1, for: 1000))
        #expect(shares.take(16, for: 1001) && !shares.take(1, for: 1001))
        #expect(shares.take(8, for: 1002) && !shares.take(1, for: 1002))
        #expect(shares.room(for: 1003) == 4)
        #expect(shares.taken == 56)
    }

    @Test func `an amount is taken as a whole or not at all`() {
        var shares = UserShares(limit: 20, reserve: 0)
        #expect(shares.take(11, for: 1000) == false)
        #expect(shares.held(by: 1000) == 0 && shares.taken == 0)
        #expect(shares.take(10, for: 1000) == true)
        #expect(shares.take(0, for: 1000) == true)
        #expect(!shares.take(.max, for: 1001) && !shares.take(-1, for: 1001))
    }

    @Test func `root may take what is free, and the reserve is its own`() {
        var shares = UserShares(limit: 10, reserve: 4)
        for user in 1000..<1100 { while shares.take(1, for: UInt32(user)) {} }
        // Half of what is left rounds down: one is always left.
        #expect(shares.taken == 5)
        #expect(shares.take(5, for: UserShares.root) && !shares.take(1, for: UserShares.root))
        #expect(shares.taken == shares.limit)
        // Root has more than the reserve: the others have less, not a negative amount.
        #expect(shares.room(for: 1003) == 0)
        shares.giveBack(3, for: 1000)
        #expect(shares.room(for: 1000) == 1)
    }

    @Test func whatRootHasOfItsReserveTakesNothingFromOthers() {
        var shares = UserShares(limit: 32, reserve: 24)
        #expect(shares.take(24, for: UserShares.root) == true)
        #expect(shares.take(4, for: 1000) && !shares.take(1, for: 1000) && shares.room(for: 1001) == 2)
        // What it has beyond that it has of theirs.
        #expect(shares.take(2, for: UserShares.root) && shares.room(for: 1001) == 1 && shares.room(for: 1000) == 0)
        shares.giveBack(26, for: UserShares.root)
        #expect(shares.room(for: 1001) == 2 && shares.room(for: UserShares.root) == 28)
    }

    @Test func `what is given back is free for whoever comes`() {
        var shares = UserShares(limit: 16, reserve: 0)
        #expect(shares.take(8, for: 1000) && shares.take(4, for: 1001))
        #expect(shares.room(for: 1001) == 0)
        shares.giveBack(8, for: 1000)
        #expect(shares.held(by: 1000) == 0 && shares.room(for: 1001) == 4 && shares.room(for: 1000) == 6)
        shares.giveBack(4, for: 1001)
        #expect(shares == UserShares(limit: 16, reserve: 0))
    }

    @Test func `one who has more than its share keeps it and takes no more`() {
        var shares = UserShares(limit: 16, reserve: 0)
        #expect(shares.take(8, for: 1000) && shares.take(4, for: 1001))
        #expect(shares.room(for: 1000) == 0)
        shares.giveBack(1, for: 1000)
        #expect(shares.take(1, for: 1000) == false, "half of the twelve that the other leaves is six")
        shares.giveBack(2, for: 1000)
        #expect(shares.take(1, for: 1000) == true)
    }

    @Test func whatIsThereIsBookedWhateverTheShareIs() {
        var shares = UserShares(limit: 16, reserve: 0)
        shares.set(20, for: 1000)
        #expect(shares.held(by: 1000) == 20 && shares.taken == 20)
        #expect(shares.room(for: 1000) == 0 && shares.room(for: 1001) == 0 && shares.room(for: UserShares.root) == 0)
        // One begins and comes back, again and again: the book says what there is.
        for _ in 0..<5 {
            shares.set(shares.held(by: 1000) - 1, for: 1000)
            shares.set(shares.held(by: 1000) + 1, for: 1000)
        }
        #expect(shares.held(by: 1000) == 20)
        shares.set(3, for: 1000)
        #expect(shares.taken == 3 && shares.room(for: 1001) == 6)
        shares.set(0, for: 1000)
        #expect(shares == UserShares(limit: 16, reserve: 0))
    }

    /// What a user has in all is asked after as what it would take on top.
    @Test func whoHasMoreThanItsShareMayKeepItAndHaveNoMore() {
        var shares = UserShares(limit: 16, reserve: 4)
        #expect(shares.admits(0, for: 1000) && shares.admits(6, for: 1000) && !shares.admits(7, for: 1000))
        #expect(shares.admits(16, for: UserShares.root) && !shares.admits(17, for: UserShares.root))
        shares.set(8, for: 1000)
        #expect(shares.admits(8, for: 1000) && shares.admits(3, for: 1000) && !shares.admits(9, for: 1000))
        #expect(shares.admits(2, for: 1001) && !shares.admits(3, for: 1001) && !shares.admits(.max, for: 1001))
        for amount in 0..<20 {
            for user in [UserShares.root, 1000, 1001] where amount > shares.held(by: user) {
                var copy = shares
                let takes = copy.take(amount - shares.held(by: user), for: user)
                #expect(shares.admits(amount, for: user) == takes, "\(amount) for \(user)")
            }
        }
    }

    @Test func `giving back what was not taken is our own mistake`() async {
        await #expect(processExitsWith: .failure) {
            var shares = UserShares(limit: 16, reserve: 0)
            shares.giveBack(1, for: 1000)
        }
    }
}
