import TestSupport

/// What a process has in memory of its own. How much of its program and its libraries is there is the kernel's business, which takes
/// it back when it likes.
struct Resident {
    let own, files: Int

    var all: Int { self.own + self.files }

    init(of pid: Int32) throws {
        // Counted page by page: the sums in `status` are of processors that have not told all of theirs.
        func sum(_ field: String) throws -> Int { try ProcessValue.size(field, in: "smaps_rollup", of: pid) }
        self.own = try sum("Anonymous") + sum("Pss_Shmem")
        self.files = try sum("Rss") - self.own
    }
}
