import Arbitration
import FocusCore
import Motion
import Testing

/// Which app a window is of.
@Suite struct AppNamerTests {
    // MARK: As windows are

    /// Of the windows that were recorded, nearly all are known, and none is taken for another app.
    @Test func recordedWindowsAreKnown() {
        let files = DebianDesktopFiles.files
        #expect(files.count > 200 && files.leftOut == 0)
        // Whose desktop file is not named like an app says in its app file which is its own.
        let others = RecordedWindow.all.map(\.file).filter { !$0.isEmpty && !AppID.isValid($0) }
        var namer = AppNamer()
        namer.take(files)
        namer.take(
            Set(others).map { AppNamer.KnownApp(id: Self.app(ofFile: $0), windows: [NamePattern($0)]) })
        var (right, wrong, unknown) = (0, [String](), [String]())
        for window in RecordedWindow.all {
            let claims = WindowClaims(
                appID: window.appID, instance: window.instance, windowClass: window.windowClass, gtkAppID: window.gtk)
            let expected = window.file.isEmpty ? nil : Self.app(ofFile: window.file)
            let named = namer.app(of: claims)
            if named.id == expected {
                if expected != nil { right += 1 }
            } else if named.id == nil {
                unknown.append("\(window.file) (\(window.source)): \(named)")
            } else {
                wrong.append("\(window.file) (\(window.source)): \(named)")
            }
        }
        let total = RecordedWindow.all.count { !$0.file.isEmpty }
        print("\(right) of \(total) recorded windows are known, \(100 * right / total) %; not: \(unknown)")
        #expect(total >= 60)
        #expect(wrong.isEmpty)
        #expect(right * 100 >= total * 95, "\(unknown)")
    }

    private static func app(ofFile id: String) -> AppID { AppID(AppID.isValid(id) ? id : "org.test.\(id)") }

    // MARK: Each way

    private static func entry(_ keys: String) -> [UInt8] {
        Array("[Desktop Entry]\nType=Application\n\(keys)\n".utf8)
    }

    private static func namer(
        _ entries: [(String, String)], _ known: [String] = [], aliases: [(String, [String])] = []
    ) -> AppNamer {
        var files = DesktopFiles()
        for (id, keys) in entries { files.add("\(id).desktop", Self.entry(keys)) }
        var namer = AppNamer()
        namer.take(files)
        namer.take(
            known.map { AppNamer.KnownApp(id: AppID($0)) }
                + aliases.map { app, windows in
                    AppNamer.KnownApp(id: AppID(app), windows: windows.map { NamePattern($0) })
                })
        return namer
    }

    private static func process(_ unit: String, _ command: String, sandbox: String? = nil) -> WindowProcess {
        WindowProcess(
            groups: Array("0::/user.slice/user-1000.slice/user@1000.service/app.slice/\(unit)\n".utf8),
            sandboxFile: sandbox.map { Array($0.utf8) }, command: Array("\(command)\n".utf8))
    }

    private static func named(_ id: String, _ way: NamedApp.Way) -> NamedApp { .app(AppID(id), by: way) }

