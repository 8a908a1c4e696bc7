import FocusCore
import Motion
import Testing

/// A desk with a clock: what comes out of it, and when.
private struct Scene {
    var desk = Desk()
    var now = Timestamp(microseconds: 1_000_000_000)
    private(set) var reports: [(at: Int64, report: Desk.Report)] = []

    init(_ apps: String...) {
        self.desk.begin()
        for app in apps { self.open(app) }
        self.desk.complete()
        self.step()
        self.reports = []
        self.pass(1_000)
    }

    static func id(_ app: String) -> AppID { AppID("org.example.\(app)") }

    /// A window of the app whose name it has, without its number; one that begins with `?` is nobody's.
    mutating func open(_ window: String, isHidden: Bool = false) {
        let app = window.filter(\.isLetter)
        let named: NamedApp =
            window.hasPrefix("?") ? .unknown(hint: "") : .app(Self.id(app), by: .exact)
        self.desk.put(window, WindowClaims(appID: app), as: named, isHidden: isHidden)
    }

    mutating func step() {
        if let report = self.desk.step(at: self.now) { self.reports.append((self.now.microseconds, report)) }
    }

    /// Lets so many milliseconds pass, and steps at every deadline of the desk and at no other time.
    mutating func pass(_ milliseconds: Int64) {
        let end = self.now + .milliseconds(milliseconds)
        while let deadline = self.desk.deadline, deadline <= end {
            self.now = max(self.now, deadline)
            self.step()
        }
        self.now = end
    }

    mutating func front(_ windows: String...) {
        self.desk.setFront(windows)
        self.step()
    }

    /// The reports since the last look, as `front|visible|hidden` of apps.
    mutating func said() -> [String] {
        defer { self.reports = [] }
        return self.reports.map { Self.text($0.report) }
    }

    static func text(_ report: Desk.Report) -> String {
        guard case .windows(let rows) = report else { return "forget" }
        return [WindowState.front, .visible, .hidden].map { state in
            rows.filter { $0.state == state }.map { $0.app.map { String($0.name.dropFirst(12)) } ?? "?" }
                .joined(separator: " ")
        }.joined(separator: "|")
    }
}

@Suite struct DeskTests {
    @Test func anAppStandsOnceByItsBestWindow() {
        var scene = Scene("A1", "A2", "B")
        scene.desk.put("A1", WindowClaims(appID: "A"), as: .app(Scene.id("A"), by: .exact), isHidden: true)
        scene.step()
        // It is told by another of its windows now.
        #expect(scene.said() == ["|A B|"])
        scene.pass(100)
        scene.desk.put("B", WindowClaims(appID: "B"), as: .app(Scene.id("B"), by: .exact), isHidden: true)
        scene.step()
        #expect(scene.said() == ["|A|B"])
        scene.front("A2")
        scene.pass(1_000)
        #expect(scene.said() == ["A||B"])
        scene.front("B")
        scene.pass(1_000)
        #expect(scene.said() == ["B|A|"])
    }

