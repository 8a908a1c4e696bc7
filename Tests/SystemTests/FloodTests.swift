import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Whoever calls as fast as can be does not keep others from their events, nor a daemon from its duties.
    @Suite(.serialized) struct Floods {
        @Test(arguments: Flood.all)
        func aGoodAppHearsAll(_ flood: Flood) throws {
            try FloodScene(flood, otherUser: false).run()
        }

        @Test(arguments: Flood.ofManyConnections)
        func aGoodAppHearsAllBesideACrowd(_ flood: Flood) throws {
            try FloodScene(flood, otherUser: false).run()
        }

        @Test(arguments: CrowdAttack.all.filter { geteuid() == 0 || !$0.otherUser })
        func aGoodAppHearsAllThroughWhatCrowdsDo(_ attack: CrowdAttack) throws {
            try FloodScene(attack).run()
        }

        /// As another user on a system bus, with the policy that is installed.
        @Test(.enabled(if: geteuid() == 0), arguments: Flood.ofAnotherUser)
        func aGoodAppHearsAllBesideAnotherUser(_ flood: Flood) throws {
            try FloodScene(flood, otherUser: true).run()
        }
    }
}
