import Loop
import Motion
import Testing

@testable import Arbitration

/// Launches with everything they said as short lines. Times are milliseconds.
struct Launching {
    var launches = Launches()
    private(set) var effects: [LaunchEffect] = []
    var timeout = TimeSpan.seconds(10)

    /// What an input and the time after it led to.
    private mutating func run(
        _ now: Int64, _ input: (inout Launches, inout [LaunchEffect]) -> Void = { _, _ in }
    ) -> [String] {
        self.effects = []
        input(&self.launches, &self.effects)
        let timeout = self.timeout
        self.launches.run(to: ms(now), timeout: { _ in timeout }, &self.effects)
        return self.effects.map(Self.line)
    }

    static func line(_ effect: LaunchEffect) -> String {
        switch effect {
        case .begin(let launch):
            "\(launch.isCold ? "start" : "resume") \(launch.app) \(launch.reason.word)"
                + (launch.user.map { " of \($0)" } ?? "")
        case .ended(let launch, .done, _): "done \(launch.app) \(launch.reason.word)"
        case .ended(let launch, .needless, _): "needless \(launch.app) \(launch.reason.word)"
        case .ended(let launch, .postponed, let again):
            "postponed \(launch.app) again \((again ?? .zero).microseconds / 1_000)"
        case .ended(let launch, .failed(let failure), let again):
            "\(failure.name) \(launch.app) again \((again ?? .zero).microseconds / 1_000)"
        case .gaveUp(let request, let failure):
            "gave up \(request.app) \(request.reason.word) \(failure?.name ?? "too-old")"
        }
    }

    mutating func want(
        _ app: String, _ reason: LaunchReason = .motion("shake"), strength: Int = 0, ends: Int64 = 30_000,
        of user: UInt32? = nil, at now: Int64 = 0
    ) -> [String] {
        self.run(now) { launches, _ in
            launches.add(LaunchRequest(AppID(app), reason, strength: strength, ends: ms(ends), of: user))
        }
    }

    /// All at once, as the hits of one sample are.
    mutating func want(_ apps: [(String, Int)], at now: Int64 = 0) -> [String] {
        self.run(now) { launches, _ in
            for (app, strength) in apps {
                launches.add(LaunchRequest(AppID(app), .motion("shake"), strength: strength, ends: ms(30_000)))
            }
        }
    }

    mutating func finish(_ app: String, _ result: LaunchResult, number: UInt64? = nil, at now: Int64 = 0) -> [String] {
        let number = number ?? self.launches.launch(of: AppID(app))?.number ?? 0
        return self.run(now) { $0.finish(AppID(app), number, result, at: ms(now), &$1) }
    }

    mutating func running(
        _ app: String, _ isRunning: Bool = true, of user: UInt32? = nil, at now: Int64 = 0
    ) -> [String] {
        self.run(now) { launches, _ in launches.setRunning(AppID(app), of: user, isRunning) }
    }

    mutating func withdraw(_ app: String, of user: UInt32? = nil, at now: Int64 = 0) -> [String] {
        self.run(now) { launches, _ in
            launches.withdraw(AppID(app), of: user) { if case .motion = $0 { true } else { false } }
        }
    }

    mutating func pass(_ now: Int64) -> [String] { self.run(now) }

    var deadline: Int64? { self.launches.nextDeadline.map { $0.microseconds / 1_000 } }
}

@Suite struct LaunchTests {
    @Test func aWishIsALaunch() {
        var lab = Launching()
        #expect(lab.deadline == nil)
        #expect(lab.want("A") == ["start A shake"])
        #expect(lab.deadline == 10_000)
        #expect(lab.finish("A", .done, at: 100) == ["done A shake"])
        #expect(lab.deadline == nil)
    }

    @Test func aRunningAppIsResumed() {
        var lab = Launching()
        #expect(lab.running("A").isEmpty)
        #expect(lab.want("A") == ["resume A shake"])
        #expect(lab.launches.coldStarts == 0)
    }

    @Test func oneLaunchForEachApp() {
        var lab = Launching()
        #expect(lab.want("A") == ["start A shake"])
        #expect(lab.want("A", .motion("location")).isEmpty)
        #expect(lab.want("A", .push).isEmpty)
        #expect(lab.finish("A", .done) == ["done A shake", "start A location"])
        #expect(lab.finish("A", .done) == ["done A location", "start A push"])
        #expect(lab.finish("A", .done) == ["done A push"])
    }

