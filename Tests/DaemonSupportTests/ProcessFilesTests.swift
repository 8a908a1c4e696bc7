import CLinux
import DaemonSupport
import Glibc
import Loop
import Testing

/// What the kernel shows of a process, and what is not read of what others put in its place.
@Suite struct ProcessFilesTests {
    /// A directory as the kernel would show a process.
    private final class MadeUp {
        let path: String
        static let process: Int32 = 4_242
        var directory: String { "\(self.path)/\(Self.process)" }
        var root: String { "\(self.directory)/root" }

        init() throws {
            var template = Array("/tmp/jostle-proc-XXXXXX\0".utf8CString.dropLast())
            try #require(mkdtemp(&template) != nil)
            self.path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            try #require(mkdir(self.directory, 0o755) == 0 && mkdir(self.root, 0o755) == 0)
        }

        deinit {
            for name in ["root/.flatpak-info", "root/elsewhere", "cgroup", "status", "mountinfo"] {
                unlink("\(self.directory)/\(name)")
            }
            for path in ["\(self.root)/.flatpak-info", self.root, self.directory, self.path] { rmdir(path) }
        }

        func write(_ text: String, to name: String) throws {
            let file = try #require(fopen("\(self.directory)/\(name)", "w"))
            fputs(text, file)
            try #require(fclose(file) == 0)
        }

        /// Shows our own mounts, all of one type and on one device, among others.
        func showMounts(
            as type: String, on device: String = "0:4242", behind earlier: String = "", before later: String = ""
        ) throws {
            let file = try #require(fopen("/proc/self/mountinfo", "r"))
            defer { fclose(file) }
            var text = earlier
            var line = [CChar](repeating: 0, count: 65_536)
            while fgets(&line, Int32(line.count), file) != nil {
                let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                    .split(separator: " ").map(String.init)
                let dash = try #require(words.firstIndex(of: "-"))
                text += (words[..<2] + [device] + words[3...dash] + [type] + words[(dash + 2)...]).joined(
                    separator: " ")
            }
            try self.write(text + later, to: "mountinfo")
        }

        func files() throws -> ProcessFiles { try ProcessFiles(of: Self.process, in: self.path) }
    }

    private static let info = "[Application]\nname=org.example.App\n"

    @Test func itReadsGroupsUserAndSandbox() throws {
        let process = try MadeUp()
        try process.write("0::/app.slice/app-org.example.App-1.scope\n", to: "cgroup")
        try process.write("Name:\tUid: 7\nUid:\t1\t1000\t3\t4\nGid:\t5\t6\t7\t8\n", to: "status")
        try process.showMounts(as: "tmpfs")
        try process.write(Self.info, to: "root/.flatpak-info")
        let files = try process.files()
        #expect(files.groups == Array("0::/app.slice/app-org.example.App-1.scope\n".utf8))
        #expect(files.user == 1_000)
        #expect(files.sandbox == Array(Self.info.utf8))
    }

    @Test func whatIsMissingIsNothing() throws {
        let process = try MadeUp()
        try process.showMounts(as: "tmpfs")
        let files = try process.files()
        #expect(files.groups.isEmpty && files.user == nil && files.sandbox == nil)
        #expect(throws: SystemError.self) { _ = try ProcessFiles(of: 4_243, in: process.path) }
    }

    /// Any program can keep its user from looking at its root; only who has ours is in no sandbox then.
    @Test func aRootThatIsNotShownMayBeASandbox() throws {
        let process = try MadeUp()
        try #require(rmdir(process.root) == 0)
        try process.write("Uid:\t7\t\(getuid())\t7\t7\n", to: "status")
        #expect(try process.files().sandbox == [])
        try process.write("4000000000 1 0:1 / / rw - tmpfs tmpfs rw\n", to: "mountinfo")
        #expect(try process.files().sandbox == [])
        try process.showMounts(as: "tmpfs")
        #expect(try process.files().sandbox == nil)
        // Into those of others we cannot look.
        try process.write("", to: "mountinfo")
        try process.write("Uid:\t7\t\(getuid() + 1)\t7\t7\n", to: "status")
        #expect(try process.files().sandbox == nil)
        // One that ended shows nothing of what it was.
        try process.write("", to: "status")
        #expect(try process.files().sandbox == [])
    }

