import Arbitration
import Glibc
import Motion
import Testing

@testable import PolicyFiles

@Suite struct AppFileTests {
    private func read(
        _ text: String, name: String = "apps.d/org.example.App.conf"
    ) -> (file: AppFile?, found: [String], findings: [Finding]) {
        let (file, findings) = AppFileReader.read(PolicyFile(name: name, text))
        return (file, findings.map { "\($0.check.rawValue) \($0.place.line):\($0.place.column)" }, findings)
    }

    @Test func aWholeFile() throws {
        let (file, found, _) = self.read(
            """
            # What it wants.
            [App]
            Usage=Skips to the next track when you shake the device
            Modes=audio
            Modes=location
            Tasks=sync tidy-up
            Windows=player Player-*
            Mpris=yes

            [Detector skip]
            preset=shake.planar
            threshold=2.3g

            [Detector bump]
            when=hypot(x, y) > 4g
            every=50ms
            """)
        #expect(found == [])
        var wanted = AppFile(id: AppID("org.example.App"))
        wanted.path = "apps.d/org.example.App.conf"
        wanted.usage = "Skips to the next track when you shake the device"
        wanted.modes = WordSet([.audio, .location])
        wanted.hasPlayer = true
        wanted.tasks = ["sync", "tidy-up"]
        wanted.windows = [NamePattern("player"), NamePattern("Player-*")]
        wanted.detectors = [
            DetectorRequest(name: "skip", options: ["preset": .text("shake.planar"), "threshold": .text("2.3g")]),
            DetectorRequest(name: "bump", options: ["when": .text("hypot(x, y) > 4g"), "every": .text("50ms")]),
        ]
        #expect(file == wanted)
    }

    @Test func anEmptyFileAsksForNothing() {
        let (file, found, _) = self.read("")
        #expect(found == [])
        var wanted = AppFile(id: AppID("org.example.App"))
        wanted.path = "apps.d/org.example.App.conf"
        #expect(file == wanted)
    }

    /// Every complaint has its place; a file with one says nothing.
    @Test(
        arguments: [
            ("[App]\nUsage=x\nModes=audio adio\n", "E001 3:13", "did you mean 'audio'?"),
            ("[App]\nUsge=x\n", "E001 2:1", "did you mean 'Usage'?"),
            ("[App]\nUsage=x\nModes=audio\nMpris=maybe\n", "E003 4:7", ""),
            ("[App]\nWindows=a * b\n", "E003 2:11", "with more than stars"),
            ("[App]\nWindows=a **\n", "E003 2:11", "with more than stars"),
            ("[App]\nWindows=a b a\n", "E002 2:13", "remove one"),
            ("[App]\nWindows=\(String(repeating: "x", count: 129))\n", "E003 2:9", "at most 128 bytes"),
            ("[App]\nWindows=\((0..<17).map { "w\($0)" }.joined(separator: " "))\n", "E003 2:63", "remove some"),
            ("[Ap]\nUsage=x\n", "E001 1:2", "did you mean 'App'?"),
            ("[App]\nUsage=x\nUsage=y\n", "E002 3:1", "first in line 2"),
            ("[App]\nUsage=x\n[App]\nModes=audio\n", "E002 3:1", "first in line 1"),
            ("[App org.example.App]\nUsage=x\n", "E008 1:6", "takes no name here"),
            ("[App]\nUsage=x\nTasks=sync sync\n", "E002 3:12", "stands here twice"),
            ("[App]\nModes=audio\n", "E056 1:1", "say in [App] Usage"),
            ("[Detector d]\npreset=shake\n", "E056 1:1", "say in [App] Usage"),
            ("[App]\nUsage=x\n[Detector]\npreset=shake\n", "E008 3:2", "write [Detector NAME]"),
            ("[App]\nUsage=x\n[Detector d]\npreset=shaek\n", "E003 4:8", "shaek"),
            ("[App]\nUsage=x\n[Detector d]\npreset=shake\ntreshold=2g\n", "E001 5:1", "treshold"),
            ("[App]\nUsage=x\n[Detector d]\nwhen=x > 2s\n", "E003 4:", "2s"),
            ("[App]\nUsage=x\n[Detector d]\npreset=shake\npreset=shake\n", "E002 5:1", "first in line 4"),
            ("nonsense\n", "E008 1:1", ""),
        ] as [(String, String, String)])
    func everyComplaintHasItsPlace(_ text: String, _ place: String, _ words: String) throws {
        let (file, found, findings) = self.read(text)
        #expect(file == nil)
        #expect(found.first?.hasPrefix(place) == true, "\(found) \(findings)")
        #expect("\(findings)".contains(words), "\(findings)")
    }

