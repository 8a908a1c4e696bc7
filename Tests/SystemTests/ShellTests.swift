import Glibc
import TestSupport
import Testing

extension Senses {
    /// jostle-focus with shells that say themselves what is in front: KWin and GNOME Shell, without a screen. `make test-focus` runs these.
    @Suite(.serialized, .enabled(if: Programs.variable("JOSTLE_TEST_DESKTOPS") != nil)) struct Shells {
        private static let (alpha, beta) = ("org.example.Alpha", "org.example.Beta")

        @Test func whoIsInFrontInKWinIsSaid() throws {
            let scene = try DesktopScene()
            try scene.startFocus("kwin", scene.sessionEnvironment)
            for _ in 0..<2 {
                // The script goes with the shell, and is loaded into the next.
                let shell = try scene.startKWin()
                try scene.until("||")
                let a = try scene.openGTK(on: "wl-kwin", as: Self.alpha)
                try scene.until("\(Self.alpha)||")
                let b = try scene.openGTK(on: "wl-kwin", as: Self.beta)
                try scene.until("\(Self.beta)|\(Self.alpha)|")
                let list = try scene.stage.jostle("focus", "--list").stdout
                #expect(list.contains("pid=\(a.pid)") && list.contains("pid=\(b.pid)"), "\(list)")
                _ = try b.terminate()
                try scene.until("\(Self.alpha)||")
                try scene.stage.kill(shell)
                _ = try a.waitForEnd()
            }
            try scene.until("forget")
        }

        @Test func whoIsInFrontInGNOMEIsSaid() throws {
            let scene = try DesktopScene()
            let shell = try scene.startGNOME()
            // Later than the shell, and once more: it is told all anew.
            for _ in 0..<2 {
                try scene.startFocus("gnome", scene.sessionEnvironment)
                try scene.until("||")
                let a = try scene.openGTK(on: "wl-gnome", as: Self.alpha)
                try scene.until("\(Self.alpha)||")
                let b = try scene.openGTK(on: "wl-gnome", as: Self.beta)
                try scene.until("\(Self.beta)|\(Self.alpha)|")
                // Over the windows lies what the shell shows of them.
                try scene.overview(true)
                try scene.until("|\(Self.alpha) \(Self.beta)|")
                try scene.overview(false)
                try scene.until("\(Self.beta)|\(Self.alpha)|")
                for app in [a, b] { _ = try app.terminate() }
                try scene.until("||")
                try scene.endFocus()
            }
            _ = try shell.terminate()
        }
    }

    /// jostle-focus with the shells of phones, played by python-dbusmock, and with callers who are no shell.
    @Suite(.serialized) struct PhoneShells {
        @Test func lipstickSaysWhichProcessIsInFront() throws {
            let scene = try DesktopScene()
            try scene.startFocus("lipstick", ["DBUS_SYSTEM_BUS_ADDRESS": scene.stage.address])
            let mock = try scene.startMock("org.nemomobile.lipstick", "/", "org.nemomobile.compositor")
            try mock.add("privateTopmostWindowProcessId", "", "i", "ret = getattr(self, 'topmost', 0)")
            try mock.add(
                "Show", "i", "",
                "self.topmost = args[0]; self.EmitSignal('org.nemomobile.compositor', "
                    + "'privateTopmostWindowProcessIdChanged', 'i', [args[0]])")
            try mock.call("Show", "i", "4711")
            try scene.until("?||")
            #expect(try scene.stage.jostle("focus", "--list").stdout.contains("pid=4711"))
            // Home is of no process.
            try mock.call("Show", "i", "0")
            try scene.until("||")
            try mock.call("Show", "i", "4712")
            try scene.until("?||")
            // Whoever says the same without being lipstick is not believed.
            let forged = try scene.stage.busctl(
                "emit", "/", "org.nemomobile.compositor", "privateTopmostWindowProcessIdChanged", "i", "1")
            #expect(forged.status == 0, "\(forged.stderr)")
            #expect(try scene.stage.jostle("focus", "--list").stdout.contains("pid=4712"))
            try scene.stage.kill(mock.program)
            try scene.until("forget")
        }