    /// Whoever makes a sandbox may put anything into it; it must neither lead out nor keep us waiting.
    @Test(arguments: ["link", "pipe", "directory", "long", "endless"])
    func whatIsNoFileOfFlatpaksIsNotRead(_ trick: String) throws {
        let process = try MadeUp()
        let path = "\(process.root)/.flatpak-info"
        try process.showMounts(as: "tmpfs")
        switch trick {
        case "link":
            try process.write(Self.info, to: "root/elsewhere")
            try #require(symlink("elsewhere", path) == 0)
        case "pipe": try #require(mkfifo(path, 0o600) == 0)
        case "directory": try #require(mkdir(path, 0o755) == 0)
        case "long":
            try process.write(Self.info + String(repeating: "#", count: 65_536), to: "root/.flatpak-info")
        default: try #require(symlink("/dev/zero", path) == 0)
        }
        #expect(try process.files().sandbox == [])
    }

    /// Only what answers by itself is asked.
    @Test(arguments: ["tmpfs", "ext4", "btrfs", "fuse", "fuse.sshfs", "fuseblk", "nfs4", "9p", "overlay", "proc", ""])
    func aProgramBehindAFileSystemIsNotAsked(_ type: String) throws {
        let process = try MadeUp()
        try process.showMounts(as: type)
        try process.write(Self.info, to: "root/.flatpak-info")
        let expected = ["tmpfs", "ext4", "btrfs"].contains(type) ? Array(Self.info.utf8) : []
        #expect(try process.files().sandbox == expected)
        try process.write("", to: "mountinfo")
        #expect(try process.files().sandbox == [])
    }

    /// Any program can see very many mounts, and all of them take the kernel long to tell.
    @Test func ofVeryManyMountsTheFirstAreLookedAt() throws {
        let process = try MadeUp()
        try process.write(Self.info, to: "root/.flatpak-info")
        let others = String(repeating: "4000000000 1 0:1 / /x rw - tmpfs tmpfs rw\n", count: 50_000)
        try process.showMounts(as: "tmpfs", before: others)
        #expect(try process.files().sandbox == Array(Self.info.utf8))
        try process.showMounts(as: "tmpfs", behind: others)
        #expect(try process.files().sandbox == [])
    }

    /// What we run from ourselves answers us anyhow: a machine may start from an overlay.
    @Test func ourOwnFileSystemIsAsked() throws {
        var status = stat()
        try #require(stat("/", &status) == 0)
        // As the kernel counts devices, unless there are very many.
        let device = "\(status.st_dev >> 8 & 0xfff):\(status.st_dev & 0xff)"
        let process = try MadeUp()
        try process.showMounts(as: "overlay", on: device)
        #expect(try process.files().sandbox == nil)
        try process.write(Self.info, to: "root/.flatpak-info")
        #expect(try process.files().sandbox == Array(Self.info.utf8))
    }

    // MARK: Handles

    private func handle(_ process: Int32) throws -> OwnedDescriptor {
        let raw = CLinux_pidfd_open(process)
        try #require(raw >= 0)
        return OwnedDescriptor(adopting: raw)
    }

    private func isFound(behind handle: borrowing OwnedDescriptor) -> Bool {
        guard let files = ProcessFiles.of(handle) else { return false }
        return files.user != nil
    }

    /// Once a process has ended its number may be another's, and its handle stands for nothing.
    @Test func aHandleIsOfOneProcess() throws {
        let loop = try EventLoop()
        var command = ChildProcess.Command("cat")
        command.input = .pipe
        var hasEnded = false
        let child = try ChildProcess(command, on: loop) { _ in hasEnded = true }
        let handle = try self.handle(child.pid)
        guard let files = ProcessFiles.of(handle) else {
            Issue.record("it lives")
            return
        }
        var isFound = self.isFound(behind: handle)
        #expect(isFound)
        var (user, groups) = (files.user, files.groups)
        #expect(user == geteuid() && !groups.isEmpty)
        _ = child.takeInput()
        try loop.run { hasEnded }
        isFound = self.isFound(behind: handle)
        #expect(!isFound)
        // What was opened in time does not come to show another process.
        (user, groups) = (files.user, files.groups)
        #expect(user == nil && groups.isEmpty)
    }

    @Test func otherDescriptorsAreNoHandles() throws {
        let file = try OwnedDescriptor(opening: "/dev/null", O_RDONLY)
        let isFound = self.isFound(behind: file)
        #expect(!isFound)
    }
}
