import FleetCore
import Motion
import Testing

/// One machine, and what it wants done.
private final class Bench {
    var machine: DesiredMachine
    var now = Timestamp(microseconds: 1_000_000_000)
    /// What it wanted done at its beginning.
    private(set) var first: [DesiredMachine.Effect] = []
    /// The number of the last reload that it wanted.
    private(set) var reload: UInt64 = 0
    static let scope = DesiredScope.group("north")

    init(
        _ memory: DesiredMemory = DesiredMemory(), allowing: Set<BridgeConfiguration.Allow.Change> = [.policy, .pause],
        within: TimeSpan = .seconds(20), isBrokerThere: Bool = true, signedBy signer: String? = nil
    ) {
        self.machine = DesiredMachine(
            memory, allowing: allowing, confirmWithin: within, signedBy: signer, at: self.now)
        self.first = self.machine.begin(at: self.now)
        self.note(self.first)
        if isBrokerThere { _ = self.machine.step(.broker(isThere: true), at: self.now) }
        _ = self.machine.step(.connection(true), at: self.now)
        // All that the server kept has come by then.
        self.now = self.now + DesiredMachine.gathering
    }

    func step(_ input: DesiredMachine.Input, after span: TimeSpan = .zero) -> [DesiredMachine.Effect] {
        self.now = self.now + span
        let effects = self.machine.step(input, at: self.now)
        self.note(effects)
        // What is said is for people.
        return effects.filter { if case .say = $0 { false } else { true } }
    }

    private func note(_ effects: [DesiredMachine.Effect]) {
        for effect in effects { if case .reload(let number) = effect { self.reload = number } }
    }

    static func state(_ version: UInt64, _ text: String = "") -> DesiredState {
        DesiredState(version: version, policy: [DesiredFile("a.conf", text)])
    }

    func attempt(
        _ outcome: DesiredMemory.Attempt.Outcome, _ version: UInt64, count: Int = 1, _ problem: String? = nil
    ) -> DesiredMemory.Attempt {
        DesiredMemory.Attempt(
            version: version, outcome: outcome, count: count, scope: "\(Self.scope)",
            problem: problem.map { DesiredProblem($0) })
    }

    func report(
        _ outcome: DesiredReport.Outcome, _ version: UInt64, inForce: UInt64, _ problem: String? = nil
    ) -> DesiredReport {
        DesiredReport(
            outcome, version: version, inForce: inForce, scope: "\(Self.scope)",
            problem: problem.map { DesiredProblem($0) })
    }

    /// Offers a state, and brings it to its trial.
    func tried(_ version: UInt64) {
        _ = self.step(.offered(Self.scope, Self.state(version), isNew: true))
        _ = self.step(.staged(nil))
        _ = self.step(.reloaded(self.reload, nil))
    }

    /// And lets it be confirmed.
    func applied(_ version: UInt64) {
        self.tried(version)
        _ = self.step(.told(self.report(.trial, version, inForce: version)))
        _ = self.step(.time, after: .seconds(10))
        _ = self.step(.probed(true))
        _ = self.step(.kept)
    }
}

