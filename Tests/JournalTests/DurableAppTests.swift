import Arbitration
import Foundation
import Journal
import Motion
import TestSupport
import Testing

/// What apps registered for good, and who may have it again.
@Suite struct DurableAppTests {
    private static func app(
        _ name: String, user: UInt32 = 1_000, _ proof: IdentityProof = .name, detectors: [DetectorRequest] = []
    ) -> DurableApp {
        DurableApp(
            AppID(name), IdentityBinding(user: user, proof: proof), usage: "Skips, with 'quotes' and ünïcode",
            modes: WordSet([.audio, .push]), detectors: detectors)
    }

    private static let detectors = [
        DetectorRequest(
            name: "a b",
            options: ["preset": .text("shake.planar"), "threshold": .number(2.25), "every": .count(100_000)]),
        DetectorRequest(
            name: "skip", options: ["when": .text("x > 1g\n"), "loud": .flag(true), "quiet": .flag(false)]),
    ]

    /// What a store finds when it starts.
    private func found(_ place: Directory) throws -> [DurableApp] {
        let keeper = Keeper(place)
        var found: [[DurableApp]] = []
        _ = try keeper.epochs()
        // It comes before the first epochs, also when there is nothing.
        for news in keeper.store.takeNews() { if case .apps(let apps) = news { found.append(apps) } }
        try #require(found.count == 1)
        return found[0]
    }

    /// An app registered before the disk said what there was.
    @Test func whatIsOnTheDiskJoinsWhatCameBefore() {
        let old = Self.app("org.example.A", .unit, detectors: Self.detectors)
        let other = DetectorRequest(name: "other", options: ["when": .text("y > 1g")])
        var changed = Self.detectors[1]
        changed.options["when"] = .text("z > 1g")
        let joined = old.joined(by: Self.app("org.example.A", .flatpak, detectors: [other, changed]), without: [])
        #expect(joined.detectors == [Self.detectors[0], other, changed])
        #expect(joined.binding == IdentityBinding(user: 1_000, proof: .flatpak))
        #expect(old.joined(by: Self.app("org.example.A", .unit), without: ["a b"]).detectors == [Self.detectors[1]])
        // What is no app of his is not his.
        for later in [Self.app("org.example.A", user: 1_001, .flatpak), Self.app("org.example.A", .name)] {
            #expect(old.joined(by: later, without: ["a b"]) == old)
        }
    }

    /// Before the disk says what there was, one app registers and removes, another is forgotten, and a third does not come.
    @Test func whatCameBeforeTheDiskSpokeCounts() {
        let old = ["A", "B", "C"].map { Self.app("org.example.\($0)", detectors: Self.detectors) }
        let (id, gone, other) = (old[0].id, old[1].id, old[2].id)
        let late = DetectorRequest(name: "late", options: ["when": .text("y > 1g")])
        var apps = DurableApps()
        _ = apps.set(id, to: Self.app(id.name, detectors: [Self.detectors[0], late]))
        let left = apps.withdraw(["a b"], from: id)
        #expect(left?.detectors == [late])
        _ = apps.set(id, to: left)
        _ = apps.set(gone, to: old[1])
        _ = apps.set(gone, to: nil)
        let nothing = apps.withdraw(["skip"], from: other)
        #expect(nothing == nil)
        let joined = apps.restore(old)
        #expect(joined.map(\.id) == [id])
        #expect(joined.map(\.detectors) == [[late, Self.detectors[1]]])
        #expect(apps[gone] == nil && apps[other] == old[2])
        let isChange = apps.set(other, to: old[2])
        #expect(!isChange)
    }

