import Background

/// What must outlive the broker, whatever happens to the power: `state.db`.
///
/// Each thing that is kept brings its tables as one more migration.
struct StateStore: ~Copyable {
    var file: StoreFile

    static let kind = StoreFile.Kind(
        applicationID: 0x4A73_7401,
        migrations: [
            StoreFile.firstMigration,
            // The other number is the first with every bit turned, so that a disk cannot change one of them unnoticed.
            """
            CREATE TABLE epochs (
                id INTEGER PRIMARY KEY CHECK (id = 0), reserved INTEGER NOT NULL, inverse INTEGER NOT NULL) STRICT;
            INSERT INTO epochs VALUES (0, 0, -1);
            """,
            dueTable,
            taskTables,
            appTables,
            dueStrength,
            taskWaits,
        ], isDurable: true, check: { database throws(StoreError) in _ = try StateStore.reservedEpochs(in: database) })

    init(_ file: consuming StoreFile) {
        self.file = file
    }

    /// What is there for whoever starts.
    struct Content {
        let apps: [DurableApp]
        let due: [DueEvent]
        let tasks: [TaskRecord]
        let terminated: [TaskOwner]

        init(of database: borrowing Database) throws(StoreError) {
            self.apps = try StateStore.apps(in: database)
            self.due = try StateStore.due(in: database)
            self.tasks = try StateStore.tasks(in: database)
            self.terminated = try StateStore.terminatedApps(in: database)
        }
    }

    /// Up to where epochs may have been given out, by us or by whoever ran before.
    borrowing func reservedEpochs() throws(StoreError) -> UInt64 {
        try Self.reservedEpochs(in: self.file.database)
    }

    private static func reservedEpochs(in database: borrowing Database) throws(StoreError) -> UInt64 {
        let statement = try database.prepare("SELECT reserved, inverse FROM epochs")
        guard try statement.step() else { throw StoreError(.broken, "state.db has no epochs") }
        let reserved = statement.number(0)
        guard reserved >= 0, statement.number(1) == ~reserved else {
            throw StoreError(.broken, "state.db has changed its epochs")
        }
        return UInt64(reserved)
    }

    /// Reserves so many epochs from `floor` on, or from the end of what is reserved already. On the disk when it returns.
    mutating func reserveEpochs(_ count: UInt64, from floor: UInt64) throws(StoreError) -> EpochBlock {
        try self.makeRoomBeside()
        return try self.file.transaction { () throws(StoreError) in
            let first = max(try self.reservedEpochs(), floor)
            let block = EpochBlock(first: first, end: first.addingReportingOverflow(count).partialValue)
            guard block.end > first, let end = Int64(exactly: block.end) else {
                throw StoreError(.broken, "\(self.file.path) has run out of epochs")
            }
            try self.file.database.execute("UPDATE epochs SET reserved = \(end), inverse = \(~end)")
            return block
        }
    }

    /// Extends what is reserved, and never shortens it.
    mutating func extendEpochs(to end: UInt64) throws(StoreError) {
        try self.makeRoomBeside()
        try self.file.transaction { () throws(StoreError) in
            let end = Int64(clamping: max(try self.reservedEpochs(), end))
            try self.file.database.execute("UPDATE epochs SET reserved = \(end), inverse = \(~end)")
        }
    }

    /// Writes something that changes nothing, to see whether that is possible.
    mutating func probe() throws(StoreError) {
        try self.makeRoomBeside()
        try self.file.probe()
    }

    /// Sees to it that what is written next finds room beside the file.
    mutating func makeRoomBeside() throws(StoreError) { try self.file.makeRoomBeside(limit: Self.mostBeside) }

    /// So much may stand beside the file while another program reads, or while the disk takes nothing in its place.
    private static let mostBeside: Int64 = 64 << 20

    /// Makes the file whole without what stands beside it.
    mutating func checkpoint() throws(StoreError) { try self.file.checkpoint() }
}

/// Epochs that nobody else gives out, and nobody will after a restart.
package struct EpochBlock: Equatable, Sendable {
    package var first: UInt64
    /// The first one behind it.
    package var end: UInt64

    package init(first: UInt64, end: UInt64) {
        self.first = first
        self.end = end
    }
}
