import Arbitration
import Motion
import Testing
import Randomness

/// What is said to happen is what would happen.
@Suite struct RehearsalTests {
    /// What a hit comes to when it is really made, and nothing else is.
    private func outcome(_ detector: String, of app: String, peak: Double, in lab: Lab) -> String {
        var lab = lab
        lab.pass(to: lab.now)
        _ = lab.take()
        guard let handle = lab.apps[app] else { return "no app" }
        lab.hit([detector], at: lab.now, peak)
        while true {
            let lines = lab.take().map { $0.split(separator: " ").map(String.init) }
            if let own = lines.first(where: { $0[1] == app }) { return "\(own[2]) of its own, epoch \(own[0])" }
            let offer =
                lines.contains { $0[1] == "deliver" && $0[2] == app } ? lab.deliveries.last { $0.app == handle } : nil
            if let offer, offer.answerBy != nil {
                lab.answer(app, offer.epoch, .consume)
                continue
            }
            if let again = lines.first(where: { $0[1] == "again" && $0[2] == app }) {
                return "counted to \(again[0]) as \(again[3])"
            }
            if let offer { return "one more of \(offer.epoch)" }
            let next = [lab.arbiter.nextMotionDeadline, lab.arbiter.nextArrivalDeadline].compactMap { $0 }.min()
            guard let next else { return "nothing" }
            let now = max(next, ms(lab.now))
            lab.perform { $0.take(.motion(next), at: now, into: &$1) }
            lab.now = max(lab.now, now.microseconds / 1_000)
        }
    }

    private func prospect(_ detector: DetectorID, peak: Double, in lab: Lab) -> String {
        switch lab.arbiter.rehearse(detector, peak: peak, at: ms(lab.now)) {
        case nil: "nothing"
        case .verdict(let verdict): "\(verdict.reason.name) of its own, epoch \(verdict.epoch)"
        case .more(let epoch): "one more of \(epoch)"
        case .counted(let epoch, let reason): "counted to \(epoch) as \(reason.name)"
        }
    }

    /// In random lives at random moments. Hits that are refused like the one before are told again, so there it is asked
    /// for what was said first.
    @Test(arguments: 1...40)
    func aRehearsalIsWhatHappens(_ seed: UInt64) {
        print("Rehearsal seed \(seed)")
        var generator = SeededRandom(seed: seed &+ 7_000)
        var checked = 0
        _ = GuaranteeTests.run(seed: seed) { lab in
            guard Int.random(in: 0..<12, using: &generator) == 0,
                let app = lab.apps.keys.sorted().randomElement(using: &generator),
                let detector = lab.detectors[app.lowercased()]
            else { return }
            let peak = Double.random(in: 1...4, using: &generator)
            let said = self.prospect(detector, peak: peak, in: lab)
            let happens = self.outcome(app.lowercased(), of: app, peak: peak, in: lab)
            checked += 1
            if happens.hasPrefix("counted"), said.contains("of its own") {
                // The same reason as just before.
                let reason = happens.split(separator: " ").last.map(String.init) ?? ""
                #expect(said.hasPrefix("\(reason) ") && !reason.hasPrefix("S4"), "seed \(seed): \(said), \(happens)")
            } else {
                #expect(said == happens, "seed \(seed) at \(lab.now) ms")
            }
        }
        #expect(checked > 0)
    }

    @Test func askingChangesNothing() {
        let asked = GuaranteeTests.run(seed: 3) { lab in
            for detector in lab.detectors.values { _ = lab.arbiter.rehearse(detector, peak: 2, at: ms(lab.now)) }
        }
        let left = GuaranteeTests.run(seed: 3)
        var (a, b) = (asked, left)
        #expect(a.take() == b.take())
    }

    @Test func whoeverWaitsForTheWindowIsToldTheEnd() throws {
        let configuration = group(.exclusive) { $0.commitWindow = .milliseconds(350) }
        var lab = Lab(
            Policy(groups: [configuration], rules: [rule(for: "A", strength: 1), rule(for: "B", strength: 2)]))
        lab.add("A")
        lab.add("B")
        let detector = try #require(lab.detectors["a"])
        #expect(self.prospect(detector, peak: 2, in: lab) == "S5.sent of its own, epoch 1")
        lab.hit(["b"], at: 0)
        #expect(self.prospect(detector, peak: 2, in: lab) == "S4.late of its own, epoch 1")
        #expect(lab.arbiter.rehearse(DetectorID(77), peak: 2, at: ms(0)) == nil)
    }
}
