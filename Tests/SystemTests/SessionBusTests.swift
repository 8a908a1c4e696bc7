import JostleClient
import TestSupport
import Testing

extension EndToEnd {
    /// Sessions of several apps over the bus: who is told what, and what anybody can see.
    @Suite(.serialized) struct SharedSound {
        private static let root = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"

        /// The classes of the phone, and a voice that makes music soft.
        private func stage() throws -> Stage {
            let stage = try Stage(source: nil, broker: false)
            let rules = try Tool.run(["cat", Programs.source("policies/10-default.conf")]).stdout
            try stage.startBroker(
                policy: rules + """

                    [App *]
                    Grants=audio voip

                    [Class voice]

                    [Interaction playback voice]
                    Action=duck
                    Duck=20%

                    [Interaction record playAndRecord]
                    Action=reject

                    [Interaction playAndRecord record]
                    Action=delay
                    """,
                apps: Dictionary(
                    uniqueKeysWithValues: ["A", "B", "C", "Swift"].map {
                        ("org.example.\($0)", "[App]\nUsage=Plays what you hear\nModes=audio voip\n")
                    }))
            return stage
        }

        private func app(_ name: String) -> [String] {
            let id = "org.example.\(name)"
            return [
                "\(name) own \(id)", "\(name) call \(Self.root) Register sa{sv} ['\(id)',{}]",
                "\(name) hear SessionChanged",
            ]
        }

        private func begin(_ name: String, _ options: String) -> String {
            "\(name) call org.jostle.Broker1 \(Stage.Object.app("org.example.\(name)")) org.jostle.Broker1.App BeginActivity "
                + "sa{sv} ['audio',{\(options)}]"
        }

        /// What each app heard, as `App change`, in order.
        private func heard(_ lines: [String]) -> [String] {
            lines.compactMap { line in
                let words = line.split(separator: " ", maxSplits: 4).map(String.init)
                guard words.count == 5, words[1] == "heard", words[3] == "SessionChanged" else { return nil }
                let body = words[4].split(separator: "\"").map(String.init)
                return "\(words[0]) \(body[1]) \(body[3])"
            }
        }

        @Test func anInterruptionBeginsAndEndsWithAHint() throws {
            let stage = try self.stage()
            let lines = try stage.script(
                self.app("A") + self.app("B") + [
                    self.begin("A", "'class':V('s','playback')"), "A await 1",
                    self.begin("B", "'class':V('s','playback')"),
                    "A await 1", "B await 1", "B drop", "A await 1",
                ])
            #expect(
                self.heard(lines).sorted() == [
                    "A playback began", "A playback interrupted", "A playback resumed", "B playback began",
                ])
            #expect(
                lines.contains {
                    $0.hasPrefix("A heard") && $0.hasSuffix("\"resumed\", {\"number\": 1, \"resume\": true}]")
                },
                "\(lines)")
            // Nobody learns who it was.
            #expect(!lines.contains { $0.hasPrefix("A heard") && $0.contains("org.example.B") })
        }

        @Test func whoMixesDisturbsNobodyAndAVoiceMakesItSoft() throws {
            let stage = try self.stage()
            let script = try stage.startScript(
                self.app("A") + self.app("B") + self.app("C") + [
                    self.begin("A", "'class':V('s','playback')"),
                    self.begin("B", "'class':V('s','playback'),'mix-with-others':V('b',True)"),
                    self.begin("C", "'class':V('s','voice')"), "A await 2", "B await 2", "C await 1",
                ])
            try script.waitUntilSaid("staying")
            let path = Stage.Object.app("org.example.A")
            #expect(
                try stage.property("Sessions", at: path)
                    == "aa{sv} 1 5 \"class\" s \"playback\" \"number\" t 1 \"share\" d 0.2 \"silenced\" b false \"state\" s \"playing\""
            )
            #expect(
                try stage.jostle("app", "org.example.A").stdout.contains("\n  session     playback: playing, at 20%\n"))
            #expect(
                try stage.jostle("app", "org.example.A", "--json").stdout.contains(
                    "\"sessions\":[{\"class\":\"playback\",\"state\":\"playing\",\"share\":0.2,\"silenced\":false}]"))
            let lines = script.output.split(separator: "\n").map(String.init)
            #expect(
                self.heard(lines).sorted() == [
                    "A playback began", "A playback ducked", "B playback began", "B playback ducked", "C voice began",
                ])
            #expect(lines.contains { $0.contains("\"ducked\", {") && $0.contains("\"share\": 0.2") }, "\(lines)")
        }

        @Test func whoWaitsBeginsWhenTheOtherIsGone() throws {
            let stage = try self.stage()
            let lines = try stage.script(
                self.app("A") + self.app("B") + [
                    self.begin("A", "'class':V('s','playAndRecord')"), self.begin("B", "'class':V('s','record')"),
                    "B await 1", "A leave", "B await 1",
                ])
            #expect(self.heard(lines).filter { $0.hasPrefix("B") } == ["B record waits", "B record began"])
        }

        @Test func whoIsRejectedLearnsTheCell() throws {
            let stage = try self.stage()
            let lines = try stage.script(
                self.app("A") + self.app("B") + [
                    self.begin("A", "'class':V('s','record')"), self.begin("B", "'class':V('s','playAndRecord')"),
                ])
            let refusal = try #require(lines.first { $0.hasPrefix("B error org.freedesktop.DBus.Error.AccessDenied") })
            #expect(refusal.contains("holder record, requester playAndRecord: reject"), "\(refusal)")
            #expect(refusal.contains("[Interaction record playAndRecord] at "), "\(refusal)")
        }

        /// The same in Python.
        @Test func thePythonExampleIsToldHowItStands() throws {
            let stage = try self.stage()
            let example = try BackgroundProgram(
                tool: ["python3", Programs.source("docs/examples/session.py"), "org.example.A", "playback"],
                environment: stage.environment)
            _ = try example.waitForLine { $0 == "began" }
            let voice = try stage.startScript(self.app("B") + [self.begin("B", "'class':V('s','voice')"), "B await 1"])
            _ = try example.waitForLine { $0 == "ducked share 0.2" }
            _ = try voice.terminate()
            _ = try example.waitForLine { $0 == "restored" }
            let other = try stage.startScript(self.app("B") + [self.begin("B", "'class':V('s','playback')")])
            _ = try example.waitForLine { $0 == "interrupted" }
            _ = try other.terminate()
            _ = try example.waitForLine { $0 == "resumed resume True" }
        }

        @Test func aLockedScreenSilencesWhatIsOnlyBeside() throws {
            let stage = try self.stage()
            let client = try JostleApp(app: "org.example.Swift", on: .address(stage.address))
            var changes: [SessionChange.Change] = []
            client.onSession = { changes.append($0.change) }
            try client.connect()
            let sound = try client.beginActivity("audio", class: "ambient")
            #expect(try stage.jostle("lock").status == 0)
            let limit = ContinuousClock.now + .seconds(20)
            while !changes.contains(.silenced) {
                try #require(ContinuousClock.now < limit)
                try client.dispatch()
            }
            #expect(changes == [.began, .silenced])
            sound.end()
        }
    }
}
