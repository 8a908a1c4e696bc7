import TestSupport
import Testing

extension EndToEnd {
    /// What an app in a sandbox of Flatpak needs: all that docs/flatpak.md says of permissions.
    @Suite(.serialized) struct Sandboxes {
        /// The proxy that Flatpak puts between an app and the bus; ends with the test.
        private final class Proxy {
            let address: String
            private let program: BackgroundProgram

            init(_ stage: Stage, _ permissions: String...) throws {
                let path = "\(stage.bus.directory)/sandbox"
                self.address = "unix:path=\(path)"
                // It writes a byte when it listens.
                let ready = "head -c 1 > /dev/null; echo ready; exec cat > /dev/null"
                let script = "exec xdg-dbus-proxy --fd=3 \"$@\" 3> >(\(ready))"
                self.program = try BackgroundProgram(
                    tool: ["bash", "-c", script, "bash", stage.address, path, "--filter"] + permissions)
                _ = try self.program.waitForLine { $0 == "ready" }
            }

            deinit { _ = try? self.program.terminate() }

            func script(_ steps: String...) throws -> [String] {
                let result = try Tool.run(
                    ["python3", Programs.source("Tests/Scripts/bus-script.py"), self.address] + steps)
                try #require(result.status == 0, "\(result.stderr)")
                return result.stdout.split(separator: "\n").map(String.init)
            }
        }

        private static let register =
            "p call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
        private static let stream =
            "p call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor OpenStream a{sv} "
            + "[{'rate':V('d',50.0)}]"

        @Test func oneNameIsEnoughForEvents() throws {
            let stage = try Stage()
            let proxy = try Proxy(stage, "--talk=org.jostle.Broker1")
            let app = try BackgroundProgram(
                tool: ["python3", Programs.source("docs/examples/pygobject/watch.py")],
                environment: ["DBUS_SESSION_BUS_ADDRESS": proxy.address])
            for count in 1...2 {
                if count == 2 {
                    try stage.kill(stage.broker)
                    try stage.startBroker()
                }
                try stage.until("the broker claims") {
                    try stage.property("Sensors", at: Stage.Object.broker).contains("\"rate\" d 10 ")
                }
                #expect(try stage.jostle("shake", "--peak", "6g").status == 0)
                _ = try app.waitForLine { $0.hasPrefix("event 1: watch, peak ") }
            }
            #expect(app.errors == "")
            _ = try app.terminate()
            // It ends with its last user.
            withExtendedLifetime(proxy) {}
        }

        @Test func withoutTheNameThereIsNoBroker() throws {
            let stage = try Stage()
            let proxy = try Proxy(stage, "--talk=org.jostle.Sensors1")
            let answer = try proxy.script("\(Self.register) ['',{}]")
            #expect(answer.count == 1 && answer[0].hasPrefix("p error org.freedesktop.DBus.Error."), "\(answer)")
            #expect(answer[0].contains("ServiceUnknown"), "\(answer)")
        }

        @Test func anAppHasItsOwnNameAndItsAssertions() throws {
            let stage = try Stage()
            let proxy = try Proxy(stage, "--own=org.example.App", "--talk=org.jostle.Broker1")
            let object = Stage.Object.app("org.example.App")
            let answers = try proxy.script(
                "p own org.example.App", "\(Self.register) ['org.example.App',{}]",
                "p call org.jostle.Broker1 \(object) org.jostle.Broker1.App BeginAssertion sa{sv} ['save',{}]",
                "p call org.jostle.Broker1 \(object) org.freedesktop.DBus.Properties Get ss "
                    + "['org.jostle.Broker1.App','Assertions']", "p drop")
            #expect(answers.count == 3 && answers.allSatisfy { $0.hasPrefix("p ok ") }, "\(answers)")
            #expect(answers.last?.contains("\"save\"") == true, "\(answers)")
        }

        @Test func samplesNeedTheReadersName() throws {
            let stage = try Stage()
            let refused = try Proxy(stage, "--talk=org.jostle.Broker1").script(Self.stream)
            #expect(refused.first?.hasPrefix("p error org.freedesktop.DBus.Error.ServiceUnknown") == true, "\(refused)")
            let allowed = try Proxy(stage, "--talk=org.jostle.Sensors1").script(Self.stream, "p packets 2")
            #expect(allowed.first?.hasPrefix("p ok ") == true, "\(allowed)")
            #expect(allowed.dropFirst().allSatisfy { $0.hasPrefix("p packet ") } && allowed.count == 3, "\(allowed)")
        }
    }
}