    /// To compare texts takes the square of a row of combining marks, and a package may bring the file.
    @Test func aLongRowOfMarksIsRefused() {
        let (few, many) = (String(repeating: "\u{301}", count: 30), String(repeating: "\u{301}", count: 2_000))
        #expect(self.read("[App]\nUsage=q\(few)\n").found == [])
        for line in ["Windows=q\(few)\u{323}", "q\(many)=x", "[q\(many)]", "Usage=q\(many)", "# q\(many)"] {
            #expect(self.read("[App]\nUsage=x\n\(line)\n").found == ["E008 3:1"], "\(line.utf8.count) bytes")
        }
    }

    @Test(arguments: ["app.conf", "org.example.App.cfg", "org..App.conf", "1org.example.conf", ".conf"])
    func theNameIsTheAppsId(_ name: String) {
        let (file, found, _) = self.read("[App]\nUsage=x\n", name: name)
        #expect(file == nil && found == ["E055 1:1"])
    }

    /// A player counts as audio, so that what does not ask for that asks for nothing.
    @Test func aPlayerNeedsAudio() {
        let (file, found, _) = self.read("[App]\nUsage=x\nModes=voip\nMpris=yes\n")
        #expect(file?.hasPlayer == true && found == ["W058 1:1"])
        #expect(self.read("[App]\nUsage=x\nModes=audio\nMpris=yes\n").found == [])
        #expect(self.read("[App]\nMpris=no\n").found == [])
    }

    @Test func usageIsNotEndless() {
        #expect(self.read("[App]\nUsage=\(String(repeating: "x", count: 256))\n").found == [])
        #expect(self.read("[App]\nUsage=\(String(repeating: "x", count: 257))\n").found == ["E003 2:7"])
        let tasks = (0...64).map { "t\($0)" }.joined(separator: " ")
        #expect(self.read("[App]\nUsage=x\nTasks=\(tasks)\n").found.first?.hasPrefix("E003 3:") == true)
    }

    /// What one file has installed takes no longer than what one call does.
    @Test func detectorsAreNotEndless() {
        func file(_ count: Int, _ condition: String) -> [String] {
            let detectors = (0..<count).map { "[Detector d\($0)]\nwhen=\(condition)\n" }.joined()
            return self.read("[App]\nUsage=x\n" + detectors).found
        }
        #expect(file(64, "x > 2g") == [])
        #expect(file(65, "x > 2g") == ["E003 131:1"])
        let long = "x > 2g" + String(repeating: " or x > 2g", count: 101) + " or x >  2g"
        #expect(long.utf8.count == 1_027 && file(63, long) == [])
        #expect(file(64, long) == ["E003 129:1"])
    }

    // MARK: Directories

