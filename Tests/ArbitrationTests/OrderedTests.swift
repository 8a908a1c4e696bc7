import Arbitration
import Motion
import Testing

@Suite struct OrderedTests {
    private func lab(_ names: [String] = ["Sos", "Torch", "Undo"]) -> Lab {
        let rules = names.enumerated().map { rule(for: $1, strength: 100 - $0) }
        var lab = Lab(Policy(groups: [group(.ordered)], rules: rules))
        for name in names { lab.add(name) }
        return lab
    }

    private let all = ["sos", "torch", "undo"]

    @Test func consuming() {
        var lab = self.lab()
        lab.hit(self.all, at: 0)
        #expect(lab.take() == ["1 deliver Sos sos"])
        #expect(lab.deliveries.first?.answerBy == ms(400))
        lab.answer("Sos", 1, .consume)
        #expect(lab.take() == ["1 Sos S5.taken", "1 Torch S4.consumed", "1 Undo S4.consumed"])
        #expect(lab.verdicts.last?.takenBy == AppID("Sos"))
        // What the consumer's detectors see later is the same motion.
        lab.hit(["sos", "torch"], at: 500)
        #expect(lab.take() == ["1 deliver Sos sos", "1 again Torch S4.consumed"])
    }

    @Test func passingOn() {
        var lab = self.lab()
        lab.hit(self.all, at: 0)
        lab.answer("Sos", 1, .pass)
        lab.answer("Torch", 1, .pass)
        lab.answer("Undo", 1, .pass)
        #expect(
            lab.take() == [
                "1 deliver Sos sos", "1 Sos S5.passed", "1 deliver Torch torch", "1 Torch S5.passed",
                "1 deliver Undo undo", "1 Undo S5.passed",
            ])
        #expect(lab.arbiter.nextArrivalDeadline == nil)
    }

    /// Nobody outranks who has the event: what else it hits is the same event to it. Whose turn has not come gets nothing yet.
    @Test func whoHasTheEventHasWhatElseItHits() {
        var lab = self.lab()
        lab.addDetector("sos-b", to: "Sos")
        lab.hit(self.all, at: 0)
        _ = lab.take()
        lab.hit(["sos-b", "torch"], at: 100)
        #expect(lab.take() == ["1 deliver Sos sos-b", "1 again Torch S4.outranked"])
        #expect(lab.deliveries.last?.answerBy == ms(400))
        lab.answer("Sos", 1, .pass)
        #expect(lab.take() == ["1 Sos S5.passed", "1 deliver Torch torch"])
        lab.hit(["sos-b"], at: 200)
        #expect(lab.take() == ["1 again Sos S5.passed"])
    }

    @Test func silenceIsPassingOn() {
        var lab = self.lab()
        lab.hit(self.all, at: 0)
        #expect(lab.arbiter.nextArrivalDeadline == ms(400))
        lab.pass(to: 399)
        #expect(lab.take() == ["1 deliver Sos sos"])
        lab.pass(to: 400)
        #expect(lab.take() == ["1 Sos S5.silent", "1 deliver Torch torch"])
        lab.answer("Sos", 1, .consume)
        #expect(lab.arbiter.staleAnswers == 1)
        lab.pass(to: 800)
        lab.answer("Undo", 1, .consume)
        #expect(lab.take() == ["1 Torch S5.silent", "1 deliver Undo undo", "1 Undo S5.taken"])
    }

    /// What came while nobody could read it is read before anybody counts as silent.
    @Test func whoIsWaitedForMayAnswerLate() {
        var lab = self.lab()
        lab.hit(self.all, at: 0)
        lab.take(.patience(true))
        lab.pass(to: 5_000)
        #expect(lab.take() == ["1 deliver Sos sos"])
        lab.answer("Sos", 1, .consume)
        #expect(lab.take() == ["1 Sos S5.taken", "1 Torch S4.consumed", "1 Undo S4.consumed"])
    }

    /// Its budget is no longer than it was: whoever's turn has not come gets nothing of what is too old.
    @Test func waitingMakesNoOrderLonger() {
        var lab = self.lab()
        lab.hit(self.all, at: 0)
        lab.take(.patience(true))
        lab.pass(to: 5_000)
        lab.take(.patience(false))
        #expect(lab.take() == ["1 deliver Sos sos", "1 Sos S5.silent", "1 Torch S4.budget", "1 Undo S4.budget"])
    }

    @Test func theWholeOrderHasABudget() {
        var lab = self.lab(["A", "B", "C", "D", "E"])
        lab.hit(["a", "b", "c", "d", "e"], at: 0)
        for time: Int64 in [400, 800, 1_200] { lab.pass(to: time) }
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.silent", "1 deliver B b", "1 B S5.silent", "1 deliver C c", "1 C S5.silent",
                "1 D S4.budget", "1 E S4.budget",
            ])
    }

    @Test func whoDiesIsSkippedAtOnce() {
        var lab = self.lab()
        lab.hit(self.all, at: 0)
        lab.tell("Torch", .dead)
        lab.perform { $0.take(.leave(AppHandle(0)), at: ms(10), into: &$1) }
        #expect(lab.take() == ["1 deliver Sos sos", "1 Torch S4.gone", "1 Sos S5.left", "1 deliver Undo undo"])
    }

    @Test func everybodyWhoMayComeIsWaitedFor() {
        let configuration = group(.ordered) { $0.commitWindow = .milliseconds(200) }
        var lab = Lab(
            Policy(groups: [configuration], rules: [rule(for: "A", strength: 2), rule(for: "B", strength: 1)]))
        lab.add("A", rest: .seconds(1))
        lab.add("B", rest: .seconds(1))
        lab.hit(["a"], at: 0)
        #expect(lab.take() == [])
        lab.hit(["b"], at: 100)
        #expect(lab.take() == ["1 deliver A a"])
    }

    /// Whoever holds a sticky group loses it to an order that it was part of, to no other.
    @Test(arguments: zip([true, false], ["Holder", "Third"]))
    func aHolderThatCameLateWasNotBeaten(_ comesLate: Bool, _ next: String) {
        let sticky = group(.ordered) {
            $0.isSticky = true
            $0.hysteresis = 5
        }
        let rules = [
            rule(for: "Holder", strength: 1), rule(for: "Taker", strength: 9), rule(for: "Third", strength: 3),
        ]
        var lab = Lab(Policy(groups: [sticky], rules: rules))
        for name in ["Holder", "Taker", "Third"] { lab.add(name) }
        lab.hit(["holder"], at: 0)
        lab.answer("Holder", 1, .consume)
        lab.hit(comesLate ? ["taker"] : ["holder", "taker"], at: 2_000)
        lab.hit(["holder"], at: 2_100)
        lab.answer("Taker", 2, .consume)
        // Without a holder among them the strongest is first.
        lab.hit(["holder", "third"], at: 4_000)
        #expect(lab.deliveries.last?.id.name == next)
    }

    @Test func anAnswerToNothingChangesNothing() {
        var lab = self.lab()
        lab.answer("Sos", 7, .consume)
        #expect(lab.take() == [])
        #expect(lab.arbiter.staleAnswers == 1)
    }
}
