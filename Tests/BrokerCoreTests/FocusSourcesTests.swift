import Arbitration
import BrokerCore
import Motion
import Randomness
import Testing

/// What sources say of the foreground, and how long it stands.
@Suite final class FocusSourcesTests {
    private static let (a, b, c) = (AppID("org.example.A"), AppID("org.example.B"), AppID("org.example.C"))

    private static func reporter(_ name: String = ":1.1", user: UInt32 = 1_000) -> FocusSources.Reporter {
        FocusSources.Reporter(name: name, user: user, process: 77)
    }

    private static func at(_ milliseconds: Int64) -> Timestamp { .zero + .milliseconds(milliseconds) }

    /// What is said of the foreground by all of them.
    private static func shown(_ front: AppID..., visible: AppID...) -> ForegroundReport {
        .shown(ShownApps(front: Set(front), visible: Set(visible)))
    }

    private var sources = FocusSources()

    private func refusal(_ body: () throws(Refusal) -> Void) -> Refusal? {
        do throws(Refusal) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test func nobodySaysAnythingAtFirst() {
        #expect(self.sources.report == .none && self.sources.testimony == nil && self.sources.rows.isEmpty)
        #expect(self.sources.nextDeadline == nil && self.sources.reporters.isEmpty)
    }

    @Test func whatIsSaidTakesThePlaceOfWhatWas() throws {
        try self.sources.say(
            [SeenWindow(Self.a, .front), SeenWindow(Self.b, .visible), SeenWindow(Self.c, .hidden)], as: "x11::0",
            by: Self.reporter())
        #expect(self.sources.report == Self.shown(Self.a, visible: Self.b))
        let row = try #require(self.sources.rows.first)
        #expect(row.source == "x11::0" && row.process == 77 && row.windows == 3 && !row.isLeaving)
        #expect(row.front == [Self.a] && row.visible == [Self.b] && row.hidden == [Self.c])
        #expect(self.sources.reporters == [":1.1"])
        try self.sources.say([SeenWindow(Self.b, .front)], as: "x11::0", by: Self.reporter())
        #expect(self.sources.report == Self.shown(Self.b))
        try self.sources.say([], as: "x11::0", by: Self.reporter())
        #expect(self.sources.report == Self.shown() && self.sources.rows.count == 1)
    }

    /// A window in front of which nobody knows whose it is: no app is in front.
    @Test func aStrangeWindowIsInFront() throws {
        try self.sources.say(
            [SeenWindow(nil, .front, id: "0x7", process: 9), SeenWindow(Self.a, .visible)], as: "x11::0",
            by: Self.reporter())
        #expect(self.sources.report == Self.shown(visible: Self.a) && self.sources.rows.first?.windows == 2)
        #expect(self.sources.testimony?.description == "x11::0 shows no app in front")
    }

    @Test func twoSeatsHaveTwoAppsInFront() throws {
        try self.sources.say(
            [SeenWindow(Self.b, .front), SeenWindow(Self.c, .visible)], as: "x11::0", by: Self.reporter())
        try self.sources.say(
            [SeenWindow(Self.a, .front), SeenWindow(Self.b, .visible)], as: "x11::1", by: Self.reporter(":1.2"))
        #expect(self.sources.report == Self.shown(Self.a, Self.b, visible: Self.c))
        // In the order in which it was said.
        #expect(self.sources.front.map(\.app) == [Self.b, Self.a])
        #expect(
            self.sources.testimony?.description
                == "x11::0 shows org.example.B in front, x11::1 shows org.example.A in front")
    }

