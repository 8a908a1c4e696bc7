import Glibc
import Testing

extension EndToEnd {
    /// Whatever is said on the bus, the daemons live, answer and serve others.
    @Suite(.serialized) struct Strangers {
        @Test func anythingMayBeSaid() throws { try StrangerScene(as: nil).run() }

        /// On a bus with the rules of a system bus, where a stranger may say less.
        @Test(.enabled(if: geteuid() == 0)) func anythingMayBeSaidByAnotherUser() throws {
            try StrangerScene(as: 65_534).run()
        }
    }
}
