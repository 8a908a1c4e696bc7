import Loop
import Motion
import Testing

@testable import Arbitration
@testable import Background

/// Seconds of both clocks, which are the same until the system sleeps.
func sec(_ count: Int64) -> Timestamp { .zero + .seconds(count) }

/// Tasks with their policy, a disk that answers when it is told to, and short lines for what follows.
struct TaskBoard {
    var tasks = Tasks()
    var settings = AppSettings()
    var declared = DeclaredTasks(
        ["sync", "news"] + (0..<12).map { "tidy\($0)" }, modes: WordSet([.fetch, .processing]))
    /// Whether the disk says at once that something is there, and whether apps are up as soon as they are wanted.
    var isKeeping = true
    var isLaunching = true
    var slept = TimeSpan.zero
    private(set) var effects: [TaskEffect] = []

    init(window: Int64 = 0) {
        self.settings.grants = WordSet([.fetch, .processing])
        self.settings.refreshInterval = .seconds(900)
        self.settings.taskWindow = .seconds(window)
    }

    func owner(_ app: String = "A") -> TaskOwner { TaskOwner(AppID(app), user: 0) }
    func at(_ second: Int64) -> TaskMoment {
        TaskMoment(wall: sec(second), awake: AwakeTime(microseconds: (sec(second) - slept).microseconds))
    }

    mutating func change<R>(
        _ second: Int64, _ body: (inout Tasks, TaskMoment, Tasks.Settings, inout [TaskEffect]) -> R
    ) -> R {
        var new: [TaskEffect] = []
        let settings = self.settings
        let result = body(&self.tasks, self.at(second), { _ in settings }, &new)
        self.effects += new
        for effect in new {
            switch effect {
            case .keep(let record) where self.isKeeping: self.kept(record, second)
            case .launch(let owner, _) where self.isLaunching: self.up(owner.app.name, second)
            case .keep, .forget, .terminated, .launch, .run, .expiring, .ended, .silent, .rests: break
            }
        }
        return result
    }

    mutating func kept(_ record: TaskRecord, _ second: Int64) {
        self.change(second) { $0.kept(record.revision, of: record.owner, $2, into: &$3) }
    }

    mutating func submit(_ request: TaskRequest, _ second: Int64 = 0, app: String = "A") -> String {
        let (owner, declared) = (self.owner(app), self.declared)
        return self.change(second) { $0.submit(request, of: owner, declared, at: $1, $2, into: &$3) }?.name ?? "yes"
    }

    mutating func refresh(_ identifier: String = "sync", _ second: Int64 = 0, app: String = "A") -> String {
        self.submit(TaskRequest(identifier, .refresh), second, app: app)
    }

    mutating func cancel(_ identifier: String, _ second: Int64, app: String = "A") -> String {
        let owner = self.owner(app)
        return self.change(second) { $0.cancel(identifier, of: owner, $2, into: &$3) }?.name ?? "yes"
    }

    mutating func force(_ identifier: String, _ second: Int64, app: String = "A") -> String {
        let owner = self.owner(app)
        return self.change(second) { $0.force(identifier, of: owner, at: $1, $2, into: &$3) }?.name ?? "yes"
    }

    mutating func done(_ isSuccess: Bool, _ second: Int64, app: String = "A", task: String? = nil) -> String {
        let owner = self.owner(app)
        return self.change(second) { $0.done(task, isSuccess, of: owner, at: $1, $2, into: &$3) }?.name ?? "yes"
    }

    mutating func up(_ app: String, _ second: Int64) {
        let owner = self.owner(app)
        self.change(second) { $0.up(owner, at: $1, $2, into: &$3) }
    }

    mutating func failed(_ second: Int64, app: String = "A") {
        let owner = self.owner(app)
        let current = self.tasks[owner]?.current
        let run = current?.stage == .launching ? nil : current?.record.revision
        self.change(second) { $0.failed(owner, run: run, at: $1, $2, into: &$3) }
    }

    mutating func left(_ second: Int64, app: String = "A") {
        let owner = self.owner(app)
        self.change(second) { $0.left(owner, at: $1, $2, into: &$3) }
    }