    /// Who said it first about an app is named, for as long as it says so.
    @Test func theFirstIsNamed() throws {
        try self.sources.say([SeenWindow(Self.b, .front)], as: "one", by: Self.reporter())
        try self.sources.say([SeenWindow(Self.a, .front)], as: "two", by: Self.reporter())
        try self.sources.say([SeenWindow(Self.a, .front)], as: "one", by: Self.reporter())
        #expect(self.sources.front.map(\.source) == ["two"])
        // Said again it is no newer.
        try self.sources.say([SeenWindow(Self.a, .front, id: "7")], as: "two", by: Self.reporter())
        #expect(self.sources.front.map(\.source) == ["two"])
        try self.sources.say([SeenWindow(Self.a, .hidden)], as: "two", by: Self.reporter())
        #expect(self.sources.front.map(\.source) == ["one"])
        try self.sources.say([SeenWindow(Self.a, .front)], as: "two", by: Self.reporter())
        #expect(self.sources.front.map(\.source) == ["one"])
    }

    @Test func moreThanThreeAreCounted() throws {
        for number in 0..<4 {
            try self.sources.say(
                [SeenWindow(AppID("org.example.N\(number)"), .front)], as: "", by: Self.reporter(user: UInt32(number)))
        }
        let text = self.sources.testimony?.description
        #expect(text?.hasPrefix("somebody says that org.example.N0 is in front, ") == true)
        #expect(text?.hasSuffix("org.example.N2 is in front, and 1 more are") == true)
    }

    // MARK: Who leaves

    @Test func itStandsForFiveSeconds() throws {
        try self.sources.say([SeenWindow(Self.a, .front)], as: "x11::0", by: Self.reporter())
        self.sources.leave(":1.2", at: Self.at(500))
        #expect(self.sources.nextDeadline == nil)
        self.sources.leave(":1.1", at: Self.at(1_000))
        #expect(self.sources.nextDeadline == Self.at(6_000) && self.sources.reporters.isEmpty)
        #expect(self.sources.rows.first?.isLeaving == true)
        // It left once.
        self.sources.leave(":1.1", at: Self.at(2_000))
        self.sources.pass(to: Self.at(5_999))
        #expect(self.sources.report == Self.shown(Self.a))
        self.sources.pass(to: Self.at(6_000))
        #expect(self.sources.report == .none && self.sources.nextDeadline == nil)
    }

    /// It is not forgotten: a policy that is wrong for a moment takes the foreground away for that moment.
    @Test func whoMaySayItNoMoreDoesNotCountUntilItMay() throws {
        try self.sources.say([SeenWindow(Self.a, .front)], as: "x11::0", by: Self.reporter())
        try self.sources.say(.playing, of: [Self.a], as: "mpris", by: Self.reporter())
        try self.sources.say(.frozen, of: [Self.b], as: "freezer", by: Self.reporter())
        try self.sources.say([SeenWindow(Self.c, .front)], as: "x11::1", by: Self.reporter(":1.2"))
        let (rows, changes, held) = (self.sources.rows, self.sources.changes, self.sources.usage.held)
        self.sources.setCounts(false, by: ":1.1")
        #expect(self.sources.changes > changes && self.sources.report == Self.shown(Self.c))
        #expect(self.sources.playing.isEmpty && self.sources.frozen.isEmpty)
        #expect(self.sources.front.map(\.app) == [Self.c] && self.sources.rows.map(\.source) == ["x11::1"])
        #expect(self.sources.testimony?.description == "x11::1 shows \(Self.c) in front")
        // It has its places as before, and is followed until it leaves.
        #expect(self.sources.usage.held == held && self.sources.reporters == [":1.1", ":1.2"])
        self.sources.setCounts(false, by: ":1.2")
        #expect(self.sources.report == .none && self.sources.testimony == nil)
        self.sources.setCounts(true, by: ":1.1")
        self.sources.setCounts(true, by: ":1.2")
        #expect(self.sources.rows == rows && self.sources.report == Self.shown(Self.a, Self.c))
    }

    @Test func whoComesAgainTakesItsPlace() throws {
        try self.sources.say([SeenWindow(Self.a, .front)], as: "x11::0", by: Self.reporter())
        self.sources.leave(":1.1", at: .zero)
        try self.sources.say([SeenWindow(Self.b, .front)], as: "x11::0", by: Self.reporter(":1.5"))
        #expect(self.sources.nextDeadline == nil && self.sources.reporters == [":1.5"])
        self.sources.pass(to: Self.at(60_000))
        #expect(self.sources.report == Self.shown(Self.b))
    }

