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
