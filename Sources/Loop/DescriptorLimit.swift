import Glibc

/// How many descriptors this process may have open. The corresponding C function is `getrlimit`.
package func descriptorLimit() -> Int {
    var limit = rlimit()
    // SAFETY: the pointer is valid for the call.
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    return Int(clamping: limit.rlim_cur)
}

/// Raises the number of descriptors this process may have open to what the system allows it.
///
/// Every client is a descriptor, and the soft limit of 1024 exists only for the sake of `select`. A refusal leaves the
/// limit as it is. The corresponding C function is `setrlimit`.
package func raiseDescriptorLimit() {
    var limit = rlimit()
    // SAFETY: the pointers are valid for the calls.
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    guard limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
