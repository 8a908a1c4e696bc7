import Arbitration
import BrokerCore
import Detection
import Motion
import Testing

/// Of what there is for all, no user can take so much that others find nothing.
@Suite struct ShareTests {
    private static let hog: UInt32 = 1_000
    private static let guest: UInt32 = 1_001

    private static func detector(_ name: String, _ condition: String, every: Int? = nil) -> DetectorRequest {
        var options: [String: OptionValue] = ["when": .text(condition)]
        if let every { options["every"] = .text("\(every)ms") }
        return DetectorRequest(name: name, options: options)
    }

    /// Takes until it is refused; what refused it, and how often it was not.
    private func exhaust(_ take: (Int) throws -> Void) throws -> (
        limit: String, value: UInt64, message: String, count: Int
    ) {
        for count in 0..<100_000 {
            do {
                try take(count)
            } catch let refusal as Refusal {
                guard case .noRoom(let name, let value, let message) = refusal else { throw refusal }
                return (name, value, message, count)
            }
        }
        Issue.record("nothing was refused")
        return ("", 0, "", 0)
    }

    @Test(
        arguments: [
            ("detectors", "x > 1g", nil), ("condition-bytes", "x > 1g", nil),
            ("stateful-per-sensor", "mean(x, #ms) > 1g", nil), ("operations-per-sensor", "x + #mg > 1g", nil),
            ("paces", "x > 1g", 10),
        ] as [(String, String, Int?)])
    func whatOneUserTakesLeavesOthersTheirs(_ name: String, _ condition: String, _ every: Int?) throws {
        var limits = BrokerLimits()
        limits.operationsPerSensor = 64
        limits.statefulPerSensor = 32
        limits.detectors = name == "detectors" ? 64 : 10_000
        if name == "condition-bytes" { limits.conditionBytes = 480 }
        var bench = Bench(limits: limits)
        let apps = try (0..<8).map { try bench.register($0, "org.example.Hog\($0)", user: Self.hog) }
        func add(_ client: AppHandle, _ index: Int) throws {
            let text = condition.split(separator: "#", omittingEmptySubsequences: false).joined(
                separator: "\(index + 1)")
            _ = try bench.add(client, Self.detector("d\(index)", text, every: every.map { $0 * (index + 1) }))
        }
        let hog = try self.exhaust { try add(apps[$0 % 8], $0) }
        #expect(hog.limit == "\(name)-per-user" && hog.value == limits.table["\(name)-per-user"])
        #expect(hog.message.contains("your user's share of \(name)"))
        #expect(hog.count > 0)
        let guest = try bench.register(8, "org.example.Guest", user: Self.guest)
        let others = try self.exhaust { try add(guest, 100 + $0) }
        #expect(others.count >= max(1, hog.count / 4) && others.count < hog.count)
        // Root has what is left, and its own reserve.
        let root = try bench.register(9, "org.example.Root", user: 0)
        let rest = try self.exhaust { try add(root, 200 + $0) }
        #expect(rest.limit == name && rest.count > hog.count)
        // Nothing of it is kept from others when it is given back.
        for app in apps + [root] { bench.leave(app) }
        try add(guest, 900)
    }

    /// Of one call a detector goes to a sensor that is not there, and another comes there with it.
    @Test func whoMovesToASensorThatIsNotThereIsCounted() throws {
        var bench = Bench()
        let app = try bench.register(1, "org.example.A", user: Self.hog)
        func operations() -> Int {
            bench.core.usage.filter { $0.name == "operations-per-sensor" }.map(\.held).reduce(0, +)
        }
        func turning(_ name: String, _ condition: String) -> DetectorRequest {
            DetectorRequest(name: name, options: ["when": .text(condition), "sensor": .text("gyroscope")])
        }
        _ = try bench.add(app, Self.detector("a", "x + y > 1g"))
        let one = operations()
        _ = try bench.add(app, turning("a", "x + y > 1rad/s"), turning("b", "y + z > 1rad/s"))
        #expect(one > 0 && operations() == 2 * one)
        try bench.remove(app, ["a"])
        #expect(operations() == one)
        try bench.remove(app, ["b"])
        #expect(operations() == 0)
    }

