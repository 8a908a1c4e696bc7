/// What SQLite shares with others beside a file, `-shm`: what stands in `-wal`, and where.
///
/// When it is removed, whoever opens the file next makes another one, of what stands in `-wal` then. What is committed with ours behind
/// that is not in theirs, and who goes on with theirs writes over it.
struct SharedFile: Sendable {
    let path: String
    /// As it was when we looked last.
    let status: FileStatus

    /// Looks whether it still is what others find by its name.
    @discardableResult
    func checkName() throws(StoreError) -> FileStatus {
        do throws(StoreError) {
            return try FileStatus.check(self.path, self.status)
        } catch {
            // Nobody needs it but for as long as it is open.
            throw error.code == .unavailable ? error : StoreError(.unshared, error.description)
        }
    }

    /// Looks whether what was read until now is what is there. SQLite waits for ten seconds in a commit that finds it otherwise.
    @discardableResult
    func check(for database: borrowing Database) throws(StoreError) -> FileStatus {
        let now = try self.checkName()
        guard !database.isStruck, now.size >= self.status.size else {
            throw StoreError(.unshared, "\(self.path) was cut short")
        }
        return now
    }
}