    /// While the disk is silent somebody else has an app's name, and the app forgotten, or most of it withdrawn: it is not his.
    @Test func nobodyForgetsAnAppOfOthersBeforeTheDiskSpeaks() {
        let old = Self.app("org.example.A", .unit, detectors: Self.detectors)
        let others = [Self.app("org.example.A", user: 1_001, .flatpak), Self.app("org.example.A", .name)]
        for other in others {
            var apps = DurableApps()
            _ = apps.set(old.id, to: other)
            _ = apps.set(old.id, to: nil)
            // It is to be set again: the disk was told that it is forgotten.
            let forgotten = apps.restore([old])
            #expect(forgotten == [old])
            apps = DurableApps()
            _ = apps.set(old.id, to: other)
            for number in 0...DurableApps.mostWithdrawn { _ = apps.withdraw(["d\(number)"], from: old.id) }
            let withdrawn = apps.restore([old])
            #expect(withdrawn == [old])
            // The app itself comes behind the other, and has removed one.
            apps = DurableApps()
            _ = apps.set(old.id, to: other)
            _ = apps.withdraw(["skip"], from: old.id)
            _ = apps.set(old.id, to: nil)
            _ = apps.set(old.id, to: Self.app("org.example.A", .unit))
            _ = apps.withdraw(["a b"], from: old.id)
            let left = apps.restore([old])
            #expect(left.map(\.detectors) == [[Self.detectors[1]]])
        }
        var apps = DurableApps()
        _ = apps.set(old.id, to: Self.app("org.example.A", .unit))
        _ = apps.set(old.id, to: nil)
        let gone = apps.restore([old])
        #expect(gone.isEmpty && apps.all.isEmpty)
    }

    /// What is noted of removals while the disk is silent is bounded: who removes more than that has nothing left of before.
    @Test func whoRemovesVeryManyHasNothingOfBefore() {
        let old = Self.app("org.example.A", detectors: Self.detectors)
        let new = Self.app("org.example.A")
        for few in [true, false] {
            var apps = DurableApps()
            _ = apps.set(old.id, to: new)
            let count = DurableApps.mostWithdrawn + (few ? 0 : 1)
            for number in 0..<count { _ = apps.withdraw(["d\(number)"], from: old.id) }
            let joined = apps.restore([old])
            #expect(joined.map(\.detectors) == (few ? [Self.detectors] : []))
            #expect(apps[old.id] == new)
        }
    }

    /// An app registers before what the disk had of it is known; a broker that is killed then has lost nothing of that.
    @Test func nothingIsWrittenBeforeItIsJoined() throws {
        let place = try Directory()
        let old = Self.app("org.example.A", detectors: Self.detectors)
        do {
            let keeper = Keeper(place)
            try self.wait(keeper, for: keeper.store.set(old.id, to: old))
            keeper.close()
        }
        let keeper = Keeper(place, joins: false)
        let change = keeper.store.set(old.id, to: Self.app("org.example.A"))
        // The writer has had its turn, with all that there was.
        try keeper.keepAndWait(verdicts(1))
        #expect(try place.sql("state.db", "SELECT count(DISTINCT detector) FROM detector_option") == "2\n")
        #expect(!keeper.news.contains("committed(\(change))"))
        keeper.store.appsAreJoined()
        try self.wait(keeper, for: change)
        #expect(try place.sql("state.db", "SELECT count(DISTINCT detector) FROM detector_option") == "0\n")
        keeper.close()
    }

    private func wait(_ keeper: Keeper, for number: UInt64) throws {
        try keeper.until("change \(number)") { keeper.news.contains("committed(\(number))") }
    }

    @Test func whatIsCommittedIsFoundAgain() throws {
        let place = try Directory()
        #expect(try self.found(place) == [])
        let kept = [
            Self.app("org.example.A", .flatpak, detectors: Self.detectors), Self.app("org.example.B", user: .max),
            Self.app("org.example.b", detectors: [Self.detectors[0]]),
        ]
        do {
            let keeper = Keeper(place)
            for app in kept { _ = keeper.store.set(app.id, to: app) }
            try self.wait(keeper, for: keeper.store.set(AppID("org.example.Never"), to: nil))
            // Not closed: as if it had been killed.
        }
        #expect(try self.found(place) == kept)
    }