        @Test func aLipstickThatFailsForOnceIsAskedAgain() throws {
            let scene = try DesktopScene()
            let mock = try scene.startMock("org.nemomobile.lipstick", "/", "org.nemomobile.compositor")
            try mock.add(
                "privateTopmostWindowProcessId", "", "i",
                """
                self.asked = getattr(self, 'asked', 0) + 1
                if self.asked == 1: raise \(DesktopScene.Mock.failure)
                ret = 4711
                """)
            try scene.startFocus("lipstick", ["DBUS_SYSTEM_BUS_ADDRESS": scene.stage.address])
            try scene.until("?||")
            #expect(try scene.stage.jostle("focus", "--list").stdout.contains("pid=4711"))
        }

        @Test func lomiriIsAskedWhenAnAppGoesOnOrIsStopped() throws {
            let scene = try DesktopScene()
            try scene.startFocus("lomiri", [:])
            let name = "com.lomiri.Shell.FocusInfo"
            let mock = try scene.startMock(name, "/com/lomiri/Shell/FocusInfo", name)
            try mock.add(
                "isPidFocused", "u", "b",
                "self.asked = getattr(self, 'asked', 0) + 1; ret = args[0] == getattr(self, 'focused', 0)")
            try mock.add("Focus", "u", "", "self.focused = args[0]")
            try mock.add("Asked", "", "u", "ret = getattr(self, 'asked', 0)")
            for (process, isFocused) in [("4711", true), ("4712", true), ("4712", false)] {
                try mock.call("Focus", "u", isFocused ? process : "0")
                let signal = try scene.stage.busctl(
                    "emit", "/", "com.lomiri.LomiriAppLaunch",
                    isFocused ? "ApplicationResumed" : "ApplicationPaused", "ssat", "app", "", "1", process)
                #expect(signal.status == 0, "\(signal.stderr)")
                try scene.until(isFocused ? "?||" : "||")
                let list = try scene.stage.jostle("focus", "--list").stdout
                #expect(list.contains("pid=\(process)") == isFocused, "\(list)")
            }
            // Nobody is asked while nothing changes.
            let asked = try mock.call("Asked")
            usleep(300_000)
            #expect(try mock.call("Asked") == asked)
            try scene.stage.kill(mock.program)
            try scene.until("forget")
        }

        /// That it did not answer is not that nobody is in front, and nothing else need happen for it to be asked again.
        @Test func aShellThatFailsForOnceIsAskedAgain() throws {
            let scene = try DesktopScene()
            try scene.startFocus("lomiri", [:])
            let name = "com.lomiri.Shell.FocusInfo"
            let mock = try scene.startMock(name, "/com/lomiri/Shell/FocusInfo", name)
            try mock.add(
                "isPidFocused", "u", "b",
                """
                self.failures = getattr(self, 'failures', 0) - 1
                if self.failures >= 0: raise \(DesktopScene.Mock.failure)
                ret = args[0] == getattr(self, 'focused', 0)
                """)
            try mock.add("Focus", "u", "", "self.focused = args[0]")
            try mock.add("Fail", "u", "", "self.failures = args[0]")
            func say(_ member: String, _ process: String) throws {
                let signal = try scene.stage.busctl(
                    "emit", "/", "com.lomiri.LomiriAppLaunch", member, "ssat", "app", "", "1", process)
                #expect(signal.status == 0, "\(signal.stderr)")
            }
            try mock.call("Focus", "u", "4711")
            try say("ApplicationResumed", "4711")
            try scene.until("?||")
            // It fails once for each of the two that it is asked after, and has another one in front by then.
            try mock.call("Fail", "u", "2")
            try mock.call("Focus", "u", "4712")
            let reports = scene.reports
            try say("ApplicationPaused", "4712")
            // Nothing was said in between.
            try scene.until("?||")
            #expect(scene.reports == reports + 1)
            #expect(try scene.stage.jostle("focus", "--list").stdout.contains("pid=4712"))
        }

