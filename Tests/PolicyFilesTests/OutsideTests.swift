import Arbitration
import Glibc
import Motion
import Testing

@testable import PolicyFiles

/// What comes from outside stands between the administrator and users.
@Suite struct OutsideTests {
    private func read(_ system: String, _ outside: String, user: String? = nil) -> PolicyReading {
        var files = [PolicyFile(name: "o.conf", layer: .outside, outside)]
        if !system.isEmpty { files.append(PolicyFile(name: "s.conf", system)) }
        if let user { files.append(PolicyFile(name: "u.conf", layer: .user, user)) }
        return PolicyReader.read(files)
    }

    private func rules(_ reading: PolicyReading) throws -> [String] {
        try #require(reading.inForce, "\(reading.errors)").rules.map(\.name)
    }

    @Test func itsRulesAreTriedBehindTheAdministratorsWhateverTheirPriority() throws {
        let reading = self.read(
            "[Rule low]\nWhenPreset=shake\nThen=deny\n[Rule high]\nPriority=5\nWhenPreset=still\nThen=allow\n",
            "[Rule last]\nThen=allow\n[Rule first]\nPriority=900\nWhenPreset=pick-up\nThen=allow\n")
        #expect(try self.rules(reading) == ["high", "low", "first", "last"])
    }

    /// Whoever has such a rule refused is not told to raise what does not count.
    @Test(arguments: [("Priority=9\n", "whatever the Priority"), ("", "higher Priority")])
    func whatHelpsARuleThatNeverDecides(_ priority: String, _ advice: String) throws {
        let reading = self.read(
            "[Rule all]\nThen=allow\n", "[Rule calm]\n\(priority)WhenPreset=shake\nThen=deny\n")
        let found = PolicyLinter.check(reading)
        let error = try #require(found.first { $0.check == .shadowed }, "\(found)")
        #expect(error.advice.contains(advice), "\(error)")
    }

    /// Users go first, and the built-in policy beside what comes from outside.
    @Test func itsRulesAreTriedBehindUsersOwn() throws {
        let reading = self.read(
            "", "[Rule others]\nPriority=900\nWhenPreset=shake\nThen=allow\n",
            user: "[Rule mine]\nWhenPreset=shake\nThen=deny\n")
        let names = try self.rules(reading)
        #expect(names.prefix(2) == ["mine", "others"])
        #expect(names.count == Policy.builtIn.rules.count + 2)
    }

