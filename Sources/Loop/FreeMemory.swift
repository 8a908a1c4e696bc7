import CLinux

/// Memory that the process has and does not need.
package enum FreeMemory {
    /// Gives it back to the system; the C library keeps it otherwise. The corresponding C function is `malloc_trim`.
    package static func giveBack() {
        // It tells whether there was any, which nobody needs to know.
        _ = CLinux_malloc_trim(0)
    }
}
