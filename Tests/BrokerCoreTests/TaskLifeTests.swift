import Arbitration
import BrokerCore
import Motion
import Testing

/// What tasks do to the lives of apps, and which apps are started for them.
@Suite struct TaskLifeTests {
    private static let declared = DeclaredTasks(["tidy"], modes: WordSet([.processing]))

    private func bench() -> Bench {
        var settings = AppSettings()
        settings.grants = WordSet([.processing])
        settings.taskWindow = .zero
        settings.processingTime = .seconds(10)
        return Bench(policy: Policy(otherwise: .allow, everyApp: settings), sensor: nil)
    }

    private func name(_ index: UInt32) -> String { "org.example.A\(index)" }

    /// An app that is there, and nobody looks at.
    private func register(_ bench: inout Bench, _ index: UInt32) throws -> ClientID {
        let client = try bench.register(index, self.name(index))
        bench.core.report(.app(nil), at: bench.now, &bench.actions)
        try bench.core.task(.came(client), at: bench.now, &bench.actions)
        return client
    }

    /// Hands in a task for so many seconds from now.
    private func submit(_ bench: inout Bench, _ client: ClientID, in seconds: Int64) throws {
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
                case .start(let launch): said.append("start \(launch.app)")
                case .task, .claim, .release, .deliver, .life, .session, .mark, .persist, .forget, .ended, .keep,
                    .launch,
                    .launchEnded, .launchGivenUp:
                    break
                }
            }
            if !bench.actions.isEmpty { continue }
            guard let tick = bench.core.nextTick, tick <= end else { break }
            bench.now = max(bench.now, tick)
            bench.core.tick(at: bench.now, &bench.actions)
        }
        bench.now = end
        return said
    }

    private func state(_ bench: Bench, _ client: ClientID) -> AppState? { bench.core.facts(client)?.state }

    @Test func aTaskBringsASuspendedAppBackAndKeepsItGoing() throws {
        var bench = self.bench()
        let client = try self.register(&bench, 0)
        #expect(self.state(bench, client) == .suspended)
        // A suspended app does nothing; it handed this in before.
        try self.submit(&bench, client, in: 5)
        #expect(try self.pass(&bench, 4) == [])
        #expect(try self.pass(&bench, 2) == ["run org.example.A0 #1"])
        #expect(self.state(bench, client) == .background)
        #expect(bench.core.life(client)?.cause == .task)
        try bench.core.task(.done(client, isSuccess: true), at: bench.now, &bench.actions)
        #expect(self.state(bench, client) == .suspended)
        #expect(bench.core.life(client)?.cause == .grace)
        #expect(try self.pass(&bench, 100) == ["org.example.A0 done"])
        #expect(bench.core.nextTick == nil)
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
        #expect(bench.core.life(client)?.cause == .overrun)
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
        #expect(try self.pass(&bench, 0) == ["run org.example.A1 #1", "start org.example.A2"])
        // What does not come up in time is tried again later, and says so.
        #expect(try self.pass(&bench, 10).contains("org.example.A0 failed"))
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
                if case .start(let launch) = action { launches.append(launch) }
            }
        }
        let launch = try #require(launches.first)
        try bench.core.task(.startFailed(launch, .unknown), at: bench.now, &bench.actions)
        #expect(try self.pass(&bench, 1_000) == [])
        _ = try self.register(&bench, 0)
        #expect(try self.pass(&bench, 0) == ["run org.example.A0 #1"])
    }
}