    @Test func theRowNamesTheWindowAndItsProcess() {
        var desk = Desk()
        desk.begin()
        desk.put("7", WindowClaims(appID: "A", process: 12), as: .app(Scene.id("A"), by: .unit), isHidden: false)
        desk.setFront(["7"])
        desk.complete()
        #expect(
            desk.step(at: .zero) == .windows([AppRow(Scene.id("A"), .front, window: "7", process: 12)]))
        // Said once.
        #expect(desk.step(at: .zero) == nil)
    }

    @Test func nothingIsSaidBeforeAllIsSeen() {
        var desk = Desk()
        desk.begin()
        desk.put("7", WindowClaims(appID: "A"), as: .app(Scene.id("A"), by: .exact), isHidden: false)
        #expect(desk.step(at: .zero) == nil)
        desk.complete()
        #expect(desk.step(at: .zero) != nil)
        // An empty desk is news, too.
        var empty = Desk()
        empty.begin()
        empty.complete()
        #expect(empty.step(at: .zero) == .windows([]))
    }

    // MARK: Calm

    @Test func anAppThatComesToTheFrontIsSaidAtOnce() {
        var scene = Scene("A", "B")
        scene.front("A")
        #expect(scene.said() == ["A|B|"])
        scene.pass(30)
        scene.front("B")
        #expect(scene.said() == ["B|A|"])
    }

    /// What takes the keyboard for a moment is not passed on; what keeps it is, within 200 ms.
    @Test(arguments: [[], ["?panel"], ["dock"]])
    func aMomentOfNothingIsNotPassedOn(_ nothing: [String]) {
        var scene = Scene("A", "B", "?panel")
        scene.front("A")
        scene.pass(500)
        _ = scene.said()
        for moment in [1, 20, 49] as [Int64] {
            scene.desk.setFront(nothing)
            scene.step()
            scene.pass(moment)
            scene.front("A")
            scene.pass(500)
            #expect(scene.said() == [], "\(moment) ms")
        }
        let start = scene.now
        scene.desk.setFront(nothing)
        scene.step()
        #expect(scene.said() == [])
        scene.pass(200)
        #expect(scene.reports.count == 1)
        #expect(scene.reports.allSatisfy { $0.at - start.microseconds <= 200_000 })
        #expect(scene.said() == [nothing == ["?panel"] ? "?|A B|" : "|A B|"])
        scene.front("B")
        #expect(scene.said() == ["B|A|"])
    }

    /// From nothing to a panel and back: that is nothing all the while.
    @Test func changesAmongNothingsDoNotPutItOff() {
        var scene = Scene("A", "?p")
        scene.front("A")
        scene.pass(500)
        _ = scene.said()
        for _ in 0..<3 {
            scene.front("?p")
            scene.pass(15)
            scene.front()
            scene.pass(15)
        }
        #expect(scene.reports.isEmpty)
        scene.pass(10)
        #expect(scene.said() == ["|A|"])
    }

    @Test func aWindowThatClosesInFrontIsFollowedByTheNext() {
        var scene = Scene("A", "B")
        scene.front("A")
        scene.pass(500)
        _ = scene.said()
        scene.desk.close("A")
        scene.step()
        scene.pass(30)
        scene.front("B")
        scene.pass(500)
        #expect(scene.said() == ["A|B|", "B||"].suffix(1))
        scene.desk.close("B")
        scene.step()
        scene.pass(200)
        #expect(scene.said() == ["||"])
    }

    @Test func aFrontWindowThatIsNamedLaterIsSaidThen() {
        var scene = Scene("A", "?B")
        scene.front("A")
        scene.pass(500)
        scene.front("?B")
        scene.pass(10)
        _ = scene.said()
        scene.desk.rename { .app(Scene.id($0.appID ?? ""), by: .alias) }
        scene.step()
        #expect(scene.said() == ["B|A|"])
    }

    /// Two seats have two windows in front.
    @Test func severalMayBeInFront() {
        var scene = Scene("A", "B")
        scene.desk.setFront("A", true)
        scene.desk.setFront("B", true)
        scene.step()
        #expect(scene.said() == ["A B||"])
        scene.desk.setFront("A", false)
        scene.pass(30)
        scene.step()
        #expect(scene.said() == ["B|A|"])
    }

    // MARK: Pace

    @Test func aThousandWindowsMakeFewReports() {
        var scene = Scene()
        let start = scene.now
        for number in 0..<1_000 {
            scene.open("W\(number)\(["a", "b", "c"][number % 3])")
            scene.step()
            scene.pass(1)
        }
        scene.pass(500)
        let span = scene.now - start
        #expect(scene.reports.count <= Int(span.microseconds / Desk.pace.microseconds) + 1)
        #expect(scene.desk.count == 1_000)
        #expect(scene.said().last == "|Wa Wb Wc|")
    }

    /// The last state is said, however fast it came, and soon.
    @Test func theLastOfManyFocusChangesIsSaid() {
        var scene = Scene("A", "B")
        for _ in 0..<50 {
            scene.front("A")
            scene.pass(1)
            scene.front("B")
            scene.pass(1)
        }
        scene.pass(20)
        #expect(scene.reports.count <= 7)
        #expect(scene.said().last == "B|A|")
    }

    @Test func atRestThereIsNothingToWaitFor() {
        var scene = Scene("A", "B")
        scene.front("A")
        scene.pass(1_000)
        #expect(scene.desk.deadline == nil)
        scene.front()
        scene.pass(1_000)
        #expect(scene.desk.deadline == nil)
    }

    // MARK: Room

    @Test func thereIsRoomForSoManyWindowsAndAlwaysForTheOneInFront() {
        var scene = Scene()
        for number in 0..<(Desk.mostWindows + 10) { scene.open("W\(number)") }
        #expect(scene.desk.count == Desk.mostWindows)
        #expect(scene.desk.leftOut == 10)
        scene.desk.setFront(["A"])
        scene.open("A")
        #expect(scene.desk.count == Desk.mostWindows)
        scene.step()
        #expect(scene.said() == ["A|W|"])
    }

    /// A shell says of one window after the other whether it is in front.
    @Test func aWindowThatComesInFrontFindsRoomAmongThousands() {
        var scene = Scene()
        for number in 0..<Desk.mostWindows { scene.open("W\(number)") }
        scene.desk.setFront("W0", true)
        scene.pass(500)
        scene.step()
        scene.pass(500)
        _ = scene.said()
        scene.desk.put(
            "W0", WindowClaims(appID: "W"), as: .app(Scene.id("W"), by: .exact), isInFront: false, isHidden: false)
        let isKept = scene.desk.put(
            "A", WindowClaims(appID: "A"), as: .app(Scene.id("A"), by: .exact), isInFront: true, isHidden: false)
        #expect(isKept && scene.desk.count == Desk.mostWindows)
        scene.step()
        scene.pass(500)
        #expect(scene.said().last == "A|W|")
    }

    @Test func thereIsRoomForSoManyBytes() {
        var desk = Desk()
        desk.begin()
        let long = String(repeating: "x", count: WindowClaims.longestName)
        let claims = WindowClaims(appID: long, instance: long, windowClass: long, gtkAppID: long)
        var kept = 0
        for number in 0..<Desk.mostWindows where desk.put("\(number)", claims, as: .unknown(hint: ""), isHidden: false)
        {
            kept += 1
        }
        #expect(kept == Desk.mostBytes / claims.size)
        desk.close("0")
        #expect(desk.put("a", claims, as: .unknown(hint: ""), isHidden: false) == true)
        // A longer id than a broker takes is none.
        #expect(
            desk.put(String(repeating: "i", count: 65), WindowClaims(), as: .unknown(hint: ""), isHidden: false)
                == false)
    }

    @Test func aBrokerTakesSoManyRows() {
        var desk = Desk()
        desk.begin()
        for number in 0..<(Desk.mostRows + 100) {
            desk.put(
                "\(number)", WindowClaims(appID: "x"), as: .app(AppID("org.example.A\(number)"), by: .exact),
                isHidden: number % 2 == 0)
        }
        desk.setFront(["\(Desk.mostRows + 98)"])
        desk.complete()
        guard case .windows(let rows) = desk.step(at: .zero) else {
            Issue.record("nothing was said")
            return
        }
        #expect(rows.count == Desk.mostRows)
        #expect(rows.filter { $0.state == .front }.map(\.window) == ["\(Desk.mostRows + 98)"])
        // The hidden ones are left out first.
        #expect(rows.filter { $0.state == .visible }.count == (Desk.mostRows + 100) / 2)
    }

    // MARK: Coming and going

    @Test func whatWasSaidStandsForAWhileWhenTheDisplayIsGone() {
        var scene = Scene("A")
        scene.front("A")
        scene.pass(1_000)
        _ = scene.said()
        scene.desk.leave(at: scene.now)
        scene.step()
        scene.pass(4_900)
        #expect(scene.said() == [])
        scene.pass(200)
        #expect(scene.said() == ["forget"])
        scene.pass(60_000)
        #expect(scene.said() == [] && scene.desk.deadline == nil)
    }

    @Test func theNextDisplayTakesThePlaceOfTheLast() {
        var scene = Scene("A")
        scene.front("A")
        scene.pass(1_000)
        _ = scene.said()
        scene.desk.leave(at: scene.now)
        scene.step()
        scene.pass(300)
        scene.desk.begin()
        scene.open("B")
        scene.desk.setFront(["B"])
        scene.step()
        scene.desk.complete()
        scene.step()
        #expect(scene.said() == ["B||"])
        scene.pass(60_000)
        #expect(scene.said() == [])
    }

    /// A display that comes and does not say what it shows does not keep alive what another said.
    @Test func aDisplayThatNeverCompletesLeavesNothing() {
        var scene = Scene("A")
        scene.front("A")
        scene.pass(1_000)
        _ = scene.said()
        scene.desk.leave(at: scene.now)
        scene.desk.begin()
        scene.step()
        scene.pass(6_000)
        #expect(scene.said() == ["forget"])
    }

    @Test func theListIsInTheOrderOfOpening() {
        var scene = Scene("B", "A", "?C")
        scene.front("A")
        let list = scene.desk.list()
        #expect(list.map(\.id) == ["B", "A", "?C"])
        #expect(list.map(\.state) == [.visible, .front, .visible])
        #expect(scene.desk.list(after: list[1].number).map(\.id) == ["?C"])
    }
}

