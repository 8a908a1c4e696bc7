import Arbitration
import Glibc
import PolicyFiles
import Testing

/// A directory of its own for a test, gone after it.
private struct Scratch: ~Copyable {
    let path: String

    init() throws {
        var template = Array("/tmp/jostle-policy-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failed() }
        self.path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        for name in ["usr", "etc", "user"] { mkdir("\(self.path)/\(name)", 0o755) }
    }

    struct Failed: Error {}

    func write(_ name: String, _ text: String) throws {
        guard let file = fopen("\(self.path)/\(name)", "w") else { throw Failed() }
        fputs(text, file)
        fclose(file)
    }

    deinit {
        for directory in ["usr", "etc", "user"] {
            for name in ["10-a.conf", "20-b.conf", "30-c.conf", ".x.conf", "note.txt", "40-d.conf"] {
                unlink("\(self.path)/\(directory)/\(name)")
                rmdir("\(self.path)/\(directory)/\(name)")
            }
            rmdir("\(self.path)/\(directory)")
        }
        rmdir(self.path)
    }
}

@Suite struct DirectoryTests {
    @Test func namesOverrideLinksToNothingMask() throws {
        let scratch = try Scratch()
        try scratch.write("usr/10-a.conf", "# usr a")
        try scratch.write("usr/20-b.conf", "# usr b")
        try scratch.write("usr/30-c.conf", "# usr c")
        try scratch.write("usr/note.txt", "no policy")
        try scratch.write("usr/.x.conf", "no policy")
        try scratch.write("etc/20-b.conf", "# etc b")
        symlink("/dev/null", "\(scratch.path)/etc/30-c.conf")
        // A user's file replaces nothing of the administrator's.
        try scratch.write("user/10-a.conf", "# user a")
        symlink("/dev/null", "\(scratch.path)/user/20-b.conf")
        let (files, findings) = PolicyDirectories.load(
            system: ["\(scratch.path)/usr", "\(scratch.path)/etc", "\(scratch.path)/none"],
            user: "\(scratch.path)/user", naming: .fileName)
        #expect(findings == [])
        #expect(files.map(\.name) == ["10-a.conf", "20-b.conf", "10-a.conf"])
        #expect(files.map { String(decoding: $0.bytes, as: UTF8.self) } == ["# usr a", "# etc b", "# user a"])
        #expect(files.map(\.layer) == [.system, .system, .user])
    }

    /// What was built on the machine and what lasts until the next boot stand between the distribution's and the administrator's.
    @Test func laterDirectoriesAreStronger() {
        let directories = ["/usr/share", "/usr/local/share", "/run", "/etc"]
        #expect(PolicyDirectories.system == directories.map { "\($0)/jostle/policy.d" })
        #expect(AppSource.system == directories.filter { $0 != "/run" }.map { "\($0)/jostle/apps.d" })
    }

    /// Without a file of the system the built-in policy stands in; with one, nothing does.
    @Test func theBuiltInPolicyStandsInForTheSystems() throws {
        let scratch = try Scratch()
        let source = PolicySource(["\(scratch.path)/usr"], naming: .fileName, environment: { _ in nil })
        let empty = source.read()
        #expect(empty.files.isEmpty && empty.reading.inForce?.rules.count == Policy.builtIn.rules.count)
        try scratch.write("usr/10-a.conf", "[Rule mine]\nThen=allow\n")
        let one = source.read()
        #expect(one.files.map(\.name) == ["10-a.conf"])
        #expect(one.reading.inForce?.rules.map(\.name) == ["mine"])
        try scratch.write("usr/20-b.conf", "[Rule broken]\nThen=perhaps\n")
        #expect(source.read().reading.inForce == nil)
    }

    /// The user's own directory is where the environment says, if that is an absolute path.
    @Test(
        arguments: [
            (["XDG_CONFIG_HOME": "/x", "HOME": "/h"], "/x/jostle/policy.d"),
            (["XDG_CONFIG_HOME": "relative", "HOME": "/h"], "/h/.config/jostle/policy.d"),
            (["HOME": "/h"], "/h/.config/jostle/policy.d"),
            (["HOME": "h"], nil), ([:], nil),
        ] as [([String: String], String?)])
    func theUsersDirectoryComesFromTheEnvironment(_ variables: [String: String], _ directory: String?) {
        #expect(PolicyDirectories.user { variables[$0] } == directory)
    }

    @Test func whatCannotBeReadIsSaid() throws {
        let scratch = try Scratch()
        mkdir("\(scratch.path)/etc/10-a.conf", 0o755)
        symlink("nowhere", "\(scratch.path)/etc/20-b.conf")
        mkfifo("\(scratch.path)/etc/40-d.conf", 0o644)
        let (files, findings) = PolicyDirectories.load(system: ["\(scratch.path)/etc"], naming: .fileName)
        #expect(files == [])
        #expect(findings.map(\.place.file) == ["10-a.conf", "20-b.conf", "40-d.conf"])
        #expect(findings.allSatisfy { $0.check == .unreadable })
    }
}