    @Test func anIDThatIsKnownOrHasAFileIsExact() {
        let namer = Self.namer([("org.example.Filed", "Exec=filed")], ["org.example.Known"])
        #expect(namer.app(of: WindowClaims(appID: "org.example.Known")) == Self.named("org.example.Known", .exact))
        #expect(
            namer.app(of: WindowClaims(instance: "known", windowClass: "Known", gtkAppID: "org.example.Filed"))
                == Self.named("org.example.Filed", .exact))
        #expect(namer.app(of: WindowClaims(appID: "org.example.Nobody")).id == nil)
        // It cannot be of two.
        let both = WindowClaims(windowClass: "org.example.Known", gtkAppID: "org.example.Filed")
        #expect(
            namer.app(of: both)
                == .unknown(hint: "it says that it is of several apps: org.example.Filed, org.example.Known"))
    }

    @Test func theProcessThatIsAnAppOnTheBusHasItsWindows() {
        var namer = AppNamer()
        let (a, b, c) = (AppID("org.example.A"), AppID("org.example.B"), AppID("org.example.C"))
        namer.take([
            .init(id: a, process: 7), .init(id: b, process: 8), .init(id: c, process: 8), .init(id: c, process: 9),
            .init(id: c, process: 9), .init(id: b),
        ])
        #expect(namer.app(of: WindowClaims(process: 7)) == .app(a, by: .process))
        // Also where its window says something else.
        #expect(namer.app(of: WindowClaims(appID: "org.example.B", process: 7)) == .app(a, by: .process))
        #expect(namer.app(of: WindowClaims(process: 9)) == .app(c, by: .process))
        // One that is several apps does not say of which its window is.
        #expect(namer.app(of: WindowClaims(process: 8)).id == nil)
        #expect(namer.app(of: WindowClaims(appID: "org.example.B", process: 8)) == .app(b, by: .exact))
        #expect(namer.app(of: WindowClaims(process: 10)).id == nil)
        namer.take([.init(id: a)])
        #expect(namer.app(of: WindowClaims(process: 7)).id == nil)
    }

    @Test func classesAreComparedAsTheyStandFirst() {
        let namer = Self.namer([
            ("org.example.Upper", "Exec=a\nStartupWMClass=Tool"), ("org.example.Lower", "Exec=b\nStartupWMClass=tool"),
            ("org.example.One", "Exec=c\nStartupWMClass=Single"),
            ("org.example.First", "Exec=d\nStartupWMClass=Twin"), ("org.example.Second", "Exec=e\nStartupWMClass=Twin"),
        ])
        #expect(namer.app(of: WindowClaims(appID: "Tool")) == Self.named("org.example.Upper", .windowClass))
        #expect(namer.app(of: WindowClaims(appID: "tool")) == Self.named("org.example.Lower", .windowClass))
        #expect(namer.app(of: WindowClaims(appID: "SINGLE")) == Self.named("org.example.One", .windowClass))
        // With other capitals it could be either.
        #expect(namer.app(of: WindowClaims(appID: "TOOL")).id == nil)
        let hint = "several desktop files may be meant: org.example.First, org.example.Second; "
        guard case .unknown(let told) = namer.app(of: WindowClaims(appID: "Twin")) else {
            Issue.record("it could be either of two")
            return
        }
        #expect(told.hasPrefix(hint) && told.contains("Windows=Twin"))
        // Another of its names decides.
        #expect(
            namer.app(of: WindowClaims(instance: "Twin", windowClass: "org.example.Second")).id?.name
                == "org.example.Second")
    }

    /// It may bring any number, and they cost it nothing: all are one file on the disk.
    @Test func aFlatpakTakesNoRoomOfOthers() {
        var files = DesktopFiles()
        var read = 0
        func add(_ id: String, _ bytes: [UInt8], ofFlatpak: Bool = true) {
            files.add("\(id).desktop", ofFlatpak: ofFlatpak) {
                read += 1
                return bytes
            }
        }
        for number in 0..<DesktopFiles.most { add("org.example.Packed.f\(number)", Self.entry("Exec=x")) }
        #expect(files.count == DesktopFiles.mostOfFlatpak.files && read == files.count)
        #expect(files.leftOut == DesktopFiles.most - read)
        let long = Self.entry("Exec=x") + [UInt8](repeating: 0x0A, count: 250 << 10)
        for number in 0..<100 { add("org.example.Long.f\(number)", long) }
        #expect(read < DesktopFiles.mostOfFlatpak.files + 10)
        add("org.example.Other", Self.entry("Exec=x"))
        add("org.example.Own", Self.entry("Exec=x"), ofFlatpak: false)
        #expect(files["org.example.Other"] != nil && files["org.example.Own"] != nil)
    }

    /// A package may bring thousands: a window is compared with few of them, and what the host has is found beside them.
    @Test func ofVeryManyFilesOfOneNameFewCount() {
        var files = DesktopFiles()
        for number in 0..<4_000 {
            let name = number % 2 == 0 ? "tool" : "Tool"
            files.add(
                "org.example.Packed.f\(number).desktop",
                Self.entry("Exec=flatpak run x\nStartupWMClass=\(name)\nX-Flatpak=org.example.Packed"))
        }
        files.add("org.example.Tool.desktop", Self.entry("Exec=y\nStartupWMClass=tool"))
        #expect(files.count == 4_001)
        guard case .several(let found) = files.match(["tool", "Tool"], where: { _ in true }) else {
            Issue.record("it could be any of them")
            return
        }
        #expect(found.count == DesktopFiles.mostAlike + 1)
        guard case .one(let own, _) = files.match(["tool", "Tool"], where: { $0.flatpak == nil }) else {
            Issue.record("the host has one")
            return
        }
        #expect(own.id == "org.example.Tool")
    }

    /// A Flatpak may bring app files for thousands of ids below its own.
    @Test func ofVeryManyNamesOfAFlatpakFewCount() {
        var namer = AppNamer()
        let many = (100..<300).map {
            AppNamer.KnownApp(
                id: AppID("org.example.Packed.f\($0)"), windows: [NamePattern("name\($0)")], isOfFlatpak: true)
        }
        let other = AppNamer.KnownApp(
            id: AppID("org.example.Tool"), windows: [NamePattern("tool*")], isOfFlatpak: true)
        namer.take(many + [other])
        let known = (100..<300).count { namer.app(of: WindowClaims(appID: "name\($0)")).id != nil }
        #expect(known == 64)
        #expect(
            namer.app(of: WindowClaims(appID: "name100")) == Self.named("org.example.Packed.f100", .alias))
        #expect(namer.app(of: WindowClaims(appID: "tool-1")) == Self.named("org.example.Tool", .alias))
    }

    @Test func whatMenusDoNotShowGivesWay() {
        let namer = Self.namer([
            ("org.example.Importer", "Exec=importer\nStartupWMClass=viewer\nNoDisplay=true"),
            ("org.example.Viewer", "Exec=viewer"),
            ("org.example.Handler", "Exec=handler\nStartupWMClass=Handled\nNoDisplay=true"),
        ])
        #expect(namer.app(of: WindowClaims(appID: "viewer")) == Self.named("org.example.Viewer", .desktopFile))
        #expect(namer.app(of: WindowClaims(appID: "Handled")) == Self.named("org.example.Handler", .windowClass))
    }

    @Test func programsThatRunOthersNameNobody() {
        let namer = Self.namer([
            ("org.example.Script", "Exec=python3 /usr/share/script.py"), ("org.example.Page", "Exec=electron22 /x"),
            ("org.example.Env", "Exec=env A=b \"/opt/my app/tool\" %U"),
            ("org.example.Text", "Exec=text\nTerminal=true"),
        ])
        for name in ["python3", "electron22", "electron", "text", "env"] {
            #expect(namer.app(of: WindowClaims(appID: name)).id == nil, "\(name)")
        }
        #expect(namer.app(of: WindowClaims(appID: "tool")).id?.name == "org.example.Env")
    }

    @Test func appsThatTheBusStartsGoBeforeOthersOfTheirProgram() {
        let namer = Self.namer([
            ("org.example.Office", "Exec=office\nDBusActivatable=true"), ("org.example.Table", "Exec=office --table"),
            ("org.example.A", "Exec=suite"), ("org.example.B", "Exec=suite --b"),
            ("org.example.Notes", "Exec=notes"), ("org.example.notes-settings", "Exec=notes --settings"),
        ])
        #expect(namer.app(of: WindowClaims(appID: "office")).id?.name == "org.example.Office")
        #expect(namer.app(of: WindowClaims(appID: "suite")).id == nil)
        // One that is called like its program is the program.
        #expect(namer.app(of: WindowClaims(appID: "notes")).id?.name == "org.example.Notes")
    }

    // MARK: Aliases

    @Test func anAppFileNamesWindows() {
        let namer = Self.namer(
            [("foot", "Exec=foot"), ("org.example.Filed", "Exec=filed")],
            aliases: [
                ("org.example.Terminal", ["foot", "foot-*", "filed"]), ("org.example.Other", ["foo*", "twice"]),
                ("org.example.Third", ["twice", "x-*"]),
            ])
        #expect(namer.app(of: WindowClaims(appID: "foot")) == Self.named("org.example.Terminal", .alias))
        // A name goes before one with stars; of these two nobody's.
        #expect(namer.app(of: WindowClaims(appID: "foot-1")).id == nil)
        #expect(namer.app(of: WindowClaims(appID: "foo-1")) == Self.named("org.example.Other", .alias))
        #expect(namer.app(of: WindowClaims(appID: "X-1")).id == nil)
        #expect(namer.app(of: WindowClaims(appID: "x-1")) == Self.named("org.example.Third", .alias))
        #expect(
            namer.app(of: WindowClaims(appID: "twice"))
                == .unknown(hint: "several app files say that it is theirs: org.example.Other, org.example.Third"))
        // It takes nothing from an app that is known otherwise.
        #expect(namer.app(of: WindowClaims(appID: "filed")) == Self.named("org.example.Filed", .desktopFile))
    }

    @Test func theHintSaysWhatToWriteWhere() {
        let namer = Self.namer([("foot", "Exec=foot")])
        let told =
            "into [App] of the app's file, /etc/jostle/apps.d/APPID.conf or ~/.local/share/jostle/apps.d/APPID.conf"
        #expect(namer.app(of: WindowClaims(appID: "foot")) == .unknown(hint: "write Windows=foot \(told)"))
        // A blank would end the name.
        #expect(
            namer.app(of: WindowClaims(windowClass: "Standard Notes"))
                == .unknown(hint: "write Windows=Standard*Notes \(told)"))
        #expect(namer.app(of: WindowClaims()).id == nil)
    }

    // MARK: Processes

    @Test func aUnitNamesItsOwnProgramAndNoOther() {
        let namer = Self.namer(
            [
                ("org.kde.konsole", "Exec=konsole"), ("org.example.Passwords", "Exec=/opt/passwords %U"),
                ("xterm", "Exec=xterm"),
            ],
            ["org.example.Service"])
        let konsole = "app-org.kde.konsole-0123.scope"
        #expect(
            namer.app(of: WindowClaims(), process: Self.process(konsole, "konsole"))
                == Self.named("org.kde.konsole", .unit))
        // What somebody starts in a terminal is in the terminal's unit.
        #expect(
            namer.app(of: WindowClaims(windowClass: "XEyes"), process: Self.process(konsole, "xeyes")).id == nil)
        #expect(namer.app(of: WindowClaims(), process: Self.process(konsole, "game")).id == nil)
        #expect(
            namer.app(of: WindowClaims(windowClass: "xterm"), process: Self.process(konsole, "konsole")).id == nil)
        // A window that says nothing that is known.
        let electron = WindowClaims(appID: "electron")
        #expect(
            namer.app(of: electron, process: Self.process("app-org.example.Passwords@1.service", "passwords"))
                == Self.named("org.example.Passwords", .unit))
        // Of an app that has no desktop file nobody knows the program.
        #expect(
            namer.app(of: electron, process: Self.process("org.example.Service.service", "python3"))
                == Self.named("org.example.Service", .unit))
    }

    /// Anybody's window can say that it is from elsewhere: that takes it out of a unit, and out of no sandbox and no app.
    @Test func aWindowFromElsewhereIsOfNoUnit() {
        var namer = Self.namer([("org.example.Filed", "Exec=filed")], ["org.example.Service"])
        let carrier = Self.process("org.example.Service.service", "ssh")
        #expect(namer.app(of: WindowClaims(process: 7), process: carrier) == Self.named("org.example.Service", .unit))
        #expect(namer.app(of: WindowClaims(process: 7, isElsewhere: true), process: carrier).id == nil)
        let filed = WindowClaims(windowClass: "org.example.Filed", process: 7, isElsewhere: true)
        #expect(namer.app(of: filed, process: carrier) == Self.named("org.example.Filed", .exact))
        let boxed = Self.process(
            "app-org.example.Filed-1.scope", "filed", sandbox: "[Application]\nname=org.example.Boxed\n")
        #expect(namer.app(of: filed, process: boxed) == Self.named("org.example.Boxed", .sandbox))
        namer.take([AppNamer.KnownApp(id: AppID("org.example.Service"), process: 7)])
        #expect(namer.app(of: filed, process: carrier) == Self.named("org.example.Service", .process))
    }

    @Test func theKernelKeepsTheFrontOfAProgramsName() {
        let namer = Self.namer([("org.gnome.Calculator", "Exec=gnome-calculator")])
        let process = Self.process("app-gnome-org.gnome.Calculator-1.scope", "gnome-calculato")
        #expect(namer.app(of: WindowClaims(), process: process) == Self.named("org.gnome.Calculator", .unit))
    }

    @Test func aSandboxOutweighsWhatItsWindowsSay() {
        let namer = Self.namer(
            [
                ("org.example.Host", "Exec=host"),
                ("org.example.Packed", "Exec=flatpak run org.example.Packed\nX-Flatpak=org.example.Packed"),
                ("org.example.Packed.Part", "Exec=flatpak run x\nStartupWMClass=part\nX-Flatpak=org.example.Packed"),
                ("firefox_firefox", "Exec=/snap/bin/firefox\nStartupWMClass=firefox\nX-SnapInstanceName=firefox"),
            ], ["org.example.Packed.Known"], aliases: [("org.mozilla.firefox", ["firefox_firefox"])])
        let sandbox = "[Application]\nname=org.example.Packed\n"
        for process in [
            Self.process("app-flatpak-org.example.Packed-1.scope", "x"), Self.process("x.scope", "x", sandbox: sandbox),
            Self.process("app-org.example.Host-1.scope", "host", sandbox: sandbox),
        ] {
            #expect(
                namer.app(of: WindowClaims(appID: "org.example.Host"), process: process)
                    == Self.named("org.example.Packed", .sandbox))
            #expect(
                namer.app(of: WindowClaims(appID: "org.example.Packed"), process: process)
                    == Self.named("org.example.Packed", .exact))
            #expect(
                namer.app(of: WindowClaims(appID: "org.example.Packed.Known"), process: process)
                    == Self.named("org.example.Packed.Known", .exact))
        }
        let hidden = Self.process("x.scope", "x", sandbox: "")
        #expect(namer.app(of: WindowClaims(appID: "org.example.Host"), process: hidden).id == nil)
        let snap = Self.process("snap.firefox.firefox-0a1b.scope", "firefox")
        #expect(
            namer.app(of: WindowClaims(appID: "org.example.Host"), process: snap)
                == Self.named("org.mozilla.firefox", .alias))
        let other = Self.process("snap.other.app-0a1b.scope", "x")
        #expect(namer.app(of: WindowClaims(appID: "firefox"), process: other).id == nil)
    }

    /// What a Flatpak brings names none of the windows outside of it.
    @Test func filesOfSandboxesAreForSandboxes() {
        let namer = Self.namer([
            ("org.example.Packed", "Exec=flatpak run x\nStartupWMClass=tool\nX-Flatpak=org.example.Packed"),
            ("org.example.Host", "Exec=tool"),
        ])
        let host = Self.process("session-2.scope", "tool")
        #expect(namer.app(of: WindowClaims(appID: "tool"), process: host).id?.name == "org.example.Host")
        #expect(namer.app(of: WindowClaims(appID: "org.example.Packed"), process: host).id == nil)
        // Where a compositor does not say whose window it is.
        #expect(namer.app(of: WindowClaims(appID: "org.example.Packed")).id?.name == "org.example.Packed")
    }

    /// Nor does what its app file says: of a window that the host has something to say of, it is not even asked.
    @Test func windowsOfTheHostAreNoFlatpaks() {
        let (own, packed) = (AppID("org.example.Own"), AppID("org.example.Packed"))
        let everything = AppNamer.KnownApp(
            id: packed, windows: ["web-esr", "tool", "*e*", "*o*"].map { NamePattern($0) }, isOfFlatpak: true)
        var files = DesktopFiles()
        files.add("web-esr.desktop", Self.entry("Exec=web"))
        files.add("packed-part.desktop", Self.entry("Exec=flatpak run x\nX-Flatpak=org.example.Packed"))
        var namer = AppNamer()
        namer.take(files)
        namer.take([everything])
        let host = Self.process("session-2.scope", "web")
        for name in ["web-esr", "tool", "some", "xterm", "packed-part"] {
            #expect(namer.app(of: WindowClaims(appID: name), process: host).id == nil, "\(name)")
        }
        // A snap is no Flatpak, either.
        let snap = Self.process("snap.some.tool-0a1b.scope", "some")
        #expect(namer.app(of: WindowClaims(appID: "some"), process: snap).id == nil)
        // Where nobody knows whose window it is, it may be the Flatpak's, unless a desktop file of the host stands for it.
        #expect(namer.app(of: WindowClaims(appID: "web-esr")).id == nil)
        for name in ["tool", "some", "packed-part"] {
            #expect(namer.app(of: WindowClaims(appID: name)) == .app(packed, by: .alias), "\(name)")
        }
        // What an app file of the host says is not disputed, not even by a name without stars.
        namer.take([everything, AppNamer.KnownApp(id: own, windows: ["web-esr", "t*"].map { NamePattern($0) })])
        for process in [host, nil] {
            for name in ["web-esr", "tool"] {
                #expect(
                    namer.app(of: WindowClaims(appID: name), process: process) == .app(own, by: .alias), "\(name)")
            }
        }
        // In its sandbox it is known by that.
        let inside = Self.process("app-flatpak-org.example.Packed-1.scope", "x")
        #expect(namer.app(of: WindowClaims(appID: "web-esr"), process: inside) == .app(packed, by: .sandbox))
    }

    // MARK: Files

    @Test func theFirstFileOfAnIDCounts() {
        var files = DesktopFiles()
        files.add("a.desktop", Self.entry("Exec=mine"))
        files.add("a.desktop", Self.entry("Exec=other"))
        files.add("kde4/b.desktop", Self.entry("Exec=b"))
        files.add("gone.desktop", Self.entry("Hidden=true\nExec=gone"))
        files.add("gone.desktop", Self.entry("Exec=gone"))
        files.add("unreadable.desktop", nil)
        files.add("unreadable.desktop", Self.entry("Exec=x"))
        files.add("mimeinfo.cache", Self.entry("Exec=x"))
        files.add(".desktop", Self.entry("Exec=x"))
        #expect(files["a"]?.program == "mine" && files["kde4-b"]?.program == "b")
        #expect(files["gone"] == nil && files["unreadable"] == nil && files.count == 4)
    }

    @Test(
        arguments: [
            ("[Desktop Entry]\nType=Application\nExec=a\nExec=b %U\n", "b"),
            ("# x\n\n[Desktop Entry]\r\nType = Application\r\nExec = \"/opt/a b/c\\\\\"d\" x\r\n", "c\"d"),
            ("[Desktop Entry]\nType=Application\nExec[de]=a\nName=Exec=b\n[Desktop Action x]\nExec=c\n", nil),
            ("[Desktop Entry]\nType=Application\nExec=env --unset=X Y=1 /usr/bin/prog\n", "prog"),
            ("[Desktop Entry]\nType=Application\nExec=\"open\n", nil),
            ("[Desktop Entry]\nType=Application\nExec=env\n", nil), ("[Desktop Entry]\nType=Application\nExec=\n", nil),
            ("[Desktop Entry]\nType=Application\nExec=/usr/bin/\n", "bin"),
        ] as [(String, String?)])
    func programsAreRead(_ text: String, _ program: String?) {
        guard case .entry(let entry) = DesktopEntry.read("x", Array(text.utf8)) else {
            Issue.record("it is an entry")
            return
        }
        #expect(entry.program == program)
    }

    @Test(arguments: [
        "", "[Desktop Entry]\nType=Link\n", "Type=Application\n", "[Other]\n[Desktop Entry]\nType=Application\n",
        "[Desktop Entry]\nType=Application\nHidden=true\n", "\u{FFFD}\0[",
    ])
    func whatIsNoAppIsNothing(_ text: String) {
        #expect(DesktopEntry.read("x", Array(text.utf8)) == .nothing)
    }

    @Test func largeFilesAreNotRead() {
        let pad = [UInt8](repeating: UInt8(ascii: "#"), count: DesktopEntry.mostBytes)
        #expect(DesktopEntry.read("x", Self.entry("Exec=x") + pad) == .nothing)
        let long = String(repeating: "x", count: 10_000)
        guard case .entry(let entry) = DesktopEntry.read("x", Self.entry("Exec=\(long)\nStartupWMClass=\(long)")) else {
            Issue.record("it is an entry")
            return
        }
        #expect(entry.program == nil && entry.startupClass == nil)
    }

    /// A line may be as long as the file, and to compare texts takes the square of a row of combining marks.
    @Test func aLongRowOfMarksKeepsNobodyWaiting() {
        let (row, name) = (
            String(repeating: "\u{301}\u{323}", count: 20_000), "q" + String(repeating: "\u{301}", count: 31)
        )
        let start = ContinuousClock.now
        let reading = DesktopEntry.read("x", Self.entry("q\(row)=1\nExec=\(name)\nStartupWMClass=\(name)"))
        #expect(ContinuousClock.now - start < .seconds(1))
        #expect(reading == .entry(DesktopEntry(id: "x")))
    }

    @Test func thereIsRoomForSoManyFiles() {
        var files = DesktopFiles()
        for number in 0..<DesktopFiles.most + 3 { files.add("a\(number).desktop", Self.entry("Exec=x")) }
        #expect(files.count == DesktopFiles.most && files.leftOut == 3)
    }
}
