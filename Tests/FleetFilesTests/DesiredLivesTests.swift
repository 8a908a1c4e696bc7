import FleetCore
import FleetFiles
import Glibc
import Loop
import Randomness
import Testing

@Suite struct DesiredLivesTests {
    /// Killed at any step, it never is in force in part, always the old or the new, and comes to rest.
    @Test(arguments: someSeeds(1...120 as ClosedRange<UInt64>)) func whateverHappensItIsOldOrNew(seed: UInt64) throws {
        let life = try DesiredLife(seed: seed)
        defer { life.remove() }
        for _ in 0..<120 { life.step() }
        life.end()
        #expect(life.problems == [], "seed \(seed)")
        let memory = try life.memory()
        let newest = life.offered.keys.max() ?? 0
        #expect(memory.inForce.version == newest && memory.confirmed == memory.inForce, "seed \(seed)")
        #expect(memory.last?.outcome == .applied && life.filesVersion() == newest, "seed \(seed)")
        #expect(life.reports.last?.outcome == .applied && life.reports.last?.version == newest, "seed \(seed)")
    }

    /// What is wrong, refused or deadly never stays.
    @Test(arguments: DesiredLife.Kind.allCases) func whatIsBadGoesBack(kind: DesiredLife.Kind) throws {
        let life = try DesiredLife(seed: 7)
        defer { life.remove() }
        life.end()
        let good = try life.memory().inForce.version
        life.offer(kind)
        for _ in 0..<40 { life.rest() }
        let versions = try life.versions()
        let memory = try life.memory()
        #expect(versions == [memory.confirmed.version])
        #expect(life.problems == [])
        if kind == .good {
            #expect(memory.inForce.version > good)
        } else {
            #expect(memory.inForce.version == good && life.filesVersion() == good)
            let last = life.reports.last
            #expect(last?.outcome == (kind == .wrong || kind == .refused ? .refused : .rolledBack))
            #expect(last?.inForce == good)
            if kind == .wrong { #expect(last?.problem?.file == "0.conf" && last?.problem?.line == 3) }
        }
    }
}

@Suite struct DesiredStoreTests {
    @Test func onlyWhatCountsStays() throws {
        let life = try DesiredLife(seed: 1)
        defer { life.remove() }
        let store = try DesiredStore("\(life.directory)/state")
        for version in 1...3 as ClosedRange<UInt64> {
            try store.stage(DesiredState(version: version, policy: [DesiredFile("50.conf", "# \(version)\n")]))
        }
        try store.switchTo(2)
        try store.clear()
        let inTrial = try life.versions()
        #expect(inTrial == [0, 2])
        try store.stage(DesiredState(version: 4))
        // Of what is gone back to from here on nothing depends on whether the others can be removed.
        try store.keep(2)
        let kept = try life.versions()
        #expect(kept.sorted() == [0, 2, 4])
        try store.clear()
        let left = try life.versions()
        #expect(left == [2])
        try store.stage(DesiredState(version: 5))
        try store.clear()
        let cleared = try life.versions()
        #expect(cleared == [2])
    }

    /// As on a disk that became one that is only read, with something on it that an earlier life tried.
    @Test func whatCannotBeRemovedKeepsNobodyFromBeginning() throws {
        let life = try DesiredLife(seed: 1)
        defer { life.remove() }
        let path = "\(life.directory)/state"
        let store = try DesiredStore(path)
        try store.stage(DesiredState(version: 1))
        try store.switchTo(1)
        try store.keep(1)
        try store.stage(DesiredState(version: 2))
        let next = try DesiredStore(path) { () throws(SystemError) in
            throw SystemError(code: EROFS, function: "rename")
        }
        let memory = try next.memory()
        #expect(memory.inForce.version == 1 && memory.confirmed.version == 1)
        #expect(throws: SystemError.self) { try next.clear() }
    }

    @Test func ofADamagedStateItsFilesAndVersionStand() throws {
        let life = try DesiredLife(seed: 1)
        defer { life.remove() }
        let path = "\(life.directory)/state"
        let policy = [DesiredFile("50.conf", "[App a.b.C]\nGrants=audio\n")]
        let store = try DesiredStore(path)
        try store.stage(DesiredState(version: 20, policy: policy, isPaused: true))
        try store.switchTo(20)
        try store.keep(20)
        try #require(truncate("\(path)/20/desired", 0) == 0)
        var damaged: [String] = []
        let memory = try DesiredStore(path).memory { damaged.append($0) }
        #expect(damaged == ["\(path)/20/desired"])
        let left = DesiredState(version: 20, policy: policy)
        #expect(memory.inForce == left && memory.confirmed == left)
    }
}

@Suite struct DesiredCheckTests {
    @Test func whatABrokerSaysIsTakenApart() {
        let problem = DesiredProblem(
            refusal: "/a/b/50.conf:3:9: error E001: unknown key 'x': what; remove it (and 2 more)")
        #expect(problem.file == "50.conf" && problem.line == 3 && problem.column == 9)
        #expect(problem.message == "E001: unknown key 'x': what; remove it (and 2 more)")
        #expect(DesiredProblem(refusal: "the policy cannot be read") == DesiredProblem("the policy cannot be read"))
    }

    @Test func whatTheDeviceSaysItselfIsNotForOthers() throws {
        let life = try DesiredLife(seed: 1)
        defer { life.remove() }
        let store = try DesiredStore("\(life.directory)/state")
        try store.stage(
            DesiredState(
                version: 1, policy: [DesiredFile("50.conf", "[App a.b.C]\nGrants=audio\n")],
                apps: [DesiredFile("a.b.C.conf", "[App]\nUsage=Is there\n")]))
        func problem(_ own: DesiredCheck.Own) -> DesiredProblem? {
            DesiredCheck.problem(
                own: own, staged: store.stagedPolicyDirectory(1), apps: store.stagedAppDirectory(1))
        }
        #expect(problem(Self.nothing) == nil)
        let own = "\(life.directory)/own"
        try #require(mkdir(own, 0o755) == 0)
        try Self.write("[App a.b.C]\nQuota=1/1min\n", to: "\(own)/10.conf")
        let found = problem(DesiredCheck.Own(policy: ["\(own)/10.conf"], users: nil, apps: []))
        #expect(found?.file == "50.conf" && found?.line == 1 && found?.message.hasPrefix("E005") ?? false)
        // A user's word is no reason.
        #expect(problem(DesiredCheck.Own(policy: ["\(own)/10.conf"], users: own, apps: [])) == nil)
        try Self.write("[App]\nUsage=Was there\n", to: "\(own)/a.b.C.conf")
        #expect(problem(DesiredCheck.Own(policy: [], users: nil, apps: [own]))?.file == "a.b.C.conf")
    }

    private static let nothing = DesiredCheck.Own(policy: [], users: nil, apps: [])

    private static func write(_ text: String, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        try #require(fclose(file) == 0)
    }

    @Test func anAppFileWithAnErrorIsToldWithItsPlace() throws {
        let life = try DesiredLife(seed: 1)
        defer { life.remove() }
        let store = try DesiredStore("\(life.directory)/state")
        try store.stage(DesiredState(version: 1, apps: [DesiredFile("a.b.C.conf", "[App]\nUsage=x\nModse=y\n")]))
        let problem = DesiredCheck.problem(
            own: Self.nothing, staged: store.stagedPolicyDirectory(1), apps: store.stagedAppDirectory(1))
        #expect(problem?.file == "a.b.C.conf" && problem?.line == 3)
    }
}
