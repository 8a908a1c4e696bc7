import Glibc

/// Bounds how much memory the process may have, in bytes: what asks for more gets none. Where the kernel does not let it, all stays as it is.
///
/// A C library says so and goes on; Swift ends the process. So the bound is to be far above what the process itself needs, and below
/// what somebody else could have a library ask for. The corresponding C function is `setrlimit`, with `RLIMIT_DATA`.
package func limitMemory(to bytes: Int) {
    var limit = rlimit()
    // SAFETY: both calls read or fill `limit`, which is ours.
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_cur, rlim_t(clamping: bytes))
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
}
