import FocusCore
import Motion
import Testing

/// Whose media players play.
@Suite struct PlayersTests {
    private static let (one, two) = ("org.mpris.MediaPlayer2.one", "org.mpris.MediaPlayer2.two")
    private static let (a, b) = (AppID("org.example.A"), AppID("org.example.B"))

    /// Names apps by what players say, as windows are named.
    private static func named(_ players: Players) -> Set<AppID> {
        players.playing { claims in
            claims.appID.map { .app(AppID($0), by: .exact) } ?? .unknown(hint: "")
        }
    }

    @Test func aPlayerCountsFromWhenItIsKnownUntilItStops() {
        var players = Players()
        #expect(players.put(Self.one, owner: ":1.1") == [.come(":1.1")])
        #expect(players.put(Self.one, owner: ":1.1") == [])
        players.hear(":1.1", status: "Playing")
        #expect(Self.named(players) == [])
        players.identify(":1.1", process: 7)
        players.describe(":1.1", entry: "org.example.A")
        #expect(Self.named(players) == [Self.a])
        for status in ["Paused", "Stopped", "playing", ""] {
            players.hear(":1.1", status: "Playing")
            #expect(Self.named(players) == [Self.a])
            players.hear(":1.1", status: status)
            #expect(Self.named(players) == [], "\(status)")
        }
        // Who is no player says what he likes.
        players.hear(":1.2", status: "Playing")
        players.identify(":1.2", process: 8)
        players.describe(":1.2", entry: "org.example.B")
        #expect(Self.named(players) == [] && !players.contains(":1.2"))
    }

    @Test func aPlayerThatDiesOrGivesItsNameAwayPlaysNoMore() {
        var players = Players()
        _ = players.put(Self.one, owner: ":1.1")
        _ = players.put(Self.two, owner: ":1.1")
        players.identify(":1.1", process: 7)
        players.describe(":1.1", entry: "org.example.A")
        players.hear(":1.1", status: "Playing")
        // It has another name yet.
        #expect(players.put(Self.one, owner: nil) == [])
        #expect(Self.named(players) == [Self.a])
        #expect(players.put(Self.two, owner: ":1.2") == [.leave(":1.1"), .come(":1.2")])
        #expect(Self.named(players) == [])
        players.identify(":1.2", process: 8)
        players.describe(":1.2", entry: "org.example.B")
        players.hear(":1.2", status: "Playing")
        #expect(Self.named(players) == [Self.b])
        #expect(players.clear() == [.leave(":1.2")])
        #expect(Self.named(players) == [])
        // What was asked of it before is answered too late.
        players.identify(":1.2", process: 8)
        players.describe(":1.2", entry: "org.example.B")
        #expect(!players.contains(":1.2"))
    }

    /// What is asked of the only player.
    private static func question(_ players: inout Players) throws -> UInt64 {
        let question = players.ask(":1.1")
        return try #require(question)
    }

    /// A player that answers nothing is known not to answer only when the time for it is over.
    @Test func whatAPlayerSaysByItselfStandsWhenItDoesNotAnswer() throws {
        var players = Players()
        #expect(players.ask(":1.1") == nil, "who is no player is not asked")
        _ = players.put(Self.one, owner: ":1.1")
        players.identify(":1.1", process: 7)
        players.describe(":1.1", entry: "org.example.A")
        let first = try Self.question(&players)
        #expect(players.ask(":1.1") == nil, "one question at a time")
        players.hear(":1.1", status: "Playing")
        #expect(players.answer(":1.1", to: first, status: nil) == false)
        #expect(Self.named(players) == [Self.a])

        // What is asked after that counts.
        let second = try Self.question(&players)
        #expect(players.answer(":1.1", to: second, status: "Paused") == true)
        #expect(Self.named(players) == [])
        // So does the answer when it was said since that it is to be asked for.
        let third = try Self.question(&players)
        players.hear(":1.1", status: "Playing")
        #expect(players.ask(":1.1") == nil)
        #expect(players.answer(":1.1", to: third, status: nil) == true)
        #expect(Self.named(players) == [])

        // Who gave its name away and has it again answers what it is asked from then on.
        let fourth = try Self.question(&players)
        _ = players.put(Self.one, owner: nil)
        _ = players.put(Self.one, owner: ":1.1")
        players.identify(":1.1", process: 7)
        players.describe(":1.1", entry: "org.example.A")
        let fifth = try Self.question(&players)
        #expect(players.answer(":1.1", to: fourth, status: nil) == false)
        #expect(players.answer(":1.1", to: fifth, status: "Playing") == true)
        #expect(Self.named(players) == [Self.a])
    }

