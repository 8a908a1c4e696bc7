import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Of what there is for all, one user leaves enough to others. Only root can play several.
    @Suite(.serialized, .enabled(if: geteuid() == 0)) struct Shares {
        private static let root = "call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
        private static let limit = "error org.freedesktop.DBus.Error.LimitsExceeded: "

        /// On a bus with the rules of a system bus. One user takes the detectors that it may have, over several connections.
        @Test func aUserThatTookItsShareLeavesTheOthersTheirs() throws {
            let stage = try Stage(source: nil, broker: false, policed: true)
            try stage.startReader(Stage.rest)
            try stage.startBroker()
            #expect(
                try stage.property("Limits", at: Stage.Object.broker).contains("\"detectors-per-user\" 4096 "))
            // Of the same condition, so that it is not another limit that is met.
            let detector = "['d%d'%i,{'when':V('s','z > 9g')}]"
            func add(_ peer: String, _ count: Int) -> [String] {
                ["\(peer) \(Self.root) Register sa{sv} ['',{}]"]
                    + stride(from: 0, to: count, by: 64).map { first in
                        "\(peer) call org.jostle.Broker1 self org.jostle.Broker1.App AddDetectors a(sa{sv}) "
                            + "[[\(detector) for i in range(\(first),\(min(count, first + 64)))]]"
                    }
            }
            let hog = try stage.startScript(
                as: Stage.nobody, add("p", 2_048) + add("q", 2_048) + add("r", 1))
            try hog.waitUntilSaid("staying", timeout: .seconds(60))
            let lines = hog.output.split(separator: "\n").map(String.init).dropLast()
            try #require(lines.count == 68)
            #expect(lines.dropLast().allSatisfy { $0.dropFirst(2).hasPrefix("ok ") })
            let last = try #require(lines.last)
            #expect(last.hasPrefix("r \(Self.limit)") && last.contains("detectors-per-user"), "\(last.prefix(300))")

            // Another user and root register, and get what they ask for; the first is refused still.
            for (user, isRefused) in [(Stage.somebody, false), ([], false), (Stage.nobody, true)] {
                let answers = try stage.script(as: user, add("p", 1))
                #expect(answers[0].hasPrefix("p ok "))
                #expect(answers[1].hasPrefix(isRefused ? "p \(Self.limit)" : "p ok "), "\(answers[1].prefix(300))")
            }
            // What it had is there for it again.
            _ = try hog.terminate()
            try stage.until("its detectors are gone") {
                try stage.script(as: Stage.nobody, add("p", 1_000)).last?.hasPrefix("p ok ") == true
            }
        }

        /// What is on the disk for an app was promised to it: no other user can have it forgotten.
        @Test func aUserThatLeavesTooMuchLosesItsOwn() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(broker: false, on: PrivateBus(on: .dbusDaemon))
            let terms = "Reliability=ack\nDurability=persistent\nLifespan=10min\n"
            try stage.startBroker(policy: "[Rule all]\nThen=allow\nWhenState=foreground\n\(terms)")
            let detector = "{'preset':V('s','shake.planar'),'threshold':V('s','2g'),'rest':V('s','60s')}"
            /// An app that answers none of its events.
            func app(_ peer: String, _ name: String) -> [String] {
                [
                    "\(peer) own \(name)", "\(peer) \(Self.root) Register sa{sv} ['\(name)',{}]",
                    "\(peer) call org.jostle.Broker1 \(Stage.Object.app(name)) org.jostle.Broker1.App AddDetectors "
                        + "a(sa{sv}) [[('d',\(detector))]]",
                ]
            }
            func due(_ user: Int) throws -> [Substring] {
                try stage.sql("state.db", "SELECT app, epoch, sequence FROM due WHERE user = \(user)").split(
                    separator: "\n")
            }
            let quiet = try stage.startScript(as: Stage.somebody, app("p", "org.example.Quiet"))
            let hog = try stage.startScript(
                as: Stage.nobody, (0..<70).flatMap { app("p\($0)", "org.example.Hog\($0)") })
            for program in [quiet, hog] { try program.waitUntilSaid("staying", timeout: .seconds(60)) }
            #expect(try stage.jostle("shake", "--peak", "4g", "--for", "300ms").status == 0)
            try stage.until("all is on the disk") { try due(1).count == 1 && due(65_534).count == 70 }
            let kept = try due(1)

            _ = try quiet.terminate()
            try stage.bus.waitForNameLost("org.example.Quiet")
            _ = try hog.terminate()
            let broker = try #require(stage.broker)
            let words = " is given up: its user's share of absent-apps or kept-bytes is used up"
            // Of 128 places one is taken, and of the others half are for one user.
            var lost: [String] = []
            for _ in 0..<7 {
                let line = try broker.waitForLine(on: .errors) { $0.hasSuffix(words) }
                lost += line.dropLast(words.count).split(separator: " ").last.map { [String($0)] } ?? []
            }
            #expect(lost.count == 7 && lost.allSatisfy { $0.hasPrefix("org.example.Hog") }, "\(lost)")
            try stage.until("they are forgotten") { try due(65_534).count == 63 }
            #expect(try due(1) == kept)
            #expect(try due(65_534).allSatisfy { row in !lost.contains { row.hasPrefix("\($0) ") } })
            #expect(broker.errors.split(separator: "\n").filter { $0.hasSuffix(words) }.count == 7)

            func explain(_ app: String) throws -> String {
                try stage.jostle("explain", "1", "--sequence", "--app", app).stdout
            }
            let first = try #require(lost.first)
            let said = try explain(first)
            #expect(said.contains("\(first)  NOT DELIVERED  S5.unkept"), "\(said)")
            #expect(said.contains("given up because the app was away and its user's share"), "\(said)")
            #expect(try explain("org.example.Quiet").contains("org.example.Quiet  DELIVERED  "))
            // The broker that starts anew knows what the first one promised, and nothing else.
            try stage.kill(broker)
            try stage.startBroker()
            #expect(try due(1) == kept && due(65_534).count == 63)
            let later = try explain(first)
            #expect(later.contains("\(first)  NOT DELIVERED  S5.unkept"), "\(later)")
            let back = try stage.script(
                as: Stage.somebody,
                Array(app("p", "org.example.Quiet").prefix(1)) + ["p hear Event"]
                    + app("p", "org.example.Quiet").dropFirst() + ["p await 1"])
            #expect(back.contains { $0.contains(" Event [[1, ") && $0.contains("\"redelivered\": true") }, "\(back)")
        }

        /// Each assertion and each activity is a descriptor of the broker.
        @Test func aUserThatHoldsWhatItMayLeavesTheOthersTheirs() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            // Half of the descriptors are for what apps hold, half of these root's, and half of the rest one user's.
            try stage.startBroker(under: ["prlimit", "--nofile=160:160"])
            let limits = try stage.property("Limits", at: Stage.Object.broker)
            #expect(limits.contains("\"held\" 80 ") && limits.contains("\"held-per-user\" 20 "), "\(limits)")
            func begin(_ app: String, _ count: Int) -> [String] {
                let name = "org.example.\(app)"
                let object = "org.jostle.Broker1 \(Stage.Object.app(name)) org.jostle.Broker1.App"
                return ["\(app) own \(name)", "\(app) \(Self.root) Register sa{sv} ['\(name)',{}]"]
                    + Array(repeating: "\(app) call \(object) BeginAssertion sa{sv} ['a',{}]", count: count)
            }
            let hog = try stage.startScript(as: Stage.nobody, begin("P", 12) + begin("Q", 9))
            try hog.waitUntilSaid("staying")
            let lines = hog.output.split(separator: "\n").map(String.init).dropLast()
            try #require(lines.count == 23)
            #expect(lines.dropLast().allSatisfy { $0.dropFirst(2).hasPrefix("ok ") }, "\(lines)")
            #expect(lines.last?.hasPrefix("Q \(Self.limit)held: your user has 20 of 80") == true, "\(lines)")

            for (user, isRefused) in [(Stage.somebody, false), ([], false), (Stage.nobody, true)] {
                let answer = try #require(try stage.script(as: user, begin("R", 1)).last)
                #expect(answer.hasPrefix(isRefused ? "R \(Self.limit)held: " : "R ok "), "\(answer)")
            }
            _ = try hog.terminate()
            try stage.until("its places are given back") {
                try stage.script(as: Stage.nobody, begin("R", 20)).last?.hasPrefix("R ok ") == true
            }
        }

        @Test func aUserThatTookItsStreamsLeavesTheOthersTheirs() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            // Half of the descriptors are for streams, and of these half but a sixteenth for one user.
            try stage.startReader(Stage.rest, under: ["prlimit", "--nofile=128:128"])
            let limits = try stage.property("Limits", at: Stage.Object.sensors)
            #expect(
                limits.contains("\"all-streams\" 64 ") && limits.contains("\"all-streams-per-user\" 30 "), "\(limits)")
            func open(_ peer: String, _ count: Int) -> [String] {
                let call = "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor"
                return Array(repeating: "\(peer) \(call) OpenStream a{sv} [{'rate':V('d',1.0)}]", count: count)
            }
            let hog = try stage.startScript(as: Stage.nobody, open("p", 15) + open("q", 15) + open("r", 1))
            try hog.waitUntilSaid("staying")
            let lines = hog.output.split(separator: "\n").map(String.init).dropLast()
            try #require(lines.count == 31)
            #expect(lines.dropLast().allSatisfy { $0.dropFirst(2).hasPrefix("ok ") })
            #expect(lines.last?.hasPrefix("r \(Self.limit)all-streams: your user has 30 of 64") == true, "\(lines)")

            for (user, isRefused) in [(Stage.somebody, false), ([], false), (Stage.nobody, true)] {
                let answer = try #require(try stage.script(as: user, open("p", 1)).first)
                #expect(answer.hasPrefix(isRefused ? "p \(Self.limit)all-streams" : "p ok "), "\(answer)")
            }
            _ = try hog.terminate()
            try stage.until("its streams are given back") {
                try stage.script(as: Stage.nobody, open("p", 1)).first?.hasPrefix("p ok ") == true
            }
        }
    }
}
