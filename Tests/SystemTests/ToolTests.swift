import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// A person who knows only the tools of D-Bus sees everything.
    @Suite(.serialized) struct Tools {
        private let app = "org.example.App"

        /// Both daemons, and one app with one detector that was just hit.
        private func stageWithApp() throws -> (stage: Stage, app: BackgroundProgram, event: String) {
            let stage = try Stage()
            let program = try stage.watch("shake.planar,threshold=2.3g,name=skip", "--app", self.app)
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            let event = try program.waitForLine { $0.hasPrefix("{\"detector\"") }
            return (stage, program, event)
        }

        @Test func busctlShowsTheTreeAndEachObject() throws {
            let (stage, program, event) = try self.stageWithApp()
            let tree = try stage.busctl("--list", "tree", "org.jostle.Broker1").stdout
            #expect(tree.split(separator: "\n").contains(Substring(Stage.Object.app(self.app))))
            let sensors = try stage.busctl("--list", "tree", "org.jostle.Sensors1").stdout
            #expect(sensors.split(separator: "\n").contains(Substring(Stage.Object.accelerometer)))

            let lines = try stage.busctl("introspect", "org.jostle.Broker1", Stage.Object.app(self.app)).stdout
                .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            #expect(lines.contains([".AddDetectors", "method", "a(sa{sv})", "a(sa{sv})", "-"]))
            #expect(lines.contains([".AppId", "property", "s", "\"\(self.app)\"", "const"]))
            #expect(lines.contains([".State", "property", "s", "\"foreground\"", "emits-change"]))
            #expect(lines.contains([".Identity", "property", "s", "\"name\"", "const"]))
            #expect(lines.contains([".Delivered", "property", "t", "1", "-"]))
            #expect(lines.contains([".Event", "signal", "(tttsda{sv})", "-", "-"]))
            let detectors = try #require(lines.first { $0.first == ".Detectors" })
            #expect(detectors.last == "emits-invalidation")

            let last = try stage.property("LastEvent", at: Stage.Object.app(self.app))
            let (epoch, time) = (try #require(field("epoch", of: event)), try #require(field("t_us", of: event)))
            #expect(last.hasPrefix("(tttsda{sv}) 1 \(epoch) \(time) \"skip\" "))
            #expect(last.hasSuffix(" 2 \"policy-generation\" t 1 \"simulated\" b true"))
            #expect(try program.terminate() == .exited(0))
        }

        /// Of the values that all other tests read: busctl's words for them, and what it says where there is none.
        @Test func whatTestsReadIsWhatBusctlShows() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,name=it's \"é\\\u{7}", "--app", self.app)
            let places = [
                (
                    "Sensors1", ".Sensor", Stage.Object.accelerometer,
                    ["Channels", "Rates", "Running", "Unit", "Nothing"]
                ),
                ("Broker1", "", Stage.Object.broker, ["Limits", "MutedUntil", "FocusSources"]),
                ("Broker1", ".App", Stage.Object.app(self.app), ["Detectors", "LastEvent"]),
                ("Broker1", ".App", Stage.Object.app("org.example.Nobody"), ["State"]),
            ]
            for (service, interface, path, names) in places {
                let service = "org.jostle.\(service)"
                for name in names {
                    let shown = try stage.busctl("get-property", service, path, service + interface, name)
                    let read = try stage.property(name, at: path)
                    #expect(read == (shown.status == 0 ? shown.stdout : shown.stderr).dropLast(), "\(name) of \(path)")
                }
            }
            #expect(app.end == nil)
        }

        @Test func busctlCallsAndReadsBothServices() throws {
            let (stage, program, _) = try self.stageWithApp()
            let apps = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "ListApps", "a{sv}", "0")
            let row = apps.stdout.replacing(#/"process" u [0-9]+/#, with: "\"process\" u N")
            #expect(
                row
                    == "a(oa{sv}) 1 \"\(Stage.Object.app(self.app))\" 10 \"activities\" as 0 \"app\" s \"\(self.app)\" "
                    + "\"delivered\" t 1 \"denied\" t 0 \"detectors\" u 1 \"dropped\" t 0 \"hits\" t 1 \"process\" u N "
                    + "\"state\" s \"foreground\" \"user\" u \(getuid())\n")
            let sensors = try stage.busctl(
                "--json=short", "call", "org.jostle.Sensors1", Stage.Object.sensors, "org.jostle.Sensors1",
                "ListSensors", "a{sv}", "0")
            #expect(sensors.stdout.contains("\"channels\":{\"type\":\"as\",\"data\":[\"x\",\"y\",\"z\"]}"))
            let presets = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "DescribePresets", "a{sv}", "0"
            )
            #expect(presets.stdout.contains("\"shake.planar\""))
            let words =
                "\"sensitivities\" a(sa{sd}) 3 \"normal\" 3 \"count\" 3 \"rhythm\" 1.5 \"threshold\" 1.5 \"pocket\" 3"
            #expect(presets.stdout.contains(words))
            #expect(presets.stdout.contains("\"when\" s \"hypot(x, y) > threshold\""))
            #expect(try stage.property("Unit", at: Stage.Object.accelerometer) == "s \"g\"")
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b true")
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 10")
            #expect(try stage.property("Version", at: Stage.Object.sensors).hasPrefix("s \"0."))
            #expect(try stage.property("Limits", at: Stage.Object.broker).contains("\"detectors-per-app\" 2048"))
            #expect(try program.terminate() == .exited(0))
        }

        @Test func busctlMonitorSeesEventsAsUnicast() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,name=skip", "--app", self.app)
            let monitor = try BackgroundProgram(tool: [
                "busctl", "--address=\(stage.address)", "monitor",
                "--match=type='signal',interface='org.jostle.Broker1.App'",
            ])
            _ = try monitor.waitForLine(on: .errors) { $0.hasPrefix("Monitoring bus message stream") }
            #expect(try stage.jostle("shake").status == 0)
            let line = try monitor.waitForLine { $0.contains("Type=signal") }
            #expect(line.contains("Endian=l"))
            let route = try monitor.waitForLine { $0.contains("Sender=") }
            #expect(route.contains("Destination=:1."))
            _ = try monitor.waitForLine { $0.contains("STRING \"skip\";") }
            #expect(try app.terminate() == .exited(0))
        }

        @Test func gdbusIntrospectsCallsAndMonitors() throws {
            let (stage, program, _) = try self.stageWithApp()
            let introspection = try stage.run([
                "gdbus", "introspect", "--session", "--dest", "org.jostle.Broker1", "--object-path",
                Stage.Object.broker, "--recurse",
            ])
            #expect(introspection.stdout.contains("Register(in  s app_id,"))
            #expect(introspection.stdout.contains("node \(Stage.Object.app(self.app)) {"))
            let call = try stage.run([
                "gdbus", "call", "--session", "--dest", "org.jostle.Broker1", "--object-path", Stage.Object.broker,
                "--method", "org.jostle.Broker1.ListApps", "{}",
            ])
            #expect(call.stdout.hasPrefix("([(objectpath '\(Stage.Object.app(self.app))', {'activities': <@as []>, "))
            #expect(call.stdout.contains("'app': <'\(self.app)'>, 'delivered': <uint64 1>"))
            // The state of a sensor is everybody's; that it stops is told to all. By its unique name, because GLib drops
            // the signals of a well-known name until it has found the owner, and does not say when that is.
            let monitor = try BackgroundProgram(tool: [
                "gdbus", "monitor", "--address", stage.address, "--dest", stage.uniqueName("org.jostle.Sensors1"),
                "--object-path", Stage.Object.accelerometer,
            ])
            _ = try monitor.waitForLine { $0.contains(" is owned by ") }
            // It says that before it asks the bus for signals: it hears when it has shown that the rate is another for a moment.
            let claim = "p \(Senses.Devices.claim("accelerometer", 50))"
            try stage.until("the monitor hears") {
                _ = try stage.script(claim)
                let line = try? monitor.waitForLine(timeout: .milliseconds(100)) { $0.contains("PropertiesChanged") }
                return line != nil
            }
            #expect(try program.terminate() == .exited(0))
            let change = try monitor.waitForLine { $0.contains("'Running': <false>") }
            #expect(change.contains("'Rate': <0.0>"))
        }

        @Test func dbusSendReadsEverything() throws {
            let (stage, program, _) = try self.stageWithApp()
            let all = try stage.run([
                "dbus-send", "--session", "--print-reply", "--dest=org.jostle.Broker1", Stage.Object.app(self.app),
                "org.freedesktop.DBus.Properties.GetAll", "string:org.jostle.Broker1.App",
            ])
            #expect(all.status == 0)
            for name in [
                "AppId", "Identity", "State", "Detectors", "Hits", "Delivered", "Denied", "Dropped", "LastEvent",
            ] {
                #expect(all.stdout.contains("string \"\(name)\""))
            }
            #expect(try program.terminate() == .exited(0))
        }

        @Test func dbusFastWorksFromIntrospectionAlone() throws {
            let (stage, program, _) = try self.stageWithApp()
            let code = """
                import asyncio, sys
                from dbus_fast.aio import MessageBus
                async def main():
                    bus = await MessageBus(bus_address=sys.argv[1]).connect()
                    async def proxy(name, path, interface):
                        node = await bus.introspect(name, path)
                        return bus.get_proxy_object(name, path, node).get_interface(interface)
                    broker = await proxy("org.jostle.Broker1", "/org/jostle/Broker1", "org.jostle.Broker1")
                    rows = await broker.call_list_apps({})
                    app = await proxy("org.jostle.Broker1", rows[0][0], "org.jostle.Broker1.App")
                    sensor = await proxy("org.jostle.Sensors1", sys.argv[2], "org.jostle.Sensors1.Sensor")
                    print(await app.get_app_id(), await app.get_delivered(), await sensor.get_unit())
                asyncio.run(main())
                """
            let result = try stage.run(["python3", "-c", code, stage.address, Stage.Object.accelerometer])
            #expect(result == Tool.Result(status: 0, stdout: "\(self.app) 1 g\n", stderr: ""))
            #expect(try program.terminate() == .exited(0))
        }
    }
}