        /// Whoever likes opens thousands of windows, and has apps come and go.
        @Test func thousandsOfWindowsKeepNobodyWaiting() throws {
            let scene = try DesktopScene(broker: false)
            try scene.stage.startBroker()
            try scene.startFocus("gnome", [:])
            _ = scene.keep(
                try BackgroundProgram(
                    "jostle-baseline", ["daemon", "--bus", scene.stage.address, "--name", Stage.yardstick]))
            try scene.stage.bus.waitForName(Stage.yardstick)
            let shell = "s call org.jostle.Focus1 /org/jostle/Focus1 org.jostle.Focus1.Shell"
            let windows = try scene.stage.startScript(
                ["s own org.gnome.Shell"]
                    + (0..<2_000).map {
                        "\(shell) Window ssssssa{sv} ['\($0)','app\($0)','','','\(getpid())','visible',{}]"
                    } + ["\(shell) Said a{sv} [{}]"])
            try windows.waitUntilSaid("staying", timeout: .seconds(60))
            #expect(windows.output.split(separator: "\n").count { $0 == "s ok []" } == 2_001)
            let crowd = try scene.stage.startScript(
                (0..<200).flatMap { number in
                    let app = "org.example.Crowd\(number)"
                    return [
                        "p\(number) own \(app)",
                        "p\(number) call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Register sa{sv} "
                            + "['\(app)',{}]",
                        "p\(number) leave",
                    ]
                })
            // What the machine takes is taken of a plain service, too, which is asked as often at the same time.
            let pings = try ["org.jostle.Focus1", Stage.yardstick].map { name in
                try BackgroundProgram(
                    "test-attacker", ["ping", "--to", name, "--seconds", "3", "--bus", scene.stage.address])
            }
            let figures = try pings.map { ping in
                let line = try ping.waitForLine(timeout: .seconds(60)) { $0.hasPrefix("{") }
                return try #require(Figures(line), "\(line)")
            }
            for one in figures { #expect(one["answered"] == one["pings"], "\(one)") }
            let (found, usual) = (try #require(figures[0]["max_us"]), try #require(figures[1]["max_us"]))
            #expect(found < usual + 1_000_000, "\(figures)")
            try crowd.waitUntilSaid("staying", timeout: .seconds(60))
            #expect(crowd.output.split(separator: "\n").count { $0.contains(" ok ") } == 200)
            #expect(try crowd.waitForEnd() == .exited(0))
            _ = try windows.terminate()
        }

        @Test func whoIsNoShellTellsNothing() throws {
            let scene = try DesktopScene()
            try scene.startFocus("gnome", [:])
            let call = [
                "call", "org.jostle.Focus1", "/org/jostle/Focus1", "org.jostle.Focus1.Shell", "Window", "ssssssa{sv}",
                "1",
                "org.example.Alpha", "", "", "", "front", "0",
            ]
            let stranger = try scene.stage.busctl(call)
            #expect(stranger.status != 0 && stranger.stderr.contains("Access denied"), "\(stranger)")
            #expect(try !scene.stage.jostle("focus", "--list").stdout.contains("org.example.Alpha"))
        }
    }
}

extension DesktopScene {
    /// An object that python-dbusmock plays.
    struct Mock {
        let program: BackgroundProgram
        fileprivate let stage: Stage
        fileprivate let place: [String]
        fileprivate let interface: String

        /// What its methods raise when they fail for once.
        static let failure = "dbus.exceptions.DBusException('busy', name='org.freedesktop.DBus.Error.Failed')"

        func add(_ method: String, _ inputs: String, _ outputs: String, _ code: String) throws {
            try self.send(
                "org.freedesktop.DBus.Mock", "AddMethod", ["sssss", self.interface, method, inputs, outputs, code])
        }

        @discardableResult
        func call(_ method: String, _ arguments: String...) throws -> String {
            try self.send(self.interface, method, arguments)
        }

        @discardableResult
        private func send(_ interface: String, _ method: String, _ arguments: [String]) throws -> String {
            let result = try self.stage.busctl(["call"] + self.place + [interface, method] + arguments)
            try #require(result.status == 0, "\(result.stderr)")
            return result.stdout
        }
    }

    func startMock(_ name: String, _ path: String, _ interface: String) throws -> Mock {
        let program = self.keep(
            try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", name, path, interface],
                environment: ["DBUS_SESSION_BUS_ADDRESS": self.stage.address]))
        try self.stage.bus.waitForName(name)
        return Mock(program: program, stage: self.stage, place: [name, path], interface: interface)
    }

