import DBus
import Glibc
import Protocol
import TestSupport
import Testing

@testable import jostle

/// What `jostle top` counts, of two answers that are known.
@Suite struct TopTableTests {
    private func app(_ name: String, _ change: (inout ListedCounters) -> Void = { _ in }) throws -> ListedCounters {
        var row = ListedCounters(
            try #require(ObjectPath("/org/jostle/Broker1/apps/\(name)")), app: "org.example.\(name)",
            state: "background")
        change(&row)
        return row
    }

    private func sensor(_ received: UInt64, rate: Double = 50, isAvailable: Bool = true) -> [String: Value] {
        [
            SensorStateKey.name: .string("accelerometer"), SensorStateKey.available: .boolean(isAvailable),
            SensorStateKey.state: .string(isAvailable ? "ready" : "stalled"), SensorStateKey.rate: .double(rate),
            SensorStateKey.received: .uint64(received),
        ]
    }

    @Test func ratesAreOfTheTimeBetween() throws {
        var before = TopSnapshot(time: 5_000_000)
        before.apps = [try self.app("A") { ($0.hits, $0.delivered, $0.denied) = (100, 40, 60) }]
        before.sensors = [self.sensor(1_000)]
        var now = TopSnapshot(time: 7_000_000)
        now.apps = [
            try self.app("A") { ($0.hits, $0.delivered, $0.denied, $0.queuedBytes) = (120, 41, 79, 12_345) },
            try self.app("New") { ($0.hits, $0.launches, $0.launchFailures) = (3, 2, 1) },
        ]
        now.sensors = [self.sensor(1_098)]
        let table = TopTable(now, since: before)
        #expect(table.rows.map(\.hits) == [10, 1.5])
        #expect(table.rows.map(\.events) == [0.5, 0] && table.rows.map(\.refused) == [9.5, 0])
        #expect(
            table.totalText
                == "2 apps  hits 12/s  events 0.5/s  refused 9.5/s  queued 12k  launches 2, 1 failed")
        #expect(table.sensorText == "accelerometer 50 Hz, 49/s come")
    }

    /// Whose counts are smaller than before has begun anew: nothing is known, and nothing can overflow.
    @Test func countsThatBeginAnewAreNoRates() throws {
        var before = TopSnapshot(time: 10)
        before.apps = [try self.app("A") { $0.hits = .max }]
        before.sensors = [self.sensor(.max)]
        var now = TopSnapshot(time: 5)
        now.apps = [
            try self.app("A") { ($0.hits, $0.queuedBytes, $0.launches) = (3, .max, .max) },
            try self.app("B") { ($0.queuedBytes, $0.launches) = (.max, 1) },
        ]
        now.sensors = [self.sensor(7, rate: 0), self.sensor(1, isAvailable: false)]
        let table = TopTable(now, since: before)
        #expect(table.rows.map(\.hits) == [0, 0] && table.sensors.map(\.samples) == [0, 0])
        #expect(table.sensorText == "accelerometer off  accelerometer stalled")
    }

    @Test func theFirstAnswerIsNoRateYet() throws {
        var first = TopSnapshot(time: 10)
        first.apps = [try self.app("A") { $0.hits = 3 }]
        let table = TopTable(first)
        #expect(table.totalText.hasPrefix("1 app  hits -/s  events -/s"))
        #expect(TopColumn.hits.cell(of: table.rows[0], isMeasured: false) == "-")
    }

    @Test(arguments: [
        (0.0, "0"), (0.04, "0.1"), (1, "1.0"), (9.94, "9.9"), (9.96, "10"), (1_003.4, "1003"),
    ])
    func ratesReadWell(_ rate: Double, _ text: String) { #expect(TopTable.rate(rate) == text) }

    @Test(arguments: [
        (UInt64(0), "0"), (9_999, "9999"), (10_000, "10k"), (999_499, "999k"), (999_999, "1.0M"),
        (43_000_000_000, "43G"), (.max, "many"),
    ])
    func bytesFit(_ count: UInt64, _ text: String) { #expect(TopTable.bytes(count) == text) }
}

/// What keys do in `jostle top`, and what it draws.
@Suite struct TopViewTests {
    private static var plain: Terminal { Terminal(isInteractive: false) }
    /// Colours, rings, ends the line, turns it round and erases it.
    private static let hostile = "a\u{1B}[31m\u{7}\n\u{202E}\u{9B}2Jz"

    private func snapshot(_ time: Int64, _ apps: [(String, hits: UInt64)]) throws -> TopSnapshot {
        var snapshot = TopSnapshot(time: time)
        snapshot.apps = try apps.enumerated().map { index, app in
            var row = ListedCounters(
                try #require(ObjectPath("/a/a\(1_000 + index)")), app: app.0,
                state: index % 2 == 0 ? "foreground" : "dead")
            (row.hits, row.delivered, row.lastRefusal) = (app.hits, app.hits / 2, "S3.quota")
            return row
        }
        return snapshot
    }

    private func view(_ apps: [(String, hits: UInt64)], size: (width: Int, height: Int) = (80, 24)) throws -> TopView {
        var view = TopView()
        view.size = size
        let before = try self.snapshot(0, apps.map { ($0.0, hits: 0) })
        view.take(TopTable(try self.snapshot(1_000_000, apps), since: before))
        return view
    }

    private func many(_ count: Int) -> [(String, hits: UInt64)] {
        (0..<count).map { ("org.example.Number\($0)", hits: UInt64($0)) }
    }

    @Test(arguments: [(80, 24), (40, 12), (200, 60), (20, 8), (5, 3), (1, 1)])
    func fitsWhateverTheSize(_ width: Int, _ height: Int) throws {
        let lists: [[(String, hits: UInt64)]] = [
            [], self.many(300),
            [(Self.hostile, hits: 1), ("", hits: 2), (String(repeating: "漢", count: 400), hits: 3)],
        ]
        for apps in lists {
            var view = try self.view(apps, size: (width, height))
            for keys: [KeyStroke] in [[], [.end], [.character("e")], [.escape, .character("/"), .character("x")]] {
                for key in keys {
                    guard case .explain(let app) = view.press(key) else { continue }
                    view.explain(app, ["epoch 5", "  S0 " + String(repeating: "long ", count: 100) + Self.hostile])
                }
                let lines = view.lines(Self.plain)
                #expect(lines.count == height)
                #expect(lines.allSatisfy { $0.count < max(2, width) }, "\(lines)")
                #expect(
                    !lines.joined().unicodeScalars.contains {
                        $0.value < 32 || (0x7F...0x9F).contains($0.value) || $0.value == 0x202E
                    })
            }
        }
    }

    @Test func theUsualScreenHoldsAllThatMatters() throws {
        var view = try self.view([("org.example.Player", hits: 3), ("org.example.Torch", hits: 250)])
        let lines = view.lines(Self.plain)
        #expect(lines[0] == "2 apps  hits 253/s  events 126/s  refused 0/s  queued 0  launches 0")
        #expect(lines[1] == "no sensor")
        #expect(lines[3] == "  APP                      STATE     +HITS/S EVENTS/S REFUSED/S QUEUED LAUNCHES")
        #expect(lines[4].hasPrefix("> org.example.Torch ") && lines[4].contains(" dead "))
        #expect(lines[5].hasPrefix("  org.example.Player "))
        #expect(lines[23].hasPrefix("q quit  up/down choose  e explain  s sort  r reverse  / filter"))
        // More room, more columns.
        view.size = (140, 24)
        #expect(view.lines(Self.plain)[3].contains("LAST REFUSAL") && view.lines(Self.plain)[4].contains("S3.quota"))
    }

    @Test func keysSortReverseFilterAndChoose() throws {
        var view = try self.view([("org.example.B", hits: 1), ("org.example.A", hits: 9), ("org.other.C", hits: 5)])
        func names() -> [String] { view.rows.map(\.app.app) }
        #expect(names() == ["org.example.A", "org.other.C", "org.example.B"])
        _ = view.press(.character("r"))
        #expect(names() == ["org.example.B", "org.other.C", "org.example.A"])
        _ = view.press(.character("r"))
        // Behind the last column comes the first one.
        for _ in 0..<TopColumn.allCases.count - 2 { _ = view.press(.character("s")) }
        #expect(names() == ["org.example.A", "org.example.B", "org.other.C"])
        // What is chosen stays so, wherever it stands.
        _ = view.press(.down)
        _ = view.press(.character("r"))
        #expect(view.lines(Self.plain).contains { $0.hasPrefix("> org.example.B ") })
        // The filter is shown and counts while it is typed; escape takes it back, enter keeps it.
        for key in "/OTH" { _ = view.press(.character(key)) }
        #expect(names() == ["org.other.C"] && view.lines(Self.plain)[23].hasPrefix("filter: OTH_"))
        _ = view.press(.backspace)
        _ = view.press(.escape)
        #expect(names().count == 3)
        for key in "/q" { _ = view.press(.character(key)) }
        #expect(view.rows.isEmpty && view.lines(Self.plain).contains("  no app fits the filter"))
        #expect(view.press(.enter) == nil && view.press(.character("e")) == nil)
        #expect(view.press(.escape) == nil && names().count == 3)
        #expect(view.press(.character("q")) == .quit)
    }

    @Test func anExplanationIsAskedForShownAndLeft() throws {
        var view = try self.view(self.many(30))
        _ = view.press(.down)
        #expect(view.press(.character("e")) == .explain("org.example.Number28"))
        #expect(view.lines(Self.plain)[0] == "the last verdict of org.example.Number28")
        #expect(view.lines(Self.plain)[2] == "the broker is asked")
        // What comes too late is of another app.
        view.explain("org.example.Number1", ["no"])
        #expect(view.lines(Self.plain)[2] == "the broker is asked")
        view.explain("org.example.Number28", (0..<40).map { "line \($0)" } + [String(repeating: "word ", count: 40)])
        #expect(view.lines(Self.plain)[2] == "line 0")
        _ = view.press(.end)
        let lines = view.lines(Self.plain)
        #expect(lines[22].hasPrefix("  word") && lines.allSatisfy { $0.count < 80 }, "\(lines)")
        _ = view.press(.home)
        #expect(view.lines(Self.plain)[2] == "line 0")
        // There keys do nothing else; `q` leads back.
        #expect(view.press(.character("s")) == nil && view.press(.character("q")) == nil)
        #expect(view.lines(Self.plain)[4].hasPrefix("  org.example.Number29"))
    }

    /// What is chosen is on the screen, page by page.
    @Test func longListsHavePages() throws {
        var view = try self.view(self.many(300))
        for (key, name) in [
            (KeyStroke.end, "Number0"), (.up, "Number1"), (.home, "Number299"), (.pageDown, "Number280"),
            (.pageUp, "Number299"),
        ] {
            _ = view.press(key)
            let lines = view.lines(Self.plain)
            #expect(lines.contains { $0.hasPrefix("> org.example.\(name) ") }, "\(key): \(lines)")
        }
    }

    @Test func troubleIsSaidAboveWhatWasKnown() throws {
        var view = try self.view([("org.example.A", hits: 1)])
        view.trouble = "the broker is not running"
        #expect(view.lines(Self.plain)[2] == "the broker is not running")
        view.take(TopTable(try self.snapshot(0, [])))
        #expect(view.lines(Self.plain).contains("  no app is registered"))
    }
}