    mutating func terminate(_ second: Int64, app: String = "A") {
        let owner = self.owner(app)
        self.change(second) { $0.terminate(owner, at: $1, $2, into: &$3) }
    }

    mutating func open(_ second: Int64, app: String = "A") {
        let owner = self.owner(app)
        self.change(second) { $0.open(owner, $2, into: &$3) }
    }

    mutating func met(_ needs: [TaskNeed], _ second: Int64) {
        self.change(second) { tasks, _, settings, _ in tasks.update(WordSet(needs), settings) }
        self.pass(second)
    }

    mutating func clock(_ second: Int64) {
        self.change(second) { $0.clock($1.wall, $2, into: &$3) }
    }

    mutating func pass(_ second: Int64) { self.change(second) { $0.pass(to: $1, $2, into: &$3) } }

    /// Time passes, and everything happens when it is due. Returns how often that was.
    @discardableResult
    mutating func pass(from start: Int64, to end: Int64) -> Int {
        var count = 0
        self.pass(start)
        while let next = self.next, next <= end {
            self.pass(max(next, start))
            count += 1
        }
        return count
    }

    /// The second at which something happens without an input, rounded up.
    var next: Int64? {
        let deadlines = self.tasks.deadlines
        let awake = deadlines.awake.map { Timestamp(microseconds: $0.microseconds) + self.slept }
        let earliest = [deadlines.wall, awake].compactMap { $0 }.min()
        return earliest.map { max(0, ($0.microseconds + 999_999) / 1_000_000) }
    }

    /// What followed since the last time.
    mutating func takeEffects() -> [TaskEffect] {
        defer { self.effects = [] }
        return self.effects
    }

    /// The same as short lines, without what goes to the disk.
    mutating func take() -> [String] {
        self.takeEffects().compactMap { effect in
            switch effect {
            case .keep, .forget: nil
            case .terminated(let owner, let isTerminated): "\(owner.app) \(isTerminated ? "terminated" : "opened")"
            case .launch(let owner, let identifier): "launch \(owner.app) \(identifier)"
            case .run(let owner, let run): "run \(owner.app) \(run.identifier) #\(run.attempt)"
            case .expiring(let owner, let identifier, let remaining):
                "expiring \(owner.app) \(identifier) \(remaining.text)"
            case .ended(let owner, let outcome):
                "\(owner.app) \(outcome.identifier) \(outcome.end.name)\(outcome.isTriedAgain ? ", again" : "")"
            case .silent(let owner): "silent \(owner.app)"
            case .rests(let owner): "rests \(owner.app)"
            }
        }
    }

    /// What stands on the disk, by all that was said: identifier and attempt.
    var disk: [String: UInt32] {
        var disk: [String: UInt32] = [:]
        for effect in self.effects {
            switch effect {
            case .keep(let record): disk[record.request.identifier] = record.attempt
            case .forget(_, let identifier): disk[identifier] = nil
            case .terminated, .launch, .run, .expiring, .ended, .silent, .rests: break
            }
        }
        return disk
    }
}

@Suite struct TaskTests {
    // MARK: What is taken

    @Test func identifiersMustStandInTheAppFile() {
        var board = TaskBoard()
        #expect(board.refresh("sync") == "yes")
        #expect(board.refresh("other") == "undeclared")
    }

    @Test func aKindNeedsItsModeInTheAppFileAndInPolicy() {
        var board = TaskBoard()
        board.declared.modes = WordSet([.fetch])
        #expect(board.submit(TaskRequest("sync", .refresh)) == "yes")
        #expect(board.submit(TaskRequest("tidy0", .processing)) == "undeclared-mode")
        board.declared.modes = .all
        board.settings.grants = WordSet([.processing])
        #expect(board.submit(TaskRequest("sync", .refresh)) == "ungranted")
        #expect(board.submit(TaskRequest("tidy0", .processing)) == "yes")
    }

