/// The journal as another program reads it, also while a broker writes it. Nothing is changed.
package struct JournalReader: ~Copyable {
    private let database: Database

    /// Opens the journal in a broker's directory.
    package init(in directory: String) throws(JournalFailure) {
        let path = "\(directory)/journal.db"
        guard StoreFile.size(path) != nil else { throw JournalFailure(description: "there is no journal \(path)") }
        do throws(StoreError) {
            let database = try Database(path, readOnly: true)
            try database.execute("PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;")
            let kind = JournalStore.kind
            guard try database.number("PRAGMA application_id") == Int64(kind.applicationID) else {
                throw StoreError(.broken, "\(path) is no journal")
            }
            guard try database.number("PRAGMA user_version") == Int64(kind.migrations.count) else {
                throw StoreError(.broken, "\(path) was made by another version")
            }
            self.database = database
        } catch {
            throw JournalFailure(description: error.description)
        }
    }

    /// Fetches the verdicts that are asked for.
    package borrowing func answer(_ query: JournalQuery) throws(JournalFailure) -> JournalAnswer {
        do throws(StoreError) {
            let answer = try query.answer(from: self.database)
            if self.database.isStruck { throw StoreError(.unshared, "the journal was cut short while it was read") }
            return answer
        } catch {
            throw JournalFailure(description: error.description)
        }
    }
}
