import Arbitration
import Motion
import Testing

/// Sample time goes back, because a trace that ran ahead of the clock is over.
@Suite struct RewindTests {
    private static let hour: Int64 = 3_600_000

    private func lab(
        _ mode: GroupMode, _ settings: AppSettings = AppSettings(), _ set: (inout GroupConfiguration) -> Void = { _ in }
    ) -> Lab {
        var lab = Lab(Policy(groups: [group(mode, set)], rules: [rule("all")], everyApp: settings))
        lab.add("A")
        lab.add("B")
        return lab
    }

    /// Hits an hour ahead of the clock, and then the clock's own time.
    private func runAhead(_ lab: inout Lab, _ detectors: [String]) {
        let hits = detectors.compactMap { lab.detectors[$0] }.map { Hit(detector: $0, time: ms(Self.hour), peak: 2) }
        lab.take(.hits(hits))
        lab.take(.rewind(.zero))
    }

    /// The times of A's events after the rewind, firing each 100 ms.
    private func served(_ lab: inout Lab) -> [Int64] {
        let before = lab.deliveries.count
        for time in stride(from: Int64(100), through: 4_000, by: 100) { lab.hit(["a"], at: time) }
        return lab.deliveries.dropFirst(before).filter { $0.id.name == "A" }.map { $0.hit.time.microseconds / 1_000 }
    }

    @Test(arguments: GroupMode.allCases) func whatWasUsedUpComesBackFromNowOn(_ mode: GroupMode) {
        var settings = AppSettings()
        settings.quota = Quota(count: 30, period: .seconds(60), burst: 1)
        var lab = self.lab(mode, settings)
        self.runAhead(&lab, ["a"])
        #expect(lab.deliveries.count == 1)
        #expect(self.served(&lab).first == 2_000)
        settings.quota = nil
        settings.cooldown = .milliseconds(1_500)
        lab = self.lab(mode, settings)
        self.runAhead(&lab, ["a"])
        #expect(self.served(&lab).first == 1_500)
    }

    @Test(arguments: GroupMode.allCases) func theGroupRestsFromNowOn(_ mode: GroupMode) {
        var lab = self.lab(mode) { $0.cooldown = .milliseconds(2_500) }
        self.runAhead(&lab, ["a"])
        #expect(lab.deliveries.count == 1)
        // Another app: only the group keeps it waiting.
        lab.hit(["b"], at: 2_400)
        lab.hit(["b"], at: 2_500)
        #expect(lab.deliveries.map(\.id.name) == ["A", "B"])
    }

    /// What waits for its window is decided, because its motion is over.
    @Test func whatIsOpenIsDecided() {
        var lab = self.lab(.exclusive) {
            $0.commitWindow = .seconds(5)
            $0.commitsEagerly = false
        }
        self.runAhead(&lab, ["a", "b"])
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "1 B S4.outranked"])
        #expect(lab.arbiter.nextMotionDeadline == nil)
    }

    /// An order goes by the clock and so goes on; what comes of it is of now.
    @Test func anOrderGoesOn() {
        var lab = self.lab(.ordered) { $0.cooldown = .milliseconds(1_000) }
        self.runAhead(&lab, ["a", "b"])
        lab.answer("A", 1, .pass)
        lab.answer("B", 1, .consume)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.passed", "1 deliver B b", "1 B S5.taken"])
        #expect(lab.deliveries.map { $0.hit.time } == [ms(Self.hour), .zero])
        #expect(self.served(&lab).first == 1_000)
    }

    @Test func aTimeThatWasNotReachedChangesNothing() {
        var lab = self.lab(.exclusive) {
            $0.commitWindow = .seconds(5)
            $0.commitsEagerly = false
        }
        lab.hit(["a", "b"], at: 100)
        lab.take(.rewind(ms(200)))
        #expect(lab.take() == [])
    }
}
