import Arbitration
import Loop
import Motion
import Testing

@testable import BrokerCore

/// What is handed to apps that are launched, and what becomes of it.
@Suite struct WakeTests {
    private static let app = AppID("org.example.A")

    private static func policy(_ lifespan: TimeSpan = .seconds(60), quota: Quota? = nil) -> Policy {
        var terms = DeliveryTerms()
        terms.kind = .wake
        terms.lifespan = lifespan
        let rule = Rule(name: "wake", place: Place(file: "test.conf", line: 1), effect: .allow, terms: terms)
        var settings = AppSettings()
        settings.grants = WordSet([.push])
        settings.wakeQuota = quota
        return Policy(rules: [rule], everyApp: settings)
    }

    /// A broker that knows an app that is not there.
    private func bench(_ policy: Policy = Self.policy(), of user: UInt32? = 7) throws -> (Bench, AppHandle) {
        var bench = Bench(policy: policy)
        let client = AppHandle(0)
        try bench.core.install(
            client, Self.app, AppEntrance(), [Bench.planar("jolt", 2, rest: "0ms")], user: user, at: bench.now,
            &bench.actions)
        _ = bench.take()
        return (bench, client)
    }

    /// What was handed over since the last time.
    private func calls(_ bench: inout Bench) -> [(launch: Launch, user: UInt32?, events: [Event], missing: UInt64)] {
        bench.take().compactMap { action in
            guard case .launch(let launch, let handover) = action else { return nil }
            return (launch, handover.user, handover.events, handover.missing)
        }
    }

    /// An event that a broker before kept for a user.
    private func stored(_ app: AppID, for user: UInt32?, _ epoch: UInt64 = 0, strength: Int = 0, at now: Timestamp)
        -> StoredEvent
    {
        let content = EventContent(
            sequence: 1, epoch: epoch, generation: 1, time: now, detector: "jolt", peak: 3, isSimulated: false,
            isClipped: false)
        var terms = DeliveryTerms()
        terms.kind = .wake
        let event = Event(content, terms, ends: now + .seconds(60), strength: strength)
        return StoredEvent(app: app, user: user, event: event)
    }

    private func ends(_ bench: inout Bench) -> [EventEnd] {
        bench.take().compactMap { if case .ended(_, _, _, let end) = $0 { end } else { nil } }
    }

    @Test func theAnswerAcknowledgesWhatWasHandedOver() throws {
        var (bench, client) = try self.bench()
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        #expect(call.launch.isCold && call.launch.reason == .motion("shake"))
        #expect(call.events.map(\.sequence) == [1] && call.missing == 0)
        bench.core.answered(call.launch, .consume, at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [.acknowledged])
        #expect(bench.tally(of: client)?.delivered == 1)
        #expect(bench.tally(of: client)?.launches.begun == 1)
        #expect(bench.core.arbiter.nextArrivalDeadline == nil)
    }

    @Test func whatCameMeanwhileIsTheNextCall() throws {
        var (bench, _) = try self.bench()
        bench.feed([2.5, 0, 2.6, 2.7])
        let first = self.calls(&bench)
        #expect(first.map { $0.events.map(\.sequence) } == [[1]])
        bench.core.answered(first[0].launch, .consume, at: bench.now, &bench.actions)
        #expect(self.calls(&bench).map { $0.events.map(\.sequence) } == [[2, 3]])
    }

    @Test(arguments: [(LaunchFailure.notStarted, false), (.silent, true), (.left, true), (.refused, true)])
    func aFailedCallIsRepeated(_ failure: LaunchFailure, _ isRedelivered: Bool) throws {
        var (bench, client) = try self.bench()
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        bench.core.failed(call.launch, failure, at: bench.now, &bench.actions)
        #expect(self.calls(&bench).isEmpty)
        bench.now = bench.now + .seconds(1)
        bench.core.tick(at: bench.now, &bench.actions)
        let again = try #require(self.calls(&bench).first)
        #expect(again.events.map(\.isRedelivered) == [isRedelivered])
        #expect(bench.tally(of: client)?.launches.failed == 1)
        #expect(bench.tally(of: client)?.launches.last?.result == .failed(failure))
    }

