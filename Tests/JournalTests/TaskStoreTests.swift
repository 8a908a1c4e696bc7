import Arbitration
import Background
import Journal
import Motion
import TestSupport
import Testing

/// Tasks that outlive the broker.
@Suite struct TaskStoreTests {
    private static let owner = TaskOwner(AppID("org.example.Mail"), user: 1_000)
    private static let other = TaskOwner(AppID("org.example.Mail"), user: 1_001)

    private static func record(
        _ identifier: String, of owner: TaskOwner = owner, attempt: UInt32 = 0, isDiscretionary: Bool = false,
        latest: Int64? = nil, needs: [TaskNeed] = []
    ) -> TaskRecord {
        let request = TaskRequest(
            identifier, isDiscretionary ? .processing : .refresh,
            earliest: Timestamp(microseconds: 1_700_000_000_000_000),
            latest: latest.map { Timestamp(microseconds: $0) }, needs: WordSet(needs), isDiscretionary: isDiscretionary)
        return TaskRecord(owner, request, attempt: attempt)
    }

    /// What a store finds when it starts.
    private func found(_ place: Directory) throws -> (tasks: [TaskRecord], terminated: [TaskOwner]) {
        let keeper = Keeper(place)
        var found: (tasks: [TaskRecord], terminated: [TaskOwner]) = ([], [])
        _ = try keeper.epochs()
        for news in keeper.store.takeNews() {
            if case .restoredTasks(let tasks, let terminated) = news { found = (tasks, terminated) }
        }
        return found
    }

    /// Waits until all changes up to this one are on the disk.
    private func wait(_ keeper: Keeper, for number: UInt64) throws {
        try keeper.until("change \(number)") {
            keeper.news.contains { $0.hasPrefix("tasksKept") && $0.contains(": \(number))") }
        }
    }

    @Test func whatIsSaidToBeKeptIsFoundAgain() throws {
        let place = try Directory()
        var waiting = Self.record("wait")
        waiting.wait = TaskWait(
            until: Timestamp(microseconds: 5), .seconds(900), since: Timestamp(microseconds: 1_700_000_000_000_000))
        let kept = [
            Self.record("news", attempt: 2),
            Self.record("sync", isDiscretionary: true, latest: 1_800_000_000_000_000, needs: [.idle, .power]),
            waiting,
            Self.record("sync", of: Self.other),
        ]
        do {
            let keeper = Keeper(place)
            keeper.store.forget(Self.owner, task: "never")
            _ = keeper.store.keep(Self.record("news", attempt: 1))
            _ = keeper.store.keep(Self.record("gone"))
            keeper.store.forget(Self.owner, task: "gone")
            keeper.store.keep(Self.other, isTerminated: true)
            keeper.store.keep(Self.owner, isTerminated: true)
            keeper.store.keep(Self.owner, isTerminated: false)
            var last: UInt64 = 0
            for record in kept { last = keeper.store.keep(record) }
            #expect(last == 11)
            try self.wait(keeper, for: last)
            // Not closed: as if it had been killed.
        }
        let found = try self.found(place)
        #expect(found.tasks == kept)
        #expect(found.terminated == [Self.other])
    }

    @Test func whatIsForgottenIsGone() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            try self.wait(keeper, for: keeper.store.keep(Self.record("sync")))
            keeper.store.forget(Self.owner, task: "sync")
            keeper.close()
        }
        #expect(try self.found(place).tasks == [])
    }

    @Test func whatMakesNoSenseIsLeftOut() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            _ = keeper.store.keep(Self.record("sync"))
            _ = keeper.store.keep(Self.record("kind"))
            _ = keeper.store.keep(Self.record("needs"))
            keeper.close()
        }
        try place.python(
            """
            c.execute("UPDATE task SET kind = 'hourly' WHERE identifier = 'kind'")
            c.execute("UPDATE task SET needs = 'idle rain' WHERE identifier = 'needs'")
            c.execute("INSERT INTO task VALUES (-1, 'a', 'b', 'refresh', 0, NULL, '', 0, 0, NULL, NULL, NULL)")
            c.commit()
            """, on: "state.db")
        #expect(try self.found(place).tasks == [Self.record("sync")])
    }

    /// A file of a version that knew no tasks gets their tables, and keeps what it has.
    @Test func anOlderFileIsBroughtUpToDate() throws {
        let place = try Directory()
        do {
            let keeper = Keeper(place)
            _ = try keeper.epochs()
            keeper.close()
        }
        let reserved = try place.sql("state.db", "SELECT reserved FROM epochs")
        try place.python(
            "c.executescript('DROP TABLE task; DROP TABLE terminated; DROP TABLE app; DROP TABLE detector_option;"
                + " ALTER TABLE due DROP COLUMN strength; PRAGMA user_version = 3')", on: "state.db")
        do {
            let keeper = Keeper(place)
            try self.wait(keeper, for: keeper.store.keep(Self.record("sync")))
            keeper.close()
        }
        #expect(try place.sql("state.db", "SELECT identifier FROM task") == "sync\n")
        #expect(try place.sql("state.db", "SELECT reserved > \(reserved.dropLast()) FROM epochs") == "1\n")
    }
}
