import DaemonSupport
import Glibc
import Loop
import Motion

/// A file that is written from start to end; `-` is standard output.
///
/// What is there under its name stays whole until `takeName`: a new file is written beside it, and nothing is left of that one
/// when something fails before. What cannot be replaced is written to at once: a pipe, a device, or a file in a directory that
/// lets none be made.
final class OutputFile {
    private let path: String
    private let descriptor: Int32
    /// What the new file is called until it takes its name.
    private var temporary: String?

    /// - Parameter isPrivate: What is in it is its owner's alone.
    init(_ path: String, isPrivate: Bool = false) throws(CommandFailure) {
        self.path = path
        guard path != "-" else {
            self.descriptor = STDOUT_FILENO
            return
        }
        let there = fileStatus(path)
        if Self.isStream(path, there) {
            self.descriptor = try Self.descriptor(of: path, isPrivate ? 0o600 : 0o666)
            return
        }
        // A directory lets a file be replaced that may not be written.
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        guard unsafe there == nil || access(path, W_OK) == 0 else {
            throw Self.failure(path, SystemError.last("access"))
        }
        // Not made of the name, which may be as long as names are.
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        let temporary = Self.directory(of: path) + ".jostle-\(number)"
        // Who could not read the one that is there cannot read the new one either.
        let mode = isPrivate ? 0o600 : (there?.st_mode ?? 0o666) & 0o666
        do throws(SystemError) {
            self.descriptor = try Self.open(temporary, O_EXCL | O_NOFOLLOW, mode)
            self.temporary = temporary
        } catch {
            // Where nothing new may be made, what is there can be written nevertheless; but others may be able to read that. Where
            // there is only no room for it, there would be none for what is written either, and what is there would be lost.
            guard there != nil, !isPrivate, [EACCES, EPERM, EROFS].contains(error.code) else {
                throw Self.failure(path, error)
            }
            self.descriptor = try Self.descriptor(of: path, mode)
        }
    }

    deinit {
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        if let temporary { unsafe unlink(temporary) }
        if self.descriptor != STDOUT_FILENO { close(self.descriptor) }
    }

    /// Whether it is no file in a directory, or leads to one that is open already: neither can be replaced.
    private static func isStream(_ path: String, _ status: stat?) -> Bool {
        if let status, status.st_mode & S_IFMT != S_IFREG { return true }
        return ["/dev/", "/proc/"].contains { path.hasPrefix($0) } && !path.hasPrefix("/dev/shm/")
    }

    /// The directory of a file, with the slash behind it; empty: the present one.
    private static func directory(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(decoding: path.utf8[...$0], as: UTF8.self) } ?? ""
    }

    /// What is there under a name, emptied.
    private static func descriptor(of path: String, _ mode: mode_t) throws(CommandFailure) -> Int32 {
        do throws(SystemError) {
            return try Self.open(path, O_TRUNC, mode)
        } catch {
            throw Self.failure(path, error)
        }
    }

    private static func open(_ path: String, _ flags: Int32, _ mode: mode_t) throws(SystemError) -> Int32 {
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        let opened = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode)
        guard opened >= 0 else { throw SystemError.last("open") }
        return opened
    }

    private static func failure(_ path: String, _ error: SystemError) -> CommandFailure {
        CommandFailure(.no, "cannot write \(path): \(error)")
    }

    func write(_ bytes: [UInt8]) throws(SystemError) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard self.descriptor != STDOUT_FILENO else {
            return try StandardStream.output.write(text, unless: isToldToEnd)
        }
        try writeAll(text, to: self.descriptor, unless: isToldToEnd)
    }

    /// Takes the place of what has its name. What is written afterwards is there at once.
    func takeName() throws(CommandFailure) {
        guard let temporary = self.temporary else { return }
        // SAFETY: both paths are NUL-terminated strings for the time of the call.
        guard unsafe rename(temporary, self.path) == 0 else {
            throw Self.failure(self.path, SystemError.last("rename"))
        }
        self.temporary = nil
    }

    /// Writes a file whole, or not at all.
    static func write(_ bytes: [UInt8], to path: String, isPrivate: Bool = false) throws(CommandFailure) {
        let file = try OutputFile(path, isPrivate: isPrivate)
        do throws(SystemError) {
            try file.write(bytes)
        } catch {
            // A reader that has enough is no failure.
            guard error.code == EPIPE else { throw CommandFailure(.no, "\(path): \(error)") }
        }
        try file.takeName()
    }

    /// Refuses what cannot be written, before somebody takes the trouble to make what is to be in it.
    static func checkPlace(_ path: String) throws(CommandFailure) {
        guard path != "-" else { return }
        guard !isDirectory(path) else { throw Self.failure(path, SystemError(code: EISDIR, function: "open")) }
        let place = fileStatus(path) == nil ? Self.directory(of: path) + "." : path
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        guard unsafe access(place, W_OK) == 0 else { throw Self.failure(path, SystemError.last("access")) }
    }

    /// Refuses to write to what is read, `-` for standard input.
    static func check(_ path: String, isNoneOf inputs: [String], of command: String) throws(UsageProblem) {
        guard path != "-", let output = fileStatus(path), output.st_mode & S_IFMT == S_IFREG else { return }
        for input in inputs {
            guard let status = fileStatus(input == "-" ? "/dev/stdin" : input), status.st_dev == output.st_dev,
                status.st_ino == output.st_ino
            else { continue }
            throw UsageProblem("\(command): '\(printable(path))' is read, and cannot be written to")
        }
    }
}
