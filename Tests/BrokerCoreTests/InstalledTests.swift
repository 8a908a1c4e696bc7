import Arbitration
import BrokerCore
import Detection
import Motion
import Testing

/// Apps that exist while they are not on the bus.
@Suite struct InstalledTests {
    private static let app = AppID("org.example.A")
    private static let one = Bench.planar("one", 2, rest: "0ms")
    private static let two = Bench.planar("two", 4, rest: "0ms")

    /// A policy with one rule, and an app of that name that is not on the bus.
    private func bench(
        _ kind: DeliveryKind = .store, _ detectors: [DetectorRequest] = [one], _ durability: Durability = .volatile,
        _ reliability: Reliability = .bestEffort
    ) throws -> Bench {
        var terms = DeliveryTerms()
        terms.kind = kind
        terms.durability = durability
        terms.reliability = reliability
        terms.lifespan = .seconds(60)
        let rule = Rule(name: "all", place: Place(file: "test.conf", line: 1), effect: .allow, terms: terms)
        var bench = Bench(policy: Policy(rules: [rule]))
        try self.install(&bench, detectors)
        return bench
    }

    private let client = AppHandle(0)

    private func install(_ bench: inout Bench, _ detectors: [DetectorRequest], of user: UInt32? = nil) throws {
        try bench.core.install(
            self.client, Self.app, AppEntrance(declared: .none), detectors, user: user, at: bench.now, &bench.actions)
    }

    private func leave(_ bench: inout Bench) { bench.core.leave(self.client, at: bench.now, &bench.actions) }

    /// Brings the app to the bus for a user, and says what it gets.
    private func come(_ bench: inout Bench, for user: UInt32) throws -> [UInt64] {
        _ = bench.take()
        try bench.core.register(self.client, Self.app, AppEntrance(), user: user, at: bench.now, &bench.actions)
        _ = try bench.core.subscribe(self.client, since: nil, at: bench.now, &bench.actions)
        let events = bench.events
        for (client, event) in events { bench.core.sent(client, event, &bench.actions) }
        return events.map(\.1.sequence)
    }

    private func detectors(_ bench: Bench) -> [String] {
        (bench.core.registry[self.client]?.detectors ?? [:]).keys.sorted()
    }

    private func verdicts(_ bench: Bench) -> [Reason] {
        bench.actions.compactMap { if case .keep(let record) = $0 { record.verdict.reason } else { nil } }
    }

