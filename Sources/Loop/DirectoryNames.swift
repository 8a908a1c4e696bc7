import Glibc

/// The names in a directory, in order, without `.` and `..`.
///
/// The corresponding C function is `readdir`.
package func directoryNames(_ path: String) throws(SystemError) -> [String] {
    // SAFETY: the path is a NUL-terminated string for the time of the call; the stream is closed on every way out.
    guard let stream = unsafe opendir(path) else { throw SystemError.last("opendir") }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while true {
        // Nothing else tells a failure from the end.
        errno = 0
        guard let entry = unsafe readdir(stream) else {
            guard errno == 0 else { throw SystemError.last("readdir") }
            return names.sorted()
        }
        // SAFETY: the name is NUL-terminated, within its field, and copied before the next entry is read.
        let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
    }
}
