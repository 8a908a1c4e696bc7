import Glibc

/// Finds our other programs beside the one that runs.
package enum OwnProgram {
    /// The path of a program in one of these directories, each as seen from that of the program that runs; `nil`: it is in none.
    package static func path(of name: String, in places: [String]) -> String? {
        var buffer = [CChar](repeating: 0, count: 4_096)
        // SAFETY: the kernel writes at most the buffer's size less one.
        let length = unsafe readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard length > 0 else { return nil }
        let own = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { return nil }
        return places.map { "\(own[...slash])\($0.isEmpty ? "" : "\($0)/")\(name)" }
            .first { self.isProgram($0) }
    }

    /// Whether a path is that of a file that may be run. Of a directory the same right says that it may be looked through, and the one of our
    /// examples is called as the command is.
    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        // SAFETY: the path is a NUL-terminated string for the time of the calls, and the structure is ours.
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
