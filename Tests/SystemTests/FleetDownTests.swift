import FleetCore
import Glibc
import Loop
import MQTT
import Motion
import Signatures
import TestSupport
import Testing

extension Surroundings {
    /// What comes to a device from a real server: what is wanted of it, and what it is asked.
    @Suite(.serialized) struct FleetDown {
        /// - Parameter confirm: Within what time a trial is confirmed. Half of it passes before it can be: so long
        ///   there is for what is to happen in it.
        private static func allowing(_ more: String = "", confirm: String = "4s") -> String {
            """
            Groups=north
            [Detector knock]
            preset=shake
            [Allow]
            Requests=explain why-not
            Desired=policy pause detectors
            ConfirmWithin=\(confirm)
            \(more)

            """
        }

        private static func policy(_ version: Int, _ text: String, to scope: String? = nil) -> String {
            let value = DataValue.fields([
                "version": .integer(Int64(version)), "for": scope.map { .text($0) },
                "policy": .object([DataValue.Field("50-fleet.conf", .text(text))]),
            ])
            return JSONCoding.text(value)
        }

        private static let good = "[App org.example.Kiosk]\nQuota=3/1min\n"
        private static let north = FleetTopics.desired(ofGroup: "north")

        private func report(_ scene: FleetScene) -> DesiredReport? {
            scene.listener.last(scene.topics.reported).flatMap { DesiredReport($0) }
        }

        @discardableResult
        private func waitForReport(
            _ scene: FleetScene, _ outcome: DesiredReport.Outcome, _ version: UInt64
        ) throws -> DesiredReport {
            // One that was followed by another before anybody looked has come all the same.
            func found() -> DesiredReport? {
                scene.listener.others.filter { $0.topic == scene.topics.reported }
                    .compactMap { try? PayloadFormat.read($0.payload, contentType: $0.properties.contentType) }
                    .compactMap { DesiredReport($0) }.last { $0.outcome == outcome && $0.version == version }
            }
            try scene.listener.wait("\(outcome.rawValue) \(version)") { found() != nil }
            return try #require(found())
        }

        /// The files from outside by which the broker goes.
        private func filesFromOutside(_ scene: FleetScene) throws -> Int {
            try scene.stage.property("PolicyFiles", at: Stage.Object.broker).components(
                of: "/desired/current/policy.d/")
        }

        private func reload(_ scene: FleetScene) throws {
            let result = try scene.stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "Reload", "a{sv}", "0")
            #expect(result.status == 0, "\(result)")
        }

        @Test func nothingMayBeChangedByItself() throws {
            let scene = try FleetScene("Groups=north\n[Detector knock]\npreset=shake\n")
            try scene.startBridge()
            try scene.listener.wait("a birth") { scene.listener.last(scene.topics.birth) != nil }
            #expect(scene.listener.last(scene.topics.birth)?["desired"] == nil)
            try scene.listener.want(Self.policy(1, Self.good), of: scene.topics.desired)
            try scene.listener.want(Self.policy(2, Self.good), of: Self.north)
            try scene.listener.run(for: 1_000_000)
            #expect(scene.listener.last(scene.topics.reported) == nil)
            #expect(access("\(scene.stage.home)/bridge-state/desired", F_OK) != 0)
            #expect(try self.filesFromOutside(scene) == 0)
        }

        @Test func whatIsGoodIsAppliedAndWhatIsWrongIsRefusedWithItsPlace() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.want(Self.policy(1, Self.good), of: Self.north)
            try self.waitForReport(scene, .trial, 1)
            #expect(try self.filesFromOutside(scene) == 1)
            #expect(try self.waitForReport(scene, .applied, 1).inForce == 1)
            var spans: [Int64] = []
            for (version, text, line, column, check) in [
                (2, Self.good + "Qoata=3/1min\n", 3, 1, "E001"),
                // What the device itself says is not for others.
                (3, "[Rule others]\nThen=deny\n", 1, 1, "E005"), (4, "[Policy]\nDefault=allow\n", 1, 2, "E005"),
            ] {
                let begin = Clock.monotonic.now()
                try scene.listener.want(Self.policy(version, text), of: Self.north)
                let report = try self.waitForReport(scene, .refused, UInt64(version))
                spans.append(Clock.monotonic.now() - begin)
                #expect(report.inForce == 1 && report.problem?.file == "50-fleet.conf")
                #expect(report.problem?.line == line && report.problem?.column == column)
                #expect(report.problem?.message.hasPrefix(check) ?? false, "\(String(describing: report.problem))")
                // Nothing of it is anywhere.
                #expect(try self.filesFromOutside(scene) == 1)
            }
            print("fleet: refused after \(spans.map { $0 / 1_000 }) ms")
            // Nobody waits as for a trial. A machine that stands still makes one late, not each.
            #expect(spans.contains { $0 < 1_000_000 }, "\(spans)")
            // What may not be changed is not, either, and nothing beside it.
            try scene.listener.want(#"{"version":5,"pause":true,"apps":{}}"#, of: scene.topics.desired)
            #expect(try self.waitForReport(scene, .refused, 5).inForce == 1)
            #expect(try scene.stage.property("Paused", at: Stage.Object.broker) == "b false")
        }

