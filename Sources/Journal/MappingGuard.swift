import CLinux
import CSQLite

/// Keeps a `-shm` file that somebody cuts short from ending the program.
///
/// SQLite maps `-shm`, and so does everybody who reads beside us; touching what is not there any more raises SIGBUS. The
/// index that stands there can always be made anew of `-wal`, so an empty one in its place does no harm as long as nothing
/// is committed with it: `Database` looks at the strikes before each commit, and whoever was struck opens the file anew.
enum MappingGuard {
    /// Whether SQLite's mappings are guarded, which they are from the first file on.
    private static let isOn: Bool = {
        // SAFETY: both functions do what mmap and munmap do, from any thread and for as long as the program lives.
        guard unsafe CSQLite_map_with(CLinux_guarded_mmap, CLinux_guarded_munmap) == SQLITE_OK else { return false }
        // Where that cannot be, what cannot be read counts as damaged, and a quota at its end as a disk that fails.
        _ = CSQLite_tell_apart()
        return CLinux_guard_mappings() == 0
    }()

    static func turnOn() throws(StoreError) {
        guard self.isOn else { throw StoreError(.unavailable, "this SQLite maps files that nobody can guard") }
    }

    /// How often something was not there that had been, in this thread: a database belongs to one.
    static var strikes: UInt32 { CLinux_mapping_strikes() }
}
