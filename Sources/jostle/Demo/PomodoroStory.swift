import Arbitration
import Motion
import Scenarios

/// A timer that has to outlive its time in the background: 25 minutes of work, 5 of break, a longer break after four.
///
/// It ticks beside the user's music in a session that mixes with others, holds an assertion that it renews every 25 seconds when
/// less than a minute is left, and reminds at the end of each period. The user shakes then, which begins the next one; an app
/// that is suspended neither reminds nor hears that. A value, so that its judgement can be tested.
struct PomodoroStory {
    /// What the timer has to live on.
    struct Rights: Hashable, Sendable {
        /// Of the older system or the newer one.
        var budget: TimeSpan
        /// Whether an assertion that is begun in the background has a budget of its own.
        var mayRenew: Bool
        /// Whether it may play its sound in the background.
        var mayPlay: Bool

        var isOlder: Bool { self.budget == PomodoroStory.older }

        static let all = [PomodoroStory.older, PomodoroStory.newer].flatMap { budget in
            [(false, false), (true, false), (false, true), (true, true)].map {
                Rights(budget: budget, mayRenew: $0.0, mayPlay: $0.1)
            }
        }
    }

    static let older = TimeSpan.seconds(175)
    static let newer = TimeSpan.seconds(31)
    static let tick = TimeSpan.seconds(25)
    /// It renews when less than this is left.
    static let reserve = TimeSpan.seconds(60)
    static let work = TimeSpan.seconds(25 * 60)
    static let shortBreak = TimeSpan.seconds(5 * 60)
    static let longBreak = TimeSpan.seconds(15 * 60)

    /// When each period ends: four times work and a break, the last one long.
    static let ends: [TimeSpan] = {
        var ends: [TimeSpan] = []
        var now = TimeSpan.zero
        for round in 1...4 {
            now = now + PomodoroStory.work
            ends.append(now)
            now = now + (round == 4 ? PomodoroStory.longBreak : PomodoroStory.shortBreak)
            ends.append(now)
        }
        return ends
    }()

    static let timer = AppID("org.jostle.Demo.Pomodoro")
    static let music = AppID("org.jostle.Demo.Music")

    /// What came of it.
    struct Outcome: Equatable {
        /// When it was suspended, counted from when the user left it; `nil`: it was not.
        var suspended: TimeSpan?
        /// How often it renewed its assertion in the first 25 minutes.
        var renewals = 0
        /// The periods whose end it reminded of.
        var reminders = 0
        /// Whether its sound was ever silenced or soft for the music, or the music for it.
        var isDisturbed = false
        /// Whether its sound was refused.
        var isMute = false

        /// Whether this came out as `other`, when it was suspended about then.
        func isLike(_ other: Outcome, within tolerance: TimeSpan) -> Bool {
            var same = self
            if let suspended = self.suspended, let time = other.suspended,
                abs(suspended.microseconds - time.microseconds) <= tolerance.microseconds
            {
                same.suspended = time
            }
            return same == other
        }
    }

    /// What policy says of the two: the rules of the phone, and these rights.
    static func policy(_ rights: Rights) -> Policy {
        var settings = AppSettings()
        settings.assertionBudget = rights.budget
        settings.allowsRenewal = rights.mayRenew
        // It ends one assertion before it begins the next.
        settings.grace = .seconds(1)
        if rights.mayPlay { settings.grants = WordSet([.audio]) }
        var music = AppSettings()
        music.grants = WordSet([.audio])
        return Policy(
            otherwise: Policy.builtIn.otherwise, rules: Policy.builtIn.rules, matrix: Policy.builtIn.matrix,
            apps: [self.timer: settings, self.music: music])
    }

    /// What happens, when: the same whatever the rights are.
    static let scenario: Scenario = {
        let timer = PomodoroStory.timer
        var steps = [
            Scenario.Step(.zero, .app(timer, AppEntrance())),
            Scenario.Step(.zero, .detector(timer, DetectorFacts(name: "next", preset: "shake"))),
            Scenario.Step(
                .zero, .activity(timer, .audio, isRunning: true, session: SessionRequest("playback", mixes: true))),
            Scenario.Step(.zero, .assertion(timer, .begin(name: "timer"))),
            Scenario.Step(.zero, .app(music, AppEntrance())),
            Scenario.Step(.zero, .foreground(.app(music))),
            Scenario.Step(
                .seconds(10), .activity(music, .audio, isRunning: true, session: SessionRequest("playback"))),
        ]
        let last = ends[ends.count - 1]
        var now = TimeSpan.zero
        while now < last {
            steps.append(Scenario.Step(now, .assertion(timer, .renew(name: "timer", below: reserve))))
            now = now + tick
        }
        // The reminder, and the user's answer to it.
        for end in ends { steps.append(Scenario.Step(end, .hit(timer, "next", peak: 3))) }
        // Of one time first what came first.
        let order = steps.indices.sorted { (steps[$0].time, $0) < (steps[$1].time, $1) }
        return Scenario(order.map { steps[$0] })
    }()

    /// Runs it in virtual time.
    static func run(_ rights: Rights) -> Outcome {
        let result = ScenarioRunner.run(self.scenario, policy: self.policy(rights))
        var outcome = Outcome()
        // What becomes of it when its time is over is no matter.
        for entry in result.entries where entry.time <= self.ends[self.ends.count - 1] {
            let words = entry.words.map(\.value)
            switch entry.kind {
            case .state where entry.app == self.timer.name && words.first == AppState.suspended.name:
                outcome.suspended = outcome.suspended ?? entry.time
            case .assertion where entry.app == self.timer.name && !entry.words.contains { $0.name == "refused" }:
                if entry.time < self.work { outcome.renewals += 1 }
            case .activity where entry.app == self.timer.name: outcome.isMute = true
            case .session where !words.contains("began"): outcome.isDisturbed = true
            case .deliver, .verdict, .again, .state, .assertion, .activity, .session, .expiring, .ended, .launch,
                .launched, .gaveUp:
                break
            }
        }
        // The first one it only began.
        outcome.renewals -= 1
        outcome.reminders = result.fates.count(where: \.isDelivered)
        return outcome
    }

    /// What the article says comes of it: a sound of one's own or renewal keeps a timer going, and nothing else does.
    static func expected(_ rights: Rights, periods: Int = ends.count) -> Outcome {
        var outcome = Outcome()
        outcome.isMute = !rights.mayPlay
        if rights.mayPlay || rights.mayRenew {
            outcome.reminders = periods
        } else {
            outcome.suspended = rights.budget
        }
        switch (rights.mayPlay, rights.mayRenew, rights.isOlder) {
        // Nothing of it is running out.
        case (true, _, _): outcome.renewals = 0
        case (false, true, true): outcome.renewals = 11
        case (false, true, false): outcome.renewals = 60
        // It tries, but the time counts from when the user left.
        case (false, false, true): outcome.renewals = 2
        case (false, false, false): outcome.renewals = 2
        }
        return outcome
    }
}
