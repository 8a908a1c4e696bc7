import Arbitration
import Background
import BrokerCore
import Motion
import Testing

/// What tasks do to the lives of apps, and which apps are started for them.
@Suite final class TaskLifeTests {
    private static let declared = DeclaredTasks(["tidy"], modes: WordSet([.processing]))

    /// Calls that launch an app, as they were made.
    private var calls: [Launch] = []

    private func bench(sensor: SensorDescription? = nil) -> Bench {
        var settings = AppSettings()
        settings.grants = WordSet([.processing])
        settings.taskWindow = .zero
        settings.processingTime = .seconds(10)
        var terms = DeliveryTerms()
        terms.kind = .wake
        terms.lifespan = .seconds(60)
        let rule = Rule(name: "wake", place: Place(file: "test.conf", line: 1), effect: .allow, terms: terms)
        return Bench(policy: Policy(otherwise: .allow, rules: [rule], everyApp: settings), sensor: sensor)
    }

    private func name(_ index: UInt32) -> String { "org.example.A\(index)" }

    /// An app that is there, and nobody looks at.
    private func register(_ bench: inout Bench, _ index: UInt32) throws -> AppHandle {
        let client = try bench.register(index, self.name(index))
        bench.core.report(.app(nil), at: bench.now, &bench.actions)
        try bench.core.task(.came(client), at: bench.now, &bench.actions)
        return client
    }

    /// Hands in a task for so many seconds from now.
    private func submit(_ bench: inout Bench, _ client: AppHandle, in seconds: Int64) throws {
        let request = TaskRequest("tidy", .processing, earliest: bench.now + .seconds(seconds))
        try bench.core.task(.submit(client, request, declared: Self.declared), at: bench.now, &bench.actions)
    }

    /// Lets time pass, with a disk that takes none, and says what followed for tasks.
    private func pass(_ bench: inout Bench, _ seconds: Int64) throws -> [String] {
        let end = bench.now + .seconds(seconds)
        var said: [String] = []
        while true {
            for action in bench.take() {
                switch action {
                case .task(.keep(let record)):
                    let input = TaskInput.kept(record.owner, revision: record.revision)
                    try bench.core.task(input, at: bench.now, &bench.actions)
                case .task(.run(let owner, let run)): said.append("run \(owner.app) #\(run.attempt)")
                case .task(.expiring(let owner, _, _)): said.append("expiring \(owner.app)")
                case .task(.ended(let owner, let outcome)): said.append("\(owner.app) \(outcome.end.name)")
                case .launch(let launch, let handover):
                    if case .task = launch.reason {
                        said.append("start \(launch.app)")
                        #expect(handover.events.isEmpty && handover.user == nil)
                        continue
                    }
                    said.append("launch \(launch.app) with \(handover.events.count)")
                    self.calls.append(launch)
                case .deliver(let client, _): said.append("event \(bench.core.registry[client]?.id ?? AppID("?"))")
                case .task, .claim, .release, .availability, .life, .session, .mark, .persist, .forget, .ended, .failed,
                    .keep,
                    .launchEnded,
                    .launchGivenUp, .clip:
                    break
                }
            }
            if !bench.actions.isEmpty { continue }
            guard let tick = bench.nextTick, tick <= end else { break }
            bench.now = max(bench.now, tick)
            bench.core.tick(at: bench.now, &bench.actions)
        }
        bench.now = end
        return said
    }

    private func state(_ bench: Bench, _ client: AppHandle) -> AppState? { bench.core.arbiter.facts(of: client)?.state }

    @Test func aTaskBringsASuspendedAppBackAndKeepsItGoing() throws {
        var bench = self.bench()
        let client = try self.register(&bench, 0)
        #expect(self.state(bench, client) == .suspended)
        // A suspended app does nothing; it handed this in before.
        try self.submit(&bench, client, in: 5)
        #expect(try self.pass(&bench, 4) == [])
        #expect(try self.pass(&bench, 2) == ["run org.example.A0 #1"])
        #expect(self.state(bench, client) == .background)
        #expect(bench.core.arbiter.life(of: client)?.cause == .task)
        try bench.core.task(.done(client, isSuccess: true), at: bench.now, &bench.actions)
        #expect(self.state(bench, client) == .suspended)
        #expect(bench.core.arbiter.life(of: client)?.cause == .grace)
        #expect(try self.pass(&bench, 100) == ["org.example.A0 done"])
        #expect(bench.nextTick == nil)
    }