    @Test func oneRefreshAndTenProcessingTasksMayWait() {
        var board = TaskBoard()
        #expect(board.refresh("sync") == "yes")
        #expect(board.refresh("news") == "too-many")
        for index in 0..<10 { #expect(board.submit(TaskRequest("tidy\(index)", .processing)) == "yes") }
        #expect(board.submit(TaskRequest("tidy10", .processing)) == "too-many")
        #expect(board.cancel("tidy3", 1) == "yes")
        #expect(board.submit(TaskRequest("tidy10", .processing)) == "yes")
        #expect(board.refresh("sync", app: "B") == "yes")
        #expect(board.tasks.pendingCount == 12)
    }

    @Test func submittingAgainReplaces() {
        var board = TaskBoard()
        #expect(board.refresh("sync") == "yes")
        #expect(board.submit(TaskRequest("sync", .refresh, earliest: sec(5_000)), 10) == "yes")
        #expect(board.tasks.pendingCount == 1)
        #expect(board.next == 5_000)
        #expect(board.submit(TaskRequest("sync", .processing, earliest: sec(60)), 20) == "yes")
        #expect(board.next == 60)
    }

    @Test func whoHasNoNameHasNoTasks() {
        var board = TaskBoard()
        #expect(board.refresh(app: "") == "anonymous")
    }

    @Test func whatWaitsCanBeCancelledOnce() {
        var board = TaskBoard()
        #expect(board.cancel("sync", 0) == "unknown")
        _ = board.refresh()
        #expect(board.cancel("sync", 1) == "yes")
        #expect(board.cancel("sync", 2) == "unknown")
        #expect(board.next == nil && board.disk == [:])
    }

    /// It was submitted anew while it ran, and taken back: the disk knows again that it is begun, or a broker that starts anew would not.
    @Test(arguments: [true, false]) func whatIsUnderWayStaysOnTheDisk(_ isKept: Bool) {
        var board = TaskBoard()
        board.isKeeping = isKept
        _ = board.submit(TaskRequest("tidy0", .processing))
        board.pass(0)
        #expect(board.disk == ["tidy0": 1])
        _ = board.submit(TaskRequest("tidy0", .processing, needs: WordSet([.idle])), 1)
        #expect(board.disk == ["tidy0": 0])
        #expect(board.cancel("tidy0", 2) == "yes")
        #expect(board.disk == ["tidy0": 1])
        #expect(board.cancel("tidy0", 3) == "unknown")
        if let record = board.tasks[board.owner()]?.current?.record { board.kept(record, 4) }
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
        #expect(board.done(true, 5) == "yes")
        #expect(board.disk == [:])
    }

    // MARK: When it runs

    /// A refresh task is asked for no earlier than a quarter of an hour from now, and comes no earlier.
    @Test func aRefreshIsBegunNoSoonerThanAfterAQuarterOfAnHour() {
        var board = TaskBoard()
        _ = board.submit(TaskRequest("sync", .refresh, earliest: sec(10)), 0)
        board.pass(from: 0, to: 899)
        #expect(board.take() == [])
        board.pass(900)
        #expect(board.take() == ["launch A sync", "run A sync #1"])
    }

    @Test func nothingIsBegunBeforeItsTime() {
        var board = TaskBoard()
        _ = board.submit(TaskRequest("sync", .refresh, earliest: sec(5_000)))
        _ = board.submit(TaskRequest("tidy0", .processing, earliest: sec(100)))
        #expect(board.next == 100)
        board.pass(99)
        #expect(board.take() == [])
        board.pass(100)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
        #expect(board.done(true, 101) == "yes")
        #expect(board.take() == ["A tidy0 done", "rests A"])
        #expect(board.next == 5_000)
    }

    @Test func aTaskWaitsForWhatItNeeds() {
        var board = TaskBoard()
        board.met([], 0)
        _ = board.submit(TaskRequest("tidy0", .processing, needs: WordSet([.idle, .power])))
        board.pass(from: 0, to: 10_000)
        board.met([.idle], 10_001)
        #expect(board.take() == [] && board.next == nil)
        board.met([.idle, .power], 10_002)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
    }

    @Test func whatIsLeftToDiscretionWaitsForAQuietMoment() {
        var board = TaskBoard()
        board.met([.power], 0)
        _ = board.submit(TaskRequest("tidy0", .processing, isDiscretionary: true))
        _ = board.submit(TaskRequest("tidy1", .processing, earliest: sec(5)))
        board.met([.idle, .power], 3)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
    }

    @Test func whatIsLeftToDiscretionComesAlongWithOthers() {
        var board = TaskBoard()
        board.met([], 0)
        _ = board.submit(TaskRequest("tidy0", .processing, isDiscretionary: true))
        _ = board.submit(TaskRequest("tidy1", .processing, earliest: sec(5)))
        board.pass(5)
        #expect(board.take() == ["launch A tidy1", "run A tidy1 #1"])
        #expect(board.done(true, 6) == "yes")
        #expect(board.take() == ["A tidy1 done", "launch A tidy0", "run A tidy0 #1"])
        #expect(board.tasks[board.owner()]?.wakeUps == 1)
    }

    @Test(arguments: [(nil, 6 * 3_600), (500, 500)] as [(Int64?, Int64)])
    func discretionHasAnEnd(_ latest: Int64?, _ due: Int64) {
        var board = TaskBoard()
        board.met([], 0)
        _ = board.submit(TaskRequest("tidy0", .processing, latest: latest.map(sec), isDiscretionary: true))
        #expect(board.next == due)
        board.pass(due)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
    }

    /// Nothing is left to discretion unless its app says so.
    @Test func byDefaultNothingIsLeftToDiscretion() {
        var board = TaskBoard()
        board.met([], 0)
        #expect(!TaskRequest("tidy0", .processing).isDiscretionary)
        _ = board.submit(TaskRequest("tidy0", .processing))
        #expect(board.next == 0)
    }

    // MARK: Together

    @Test func whatIsDueWithinAWindowIsBegunTogether() {
        var board = TaskBoard(window: 60)
        _ = board.submit(TaskRequest("tidy0", .processing, earliest: sec(100)), app: "A")
        _ = board.submit(TaskRequest("tidy0", .processing, earliest: sec(130)), app: "B")
        _ = board.submit(TaskRequest("tidy0", .processing, earliest: sec(161)), app: "C")
        #expect(board.next == 160)
        board.pass(160)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1", "launch B tidy0", "run B tidy0 #1"])
        #expect(board.done(true, 160) == "yes" && board.done(true, 160, app: "B") == "yes")
        #expect(board.next == 221)
    }

    @Test func anAppDoesOneAtATimeAndStaysUpInBetween() {
        var board = TaskBoard()
        for index in 0..<3 { _ = board.submit(TaskRequest("tidy\(index)", .processing, earliest: sec(5))) }
        board.pass(5)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
        #expect(board.done(true, 6) == "yes")
        #expect(board.take() == ["A tidy0 done", "launch A tidy1", "run A tidy1 #1"])
        #expect(board.done(false, 7) == "yes")
        #expect(board.take() == ["A tidy1 cancelled", "launch A tidy2", "run A tidy2 #1"])
        #expect(board.done(true, 8) == "yes")
        #expect(board.take() == ["A tidy2 done", "rests A"])
        #expect(board.tasks[board.owner()]?.wakeUps == 1)
    }

    // MARK: How it ends

    /// Submitted again first thing in its handler, a refresh goes on for ever, and only once at a time.
    @Test func aTaskSubmittedInItsOwnHandlerGoesOn() {
        var board = TaskBoard()
        _ = board.refresh()
        var runs = 0
        board.pass(from: 0, to: 900)
        for round in 1...96 as ClosedRange<Int64> {
            let now = 900 * round
            runs += board.take().filter { $0.hasPrefix("run") }.count
            #expect(board.refresh("sync", now) == "yes")
            #expect(board.done(true, now + 5) == "yes")
            board.pass(from: now + 5, to: now + 900)
        }
        #expect(runs == 96)
    }

    @Test func anAppIsToldBeforeItsTimeIsOver() {
        var board = TaskBoard()
        _ = board.submit(TaskRequest("sync", .refresh))
        board.pass(900)
        #expect(board.next == 925)
        board.pass(925)
        #expect(board.take().last == "expiring A sync 5s")
        // What was told may still answer, and did not fail.
        #expect(board.done(false, 929) == "yes")
        #expect(board.take() == ["A sync cancelled", "rests A"])
        #expect(board.next == nil && board.disk == [:])
    }

    @Test func whoSaysNothingIsNotToGoOn() {
        var board = TaskBoard()
        _ = board.submit(TaskRequest("sync", .refresh))
        board.pass(from: 0, to: 930)
        #expect(board.take().suffix(3) == ["A sync silent", "silent A", "rests A"])
        #expect(board.done(true, 931) == "nothing-runs")
        #expect(board.disk == [:])
    }

    @Test func whatIsSaidLateOfOneEndsNoOther() {
        var board = TaskBoard()
        for index in 0..<2 { _ = board.submit(TaskRequest("tidy\(index)", .processing)) }
        board.pass(from: 0, to: 310)
        #expect(board.take().suffix(2) == ["launch A tidy1", "run A tidy1 #1"])
        #expect(board.done(true, 311, task: "tidy0") == "nothing-runs")
        #expect(board.take() == [])
        #expect(board.done(false, 312, task: "tidy1") == "yes")
        #expect(board.take() == ["A tidy1 cancelled", "rests A"])
    }

    @Test func aShortTimeHasAShortWarning() {
        var board = TaskBoard()
        board.settings.refreshInterval = .zero
        board.settings.refreshTime = .seconds(4)
        _ = board.refresh()
        board.pass(0)
        board.pass(3)
        #expect(board.take().last == "expiring A sync 1s")
    }

    @Test func theSleepOfTheSystemTakesNoneOfItsTime() {
        var board = TaskBoard()
        _ = board.refresh()
        board.pass(900)
        board.slept = .seconds(1_000)
        #expect(board.next == 1_925)
        board.pass(1_925)
        #expect(board.take().last == "expiring A sync 5s")
    }

    // MARK: Crashes

    @Test func whatIsBegunAgainSaysSo() {
        var board = TaskBoard()
        _ = board.refresh()
        board.pass(900)
        board.left(903)
        #expect(board.take() == ["launch A sync", "run A sync #1", "A sync left, again", "rests A"])
        #expect(board.next == 904)
        board.pass(904)
        #expect(board.take() == ["launch A sync", "run A sync #2"])
        board.failed(905)
        #expect(board.take() == ["A sync failed, again", "rests A"])
        #expect(board.next == 907)
        board.pass(907)
        board.left(908)
        #expect(board.take() == ["launch A sync", "run A sync #3", "A sync left", "rests A"])
        #expect(board.next == nil)
    }

    @Test func aTaskIsOnTheDiskAsBegunBeforeItsAppHearsOfIt() {
        var board = TaskBoard()
        _ = board.refresh()
        board.isKeeping = false
        board.pass(900)
        #expect(board.disk == ["sync": 1])
        #expect(board.take() == [])
        board.isKeeping = true
        guard let record = board.tasks[board.owner()]?.current?.record else {
            Issue.record("nothing is under way")
            return
        }
        board.kept(TaskRecord(record.owner, record.request, revision: record.revision - 1), 901)
        #expect(board.take() == [])
        board.kept(record, 901)
        #expect(board.take() == ["launch A sync", "run A sync #1"])
    }

    @Test func aRestartOfTheBrokerKeepsWhatWaitsAndCountsWhatWasBegun() {
        let owner = TaskBoard().owner()
        var board = TaskBoard()
        let begun = TaskRecord(owner, TaskRequest("sync", .refresh, earliest: sec(100)), attempt: 1)
        let waiting = TaskRecord(owner, TaskRequest("tidy0", .processing, earliest: sec(500)))
        let worn = TaskRecord(owner, TaskRequest("tidy1", .processing), attempt: AppTasks.mostAttempts)
        board.change(200) { $0.restore([begun, waiting, worn], terminated: [], $2, into: &$3) }
        board.pass(200)
        #expect(board.take() == ["launch A sync", "run A sync #2"])
        #expect(board.done(true, 201) == "yes")
        board.pass(500)
        #expect(board.take() == ["A sync done", "rests A", "launch A tidy0", "run A tidy0 #1"])
    }

    /// The disk says late what it had: of that, what was submitted anew by then is over.
    @Test func whatWasSubmittedBeforeTheDiskSaidSoIsNotRestored() {
        var board = TaskBoard()
        let owner = board.owner()
        let records = ["tidy0", "tidy1", "tidy2"].map { TaskRecord(owner, TaskRequest($0, .processing)) }
        for identifier in ["tidy0", "tidy1"] { _ = board.submit(TaskRequest(identifier, .processing)) }
        #expect(board.cancel("tidy1", 0) == "yes")
        board.pass(0)
        #expect(board.done(true, 1) == "yes")
        board.change(2) { $0.restore(records, terminated: [], $2, into: &$3) }
        #expect(board.tasks.all.flatMap(\.records).map(\.request.identifier) == ["tidy2"])
    }

    @Test func whatWasSubmittedSinceTakesThePlaceOfWhatCameToNothing() {
        var board = TaskBoard()
        _ = board.refresh()
        board.pass(900)
        _ = board.refresh("sync", 901)
        board.left(902)
        #expect(board.take().suffix(2) == ["A sync left", "rests A"])
        #expect(board.next == 1_801)
        board.pass(1_801)
        #expect(board.take() == ["launch A sync", "run A sync #1"])
    }

    @Test(arguments: [1, 2, 3, 6, 9])
    func whoFailsIsLeftAloneForLongerAndLonger(_ failures: Int) {
        var board = TaskBoard()
        var now: Int64 = 0
        for _ in 0..<failures {
            _ = board.submit(TaskRequest("tidy0", .processing), now)
            board.pass(from: now, to: board.next ?? now)
            now = max(now, board.next ?? now)
            board.pass(now)
            board.failed(now)
        }
        _ = board.submit(TaskRequest("tidy1", .processing), now)
        #expect(board.next == now + min(60, 1 << Int64(failures - 1)))
    }

    @Test func nobodyRestsUntilAClockThatWasSetBackHasCaughtUp() {
        var board = TaskBoard()
        _ = board.submit(TaskRequest("tidy0", .processing))
        board.pass(9_000)
        board.failed(9_000)
        #expect(board.next == 9_001)
        board.clock(5_000)
        #expect(board.next == 5_060)
        // A pause that is not too long stays as it is.
        board.clock(5_030)
        #expect(board.next == 5_060)
        _ = board.take()
        board.pass(5_060)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #2"])
    }

    /// What was submitted while the clock was ahead waits no longer from when that is put right than it was to wait at all.
    @Test func nothingWaitsUntilAClockThatWasSetBackHasCaughtUp() {
        var board = TaskBoard()
        let owner = board.owner()
        _ = board.refresh("sync", 9_000)
        _ = board.submit(TaskRequest("tidy0", .processing, delay: .seconds(20)), 9_000)
        _ = board.submit(TaskRequest("tidy1", .processing, earliest: sec(8_000)), 9_000)
        _ = board.submit(TaskRequest("tidy2", .processing, earliest: sec(9_500)), 9_000)
        #expect(board.tasks[owner]?.pending.map(\.request.earliest) == [9_900, 9_020, 9_000, 9_500].map(sec))
        let before = board.effects.count
        board.clock(5_000)
        #expect(board.tasks[owner]?.pending.map(\.request.earliest) == [5_900, 5_020, 8_000, 9_500].map(sec))
        // The disk has it, too.
        let kept = board.effects.dropFirst(before).compactMap {
            if case .keep(let record) = $0 { record.request.earliest } else { nil }
        }
        #expect(kept == [5_900, 5_020, 8_000].map(sec))
        // From then on it is as always.
        board.clock(5_010)
        #expect(board.next == 5_020)
        _ = board.take()
        board.pass(5_020)
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
    }

    /// Another broker reads from the disk what it was to wait for.
    @Test func norDoesWhatWasSubmittedBeforeARestart() {
        var board = TaskBoard()
        let owner = board.owner()
        _ = board.refresh("sync", 9_000)
        _ = board.submit(TaskRequest("tidy1", .processing, earliest: sec(9_500)), 9_000)
        let records = board.tasks[owner]?.records ?? []
        var other = TaskBoard()
        other.change(5_000) { $0.restore(records, terminated: [], $2, into: &$3) }
        other.clock(5_000)
        #expect(other.tasks[owner]?.pending.map(\.request.earliest) == [5_900, 9_500].map(sec))
    }

    /// One that was begun by then is begun again when its pause is over.
    @Test func whatIsUnderWayDoesNotWaitForTheClockEither() {
        var board = TaskBoard()
        _ = board.submit(TaskRequest("tidy0", .processing), 9_000)
        board.pass(9_000)
        board.clock(5_000)
        board.failed(5_000)
        #expect(board.next == 5_001)
    }

    @Test func whoCannotBeStartedIsWaitedForAndTriesNothing() {
        var board = TaskBoard()
        board.isLaunching = false
        _ = board.refresh()
        board.pass(900)
        let owner = board.owner()
        board.change(900) { $0.outOfReach(owner, $2, into: &$3) }
        #expect(board.disk == ["sync": 0])
        #expect(board.take() == ["launch A sync"] && board.next == nil)
        board.change(5_000) { tasks, _, settings, _ in tasks.came(owner, settings) }
        board.isLaunching = true
        board.pass(5_000)
        #expect(board.take() == ["launch A sync", "run A sync #1"])
        #expect(board.tasks[owner]?.wakeUps == 1)
    }

    // MARK: The user

    @Test func anAppThatItsUserTerminatedRunsNoneUntilItIsOpened() {
        var board = TaskBoard()
        _ = board.refresh()
        board.terminate(10)
        board.left(10)
        board.pass(from: 10, to: 100_000)
        #expect(board.force("sync", 100_000) == "terminated")
        #expect(board.take() == ["A terminated"])
        board.open(100_001)
        board.pass(100_001)
        #expect(board.take() == ["A opened", "launch A sync", "run A sync #1"])
    }

    /// Of two users' apps of one name each means his own; who has none speaks of the one that is here, or of all.
    @Test func whoseTasksAreMeant() {
        var board = TaskBoard()
        let owners = [UInt32(1_000), 1_001].map { TaskOwner(AppID("A"), user: $0) }
        for owner in owners {
            let declared = board.declared
            _ = board.change(0) {
                $0.submit(TaskRequest("sync", .refresh), of: owner, declared, at: $1, $2, into: &$3)
            }
        }
        #expect(board.tasks.owners(of: "A", for: 1_001) == [owners[1]])
        #expect(board.tasks.owners(of: "A", for: 0) == owners && board.tasks.owners(of: "B", for: 1_001).isEmpty)
        #expect(board.tasks.owners(of: "A", for: 1_001, present: owners[0]) == [owners[1]])
        #expect(board.tasks.owners(of: "A", for: 0, present: owners[0]) == [owners[0]])
    }

    /// The disk tells that it was terminated after its user has opened it again.
    @Test func whoWasOpenedSinceIsNotTerminated() {
        var board = TaskBoard()
        _ = board.refresh()
        board.open(1)
        let owner = board.owner()
        board.change(2) { $0.restore([], terminated: [owner], $2, into: &$3) }
        board.pass(900)
        #expect(board.take() == ["A opened", "launch A sync", "run A sync #1"])
        // Once more it is.
        board.terminate(901)
        #expect(board.tasks[owner]?.isTerminated == true)
    }

    @Test func whatItsUserBrokeOffIsBegunAgainWhenTheAppIsOpened() {
        var board = TaskBoard()
        _ = board.refresh()
        board.pass(900)
        board.terminate(901)
        board.left(901)
        #expect(board.take().suffix(3) == ["A terminated", "A sync terminated, again", "rests A"])
        board.open(2_000)
        board.pass(2_000)
        #expect(board.take() == ["A opened", "launch A sync", "run A sync #2"])
    }

    /// Also what its user breaks off is begun three times at most.
    @Test func whatItsUserBreaksOffAgainAndAgainIsGivenUp() {
        var board = TaskBoard()
        _ = board.refresh()
        for attempt in 1...3 as ClosedRange<Int64> {
            let second = 1_000 * attempt
            board.pass(second)
            board.terminate(second + 1)
            board.left(second + 1)
            board.open(second + 2)
        }
        #expect(board.take().contains("A sync terminated"))
        board.pass(from: 4_000, to: 100_000)
        #expect(board.take().isEmpty)
    }

    @Test func whatWasNotBegunYetWaitsAsBefore() {
        var board = TaskBoard()
        _ = board.refresh()
        board.isKeeping = false
        board.pass(900)
        board.terminate(901)
        #expect(board.disk == ["sync": 0])
        board.isKeeping = true
        board.open(2_000)
        board.pass(2_000)
        #expect(board.take() == ["A terminated", "rests A", "A opened", "launch A sync", "run A sync #1"])
    }

    // MARK: By hand

    @Test func oneCanBeRunAtOnceForATest() {
        var board = TaskBoard()
        board.met([], 0)
        #expect(board.force("sync", 1) == "unknown")
        _ = board.refresh()
        _ = board.submit(TaskRequest("tidy0", .processing, needs: .all))
        #expect(board.force("tidy0", 2) == "yes")
        #expect(board.take() == ["launch A tidy0", "run A tidy0 #1"])
        #expect(board.force("sync", 3) == "yes")
        #expect(board.take() == [])
        #expect(board.done(true, 4) == "yes")
        #expect(board.take() == ["A tidy0 done", "launch A sync", "run A sync #1"])
    }

    @Test func aGrantThatIsTakenBackHoldsItsTasks() {
        var board = TaskBoard()
        _ = board.refresh()
        board.settings.grants = .none
        board.change(1) { tasks, _, settings, _ in tasks.review(settings) }
        #expect(board.next == nil)
        board.settings.grants = WordSet([.fetch])
        board.change(2) { tasks, _, settings, _ in tasks.review(settings) }
        #expect(board.next == 900)
    }

    @Test func whatCameOfTheLastOnesCanBeLookedAt() {
        var board = TaskBoard()
        for round in 0..<12 as Range<Int64> {
            _ = board.submit(TaskRequest("tidy0", .processing), round * 10)
            board.pass(round * 10)
            _ = board.done(round % 2 == 0, round * 10 + 3)
        }
        let outcomes = board.tasks[board.owner()]?.outcomes ?? []
        #expect(outcomes.count == AppTasks.mostOutcomes)
        #expect(
            outcomes.last?.end == .cancelled && outcomes.last?.begun == sec(110) && outcomes.last?.ended == sec(113))
    }

