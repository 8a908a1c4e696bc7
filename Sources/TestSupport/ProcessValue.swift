import Glibc

/// What the system says of processes.
package enum ProcessValue {
    /// A size in one of the files of `/proc/PID`, in bytes.
    package static func size(_ field: String, in file: String = "status", of pid: Int32) throws(Failure) -> Int {
        let path = "/proc/\(pid)/\(file)"
        for line in try self.text(of: path).split(separator: "\n") where line.hasPrefix("\(field):") {
            // Rss:       1234 kB
            let words = line.split(whereSeparator: \.isWhitespace)
            if words.count == 3, let kibibytes = Int(words[1]) { return kibibytes << 10 }
        }
        throw Failure("\(path) has no size \(field)")
    }

    /// The kernel makes such a file up while it is read, and has all of it read at once.
    private static func text(of path: String) throws(Failure) -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("open \(path)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw .system("read \(path)") }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