    /// The last word on each counts, whether it came before the disk or after.
    @Test func theLastWordCounts() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            let first = Self.app("org.example.A", detectors: Self.detectors)
            try self.wait(keeper, for: keeper.store.set(first.id, to: first))
            _ = keeper.store.set(first.id, to: nil)
            let second = Self.app("org.example.A", .unit, detectors: [Self.detectors[1]])
            _ = keeper.store.set(second.id, to: second)
            let gone = Self.app("org.example.Gone", detectors: Self.detectors)
            try self.wait(keeper, for: keeper.store.set(gone.id, to: gone))
            try self.wait(keeper, for: keeper.store.set(gone.id, to: nil))
            #expect(
                try place.sql("state.db", "SELECT count(*) FROM detector_option WHERE app = 'org.example.Gone'")
                    == "0\n")
        }
        #expect(try self.found(place) == [Self.app("org.example.A", .unit, detectors: [Self.detectors[1]])])
    }

    /// What another version or another program wrote there is left out, and nothing else.
    @Test func whatMakesNoSenseIsLeftOut() throws {
        let place = try Directory()
        let app = Self.app("org.example.A", detectors: [Self.detectors[0]])
        do {
            let keeper = Keeper(place)
            try self.wait(keeper, for: keeper.store.set(app.id, to: app))
            keeper.close()
        }
        try place.python(
            """
            c.execute("INSERT INTO app VALUES ('org.example.B', 0, 'oath', 'x', 'audio')")
            c.execute("INSERT INTO app VALUES ('org.example.C', -1, 'name', 'x', 'audio')")
            c.execute("INSERT INTO app VALUES ('org.example.D', 7, 'name', 'x', 'audio telepathy')")
            c.execute("INSERT INTO detector_option VALUES ('org.example.A', 'a b', 'rest', 'span', 1)")
            c.execute("INSERT INTO detector_option VALUES ('org.example.0', 'x', 'preset', 'text', 'shake')")
            c.execute("INSERT INTO detector_option VALUES ('org.example.Z', 'x', 'preset', 'text', 'shake')")
            c.commit()
            """, on: "state.db")
        let other = DurableApp(
            AppID("org.example.D"), IdentityBinding(user: 7, proof: .name), usage: "x", modes: WordSet([.audio]))
        #expect(try self.found(place) == [app, other])
    }

    /// Without the thread that writes nobody waits for it.
    @Test func whereNobodyWritesThatIsTold() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        _ = try keeper.epochs()
        keeper.close()
        let app = Self.app("org.example.A")
        _ = keeper.store.set(app.id, to: app)
        try keeper.until("the app is told") { keeper.news.contains { $0.hasPrefix("uncommitted(") } }
        var result: Result<JournalAnswer, JournalFailure>?
        keeper.store.forgetClips(of: nil) { result = $0 }
        try keeper.until("an answer") { result != nil }
        if case .success = try #require(result) { Issue.record("nobody can have forgotten them") }
    }

    /// Nobody is told that something is on the disk while it is not; once it is well, it is.
    @Test func aFailingDiskIsTold() throws {
        let place = try Directory()
        let app = Self.app("org.example.A", detectors: Self.detectors)
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            let script = """
                import signal, sqlite3, sys
                c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE'); print('held')
                signal.pause()
                """
            let holder = try BackgroundProgram(tool: ["python3", "-uc", script, place.file("state.db")])
            _ = try holder.waitForLine { $0 == "held" }
            let number = keeper.store.set(app.id, to: app)
            try keeper.until("the failure") { keeper.news.contains { $0.hasPrefix("uncommitted(") } }
            #expect(!keeper.news.contains("committed(\(number))"))
            try holder.signal(SIGKILL)
            try self.wait(keeper, for: number)
        }
        #expect(try self.found(place) == [app])
    }
}