    /// While nobody has been called, that the launch fails says nothing of who has seen what it was for.
    @Test(arguments: [false, true]) func whatNobodyWasCalledWithComesAsNew(_ isCalled: Bool) throws {
        var (bench, client) = try self.bench()
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        bench.core.setCalled(call.launch, false)
        if isCalled { bench.core.setCalled(call.launch, true) }
        bench.core.failed(call.launch, .silent, at: bench.now, &bench.actions)
        // A late word on it counts for nothing.
        bench.core.setCalled(call.launch, true)
        _ = bench.take()
        bench.now = bench.now + .seconds(1)
        bench.core.tick(at: bench.now, &bench.actions)
        let again = try #require(self.calls(&bench).first)
        #expect(again.events.map(\.isRedelivered) == [isCalled])
        #expect(bench.tally(of: client)?.launches.failed == 1)
    }

    /// Who is not up before its turn in an order is over is not called with what is the next one's by then.
    @Test func whatIsTheNextOnesIsNotHandedOver() throws {
        var group = GroupConfiguration(name: "g", place: Place(file: "test.conf", line: 1))
        group.mode = .ordered
        group.select = [.specificity]
        var terms = DeliveryTerms()
        terms.kind = .wake
        terms.lifespan = .seconds(60)
        let rule = Rule(
            name: "wake", place: Place(file: "test.conf", line: 2), effect: .allow, group: "g", terms: terms)
        var (bench, _) = try self.bench(Policy(groups: [group], rules: [rule]))
        let next = try bench.register(1, "org.example.B")
        _ = try bench.add(next, Bench.planar("gentle", 1.5, rest: "0ms"))
        bench.feed([2.5])
        let launches = bench.take().compactMap { action -> (launch: Launch, handover: Handover)? in
            guard case .launch(let launch, let handover) = action else { return nil }
            return (launch, handover)
        }
        let call = try #require(launches.first)
        bench.core.setCalled(call.launch, false)
        let before = bench.core.handOver(call.handover, of: call.launch)
        #expect(before == call.handover && before?.events.count == 1)
        bench.now = bench.now + .milliseconds(400)
        bench.core.tick(at: bench.now, &bench.actions)
        #expect(bench.events.map(\.0) == [next])
        let after = bench.core.handOver(call.handover, of: call.launch)
        #expect(after == nil)
        try bench.core.apply(.needless(call.launch), at: bench.now, &bench.actions)
        #expect(bench.core.arbiter.launches.inFlight == 0 && bench.core.arbiter.launches.waiting == 0)
    }

    /// What was nobody's when its app was started for it is that of who came meanwhile, also when he has left: nobody else has it.
    @Test func whatWasNobodysIsHandedToWhoseItIsByNow() throws {
        var (bench, client) = try self.bench(of: nil)
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        let handover = Handover(to: call.user, call.events)
        bench.core.setCalled(call.launch, false)
        let before = bench.core.handOver(handover, of: call.launch)
        #expect(before == handover && before?.user == nil)
        try bench.core.register(client, Self.app, AppEntrance(), user: 8, at: bench.now, &bench.actions)
        let during = bench.core.handOver(handover, of: call.launch)
        bench.leave(client)
        let after = bench.core.handOver(handover, of: call.launch)
        #expect([during, after].map { $0?.user } == [8, 8] && after?.events == handover.events)
    }

    /// An order goes on from an app that became another user's while it was launched: what it was offered does not wait besides for the
    /// one whose it was.
    @Test func whatGoesOnToTheNextWaitsForNobodyBesides() throws {
        var group = GroupConfiguration(name: "shake", place: Place(file: "test.conf", line: 1))
        group.mode = .ordered
        group.select = [.specificity]
        var terms = DeliveryTerms()
        terms.kind = .wake
        terms.reliability = .ack
        terms.lifespan = .seconds(60)
        let rule = Rule(
            name: "wake", place: Place(file: "test.conf", line: 5), effect: .allow, group: "shake", terms: terms)
        var bench = Bench(policy: Policy(groups: [group], rules: [rule]))
        try bench.install(0, Self.app.name, [Bench.planar("jolt", 3, rest: "0ms")], user: 7, payer: 0)
        let next = try bench.register(1, "org.example.B", user: 8)
        _ = try bench.add(next, Bench.planar("b", 2, rest: "0ms"))
        _ = bench.take()
        bench.feed([3.5])
        let call = try #require(self.calls(&bench).first)
        #expect(call.user == 7 && call.events.count == 1)
        let client = try bench.register(0, Self.app.name, user: 8)
        #expect(bench.core.mailboxes.absentBoxes.map { $0.user } == [7])
        _ = bench.take()
        bench.leave(client)
        #expect(bench.events.map(\.0) == [next] && bench.events.map(\.1.epoch) == call.events.map(\.epoch))
        #expect(bench.core.mailboxes.absentBoxes.isEmpty)
    }

