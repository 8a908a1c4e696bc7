import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Events that must come: kept, sent again, replayed; for apps that answer, do not, stop and die.
    @Suite(.serialized) struct Deliveries {
        private static let app = "org.example.Careful"
        private static let object = Stage.Object.app(app)
        private static let call =
            "a call org.jostle.Broker1 /org/jostle/Broker1/apps/org_2eexample_2eCareful org.jostle.Broker1.App"
        private static let shake = "[[['d',{'preset':V('s','shake.planar'),'threshold':V('s','2g')}]]]"
        private static let always =
            "[[['d',{'when':V('s','norm(x, y, z) > 0.5g'),'every':V('s','5ms'),'rest':V('s','0s')}]]]"

        /// A broker whose one rule allows everything, on these terms.
        private func stage(_ terms: String, source: String? = Stage.rest) throws -> Stage {
            let stage = try Stage(source: source, broker: false)
            try stage.startBroker(policy: "[Rule all]\nThen=allow\nWhenState=foreground\n\(terms)\n")
            return stage
        }

        /// An app that hears its events and answers none.
        private func silent(_ stage: Stage, _ detectors: String, _ more: String...) throws -> BackgroundProgram {
            let script = Programs.source("Tests/Scripts/bus-script.py")
            let steps = [
                "a own \(Self.app)", "a hear",
                "a call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Register sa{sv} ['\(Self.app)',{}]",
                "\(Self.call) AddDetectors a(sa{sv}) \(detectors)",
            ]
            let program = try BackgroundProgram(tool: ["python3", script, stage.address] + steps + more + ["stay"])
            return program
        }

        /// Number and epoch of an event that a script heard.
        private func name(_ line: String) throws -> (sequence: String, epoch: String) {
            let body = try #require(line.components(after: " Event [["))
            let fields = body.split(separator: ", ")
            return (String(fields[0]), String(fields[1]))
        }

        // MARK: Acknowledgements

        @Test func anEventIsSentAgainUntilItIsAcknowledged() throws {
            let stage = try self.stage("Reliability=ack\nLifespan=1min")
            let app = try self.silent(stage, Self.shake, "a await 2")
            _ = try app.waitForLine { $0.hasPrefix("a ok [[[\"d\"") }
            try stage.inject("shake peak=3g for=1500ms; rest 60s")
            let first = try app.waitForLine { $0.contains(" Event ") }
            #expect(first.contains("\"ack\": true") && !first.contains("redelivered"))
            let second = try app.waitForLine { $0.contains(" Event ") }
            #expect(second.contains("\"redelivered\": true"))
            let (sequence, epoch) = try self.name(second)
            #expect(try self.name(first) == (sequence, epoch))
            #expect(try stage.count("Unacknowledged", at: Self.object) == 1)
            #expect(try stage.count("Redelivered", at: Self.object) >= 1)
            #expect(try stage.count("QueuedBytes", at: Self.object) > 0)
            // Only the app itself may answer, and only what it has.
            let other = try stage.script("\(Self.call) Ack ttsa{sv} [\(sequence),\(epoch),'consume',{}]")
            #expect(other.first?.contains("AccessDenied") == true)
        }

        @Test func aClientOfOursAnswersByItself() throws {
            let stage = try self.stage("Reliability=ack\nLifespan=1min")
            let app = try stage.watch("shake.planar,threshold=2g", "--app", Self.app)
            try stage.inject("shake peak=3g for=1500ms; rest 60s")
            #expect(field("redelivered", of: try app.nextEvent()) == "false")
            try stage.until("the answer") {
                try stage.count("Delivered", at: Self.object) == 1
                    && stage.count("Unacknowledged", at: Self.object) == 0
            }
            #expect(try stage.count("QueuedBytes", at: Self.object) == 0)
            #expect(try stage.count("StaleAcks", at: Self.object) == 0)
        }

        @Test func aStaleAnswerIsCountedAndChangesNothing() throws {
            let stage = try self.stage("Reliability=ack\nLifespan=1min")
            let app = try self.silent(
                stage, Self.always, "a await 3", "\(Self.call) Ack ttsa{sv} [2,7,'consume',{}]",
                "\(Self.call) Ack ttsa{sv} [4000000000,7,'consume',{}]")
            try app.waitUntilSaid("staying")
            try stage.until("both are counted") { try stage.count("StaleAcks", at: Self.object) == 2 }
            try stage.until("the window is full") { try stage.count("Unacknowledged", at: Self.object) == 16 }
            // No more than the window is out, whatever else is due.
            try stage.until("others wait") { try stage.count("QueuedBytes", at: Self.object) > 30 * 300 }
            #expect(try stage.count("Unacknowledged", at: Self.object) == 16)
            #expect(try stage.count("Delivered", at: Self.object) == 16)
        }

        // MARK: What could not be done

        /// The app comes again with a detector that the shake of before does not reach, and is sent what it did not answer.
        private func findsTheFirst(_ stage: Stage) throws {
            let again = try BackgroundProgram(
                "jostle", ["watch", "--json", "--kept", "--app", Self.app, "shake.planar,threshold=5g"],
                environment: stage.environment)
            let kept = try again.nextEvent()
            #expect(field("sequence", of: kept) == "1" && field("redelivered", of: kept) == "true")
            #expect(try again.terminate() == .exited(0))
        }

        /// Whoever read what `jostle watch` prints left before the event came.
        @Test func whatNobodyReadIsNotAnswered() throws {
            let stage = try self.stage("Reliability=ack\nLifespan=10min")
            let watch = "\"$0\" watch --json --app \(Self.app) shake.planar,threshold=2g"
            let pipe = "\(watch) | { head -n 1; exec <&-; echo gone; }"
            let app = try BackgroundProgram(
                tool: ["sh", "-c", pipe, Programs.path(of: "jostle")], environment: stage.environment)
            _ = try app.waitForLine { $0 == "gone" }
            try stage.inject("shake peak=3g for=1500ms; rest 60s")
            #expect(try app.waitForEnd() == .exited(0))
            try self.findsTheFirst(stage)
        }

        @Test func whatNoCommandWasBegunForIsNotAnswered() throws {
            let stage = try Stage(broker: false, files: ["command": "#!/nonexistent/shell\n"])
            let command = "\(stage.bus.directory)/command"
            try #require(chmod(command, 0o755) == 0)
            try stage.startBroker(policy: "[Rule all]\nThen=allow\nReliability=ack\nLifespan=10min\n")
            let app = try stage.start("on", "--app", Self.app, "shake.planar,threshold=2g", "--", command)
            _ = try app.waitForLine(on: .errors) { $0.hasPrefix("jostle: listening for ") }
            try stage.inject("shake peak=3g for=1500ms; rest 60s")
            _ = try app.waitForLine(on: .errors) { $0.hasPrefix("jostle: cannot run ") }
            #expect(try app.terminate() == .exited(1))
            try self.findsTheFirst(stage)
        }

        // MARK: Away and back

        @Test func aKilledAppFindsWhatItDidNotAnswer() throws {
            let stage = try self.stage("Reliability=ack\nLifespan=10min")
            let app = try self.silent(stage, Self.shake, "a await 1")
            _ = try app.waitForLine { $0.hasPrefix("a ok [[[\"d\"") }
            try stage.inject("shake peak=3g for=1500ms; rest 60s")
            let (sequence, epoch) = try self.name(try app.waitForLine { $0.contains(" Event ") })
            #expect(sequence == "1")
            try stage.kill(app)
            try stage.until("it is gone") {
                try stage.property("State", at: Self.object).contains("Unknown object")
                    || !stage.busctl("--list", "tree", "org.jostle.Broker1").stdout.contains("Careful")
            }

            // The first shake may still go on: it is nothing to what is heard from here.
            let again = try BackgroundProgram(
                "jostle", ["watch", "--json", "--kept", "--app", Self.app, "shake.planar,threshold=5g"],
                environment: stage.environment)
            _ = try again.waitForLine { $0.hasPrefix("{\"watching\":") }
            let kept = try again.nextEvent()
            #expect(field("sequence", of: kept) == "1" && field("epoch", of: kept) == epoch)
            #expect(field("redelivered", of: kept) == "true")
            #expect(try again.waitForLine { $0.hasPrefix("{\"caught_up\":") } == "{\"caught_up\":1}")
            // Live ones follow, with the next number.
            try stage.inject("shake peak=8g for=1500ms; rest 60s")
            let live = try again.nextEvent()
            #expect(field("sequence", of: live) == "2" && field("redelivered", of: live) == "false")
            try stage.until("all is answered") { try stage.count("Unacknowledged", at: Self.object) == 0 }
        }

        @Test func whatWasAnsweredIsNotKept() throws {
            let stage = try self.stage("Reliability=ack\nLifespan=10min")
            let app = try stage.watch("shake.planar,threshold=2g", "--app", Self.app)
            try stage.inject("shake peak=3g for=1500ms; rest 60s")
            _ = try app.nextEvent()
            try stage.until("the answer") {
                try stage.count("Delivered", at: Self.object) == 1
                    && stage.count("Unacknowledged", at: Self.object) == 0
            }
            try stage.kill(app)
            // The first shake may still go on: it is nothing to what is heard from here.
            let again = try BackgroundProgram(
                "jostle", ["watch", "--json", "--kept", "--app", Self.app, "shake.planar,threshold=5g"],
                environment: stage.environment)
            _ = try again.waitForLine { $0.hasPrefix("{\"watching\":") }
            #expect(try again.waitForLine { _ in true } == "{\"caught_up\":0}")
        }

        // MARK: A killed broker

        /// The epochs of events that are due, as the disk has them.
        private func due(_ stage: Stage) throws -> Set<String> {
            Set(try stage.sql("state.db", "SELECT epoch FROM due").split(separator: "\n").map(String.init))
        }

        /// What was committed comes again from the next broker, marked; and once it was answered, from none after that.
        @Test func aKilledBrokerStillOwesWhatWasNotAnswered() throws {
            let stage = try self.stage("Reliability=ack\nDurability=persistent\nLifespan=10min")
            let policy = "\(stage.bus.directory)/policy"
            // Two kills a round.
            for round in 0..<max(1, Disks.kills / 4) {
                // More than may be out at once, so that some were never sent.
                let app = try self.silent(stage, Self.always, "a await 1")
                _ = try app.waitForLine { $0.contains(" Event ") }
                try stage.until("they are on the disk") { try self.due(stage).count >= 20 + 10 * (round % 5) }
                try stage.kill(stage.broker)
                try stage.kill(app)
                let owed = try self.due(stage)

                try stage.startBroker("--policy", policy)
                let again = try stage.start("watch", "--json", "--kept", "--app", Self.app, "shake.planar,threshold=9g")
                var came: [String] = []
                while came.count < owed.count {
                    let line = try again.nextEvent()
                    #expect(field("redelivered", of: line) == "true" && field("persistent", of: line) != "false")
                    came.append(try #require(field("epoch", of: line)))
                }
                // Each of them, and none twice.
                #expect(Set(came) == owed, "round \(round)")
                try stage.until("all is answered") { try self.due(stage).isEmpty }
                try stage.kill(stage.broker)
                _ = try again.terminate()
                try stage.startBroker("--policy", policy)
                let last = try stage.start("watch", "--json", "--kept", "--app", Self.app, "shake.planar,threshold=9g")
                #expect(try last.waitForLine { !$0.hasPrefix("{\"watching\":") } == "{\"caught_up\":0}")
                #expect(try last.terminate() == .exited(0))
            }
        }

        // MARK: No power

        private static let lasting = "org.example.Lasting"

        /// Registers for good, with one more detector, and hands in a task.
        private func registerForGood(_ round: Int, _ stage: Stage) throws {
            let (root, object) = (
                "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1", Stage.Object.app(Self.lasting)
            )
            let call = "b call org.jostle.Broker1 \(object) org.jostle.Broker1.App"
            let answers = try stage.script(
                "b own \(Self.lasting)", "b call \(root) Register sa{sv} ['\(Self.lasting)',{'durable':V('b',True)}]",
                "\(call) AddDetectors a(sa{sv}) [[['d\(round)',{'preset':V('s','shake.planar'),'threshold':V('s','9g')}]]]",
                "\(call) SubmitTask ssa{sv} ['sync\(round % 10)','processing',{'earliest-begin':V('t',4000000000000000)}]"
            )
            try #require(answers.count == 3 && answers.allSatisfy { $0.hasPrefix("b ok ") }, "\(answers)")
            #expect(answers[0].contains("\"durable\": true") && answers[2].contains("\"durable\": true"), "\(answers)")
        }

        /// The power fails: of the broker's files there is what the disk was told to keep. What apps were promised is among it, neither
        /// file is a broken one, and no epoch comes again.
        @Test func withoutPowerNothingIsLostThatWasPromised() throws {
            let stage = try Stage(broker: false)
            let policy = try stage.directory(
                "policy",
                [
                    "10-test": "[Rule all]\nThen=allow\nWhenState=foreground\nReliability=ack\nDurability=persistent\n"
                        // On a busy machine a round takes seconds, and what it brings must all have room.
                        + "Lifespan=10min\n[App *]\nGrants=processing\nQueueBytes=2MiB\n"
                ])
            let tasks = (0..<10).map { "sync\($0)" }.joined(separator: " ")
            let apps = try stage.directory(
                "apps", [Self.lasting: "[App]\nUsage=Tests\nModes=processing\nTasks=\(tasks)\n"])
            let disk = "\(stage.bus.directory)/disk"
            try #require(mkdir(disk, 0o755) == 0)
            func start() throws {
                try stage.startBroker(
                    "--policy", policy, "--apps", apps,
                    environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_KEPT": disk])
            }
            var last = 0
            try start()
            for round in 0..<max(4, Disks.kills / 4) {
                let app = try self.silent(stage, Self.always, "a await 1")
                _ = try app.waitForLine { $0.contains(" Event ") }
                try stage.until("they are on the disk") { try self.due(stage).count >= 10 + 7 * (round % 5) }
                try self.registerForGood(round, stage)
                let owed = try self.due(stage)
                try stage.kill(stage.broker)
                let restored = try Tool.run([
                    "sh", "-ec", "rm -f \"$1\"/*.part \"$2\"/*.db*; cp \"$1\"/*.db* \"$2\"", "sh", disk, stage.state,
                ])
                try #require(restored.status == 0, "\(restored.stderr)")
                try stage.kill(app)
                for line in app.output.split(separator: "\n")
                where line.contains(" Event ") && !line.contains("redelivered") {
                    let epoch = try #require(Int(try self.name(String(line)).epoch))
                    #expect(epoch > last, "round \(round): an epoch comes again")
                    last = epoch
                }

                try start()
                // A slow disk is not waited for until it has said all it knows.
                try stage.until("round \(round): all that was registered for good") {
                    let detectors = try stage.property("Detectors", at: Stage.Object.app(Self.lasting))
                    return (0...round).allSatisfy { detectors.contains("\"d\($0)\"") }
                }
                try stage.until("round \(round): all tasks") {
                    let waiting = try stage.jostle("tasks").stdout
                    return (0...round).allSatisfy { waiting.contains("sync\($0 % 10)") }
                }
                let again = try stage.start("watch", "--json", "--kept", "--app", Self.app, "shake.planar,threshold=9g")
                var came: Set<String> = []
                while true {
                    let line = try again.waitForLine { !$0.hasPrefix("{\"watching\":") }
                    if line.hasPrefix("{\"caught_up\":") { break }
                    if let epoch = field("epoch", of: line) { came.insert(epoch) }
                }
                #expect(owed.subtracting(came).isEmpty, "round \(round): \(owed.count) were due, \(came.count) came")
                for name in ["state.db", "journal.db"] {
                    #expect(access("\(stage.state)/\(name).broken", F_OK) != 0, "round \(round)")
                    #expect(try stage.sql(name, "PRAGMA integrity_check") == "ok\n")
                }
                try stage.until("all is answered") { try self.due(stage).isEmpty }
                #expect(try again.terminate() == .exited(0))
            }
        }

        // MARK: Not reading

        /// Until it has given up what three seconds bring, at 200 events a second. `jostle-bench --only stall` measures a
        /// minute of it, and what it costs others in time.
        @Test func aStoppedAppCostsOthersNothing() throws {
            let stage = try self.stage("Lifespan=3s", source: nil)
            let detector = "\(Stage.always),every=5ms,name=d"
            let stopped = try stage.watch(detector, "--app", Self.app)
            let other = try stage.reader(of: "norm(x, y, z) > 0.5g", every: 5_000, "org.example.Other")
            try stopped.stop()
            let broker = try #require(stage.broker)
            let bus = stage.bus.pid
            let name = try stage.uniqueName(Self.app)
            let busBefore = try self.residentKiB(bus)
            let before = try self.residentKiB(broker.pid)
            try stage.startReader("synth:rate=200Hz; noise=0.05g; gravity=z")
            func held() throws -> UInt64 {
                try stage.count("QueuedBytes", at: Self.object) + stage.count("UnreadBytes", at: Self.object)
            }
            try stage.until("events are given up", timeout: .seconds(60)) {
                #expect(try held() <= 256 << 10)
                if stage.bus.implementation == .dbusDaemon {
                    let atBus = try stage.bus.outgoingBytes(to: name)
                    #expect(try atBus <= stage.count("UnreadBytes", at: Self.object))
                }
                return try stage.count("Dropped", at: Self.object) + stage.count("Expired", at: Self.object) > 400
            }
            let after = try self.residentKiB(broker.pid)
            // The broker keeps what it decided lately besides, pages of its journal, and rows that wait half a second for it: 400 events
            // and verdicts of 1.3 KiB, twice, because those that are being written have room of their own.
            let verdicts = 2_048
            let pages = 512
            let rows = 1_024
            #expect(after < before + 256 + verdicts + pages + rows + 1_024, "\(before)")
            #expect(try self.residentKiB(bus) < busBefore + 256 + 512)
            // The other had all of them, in order.
            let otherObject = Stage.Object.app("org.example.Other")
            #expect(try stage.count("Gaps", at: otherObject) == 0)
            try stopped.signal(SIGCONT)
            let gap = try stopped.waitForLine { $0.hasPrefix("{\"gap\":") }
            #expect((number("gap", of: gap) ?? 0) > 400)
            let next = try stopped.nextEvent()
            #expect(number("sequence", of: next) == number("last", of: gap).map { $0 + 1 })
            try stage.until("nothing is held back") { try stage.count("QueuedBytes", at: Self.object) == 0 }
            let figures = try stage.figures(of: other)
            #expect((number("events", of: figures) ?? 0) > 800)
            #expect(field("lost", of: figures) == "0" && field("refused", of: figures) == "0")
        }

        private func residentKiB(_ pid: Int32) throws -> Int {
            let text = try Tool.run([
                "sed", "-n", "s/^RssAnon:[^0-9]*\\([0-9]*\\).*/\\1/p", "/proc/\(pid)/status",
            ])
            return try #require(Int(text.stdout.dropLast()))
        }
    }
}

extension String {
    /// What stands behind the first place where a text stands.
    fileprivate func components(after text: String) -> Substring? {
        var start = self.startIndex
        while start < self.endIndex {
            if self[start...].hasPrefix(text) { return self[self.index(start, offsetBy: text.count)...] }
            start = self.index(after: start)
        }
        return nil
    }
}