        /// The administrator says something of the same app: all from outside is left out, and the server learns it.
        @Test func whatTheDeviceItselfOverrulesIsReported() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.want(Self.policy(7, Self.good), of: Self.north)
            #expect(try self.waitForReport(scene, .applied, 7).problem == nil)
            let file = "\(scene.policyDirectory)/10-own.conf"
            try FleetScene.write("[App org.example.Kiosk]\nQuota=9/1min\n", to: file)
            try self.reload(scene)
            try scene.listener.wait("a problem") { self.report(scene)?.problem?.file == "50-fleet.conf" }
            #expect(self.report(scene)?.version == 7)
            #expect(unlink(file) == 0)
            try self.reload(scene)
            try scene.listener.wait("none") { self.report(scene)?.version == 7 && self.report(scene)?.problem == nil }
        }

        @Test func whatKillsTheBrokerIsTakenBack() throws {
            let scene = try FleetScene(Self.allowing(confirm: "16s"))
            try scene.startBridge()
            try scene.listener.want(Self.policy(1, Self.good), of: scene.topics.desired)
            try self.waitForReport(scene, .trial, 1)
            let begin = Clock.monotonic.now()
            // As a policy would that it cannot live with.
            try scene.stage.kill(scene.stage.broker)
            let report = try self.waitForReport(scene, .rolledBack, 1)
            print("fleet: taken back after \((Clock.monotonic.now() - begin) / 1_000) ms")
            #expect(report.inForce == 0 && report.problem?.message == "the broker ended")
            try scene.restartBroker()
            #expect(try self.filesFromOutside(scene) == 0)
        }

        /// A server that refuses the report does not know what is in force: that is not confirmed, and told when it takes it.
        @Test func whatTheServerRefusesIsNotConfirmed() throws {
            let acl = "/tmp/jostle-acl-\(getpid())"
            defer { unlink(acl) }
            let reported = FleetTopics(device: FleetScene.device).reported
            try FleetScene.write("topic readwrite #\ntopic deny \(reported)\n", to: acl)
            let scene = try FleetScene(Self.allowing(), server: ["acl_file \(acl)"])
            try scene.startBridge()
            try scene.listener.want(Self.policy(1, Self.good), of: Self.north)
            try scene.stage.until("it is tried") { try self.filesFromOutside(scene) == 1 }
            try scene.stage.until("it goes back") { try self.filesFromOutside(scene) == 0 }
            #expect(self.report(scene) == nil)
            try FleetScene.write("topic readwrite #\n", to: acl)
            try #require(kill(scene.server.pid, SIGHUP) == 0)
            let report = try self.waitForReport(scene, .rolledBack, 1)
            #expect(report.inForce == 0 && report.problem?.message == "the server does not take the report")
        }

        @Test func withoutTheServerADeviceGoesBackByItself() throws {
            let scene = try FleetScene(
                Self.allowing(confirm: "8s"),
                server: ["persistence true", "autosave_on_changes true", "autosave_interval 1"])
            try scene.startBridge()
            try scene.listener.want(#"{"version":1,"pause":true}"#, of: scene.topics.desired)
            try self.waitForReport(scene, .trial, 1)
            try scene.stage.until("it is paused") {
                try scene.stage.property("Paused", at: Stage.Object.broker) == "b true"
            }
            try scene.server.kill()
            try scene.stage.until("it goes back") {
                try scene.stage.property("Paused", at: Stage.Object.broker) == "b false"
            }
            try scene.server.restart()
            try scene.listener.connect()
            let report = try self.waitForReport(scene, .rolledBack, 1)
            #expect(report.inForce == 0 && report.problem?.message == "the server was not there to confirm it")
        }

        @Test func aBridgeThatIsKilledInATrialComesToTheSame() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.want(
                #"{"version":1,"pause":true,"detectors":{"knock":{"threshold":"3g"}}}"#, of: Self.north)
            try self.waitForReport(scene, .trial, 1)
            try scene.killBridge()
            try scene.startBridge()
            try self.waitForReport(scene, .applied, 1)
            #expect(try scene.stage.property("Paused", at: Stage.Object.broker) == "b true")
            try scene.listener.want(#"{"version":2,"pause":false}"#, of: Self.north)
            try self.waitForReport(scene, .trial, 2)
            try scene.stage.until("it goes on") {
                try scene.stage.property("Paused", at: Stage.Object.broker) == "b false"
            }
        }

        /// As somebody starts one by hand who wants to see what it says.
        @Test func aSecondBridgeTouchesNothing() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.want(Self.policy(1, Self.good), of: Self.north)
            try self.waitForReport(scene, .trial, 1)
            let second = try scene.anotherBridge()
            #expect(try second.waitForEnd() == .exited(1))
            let word = "another bridge keeps its state in \(scene.bridgeState)"
            #expect(second.errors.contains(word), "\(second.errors)")
            try self.waitForReport(scene, .applied, 1)
            // What is reported is what the broker reads, also when it reads anew.
            try self.reload(scene)
            #expect(try self.filesFromOutside(scene) == 1)
            // Nor did it take the server from the first. One that is killed holds nothing.
            let first = try #require(scene.bridge)
            try scene.killBridge()
            #expect(!first.errors.contains("no server"), "\(first.errors)")
            try scene.startBridge()
        }

        /// After a start of the whole device: a broker that begins knows of no pause, and the bridge has it on the disk.
        @Test func aPauseOutlivesTheBridgeAndTheBroker() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.want(#"{"version":1,"pause":true}"#, of: Self.north)
            try self.waitForReport(scene, .applied, 1)
            try scene.killBridge()
            try scene.stage.kill(scene.stage.broker)
            try scene.restartBroker()
            #expect(try scene.stage.property("Paused", at: Stage.Object.broker) == "b false")
            try scene.startBridge()
            try scene.stage.until("it is paused") {
                try scene.stage.property("Paused", at: Stage.Object.broker) == "b true"
            }
        }

        /// Where a key is configured only its owner has a say, and only to whom the owner speaks.
        @Test func whatIsNotSignedForThisDeviceIsRefused() throws {
            let keys = try SigningKeys()
            let scene = try FleetScene(Self.allowing("SignedBy=\(keys.open)"))
            try scene.startBridge()
            try scene.listener.wait("a birth") { scene.listener.last(scene.topics.birth) != nil }
            func bundle(_ text: String, by key: String) throws -> String {
                let bytes = Array(text.utf8)
                return JSONCoding.text(
                    SignedBundle(bytes: bytes, signature: try SigningKey(file: key).sign(bytes)).value)
            }
            let signed = try bundle(Self.policy(3, Self.good, to: FleetScene.device), by: keys.secret)
            for (message, words) in [
                (Self.policy(1, Self.good, to: FleetScene.device), "it is not signed"),
                (try bundle(Self.policy(1, Self.good, to: FleetScene.device), by: keys.other), "the signature is not"),
                (try bundle(Self.policy(1, Self.good, to: "kiosk-18"), by: keys.secret), "is for 'kiosk-18'"),
                (try bundle(Self.policy(1, Self.good), by: keys.secret), "for nobody by name"),
                (signed.replacing("\"bundle\":\"", with: "\"bundle\":\"AAAA"), "the signature is not"),
            ] {
                try scene.listener.want(message, of: scene.topics.desired)
                try scene.listener.wait(words) { self.report(scene)?.problem?.message.contains(words) ?? false }
                #expect(self.report(scene)?.outcome == .refused && self.report(scene)?.inForce == 0)
                #expect(try self.filesFromOutside(scene) == 0)
            }
            try scene.listener.want(signed, of: scene.topics.desired)
            try self.waitForReport(scene, .trial, 3)
            #expect(try self.filesFromOutside(scene) == 1)
        }

        /// The next bridge removes it, and nothing else.
        @Test func whatAKilledBridgeTriedIsRemoved() throws {
            let scene = try FleetScene(Self.allowing())
            let (tried, other) = ("\(scene.bridgeState)/what-if-AbCdEf", "\(scene.bridgeState)/what-if-something")
            for path in [scene.bridgeState, tried, other] {
                try #require(mkdir(path, 0o700) == 0 || errno == EEXIST)
            }
            let file = "\(scene.bridgeState)/what-if-a-file"
            for path in ["\(tried)/50.conf", file] { try FleetScene.write("[Policy]\n", to: path) }
            try scene.startBridge()
            #expect(access(tried, F_OK) != 0)
            #expect(access(other, F_OK) == 0)
            #expect(access(file, F_OK) == 0)
        }

        /// The longest policies take a second and more to check: what else comes is answered meanwhile.
        @Test func whatTakesLongToCheckHoldsUpNothing() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.wait("a birth") { scene.listener.last(scene.topics.birth) != nil }
            // Before that nothing is begun with, and all is answered anyway.
            try scene.listener.run(for: DesiredMachine.gathering.microseconds + 100_000)
            let rules = (0..<3_000).map { number in
                "[Rule r\(number)]\nWhenApp=* !*x\(number)*\nWhenPreset=* !*p\(number)*\n"
                    + "Then=\(number % 2 == 0 ? "allow" : "deny")\n"
            }
            let value = DataValue.fields([
                "version": .integer(1),
                "policy": .object([
                    DataValue.Field("50-a.conf", .text(rules[..<1_500].joined())),
                    DataValue.Field("51-b.conf", .text(rules[1_500...].joined())),
                ]),
            ])
            try scene.listener.want(JSONCoding.text(value), of: scene.topics.desired)
            var answers: UInt8 = 0
            while answers < RequestBudget.burst {
                var message = Publication(scene.topics.request("status"), Array("{}".utf8))
                message.properties.responseTopic = AnswerTopic.of("tester")
                message.properties.correlation = [answers]
                try scene.listener.publish(message)
                try scene.listener.wait("an answer") {
                    scene.listener.others.contains {
                        $0.topic == AnswerTopic.of("tester") && $0.properties.correlation == [answers]
                    }
                }
                guard self.report(scene)?.outcome != .refused else { break }
                answers += 1
                try scene.listener.run(for: 120_000)
            }
            // One may be answered before it is begun with.
            #expect(answers > 1)
            try self.waitForReport(scene, .refused, 1)
        }

        @Test func questionsAreAnsweredAsFarAsTheyMayBeAsked() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.wait("a birth") { scene.listener.last(scene.topics.birth) != nil }
            let app = try scene.stage.watch("shake,name=shake", "--app", "org.example.App")
            #expect(try scene.stage.jostle("shake", "--for", "500ms").status == 0)
            _ = try app.nextEvent()
            func ask(_ verb: String, _ text: String, _ topic: String, _ mark: UInt8) throws {
                var message = Publication(scene.topics.request(verb), Array(text.utf8))
                message.properties.responseTopic = topic
                message.properties.correlation = [mark]
                try scene.listener.publish(message)
            }
            func answer(_ mark: UInt8) -> DeviceAnswer? {
                scene.listener.others.first { $0.properties.correlation == [mark] && $0.topic.contains("/@/answer/") }
                    .flatMap { try? JSONCoding.read($0.payload) }.flatMap { DeviceAnswer($0) }
            }
            let mine = AnswerTopic.of("tester")
            try ask("explain", #"{"app":"org.example.App"}"#, mine, 1)
            try scene.listener.wait("an explanation") { answer(1) != nil }
            guard case .lines(let lines, _)? = answer(1) else {
                Issue.record("\(String(describing: answer(1)))")
                return
            }
            #expect(
                lines.first?["app"]?.text == "org.example.App" && lines.first?["delivered"]?.bool == true, "\(lines)")
            try ask("why-not", #"{"app":"org.example.App"}"#, mine, 2)
            try scene.listener.wait("why not") { answer(2) != nil }
            guard case .lines? = answer(2) else {
                Issue.record("\(String(describing: answer(2)))")
                return
            }
            for (verb, text, mark, code) in [
                ("status", "{}", 3, DeviceAnswer.Code.notAllowed), ("reboot", "{}", 4, .notAllowed),
                ("explain", #"{"app":"--help"}"#, 5, .invalid), ("explain", "not json", 6, .invalid),
            ] as [(String, String, UInt8, DeviceAnswer.Code)] {
                try ask(verb, text, mine, mark)
                try scene.listener.wait("a refusal") { answer(mark) != nil }
                guard case .problem(code, _)? = answer(mark) else {
                    Issue.record("\(String(describing: answer(mark)))")
                    continue
                }
            }
            // A device says nothing where somebody else wants it to.
            let before = scene.listener.others.count
            try ask("explain", "{}", scene.topics.desired, 7)
            try scene.listener.run(for: 1_000_000)
            #expect(!scene.listener.others.dropFirst(before).contains { $0.topic == scene.topics.desired })
        }

        /// Where the bridge is installed there is a directory beside it, of the examples, which is called as the command is.
        @Test func theCommandThatAnswersIsFoundAsItIsInstalled() throws {
            let scene = try FleetScene(Self.allowing())
            let place = "\(scene.stage.home)/installed"
            let install = """
                mkdir -p "$1/bin" "$1/libexec/jostle"
                cp "$2/jostle" "$1/bin"
                cp "$2/jostle-bridge" "$1/libexec"
                """
            let installed = try Tool.run(["sh", "-ec", install, "sh", place, Programs.directory])
            #expect(installed.status == 0, "\(installed)")
            // In the place of the one that was built.
            let other = #"shift; exec "$0" "$@""#
            try scene.startBridge(under: ["/bin/sh", "-c", other, "\(place)/libexec/jostle-bridge"])
            try scene.waitUntilHearing()
            var message = Publication(
                scene.topics.request("why-not"), Array(#"{"app":"org.jostle.Bridge"}"#.utf8))
            message.properties.responseTopic = AnswerTopic.of("tester")
            message.properties.correlation = [1]
            try scene.listener.publish(message)
            func answer() -> DeviceAnswer? {
                scene.listener.others.first { $0.properties.correlation == [1] && $0.topic.contains("/@/answer/") }
                    .flatMap { try? JSONCoding.read($0.payload) }.flatMap { DeviceAnswer($0) }
            }
            try scene.listener.wait("an answer") { answer() != nil }
            guard case .lines(let lines, _)? = answer() else {
                Issue.record("\(String(describing: answer()))")
                return
            }
            #expect(lines.first?["app"]?.text == "org.jostle.Bridge", "\(lines)")
        }

        /// Of a server that takes little at a time: a home that hears nothing of the device, and who asks for much.
        @Test func whatIsLongerThanTheServerTakesIsTold() throws {
            let detectors = (1...20).map { "[Detector knock\($0)]\npreset=shake\n" }.joined()
            let scene = try FleetScene(
                "\(detectors)[Publish]\nHomeAssistant=jostle-ha\n[Allow]\nRequests=why-not\n",
                server: ["max_packet_size 4096"])
            try scene.startBridge()
            _ = try scene.bridge?.waitForLine(on: .errors) {
                $0.contains("a message cannot be sent: publish to jostle-ha/device/")
            }
            let app = try scene.stage.watch(
                "shake,name=a", "shake,name=b", "shake,name=c", "shake,name=d", "shake,name=e", "shake,name=f",
                "shake,name=g", "shake,name=h", "--app", "org.example.App")
            var message = Publication(scene.topics.request("why-not"), Array(#"{"app":"org.example.App"}"#.utf8))
            message.properties.responseTopic = AnswerTopic.of("tester")
            try scene.listener.publish(message)
            try scene.listener.wait("an answer") { scene.listener.last(AnswerTopic.of("tester")) != nil }
            let answer = scene.listener.last(AnswerTopic.of("tester")).flatMap { DeviceAnswer($0) }
            #expect(answer == DeviceAnswer.problem(.failed, "the answer is longer than the server takes"))
            _ = try app.terminate()
        }

        /// Who asks without end is told that it is too much as seldom as others are answered, so that nothing waits behind that.
        @Test func whoAsksTooMuchIsNotAnsweredEachTime() throws {
            let scene = try FleetScene(Self.allowing())
            try scene.startBridge()
            try scene.listener.wait("a birth") { scene.listener.last(scene.topics.birth) != nil }
            let begin = Clock.monotonic.now()
            for _ in 0..<200 {
                var message = Publication(scene.topics.request("status"), Array("{}".utf8))
                message.properties.responseTopic = AnswerTopic.of("tester")
                message.properties.correlation = [1]
                try scene.listener.publish(message)
            }
            func answers(_ code: DeviceAnswer.Code) -> Int {
                scene.listener.others.count { message in
                    guard message.topic == AnswerTopic.of("tester"), let value = try? JSONCoding.read(message.payload),
                        case .problem(code, _)? = DeviceAnswer(value)
                    else { return false }
                    return true
                }
            }
            try scene.listener.wait("all that may be said") {
                answers(.notAllowed) >= RequestBudget.burst && answers(.busy) >= RequestBudget.burst
            }
            try scene.listener.run(for: 2_000_000)
            let pauses = Int((Clock.monotonic.now() - begin) / RequestBudget.pause.microseconds)
            #expect(answers(.busy) <= RequestBudget.burst + pauses + 1)
            #expect(answers(.notAllowed) <= RequestBudget.burst + pauses + 1)
        }

        @Test func aHomeIsToldOnceItBegins() throws {
            let scene = try FleetScene(
                "[Detector knock]\npreset=shake\n[Publish]\nHomeAssistant=jostle-ha\n[Allow]\nDesired=pause\n")
            let config = "jostle-ha/device/jostle_kiosk_2d17/config"
            try scene.startBridge()
            try scene.listener.subscribe(to: "jostle-ha/#")
            try scene.listener.wait("its state") { scene.listener.last(scene.topics.motion)?["moving"]?.bool == false }
            try scene.listener.wait("a discovery") { scene.listener.last(config) != nil }
            #expect(scene.listener.last(config)?["dev"]?["name"]?.text == FleetScene.device)
            #expect(try scene.stage.jostle("shake", "--for", "500ms").status == 0)
            try scene.listener.wait("moving") { scene.listener.last(scene.topics.motion)?["moving"]?.bool == true }
            // The switch of the home, and what it shows.
            try scene.listener.publish(Publication(scene.topics.pause, Array("ON".utf8)))
            try scene.listener.wait("paused") { scene.listener.last(scene.topics.motion)?["paused"]?.bool == true }
            #expect(try scene.stage.property("Paused", at: Stage.Object.broker) == "b true")
            // A home that begins is told again.
            func told() -> Int { scene.listener.others.count { $0.topic == config } }
            let before = told()
            try scene.listener.publish(Publication("jostle-ha/status", Array("online".utf8)))
            try scene.listener.wait("another discovery") { told() > before }
        }

        /// As an automation of a home says that is caught in a circle.
        @Test func whatIsSwitchedWithoutEndIsAsItWasSaidLast() throws {
            let scene = try FleetScene(
                "[Detector knock]\npreset=shake\n[Publish]\nHomeAssistant=jostle-ha\n[Allow]\nDesired=pause\n")
            try scene.startBridge()
            try scene.listener.wait("its state") { scene.listener.last(scene.topics.motion) != nil }
            for number in 0..<5_000 {
                let word = number % 2 == 0 ? "ON" : "OFF"
                try scene.listener.publish(Publication(scene.topics.pause, Array(word.utf8), quality: .atMostOnce))
            }
            try scene.listener.publish(Publication(scene.topics.pause, Array("ON".utf8)))
            try scene.listener.run(for: 2_000_000)
            try scene.stage.until("motion is off") {
                try scene.stage.property("Paused", at: Stage.Object.broker) == "b true"
            }
            let bridge = try #require(scene.bridge)
            try scene.killBridge()
            let errors = bridge.errors
            #expect(!errors.contains("motion cannot be switched") && !errors.contains("no server"), "\(errors)")
        }
    }
}

/// Two keys as people make them, in a directory that goes with them.
final class SigningKeys {
    private let directory: String
    var secret: String { "\(self.directory)/fleet.pem" }
    var open: String { "\(self.directory)/fleet.pub" }
    /// The key of somebody else.
    var other: String { "\(self.directory)/other.pem" }

    init() throws {
        var template = Array("/tmp/jostle-keys-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        self.directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let made = try Tool.run([
            "sh", "-c",
            "cd \(self.directory) && for key in fleet other; do openssl genpkey -algorithm ed25519 -out $key.pem "
                + "&& openssl pkey -in $key.pem -pubout -out $key.pub || exit 1; done",
        ])
        try #require(made.status == 0, "\(made.stderr)")
    }

    deinit {
        for name in ["fleet.pem", "fleet.pub", "other.pem", "other.pub"] { unlink("\(self.directory)/\(name)") }
        rmdir(self.directory)
    }
}

extension String {
    /// How often a part stands in it.
    func components(of part: String) -> Int {
        self.split(separator: part, omittingEmptySubsequences: false).count - 1
    }
}
