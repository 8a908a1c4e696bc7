import Glibc

/// Opens files and directories, and if need be only such as are below another directory, wherever links lead.
enum ConfinedFile {
    /// - Parameter root: Where it has to be, and whose it has to be; `nil`: anywhere, and anybody's.
    /// - Returns: A descriptor, or what the kernel says; `EXDEV` of what is elsewhere or another's.
    static func open(_ path: String, within root: String?, _ flags: Int32) -> (descriptor: Int32, code: Int32) {
        guard let root else { return self.open(path, flags) }
        // To open a device or a pipe does something, and a link may lead to any: it is named first, and opened when it is known
        // to stand where it has to.
        let (name, code) = self.open(path, self.nameOnly | flags & O_DIRECTORY)
        guard code == 0 else { return (-1, code) }
        defer { close(name) }
        let refusal = self.code(of: name, within: root)
        return refusal == 0 ? self.open("/proc/self/fd/\(name)", flags) : (-1, refusal)
    }

    private static func open(_ path: String, _ flags: Int32) -> (descriptor: Int32, code: Int32) {
        // SAFETY: the path is NUL-terminated for the call.
        let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        return descriptor >= 0 ? (descriptor, 0) : (-1, errno)
    }

    /// `O_PATH`, which module Glibc does not show.
    private static let nameOnly: Int32 = 0o10000000

    /// Looks at what was named, and not at the path again: whatever links lead to by then.
    private static func code(of descriptor: Int32, within root: String) -> Int32 {
        // SAFETY: the path is NUL-terminated for the call.
        let directory = unsafe Glibc.open(root, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK)
        guard directory >= 0 else { return errno }
        defer { close(directory) }
        var (own, other) = (stat(), stat())
        // SAFETY: both structures are ours.
        guard unsafe fstat(directory, &own) == 0, unsafe fstat(descriptor, &other) == 0 else { return errno }
        guard let base = self.path(of: directory), let path = self.path(of: descriptor) else { return ENOENT }
        return path.starts(with: base + [UInt8(ascii: "/")]) && own.st_uid == other.st_uid ? 0 : EXDEV
    }

    /// Where the kernel says that something stands.
    private static func path(of descriptor: Int32) -> [UInt8]? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        // SAFETY: the kernel writes at most as many bytes as there are.
        let count = unsafe readlink("/proc/self/fd/\(descriptor)", &path, path.count)
        return count > 0 && count < path.count ? path[..<count].map { UInt8(bitPattern: $0) } : nil
    }
}