    /// Also of one that is still there, which has no say any more.
    @Test func anotherConnectionTakesOver() throws {
        try self.sources.say([SeenWindow(Self.a, .front)], as: "", by: Self.reporter())
        try self.sources.say([SeenWindow(Self.b, .front)], as: "", by: Self.reporter(":1.2"))
        #expect(self.sources.report == Self.shown(Self.b) && self.sources.rows.count == 1)
        self.sources.forget("", by: ":1.1")
        self.sources.leave(":1.1", at: .zero)
        #expect(self.sources.report == Self.shown(Self.b) && self.sources.nextDeadline == nil)
        // Another user's is another source.
        try self.sources.say([SeenWindow(Self.c, .front)], as: "", by: Self.reporter(":1.3", user: 1_001))
        #expect(self.sources.report == Self.shown(Self.b, Self.c))
    }

    @Test func whatIsTakenBackIsOverAtOnce() throws {
        try self.sources.say([SeenWindow(Self.a, .front)], as: "one", by: Self.reporter())
        try self.sources.say([SeenWindow(Self.b, .front)], as: "two", by: Self.reporter())
        self.sources.forget("one", by: ":1.2")
        self.sources.forget("three", by: ":1.1")
        #expect(self.sources.report == Self.shown(Self.a, Self.b))
        self.sources.forget("one", by: ":1.1")
        #expect(self.sources.report == Self.shown(Self.b))
        self.sources.forgetAll()
        #expect(self.sources.report == .none)
    }

    /// What is said again is no change, and what shows otherwise is one.
    @Test func changesAreCounted() throws {
        func say(_ window: SeenWindow, _ name: String = ":1.1") throws(Refusal) -> Bool {
            let before = self.sources.changes
            try self.sources.say([window], as: "x", by: Self.reporter(name))
            return self.sources.changes != before
        }
        #expect(try say(SeenWindow(Self.a, .hidden)))
        #expect(try !say(SeenWindow(Self.a, .hidden, id: "7")))
        #expect(try say(SeenWindow(Self.a, .visible)))
        #expect(try say(SeenWindow(nil, .front)))
        #expect(try say(SeenWindow(Self.b, .front)))
        #expect(try !say(SeenWindow(Self.b, .front), ":1.2"))
        self.sources.leave(":1.2", at: .zero)
        #expect(try say(SeenWindow(Self.b, .front), ":1.3"))
    }

    // MARK: Players and frozen apps

    @Test func listsSayNothingOfTheForeground() throws {
        try self.sources.say(.frozen, of: [Self.a], as: "freezer", by: Self.reporter())
        try self.sources.say(.playing, of: [Self.b, Self.a], as: "mpris", by: Self.reporter())
        #expect(self.sources.report == .none && self.sources.testimony == nil)
        #expect(self.sources.playing == [Self.a, Self.b] && Array(self.sources.frozen.keys) == [Self.a])
        try self.sources.say([SeenWindow(Self.c, .front)], as: "mpris", by: Self.reporter())
        // What is said of windows is apart, whatever its source is called.
        #expect(self.sources.rows.map(\.source) == ["freezer", "mpris", "mpris"])
        #expect(self.sources.rows.map(\.playing) == [[], [Self.a, Self.b], []])
        #expect(self.sources.rows.map(\.frozen) == [[Self.a], [], []])
        #expect(self.sources.rows.map(\.first) == [[Self.a], [], [Self.c]])
        #expect(self.sources.testimony?.description == "mpris shows org.example.C in front")
        self.sources.forget("mpris", by: ":1.1")
        #expect(self.sources.report == .none && self.sources.playing.count == 2)
    }

