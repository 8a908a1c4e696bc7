import Arbitration
import Foundation
import Journal
import Motion
import TestSupport
import Testing

/// A directory is one broker's, and everybody's to read.
@Suite struct OneBrokerTests {
    private static var impatient: StoreLimits {
        var limits = Keeper.quick
        limits.lockPatience = .milliseconds(100)
        return limits
    }

    @Test func aSecondOneIsRefusedAndDoesNoHarm() throws {
        let place = try Directory()
        let first = Keeper(place)
        let block = try first.epochs()
        try first.keepAndWait(verdicts(5))
        let second = Keeper(place, limits: Self.impatient)
        let refusal = #expect(throws: DirectoryInUse.self) { try second.epochs() }
        #expect(refusal?.description.contains(place.path) ?? false)
        second.keep(verdicts(5, after: 100))
        second.close()
        #expect(second.store.counts.written == 0)
        #expect(first.store.health == .ok)
        try first.keepAndWait(verdicts(5, after: 200))
        #expect(try first.ask(JournalQuery()).verdicts.count == 20)
        // Nobody reserved any.
        #expect(try place.sql("state.db", "SELECT reserved FROM epochs") == "\(block.end)\n")
    }

    /// Another program that is killed leaves the directory to whoever comes next; one that ends is waited for.
    @Test func itIsFreeWhenItsBrokerIsGone() throws {
        let place = try Directory()
        #expect(try Tool.run(["mkdir", "-p", place.path]).status == 0)
        let holder = try BackgroundProgram(tool: [
            "python3", "-uc",
            "import fcntl,signal,sys;f=open(sys.argv[1],'w');fcntl.flock(f,fcntl.LOCK_EX);print('held');signal.pause()",
            place.file("lock"),
        ])
        _ = try holder.waitForLine { $0 == "held" }
        let refused = Keeper(place, limits: Self.impatient)
        #expect(throws: DirectoryInUse.self) { try refused.epochs() }
        refused.close()
        var patient = Keeper.quick
        patient.lockPatience = .seconds(20)
        let keeper = Keeper(place, limits: patient)
        try holder.signal(SIGKILL)
        _ = try keeper.epochs()
        try keeper.keepAndWait(verdicts(1))
    }

    /// Which files are there, by number.
    private func files(_ place: Directory) throws -> String {
        try Tool.run(["sh", "-c", "cd '\(place.path)' && stat -c '%n %i' *.db *-wal && ls"]).stdout
    }

