import BrokerCore
import Motion
import Testing

/// What a reading of all app files decides while apps come.
@Suite final class AppFileRoundTests {
    private static let (a, b) = (AppID("org.example.A"), AppID("org.example.B"))

    private var round = AppFileRound()

    @Test func whatIsSeenStaysAndAllElseGoes() {
        self.round.begin()
        let isAsRead = self.round.see(Self.a)
        #expect(isAsRead && !self.round.isGone(Self.a) && self.round.isGone(Self.b))
    }

    /// Its file may have been written after the directory was listed.
    @Test func whoComesMeanwhileStays() {
        self.round.begin()
        self.round.readAlone(Self.b)
        let isAsRead = self.round.see(Self.a)
        #expect(isAsRead && !self.round.isGone(Self.b))
    }

    /// What the reading saw of its file may be older.
    @Test func whoComesMeanwhileIsAsItCame() {
        self.round.begin()
        self.round.readAlone(Self.a)
        let isAsRead = self.round.see(Self.a)
        #expect(!isAsRead && !self.round.isGone(Self.a))
    }

    @Test func theNextReadingSeesThem() {
        self.round.begin()
        self.round.readAlone(Self.a)
        self.round.end()
        // Nothing is under way.
        self.round.readAlone(Self.b)
        self.round.begin()
        #expect(self.round.isGone(Self.a) && self.round.isGone(Self.b))
        let isAsRead = self.round.see(Self.a)
        #expect(isAsRead)
    }
}
