import Motion
import Testing

@testable import Arbitration
@testable import Background
import Randomness

/// Whatever happens to tasks, in whatever order: what must never be.
@Suite struct TaskWalkTests {
    private static let names = ["A", "B", "C", "D"]
    private static let identifiers = ["sync", "news", "tidy0", "tidy1", "tidy2", "other"]

    /// What should be known of one task, by all that was said.
    private struct Known {
        var earliest: Int64
        var needs: WordSet<TaskNeed>
        var isForced = false
        /// How often it was begun.
        var runs: UInt32 = 0
    }

    /// What a test knows of an app.
    private struct Seen {
        var waiting: [String: Known] = [:]
        var running: (identifier: String, known: Known)?
        var isTerminated = false
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func keepsItsPromises(_ seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var board = TaskBoard(window: [0, 0, 30, 600].randomElement(using: &generator) ?? 0)
        board.settings.refreshInterval = .seconds([0, 20, 900].randomElement(using: &generator) ?? 0)
        board.settings.discretion = .seconds(5_000)
        var seen = Dictionary(uniqueKeysWithValues: Self.names.map { ($0, Seen()) })
        var counts: [String: Int] = [:]
        var met = WordSet<TaskNeed>.all
        var now: Int64 = 0
        for _ in 0..<6_000 {
            let app = Self.names.randomElement(using: &generator) ?? "A"
            let identifier = Self.identifiers.randomElement(using: &generator) ?? "sync"
            // What is due until then happens when it is due.
            let next = now + .random(in: 0...[5, 60, 2_000].randomElement(using: &generator)!, using: &generator)
            while let due = board.next, due < next {
                now = max(now, due)
                board.pass(now)
                self.follow(&board, &seen, met, at: now, &counts)
            }
            now = next
            switch Int.random(in: 0..<24, using: &generator) {
            case 0..<8:
                let kind = TaskKind.allCases.randomElement(using: &generator) ?? .refresh
                var request = TaskRequest(
                    identifier, kind, earliest: sec(now + .random(in: -10...900, using: &generator)))
                request.needs = WordSet(TaskNeed.allCases.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 })
                request.isDiscretionary = Int.random(in: 0..<4, using: &generator) == 0
                let others = seen[app]?.waiting.keys.filter { $0 != identifier } ?? []
                let answer = board.submit(request, now, app: app)
                counts[answer, default: 0] += 1
                if answer == "yes" {
                    let interval = kind == .refresh ? board.settings.refreshInterval.microseconds / 1_000_000 : 0
                    let earliest = max(request.earliest.microseconds / 1_000_000, now + interval)
                    seen[app]?.waiting[identifier] = Known(earliest: earliest, needs: request.needs)
                }
                if answer == "too-many" { #expect(kind == .refresh ? !others.isEmpty : others.count >= 10) }
                #expect((answer == "undeclared") == (identifier == "other"))
            case 8..<10:
                let isKnown = seen[app]?.waiting.removeValue(forKey: identifier) != nil
                #expect(board.cancel(identifier, now, app: app) == (isKnown ? "yes" : "unknown"))
            case 10..<12:
                let answer = board.force(identifier, now, app: app)
                counts["force \(answer)", default: 0] += 1
                if answer == "yes" { seen[app]?.waiting[identifier]?.isForced = true }
            case 12..<17:
                let isRunning = seen[app]?.running != nil
                let answer = board.done(.random(using: &generator), now, app: app)
                #expect((answer == "yes") == isRunning)
            case 17..<19: board.left(now, app: app)
            case 19: board.failed(now, app: app)
            case 20:
                board.terminate(now, app: app)
                seen[app]?.isTerminated = true
            case 21:
                board.open(now, app: app)
                seen[app]?.isTerminated = false
            default:
                met = WordSet(TaskNeed.allCases.filter { _ in .random(using: &generator) })
                // What may begin now begins when the condition is told, and not before.
                board.met(met.elements, now)
            }
            self.follow(&board, &seen, met, at: now, &counts)
            board.pass(now)
            self.follow(&board, &seen, met, at: now, &counts)
            for name in Self.names { self.check(name, board, seen, at: now) }
            #expect(board.tasks.usage.held(by: 0) == seen.values.reduce(0) { $0 + $1.waiting.count })
            if let next = board.next { #expect(next > now) }
        }
        // The walk came everywhere.
        for word in [
            "yes", "too-many", "undeclared", "force yes", "force unknown", "force terminated", "run", "run again",
            "done", "cancelled", "silent", "left", "failed", "terminated", "expiring", "rests",
        ] {
            #expect(counts[word, default: 0] > 0, "\(word): \(counts)")
        }
    }

    /// Takes in what followed, and compares it with what may.
    private func follow(
        _ board: inout TaskBoard, _ seen: inout [String: Seen], _ met: WordSet<TaskNeed>, at now: Int64,
        _ counts: inout [String: Int]
    ) {
        for effect in board.takeEffects() {
            switch effect {
            case .keep, .forget, .launch, .terminated: break
            case .rests: counts["rests", default: 0] += 1
            case .silent(let owner): #expect(seen[owner.app.name]?.running == nil)
            case .expiring(let owner, let identifier, let remaining):
                counts["expiring", default: 0] += 1
                #expect(seen[owner.app.name]?.running?.identifier == identifier && remaining > .zero)
            case .run(let owner, let run):
                let name = owner.app.name
                counts[run.attempt == 1 ? "run" : "run again", default: 0] += 1
                #expect(seen[name]?.isTerminated == false)
                // One operation at a time.
                #expect(seen[name]?.running == nil)
                guard var known = seen[name]?.waiting.removeValue(forKey: run.identifier) else {
                    Issue.record("\(run.identifier) of \(name) was not submitted")
                    continue
                }
                if !known.isForced {
                    #expect(known.earliest <= now)
                    #expect(known.needs.subtracting(met).isEmpty)
                }
                known.runs += 1
                known.isForced = false
                // Nothing is begun again without saying so.
                #expect(run.attempt == known.runs && run.attempt <= AppTasks.mostAttempts)
                seen[name]?.running = (run.identifier, known)
            case .ended(let owner, let outcome):
                let name = owner.app.name
                counts[outcome.end.name, default: 0] += 1
                guard let running = seen[name]?.running else {
                    Issue.record("\(outcome.identifier) of \(name) was not begun")
                    continue
                }
                #expect(running.identifier == outcome.identifier && running.known.runs == outcome.attempt)
                seen[name]?.running = nil
                let isReplaced = seen[name]?.waiting[outcome.identifier] != nil
                if outcome.isTriedAgain {
                    #expect(!isReplaced)
                    seen[name]?.waiting[outcome.identifier] = running.known
                }
            }
        }
    }

    private func check(_ name: String, _ board: TaskBoard, _ seen: [String: Seen], at now: Int64) {
        guard let tasks = board.tasks[board.owner(name)] else {
            #expect(seen[name]?.waiting.isEmpty != false && seen[name]?.running == nil)
            return
        }
        #expect(Set(tasks.pending.map(\.request.identifier)) == Set(seen[name].map { Array($0.waiting.keys) } ?? []))
        #expect(tasks.current?.record.request.identifier == seen[name]?.running?.identifier)
        for kind in TaskKind.allCases {
            // One that failed goes back to where it was, whatever was submitted since.
            #expect(tasks.pending.count { $0.request.kind == kind } <= kind.mostPending + 1)
        }
        #expect(tasks.isTerminated == seen[name]?.isTerminated)
        if case .running(let ends, _) = tasks.current?.stage { #expect(ends > board.at(now).awake) }
    }

    // MARK: Bars

    /// With 10 000 tasks waiting, time alone wakes nobody but when something is due, and then it begins.
    @Test func tenThousandTasksWakeOnlyWhenTheyAreDue() {
        let seed: UInt64 = 21
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var board = TaskBoard(window: 60)
        let day: Int64 = 86_400
        for app in 0..<1_000 {
            for index in 0..<10 {
                let earliest = sec(.random(in: 0..<day, using: &generator))
                let request = TaskRequest("tidy\(index)", .processing, earliest: earliest)
                #expect(board.submit(request, app: "app\(app)") == "yes")
            }
        }
        #expect(board.tasks.pendingCount == 10_000)
        var wakeUps = 0
        var begun = 0
        while let now = board.next {
            board.pass(now)
            wakeUps += 1
            var running: [String] = []
            for effect in board.takeEffects() {
                if case .run(let owner, _) = effect { running.append(owner.app.name) }
            }
            #expect(!running.isEmpty, "woken at \(now) for nothing")
            while let app = running.popLast() {
                begun += 1
                #expect(board.done(true, now, app: app) == "yes")
                for effect in board.takeEffects() {
                    if case .run(let owner, _) = effect { running.append(owner.app.name) }
                }
            }
        }
        #expect(begun == 10_000)
        // One window after the other at most.
        #expect(wakeUps <= Int(day) / 60 + 1)
        print("10 000 tasks in a day: \(wakeUps) times awake")
    }

    /// 1 000 tasks that are due in one window cost no more wake-ups than there are apps, and the broker one.
    @Test func aThousandTasksInOneWindowWakeEachAppOnce() {
        let seed: UInt64 = 22
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var board = TaskBoard(window: 60)
        for app in 0..<100 {
            for index in 0..<10 {
                let earliest = sec(1_000 + .random(in: 0...60, using: &generator))
                _ = board.submit(TaskRequest("tidy\(index)", .processing, earliest: earliest), app: "app\(app)")
            }
        }
        let due = board.next ?? 0
        board.pass(due)
        var begun = 0
        for app in 0..<100 {
            while board.done(true, due, app: "app\(app)") == "yes" { begun += 1 }
        }
        #expect(begun == 1_000)
        #expect(board.next == nil)
        #expect(board.tasks.all.reduce(0) { $0 + $1.wakeUps } == 100)
    }
}
