import Glibc
import TestSupport
import Testing

extension Senses {
    /// Who tells of windows is started by the broker, when somebody comes whom that concerns.
    @Suite(.serialized) struct FocusStarts {
        private static let name = "org.jostle.Focus1"

        private func isThere(_ stage: Stage) throws -> Bool {
            try stage.busctl(
                "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", "s",
                Self.name
            ).stdout == "b true\n"
        }

        @Test func anAppHasItStarted() throws {
            let focus = PrivateBus.Service(
                name: Self.name,
                command: "/usr/bin/env XDG_RUNTIME_DIR=/nonexistent \(Programs.path(of: "jostle-focus")) "
                    + "--source x11::4711 --exit-with-bus")
            let stage = try Stage(broker: false, services: [focus])
            try stage.startBroker()
            // A client without a name is in front of nothing.
            let nameless = try stage.watch("shake")
            #expect(try !self.isThere(stage))
            let app = try stage.watch("shake", "--app", "org.example.App")
            try stage.bus.waitForName(Self.name)
            // It sees nothing and says nothing, so nothing is different.
            #expect(try stage.property("State", at: Stage.Object.app("org.example.App")) == "s \"foreground\"")
            for program in [nameless, app] { #expect(try program.terminate() == .exited(0)) }
        }

        /// In a shell that is made up: a true one is only in `make test-focus`, and its clients say texts.
        @Test func aClientThatSaysNoTextKeepsNoWindowFromBeingTold() throws {
            let result = try Tool.run([
                "gjs", Programs.source("Tests/Scripts/extension.js"),
                Programs.source("Sources/jostle-focus/gnome/extension.js"),
            ])
            #expect(result.status == 0 && result.stdout == "windows: ok\n", "\(result)")
        }

        /// GNOME Shell ends an extension behind the lock screen that does not say this.
        @Test func theExtensionGoesOnBehindTheLockScreen() throws {
            let script = "import json, sys; print(*json.load(open(sys.argv[1]))['session-modes'])"
            let result = try Tool.run([
                "python3", "-c", script, Programs.source("Sources/jostle-focus/gnome/metadata.json"),
            ])
            #expect(result.status == 0 && result.stdout == "user unlock-dialog\n", "\(result)")
        }

        @Test func whoIsToldAlreadyDoesNotStartIt() throws {
            let focus = PrivateBus.Service(name: Self.name, command: "/bin/false")
            let stage = try Stage(broker: false, services: [focus])
            try stage.startBroker()
            let reporter = try BackgroundProgram(
                tool: [Programs.path(of: "jostle"), "foreground", "org.example.App"],
                environment: ["DBUS_SESSION_BUS_ADDRESS": stage.address])
            try stage.until("somebody says what is in front") {
                try stage.property("ForegroundReported", at: Stage.Object.broker) == "b true"
            }
            let app = try stage.watch("shake", "--app", "org.example.App")
            #expect(try !self.isThere(stage))
            #expect(try app.terminate() == .exited(0))
            _ = try reporter.terminate()
        }

        /// Or the next window would have us started again.
        @Test func whoEndsHasKWinRunItsScriptNoMore() throws {
            let stage = try Stage(source: nil, broker: false)
            let shell = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/kwin.py"), stage.address])
            _ = try shell.waitForLine { $0 == "ready" }
            let focus = try BackgroundProgram(
                "jostle-focus", ["--bus", stage.address, "--source", "kwin"],
                environment: ["XDG_RUNTIME_DIR": stage.bus.directory])
            _ = try shell.waitForLine { $0 == "run" }
            #expect(try focus.terminate() == .exited(0))
            _ = try shell.waitForLine { $0 == "unloadScript" }
            _ = try shell.terminate()
        }

        /// The folder of its socket is not there yet, and the kernel watches none that is not; nor does it where a user has all the
        /// watches that there may be.
        @Test func aDisplayThatCannotBeWatchedIsLookedFor() throws {
            let stage = try Stage(source: nil, broker: false)
            let path = "\(stage.home)/later/wayland-0"
            let focus = try BackgroundProgram(
                "jostle-focus", ["--bus", stage.address, "--source", "wlr:\(path)"],
                environment: ["XDG_RUNTIME_DIR": "/nonexistent"])
            _ = try focus.waitForLine(on: .errors) { $0.contains("cannot be watched") }
            let script = """
                import os, shutil, socket, sys
                folder = os.path.dirname(sys.argv[1])
                shutil.rmtree(folder, ignore_errors=True)
                os.mkdir(folder)
                server = socket.socket(socket.AF_UNIX)
                server.bind(sys.argv[1])
                server.listen()
                server.accept()
                print("came", flush=True)
                """
            for isFirst in [true, false] {
                let display = try BackgroundProgram(tool: ["python3", "-c", script, path])
                _ = try display.waitForLine { $0 == "came" }
                _ = try display.terminate()
                // Then nobody looks for it any more, unless the folder goes that is watched by now.
                if isFirst { _ = try focus.waitForLine(on: .errors) { $0.contains("waiting for one") } }
            }
            #expect(try focus.terminate() == .exited(0))
        }

        /// Sixty-four links to their own folder make a quarter of a million ways through three.
        @Test func linksThatLeadBackAreFollowedOnce() throws {
            let stage = try Stage(source: nil, broker: false)
            let data = "\(stage.home)/data"
            let folder = "\(data)/applications"
            try #require(mkdir(data, 0o700) == 0 && mkdir(folder, 0o700) == 0)
            for number in 0..<64 {
                try #require(symlink(".", "\(folder)/back\(number)") == 0)
                let file = try #require(fopen("\(folder)/org.example.App\(number).desktop", "w"))
                fputs("[Desktop Entry]\nName=App\nExec=app\n", file)
                try #require(fclose(file) == 0)
            }
            // There may be Flatpaks on the machine besides.
            let count = try self.desktopFiles(in: data, on: stage)
            #expect((64..<4_096).contains(count), "\(count)")
        }

        /// What is deep below one folder is a folder beside it.
        @Test func aLinkTakesFromNoFolderWhatIsInIt() throws {
            let stage = try Stage(source: nil, broker: false)
            let data = "\(stage.home)/data"
            let folder = "\(data)/applications"
            for path in [data, folder, "\(folder)/a", "\(folder)/a/b", "\(folder)/z", "\(folder)/z/s"] {
                try #require(mkdir(path, 0o700) == 0)
            }
            try #require(symlink("../../z", "\(folder)/a/b/link") == 0)
            for number in 0..<64 {
                let file = try #require(fopen("\(folder)/z/s/org.example.App\(number).desktop", "w"))
                fputs("[Desktop Entry]\nName=App\nExec=app\n", file)
                try #require(fclose(file) == 0)
            }
            let count = try self.desktopFiles(in: data, on: stage)
            #expect(count >= 64, "\(count)")
        }

        /// A user may have no more watches than the kernel gives: then what is installed is seen a little later.
        @Test func desktopFilesAreReadAgainWhereNoWatchIsLeft() throws {
            let stage = try Stage(source: nil, broker: false)
            let (data, fault) = ("\(stage.home)/data", "\(stage.home)/fault")
            try #require(mkdir(data, 0o700) == 0 && mkdir("\(data)/applications", 0o700) == 0)
            func write(_ text: String, to path: String) throws {
                let file = try #require(fopen(path, "w"))
                fputs(text, file)
                try #require(fclose(file) == 0)
            }
            try write("e", to: fault)
            let focus = try BackgroundProgram(
                "jostle-focus",
                ["--bus", stage.address, "--source", "wlr:\(stage.home)/wayland-0", "--log-level", "debug"],
                environment: [
                    "XDG_DATA_HOME": data, "XDG_DATA_DIRS": "/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent",
                    "LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": fault,
                ])
            let known = { (line: String) in line.contains("desktop files are known") }
            _ = try focus.waitForLine(on: .errors) { $0.contains("no inotify watch left") }
            let first = try focus.waitForLine(on: .errors, where: known)
            try write("[Desktop Entry]\nName=App\nExec=app\n", to: "\(data)/applications/org.example.App.desktop")
            _ = try focus.waitForLine(on: .errors) { known($0) && $0 != first }
            #expect(try focus.terminate() == .exited(0))
        }

        /// How many desktop files are known to one who begins.
        private func desktopFiles(in data: String, on stage: Stage) throws -> Int {
            let focus = try BackgroundProgram(
                "jostle-focus",
                ["--bus", stage.address, "--source", "wlr:\(stage.home)/wayland-0", "--log-level", "debug"],
                environment: [
                    "XDG_DATA_HOME": data, "XDG_DATA_DIRS": "/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent",
                ])
            let line = try focus.waitForLine(on: .errors) { $0.contains("desktop files are known") }
            let count = line.prefix { $0 != " " }.split { !$0.isNumber }.last.flatMap { Int($0) }
            _ = try focus.waitForLine(on: .errors) { $0.contains("serving") }
            #expect(try focus.terminate() == .exited(0))
            return try #require(count, "\(line)")
        }

        /// While there is no X server, anybody may listen in its place.
        @Test(.enabled(if: geteuid() == 0, "only root starts a server as somebody else"))
        func aStrangersXServerIsToldNothing() throws {
            let stage = try Stage(source: nil, broker: false)
            let server = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/x-server.py"), "stranger"])
            let display = try server.waitForLine { $0.hasPrefix(":") }
            let focus = try BackgroundProgram(
                "jostle-focus", ["--bus", stage.address, "--source", "x11:\(display)"],
                environment: ["XDG_RUNTIME_DIR": "/nonexistent"])
            #expect(try server.waitForLine { $0.hasPrefix("heard") } == "heard 0 bytes")
            #expect(try focus.terminate() == .exited(0))
            _ = try server.terminate()
        }
    }
}
