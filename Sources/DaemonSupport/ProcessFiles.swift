import Glibc
package import Loop

/// The files in which the kernel shows a process, held open: they never come to be those of another with the same number.
package struct ProcessFiles: ~Copyable {
    private let directory: OwnedDescriptor

    /// - Parameter proc: Where the kernel shows processes.
    package init(of process: Int32, in proc: String = "/proc") throws(SystemError) {
        self.directory = try OwnedDescriptor(opening: "\(proc)/\(process)", O_RDONLY | O_DIRECTORY)
    }

    /// The files of the process behind a pidfd; `nil` when it has ended, or is not to be seen from here.
    package static func of(_ handle: borrowing OwnedDescriptor) -> ProcessFiles? {
        guard let process = Self.number("Pid", in: Self.description(of: handle)), process > 0,
            let files = try? ProcessFiles(of: Int32(clamping: process))
        else { return nil }
        // The number was its own when the files were opened if it lives still: a pidfd can be read once its process has ended.
        var item = pollfd(fd: handle.raw, events: Int16(POLLIN), revents: 0)
        // SAFETY: one entry, ours for the call, which does not wait.
        guard unsafe poll(&item, 1, 0) == 0 else { return nil }
        return files
    }

    /// Makes sure that a process can be looked at: who has no descriptor left sees nothing, and would take that for what there is.
    package static func checkRoom() throws(SystemError) {
        try OwnedDescriptor(opening: "/", O_RDONLY | O_DIRECTORY).checkSpare(Self.mostOpen)
    }

    /// No more are open at a time, with what another thread may open meanwhile: fewer than whoever is given one leaves.
    private static let mostOpen = 6

    // MARK: What stands in them

    /// The control groups that the process is in.
    package var groups: [UInt8] { Self.contents("cgroup", in: self.directory, atMost: Self.mostBytes) ?? [] }

    /// What it sees mounted.
    package var mounts: [UInt8] {
        Self.contents("mountinfo", in: self.directory, atMost: Self.mostMountBytes) ?? []
    }

    /// The name of its program, as much as the kernel keeps of it, and a line's end.
    package var command: [UInt8] { Self.contents("comm", in: self.directory, atMost: Self.mostBytes) ?? [] }

    /// The user that the process acts as.
    package var user: UInt32? {
        // Of the four the second is the one that the bus was told.
        Self.numbers("Uid", in: Self.contents("status", in: self.directory, atMost: Self.mostBytes) ?? [])
            .dropFirst().first.flatMap { UInt32(exactly: $0) }
    }

    /// What Flatpak wrote at the root that the process sees; `nil`: nothing, or nothing that we may see of another user's. Empty:
    /// what stands there is not to be read.
    ///
    /// Whoever makes a root decides what answers there: nothing in it may lead out of it, and nobody's program may keep us
    /// waiting.
    package var sandbox: [UInt8]? {
        guard let root = try? Self.open("root", in: self.directory, Self.nameOnly | O_DIRECTORY) else {
            return self.mayHideSandbox ? [] : nil
        }
        if !Self.isOwnRoot(root) {
            guard self.answersAtOnce(root) else { return [] }
        }
        do throws(SystemError) {
            let file = try Self.open(".flatpak-info", in: root, Self.nameOnly | O_NOFOLLOW)
            guard self.answersAtOnce(file) else { return [] }
            let path = "/proc/self/fd/\(file.raw)"
            return Self.contents(of: try OwnedDescriptor(opening: path, O_RDONLY | O_NONBLOCK), atMost: Self.mostBytes)
                ?? []
        } catch {
            return error.code == ENOENT ? nil : []
        }
    }

    /// Whether a process whose root cannot be opened may be in a sandbox for all that we could see.
    ///
    /// Any program can keep its user from looking (`PR_SET_DUMPABLE`), in a sandbox and outside, as those do that know passwords. What it
    /// sees mounted the kernel shows all the same: who has our own root is in no other.
    private var mayHideSandbox: Bool {
        if let user = self.user, user != getuid() { return false }
        guard let own = Self.ownRoot else { return true }
        return self.fileSystem(ofMount: own.mount)?.place != Array("/".utf8)
    }

    /// Whether it is the very root that we have ourselves, which no table of mounts shows to whoever lives in a directory that is none
    /// (`chroot`).
    private static func isOwnRoot(_ root: borrowing OwnedDescriptor) -> Bool {
        // The kernel knows on which mount it is. On any other a program may have to be asked for more, and not answer.
        guard let own = self.ownPlace, self.mount(of: root) == own.mount, let place = self.place(of: root) else {
            return false
        }
        return own == place
    }

    /// Where a file is, which no two are.
    private struct FilePlace: Equatable, Sendable {
        var mount: Int
        var device: dev_t
        var inode: ino_t
    }

    private static func place(of file: borrowing OwnedDescriptor) -> FilePlace? {
        let raw = file.raw
        var status = stat()
        // SAFETY: the descriptor is lent and open, and the status is ours.
        guard let mount = self.mount(of: file), unsafe fstat(raw, &status) == 0 else { return nil }
        return FilePlace(mount: mount, device: status.st_dev, inode: status.st_ino)
    }

    private static let ownPlace: FilePlace? = {
        guard let root = try? OwnedDescriptor(opening: "/", nameOnly | O_DIRECTORY) else { return nil }
        return place(of: root)
    }()

    /// Whether an open file is on one of the file systems on which Flatpak's may be, and which no program stands behind; or on the one
    /// that we run from ourselves, whatever that is.
    private func answersAtOnce(_ file: borrowing OwnedDescriptor) -> Bool {
        guard let number = Self.mount(of: file), let system = self.fileSystem(ofMount: number) else { return false }
        return Self.fileSystems.contains { system.type.elementsEqual($0.utf8) } || system.device == Self.ownRoot?.device
    }

    /// The number of the mount that an open file is on. No two have the same, wherever they are to be seen.
    private static func mount(of file: borrowing OwnedDescriptor) -> Int? {
        Self.number("mnt_id", in: Self.description(of: file))
    }

    private typealias FileSystem = (device: [UInt8], place: [UInt8], type: [UInt8])

    /// On which device a mount is, where it is, and of which type that is; `nil`: the process does not see it, or sees much before it.
    private func fileSystem(ofMount mount: Int) -> FileSystem? {
        guard let file = try? Self.open("mountinfo", in: self.directory, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) else {
            return nil
        }
        return Self.fileSystem(ofMount: mount, in: file, within: Self.longestSearch)
    }

    /// The same in what the kernel shows of mounts.
    ///
    /// Any program can see very many, one on the other, whose paths take the kernel a time that grows with the square of their number. So
    /// no more is read than is looked for, for a bounded time: a root, and what stands in it, was mounted before most others.
    ///
    /// - Parameter longest: In µs of the processor's time; `nil`: what we see ourselves nobody makes long, and it is asked for once.
    private static func fileSystem(
        ofMount mount: Int, in file: borrowing OwnedDescriptor, within longest: Int64? = nil
    ) -> FileSystem? {
        let number = Array("\(mount) ".utf8)
        let end = longest.map { Clock.threadTime() + $0 } ?? Int64.max
        var bytes: [UInt8] = []
        var start = 0
        // Small, because the kernel makes up as much as is asked for.
        var buffer = [UInt8](repeating: 0, count: 512)
        while bytes.count < Self.mostMountBytes, Clock.threadTime() < end,
            let count = Self.readOn(file, into: &buffer), count > 0
        {
            bytes += buffer[..<count]
            while let lineEnd = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = bytes[start..<lineEnd]
                start = lineEnd + 1
                // Of others no more is looked at: to take them apart would use up most of the time.
                guard line.starts(with: number) else { continue }
                return Self.fileSystem(line.split(separator: UInt8(ascii: " ")))
            }
        }
        return nil
    }

    /// What a line says: a number, that of its parent, the device, what of it, where, one more field, some that are optional, a dash, the
    /// type.
    private static func fileSystem(_ words: [ArraySlice<UInt8>]) -> FileSystem? {
        guard let dash = words.firstIndex(where: { $0.elementsEqual("-".utf8) }), dash + 1 < words.count, dash > 4
        else { return nil }
        return (Array(words[2]), Array(words[4]), Array(words[dash + 1]))
    }

    /// The mount and the device of our own root, which may be an overlay or whatever else a machine starts from.
    private static let ownRoot: (mount: Int, device: [UInt8])? = {
        guard let root = try? OwnedDescriptor(opening: "/", nameOnly | O_DIRECTORY), let number = mount(of: root),
            let mounts = try? OwnedDescriptor(opening: "/proc/self/mountinfo", O_RDONLY),
            let system = fileSystem(ofMount: number, in: mounts)
        else { return nil }
        return (number, system.device)
    }()

    /// A user can mount none of these but the first.
    private static let fileSystems = ["tmpfs", "ext4", "ext3", "ext2", "btrfs", "xfs", "f2fs", "bcachefs", "zfs"]

    // MARK: Reading

    /// `O_PATH`, which module Glibc does not show: nothing is read of what is opened, and whoever is behind it is not asked.
    private static let nameOnly: Int32 = 0o10000000

    private static let mostBytes = 64 * 1_024
    private static let mostMountBytes = 1_024 * 1_024
    /// How long a mount is looked for among those of a process, in µs of the processor's time.
    private static let longestSearch: Int64 = 5_000

    /// What the kernel says of one of our descriptors.
    private static func description(of file: borrowing OwnedDescriptor) -> [UInt8] {
        let entry = try? OwnedDescriptor(opening: "/proc/self/fdinfo/\(file.raw)", O_RDONLY)
        guard let entry else { return [] }
        return Self.contents(of: entry, atMost: Self.mostBytes) ?? []
    }

    /// Opens what stands in an open directory. The corresponding C function is `openat`.
    private static func open(
        _ name: String, in directory: borrowing OwnedDescriptor, _ flags: Int32
    ) throws(SystemError) -> OwnedDescriptor {
        let raw = directory.raw
        return OwnedDescriptor(
            adopting: try systemCall("openat") {
                // SAFETY: the name is NUL-terminated for the call, and the directory is lent and open.
                unsafe openat(raw, name, flags | O_CLOEXEC | O_NOCTTY)
            })
    }

    private static func contents(_ name: String, in directory: borrowing OwnedDescriptor, atMost most: Int) -> [UInt8]?
    {
        guard let file = try? Self.open(name, in: directory, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) else { return nil }
        return Self.contents(of: file, atMost: most)
    }

    /// A file from its start to its end; `nil` when it is none, is longer, or cannot be read.
    private static func contents(of file: borrowing OwnedDescriptor, atMost most: Int) -> [UInt8]? {
        let raw = file.raw
        var status = stat()
        // SAFETY: the descriptor is lent and open, and the status is ours.
        guard unsafe fstat(raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count <= most {
            guard let count = Self.readOn(file, into: &buffer) else { return nil }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        return nil
    }

    /// Reads what comes next. Returns how much there was, 0 at the end; `nil` when it cannot be read.
    private static func readOn(_ file: borrowing OwnedDescriptor, into buffer: inout [UInt8]) -> Int? {
        let raw = file.raw
        return try? systemCall("read") {
            // SAFETY: the kernel writes at most as many bytes as there are.
            unsafe buffer.withUnsafeMutableBytes { unsafe read(raw, $0.baseAddress, $0.count) }
        }
    }

    /// The numbers of a line `NAME: NUMBER NUMBER…`.
    private static func numbers(_ name: String, in file: [UInt8]) -> [Int] {
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard words.first?.elementsEqual("\(name):".utf8) == true else { continue }
            return words.dropFirst().compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        }
        return []
    }

    private static func number(_ name: String, in file: [UInt8]) -> Int? { Self.numbers(name, in: file).first }
}