    /// Of a user's app it is known at once, however many others have tasks.
    @Test func whoIsAwaitedIsNotSearchedForAmongAll() {
        func spent(_ count: Int) -> Int64 {
            var tasks = Tasks()
            var effects: [TaskEffect] = []
            let owners = (0..<count).map { TaskOwner(AppID("app\($0)"), user: 7) }
            tasks.restore([], terminated: owners, { _ in AppSettings() }, into: &effects)
            return (0..<3).reduce(Int64.max) { least, _ in
                let begin = Clock.threadTime()
                var awaited = 0
                for _ in 0..<512 { awaited += tasks.awaiting(owners[0].app, of: 7).count }
                let end = Clock.threadTime()
                #expect(awaited == 0)
                return min(least, end - begin)
            }
        }
        let (few, many) = (spent(64), spent(4_000))
        #expect(many < 16 * few, "\(many) us and \(few) us")
    }

    /// Thousands that have something left are not put in order for each one that comes.
    @Test func whoComesCostsTheSameHoweverManyThereAre() {
        func spent(_ count: Int) -> Int64 {
            func owners(_ name: String, _ count: Int) -> [TaskOwner] {
                (0..<count).map { TaskOwner(AppID("\(name)\($0)"), user: 7) }
            }
            var tasks = Tasks()
            var effects: [TaskEffect] = []
            tasks.restore([], terminated: owners("app", count), { _ in AppSettings() }, into: &effects)
            let late = owners("late", 256)
            let begin = Clock.threadTime()
            tasks.restore([], terminated: late, { _ in AppSettings() }, into: &effects)
            return Clock.threadTime() - begin
        }
        let few = (0..<3).reduce(Int64.max) { least, _ in min(least, spent(64)) }
        let many = (0..<3).reduce(Int64.max) { least, _ in min(least, spent(8_000)) }
        #expect(many < 32 * few, "\(many) us and \(few) us")
    }
}