    @Test(arguments: [
        ("[Rule a]\nThen=allow\n", "# 1\n[Rule a]\nThen=deny\n", "E005 2:1"),
        ("[App a.b.C]\nQuota=1/1min\n", "[App a.b.C]\nQuota=9/1min\n", "E005 1:1"),
        ("[App *]\nQuota=1/1min\n", "[App *]\nQuota=9/1min\n", "E005 1:1"),
        ("[Group g]\n", "[Group g]\n", "E005 1:1"),
        ("", "[Policy]\nDefault=allow\n", "E005 1:2"),
        ("", "[Class c]\nMixable=yes\n", "E005 1:2"),
        ("[Class c]\nMixable=yes\n", "[Interaction c c]\n", "E005 1:2"),
        // A group of the administrator's is no place for others.
        ("[Group g]\n", "[Rule a]\nThen=allow\nGroup=g\n", "E004 3:7"),
        ("", "[Rule a]\nThen=allow\nThne=deny\n", "E001 3:1"),
    ])
    func whatTheDeviceSaysItSaysAlone(_ system: String, _ outside: String, _ expected: String) {
        let reading = self.read(system, outside)
        #expect(reading.inForce == nil)
        #expect(
            reading.errors.map { "\($0.check.rawValue) \($0.place.line):\($0.place.column)" } == [expected],
            "\(reading.errors)")
    }

    @Test func whatTheAdministratorSaysOfEveryAppHolds() throws {
        let reading = self.read(
            "[App *]\nQuota=2/1min\n", "[App a.b.C]\nQuota=90/1min\nCooldown=3s\n", user: "[App *]\nCooldown=5s\n")
        let policy = try #require(reading.policy, "\(reading.errors)")
        let settings = policy.settings(for: AppID("a.b.C"))
        #expect(settings.quota == policy.settings(for: AppID("d.e.F")).quota)
        // And users make it smaller.
        #expect(settings.cooldown == .seconds(5))
    }

    @Test func itHasGroupsOfItsOwn() throws {
        let reading = self.read("", "[Group g]\n[Rule a]\nPriority=300\nThen=allow\nGroup=g\n")
        #expect(try self.rules(reading).first == "a")
    }

    // MARK: In directories

    private struct Places {
        /// Where a user's own files are.
        static let own = "config/jostle/policy.d"

        let path: String

        init() throws {
            var template = Array("/tmp/jostle-outside-XXXXXX".utf8CString)
            try #require(mkdtemp(&template) != nil)
            self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            for name in ["etc", "out", "config", "config/jostle", Self.own] {
                try #require(mkdir("\(self.path)/\(name)", 0o755) == 0)
            }
        }

        func write(_ name: String, _ text: String) throws {
            let file = try #require(fopen("\(self.path)/\(name)", "w"))
            fputs(text, file)
            try #require(fclose(file) == 0)
        }

        func remove() {
            for directory in ["etc", "out", Self.own, "config/jostle", "config"] {
                for name in ["10.conf", "20.conf"] { unlink("\(self.path)/\(directory)/\(name)") }
                rmdir("\(self.path)/\(directory)")
            }
            rmdir(self.path)
        }

        /// What a broker of a session bus reads, here.
        func source() -> PolicySource {
            PolicySource([], outside: "\(self.path)/out", system: ["\(self.path)/etc"]) {
                $0 == "XDG_CONFIG_HOME" ? "\(self.path)/config" : nil
            }
        }
    }

    /// An error in it takes away all of it, and nothing of the device's own.
    @Test func anErrorInItLeavesTheRestInForce() throws {
        let places = try Places()
        defer { places.remove() }
        try places.write("etc/10.conf", "[Rule mine]\nThen=allow\n")
        try places.write("out/10.conf", "[Rule others]\nWhenPreset=shake\nThen=allow\n")
        func read() -> (reading: PolicyReading, files: [PolicyFile]) {
            PolicySource(["\(places.path)/etc"], outside: "\(places.path)/out", environment: { _ in nil }).read()
        }
        let good = read()
        #expect(try self.rules(good.reading) == ["mine", "others"])
        #expect(good.files.map(\.layer) == [.system, .outside])
        try places.write("out/20.conf", "[Rule mine]\nThen=deny\n")
        let bad = read()
        #expect(try self.rules(bad.reading) == ["mine"])
        #expect(bad.files.map(\.name) == ["\(places.path)/etc/10.conf"])
        #expect(bad.reading.findings.map(\.check) == [.leftOut])
        #expect(bad.reading.findings.first?.place.file == "\(places.path)/out/20.conf")
    }

    /// A user's own files with an error in them take themselves away, and nothing of the administrator's or from outside.
    @Test(arguments: ["garbage\n", "[Rule u]\nThen=allow\n", "[Rule mine]\nThen=maybe\n"])
    func anErrorInAUsersFileLeavesTheRestInForce(_ text: String) throws {
        let places = try Places()
        defer { places.remove() }
        try places.write("etc/10.conf", "[Rule mine]\nWhenPreset=tilt\nThen=deny\n")
        try places.write("out/10.conf", "[Rule others]\nWhenPreset=shake\nThen=allow\n")
        try places.write("\(Places.own)/10.conf", "[Rule own]\nWhenPreset=tap\nThen=deny\n")
        let source = places.source()
        #expect(try self.rules(source.read().reading) == ["own", "mine", "others"])
        try places.write("\(Places.own)/20.conf", text)
        let (reading, files) = source.read()
        #expect(try self.rules(reading) == ["mine", "others"])
        #expect(files.map(\.layer) == [.system, .outside])
        #expect(reading.findings.map(\.check) == [.leftOut])
        // Whoever checks the files is told of the error as one.
        let checked = PolicyLinter.check(reading).filter { $0.severity == .error }
        #expect(!checked.isEmpty && checked.allSatisfy { $0.place.file == "\(places.path)/\(Places.own)/20.conf" })
    }

    /// What cannot be read of a user's is left out, too.
    @Test func aUsersFileThatCannotBeReadLeavesTheRestInForce() throws {
        let places = try Places()
        defer { places.remove() }
        try places.write("etc/10.conf", "[Rule mine]\nThen=deny\n")
        try places.write("out/10.conf", "[Rule others]\nWhenPreset=shake\nThen=allow\n")
        try places.write("\(Places.own)/20.conf", "[Rule own]\nThen=deny\n")
        try #require(symlink("nowhere", "\(places.path)/\(Places.own)/10.conf") == 0)
        let (reading, files) = places.source().read()
        #expect(try self.rules(reading) == ["mine", "others"])
        #expect(files.map(\.layer) == [.system, .outside])
        #expect(reading.findings.map(\.check) == [.leftOut])
    }

    /// So many sections that none of the administrator's finds room.
    @Test func aUserDoesNotUseUpTheAdministratorsRoom() throws {
        let places = try Places()
        defer { places.remove() }
        try places.write("etc/10.conf", "[Rule mine]\nThen=deny\n")
        try places.write(
            "\(Places.own)/10.conf",
            (0..<PolicyLimits.sections).map { "[App a.b\($0)]\n" }.joined())
        let (reading, files) = places.source().read()
        #expect(try self.rules(reading) == ["mine"])
        #expect(files.map(\.layer) == [.system])
    }

    /// The administrator's own error is told once, and refuses all.
    @Test func anErrorOfTheAdministratorsIsNotAUsers() throws {
        let places = try Places()
        defer { places.remove() }
        try places.write("etc/10.conf", "[Rule mine]\nThen=maybe\n")
        try places.write("out/10.conf", "[Rule others]\nThen=allow\n")
        try places.write("\(Places.own)/10.conf", "[Rule own]\nThen=deny\n")
        let (reading, _) = places.source().read()
        #expect(reading.inForce == nil)
        #expect(reading.findings.map { "\($0.check.rawValue) \($0.place.file)" } == ["E001 \(places.path)/etc/10.conf"])
    }

    @Test func whereNothingComesFromOutsideNothingIsMissing() throws {
        let places = try Places()
        defer { places.remove() }
        try places.write("etc/10.conf", "[Rule mine]\nThen=allow\n")
        let (reading, _) = PolicySource(
            ["\(places.path)/etc"], outside: "\(places.path)/nowhere", environment: { _ in nil }
        ).read()
        #expect(reading.findings.isEmpty)
        let apps = AppSource(["\(places.path)/etc"], outside: "\(places.path)/nowhere")
        #expect(!apps.readAll().findings.contains { $0.place.file.contains("nowhere") })
    }
}