    // MARK: KWin and GNOME Shell

    /// What a program of a session with a shell of its own is told. All of it is root's, as the bus is.
    var sessionEnvironment: [String: String] {
        let home = "\(self.stage.bus.directory)/home"
        mkdir(home, 0o700)
        return [
            "XDG_RUNTIME_DIR": home, "HOME": home, "XDG_CONFIG_HOME": "\(home)/config", "XDG_DATA_HOME": "\(home)/data",
            "DBUS_SESSION_BUS_ADDRESS": self.stage.address, "LIBGL_ALWAYS_SOFTWARE": "1", "NO_AT_BRIDGE": "1",
            "XDG_SESSION_TYPE": "wayland", "GSETTINGS_BACKEND": "keyfile",
        ]
    }

    func startKWin() throws -> BackgroundProgram {
        // Debian's has a capability by its file, which a sandbox does not give; a copy has none and needs none.
        let copy = "\(self.stage.bus.directory)/kwin_wayland"
        let copied = try Tool.run(["cp", "/usr/bin/kwin_wayland", copy])
        try #require(copied.status == 0, "\(copied.stderr)")
        let program = self.keep(
            try BackgroundProgram(
                tool: [
                    copy, "--virtual", "--no-lockscreen", "--no-global-shortcuts", "--socket", "wl-kwin",
                ],
                environment: self.sessionEnvironment))
        try self.stage.bus.waitForName("org.kde.KWin")
        return program
    }

    func startGNOME() throws -> BackgroundProgram {
        var environment = self.sessionEnvironment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = self.stage.address
        environment["XDG_CURRENT_DESKTOP"] = "GNOME"
        _ = self.keep(
            try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", "--system", "--template", "logind"], environment: environment))
        try self.stage.bus.waitForName("org.freedesktop.login1")
        let extensions = "\(environment["XDG_DATA_HOME"] ?? "")/gnome-shell/extensions"
        let commands = [
            ["mkdir", "-p", extensions],
            ["cp", "-r", Programs.source("Sources/jostle-focus/gnome"), "\(extensions)/jostle-focus@jostle.org"],
            ["gsettings", "set", "org.gnome.shell", "enabled-extensions", "['jostle-focus@jostle.org']"],
            ["gsettings", "set", "org.gnome.shell", "welcome-dialog-last-shown-version", "99"],
        ]
        for command in commands {
            let result = try Tool.run(command, environment: environment)
            try #require(result.status == 0, "\(command): \(result.stderr)")
        }
        let program = self.keep(
            try BackgroundProgram(
                tool: [
                    "gnome-shell", "--headless", "--virtual-monitor", "800x600", "--wayland-display", "wl-gnome",
                    "--no-x11",
                ],
                environment: environment))
        try self.stage.bus.waitForName("org.gnome.Shell")
        // The shell ends its start by showing all windows; closed before that, they would be shown afterwards.
        try self.stage.until("the shell shows its overview") {
            try self.stage.busctl(self.overviewProperty).stdout == "b true\n"
        }
        try self.stage.until("the overview is closed") {
            try self.overview(false)
            return try self.stage.busctl(self.overviewProperty).stdout == "b false\n"
        }
        return program
    }

    private var overviewProperty: [String] {
        ["get-property", "org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell", "OverviewActive"]
    }

    func overview(_ isShown: Bool) throws {
        _ = try self.stage.busctl(
            "set-property", "org.gnome.Shell", "/org/gnome/Shell", "org.gnome.Shell", "OverviewActive", "b",
            "\(isShown)")
    }

    func openGTK(on display: String, as app: String) throws -> BackgroundProgram {
        var environment = self.sessionEnvironment
        environment["WAYLAND_DISPLAY"] = display
        environment["GDK_BACKEND"] = "wayland"
        try self.stage.until("there is a compositor") {
            access("\(environment["XDG_RUNTIME_DIR"] ?? "")/\(display)", F_OK) == 0
        }
        return self.keep(
            try BackgroundProgram(
                tool: ["/usr/bin/python3", Programs.source("Tests/Scripts/window.py"), app], environment: environment))
    }
}