@Suite struct DesiredMachineTests {
    @Test func whatIsWantedIsStagedTriedConfirmedAndKept() {
        let bench = Bench()
        let state = Bench.state(1)
        #expect(bench.step(.offered(Bench.scope, state, isNew: true)) == [.stage(state)])
        let until = bench.now + .seconds(20)
        #expect(
            bench.step(.staged(nil)) == [.note(bench.attempt(.trial, 1)), .switchTo(1), .reload(1), .wake(until)])
        let trial = bench.report(.trial, 1, inForce: 1)
        #expect(
            bench.step(.reloaded(bench.reload, nil)) == [
                .follow(state), .report(trial), .wake(bench.now + .seconds(10)),
            ])
        #expect(bench.step(.told(trial)) == [])
        #expect(bench.step(.time, after: .seconds(10)) == [.wake(until), .probe])
        #expect(bench.step(.probed(true)) == [.keep(1)])
        #expect(
            bench.step(.kept) == [.note(bench.attempt(.applied, 1)), .report(bench.report(.applied, 1, inForce: 1))])
        #expect(bench.machine.isIdle && bench.machine.inForce == state)
    }

    @Test func nothingMayBeChangedThatIsNotAllowed() {
        let bench = Bench(allowing: [])
        let effects = bench.step(.offered(Bench.scope, Bench.state(1), isNew: true))
        #expect(effects.count == 1)
        guard case .report(let report)? = effects.first else { return }
        #expect(report.outcome == .refused && report.inForce == 0)
        #expect(report.problem?.message.contains("policy") ?? false)
    }

    @Test func whatTheCheckRefusesChangesNothing() {
        let bench = Bench()
        bench.applied(1)
        _ = bench.step(.offered(Bench.scope, Bench.state(2), isNew: true))
        let problem = DesiredProblem("E001: what", file: "a.conf", line: 3, column: 7)
        let effects = bench.step(.staged(problem))
        #expect(
            effects == [
                .report(DesiredReport(.refused, version: 2, inForce: 1, scope: "@north", problem: problem)), .clear,
            ])
        #expect(bench.machine.inForce.version == 1)
    }

    @Test func whatTheBrokerRefusesGoesBackAndIsNotTriedAgain() {
        let bench = Bench()
        bench.applied(1)
        _ = bench.step(.offered(Bench.scope, Bench.state(2), isNew: true))
        _ = bench.step(.staged(nil))
        let effects = bench.step(.reloaded(bench.reload, DesiredProblem("no")))
        #expect(
            effects.prefix(5) == [
                .switchTo(1), .follow(Bench.state(1)), .reload(bench.reload), .wake(bench.now + .seconds(20)),
                .note(bench.attempt(.refused, 2, "no")),
            ])
        #expect(effects.last == .report(bench.report(.refused, 2, inForce: 1, "no")))
        // When the broker reads it no more, nothing of it stays.
        #expect(bench.step(.reloaded(bench.reload, nil)) == [.clear])
        #expect(
            bench.step(.offered(Bench.scope, Bench.state(2), isNew: true)) == [
                .report(bench.report(.refused, 2, inForce: 1, "no"))
            ])
        #expect(bench.step(.offered(Bench.scope, Bench.state(3), isNew: true)) == [.stage(Bench.state(3))])
    }

    /// A server brings one by one what it kept for us, and what it keeps for all: of what was wanted meanwhile only the last is tried.
    @Test func ofWhatWasWantedMeanwhileOnlyTheNewestIsTried() {
        let bench = Bench()
        bench.applied(1)
        _ = bench.step(.connection(false))
        _ = bench.step(.connection(true), after: .seconds(60))
        let until = bench.now + DesiredMachine.gathering
        for version in [2, 3, 2] as [UInt64] {
            #expect(bench.step(.offered(Bench.scope, Bench.state(version), isNew: true)) == [.wake(until)])
        }
        #expect(bench.step(.offered(.device("d"), Bench.state(4), isNew: false)) == [.wake(until)])
        #expect(bench.step(.time, after: DesiredMachine.gathering) == [.stage(Bench.state(4))])
    }

    @Test func whatKillsTheBrokerGoesBackAtOnce() {
        let bench = Bench()
        bench.applied(1)
        bench.tried(2)
        let effects = bench.step(.broker(isThere: false))
        #expect(effects.first == .switchTo(1))
        #expect(effects.last == .report(bench.report(.rolledBack, 2, inForce: 1, "the broker ended")))
    }

    @Test func whatMakesTheBrokerHangGoesBack() {
        let bench = Bench()
        bench.tried(1)
        _ = bench.step(.time, after: .seconds(10))
        #expect(bench.step(.probed(false)).first == .switchTo(0))
        let silent = Bench()
        silent.tried(1)
        _ = silent.step(.told(silent.report(.trial, 1, inForce: 1)))
        _ = silent.step(.time, after: .seconds(10))
        #expect(silent.step(.time, after: .seconds(10)).first == .switchTo(0))
    }

    @Test func withoutTheServerItGoesBackWhenTheTimeIsOver() {
        let bench = Bench()
        bench.tried(1)
        _ = bench.step(.connection(false))
        _ = bench.step(.time, after: .seconds(10))
        #expect(bench.step(.probed(true)) == [])
        #expect(bench.step(.time, after: .seconds(9)).contains(.switchTo(0)) == false)
        #expect(bench.step(.time, after: .seconds(1)).first == .switchTo(0))
    }

    @Test func aServerThatComesBackInTimeConfirms() {
        let bench = Bench()
        bench.tried(1)
        _ = bench.step(.connection(false))
        _ = bench.step(.time, after: .seconds(10))
        _ = bench.step(.probed(true))
        #expect(bench.step(.connection(true), after: .seconds(5)) == [])
        #expect(bench.step(.told(bench.report(.trial, 1, inForce: 1))) == [.keep(1)])
    }

    @Test func anOlderVersionIsRefused() {
        let bench = Bench()
        bench.applied(5)
        // What the server kept of before is nobody's news.
        #expect(bench.step(.offered(Bench.scope, Bench.state(4), isNew: false)) == [])
        #expect(bench.machine.report == bench.report(.applied, 5, inForce: 5))
        let report = bench.report(.refused, 4, inForce: 5, "it is older than version 5")
        #expect(bench.step(.offered(Bench.scope, Bench.state(4), isNew: true)) == [.report(report)])
        #expect(bench.machine.inForce.version == 5)
    }

    /// The owner of a key that is believed no more cannot use up the versions.
    @Test func versionsOfAnotherKeyAreCountedAnew() throws {
        let old = DesiredMemory.Attempt(
            version: DesiredLimits.version, outcome: .applied, count: 1, scope: "@north", signer: "old")
        let state = Bench.state(DesiredLimits.version)
        let memory = DesiredMemory(inForce: state, confirmed: state, last: DesiredMemory.Attempt(old.value))
        #expect(memory.last == old)
        let same = Bench(memory, signedBy: "old")
        #expect(
            same.step(.offered(Bench.scope, Bench.state(2), isNew: true)) == [
                .report(
                    same.report(
                        .refused, 2, inForce: state.version, "it is older than version \(DesiredLimits.version)"))
            ])
        let other = Bench(memory, signedBy: "new")
        // Two states of one version cannot be told apart on the disk.
        guard case .report(let report)? = other.step(.offered(Bench.scope, state, isNew: true)).last else {
            Issue.record("no report")
            return
        }
        #expect(report.outcome == .refused)
        #expect(other.step(.offered(Bench.scope, Bench.state(2), isNew: true)) == [.stage(Bench.state(2))])
        guard case .note(let attempt)? = other.step(.staged(nil)).first else {
            Issue.record("no note")
            return
        }
        #expect(attempt.signer == "new" && attempt.version == 2)
    }

    /// What was written down before keys were goes on under the key that there is.
    @Test func versionsWithoutAKeyGoOn() {
        let last = DesiredMemory.Attempt(
            .fields(["version": .count(12), "outcome": .text("applied"), "count": .count(1), "for": .text("@north")]))
        let memory = DesiredMemory(inForce: Bench.state(12), confirmed: Bench.state(12), last: last)
        let bench = Bench(memory, signedBy: "new")
        let report = bench.report(.refused, 9, inForce: 12, "it is older than version 12")
        #expect(bench.step(.offered(Bench.scope, Bench.state(9), isNew: true)) == [.report(report)])
        #expect(bench.machine.inForce.version == 12)
    }

    /// While nobody had to sign, somebody wanted the last version that there is. A key takes that from him.
    @Test func theFirstKeyCountsVersionsAnew() {
        let last = DesiredMemory.Attempt(
            version: DesiredLimits.version, outcome: .applied, count: 1, scope: "@north", signer: nil)
        let state = Bench.state(DesiredLimits.version)
        let memory = DesiredMemory(inForce: state, confirmed: state, last: DesiredMemory.Attempt(last.value))
        #expect(memory.last == last)
        let unsigned = Bench(memory)
        #expect(
            unsigned.step(.offered(Bench.scope, Bench.state(2), isNew: true)) == [
                .report(
                    unsigned.report(
                        .refused, 2, inForce: state.version, "it is older than version \(DesiredLimits.version)"))
            ])
        let bench = Bench(memory, signedBy: "new")
        #expect(bench.step(.offered(Bench.scope, Bench.state(2), isNew: true)) == [.stage(Bench.state(2))])
    }

    /// A file that is damaged may say that something was tried as often as a number can say.
    @Test func howOftenItWasTriedHasABound() {
        let often = DesiredMemory.Attempt(version: 3, outcome: .interrupted, count: .max, scope: "@north")
        #expect(DesiredMemory.Attempt(often.value)?.count == 65_535)
    }

    @Test func aVersionThatStandsForSomethingElseIsRefused() {
        let bench = Bench()
        bench.applied(5)
        guard case .report(let report)? = bench.step(.offered(Bench.scope, Bench.state(5, "other"), isNew: true)).last
        else {
            Issue.record("nothing is reported")
            return
        }
        #expect(report.outcome == .refused && bench.machine.inForce == Bench.state(5))
        #expect(
            bench.step(.offered(Bench.scope, Bench.state(5), isNew: true)).last
                == .report(bench.report(.applied, 5, inForce: 5)))
    }

    @Test(arguments: [(1, true), (DesiredMachine.mostAttempts, false)])
    func aTrialThatWasInterruptedIsTakenBackAndTriedAgainAFewTimes(count: Int, isTriedAgain: Bool) {
        let last = DesiredMemory.Attempt(version: 2, outcome: .trial, count: count, scope: "@north")
        let memory = DesiredMemory(inForce: Bench.state(2), confirmed: Bench.state(1), last: last)
        let bench = Bench(memory)
        #expect(bench.first.first == .switchTo(1))
        _ = bench.step(.reloaded(bench.reload, nil))
        let effects = bench.step(.offered(Bench.scope, Bench.state(2), isNew: true))
        #expect(effects.contains(.stage(Bench.state(2))) == isTriedAgain)
    }

    @Test func withoutABrokerNothingBegins() {
        let bench = Bench(isBrokerThere: false)
        #expect(bench.step(.offered(Bench.scope, Bench.state(1), isNew: true)) == [])
        #expect(bench.step(.broker(isThere: true)) == [.stage(Bench.state(1))])
    }

    @Test func aBrokerThatDoesNotAnswerIsAskedAgainAFewTimes() {
        let bench = Bench()
        _ = bench.step(.offered(Bench.scope, Bench.state(1), isNew: true))
        for count in 1...DesiredMachine.mostAttempts {
            let tried = bench.step(.staged(nil))
            #expect(tried.first == .note(bench.attempt(.trial, 1, count: count)))
            #expect(bench.step(.unanswered(bench.reload, DesiredProblem("no answer"))).first == .switchTo(0))
            let next = bench.step(.reloaded(bench.reload, nil))
            #expect(next == (count < DesiredMachine.mostAttempts ? [.clear, .stage(Bench.state(1))] : [.clear]))
        }
    }

    /// A broker that takes longer than it is waited for answers to what nobody asks any more.
    /// By a later change of the device's own files, and again when that is undone.
    @Test func whatTheBrokerLeavesOutIsReported() {
        let bench = Bench()
        bench.applied(1)
        let words = "the broker does not go by it"
        let report = bench.report(.applied, 1, inForce: 1, words)
        #expect(bench.step(.leftOut(DesiredProblem(words))) == [.report(report)])
        #expect(bench.machine.report == report)
        #expect(bench.step(.leftOut(DesiredProblem(words))) == [])
        // Who asks again is told the same.
        #expect(bench.step(.offered(Bench.scope, Bench.state(1), isNew: true)) == [.report(report)])
        #expect(bench.step(.leftOut(nil)) == [.report(bench.report(.applied, 1, inForce: 1))])
        // What is under way has the word, and what follows it begins anew.
        _ = bench.step(.leftOut(DesiredProblem(words)))
        _ = bench.step(.offered(Bench.scope, Bench.state(2), isNew: true))
        #expect(bench.step(.leftOut(nil)) == [])
        _ = bench.step(.staged(nil))
        let trial = bench.report(.trial, 2, inForce: 2)
        #expect(bench.step(.reloaded(bench.reload, nil)).contains(.report(trial)))
    }

    /// As silence at the reload does: it is no refusal.
    @Test func whatCannotBeCheckedIsTriedAgainAFewTimes() {
        let bench = Bench()
        bench.applied(1)
        let (state, words) = (Bench.state(2), "no answer")
        #expect(bench.step(.offered(Bench.scope, state, isNew: true)) == [.stage(state)])
        let report = bench.report(.rolledBack, 2, inForce: 1, words)
        for count in 1..<DesiredMachine.mostAttempts {
            #expect(
                bench.step(.unchecked(DesiredProblem(words))) == [
                    .note(bench.attempt(.interrupted, 2, count: count, words)), .report(report), .clear, .stage(state),
                ])
        }
        #expect(
            bench.step(.unchecked(DesiredProblem(words))) == [
                .note(bench.attempt(.rolledBack, 2, count: DesiredMachine.mostAttempts, words)), .report(report),
                .clear,
            ])
        #expect(bench.machine.isIdle && bench.machine.inForce == Bench.state(1))
        #expect(bench.step(.offered(Bench.scope, state, isNew: true)) == [.report(report)])
    }

    /// And not what comes of it with what is in force, of which some may not be changed any more.
    @Test func whatIsTriedAgainIsWhatWasWanted() {
        let old = DesiredState(version: 1, policy: [], isPaused: true)
        let last = DesiredMemory.Attempt(version: 1, outcome: .applied, count: 1, scope: "\(Bench.scope)")
        let bench = Bench(DesiredMemory(inForce: old, confirmed: old, last: last), allowing: [.policy])
        var state = Bench.state(2)
        state.confirmWithin = .seconds(4)
        let whole = state.over(old)
        #expect(bench.step(.offered(Bench.scope, state, isNew: true)) == [.stage(whole)])
        #expect(bench.step(.unchecked(DesiredProblem("no answer"))).last == .stage(whole))
        #expect(bench.step(.staged(nil)).last == .wake(bench.now + .seconds(4)))
    }

    /// It waits for a broker, and is not done when there is one.
    @Test func whatIsTakenBackBeforeItIsTriedIsNotTried() {
        let bench = Bench(isBrokerThere: false)
        #expect(bench.step(.offered(Bench.scope, Bench.state(1), isNew: true)).isEmpty)
        #expect(bench.step(.withdrawn(Bench.scope)).isEmpty)
        #expect(bench.step(.broker(isThere: true)).isEmpty)
        // What is in force stays.
        bench.applied(2)
        #expect(bench.step(.withdrawn(Bench.scope)).isEmpty && bench.machine.inForce == Bench.state(2))
    }

    @Test func aLateAnswerIsNotThatOfTheNext() {
        let bench = Bench()
        bench.applied(1)
        _ = bench.step(.offered(Bench.scope, Bench.state(2), isNew: true))
        _ = bench.step(.staged(nil))
        let late = bench.reload
        // It has not answered in time: what was before is read again.
        #expect(bench.step(.time, after: .seconds(20)).first == .switchTo(1))
        let back = bench.reload
        _ = bench.step(.offered(Bench.scope, Bench.state(3), isNew: true))
        #expect(bench.step(.reloaded(late, nil)) == [] && !bench.machine.isIdle)
        #expect(bench.step(.reloaded(back, nil)).contains(.stage(Bench.state(3))))
        _ = bench.step(.staged(nil))
        for number in [late, back] {
            #expect(bench.step(.reloaded(number, DesiredProblem("no"))) == [])
            #expect(bench.step(.unanswered(number, DesiredProblem("no answer"))) == [])
        }
        let trial = bench.report(.trial, 3, inForce: 3)
        #expect(bench.step(.reloaded(bench.reload, nil)).contains(.report(trial)))
    }

    @Test func aDiskThatFailsChangesNothingOrGoesBack() {
        let problem = DesiredProblem("the disk is full")
        let bench = Bench()
        _ = bench.step(.offered(Bench.scope, Bench.state(1), isNew: true))
        let refusal = bench.report(.refused, 1, inForce: 0, "the disk is full")
        #expect(bench.step(.failed(problem)) == [.report(refusal), .clear])
        // Nor can anything be removed.
        #expect(bench.step(.failed(problem)) == [] && bench.machine.isIdle)
        let later = Bench()
        _ = later.step(.offered(Bench.scope, Bench.state(1), isNew: true))
        _ = later.step(.staged(nil))
        #expect(later.step(.failed(problem)).first == .switchTo(0))
        // Not even that can be done: again, until it can.
        #expect(later.step(.failed(problem)) == [.wake(later.now + .seconds(5))])
        #expect(later.step(.time, after: .seconds(5)).first == .switchTo(0))
        #expect(later.step(.reloaded(later.reload, nil)) == [.clear] && later.machine.isIdle)
    }

    /// What was before is in force, and the disk has only no room for what came of it: the broker reads nothing anew for that.
    @Test func aFullDiskHasTheBrokerGoBackOnce() {
        let problem = DesiredProblem("the disk is full")
        let bench = Bench()
        _ = bench.step(.offered(Bench.scope, Bench.state(1), isNew: true))
        _ = bench.step(.staged(nil))
        let back = bench.step(.reloaded(bench.reload, DesiredProblem("no")))
        #expect(back.contains(.switchTo(0)) && back.contains(.reload(bench.reload)))
        _ = bench.step(.failed(problem))
        #expect(bench.step(.reloaded(bench.reload, nil)) == [])
        let note = DesiredMachine.Effect.note(bench.attempt(.refused, 1, "no"))
        for _ in 0..<3 {
            let again = bench.step(.time, after: .seconds(5))
            #expect(again == [note, .report(bench.report(.refused, 1, inForce: 0, "no")), .wake(bench.now)])
            #expect(bench.step(.failed(problem)) == [.wake(bench.now + .seconds(5))])
        }
        #expect(bench.step(.time, after: .seconds(5)).first == note)
        #expect(bench.step(.time) == [.clear] && bench.machine.isIdle)
    }

    @Test func ofManyMessagesTheLastCountsAndNotEachIsLookedAt() {
        let bench = Bench()
        var staged = 0
        for version in 1...100 as ClosedRange<UInt64> {
            let effects = bench.step(.offered(Bench.scope, Bench.state(version), isNew: true))
            if effects.contains(.stage(Bench.state(version))) {
                staged += 1
                _ = bench.step(.staged(DesiredProblem("no")))
            }
        }
        #expect(staged == DesiredMachine.burst)
        #expect(bench.step(.time, after: DesiredMachine.pause) == [.stage(Bench.state(100))])
    }

    @Test func ofADeviceAndItsGroupsTheNewestCounts() {
        let bench = Bench(isBrokerThere: false)
        _ = bench.step(.offered(.device("kiosk"), Bench.state(3), isNew: true))
        _ = bench.step(.offered(.group("north"), Bench.state(4), isNew: true))
        #expect(bench.step(.broker(isThere: true)) == [.stage(Bench.state(4))])
    }

    @Test func whatIsMissingIsLeftAsItIs() {
        let bench = Bench()
        bench.applied(1)
        let whole = DesiredState(version: 2, policy: Bench.state(1).policy, isPaused: true)
        #expect(
            bench.step(.offered(Bench.scope, DesiredState(version: 2, isPaused: true), isNew: true)) == [.stage(whole)])
    }
}
