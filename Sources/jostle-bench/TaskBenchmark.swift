import Arbitration
import Background
import Motion
import TestSupport

/// What background work costs that waits: how often time alone wakes the broker, and how often apps are brought up.
enum TaskBenchmark {
    private static let day: Int64 = 86_400

    static func run(_ plan: Plan, _ report: (Figure) -> Void) {
        self.measureDay(report)
        self.measureWindow(report)
    }

    /// 10 000 tasks, spread over a day: wake-ups of the broker for which nothing was due, and the processor time of one.
    private static func measureDay(_ report: (Figure) -> Void) {
        var scheduler = Scheduler()
        for app in 0..<1_000 {
            for index in 0..<10 {
                let place = Int64(app * 10 + index)
                scheduler.submit(index, app: app, at: place &* 7_919 % Self.day)
            }
        }
        var (wakeUps, idle) = (0, 0)
        let began = ProcessorClock.now()
        while let now = scheduler.next {
            wakeUps += 1
            if scheduler.pass(now) == 0 { idle += 1 }
        }
        let spent = (ProcessorClock.now() - began) / 1e3
        // Every one is for something.
        report(
            Figure(
                "tasks.10000-in-a-day.wake-ups", "", Double(wakeUps), beside: Double(wakeUps - idle), within: .atMost(1)
            ))
        report(Figure(name: "tasks.10000-in-a-day.each", unit: "us", value: spent / 10_000))
    }

    /// 1 000 tasks of 100 apps, due in one window: how often apps are brought up, against how many there are.
    private static func measureWindow(_ report: (Figure) -> Void) {
        var scheduler = Scheduler()
        for app in 0..<100 {
            for index in 0..<10 { scheduler.submit(index, app: app, at: Int64((app * 10 + index) % 61)) }
        }
        while let now = scheduler.next { _ = scheduler.pass(now) }
        let wakeUps = scheduler.tasks.all.reduce(0) { $0 + $1.wakeUps }
        report(
            Figure("tasks.1000-in-a-window.wake-ups", "", Double(wakeUps), beside: 100, within: .atMost(1)))
    }

    /// Tasks of apps that are there and do each at once, with a disk that takes no time. Times are seconds.
    private struct Scheduler {
        var tasks = Tasks()
        private let settings: Tasks.Settings = { _ in
            var settings = AppSettings()
            settings.grants = WordSet([.processing])
            return settings
        }
        private let declared = DeclaredTasks((0..<10).map { "task\($0)" }, modes: WordSet([.processing]))

        private func moment(_ second: Int64) -> TaskMoment {
            TaskMoment(wall: .zero + .seconds(second), awake: AwakeTime(microseconds: second * 1_000_000))
        }

        mutating func submit(_ index: Int, app: Int, at second: Int64) {
            let request = TaskRequest("task\(index)", .processing, earliest: .zero + .seconds(second))
            var effects: [TaskEffect] = []
            _ = self.tasks.submit(
                request, of: TaskOwner(AppID("org.example.App\(app)"), user: 0), self.declared, at: self.moment(0),
                self.settings, into: &effects)
        }

        var next: Int64? { self.tasks.deadlines.wall.map { $0.microseconds / 1_000_000 } }

        /// Lets everything happen that is due; returns how many tasks were begun.
        mutating func pass(_ second: Int64) -> Int {
            let now = self.moment(second)
            var effects: [TaskEffect] = []
            self.tasks.pass(to: now, self.settings, into: &effects)
            var begun = 0
            while !effects.isEmpty {
                let current = effects
                effects = []
                for effect in current {
                    switch effect {
                    case .keep(let record):
                        self.tasks.kept(record.revision, of: record.owner, self.settings, into: &effects)
                    case .launch(let owner, _): self.tasks.up(owner, at: now, self.settings, into: &effects)
                    case .run(let owner, _):
                        begun += 1
                        _ = self.tasks.done(nil, true, of: owner, at: now, self.settings, into: &effects)
                    case .forget, .terminated, .expiring, .ended, .silent, .rests: break
                    }
                }
            }
            return begun
        }
    }
}