    @Test func appsHaveSharesToo() throws {
        var limits = BrokerLimits()
        limits.apps = 64
        var bench = Bench(limits: limits)
        var next: UInt32 = 0
        func register(_ user: UInt32) throws {
            _ = try bench.register(next, "org.example.App\(next)", user: user)
            next += 1
        }
        let hog = try self.exhaust { _ in try register(Self.hog) }
        #expect(hog.limit == "apps-per-user" && hog.count == 16)
        #expect(try self.exhaust { _ in try register(Self.guest) }.count == 8)
        let root = try self.exhaust { _ in try register(0) }
        #expect(root.limit == "apps" && root.count == 40)
        bench.leave(AppHandle(0))
        try register(0)
    }

    /// What a user's app files install is of the user's share, as what the user's programs register; what the system's install,
    /// is root's.
    @Test(arguments: [("detectors", hog, 2), ("detectors", 0, 14), ("apps", hog, 4), ("apps", 0, 14)])
    func whatIsInstalledIsOfWhoeverInstalledIt(_ name: String, _ payer: UInt32, _ most: Int) throws {
        var limits = BrokerLimits()
        limits.detectors = name == "detectors" ? 64 : 10_000
        limits.apps = name == "apps" ? 16 : 10_000
        var bench = Bench(limits: limits)
        // The others have something before.
        let guest = try bench.register(0, "org.example.Guest", user: Self.guest)
        _ = try bench.add(guest, Bench.planar("a", 1), Bench.planar("b", 2), Bench.planar("c", 3), Bench.planar("d", 4))
        let root = try bench.register(1, "org.example.Root", user: 0)
        _ = try bench.add(root, Bench.planar("a", 1), Bench.planar("b", 2), Bench.planar("c", 3), Bench.planar("d", 4))
        let requests = (0..<4).map { Bench.planar("d\($0)", Double($0 + 1)) }
        func install(_ index: Int) throws {
            try bench.install(
                UInt32(index + 2), "org.example.App\(index)", requests, user: payer == 0 ? nil : payer, payer: payer)
        }
        let refused = try self.exhaust(install)
        #expect(refused.count <= most && refused.count >= most - 1)
        #expect(refused.limit == (payer == 0 ? name : "\(name)-per-user"))
        // Nothing of what was refused is left, and what is given back can be had again.
        bench.uninstall(AppHandle(2))
        try install(0)
        #expect(throws: Refusal.self) { try install(refused.count) }
        guard payer != 0 else { return }
        // Whoever else is there still finds something.
        let other = try bench.register(90, "org.example.Other", user: 1_002)
        _ = try bench.add(other, Bench.planar("one", 1))
        // One that leaves has what was installed, of the same share.
        let app = try bench.register(2, "org.example.App0", user: payer)
        _ = try bench.add(app, Bench.planar("d0", 7))
        bench.leave(app)
        #expect(bench.core.registry[app]?.detectors["d0"]?.effective.threshold == 1)
        #expect(throws: Refusal.self) { try install(refused.count) }
    }

    /// However much the system's files install of what is root's part: what is there for users is theirs.
    @Test func whatTheSystemInstallsOfRootsPartTakesNothingFromUsers() throws {
        var limits = BrokerLimits()
        limits.detectors = 64
        var bench = Bench(limits: limits)
        for index in 0..<12 {
            let requests = (0..<4).map { Bench.planar("d\($0)", Double($0 + 1)) }
            try bench.install(
                UInt32(index), "org.example.App\(index)", requests, user: nil, payer: UserShares.root)
        }
        let app = try bench.register(90, "org.example.Guest", user: Self.guest)
        let share = try self.exhaust { _ = try bench.add(app, Bench.planar("d\($0)", 1)) }.count
        #expect(share == 8)
    }