    /// Without a bus nobody can be asked to start it: what it was to be handed waits as if it had not been, and nothing is counted.
    @Test func aPostponedCallCountsForNothing() throws {
        var (bench, client) = try self.bench()
        bench.feed([2.5])
        for _ in 0..<30 {
            let call = try #require(self.calls(&bench).first)
            #expect(call.events.map(\.isRedelivered) == [false])
            try bench.core.apply(.postponed(call.launch), at: bench.now, &bench.actions)
            #expect(!bench.actions.contains { if case .failed = $0 { true } else { false } })
            bench.now = bench.now + .seconds(1)
            bench.core.tick(at: bench.now, &bench.actions)
        }
        let launches = try #require(bench.tally(of: client)?.launches)
        #expect(launches.begun == 1 && launches.failed == 0 && launches.last == nil)
        // It was not to blame for that, whatever becomes of the event.
        let call = try #require(self.calls(&bench).first)
        try bench.core.apply(.postponed(call.launch), at: bench.now, &bench.actions)
        bench.now = bench.now + .seconds(40)
        bench.core.tick(at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [.expired])
    }

    /// None of thousands of others is looked at for an app that is launched, nor when word of that comes.
    @Test func aLaunchCostsTheSameHoweverManyAppsThereAre() throws {
        func spent(_ count: Int) throws -> Int64 {
            var bench = Bench(policy: Self.policy())
            for index in 0..<UInt32(count) {
                try bench.install(
                    index, "org.example.A\(index)", [Bench.planar("jolt", 2, rest: "0ms")], user: 7, payer: 0)
            }
            bench.feed([2.5])
            let begin = Clock.threadTime()
            var launched = 0
            while case let calls = self.calls(&bench), !calls.isEmpty {
                launched += calls.count
                for call in calls { bench.fail(call.launch, .unknown) }
            }
            #expect(launched == count)
            return Clock.threadTime() - begin
        }
        let (few, many) = (min(try spent(128), try spent(128)), try spent(4_096))
        #expect(many < 128 * few, "\(many) us and \(few) us")
    }

    @Test func whatNobodyCouldBeLaunchedForEndsWithThatReason() throws {
        var (bench, client) = try self.bench(Self.policy(.seconds(3)))
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        bench.core.failed(call.launch, .refused, at: bench.now, &bench.actions)
        bench.now = bench.now + .seconds(3)
        bench.core.tick(at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [.launchFailed])
        #expect(bench.tally(of: client)?.denials.map(\.reason) == [.launchFailed])
    }