    @Test func noMoreAreKeptThanThereIsRoomFor() {
        var players = Players()
        for number in 0..<200 { _ = players.put("org.mpris.MediaPlayer2.p\(number)", owner: ":1.\(number)") }
        #expect((0..<200).count { players.contains(":1.\($0)") } == Players.most)
        #expect(players.leftOut == 200 - UInt64(Players.most))
        // One that has many names takes nobody's place.
        var greedy = Players()
        for number in 0..<200 { _ = greedy.put("org.mpris.MediaPlayer2.p\(number)", owner: ":1.1") }
        #expect(greedy.put(Self.one, owner: ":1.2") == [.come(":1.2")])
        #expect(greedy.leftOut == 200 - UInt64(Players.mostNames))
        // Nor does a process that has many connections, as a sandbox has: the last of it makes room.
        var crowd = Players()
        for number in 0..<Players.most {
            _ = crowd.put("org.mpris.MediaPlayer2.p\(number)", owner: ":2.\(number)")
            crowd.identify(":2.\(number)", process: number < 2 ? 6 : 7)
        }
        let last = ":2.\(Players.most - 1)"
        #expect(crowd.put(Self.one, owner: ":1.2") == [.leave(last), .come(":1.2")])
        crowd.identify(":1.2", process: 8)
        #expect(crowd.contains(":2.0") && crowd.contains(":2.1") && !crowd.contains(last) && crowd.leftOut == 1)
        // What makes room for nobody changes nobody else.
        #expect(crowd.put("org.mpris.MediaPlayer2.p\(Players.most - 1)", owner: nil) == [])
        for number in 0..<200 {
            _ = crowd.put("org.mpris.MediaPlayer2.q\(number)", owner: ":3.\(number)")
            crowd.identify(":3.\(number)", process: 7)
        }
        #expect(crowd.contains(":1.2") && crowd.contains(":2.0") && crowd.contains(":2.1"))
        // What is no player's name is none.
        #expect(greedy.put("org.mpris.MediaPlayer2", owner: ":1.3") == [])
        #expect(greedy.put("org.mpris.MediaPlayer2x.one", owner: ":1.3") == [])
    }

    @Test func whoFlapsIsToldAtItsPace() {
        var roll = AppRoll(pace: .seconds(1))
        var reports: [AppList] = []
        // On and off every 10 ms for 10 s, and on in the end.
        for step in 0...1_000 {
            let now = Timestamp(microseconds: Int64(step) * 10_000)
            if let report = roll.step(step % 2 == 0 ? [Self.a] : [], at: now) { reports.append(report) }
        }
        #expect((2...11).contains(reports.count))
        let deadline = roll.deadline
        if let deadline {
            let last = roll.step([Self.a], at: deadline)
            #expect((last ?? reports.last)?.apps == [Self.a])
        } else {
            #expect(reports.last?.apps == [Self.a])
        }
    }

    @Test func onlyWhatChangedIsToldAndNothingWakesMeanwhile() {
        var roll = AppRoll(pace: .seconds(1))
        let start = Timestamp(microseconds: 0)
        // A broker knows of nobody that he plays.
        #expect(roll.step([], at: start) == nil)
        #expect(roll.step([Self.b, Self.a], at: start)?.apps == [Self.a, Self.b])
        #expect(roll.deadline == nil)
        #expect(roll.step([Self.a], at: start + .milliseconds(400)) == nil)
        #expect(roll.deadline == start + .seconds(1))
        // Back before it was told: there was nothing.
        #expect(roll.step([Self.a, Self.b], at: start + .milliseconds(500)) == nil)
        #expect(roll.deadline == nil)
        #expect(roll.step([], at: start + .seconds(2))?.apps == [])
        let many = Set((0..<300).map { AppID("org.example.App\($0)") })
        #expect(roll.step(many, at: start + .seconds(4))?.apps.count == AppRoll.most)
    }

    @Test func anEmptyListIsToldABrokerThatWasToldOthers() throws {
        var queue = ReportQueue<AppList>()
        queue.brokerChanged(isThere: true)
        queue.add(AppList([Self.a]))
        let said = queue.next()
        queue.answered(try #require(said).call)
        queue.add(AppList([]))
        #expect(queue.next()?.report == AppList([]))
        // The next one has heard of none.
        queue.brokerChanged(isThere: true)
        #expect(queue.next() == nil)
    }
}