    /// Whoever takes the lock away takes nothing that is kept: it is made anew, and keeps others out again.
    @Test(arguments: ["rm lock", "mv lock lock.away", "touch new && mv new lock"])
    func theLockIsMadeAnew(_ fate: String) throws {
        let place = try Directory()
        let keeper = Keeper(place)
        _ = try keeper.epochs()
        try keeper.keepAndWait(verdicts(5))
        try #require(Tool.run(["sh", "-c", "cd '\(place.path)' && \(fate)"]).status == 0)
        // Free for a moment, and no longer.
        let isHeld = "import fcntl,sys\nwith open(sys.argv[1]) as f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"
        try keeper.until("it is held") {
            ((try? Tool.run(["python3", "-c", isHeld, place.file("lock")]))?.stderr ?? "").contains("BlockingIOError")
        }
        try keeper.keepAndWait(verdicts(5, after: 100))
        #expect(throws: DirectoryInUse.self) { try Keeper(place, limits: Self.impatient).epochs() }
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "20\n")
        #expect(!place.has("journal.db.broken") && !place.has("state.db.broken"))
        #expect(keeper.store.health == .ok && !keeper.news.contains { $0.hasPrefix("failed") }, "\(keeper.news)")
    }

    /// Another one that was faster has the directory, and all that is there, until it ends.
    @Test func theLockMayBeTakenByAnother() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        let end = try keeper.epochs().end
        try keeper.keepAndWait(verdicts(5))
        let files = try self.files(place)
        let script = """
            import fcntl, os, signal, sys
            f = open(sys.argv[1] + '.new', 'w'); fcntl.flock(f, fcntl.LOCK_EX); os.rename(f.name, sys.argv[1])
            print('held'); signal.pause()
            """
        let holder = try BackgroundProgram(tool: ["python3", "-uc", script, place.file("lock")])
        _ = try holder.waitForLine { $0 == "held" }
        try keeper.until("it is said") {
            keeper.news.contains { $0.hasPrefix("failed") && $0.contains("another broker keeps its state") }
        }
        #expect(keeper.store.health == .degraded)
        keeper.keep(verdicts(5, after: 100))
        keeper.store.useEpochs(upTo: end)
        #expect(try self.files(place) == files)
        #expect(keeper.store.counts.written == 10)
        try holder.signal(SIGKILL)
        try keeper.until("recovery") { keeper.store.health == .ok && keeper.store.counts.written == 20 }
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "20\n")
        #expect(try self.files(place) == files)
        #expect(keeper.news.filter { $0.hasPrefix("failed") }.count == 1, "\(keeper.news)")
        keeper.close()
        #expect(try Keeper(place, started: 1).epochs().first > end)
    }

    /// A lock that cannot be made is said; what is kept goes on.
    @Test func theLockMayBeNoFile() throws {
        let place = try Directory()
        let keeper = Keeper(place)
        _ = try keeper.epochs()
        try #require(symlink("nowhere", place.file("new")) == 0 && rename(place.file("new"), place.file("lock")) == 0)
        try keeper.until("it is said") { keeper.news.contains { $0.hasPrefix("failed") && $0.contains("lock") } }
        try keeper.keepAndWait(verdicts(5))
        try #require(unlink(place.file("lock")) == 0)
        try keeper.until("recovery") { keeper.store.health == .ok && place.has("lock") }
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "10\n")
        #expect(!keeper.news.contains { $0.hasPrefix("setAside") }, "\(keeper.news)")
    }

    /// A writer that does not come back is noticed by whoever waits for it; here it waits for a directory.
    @Test func aWriterThatDoesNotAnswerIsNoticed() throws {
        let place = try Directory()
        let first = Keeper(place)
        _ = try first.epochs()
        var limits = Keeper.quick
        limits.lockPatience = .seconds(60)
        limits.longestSilence = .milliseconds(200)
        let second = Keeper(place, started: 2_000_000, limits: limits)
        let alarm = try #require(second.store.alarmDescriptor)
        _ = second.store.set(AppID("org.example.Player"), to: nil)
        // It is told each time; who looks too late looks once more before.
        for times in 1...2 {
            try second.until("it is said") {
                var descriptor = pollfd(fd: alarm, events: Int16(POLLIN), revents: 0)
                if poll(&descriptor, 1, 0) == 1 {
                    second.store.noteSilence()
                    // It is set for the next time.
                    #expect(poll(&descriptor, 1, 0) == 0)
                }
                return second.news.count { $0.hasPrefix("uncommitted") } >= times
            }
        }
        #expect(second.store.health == .degraded)
        #expect(second.news.filter { $0.hasPrefix("failed") }.count == 1, "\(second.news)")
        first.close()
        try second.until("recovery") { second.store.health == .ok }
        // It has nothing to do, and nobody is woken.
        var descriptor = pollfd(fd: alarm, events: Int16(POLLIN), revents: 0)
        #expect(poll(&descriptor, 1, 200) == 0)
        second.store.noteSilence()
        #expect(second.store.health == .ok)
    }

    /// Programs that read, with SQL or as `jostle` does, see what is there, whoever has the directory.
    @Test func anybodyMayRead() throws {
        let place = try Directory()
        let given = verdicts(20)
        let keeper = Keeper(place)
        try keeper.keepAndWait(given)
        for round in 0..<20 {
            #expect(try JournalReader(in: place.path).answer(JournalQuery()).verdicts.count == given.count + 2 * round)
            #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "\(given.count + 2 * round)\n")
            try keeper.keepAndWait(verdicts(1, after: UInt64(1_000 + round)))
        }
        #expect(keeper.store.health == .ok && !keeper.news.contains { $0.hasPrefix("failed") })
        keeper.close()
        #expect(try JournalReader(in: place.path).answer(JournalQuery()).verdicts.count == given.count + 40)
    }
}