    /// What an app registered for good is of its user's share, though the system has a file for the app: of that are only the app
    /// and what the file asks for.
    @Test func whatIsRegisteredForGoodIsOfWhoeverRegisteredIt() throws {
        var limits = BrokerLimits()
        limits.detectors = 128
        var bench = Bench(limits: limits)
        let filed = [Bench.planar("filed", 1)]
        let requests = (0..<4).map { Bench.planar("d\($0)", Double($0 + 1)) }
        func install(_ index: Int) throws {
            try bench.install(
                UInt32(index), "org.example.App\(index)", filed,
                registered: Installation.Part(requests, payer: Self.hog), user: Self.hog, payer: UserShares.root)
        }
        let refused = try self.exhaust(install)
        #expect(refused.limit == "detectors-per-user" && refused.count == 4)
        // All or none: nothing of the file of the last one either.
        #expect(bench.core.registry[AppHandle(4)] == nil)
        /// How many more detectors the user may have.
        func room() throws -> Int {
            let app = try bench.register(90, "org.example.Other", user: Self.hog)
            defer { bench.leave(app) }
            return try self.exhaust { _ = try bench.add(app, Bench.planar("d\($0)", 1)) }.count
        }
        // The user has all 16 of its share, and root's 4 are of the part that is root's.
        #expect(try room() == 0)
        // They are of its share while it is there, too, and when it left.
        let app = try bench.register(0, "org.example.App0", user: Self.hog)
        _ = try bench.add(app, requests[0], Bench.planar("d1", 9))
        #expect(try room() == 0)
        bench.leave(app)
        #expect(try room() == 0)
        #expect(bench.core.registry[app]?.detectors.count == 5)
        bench.uninstall(AppHandle(1))
        #expect(try room() == 4)
        try install(1)
        #expect(throws: Refusal.self) { try install(4) }
    }

    /// A file that moves from the system's directory to the user's, or back, says the same: only whose share it takes of is
    /// another's.
    @Test(
        arguments: [("apps", 0, hog), ("apps", hog, 0), ("detectors", 0, hog), ("detectors", hog, 0)]
            as [(String, UInt32, UInt32)])
    func whatMovesIsOfWhoeverHasItNow(_ name: String, _ from: UInt32, _ to: UInt32) throws {
        var limits = BrokerLimits()
        limits.detectors = name == "detectors" ? 128 : 10_000
        limits.apps = name == "apps" ? 16 : 10_000
        var bench = Bench(limits: limits)
        let requests = (0..<4).map { Bench.planar("d\($0)", Double($0 + 1)) }
        func install(_ index: Int, _ payer: UInt32) throws {
            try bench.install(
                UInt32(index), "org.example.App\(index)", requests, user: payer == 0 ? nil : payer, payer: payer)
        }
        /// How many more apps the user may install.
        func room() throws -> Int {
            let room = try self.exhaust { try install(10 + $0, Self.hog) }.count
            for index in 0..<room { bench.uninstall(AppHandle(UInt32(10 + index))) }
            return room
        }
        let detectors = { bench.core.registry[AppHandle(1)]?.detectors.mapValues(\.id) }
        // Two that are root's take nothing of what is the user's.
        let expected: [UInt32: Int] = [0: 4, Self.hog: 2]
        #expect(try room() == 4)
        for index in 0..<2 { try install(index, from) }
        #expect(try room() == expected[from])
        let before = detectors()
        for index in 0..<2 { try install(index, to) }
        #expect(try room() == expected[to])
        #expect(before?.count == 4 && detectors() == before)
        for index in 0..<2 { bench.uninstall(AppHandle(UInt32(index))) }
        #expect(try room() == 4)
    }

