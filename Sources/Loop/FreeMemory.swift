import CLinux

/// Memory that the process has, and what of it it does not need.
package enum FreeMemory {
    /// How many bytes the program holds, as the C library counts what it was asked for. The corresponding C function is `mallinfo2`.
    package static var held: Int { Int(clamping: CLinux_malloc_held()) }

    /// Gives it back to the system; the C library keeps it otherwise. The corresponding C function is `malloc_trim`.
    package static func giveBack() {
        // It tells whether there was any, which nobody needs to know.
        _ = CLinux_malloc_trim(0)
    }

    /// Gives back what only ran or was read so far: what goes on brings back what it needs. For the end of something that comes
    /// once, such as a start, or a flood of calls.
    ///
    /// With each page of a program that runs, the kernel brings 16, so that a start leaves most of the program in memory.
    /// To bring back one takes half a microsecond. The corresponding C function is `madvise` with `MADV_DONTNEED`.
    package static func forgetWhatRan() {
        self.giveBack()
        CLinux_unmap_code()
    }
}
