import Glibc

/// Removes a file, or a directory with all that is in it, as far as that may be removed.
///
/// Others may write in there, and put a link in the place of a directory meanwhile: what is removed stands in a directory that was opened,
/// and no link is followed. The corresponding C functions are `openat` and `unlinkat`.
package func removeAll(_ path: String) { removeAll(path, in: AT_FDCWD) }

private func removeAll(_ name: String, in directory: Int32) {
    // SAFETY: the directory is open, and the name a NUL-terminated string for the time of the call; so below.
    guard unsafe unlinkat(directory, name, 0) != 0 else { return }
    let raw = unsafe openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard raw >= 0 else { return }
    let opened = OwnedDescriptor(adopting: raw)
    for inner in (try? directoryNames("/proc/self/fd/\(opened.raw)")) ?? [] { removeAll(inner, in: opened.raw) }
    unsafe unlinkat(directory, name, AT_REMOVEDIR)
}