@Suite struct ReconnectionTests {
    @Test func aFewAttemptsFollowASocketAndThenNone() {
        var life = Reconnection()
        var now = Timestamp.zero
        life.appeared(at: now)
        var pauses: [Int64] = []
        while let next = life.next {
            pauses.append((next - now).microseconds / 1_000)
            now = next
            life.failed(at: now)
        }
        #expect(pauses == [0, 50, 100, 200, 400, 800, 1_600])
        #expect(life.hasGivenUp)
        life.appeared(at: now)
        #expect(life.next == now && !life.hasGivenUp)
    }

    @Test func aConnectionThatLastedIsTriedAgainAtOnce() {
        var life = Reconnection()
        life.appeared(at: .zero)
        for _ in 0..<5 { life.failed(at: .zero) }
        life.opened(at: .zero)
        #expect(life.next == nil)
        // Another socket beside one that works is no reason.
        life.appeared(at: .zero)
        #expect(life.next == nil)
        let later = Timestamp.zero + Reconnection.lasting
        life.failed(at: later)
        #expect(life.next == later + Reconnection.firstPause)
    }

    @Test func aDisplayThatThrowsUsOutEachTimeIsLeftAlone() {
        var life = Reconnection()
        life.appeared(at: .zero)
        var opened = 0
        while life.next != nil {
            life.opened(at: .zero)
            life.failed(at: .zero)
            opened += 1
        }
        #expect(opened == Reconnection.attempts + 1)
    }
}

