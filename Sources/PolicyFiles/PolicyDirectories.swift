import Arbitration
import Glibc

/// Finds the policy files in their directories.
///
/// A file of the same name in a later directory replaces the earlier one, a link to /dev/null only takes it away. Files
/// count in the order of their names, whatever directory they are in. A user's directory is apart from the others: nothing in
/// it can replace what the administrator wrote.
package enum PolicyDirectories {
    /// Where policy is installed: the distribution's directory, then the administrator's.
    package static let system = ["/usr/share/jostle/policy.d", "/etc/jostle/policy.d"]

    /// Where a user adds rules of their own, which can only restrict.
    package static func user(_ environment: (String) -> String?) -> String? {
        // The variables are to be ignored when they hold no absolute path.
        let given = environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environment("HOME").flatMap { $0.hasPrefix("/") ? "\($0)/.config" : nil }
        return (given ?? home).map { "\($0)/jostle/policy.d" }
    }

    /// How files are named in messages.
    package enum Naming: Sendable {
        case path
        /// Without the directory, for logs that are the same on every machine.
        case fileName
    }

    /// Reads all files of the directories. One that is not there is empty.
    package static func load(
        system: [String], user: String? = nil, naming: Naming = .path
    ) -> (files: [PolicyFile], findings: [Finding]) {
        var findings: [Finding] = []
        var files: [PolicyFile] = []
        self.read(system, naming: naming, findings: &findings) { files.append($0) }
        if let user { self.read([user], .user, naming: naming, findings: &findings) { files.append($0) } }
        return (files, findings)
    }

    /// Reads the file of one name that counts: the one in the last directory that has it.
    ///
    /// - Returns: `nil` when there is none, or a link to /dev/null.
    static func load(_ name: String, from directories: [String]) -> (file: PolicyFile?, findings: [Finding]) {
        for directory in directories.reversed() {
            let path = "\(directory)/\(name)"
            switch self.read(path) {
            case .bytes(let bytes): return (PolicyFile(name: path, bytes: bytes), [])
            case .masked: return (nil, [])
            case .failed(_, ENOENT): continue
            case .failed(let what, let code): return (nil, [self.unreadable(path, what, code)])
            }
        }
        return (nil, [])
    }

    /// Reads the files of the directories one after the other, in their order, and hands each on.
    static func read(
        _ directories: [String], _ layer: PolicyLayer = .system, naming: Naming = .path, findings: inout [Finding],
        _ take: (PolicyFile) -> Void
    ) {
        // The index of the last directory that has a name.
        var places: [String: Int] = [:]
        for (index, directory) in directories.enumerated() {
            for name in self.names(in: directory, &findings) { places[name] = index }
        }
        for (name, place) in places.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            let path = "\(directories[place])/\(name)"
            let shown = naming == .path ? path : name
            switch self.read(path) {
            case .bytes(let bytes): take(PolicyFile(name: shown, layer: layer, bytes: bytes))
            case .masked: break
            case .failed(let what, let code): findings.append(self.unreadable(shown, what, code))
            }
        }
    }

    private static func unreadable(_ name: String, _ what: String, _ code: Int32) -> Finding {
        // SAFETY: strerror returns a NUL-terminated string that nobody changes before it is copied.
        let text = code == 0 ? "" : unsafe strerror(code).map { unsafe ": \(String(cString: $0))" } ?? ""
        return Finding(
            .unreadable, at: Place(file: name, line: 1), "\(what)\(text)", advice: "see who may read it, and what it is"
        )
    }

    /// The names of the policy files in a directory.
    private static func names(in directory: String, _ findings: inout [Finding]) -> [String] {
        // SAFETY: the stream is closed on every way out, and an entry is used before the next one is read.
        guard let stream = unsafe opendir(directory) else {
            if errno != ENOENT { findings.append(self.unreadable(directory, "the directory cannot be read", errno)) }
            return []
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasSuffix(".conf"), !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private enum Content {
        case bytes([UInt8])
        case masked
        case failed(String, Int32)
    }

    private static func read(_ path: String) -> Content {
        var status = stat()
        // SAFETY: the path is NUL-terminated for the call, and `status` is ours.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return .failed("the file cannot be opened", errno) }
        defer { close(descriptor) }
        guard unsafe fstat(descriptor, &status) == 0 else { return .failed("the file cannot be read", errno) }
        if status.st_mode & S_IFMT == S_IFCHR, status.st_rdev == makedev(1, 3) { return .masked }
        guard status.st_mode & S_IFMT == S_IFREG else { return .failed("it is not a file", 0) }
        guard status.st_size <= off_t(IniParser.mostBytes) else { return .failed("the file is too long", 0) }
        // One byte more than there should be: a file that grows meanwhile is read to its end, too.
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
        var length = 0
        while length <= IniParser.mostBytes {
            if length == bytes.count { bytes += [UInt8](repeating: 0, count: 65_536) }
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor, $0.baseAddress?.advanced(by: length), $0.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return .failed("the file cannot be read", errno) }
            if count == 0 { break }
            length += count
        }
        return .bytes(Array(bytes[..<length]))
    }

    /// The device number that the kernel makes of these two.
    private static func makedev(_ major: dev_t, _ minor: dev_t) -> dev_t { major << 8 | minor }
}