    @Test func itIsDeadAndItsDetectorsAreAtWork() throws {
        var bench = try self.bench(.live)
        #expect(bench.core.arbiter.facts(of: self.client)?.state == .dead)
        #expect(bench.core.arbiter.life(of: self.client)?.cause == .left)
        #expect(
            bench.actions.contains { if case .claim(let sensor, _) = $0 { sensor == "accelerometer" } else { false } })
        bench.feed([2.5])
        #expect(bench.core.sensing.hits(of: self.client) == 1)
        #expect(self.verdicts(bench) == [.dead])
        #expect(bench.events.isEmpty)
    }

    @Test func whatIsDueToItWaitsUntilItComes() throws {
        var bench = try self.bench(.store)
        bench.feed([2.5, 0, 2.6])
        #expect(self.verdicts(bench) == [.stored, .stored])
        #expect(bench.events.isEmpty)
        let client = try bench.register(0, Self.app.name)
        #expect(bench.core.arbiter.facts(of: client)?.state == .foreground)
        #expect(try bench.core.subscribe(client, since: nil, at: bench.now, &bench.actions) == 2)
        #expect(bench.events.map(\.1.sequence) == [1, 2])
        // Its detectors are its own now, without having been registered.
        bench.feed([2.7])
        #expect(bench.events.map(\.1.sequence) == [1, 2, 3])
    }

    /// The detector that an app was started for is registered by it again: its event must not end with that.
    @Test(arguments: [one, Bench.planar("one", 2.2, rest: "0ms")])
    func whatItRegistersTakesOver(_ request: DetectorRequest) throws {
        var bench = try self.bench()
        bench.feed([2.5])
        let client = try bench.register(0, Self.app.name)
        _ = try bench.add(client, request)
        #expect(bench.events.map(\.1.sequence) == [1])
        #expect(self.detectors(bench) == ["one"])
        #expect(bench.core.registry[client]?.detectors["one"]?.effective.threshold == (request == Self.one ? 2 : 2.2))
    }

    /// What the sensor cannot serve any more stays, and what is the same is not compiled anew with each change of another.
    @Test func whatIsTheSameIsAsItWas() throws {
        func along(_ channel: String) -> DetectorRequest {
            DetectorRequest(name: channel, options: ["sensor": .text("thing"), "when": .text("\(channel) > 2")])
        }
        func appear(_ channels: [String], _ bench: inout Bench) {
            let thing = SensorDescription(
                name: "thing", channels: channels, unit: "", rates: [10], source: "test", isSimulated: false)
            bench.core.sensorAppeared(thing, at: bench.now, &bench.actions)
        }
        var bench = try self.bench(.store, [])
        appear(["x", "z"], &bench)
        try self.install(&bench, [along("x")])
        appear(["y"], &bench)
        #expect(throws: Refusal.self) { try self.install(&bench, [along("z"), along("y")]) }
        try self.install(&bench, [along("x"), along("y")])
        #expect(self.detectors(bench) == ["x", "y"])
    }

    /// A detector that is asked for in other words is the same detector: its rest goes on.
    @Test func theSameInOtherWordsGoesOn() throws {
        let slow = Bench.planar("one", 2, rest: "10s")
        var bench = try self.bench(.store, [slow])
        bench.feed([2.5, 0])
        let client = try bench.register(0, Self.app.name)
        _ = try bench.add(
            client,
            DetectorRequest(
                name: "one",
                options: ["preset": .text("shake.planar"), "threshold": .text("2000mg"), "rest": .text("10000ms")]))
        #expect(bench.events.count == 1)
        bench.feed([2.5, 0])
        #expect(bench.events.count == 1)
    }

    @Test func onlyWhatIsInstalledStaysWhenItLeaves() throws {
        var bench = try self.bench(.store, [Self.one, Self.two])
        let client = try bench.register(0, Self.app.name)
        _ = try bench.add(client, Bench.planar("one", 3), Bench.planar("three", 5))
        try bench.core.removeDetectors(client, ["two"], at: bench.now, &bench.actions)
        #expect(self.detectors(bench) == ["one", "three"])
        self.leave(&bench)
        #expect(self.detectors(bench) == ["one", "two"])
        #expect(bench.core.registry[client]?.detectors["one"]?.effective.threshold == 2)
        #expect(bench.core.arbiter.facts(of: client)?.state == .dead)
        #expect(bench.core.registry[client]?.isConnected == false)
    }

    /// Detectors that its file does not have end with its connection, and what they caused does not.
    @Test(
        arguments: [(.live, .ack), (.store, .ack), (.store, .bestEffort)] as [(DeliveryKind, Reliability)])
    func whatItsOwnDetectorsCausedWaitsForIt(_ kind: DeliveryKind, _ reliability: Reliability) throws {
        var bench = try self.bench(kind, [Self.two], .persistent, reliability)
        _ = try self.come(&bench, for: 7)
        _ = try bench.add(self.client, Self.one)
        // What nobody acknowledges is over when it is sent.
        if reliability == .bestEffort {
            try bench.core.tell(self.client, .suspended, at: bench.now, &bench.actions)
        }
        bench.feed([2.5])
        self.leave(&bench)
        #expect(self.detectors(bench) == ["two"])
        #expect(bench.actions.allSatisfy { if case .forget = $0 { false } else { true } })
        #expect(try self.come(&bench, for: 7) == [1])
    }

    /// As of an app without a file.
    @Test func whatItsOwnDetectorCausedLaunchesItAnew() throws {
        var bench = try self.bench(.wake, [Self.two], .volatile, .ack)
        _ = try self.come(&bench, for: 7)
        _ = try bench.add(self.client, Self.one)
        bench.feed([2.5])
        _ = bench.take()
        self.leave(&bench)
        let calls = bench.take().compactMap { if case .launch(_, let handover) = $0 { handover } else { nil } }
        #expect(calls.map { $0.events.map(\.sequence) } == [[1]])
    }

    /// What the app itself has removed before it left is gone.
    @Test func whatItRemovesEndsWhatThatCaused() throws {
        var bench = try self.bench(.live, [Self.two], .persistent, .ack)
        _ = try self.come(&bench, for: 7)
        _ = try bench.add(self.client, Self.one)
        bench.feed([2.5])
        try bench.remove(self.client, ["one"])
        self.leave(&bench)
        #expect(try self.come(&bench, for: 7) == [])
    }

    /// What the app registers counts while it is there, whatever its file says meanwhile.
    @Test func anotherFileCountsWhereTheAppSaysNothing() throws {
        var bench = try self.bench(.store, [Self.one])
        let client = try bench.register(0, Self.app.name)
        _ = try bench.add(client, Bench.planar("one", 3))
        try self.install(&bench, [Bench.planar("one", 6), Self.two])
        #expect(self.detectors(bench) == ["one", "two"])
        #expect(bench.core.registry[client]?.detectors["one"]?.effective.threshold == 3)
        self.leave(&bench)
        #expect(bench.core.registry[client]?.detectors["one"]?.effective.threshold == 6)
        try self.install(&bench, [Self.two])
        #expect(self.detectors(bench) == ["two"])
    }

    /// Whatever else changes meanwhile of what its file says, or of what it registers for good.
    @Test func whatItRemovesOfItsFileIsGoneUntilItLeaves() throws {
        var bench = try self.bench(.store, [Self.one, Self.two])
        let three = Bench.planar("three", 5)
        let client = try bench.register(0, Self.app.name)
        try bench.remove(client, ["one"])
        try self.install(&bench, [Self.one, Self.two, three])
        #expect(self.detectors(bench) == ["three", "two"])
        try bench.core.install(
            client, Self.app, AppEntrance(), [Self.one, Self.two], registered: Installation.Part([three], payer: 0),
            user: nil, at: bench.now, &bench.actions)
        #expect(self.detectors(bench) == ["three", "two"])
        // What takes the place of the file's detector leaves nothing in it either.
        _ = try bench.add(client, Bench.planar("two", 3))
        try bench.remove(client, ["two"])
        try self.install(&bench, [Self.one, Self.two])
        #expect(self.detectors(bench) == [])
        // It may ask for it again itself.
        _ = try bench.add(client, Self.one)
        #expect(self.detectors(bench) == ["one"])
        self.leave(&bench)
        #expect(self.detectors(bench) == ["one", "two"])
        // Who comes next has removed nothing.
        _ = try bench.register(0, Self.app.name)
        try self.install(&bench, [Self.one, Self.two, three])
        #expect(self.detectors(bench) == ["one", "three", "two"])
    }

    @Test func uninstallingLeavesWhatTheAppRegistered() throws {
        var bench = try self.bench(.store, [Self.one])
        let client = try bench.register(0, Self.app.name)
        _ = try bench.add(client, Self.two)
        bench.core.uninstall(client, at: bench.now, &bench.actions)
        #expect(self.detectors(bench) == ["two"])
        self.leave(&bench)
        #expect(bench.core.registry[client] == nil)

        try self.install(&bench, [Self.one])
        bench.core.uninstall(client, at: bench.now, &bench.actions)
        #expect(bench.core.registry[client] == nil)
        _ = bench.take()
        bench.feed([2.5])
        #expect(bench.actions.isEmpty)
    }

    /// Also from an app that is there goes what its file gave: its modes, and what it is at in them.
    @Test func withTheFileGoesWhatItGave() throws {
        var settings = AppSettings()
        settings.grants = WordSet([.audio])
        var bench = Bench(policy: Policy(otherwise: .allow, everyApp: settings))
        let entrance = AppEntrance(declared: WordSet([.audio]))
        try bench.core.install(
            self.client, Self.app, entrance, [Self.one], user: nil, at: bench.now, &bench.actions)
        try bench.core.register(self.client, Self.app, entrance, at: bench.now, &bench.actions)
        let activity = BrokerInput.life(.beginActivity(self.client, ActivityID(1), .audio))
        try bench.core.apply(activity, at: bench.now, &bench.actions)
        #expect(bench.core.arbiter.facts(of: self.client)?.grants == WordSet([.audio]))
        bench.uninstall(self.client)
        let app = try #require(bench.core.registry[self.client])
        #expect(app.isConnected && !app.isInstalled && app.detectors.isEmpty)
        #expect(bench.core.arbiter.facts(of: self.client)?.grants.isEmpty == true)
        #expect(bench.core.arbiter.facts(of: self.client)?.state == .foreground)
        let again = BrokerInput.life(.beginActivity(self.client, ActivityID(2), .audio))
        #expect(throws: Refusal.life(.undeclared(.audio))) {
            try bench.core.apply(again, at: bench.now, &bench.actions)
        }
    }

    /// Whoever has the name on the bus need not be the user for whom events were kept.
    @Test func anotherUserGetsNothingOfWhatWasKept() throws {
        var bench = try self.bench()
        // Nobody knew whose the app is before it came.
        bench.feed([2.5])
        #expect(try self.come(&bench, for: 7) == [1])
        self.leave(&bench)
        bench.feed([0, 2.5])
        #expect(try self.come(&bench, for: 8) == [])
        self.leave(&bench)
        #expect(try self.come(&bench, for: 7) == [2])
    }

    /// What is on the disk says whose it is, and what is nobody's becomes that of who comes.
    @Test func whatIsNobodysIsNobodysOnTheDisk() throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        bench.feed([2.5])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        #expect(kept.map(\.user) == [nil] && kept.map(\.wasNobodys) == [false])
        #expect(try self.come(&bench, for: 7) == [1])
        let forgotten = bench.actions.compactMap { if case .forget(let stored) = $0 { stored } else { nil } }
        #expect(forgotten.map(\.user) == [nil, 7])
        #expect(bench.actions.contains { if case .persist(let stored) = $0 { stored.user == 7 } else { false } })
    }

    /// How it ends is known of its verdict, which is of when it was nobody's.
    @Test(arguments: [false, true]) func theEndOfWhatWasNobodysIsKnown(_ isRestored: Bool) throws {
        var bench = try self.bench(.store, [Self.one], .persistent, .ack)
        bench.feed([2.5])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        let name = EventName(sequence: 1, epoch: try #require(kept.first?.event.epoch))
        if isRestored {
            bench = try self.bench(.store, [Self.one], .persistent, .ack)
            bench.restore(kept)
        }
        #expect(try self.come(&bench, for: 7) == [1])
        try bench.core.answer(self.client, name, .consume, at: bench.now, &bench.actions)
        // Written down under the one who may read of it.
        let readers: [UInt32] = bench.actions.compactMap {
            if case .ended(_, let user, _, .acknowledged) = $0 { user } else { nil }
        }
        #expect(readers == [0])
        guard !isRestored else { return }
        let query = VerdictQuery(.epoch(name.epoch), for: .user(0))
        #expect(bench.core.records.find(query).map(\.verdict.reason) == [.acknowledged])
    }

    /// What an action does to what is on the disk: whose each event is there.
    private func keep(_ action: BrokerAction, on disk: inout [StoredEvent]) {
        switch action {
        case .persist(let stored): disk.append(stored)
        case .forget(let stored):
            disk.removeAll { $0.user == stored.user && $0.event.epoch == stored.event.epoch }
        default: break
        }
    }

    /// The disk may be told of any part of what follows when the broker is killed: nothing is lost with that, and nothing comes
    /// twice.
    @Test func whatBecomesSomebodysIsAlwaysOnTheDiskAndComesOnce() throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        bench.feed([2.5, 0, 2.6, 0, 2.7])
        var disk: [StoredEvent] = []
        for action in bench.take() { self.keep(action, on: &disk) }
        #expect(disk.map(\.user) == [nil, nil, nil])
        let epochs = disk.map(\.event.epoch)
        try bench.core.register(self.client, Self.app, AppEntrance(), user: 7, at: bench.now, &bench.actions)
        var parts = [disk]
        for action in bench.take() {
            self.keep(action, on: &disk)
            if disk != parts.last { parts.append(disk) }
        }
        #expect(parts.count == 7 && disk.map(\.user) == [7, 7, 7])
        // However much waits for the disk by then, there is room for what was to be there before.
        #expect(disk.map(\.wasNobodys) == [true, true, true])
        for part in parts {
            #expect(Set(part.map(\.event.epoch)) == Set(epochs))
            var next = try self.bench(.store, [Self.one], .persistent)
            _ = next.take()
            // As the disk tells it: in the order of numbers.
            next.restore(part.sorted { $0.event.sequence < $1.event.sequence })
            var left = part
            for action in next.take() { self.keep(action, on: &left) }
            #expect(left.map(\.event.epoch).sorted() == epochs.sorted())
            _ = try self.come(&next, for: 7)
            #expect(next.events.map(\.1.epoch).sorted() == epochs.sorted())
        }
    }

    /// The same when the disk says what is nobody's after somebody came for it.
    @Test func whatIsKnownLateToBeNobodysIsAlwaysOnTheDisk() throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        bench.feed([2.5, 0, 2.6])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        var next = try self.bench(.store, [Self.one], .persistent)
        try next.core.register(self.client, Self.app, AppEntrance(), user: 7, at: next.now, &next.actions)
        _ = next.take()
        next.restore(kept)
        var disk = kept
        for action in next.take() {
            self.keep(action, on: &disk)
            #expect(Set(disk.map(\.event.epoch)) == Set(kept.map(\.event.epoch)))
        }
        #expect(disk.map(\.user) == [7, 7] && disk.map(\.wasNobodys) == [true, true])
    }

    /// What was kept goes with its time, also when its app is installed by then and does not come.
    @Test func whatWasKeptExpiresOnceItIsInstalled() throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        bench.feed([2.5])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        var next = Bench()
        next.restore(kept)
        try self.install(&next, [Self.one])
        #expect(next.core.mailboxes[self.client]?.waitingCount == 1)
        next.tick(after: 61)
        #expect(next.core.mailboxes[self.client]?.waitingCount == 0)
        #expect(next.core.mailboxes[self.client]?.expired == 1)
    }

    /// What a broker before kept: for a user, root among them, or for nobody yet.
    @Test(arguments: [(0, 8), (8, 0), (7, 8)] as [(UInt32, UInt32)])
    func afterARestartItIsTheSameUsers(_ user: UInt32, _ other: UInt32) throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        bench.feed([2.5])
        #expect(try self.come(&bench, for: user) == [1])
        self.leave(&bench)
        _ = bench.take()
        bench.feed([0, 2.5, 0, 2.5])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        #expect(kept.map(\.user) == [user, user])

        var next = try self.bench(.store, [Self.one], .persistent)
        next.core.restore(kept, at: next.now, &next.actions)
        next.feed([2.5])
        // Before it came to the other it was nobody's.
        #expect(try self.come(&next, for: other) == [1])
        self.leave(&next)
        #expect(try self.come(&next, for: user) == [2, 3])
    }

    /// What is nobody's comes behind what the user has from before, and all of it has one row of numbers.
    @Test func whatIsNobodysComesBehindOnesOwn() throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        _ = try self.come(&bench, for: 7)
        self.leave(&bench)
        bench.feed([2.5, 0, 2.6])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        var next = try self.bench(.store, [Self.one], .persistent)
        next.feed([2.7])
        let nobodys = next.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        next.core.restore(kept, at: next.now, &next.actions)
        #expect(try self.come(&next, for: 7) == [1, 2, 3])
        #expect(next.events.map(\.1.peak) == kept.map(\.event.peak) + nobodys.map(\.event.peak))
        // Nothing of it is left on the disk.
        var disk = Set(nobodys.map { "- \($0.event.epoch)" })
        for action in next.actions {
            func name(_ stored: StoredEvent) -> String {
                "\(stored.user.map { "\($0)" } ?? "-") \(stored.event.epoch)"
            }
            if case .persist(let stored) = action { disk.insert(name(stored)) }
            if case .forget(let stored) = action { disk.remove(name(stored)) }
        }
        #expect(disk.isEmpty, "\(disk)")
    }

    /// What a user has on the disk stays there as it is when he comes: put there once more it would stay when it is over.
    @Test func whatIsOnesOwnIsNotPutOnTheDiskAgain() throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        _ = try self.come(&bench, for: 7)
        self.leave(&bench)
        bench.feed([2.5])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        var next = try self.bench(.store, [Self.one], .persistent)
        next.core.restore(kept, at: next.now, &next.actions)
        next.feed([2.6])
        #expect(try self.come(&next, for: 7) == [1, 2])
        let again = next.actions.compactMap { if case .persist(let stored) = $0 { stored.event.sequence } else { nil } }
        #expect(again == [2])
        let over = next.actions.compactMap { if case .forget(let stored) = $0 { stored } else { nil } }
        #expect(over.filter { $0.user == 7 }.map(\.event.sequence) == [1, 2])
    }

    /// The disk may be slow: somebody has come when it says what is nobody's.
    @Test func whatIsNobodysMayBeKnownLate() throws {
        var bench = try self.bench(.store, [Self.one], .persistent)
        bench.feed([2.5])
        let kept = bench.actions.compactMap { if case .persist(let stored) = $0 { stored } else { nil } }
        var next = try self.bench(.store, [Self.one], .persistent)
        #expect(try self.come(&next, for: 7) == [])
        self.leave(&next)
        _ = next.take()
        next.core.restore(kept, at: next.now, &next.actions)
        #expect(next.actions.contains(.forget(kept[0])))
        #expect(next.core.mailboxes.durableEvents.map(\.user) == [7])
        #expect(try self.come(&next, for: 8) == [])
        self.leave(&next)
        #expect(try self.come(&next, for: 7) == [1])
    }

    /// Who registered it for good is known before anybody comes.
    @Test func whatIsKnownToBeSomebodysIsNotWhosoeverComes() throws {
        var bench = try self.bench(.store)
        try self.install(&bench, [Self.one], of: 7)
        bench.feed([2.5])
        // It was given free, and still what was kept is not.
        try self.install(&bench, [Self.one])
        #expect(try self.come(&bench, for: 8) == [])
        self.leave(&bench)
        #expect(try self.come(&bench, for: 7) == [1])
    }

    /// Nor what the other heard, and how often.
    @Test func anotherUserLearnsNothingOfWhatWas() throws {
        var bench = try self.bench()
        bench.feed([2.5])
        #expect(try self.come(&bench, for: 7) == [1])
        #expect(bench.tally(of: self.client)?.lastEvent != nil && bench.core.sensing.hits(of: self.client) == 1)
        self.leave(&bench)
        // The same user finds it as it was.
        #expect(try self.come(&bench, for: 7) == [])
        #expect(bench.tally(of: self.client)?.lastEvent != nil && bench.core.sensing.hits(of: self.client) == 1)
        self.leave(&bench)
        _ = try self.come(&bench, for: 8)
        let tally = try #require(bench.tally(of: self.client))
        #expect(tally.lastEvent == nil && tally.delivered == 0 && bench.core.sensing.hits(of: self.client) == 0)
    }

    /// One that cannot be as its file says is not there at all, and costs nothing.
    @Test func aDetectorTooManyIsRefusedWhole() throws {
        var limits = BrokerLimits()
        limits.detectors = 1
        var bench = Bench(limits: limits)
        let refusal = Refusal.noRoom(name: "detectors", value: 1, message: "too many detectors")
        #expect(throws: refusal) { try self.install(&bench, [Self.one, Self.two]) }
        #expect(bench.core.registry[self.client] == nil)
        try self.install(&bench, [Self.one])
        #expect(throws: refusal) { try self.install(&bench, [Self.one, Self.two]) }
        #expect(self.detectors(bench) == ["one"])
    }

    /// Held back by no one: an app that leaves in an exclusive group makes room for the next, and its file's detector stays.
    @Test func theOwnerOfAMotionThatLeavesIsReplaced() throws {
        var bench = Bench(policy: Bench.contest(.exclusive))
        try self.install(&bench, [Self.two])
        let winner = try bench.register(0, Self.app.name)
        _ = try bench.core.subscribe(winner, since: nil, at: bench.now, &bench.actions)
        let other = try bench.register(1, "org.example.B")
        _ = try bench.add(other, Self.one)
        bench.feed([4.5, 0, 0, 0, 0])
        #expect(bench.events.map(\.0) == [winner])
        bench.core.leave(winner, at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [winner, other])
        #expect(self.detectors(bench) == ["two"])
    }
}
