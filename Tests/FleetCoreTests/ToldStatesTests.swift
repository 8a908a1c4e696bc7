import FleetCore
import Testing

/// Of what was told the server keeps nothing that is gone, whoever told it.
@Suite struct ToldStatesTests {
    private static let (clock, player) = ("jostle/1/d/apps/a.clock/state", "jostle/1/d/apps/a.player/state")

    @Test func whatAnEarlierLifeToldAndNobodyTellsAgainIsGone() {
        var first = ToldStates("", of: "d")
        for topic in [Self.clock, Self.player] {
            let isNew = first.tell(topic, isThere: true)
            #expect(isNew)
        }
        let isNews = first.tell(Self.clock, isThere: false)
        #expect(!isNews && first.gone == [Self.clock])
        // The server may not have heard that one is gone.
        #expect(first.text == "\(Self.clock)\n\(Self.player)\n")
        var second = ToldStates(first.text, of: "d")
        #expect(second.gone.isEmpty && second.text == first.text && second.waits && !first.waits)
        let isOther = second.tell(Self.player, isThere: true)
        second.settle()
        #expect(!isOther && !second.waits && second.gone == [Self.clock] && second.text == "\(Self.player)\n")
        // It comes later than all that was there.
        let isBack = second.tell(Self.clock, isThere: true)
        #expect(isBack && second.gone.isEmpty && second.text == first.text)
    }

    @Test func onlyTopicsOfTheDeviceAreRemembered() {
        var states = ToldStates("jostle/1/other/apps/a.clock/state\n\njostle/1/d\n\(Self.clock)\nnonsense", of: "d")
        states.settle()
        #expect(states.gone == [Self.clock])
    }

    /// Of more than are remembered those that are there go before others.
    @Test func noMoreAreRememberedThanThereIsRoomFor() {
        var states = ToldStates("", of: "d")
        for number in 0..<ToldStates.most { _ = states.tell("jostle/1/d/sensors/\(number)", isThere: number > 0) }
        let isRemembered = states.tell(Self.clock, isThere: true)
        #expect(isRemembered && states.gone.isEmpty)
        let isOneMore = states.tell(Self.player, isThere: true)
        #expect(!isOneMore)
    }
}