/// Keys, as terminals send them.
@Suite struct KeyReaderTests {
    @Test(arguments: [
        ("q", [KeyStroke.character("q")]), ("\u{1B}[A\u{1B}OB", [.up, .down]),
        ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]),
        ("\u{1B}[H\u{1B}[4~", [.home, .end]), ("\r\n", [.enter, .enter]), ("\u{7F}\u{8}", [.backspace, .backspace]),
        ("é漢", [.character("é"), .character("漢")]), ("\u{1B}[1;5Ax", [.up, .character("x")]),
        ("\u{1}\u{1B}[99Zx", [.character("x")]),
        ("\u{1B}q", [.escape, .character("q")]), ("\u{1B}\u{1B}[A", [.escape, .up]),
    ])
    func areRead(_ text: String, _ keys: [KeyStroke]) {
        var whole = KeyReader()
        #expect(whole.take(Array(text.utf8)) == keys && !whole.isWaiting)
        // In pieces, too.
        var pieces = KeyReader()
        #expect(text.utf8.flatMap { pieces.take([$0]) } == keys && !pieces.isWaiting)
    }

    @Test func aLoneEscapeIsAKeyOnlyWhenNothingFollows() {
        var reader = KeyReader()
        #expect(reader.take([0x1B]).isEmpty && reader.isWaiting)
        #expect(reader.flush() == [.escape] && !reader.isWaiting && reader.flush().isEmpty)
    }

    /// Whatever comes, nothing traps and nothing is kept for ever.
    @Test func bytesOfAnyKind() {
        var reader = KeyReader()
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max { _ = reader.take([first, second]) }
        }
        _ = reader.flush()
        _ = reader.take([0x1B, 0x5B] + [UInt8](repeating: 0x30, count: 10_000))
        #expect(!reader.isWaiting)
        #expect(reader.take([0xFF, 0xC3, 0x28, 0x61]) == [.character("("), .character("a")])
    }
}