    @Test func whoSaysNothingIsSuspendedForIt() throws {
        var bench = self.bench()
        let client = try self.register(&bench, 0)
        try self.submit(&bench, client, in: 5)
        #expect(
            try self.pass(&bench, 100) == [
                "run org.example.A0 #1", "expiring org.example.A0", "org.example.A0 silent",
            ])
        #expect(self.state(bench, client) == .suspended)
        #expect(bench.core.arbiter.life(of: client)?.cause == .overrun)
    }

    /// Of many apps that are not there two are started at a time, and each begins when it has come.
    @Test func twoAreStartedAtATime() throws {
        var bench = self.bench()
        for index in 0..<5 as Range<UInt32> {
            let client = try self.register(&bench, index)
            try self.submit(&bench, client, in: 5)
            _ = try self.pass(&bench, 0)
            bench.core.leave(client, at: bench.now, &bench.actions)
        }
        #expect(try self.pass(&bench, 6) == ["start org.example.A0", "start org.example.A1"])
        _ = try self.register(&bench, 1)
        #expect(try self.pass(&bench, 0) == ["start org.example.A2", "run org.example.A1 #1"])
        // What does not come up in time is tried again later, and says so.
        #expect(try self.pass(&bench, 10).contains("org.example.A0 failed"))
    }

    /// A broker that knows apps that are not there, with a task each that is due in five seconds and a detector.
    private func absent(_ count: UInt32) throws -> Bench {
        var bench = self.bench(sensor: Bench.sensor)
        for index in 0..<count {
            try bench.core.install(
                AppHandle(index), AppID(self.name(index)), AppEntrance(),
                [Bench.planar("jolt", 2 + Double(index) / 10, rest: "10s")], user: 0, at: bench.now, &bench.actions)
            let client = try self.register(&bench, index)
            try self.submit(&bench, client, in: 5)
            _ = try self.pass(&bench, 0)
            bench.core.leave(client, at: bench.now, &bench.actions)
        }
        return bench
    }

    /// It is called for the event; once it is there its task begins, and nobody starts it again.
    @Test func oneStartServesAnEventAndThenATask() throws {
        var bench = try self.absent(1)
        bench.feed([2.5])
        #expect(try self.pass(&bench, 6) == ["launch org.example.A0 with 1"])
        _ = try self.register(&bench, 0)
        #expect(try self.pass(&bench, 0) == ["run org.example.A0 #1"])
        bench.core.answered(try #require(self.calls.last), .consume, at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 0) == [])
        #expect(self.state(bench, AppHandle(0)) == .background)
        try bench.core.task(.done(AppHandle(0), isSuccess: true), at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 100) == ["org.example.A0 done"])
    }

    /// It is started for the task; the event that came meanwhile it is sent once it listens.
    @Test func oneStartServesATaskAndThenAnEvent() throws {
        var bench = try self.absent(1)
        #expect(try self.pass(&bench, 6) == ["start org.example.A0"])
        bench.feed([2.5])
        #expect(try self.pass(&bench, 0) == [])
        _ = try self.register(&bench, 0)
        #expect(try self.pass(&bench, 0) == ["run org.example.A0 #1"])
        _ = try bench.core.subscribe(AppHandle(0), since: nil, at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 0) == ["event org.example.A0"])
        try bench.core.task(.done(AppHandle(0), isSuccess: true), at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 100) == ["org.example.A0 done"])
        #expect(bench.tally(of: AppHandle(0))?.launches.begun == 1)
    }

    /// Two are started at a time whatever for, and events before tasks.
    @Test func tasksAndEventsShareTheirPlaces() throws {
        var bench = try self.absent(4)
        #expect(try self.pass(&bench, 6) == ["start org.example.A0", "start org.example.A1"])
        // Only the apps that listen for less than that.
        bench.feed([2.25])
        #expect(try self.pass(&bench, 0) == [])
        _ = try self.register(&bench, 1)
        #expect(try self.pass(&bench, 0) == ["launch org.example.A2 with 1", "run org.example.A1 #1"])
        _ = try self.register(&bench, 0)
        #expect(try self.pass(&bench, 0) == ["start org.example.A3", "run org.example.A0 #1"])
        _ = try self.register(&bench, 2)
        #expect(try self.pass(&bench, 0) == ["run org.example.A2 #1"])
    }

    /// An app that its user terminated meanwhile is not started for a task that waits for its turn.
    @Test func whoIsTerminatedMeanwhileIsNotStarted() throws {
        var bench = try self.absent(3)
        #expect(try self.pass(&bench, 6) == ["start org.example.A0", "start org.example.A1"])
        let owner = TaskOwner(AppID(self.name(2)), user: 0)
        try bench.core.task(.terminated(owner), at: bench.now, &bench.actions)
        _ = try self.register(&bench, 0)
        #expect(try self.pass(&bench, 0) == ["run org.example.A0 #1"])
        #expect(bench.tally(of: AppHandle(2))?.launches.begun == 0)
    }

    /// Who is in front when the disk tells that its user had ended it was opened since.
    @Test func whoIsInFrontIsNotTerminated() throws {
        var bench = self.bench()
        let client = try bench.register(0, self.name(0))
        try bench.core.task(.came(client), at: bench.now, &bench.actions)
        _ = bench.take()
        let owners = [0, 1].map { TaskOwner(AppID(self.name($0)), user: 0) }
        try bench.core.task(.restored([], terminated: owners), at: bench.now, &bench.actions)
        #expect(owners.map { bench.core.work.tasks[$0]?.isTerminated } == [false, true])
        #expect(bench.take() == [.task(.terminated(owners[0], false))])
    }

    /// A task of one user's app is not begun in another user's, and does not wait for it either.
    @Test func whoComesForAnotherUserIsNotTheOneThatWasStarted() throws {
        var bench = self.bench()
        let client = try self.register(&bench, 0)
        try self.submit(&bench, client, in: 5)
        _ = try self.pass(&bench, 0)
        bench.core.leave(client, at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 6) == ["start org.example.A0"])
        try bench.core.register(
            client, AppID(self.name(0)), AppEntrance(), user: 7, at: bench.now, &bench.actions)
        try bench.core.task(.came(client), at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 0) == ["org.example.A0 failed"])
    }

    /// Without a bus nobody can be asked to start an app, however long that is: its task waits with its attempts, and as it is on
    /// the disk.
    @Test func withoutABusItIsWaitedForAndNothingIsTried() throws {
        var bench = try self.absent(1)
        bench.now = bench.now + .seconds(6)
        bench.core.tick(at: bench.now, &bench.actions)
        for action in bench.take() {
            guard case .task(.keep(let record)) = action else { continue }
            let input = TaskInput.kept(record.owner, revision: record.revision)
            try bench.core.task(input, at: bench.now, &bench.actions)
        }
        for _ in 0..<4_000 {
            let actions = bench.take()
            #expect(!actions.contains { if case .task = $0 { true } else { false } })
            let launches = actions.compactMap { if case .launch(let launch, _) = $0 { launch } else { nil } }
            let launch = try #require(launches.first)
            _ = try bench.core.apply(.postponed(launch), at: bench.now, &bench.actions)
            bench.now = bench.now + .seconds(1)
            bench.core.tick(at: bench.now, &bench.actions)
        }
        // The last one is under way when the app comes by itself.
        _ = bench.take()
        _ = try self.register(&bench, 0)
        #expect(try self.pass(&bench, 0) == ["run org.example.A0 #1"])
    }

    @Test func whoNobodyCanStartIsWaitedFor() throws {
        var bench = self.bench()
        let client = try self.register(&bench, 0)
        try self.submit(&bench, client, in: 5)
        _ = try self.pass(&bench, 0)
        bench.core.leave(client, at: bench.now, &bench.actions)
        bench.now = bench.now + .seconds(6)
        bench.core.tick(at: bench.now, &bench.actions)
        var launches: [Launch] = []
        for _ in 0..<2 {
            for action in bench.take() {
                if case .task(.keep(let record)) = action {
                    let input = TaskInput.kept(record.owner, revision: record.revision)
                    try bench.core.task(input, at: bench.now, &bench.actions)
                }
                if case .launch(let launch, _) = action { launches.append(launch) }
            }
        }
        let launch = try #require(launches.first)
        bench.core.failed(launch, .unknown, at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 1_000) == [])
        _ = try self.register(&bench, 0)
        #expect(try self.pass(&bench, 0) == ["run org.example.A0 #1"])
    }
}
