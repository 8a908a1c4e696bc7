package import FleetCore
import Glibc
package import Loop

/// What is wanted of a device, on the disk: each state in a directory of its own, and two links that say which counts.
///
///     current -> 17        what the broker reads: current/policy.d, current/apps.d
///     confirmed -> 16      what is gone back to
///     last                 what the last attempt came to
///     16/, 17/             each with policy.d, apps.d, and the whole state
///
/// A state is written beside, with a name that nobody reads, and gets its own when all of it is there. What counts changes by one
/// rename of a link. So whoever reads at any time, also after a kill, reads all of one state. Not `Sendable`: one process, one thread.
package final class DesiredStore {
    /// The directory; nobody else writes there.
    package let path: String
    /// Called before each change of the disk: what it throws comes out. For whoever looks what a kill between two of them does.
    private let beforeChange: () throws(SystemError) -> Void

    package init(
        _ path: String, beforeChange: @escaping () throws(SystemError) -> Void = {}
    ) throws(SystemError) {
        self.path = path
        self.beforeChange = beforeChange
        try self.makeDirectory(path)
        if try self.target(of: Self.current) == nil {
            if !Self.isThere("\(path)/0") { try self.write(.none) }
            try self.point(Self.confirmed, at: 0)
            try self.point(Self.current, at: 0)
        }
    }

    /// Where the broker finds what is in force.
    package var policyDirectory: String { "\(self.path)/\(Self.current)/policy.d" }
    package var appDirectory: String { "\(self.path)/\(Self.current)/apps.d" }
    /// Where a staged state is.
    package func stagedPolicyDirectory(_ version: UInt64) -> String { "\(self.path)/\(version)/policy.d" }
    package func stagedAppDirectory(_ version: UInt64) -> String { "\(self.path)/\(version)/apps.d" }

    private static let current = "current"
    private static let confirmed = "confirmed"
    private static let last = "last"
    private static let whole = "desired"
    private static let unfinished = "."

    // MARK: Reading

    /// What is known from before.
    ///
    /// - Parameter onDamage: Hears of the file of a state that cannot be used. Of that state the files are known then that the
    ///   broker reads, and nothing else.
    package func memory(onDamage: (_ file: String) -> Void = { _ in }) throws(SystemError) -> DesiredMemory {
        let attempt = (try self.read("\(self.path)/\(Self.last)")).flatMap { try? JSONCoding.read($0) }
        let (current, confirmed) = (try self.target(of: Self.current), try self.target(of: Self.confirmed))
        let inForce = try self.state(current, onDamage)
        let back = try confirmed == current ? inForce : self.state(confirmed, onDamage)
        return DesiredMemory(
            inForce: inForce, confirmed: back, last: attempt.flatMap { DesiredMemory.Attempt($0) })
    }

    private func state(_ version: UInt64?, _ onDamage: (_ file: String) -> Void) throws(SystemError) -> DesiredState {
        // The first one has no version that anybody could want.
        guard let version, version > 0 else { return .none }
        let file = "\(self.path)/\(version)/\(Self.whole)"
        if let bytes = try self.read(file), let value = try? JSONCoding.read(bytes),
            let state = try? DesiredState(value)
        {
            return state
        }
        onDamage(file)
        return DesiredState(
            version: version, policy: Self.files(self.stagedPolicyDirectory(version)),
            apps: Self.files(self.stagedAppDirectory(version)))
    }

    private static func files(_ directory: String) -> [DesiredFile]? {
        var files: [DesiredFile] = []
        for name in (try? directoryNames(directory)) ?? [] {
            guard
                let bytes = try? InputFile.contents(of: "\(directory)/\(name)", atMost: DesiredLimits.fileBytes)
            else { continue }
            files.append(DesiredFile(name, String(decoding: bytes, as: UTF8.self)))
        }
        return files.isEmpty ? nil : files
    }

    private func target(of link: String) throws(SystemError) -> UInt64? {
        var buffer = [CChar](repeating: 0, count: 64)
        // SAFETY: the kernel writes at most the buffer's size less one; the path lives for the call.
        let length = unsafe readlink("\(self.path)/\(link)", &buffer, buffer.count - 1)
        guard length > 0 else {
            guard errno == ENOENT else { throw SystemError.last("readlink") }
            return nil
        }
        return UInt64(String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    private func read(_ path: String) throws(SystemError) -> [UInt8]? {
        guard Self.isThere(path) else { return nil }
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = try file.read(into: &buffer), count > 0, bytes.count < 4 * DesiredLimits.bytes {
            bytes += buffer[..<count]
        }
        return bytes
    }

    private static func isThere(_ path: String) -> Bool {
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        unsafe access(path, F_OK) == 0
    }

    // MARK: Writing

    /// Writes a state beside what is in force.
    package func stage(_ state: DesiredState) throws(SystemError) {
        let (current, confirmed) = (try self.target(of: Self.current), try self.target(of: Self.confirmed))
        // What counts is never written anew. What counts no more may be something else.
        guard state.version != current, state.version != confirmed else { return }
        if Self.isThere("\(self.path)/\(state.version)") { try self.remove("\(self.path)/\(state.version)") }
        try self.write(state)
    }

    /// Puts a state that was staged in the place of what is in force.
    package func switchTo(_ version: UInt64) throws(SystemError) { try self.point(Self.current, at: version) }

    /// Makes a state what is gone back to. What counts no more from then on stays until `clear`: that it cannot be removed is no reason to
    /// go back to it.
    package func keep(_ version: UInt64) throws(SystemError) { try self.point(Self.confirmed, at: version) }

    package func note(_ attempt: DesiredMemory.Attempt) throws(SystemError) {
        let new = "\(self.path)/\(Self.unfinished)\(Self.last)"
        try self.write(JSONCoding.bytes(attempt.value), to: new)
        try self.rename(new, "\(self.path)/\(Self.last)")
    }

    private func write(_ state: DesiredState) throws(SystemError) {
        let new = "\(self.path)/\(Self.unfinished)new"
        if Self.isThere(new) { try self.remove(new) }
        for directory in [new, "\(new)/policy.d", "\(new)/apps.d"] { try self.makeDirectory(directory) }
        for file in state.policy ?? [] { try self.write(Array(file.text.utf8), to: "\(new)/policy.d/\(file.name)") }
        for file in state.apps ?? [] { try self.write(Array(file.text.utf8), to: "\(new)/apps.d/\(file.name)") }
        try self.write(JSONCoding.bytes(state.value), to: "\(new)/\(Self.whole)")
        for directory in ["\(new)/policy.d", "\(new)/apps.d", new] { try self.flush(directory) }
        try self.rename(new, "\(self.path)/\(state.version)")
    }

    private func point(_ link: String, at version: UInt64) throws(SystemError) {
        let new = "\(self.path)/\(Self.unfinished)\(link)"
        if Self.hasEntry(new) { try self.remove(new) }
        try self.beforeChange()
        // SAFETY: the strings live for the call; so in all that follows.
        try systemCall("symlink") { unsafe symlink("\(version)", new) }
        try self.rename(new, "\(self.path)/\(link)")
    }

    private static func hasEntry(_ path: String) -> Bool {
        var status = stat()
        // SAFETY: the path lives for the call, and the structure is ours.
        return unsafe lstat(path, &status) == 0
    }

    private func makeDirectory(_ path: String) throws(SystemError) {
        guard !Self.isThere(path) else { return }
        try self.beforeChange()
        try systemCall("mkdir") { unsafe mkdir(path, 0o755) }
    }

    private func rename(_ old: String, _ new: String) throws(SystemError) {
        try self.beforeChange()
        try systemCall("rename") { unsafe Glibc.rename(old, new) }
        try self.flush(self.path)
    }

    private func flush(_ path: String) throws(SystemError) {
        let directory = try OwnedDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
        let raw = directory.raw
        try systemCall("fsync") { fsync(raw) }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        try self.beforeChange()
        let file = try OwnedDescriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        let raw = file.raw
        var rest = bytes[...]
        while !rest.isEmpty {
            try self.beforeChange()
            let part = Array(rest.prefix(65_536))
            // SAFETY: the array lives for the call, and is as long as is said.
            let count = try systemCall("write") { unsafe Glibc.write(raw, part, part.count) }
            rest = rest.dropFirst(count)
        }
        try systemCall("fsync") { fsync(raw) }
    }

    /// Removes all states that do not count, and what was not finished.
    package func clear() throws(SystemError) {
        let names = try directoryNames(self.path)
        for name in names where name.hasPrefix(Self.unfinished) { try self.remove("\(self.path)/\(name)") }
        let counting = [try self.target(of: Self.current), try self.target(of: Self.confirmed)]
        for name in names {
            guard let version = UInt64(name), !counting.contains(version) else { continue }
            // First it gets a name that nobody reads.
            let old = "\(self.path)/\(Self.unfinished)old"
            if Self.hasEntry(old) { try self.remove(old) }
            try self.rename("\(self.path)/\(name)", old)
            try self.remove(old)
        }
    }

    private func remove(_ path: String) throws(SystemError) {
        var status = stat()
        // SAFETY: the path lives for the call, and the structure is ours.
        try systemCall("lstat") { unsafe lstat(path, &status) }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in try directoryNames(path) { try self.remove("\(path)/\(name)") }
            try self.beforeChange()
            try systemCall("rmdir") { unsafe rmdir(path) }
        } else {
            try self.beforeChange()
            try systemCall("unlink") { unsafe unlink(path) }
        }
    }
}

@available(*, unavailable)
extension DesiredStore: Sendable {}