    @Test func aListStandsAWhileAndAnEmptyOneEnds() throws {
        try self.sources.say(.playing, of: [Self.a], as: "mpris", by: Self.reporter())
        try self.sources.say(.frozen, of: [Self.b], as: "", by: Self.reporter())
        self.sources.leave(":1.1", at: Self.at(1_000))
        self.sources.pass(to: Self.at(5_999))
        #expect(self.sources.playing == [Self.a] && self.sources.frozen.count == 1)
        // Who comes anew takes its place, of its own subject.
        try self.sources.say(.playing, of: [Self.a, Self.c], as: "mpris", by: Self.reporter(":1.2"))
        #expect(self.sources.rows.count == 2 && self.sources.rows.map(\.isLeaving) == [false, true])
        self.sources.pass(to: Self.at(6_000))
        #expect(self.sources.frozen.isEmpty && self.sources.playing == [Self.a, Self.c])
        #expect(self.sources.nextDeadline == nil && self.sources.reporters == [":1.2"])
        try self.sources.say(.playing, of: [], as: "mpris", by: Self.reporter(":1.2"))
        #expect(self.sources.rows.isEmpty && self.sources.reporters.isEmpty)
        let changes = self.sources.changes
        try self.sources.say(.playing, of: [], as: "mpris", by: Self.reporter(":1.2"))
        #expect(self.sources.changes == changes)
    }

    /// Of several it is the one that said it first.
    @Test func whoSaysFirstThatAnAppIsFrozen() throws {
        func by(_ app: AppID) -> String? { self.sources.frozen[app]?.description }
        try self.sources.say(.frozen, of: [Self.a], as: "one", by: Self.reporter())
        try self.sources.say(.frozen, of: [Self.a, Self.b], as: "two", by: Self.reporter(user: 1_001))
        #expect(by(Self.a) == "one says that it is frozen" && by(Self.b) == "two says that it is frozen")
        #expect(self.sources.rows.map(\.first) == [[Self.a], [Self.b]])
        // What it goes on saying it does not say anew.
        try self.sources.say(.frozen, of: [Self.b, Self.a], as: "one", by: Self.reporter())
        #expect(by(Self.a) == "one says that it is frozen" && by(Self.b) == "two says that it is frozen")
        try self.sources.say(.frozen, of: [Self.b], as: "one", by: Self.reporter())
        #expect(by(Self.a) == "two says that it is frozen" && by(Self.b) == "two says that it is frozen")
    }