    /// Whether another user's app of the name is there changes nothing for this one's.
    @Test func anotherUsersAppOfTheNameIsAnotherApp() {
        var lab = Launching()
        #expect(lab.running("A", of: 8).isEmpty)
        #expect(lab.want("A", of: 7) == ["start A shake of 7"])
        #expect(lab.running("A", false, of: 8).isEmpty && lab.running("A", of: 8).isEmpty)
        #expect(lab.launches.coldStarts == 1)
        #expect(lab.want("A", of: 8).isEmpty && lab.want("A", .push, of: 7).isEmpty)
        let app = AppID("A")
        #expect(lab.launches.isWaiting(app, of: 8) && !lab.launches.isWaiting(app, of: 8, for: .push))
        #expect(lab.launches.isWaiting(app, of: 7, for: .push) && !lab.launches.isWaiting(app, of: 9))
        #expect(lab.launches.answerBy(app, of: 7) == ms(10_000) && lab.launches.answerBy(app, of: 8) == nil)
        #expect(lab.withdraw("A", of: 9).isEmpty)
        #expect(lab.running("A", of: 7).isEmpty && lab.launches.coldStarts == 0)
        #expect(lab.finish("A", .done) == ["done A shake", "resume A shake of 8"])
        #expect(lab.finish("A", .done) == ["done A shake", "resume A push of 7"])
    }

    /// One launch of a name at a time, and each user rests after his own failures only.
    /// A launch and the app that it is for agree on that: one for a user's app is not for one that is nobody's.
    @Test func aLaunchIsForTheAppThatIsMeant() {
        let id = AppID("A")
        for user in [nil, 7, 8] as [UInt32?] {
            let entry = AppEntry(id, order: 1, since: 0, AppEntrance(user: user), AppSettings())
            for wanted in [nil, 7] as [UInt32?] {
                var lab = Launching()
                _ = lab.want("A", of: wanted)
                let isFor = lab.launches.launch(of: id, for: user) != nil
                #expect(isFor == (wanted == nil || wanted == user))
                #expect(entry.isApp(id, of: wanted) == isFor, "\(wanted as Any) is for \(user as Any)")
            }
        }
    }

    @Test func usersOfOneNameRestForThemselves() {
        var lab = Launching()
        #expect(lab.want("A", of: 7) == ["start A shake of 7"])
        #expect(lab.want("A", of: 8).isEmpty)
        #expect(lab.want("A", of: 8).isEmpty)
        #expect(lab.finish("A", .failed(.silent)) == ["silent A again 1000", "start A shake of 8"])
        #expect(lab.finish("A", .failed(.silent), at: 500) == ["silent A again 1500"])
        let app = AppID("A")
        #expect(lab.launches.restsUntil(app, of: 7) == ms(1_000) && lab.launches.restsUntil(app, of: 8) == ms(1_500))
        #expect(!lab.launches.canLaunch(app, of: 7, before: ms(900)))
        #expect(lab.launches.restsUntil(app, of: 9) == nil && lab.launches.canLaunch(app, of: 9, before: ms(900)))
        #expect(lab.deadline == 1_000 && lab.pass(999).isEmpty)
        #expect(lab.pass(1_000) == ["start A shake of 7"])
        // Whose fails most is tried least.
        #expect(lab.finish("A", .failed(.silent), at: 1_000) == ["silent A again 3000"])
        #expect(lab.pass(1_500) == ["start A shake of 8"])
        // Who is launched need not wait. That is no news of another user's app of that name.
        #expect(lab.launches.restsUntil(app, of: 8) == nil && lab.launches.canLaunch(app, of: 8, before: ms(1_600)))
        #expect(lab.launches.restsUntil(app, of: 7) == ms(3_000))
        #expect(!lab.launches.canLaunch(app, of: 7, before: ms(2_900)))
        #expect(lab.launches.launch(of: app, for: 8)?.user == 8 && lab.launches.launch(of: app, for: 7) == nil)
        #expect(lab.launches.launch(of: app, for: nil) == nil)
        #expect(lab.finish("A", .done, at: 1_500) == ["done A shake"])
        #expect(lab.launches.restsUntil(app, of: 8) == nil && lab.deadline == 3_000)
        #expect(lab.want("A", of: 9, at: 1_600) == ["start A shake of 9"])
        #expect(lab.finish("A", .done, at: 2_000) == ["done A shake"])
        #expect(lab.pass(3_000) == ["start A shake of 7"])
    }