    /// Who has its share can still change what it has.
    @Test func replacingTakesNoPlace() throws {
        var limits = BrokerLimits()
        limits.detectors = 64
        limits.conditionBytes = 200
        var bench = Bench(limits: limits)
        let app = try bench.register(0, "org.example.Hog", user: Self.hog)
        let taken = try self.exhaust { _ = try bench.add(app, Self.detector("d\($0)", "x > 1g")) }
        #expect(taken.count == 8)
        // Another comes, and so the share of the first is smaller than what it has.
        let other = try bench.register(1, "org.example.Guest", user: Self.guest)
        _ = try self.exhaust { _ = try bench.add(other, Self.detector("d\($0)", "x > 1g")) }
        for index in 0..<8 { _ = try bench.add(app, Self.detector("d\(index)", "y > 2g")) }
        #expect(throws: Refusal.self) { try bench.add(app, Self.detector("d0", "norm(x, y, z) > 2g")) }
        try bench.remove(app, (0..<8).map { "d\($0)" })
        _ = try bench.add(app, Self.detector("d0", "norm(x, y, z) > 2g"))
    }

    /// What is kept for the apps of one user that left leaves room for those of others.
    @Test func keptEventsHaveShares() throws {
        var limits = BrokerLimits()
        limits.absentApps = 32
        var terms = DeliveryTerms()
        terms.reliability = .ack
        terms.lifespan = .seconds(60)
        let rule = Rule(name: "all", place: Place(file: "t", line: 1), effect: .allow, group: nil, terms: terms)
        var bench = Bench(policy: Policy(otherwise: .deny, groups: [], rules: [rule]), limits: limits)
        let users = [UInt32](repeating: Self.hog, count: 12) + [Self.guest, 0]
        for (index, user) in users.enumerated() {
            let client = try bench.register(UInt32(index), "org.example.A\(index)", user: user)
            _ = try bench.add(client, Bench.planar("d", 2))
        }
        bench.feed([2.5])
        _ = bench.take()
        for index in users.indices { bench.leave(AppHandle(UInt32(index))) }
        let ended = bench.take().compactMap { action -> String? in
            if case .ended(let app, _, _, .unkept) = action { app.name } else { nil }
        }
        #expect(ended == (8..<12).map { "org.example.A\($0)" })
        for (index, user) in users.enumerated() where !(8..<12).contains(index) {
            let client = try bench.register(UInt32(index), "org.example.A\(index)", user: user)
            #expect(try bench.subscribe(client) == 1)
        }
        // Their places are free again.
        for index in 0..<8 { bench.leave(AppHandle(UInt32(index))) }
        #expect(!bench.actions.contains { if case .ended(_, _, _, .unkept) = $0 { true } else { false } })
    }

    /// Of what one app leaves, the oldest is kept as far as there is room.
    @Test func theOldestAreKept() throws {
        var limits = BrokerLimits()
        limits.keptBytes = 4_000
        var terms = DeliveryTerms()
        terms.reliability = .ack
        terms.lifespan = .seconds(60)
        let rule = Rule(name: "all", place: Place(file: "t", line: 1), effect: .allow, group: nil, terms: terms)
        var bench = Bench(policy: Policy(otherwise: .deny, groups: [], rules: [rule]), limits: limits)
        let client = try bench.register(0, "org.example.A", user: Self.hog)
        _ = try bench.add(client, Bench.planar("d", 2, rest: "0ms"))
        bench.feed([2.5, 0, 2.5, 0, 2.5, 0, 2.5, 0, 2.5])
        _ = bench.take()
        bench.leave(client)
        let ended = bench.take().compactMap { action -> UInt64? in
            if case .ended(_, _, let event, .unkept) = action { event.sequence } else { nil }
        }
        #expect(ended == [3, 4, 5])
        let again = try bench.register(0, "org.example.A", user: Self.hog)
        #expect(try bench.subscribe(again) == 2)
    }
}