    @Test func aListHasItsBounds() throws {
        func refusal(_ apps: [AppID], as name: String) -> String {
            let refusal = self.refusal { () throws(Refusal) in
                try self.sources.say(.frozen, of: apps, as: name, by: Self.reporter())
            }
            return refusal.map { "\($0)" } ?? "taken"
        }
        let many = (0...256).map { AppID("org.example.N\($0)") }
        #expect(refusal(many, as: "x").contains("apps-per-source"))
        #expect(refusal([Self.a], as: "a b").contains("no name of a source"))
        #expect(self.sources.changes == 0 && self.sources.rows.isEmpty)
        let share = try #require(BrokerLimits().table["focus-sources-per-user"])
        for number in 0..<share { #expect(refusal([Self.a], as: "s\(number)") == "taken") }
        #expect(refusal([Self.a], as: "more").contains("focus-sources-per-user"))
        #expect(refusal(many.dropLast() + [], as: "s0") == "taken" && self.sources.frozen.count == 257)
        // An empty list gives its room back.
        #expect(refusal([], as: "s1") == "taken" && refusal([Self.a], as: "more") == "taken")
    }

    // MARK: Limits

    @Test func noUserTakesAllSources() throws {
        let limits = BrokerLimits().table
        let share = try #require(limits["focus-sources-per-user"])
        for number in 0..<share { try self.sources.say([], as: "s\(number)", by: Self.reporter()) }
        #expect(
            self.refusal { () throws(Refusal) in try self.sources.say([], as: "more", by: Self.reporter()) }
                == .noRoom(
                    name: "focus-sources-per-user", value: share,
                    message: "too many sources say something of apps; your user's share of focus-sources is used up"))
        // One that is there is no other.
        try self.sources.say([SeenWindow(Self.a, .front)], as: "s0", by: Self.reporter(":1.9"))
        try self.sources.say([], as: "s0", by: Self.reporter(user: 1_001))
        // Root has what is free.
        let all = try #require(limits["focus-sources"])
        for number in 0..<(all - share - 1) { try self.sources.say([], as: "r\(number)", by: Self.reporter(user: 0)) }
        let full = self.refusal { () throws(Refusal) in try self.sources.say([], as: "r", by: Self.reporter(user: 0)) }
        #expect(
            full == .noRoom(name: "focus-sources", value: all, message: "too many sources say something of apps"))
        // What is over is free again.
        self.sources.forget("s1", by: ":1.1")
        try self.sources.say([], as: "r", by: Self.reporter(user: 0))
    }

    @Test func whatCannotBeIsRefusedWhole() throws {
        try self.sources.say([SeenWindow(Self.a, .front)], as: "x", by: Self.reporter())
        let (rows, changes) = (self.sources.rows, self.sources.changes)
        func expectRefused(_ windows: [SeenWindow], as name: String = "x", _ words: String) {
            let refusal = self.refusal { () throws(Refusal) in
                try self.sources.say(windows, as: name, by: Self.reporter())
            }
            #expect("\(refusal.map { "\($0)" } ?? "taken")".contains(words))
        }
        let many = (0...1_024).map { SeenWindow(AppID("org.example.N\($0)"), .hidden) }
        expectRefused(many, "windows-per-source")
        expectRefused([SeenWindow(Self.b, .front, id: String(repeating: "x", count: 65))], "focus-name-bytes")
        expectRefused([SeenWindow(Self.b, .front), SeenWindow(Self.b, .hidden)], "stands twice")
        expectRefused([SeenWindow(nil, .visible)], "of no known app")
        expectRefused([SeenWindow(nil, .front), SeenWindow(nil, .front)], "of no known app")
        for name in ["a b", "ä", "x\u{1B}", String(repeating: "x", count: 65)] {
            expectRefused([], as: name, "no name of a source")
        }
        #expect(self.sources.rows == rows && self.sources.changes == changes)
        try self.sources.say(
            many.dropLast() + [], as: String(repeating: "x", count: 64), by: Self.reporter())
        #expect(self.sources.rows.last?.windows == 1_024)
    }

    // MARK: What comes of it

    /// Random lives: what is shown is what those said who are there, or left less than 5 s ago.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func whatIsShownIsWhatStands(_ seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        var now: Int64 = 0
        // By source: what it shows in front, who says so, and until when it stands.
        var model: [String: (front: AppID, reporter: String, ends: Int64?)] = [:]
        for _ in 0..<2_000 {
            now += .random(in: 0...1_500, using: &generator)
            let (name, reporter) = (
                "s\(Int.random(in: 0..<3, using: &generator))", ":1.\(Int.random(in: 0..<4, using: &generator))"
            )
            self.sources.pass(to: Self.at(now))
            model = model.filter { $0.value.ends.map { $0 > now } ?? true }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0, 1:
                let app = [Self.a, Self.b, Self.c].randomElement(using: &generator) ?? Self.a
                try self.sources.say([SeenWindow(app, .front)], as: name, by: Self.reporter(reporter))
                model[name] = (app, reporter, nil)
            case 2:
                self.sources.leave(reporter, at: Self.at(now))
                for (name, said) in model where said.reporter == reporter && said.ends == nil {
                    model[name]?.ends = now + 5_000
                }
            default:
                self.sources.forget(name, by: reporter)
                if model[name]?.reporter == reporter, model[name]?.ends == nil { model[name] = nil }
            }
            let expected: ForegroundReport =
                model.isEmpty ? .none : .shown(ShownApps(front: Set(model.values.map(\.front))))
            #expect(self.sources.report == expected, "seed \(seed) at \(now)")
            #expect(Set(self.sources.front.map(\.app)) == Set(model.values.map(\.front)), "seed \(seed) at \(now)")
            #expect(self.sources.nextDeadline == model.values.compactMap(\.ends).min().map(Self.at))
            #expect(self.sources.reporters == Set(model.values.filter { $0.ends == nil }.map(\.reporter)))
        }
    }
}