    /// What waits for a launch its app has not, whatever became of the launch, before it answered or came by itself.
    @Test(arguments: [EventEnd.acknowledged, .sent, .launchFailed])
    func whatWaitsForALaunchIsNotDelivered(_ end: EventEnd) throws {
        var (bench, client) = try self.bench(Self.policy(.seconds(3)))
        func record(_ bench: Bench) -> VerdictRecord? {
            bench.core.records.find(VerdictQuery(.last, for: .user(0))).last
        }
        bench.feed([2.5])
        let start = bench.now
        #expect(record(bench)?.verdict.reason == .woken)
        #expect(record(bench)?.verdict.isReceived == false)
        #expect(record(bench)?.aftermath == Aftermath())
        let call = try #require(self.calls(&bench).first)
        bench.core.failed(call.launch, .left, at: bench.now, &bench.actions)
        #expect(record(bench)?.verdict.reason == .woken)
        #expect(record(bench)?.aftermath == Aftermath(failures: 1, failure: .left))
        #expect(bench.tally(of: client)?.lastEvent == nil)
        let whyNot = bench.whyNot(client)
        #expect(whyNot?.restsUntil == start + .seconds(1))
        #expect(
            whyNot?.lines.contains(
                "  1 of its 1 launch failed; the last, 0 ms ago: left; it is not launched for another 1.0 s") == true,
            "\(whyNot?.lines ?? [])")
        _ = bench.take()
        bench.now = start + .seconds(1)
        bench.core.tick(at: bench.now, &bench.actions)
        let again = try #require(self.calls(&bench).first)
        switch end {
        case .acknowledged: bench.core.answered(again.launch, .consume, at: bench.now, &bench.actions)
        case .sent:
            bench.core.failed(again.launch, .notStarted, at: bench.now, &bench.actions)
            try bench.core.register(client, Self.app, AppEntrance(), user: 7, at: bench.now, &bench.actions)
            _ = try bench.core.subscribe(client, since: nil, at: bench.now, &bench.actions)
            let event = try #require(bench.events.first?.1)
            bench.core.sent(client, event, &bench.actions)
        default:
            bench.core.failed(again.launch, .silent, at: bench.now, &bench.actions)
            bench.now = start + .seconds(3)
            bench.core.tick(at: bench.now, &bench.actions)
        }
        #expect(self.ends(&bench) == [end])
        #expect(record(bench)?.verdict.reason == end.reason)
        #expect(record(bench)?.verdict.isReceived == (end != .launchFailed))
        #expect(record(bench)?.aftermath.failures == (end == .acknowledged ? 1 : 2))
        #expect(record(bench)?.aftermath.after == bench.now - (record(bench)?.verdict.time ?? .zero))
        #expect((bench.tally(of: client)?.lastEvent == nil) == (end == .launchFailed))
    }

    /// It comes before it is said that it goes on. What it was sent meanwhile would come behind what it is called with.
    @Test func whoIsFrozenWhenItComesIsCalled() throws {
        var (bench, client) = try self.bench()
        _ = try bench.core.apply(.life(.frozen([Self.app: .frozen(by: "freezer")])), at: bench.now, &bench.actions)
        try bench.core.register(client, Self.app, AppEntrance(), user: 7, at: bench.now, &bench.actions)
        _ = try bench.core.subscribe(client, since: nil, at: bench.now, &bench.actions)
        bench.feed([2.5])
        let actions = bench.actions
        let call = try #require(self.calls(&bench).first)
        #expect(!call.launch.isCold && call.events.map(\.sequence) == [1])
        #expect(!actions.contains { if case .deliver = $0 { true } else { false } })
        bench.core.answered(call.launch, .consume, at: bench.now, &bench.actions)
        _ = try bench.core.apply(.life(.frozen([:])), at: bench.now, &bench.actions)
        _ = bench.take()
        bench.feed([2.5])
        #expect(bench.events.map(\.1.sequence) == [2])
    }

    @Test func whoNobodyCanStartIsGivenUpAtOnce() throws {
        var (bench, _) = try self.bench()
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        bench.core.failed(call.launch, .unknown, at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [.launchFailed])
    }

    /// What is in the app's hands does not grow too old there.
    @Test func anEventInACallDoesNotExpire() throws {
        var (bench, _) = try self.bench(Self.policy(.seconds(3)))
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        bench.now = bench.now + .seconds(5)
        bench.core.tick(at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [])
        bench.core.answered(call.launch, .consume, at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [.acknowledged])
    }

    /// The app registers while it is called: it is not sent what it was handed.
    @Test func whoRegistersMeanwhileIsNotSentItTwice() throws {
        var (bench, client) = try self.bench()
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        try bench.core.register(client, Self.app, AppEntrance(), user: 7, at: bench.now, &bench.actions)
        #expect(try bench.core.subscribe(client, since: nil, at: bench.now, &bench.actions) == 0)
        #expect(bench.events.isEmpty)
        bench.feed([0, 2.6])
        #expect(bench.events.map(\.1.sequence) == [2])
        bench.core.answered(call.launch, .consume, at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [.acknowledged])
    }

    @Test func whoDiesWithAnEventUnansweredIsLaunchedForIt() throws {
        var terms = DeliveryTerms()
        terms.kind = .wake
        terms.reliability = .ack
        terms.lifespan = .seconds(60)
        let rule = Rule(name: "wake", place: Place(file: "test.conf", line: 1), effect: .allow, terms: terms)
        var bench = Bench(policy: Policy(rules: [rule]))
        let client = try bench.register(0, "org.example.A")
        _ = try bench.add(client, Bench.planar("one", 2, rest: "0ms"))
        bench.feed([2.5])
        #expect(bench.events.count == 1)
        _ = bench.take()
        bench.core.leave(client, at: bench.now, &bench.actions)
        let calls = self.calls(&bench)
        #expect(calls.map { $0.events.map(\.isRedelivered) } == [[true]])
    }

    @Test func aLateAnswerChangesNothing() throws {
        var (bench, _) = try self.bench()
        bench.feed([2.5])
        let call = try #require(self.calls(&bench).first)
        bench.now = bench.now + .seconds(10)
        bench.core.tick(at: bench.now, &bench.actions)
        _ = bench.take()
        bench.core.answered(call.launch, .consume, at: bench.now, &bench.actions)
        #expect(self.ends(&bench) == [])
    }

    /// A push costs as much as an event, unless the app is there or one waits already.
    @Test func aPushCostsOneOfTheWakeQuota() throws {
        let quota = Quota(count: 2, period: .seconds(3_600), burst: 2)
        var (bench, client) = try self.bench(Self.policy(quota: quota))
        for _ in 0..<3 { try bench.core.push(Self.app, at: bench.now, &bench.actions) }
        let first = try #require(self.calls(&bench).first)
        bench.core.answered(first.launch, .consume, at: bench.now, &bench.actions)
        let second = try #require(self.calls(&bench).first)
        bench.core.answered(second.launch, .consume, at: bench.now, &bench.actions)
        #expect(throws: Refusal.wakeQuota(Self.app, wait: .seconds(1_800))) {
            try bench.core.push(Self.app, at: bench.now, &bench.actions)
        }
        bench.feed([2.5])
        #expect(bench.tally(of: client)?.denials.map(\.reason) == [.wakeQuota])
        try bench.core.register(client, Self.app, AppEntrance(), user: 7, at: bench.now, &bench.actions)
        try bench.core.push(Self.app, at: bench.now, &bench.actions)
        #expect(self.calls(&bench).map(\.launch.isCold) == [false])
    }

    /// What waited for its turn when the broker ended is launched in the same order after it.
    @Test func theStrongestGoFirstAlsoAfterARestart() throws {
        var bench = Bench(policy: Self.policy())
        var stored: [StoredEvent] = []
        for (index, strength) in [1, 5, 3].enumerated() {
            stored.append(
                self.stored(
                    AppID("org.example.App\(strength)"), for: 7, UInt64(index), strength: strength, at: bench.now))
        }
        bench.core.restore(stored, at: bench.now, &bench.actions)
        #expect(self.calls(&bench).map(\.launch.app.name) == ["org.example.App5", "org.example.App3"])
    }

    /// What is due is handed to its user, and what is nobody's to whoever comes.
    @Test func aLaunchSaysWhoseItIs() throws {
        var (bench, client) = try self.bench(of: nil)
        bench.feed([2.5])
        try bench.core.push(Self.app, at: bench.now, &bench.actions)
        let first = try #require(self.calls(&bench).first)
        #expect(first.events.count == 1 && first.user == nil)
        bench.core.answered(first.launch, .consume, at: bench.now, &bench.actions)
        let push = try #require(self.calls(&bench).first)
        #expect(push.launch.reason == .push && push.user == nil)
        bench.core.answered(push.launch, .consume, at: bench.now, &bench.actions)
        // It came, and left: it is somebody's now.
        try bench.core.register(client, Self.app, AppEntrance(), user: 7, at: bench.now, &bench.actions)
        bench.core.leave(client, at: bench.now, &bench.actions)
        bench.feed([0, 2.5])
        let second = try #require(self.calls(&bench).first)
        #expect(second.events.count == 1 && second.user == 7)
        bench.core.answered(second.launch, .consume, at: bench.now, &bench.actions)
        try bench.core.push(Self.app, at: bench.now, &bench.actions)
        #expect(self.calls(&bench).map(\.user) == [7])
    }

    /// The app of this name is another's now: nobody is launched for what the first one left.
    @Test func whatAnotherUserLeftLaunchesNobody() throws {
        var (bench, client) = try self.bench(of: nil)
        try bench.core.register(client, Self.app, AppEntrance(), user: 8, at: bench.now, &bench.actions)
        bench.core.leave(client, at: bench.now, &bench.actions)
        bench.core.restore([self.stored(Self.app, for: 7, at: bench.now)], at: bench.now, &bench.actions)
        #expect(self.calls(&bench).isEmpty)
        // Without a file there is no app any more that is his.
        bench.core.uninstall(client, at: bench.now, &bench.actions)
        #expect(self.calls(&bench).map(\.user) == [7])
    }

    /// The answer of one user's app is not taken for that of another's that came meanwhile.
    @Test func anAnswerIsOfWhoeverWasCalled() throws {
        var bench = Bench(policy: Self.policy())
        bench.core.restore([self.stored(Self.app, for: 7, at: bench.now)], at: bench.now, &bench.actions)
        let call = try #require(self.calls(&bench).first)
        let client = try bench.register(0, Self.app.name, user: 8)
        _ = try bench.add(client, Bench.planar("jolt", 2, rest: "0ms"))
        try bench.core.tell(client, .suspended, at: bench.now, &bench.actions)
        bench.feed([2.5])
        #expect(bench.core.mailboxes[client]?.waitingCount == 1)
        _ = bench.take()
        bench.core.answered(call.launch, .consume, at: bench.now, &bench.actions)
        let ended = bench.actions.compactMap {
            if case .ended(_, let user, _, let end) = $0 { (user, end) } else { nil }
        }
        #expect(ended.map(\.0) == [7] && ended.map(\.1) == [.acknowledged])
        #expect(self.calls(&bench).map(\.user) == [8])
    }

    /// Of those who have an app of one name each is launched in his turn, whatever becomes of the others'.
    @Test func usersOfOneNameTakeTurns() throws {
        var bench = Bench(policy: Self.policy())
        let now = bench.now
        bench.restore([7, 8].map { self.stored(Self.app, for: $0, UInt64($0), at: now) })
        func call(after seconds: Int64 = 0) -> (launch: Launch, user: UInt32?)? {
            bench.tick(after: seconds)
            let calls = self.calls(&bench)
            #expect(calls.count <= 1 && calls.allSatisfy { $0.events.count == 1 })
            return calls.first.map { ($0.launch, $0.user) }
        }
        for round in 0..<3 as Range<Int64> {
            for user in [7, 8] as [UInt32] {
                let next = try #require(call(after: user == 7 ? (1 << round) >> 1 : 0))
                #expect(next.user == user && next.launch.user == user)
                bench.fail(next.launch, .notStarted)
            }
            #expect(call() == nil)
        }
        let last = try #require(call(after: 4))
        bench.answer(last.launch)
        let ended = bench.actions.compactMap {
            if case .ended(_, let user, _, .acknowledged) = $0 { user } else { nil }
        }
        #expect(self.calls(&bench).map(\.user) == [8])
        #expect(ended == [7])
    }

    @Test func aPushIsALaunchWithoutEvents() throws {
        var (bench, _) = try self.bench()
        try bench.core.push(Self.app, at: bench.now, &bench.actions)
        let call = try #require(self.calls(&bench).first)
        #expect(call.launch.reason == .push && call.events.isEmpty)
        bench.core.answered(call.launch, .consume, at: bench.now, &bench.actions)
        #expect(bench.take() == [.launchEnded(call.launch, .done)])
        #expect(throws: Refusal.unknownApp(AppID("org.example.B"))) {
            try bench.core.push(AppID("org.example.B"), at: bench.now, &bench.actions)
        }
    }
}
