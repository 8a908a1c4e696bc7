import TestSupport
import Testing

extension Surroundings {
    /// The same small app in languages for which we have no library: each is compiled and run as it stands in the examples.
    @Suite(.serialized) struct Clients {
        enum Client: String, CaseIterable, Sendable {
            case sdBus, libdbus, qt, gjs, vala, pyGObject

            func command() throws -> [String] {
                switch self {
                case .sdBus: [try Examples.compiled("watch-sd-bus")]
                case .libdbus: [try Examples.compiled("watch-libdbus")]
                case .qt: [try Examples.compiled("watch-qt")]
                case .vala: [try Examples.compiled("watch-vala")]
                case .gjs: ["gjs", "-m", Programs.source("docs/examples/gjs/watch.js")]
                case .pyGObject: ["python3", Programs.source("docs/examples/pygobject/watch.py")]
                }
            }
        }

        /// Shakes once the broker claims, which it does for a detector.
        private func shake(_ stage: Stage) throws {
            try stage.until("the broker claims") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("\"rate\" d 10 ")
            }
            #expect(try stage.jostle("shake", "--peak", "6g").status == 0)
        }

        @Test(arguments: Client.allCases)
        func printsEventsAndOutlivesTheBroker(_ client: Client) throws {
            let command = try client.command()
            let stage = try Stage()
            let app = try BackgroundProgram(tool: command, environment: stage.environment)
            for count in 1...3 {
                // Each time a broker that knows nothing of it.
                if count > 1 {
                    try stage.kill(stage.broker)
                    try stage.startBroker()
                }
                try self.shake(stage)
                let line = try app.waitForLine { $0.hasPrefix("event 1: watch, peak ") }
                // Beyond the threshold, and printed with two digits.
                #expect(try #require(Double(line.dropFirst("event 1: watch, peak ".count))) >= 2.5)
            }
            #expect(app.end == nil && app.errors == "", "\(app.errors)")
        }

        @Test(arguments: Client.allCases)
        func believesNobodyButTheBroker(_ client: Client) throws {
            let command = try client.command()
            let stage = try Stage()
            let app = try BackgroundProgram(tool: command, environment: stage.environment)
            try stage.until("it has registered") { try !self.apps(stage).isEmpty }
            let path = try #require(try self.apps(stage).first)
            let last = try #require(path.split(separator: "/").last)
            // The path of a client without a name is its unique name: _3a1_2e5 is :1.5.
            let peer = last.replacing("_3a", with: ":").replacing("_2e", with: ".")
            _ = try stage.script(
                "f send \(peer) \(path) org.jostle.Broker1.App Event (tttsda{sv}) [[7,7,7,'forged',9.0,{}]]")
            try self.shake(stage)
            _ = try app.waitForLine { $0.hasPrefix("event 1: watch, ") }
            #expect(!app.output.contains("forged"))
        }

        /// The objects of all apps.
        private func apps(_ stage: Stage) throws -> [String] {
            let rows = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "ListApps", "a{sv}", "0")
            return rows.stdout.split(separator: "\"").map(String.init).filter { $0.hasPrefix("/org/jostle") }
        }

        /// Whoever asks for one thing and leaves holds nothing: what docs/clients.md says of these tools.
        @Test func aToolThatLeavesHoldsNothing() throws {
            let stage = try Stage()
            let (name, object) = ("org.jostle.Broker1", Stage.Object.broker)
            for command in [
                "busctl --user call \(name) \(object) \(name) Register sa{sv} '' 0",
                "gdbus call --session -d \(name) -o \(object) -m \(name).Register '' '{}'",
            ] {
                let result = try stage.run(["sh", "-c", command])
                #expect(result.stdout.contains("\(object)/apps/"), "\(result)")
                try stage.until("nobody is registered") { try self.apps(stage).isEmpty }
            }
            let options = "dict:string:variant:"
            let send = try stage.run(["dbus-send", "--dest=\(name)", object, "\(name).Register", "string:", options])
            #expect(send.stderr == "dbus-send: Unknown type \"variant\"\n", "\(send)")
        }
    }
}