    private func withDirectories(_ body: (_ first: String, _ second: String) throws -> Void) throws {
        var template = Array("/tmp/jostle-apps-XXXXXX\0".utf8CString.dropLast())
        try #require(mkdtemp(&template) != nil)
        let root = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let directories = ["\(root)/a", "\(root)/b"]
        for directory in directories { try #require(mkdir(directory, 0o755) == 0) }
        defer {
            for directory in directories {
                for name in ["org.example.App", "org.example.Other"] { unlink("\(directory)/\(name).conf") }
                rmdir(directory)
            }
            rmdir(root)
        }
        try body(directories[0], directories[1])
    }

    private func write(_ text: String, _ path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
    }

    @Test func aLaterDirectoryOverridesAnEarlierOne() throws {
        try self.withDirectories { first, second in
            let source = AppSource([first, second])
            let app = AppID("org.example.App")
            #expect(source.read(app).file == nil && source.read(app).findings.isEmpty)
            try self.write("[App]\nUsage=one\n", "\(first)/org.example.App.conf")
            try self.write("[App]\nUsage=other\n", "\(first)/org.example.Other.conf")
            #expect(source.read(app).file?.usage == "one")
            try self.write("[App]\nUsage=two\n", "\(second)/org.example.App.conf")
            #expect(source.read(app).file?.usage == "two")
            let all = source.readAll()
            #expect(all.files.map(\.usage).sorted() == ["other", "two"] && all.findings.isEmpty)
            // A link to /dev/null takes it away.
            unlink("\(second)/org.example.App.conf")
            #expect(symlink("/dev/null", "\(second)/org.example.App.conf") == 0)
            #expect(source.read(app).file == nil && source.read(app).findings.isEmpty)
            // Not a path, whatever the name.
            #expect(source.read(AppID("../../etc/passwd")).file == nil)
        }
    }

    // MARK: One user's

    /// A tree of files that are named by their own paths, gone after the test.
    private func withTree(_ paths: [String], _ body: (_ root: String) throws -> Void) throws {
        var template = Array("/tmp/jostle-data-XXXXXX\0".utf8CString.dropLast())
        try #require(mkdtemp(&template) != nil)
        let root = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var made: [String] = []
        defer {
            for path in made.reversed() where remove(path) != 0 { Issue.record("\(path) is left") }
            rmdir(root)
        }
        for path in paths {
            var directory = root
            for step in path.split(separator: "/").dropLast() {
                directory += "/\(step)"
                if mkdir(directory, 0o755) == 0 { made.append(directory) }
            }
            try self.write("[App]\nUsage=\(path)\n", "\(root)/\(path)")
            made.append("\(root)/\(path)")
        }
        try body(root)
    }

    private static let (name, flatpaks) = ("org.example.App.conf", "home/flatpak/app")
    private static func inFlatpak(_ app: String, _ name: String = name) -> String {
        "\(flatpaks)/\(app)/current/active/files/share/jostle/apps.d/\(name)"
    }

    /// The uppermost of these counts, and what is read of one app is what is read of all.
    @Test func aUsersFileCountsWhereTheSystemHasNone() throws {
        let places = [
            "etc/\(Self.name)", "usr/\(Self.name)", "home/jostle/apps.d/\(Self.name)",
            "one/jostle/apps.d/\(Self.name)", "two/jostle/apps.d/\(Self.name)", Self.inFlatpak("org.example.App"),
        ]
        for count in 1...places.count {
            try self.withTree(places.suffix(count)) { root in
                let environment = [
                    "XDG_DATA_HOME": "\(root)/home", "XDG_DATA_DIRS": "relative:\(root)/one/:\(root)/none:\(root)/two",
                ]
                let system = ["\(root)/usr", "\(root)/etc"]
                let source = AppSource([], system: system, user: { environment[$0] })
                let expected = places[places.count - count]
                let (one, findings, _) = source.read(AppID("org.example.App"))
                #expect(one?.usage == expected && one?.path == "\(root)/\(expected)" && findings.isEmpty)
                let all = source.readAll()
                #expect(all.files == one.map { [$0] } && all.findings.isEmpty, "\(all)")
                // Nobody's in particular: only the system's are read.
                let shared = AppSource([], system: system).readAll().files.map(\.usage)
                #expect(shared == (count > 4 ? [expected] : []))
            }
        }
    }

    /// Neither what the administrator took away nor what is broken makes way for a user's.
    @Test(arguments: ["/dev/null", "broken"])
    func aUsersFileTakesNoPlace(_ fate: String) throws {
        try self.withTree(["etc/\(Self.name)", "home/jostle/apps.d/\(Self.name)"]) { root in
            let path = "\(root)/etc/\(Self.name)"
            if fate == "broken" {
                try self.write("[App]\nModes=nonsense\n", path)
            } else {
                try #require(unlink(path) == 0 && symlink(fate, path) == 0)
            }
            let source = AppSource([], system: ["\(root)/etc"], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
            #expect(source.read(AppID("org.example.App")).file == nil)
            #expect(source.readAll().files.isEmpty)
        }
    }

    /// Of a user's files there may be so many that none of them counts; those of the system count all the same.
    @Test func aUserCannotTakeTheSystemsAway() throws {
        let users = (0...PolicyLimits.appFiles).map { "home/jostle/apps.d/org.example.A\($0).conf" }
        try self.withTree(["etc/\(Self.name)", users[0]]) { root in
            // Links to one file: as many files would take long to make.
            for path in users.dropFirst() { try #require(link("\(root)/\(users[0])", "\(root)/\(path)") == 0) }
            let source = AppSource([], system: ["\(root)/etc"], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
            let all = source.readAll()
            for path in users.dropFirst() { unlink("\(root)/\(path)") }
            #expect(all.files.map(\.usage) == ["etc/\(Self.name)"], "\(all.files.count)")
            #expect(all.findings.count == 1)
        }
    }

    /// Of Flatpak's an app's files speak for the app and for what is below it, which may be an app itself.
    @Test func aFlatpakSpeaksForItself() throws {
        let below = "org.example.App.Below.conf"
        let own = [Self.inFlatpak("org.example.App"), Self.inFlatpak("org.example.App", below)]
        let others = [
            Self.inFlatpak("org.example.App", "org.example.Other.conf"),
            Self.inFlatpak("org.example.App", "org.example.AppStore.conf"),
            Self.inFlatpak("org.example.App", "org.example.conf"),
        ]
        let above = Self.inFlatpak("org.example.App.Below", below)
        for (places, expected) in [(own + others, own), (own + others + [above], [own[0], above])] {
            try self.withTree(places) { root in
                let source = AppSource([], system: [], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
                let all = source.readAll()
                #expect(Set(all.files.map(\.usage)) == Set(expected) && all.findings.isEmpty, "\(all)")
                for file in all.files { #expect(source.read(file.id).file == file) }
                for name in ["Other", "AppStore"] {
                    #expect(source.read(AppID("org.example.\(name)")).file == nil)
                }
            }
        }
    }

    /// It takes no room of others, whatever it brings; and what is read of one app is what is read of all.
    @Test func ofAFlatpakWithTooManyFilesNoneCounts() throws {
        let many = (0...PolicyLimits.flatpakFiles).map {
            Self.inFlatpak("org.example.App", "org.example.App.f\($0).conf")
        }
        let other = Self.inFlatpak("org.example.Other", "org.example.Other.conf")
        for count in [many.count - 1, many.count] {
            let isTooMuch = count == many.count
            try self.withTree(Array(many.prefix(count)) + [other]) { root in
                let source = AppSource([], system: [], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
                let all = source.readAll()
                #expect(all.files.count == (isTooMuch ? 1 : count + 1) && all.files.contains { $0.usage == other })
                #expect(all.findings.map(\.check) == (isTooMuch ? [.tooMuch] : []))
                let (file, findings, _) = source.read(AppID("org.example.App.f0"))
                #expect((file == nil) == isTooMuch && findings.map(\.check) == (isTooMuch ? [.tooMuch] : []))
            }
        }
    }

    /// As where it had none: what the Flatpak of an id above its own says of it.
    @Test func whereAFlatpakHasTooManyFilesWhatAnotherSaysCounts() throws {
        let id = "org.example.App.Below"
        let many = ["\(id).conf"] + (1...PolicyLimits.flatpakFiles).map { "\(id).f\($0).conf" }
        let above = Self.inFlatpak("org.example.App", "\(id).conf")
        try self.withTree(many.map { Self.inFlatpak(id, $0) } + [above]) { root in
            let source = AppSource([], system: [], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
            #expect(source.readAll().files.map(\.usage) == [above])
            let (file, findings, _) = source.read(AppID(id))
            #expect(file?.usage == above && findings.isEmpty)
        }
    }

    /// Who reads a file knows whether a Flatpak brought it, be it unpacked or exported; a user may write one for it.
    @Test func aFlatpaksFileIsKnownAsSuch() throws {
        let exports = "inst/exports/share/jostle/apps.d"
        let places = [
            "etc/org.example.A.conf", "home/jostle/apps.d/org.example.B.conf", "one/jostle/apps.d/org.example.C.conf",
            Self.inFlatpak("org.example.D", "org.example.D.conf"), "\(exports)/org.example.E.conf",
        ]
        try self.withTree(places) { root in
            let environment = [
                "XDG_DATA_HOME": "\(root)/home", "XDG_DATA_DIRS": "\(root)/one:\(root)/inst/exports/share",
            ]
            let source = AppSource([], system: ["\(root)/etc"], user: { environment[$0] })
            let files = source.readAll().files
            #expect(files.map(\.isOfFlatpak) == [false, false, false, true, true])
            for file in files { #expect(source.read(file.id).file == file) }
        }
    }

    /// Whoever may write where a file stands has it.
    @Test func aFileIsOfWhoeverMayWriteIt() throws {
        let places = [
            "etc/org.example.A.conf", "home/jostle/apps.d/org.example.B.conf", "one/jostle/apps.d/org.example.C.conf",
            Self.inFlatpak("org.example.D", "org.example.D.conf"),
        ]
        try self.withTree(places) { root in
            let environment = ["XDG_DATA_HOME": "\(root)/home", "XDG_DATA_DIRS": "\(root)/one"]
            let source = AppSource([], system: ["\(root)/etc"], user: { environment[$0] })
            let files = source.readAll().files
            #expect(files.map(\.layer) == [.system, .user, .user, .user])
            for file in files { #expect(source.read(file.id).file?.layer == file.layer) }
            #expect(AppSource(["\(root)/etc"]).readAll().files.map(\.layer) == [.system])
        }
    }

    /// To open what an app's link leads to may do something: what is elsewhere is looked at, and not opened.
    @Test func whatIsElsewhereIsNotOpened() throws {
        try self.withTree(["app/\(Self.name)", "other/\(Self.name)"]) { root in
            let link = "\(root)/app/link.conf"
            try #require(symlink("../other/\(Self.name)", link) == 0)
            let events = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
            defer {
                unlink(link)
                close(events)
            }
            for place in ["app", "other"] {
                try #require(unsafe inotify_add_watch(events, "\(root)/\(place)/\(Self.name)", UInt32(IN_OPEN)) >= 0)
            }
            var told = [UInt8](repeating: 0, count: 4_096)
            #expect(ConfinedFile.open(link, within: "\(root)/app", O_RDONLY).code == EXDEV)
            #expect(unsafe Glibc.read(events, &told, told.count) == -1 && errno == EAGAIN)
            let own = ConfinedFile.open("\(root)/app/\(Self.name)", within: "\(root)/app", O_RDONLY)
            try #require(own.code == 0)
            close(own.descriptor)
            #expect(unsafe Glibc.read(events, &told, told.count) > 0)
            #expect(ConfinedFile.open("\(root)/app/\(Self.name)", within: root, O_RDONLY | O_DIRECTORY).code == ENOTDIR)
        }
    }

    /// Flatpak's own links are followed, and an app's as far as they lead to what the app has.
    @Test func aFlatpakMayLinkToWhatItHas() throws {
        let app = "\(Self.flatpaks)/org.example.App"
        let files = "\(app)/x86_64/stable/1234/files/share/jostle"
        try self.withTree(["\(files)/real.conf", "\(files)/apps.d/README"]) { root in
            let links = [
                ("x86_64/stable", "\(app)/current"), ("1234", "\(app)/x86_64/stable/active"),
                ("../real.conf", "\(files)/apps.d/\(Self.name)"),
            ]
            for (target, link) in links { try #require(symlink(target, "\(root)/\(link)") == 0) }
            defer { for (_, link) in links { unlink("\(root)/\(link)") } }
            let source = AppSource([], system: [], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
            #expect(source.readAll().files.map(\.usage) == ["\(files)/real.conf"])
            #expect(source.read(AppID("org.example.App")).file?.usage == "\(files)/real.conf")
        }
    }

    /// What a user keeps elsewhere is not read for a Flatpak, whichever part of the way its author makes a link.
    @Test(arguments: ["file", "file of another app", "directory", "absolute"])
    func aFlatpakCannotShowWhatItsUserHas(_ trick: String) throws {
        let directory = "\(Self.flatpaks)/org.example.App/current/active/files/share/jostle"
        let secret = trick == "directory" ? "secrets/\(Self.name)" : "secrets/key"
        let other = Self.inFlatpak("org.example.Other", "org.example.Other.conf")
        try self.withTree([secret, other, "\(directory)/\(trick == "directory" ? "x" : "apps.d/x")"]) { root in
            let up = String(repeating: "../", count: 9)
            let (target, link) =
                switch trick {
                case "file": ("\(up)../\(secret)", "apps.d/\(Self.name)")
                case "file of another app": ("\(up)../\(other)", "apps.d/\(Self.name)")
                case "directory": ("\(up)secrets", "apps.d")
                default: ("\(root)/\(secret)", "apps.d/\(Self.name)")
                }
            let path = "\(root)/\(directory)/\(link)"
            try #require(symlink(target, path) == 0)
            defer { unlink(path) }
            // It would be read if it were allowed.
            try #require(access(path, R_OK) == 0)
            let source = AppSource([], system: [], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
            let all = source.readAll()
            #expect(all.files.map(\.id.name) == ["org.example.Other"])
            #expect(all.findings.map(\.check) == [.unreadable])
            let (one, findings, _) = source.read(AppID("org.example.App"))
            #expect(one == nil && findings.map(\.check) == [.unreadable], "\(findings)")
            #expect(!"\(all.findings)\(findings)".contains("secrets/"))
        }
    }

    /// Of a directory that cannot be read no file counts, and it hides none: not where all are read, and not where one is.
    @Test func aDirectoryThatCannotBeReadHidesNothing() throws {
        try self.withTree(["usr/\(Self.name)"]) { root in
            let circle = "\(root)/etc"
            try #require(symlink("etc", circle) == 0)
            defer { unlink(circle) }
            let source = AppSource([], system: ["\(root)/usr", circle])
            let all = source.readAll()
            #expect(all.files.map(\.path) == ["\(root)/usr/\(Self.name)"])
            #expect(all.findings.map(\.check) == [.unreadable])
            #expect(all.unlisted == [circle])
            let (one, findings, unlisted) = source.read(AppID("org.example.App"))
            #expect(one?.path == "\(root)/usr/\(Self.name)" && findings.isEmpty, "\(findings)")
            let (none, found, others) = source.read(AppID("org.example.Other"))
            #expect(none == nil && found.map(\.place.file) == [circle], "\(found)")
            // Who comes meanwhile may have its file there.
            #expect(unlisted == [circle] && others == [circle])
        }
    }

    /// What a Flatpak has of its own says nothing of where all of them are.
    @Test func aFlatpaksOwnDirectoryIsNotThatOfAll() throws {
        let own = "\(Self.flatpaks)/org.example.App/current/active/files/share/jostle"
        let circles: [(folder: String, name: String, unlisted: [String])] = [
            (own, "apps.d", []), ("home/flatpak", "app", [Self.flatpaks]),
        ]
        for (folder, name, unlisted) in circles {
            try self.withTree(["\(folder)/beside"]) { root in
                let circle = "\(root)/\(folder)/\(name)"
                try #require(symlink(name, circle) == 0)
                defer { unlink(circle) }
                let source = AppSource([], system: [], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
                let (file, findings, found) = source.read(AppID("org.example.App"))
                #expect(file == nil && !findings.isEmpty, "\(findings)")
                let expected = Set(unlisted.map { "\(root)/\($0)" })
                #expect(Set(found) == expected && Set(source.readAll().unlisted) == expected, "\(found)")
            }
        }
    }

    /// What others wrote is not repeated in the log: it may be anything. What the user wrote is.
    @Test(arguments: [("home/jostle/apps.d", true), ("one/jostle/apps.d", false), ("flatpak", false), ("etc", true)])
    func onlyWhatIsOnesOwnIsRepeated(_ place: String, _ isRepeated: Bool) throws {
        let path = place == "flatpak" ? Self.inFlatpak("org.example.App") : "\(place)/\(Self.name)"
        try self.withTree([path]) { root in
            let environment = ["XDG_DATA_HOME": "\(root)/home", "XDG_DATA_DIRS": "\(root)/one"]
            let source = AppSource([], system: ["\(root)/etc"], user: { environment[$0] })
            for text in ["verysecret words\n", "[verysecret]\n", "[App]\nverysecret=1\n", "[App]\nModes=verysecret\n"] {
                try self.write(text, "\(root)/\(path)")
                for findings in [source.readAll().findings, source.read(AppID("org.example.App")).findings] {
                    #expect(!findings.isEmpty && findings.allSatisfy { $0.place.file == "\(root)/\(path)" })
                    #expect("\(findings)".contains("verysecret") == isRepeated, "\(findings)")
                }
            }
        }
    }

    /// Links that Flatpak exports lead to the installation, or they are not followed.
    @Test(arguments: [true, false])
    func whatFlatpakExportsStaysInItsInstallation(_ isInside: Bool) throws {
        let (inside, outside) = ("inst/app/x/export.conf", "secrets/key")
        let exports = "inst/exports/share/jostle/apps.d"
        try self.withTree([inside, outside, "\(exports)/README"]) { root in
            let link = "\(root)/\(exports)/\(Self.name)"
            try #require(symlink("../../../../../\(isInside ? inside : outside)", link) == 0)
            defer { unlink(link) }
            let environment = ["XDG_DATA_HOME": "\(root)/home", "XDG_DATA_DIRS": "\(root)/inst/exports/share"]
            let all = AppSource([], system: [], user: { environment[$0] }).readAll()
            #expect(all.files.map(\.usage) == (isInside ? [inside] : []))
            #expect(all.findings.map(\.check) == (isInside ? [] : [.unreadable]))
        }
    }

    /// Very many directories with a file each are read in the order of the files, and as fast as one with all of them.
    @Test func manyFlatpaksAreInOrder() throws {
        let paths = (0..<600).map { Self.inFlatpak("org.example.A\($0)", "org.example.A\($0).conf") }
        try self.withTree(paths) { root in
            let source = AppSource([], system: [], user: { ["XDG_DATA_HOME": "\(root)/home"][$0] })
            let names = source.readAll().files.map(\.id.name)
            #expect(
                names == (0..<600).map { "org.example.A\($0)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }

    /// What is not there is not missed, and a variable that is no path says nothing.
    @Test(arguments: [
        ["HOME": "/nowhere"], ["XDG_DATA_HOME": "/dev/null"], ["XDG_DATA_HOME": "here", "HOME": "h"], [:],
    ])
    func aUserMayHaveNothing(_ variables: [String: String]) {
        let environment = variables.merging(["XDG_DATA_DIRS": "/nowhere:relative"]) { own, _ in own }
        let source = AppSource([], system: ["/nowhere"], user: { environment[$0] })
        let (file, findings, _) = source.read(AppID("org.example.App"))
        #expect(file == nil && findings.isEmpty && source.readAll().findings.isEmpty)
    }

    // MARK: Documentation

    @Test func theDocumentationHasAllKeys() throws {
        let path = String(#filePath.dropLast("Tests/PolicyFilesTests/AppFileTests.swift".count)) + "docs/apps.md"
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var text = ""
        var line = [CChar](repeating: 0, count: 4_096)
        while fgets(&line, 4_096, file) != nil {
            text += String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        #expect(text.contains(AppFile.keyTable()), "\(AppFile.keyTable())")
        for key in AppFile.keys { #expect(AppFile.examples[key.name] != nil, "\(key.name)") }
    }
}