@Suite struct ReportQueueTests {
    private static let (a, b, c) = (
        Desk.Report.windows([]), Desk.Report.windows([AppRow(nil, .front, window: "1", process: nil)]),
        Desk.Report.forget
    )

    @Test func oneIsUnderWayAndTheNewestIsNext() throws {
        var queue = ReportQueue<Desk.Report>()
        queue.add(Self.a)
        #expect(queue.next() == nil)
        queue.brokerChanged(isThere: true)
        let said = queue.next()
        let first = try #require(said)
        #expect(first.report == Self.a)
        queue.add(Self.b)
        queue.add(Self.c)
        queue.add(Self.b)
        #expect(queue.next() == nil)
        queue.answered(first.call)
        let again = queue.next()
        let second = try #require(again)
        #expect(second.report == Self.b)
        queue.answered(second.call)
        #expect(queue.next() == nil)
    }

    @Test func anotherBrokerIsToldAgain() throws {
        var queue = ReportQueue<Desk.Report>()
        queue.brokerChanged(isThere: true)
        queue.add(Self.b)
        let said = queue.next()
        let first = try #require(said)
        queue.brokerChanged(isThere: false)
        #expect(queue.next() == nil)
        queue.brokerChanged(isThere: true)
        #expect(queue.next()?.report == Self.b)
        // The answer of the broker that left is none of the new one's.
        queue.answered(first.call, isHeard: false)
        #expect(queue.next() == nil)
    }

    @Test func aBrokerThatWasSilentIsToldAgainAndANewOneHasNothingToForget() throws {
        var queue = ReportQueue<Desk.Report>()
        queue.brokerChanged(isThere: true)
        queue.add(Self.b)
        let first = queue.next()
        queue.answered(try #require(first).call, isHeard: false)
        #expect(queue.next()?.report == Self.b)
        queue.add(Self.c)
        queue.brokerChanged(isThere: true)
        #expect(queue.next() == nil)
    }
}