    @Test func motionTravelsTogetherAndTasksOneByOne() {
        var lab = Launching()
        #expect(lab.want("A", .push) == ["start A push"])
        for reason in [.motion("shake"), .motion("location"), .task("sync"), .task("tidy"), .task("sync")]
            as [LaunchReason]
        {
            #expect(lab.want("A", reason).isEmpty)
        }
        #expect(lab.finish("A", .done) == ["done A push", "start A shake"])
        #expect(lab.finish("A", .done) == ["done A shake", "start A task"])
        #expect(lab.launches.launch(of: AppID("A"))?.reason == .task("sync"))
        #expect(lab.finish("A", .done) == ["done A task", "start A task"])
        #expect(lab.launches.launch(of: AppID("A"))?.reason == .task("tidy"))
        #expect(lab.finish("A", .done) == ["done A task"])
    }

    @Test func twoColdStartsAtOnceTheStrongestFirst() {
        var lab = Launching()
        #expect(
            lab.want([("A", 1), ("B", 9), ("C", 5), ("D", 9), ("E", 1)]) == ["start B shake", "start D shake"])
        #expect(lab.finish("D", .done) == ["done D shake", "start C shake"])
        #expect(lab.finish("B", .failed(.refused), at: 5) == ["refused B again 1005", "start A shake"])
        #expect(lab.finish("C", .done, at: 6) == ["done C shake", "start E shake"])
    }

    /// Silent apps of one user keep nobody else from being launched; who has a place has no second one beyond the first two.
    @Test func whoHasNoColdStartWaitsForNobodyElses() {
        var lab = Launching()
        #expect(lab.want("A", of: 1) == ["start A shake of 1"])
        #expect(lab.want("B", of: 1) == ["start B shake of 1"])
        #expect(lab.want("C", strength: 9, of: 1).isEmpty)
        #expect(lab.want("D", of: 2) == ["start D shake of 2"])
        #expect(lab.want("E", strength: 9, of: 2).isEmpty)
        #expect(lab.want("F") == ["start F shake"])
        #expect(lab.want("G", of: 3).isEmpty)
        #expect(lab.launches.usage.held == Launches.mostColdStarts)
        #expect(lab.finish("A", .done) == ["done A shake", "start G shake of 3"])
        #expect(lab.finish("B", .done) == ["done B shake", "start C shake of 1"])
        #expect(lab.finish("D", .done) == ["done D shake", "start E shake of 2"])
    }

    /// Each that cannot be started makes place for the next one, for which none of thousands of others is looked at.
    @Test func aLaunchCostsTheSameHoweverManyWait() {
        func spent(_ count: Int) -> Int64 {
            var launches = Launches()
            var effects: [LaunchEffect] = []
            var next = 0
            let begin = Clock.threadTime()
            for number in 0..<count {
                launches.add(LaunchRequest(AppID("app\(number)"), .motion("shake"), ends: ms(30_000)))
            }
            launches.run(to: .zero, timeout: { _ in .seconds(10) }, &effects)
            while next < effects.count {
                if case .begin(let launch) = effects[next] {
                    launches.finish(launch.app, launch.number, .failed(.unknown), at: .zero, &effects)
                    launches.run(to: .zero, timeout: { _ in .seconds(10) }, &effects)
                }
                next += 1
            }
            #expect(effects.count == 3 * count && launches.nextDeadline == nil)
            return Clock.threadTime() - begin
        }
        let (few, many) = (min(spent(256), spent(256)), spent(4_096))
        #expect(many < 64 * few, "\(many) us and \(few) us")
    }

    /// Who waits is started or resumed as is right by the time that it is its turn.
    @Test func whoCameMeanwhileIsResumed() {
        var lab = Launching()
        #expect(lab.want([("A", 3), ("B", 2), ("C", 1)]) == ["start A shake", "start B shake"])
        #expect(lab.running("C").isEmpty)
        #expect(lab.finish("A", .done) == ["done A shake", "resume C shake"])
        #expect(lab.want([("D", 1), ("E", 1)]) == ["start D shake"])
        #expect(lab.running("E").isEmpty && lab.running("E", false).isEmpty)
        #expect(lab.want("F", strength: 2).isEmpty)
        #expect(lab.finish("D", .done) == ["done D shake", "start F shake"])
    }

    /// Nobody waits for a task, however strong and early its wish is.
    @Test func whatSomethingHappenedForGoesBeforeTasks() {
        var lab = Launching()
        _ = lab.want([("A", 1), ("B", 1)])
        #expect(lab.want("C", .task("sync"), strength: 9).isEmpty)
        #expect(lab.want("D", .push).isEmpty)
        #expect(lab.want("E", strength: -1).isEmpty)
        #expect(lab.finish("A", .done) == ["done A shake", "start D push"])
        #expect(lab.finish("B", .done) == ["done B shake", "start E shake"])
        #expect(lab.finish("D", .done) == ["done D push", "start C task"])
        #expect(lab.launches.coldStarts == 2)
    }

    /// It counts its tries by itself; the pause of its app it keeps like all others.
    @Test func aTaskIsGivenUpAtItsFirstFailure() {
        var lab = Launching()
        #expect(lab.want("A", .task("sync")) == ["start A task"])
        #expect(
            lab.finish("A", .failed(.notStarted), at: 10) == ["not-started A again 1010", "gave up A task not-started"])
        #expect(lab.want("A", .task("sync"), at: 20).isEmpty)
        #expect(lab.want("A", at: 30).isEmpty)
        #expect(lab.pass(1_010) == ["start A shake"])
        #expect(lab.finish("A", .failed(.left), at: 1_020) == ["left A again 3020"])
        #expect(lab.running("A", at: 1_030).isEmpty)
        #expect(lab.finish("A", .done, at: 1_040).isEmpty)
        #expect(lab.pass(3_020) == ["resume A shake"])
    }

    @Test func whoIsUpMakesPlaceBeforeItAnswers() {
        var lab = Launching()
        #expect(lab.want([("A", 3), ("B", 2), ("C", 1)]) == ["start A shake", "start B shake"])
        #expect(lab.running("B") == ["start C shake"])
        #expect(lab.launches.coldStarts == 2)
        #expect(lab.launches.inFlight == 3)
        #expect(lab.running("B", false).isEmpty)
        #expect(lab.launches.coldStarts == 2)
    }

    @Test func whoRunsWaitsForNobody() {
        var lab = Launching()
        _ = lab.running("D")
        #expect(lab.want([("A", 3), ("B", 2), ("C", 2)]) == ["start A shake", "start B shake"])
        #expect(lab.want("D") == ["resume D shake"])
    }

    @Test func theLongerTheMoreFailures() {
        var lab = Launching()
        var now: Int64 = 0
        _ = lab.want("A", ends: 1_000_000)
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            now += 10
            #expect(lab.finish("A", .failed(.left), at: now) == ["left A again \(now + pause * 1_000)"])
            #expect(lab.deadline == now + pause * 1_000)
            #expect(lab.pass(now + pause * 1_000 - 1).isEmpty)
            now += pause * 1_000
            #expect(lab.pass(now) == ["start A shake"])
        }
        #expect(lab.finish("A", .done, at: now) == ["done A shake"])
        #expect(lab.want("A", at: now) == ["gave up A shake too-old"])
        #expect(lab.want("A", ends: now + 1, at: now) == ["start A shake"])
        #expect(lab.finish("A", .failed(.left), at: now) == ["left A again \(now + 1_000)"])
    }

    @Test func nobodyIsCalledBeforeThePauseIsOver() {
        var lab = Launching()
        _ = lab.want("A")
        #expect(lab.finish("A", .failed(.left), at: 10) == ["left A again 1010"])
        #expect(lab.want("A", .push, at: 500).isEmpty)
        #expect(lab.pass(1_010) == ["start A shake"])
    }

    @Test func aMinuteWithoutNewsIsForgiven() {
        var lab = Launching()
        _ = lab.want("A", ends: 5)
        #expect(lab.finish("A", .failed(.left), at: 10) == ["left A again 1010", "gave up A shake left"])
        #expect(lab.want("A", ends: 61_000, at: 61_010) == ["gave up A shake too-old"])
        #expect(lab.want("A", ends: 70_000, at: 61_020) == ["start A shake"])
        #expect(lab.finish("A", .failed(.left), at: 61_030) == ["left A again 62030"])
    }

    @Test func whoDoesNotAnswerInTimeFailed() {
        var lab = Launching()
        lab.timeout = .seconds(2)
        _ = lab.want("A", ends: 30_000)
        #expect(lab.pass(1_999).isEmpty)
        #expect(lab.pass(2_000) == ["silent A again 3000"])
        #expect(lab.pass(3_000) == ["start A shake"])
    }

    @Test func aLateAnswerChangesNothing() {
        var lab = Launching()
        lab.timeout = .seconds(2)
        _ = lab.want("A")
        #expect(lab.pass(2_000) == ["silent A again 3000"])
        #expect(lab.finish("A", .done, number: 1, at: 2_500).isEmpty)
        #expect(lab.pass(3_000) == ["start A shake"])
        #expect(lab.finish("A", .done, number: 1, at: 3_100).isEmpty)
        #expect(lab.finish("A", .done, number: 2, at: 3_200) == ["done A shake"])
        #expect(lab.finish("B", .done, number: 2, at: 3_200).isEmpty)
    }

    @Test func whatIsTooOldIsGivenUp() {
        var lab = Launching()
        _ = lab.want([("A", 3), ("B", 2)])
        #expect(lab.want("C", ends: 3_000).isEmpty)
        #expect(lab.deadline == 3_000)
        #expect(lab.pass(3_000) == ["gave up C shake too-old"])
        #expect(lab.want("D", ends: 3_000, at: 3_001) == ["gave up D shake too-old"])
    }

    @Test func aLaunchUnderWayMayOutliveItsWish() {
        var lab = Launching()
        #expect(lab.want("A", ends: 3_000) == ["start A shake"])
        #expect(lab.pass(3_000).isEmpty)
        #expect(
            lab.finish("A", .failed(.notStarted), at: 4_000) == [
                "not-started A again 5000", "gave up A shake not-started",
            ])
    }

    @Test func aFailureIsRememberedUntilItIsGivenUp() {
        var lab = Launching()
        _ = lab.want("A", ends: 1_500)
        #expect(lab.finish("A", .failed(.refused), at: 1_000) == ["refused A again 2000"])
        #expect(lab.pass(1_500) == ["gave up A shake refused"])
    }

    @Test func whoCannotBeStartedIsNotTriedAgain() {
        var lab = Launching()
        _ = lab.want("A")
        #expect(lab.finish("A", .failed(.unknown), at: 1) == ["unknown A again 1001", "gave up A shake unknown"])
        #expect(lab.launches.isWaiting(AppID("A"), of: nil) == false)
    }

    @Test func whatIsWithdrawnIsNotLaunchedFor() {
        var lab = Launching()
        _ = lab.want([("A", 3), ("B", 2), ("C", 1)])
        #expect(lab.want("C", .push).isEmpty)
        #expect(lab.withdraw("C").isEmpty)
        #expect(lab.finish("A", .needless) == ["needless A shake", "start C push"])
        #expect(lab.withdraw("D").isEmpty)
    }

    @Test func aNeedlessLaunchIsNoFailure() {
        var lab = Launching()
        _ = lab.want("A")
        #expect(lab.finish("A", .needless, at: 1) == ["needless A shake"])
        #expect(lab.want("A", at: 1) == ["start A shake"])
    }

    /// As long as nobody can be asked it is tried each second, and then as if nothing had been.
    @Test(arguments: [LaunchReason.motion("shake"), .push, .task("sync")])
    func aPostponedLaunchIsNoFailure(_ reason: LaunchReason) {
        var lab = Launching()
        #expect(lab.want("A", reason, ends: 60_000) == ["start A \(reason.word)"])
        for second in 0..<40 as Range<Int64> {
            let now = 1_000 * second
            #expect(lab.finish("A", .postponed, at: now) == ["postponed A again \(now + 1_000)"])
            #expect(lab.launches.isWaiting(AppID("A"), of: nil, for: reason))
            #expect(lab.pass(now + 1_000) == ["start A \(reason.word)"])
        }
        #expect(lab.finish("A", .failed(.left), at: 40_000).first == "left A again 41000")
    }

    /// What has happened grows old meanwhile. A task does not: it has waited for nobody.
    @Test func whatHasHappenedIsNotPostponedForEver() {
        var lab = Launching()
        _ = lab.want("A", ends: 1_500)
        #expect(lab.want("B", .task("sync"), ends: 1_500) == ["start B task"])
        #expect(lab.finish("A", .postponed, at: 1_000) == ["postponed A again 2000"])
        #expect(lab.finish("B", .postponed, at: 1_000) == ["postponed B again 2000"])
        #expect(lab.deadline == 1_500)
        #expect(lab.pass(1_500) == ["gave up A shake too-old"])
        #expect(lab.pass(2_000) == ["start B task"])
    }

    @Test func wishesThatOneLaunchServesAreAsStrongAsTheStrongest() {
        var lab = Launching()
        _ = lab.want([("A", 9), ("B", 9), ("C", 2), ("D", 3)])
        #expect(lab.want("C", strength: 4, ends: 40_000).isEmpty)
        #expect(lab.finish("A", .done) == ["done A shake", "start C shake"])
    }

    @Test func reasonsHaveTheirWords() {
        #expect(LaunchReason.motion("location").word == "location")
        #expect(LaunchReason.push.word == "push")
        #expect(LaunchReason.task("sync").word == "task")
    }
}
