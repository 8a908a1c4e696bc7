import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// What the broker keeps, and what becomes of motion when the disk does not take it.
    @Suite(.serialized) struct Disks {
        /// A detector that is hit fifty times a second.
        private static let busy = "\(Stage.always),every=20ms"
        private static let app = "org.example.App"

        /// What goes wrong, as `disk-faults` is told.
        enum Fault: String, CaseIterable, Sendable {
            case none = "0"
            case write = "1"
            case full = "2"
            case sync = "3"
            case stall = "4"
            case secondCommit = "7"
            case read = "8"
            case slow = "9"
            case hang = "a"
            case quota = "b"
        }

        /// A stage whose broker has a disk that fails on command.
        private final class FailingDisk {
            let stage: Stage
            private let control: String
            private let apps: [String: String]
            private let policy: String?

            init(
                _ fault: Fault = .none, apps: [String: String] = [:], policy: String? = nil, replaceable: Bool = false,
                on bus: PrivateBus? = nil
            ) throws {
                self.stage = try Stage(broker: false, replaceable: replaceable, on: bus)
                self.apps = apps
                self.policy = policy
                // Where it goes on to be when the bus is replaced.
                self.control = "\((self.stage.spare ?? self.stage.bus).directory)/fault"
                try self.set(fault)
                try self.start()
            }

            func start() throws {
                var options = self.apps.isEmpty ? [] : ["--apps", try self.stage.directory("apps", self.apps)]
                if let policy { options += ["--policy", try self.stage.directory("policy", ["10-test": policy])] }
                try self.stage.startBroker(options: options, environment: self.environment)
            }

            /// Has a program have this disk.
            var environment: [String: String] {
                ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": self.control]
            }

            /// In place, because it is mapped.
            func set(_ fault: Fault) throws {
                let file = try #require(open(self.control, O_WRONLY | O_CREAT, 0o600) as Int32?)
                #expect(write(file, fault.rawValue, 1) == 1)
                close(file)
            }
        }

        private func durability(_ stage: Stage) throws -> String {
            try stage.property("Durability", at: Stage.Object.broker)
        }

        private func written(_ stage: Stage) throws -> UInt64 {
            try stage.count("JournalWritten", at: Stage.Object.broker)
        }

        /// Waits until the disk is well again, as the broker sees it, which may take five seconds.
        private func recovers(_ stage: Stage) throws {
            let before = try self.written(stage)
            var (passed, last) = (Duration.zero, ContinuousClock.now)
            try stage.until("recovery") {
                let isWell = try self.durability(stage) == "s \"ok\""
                // A look takes much less: what it takes beyond that, the machine let nobody run.
                let now = ContinuousClock.now
                passed += min(now - last, .milliseconds(50))
                last = now
                return isWell
            }
            #expect(passed < .seconds(5), "\(passed)")
            try stage.until("rows") { try self.written(stage) > before }
        }

        /// Events go on, none is missing, and none waits for the disk.
        private func eventsGoOn(_ app: BackgroundProgram, _ count: Int = 30) throws {
            var last = try #require(number("sequence", of: try app.nextEvent()))
            for _ in 0..<count {
                let next = try #require(number("sequence", of: try app.nextEvent()))
                #expect(next == last + 1)
                last = next
            }
        }

        /// What was not on the disk when somebody was told so is not there because it is said again.
        @Test(arguments: [Fault.write, .full], [true, false])
        func whatIsForGoodIsConfirmedWhenItIsThere(_ fault: Fault, _ fromTheStart: Bool) throws {
            let disk = try FailingDisk(
                fromTheStart ? fault : .none, apps: [Self.app: "[App]\nUsage=Skips when you shake the device\n"])
            let own = "app own \(Self.app)"
            let register =
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                + " ['\(Self.app)',{'durable':V('b',True)}]"
            try disk.set(fault)
            let answers = try disk.stage.script(own, register, register, register)
            #expect(answers.filter { $0.contains("this is not on the disk yet") }.count == 3, "\(answers)")
            try disk.set(.none)
            try disk.stage.until("recovery") { try self.durability(disk.stage) == "s \"ok\"" }
            #expect(try disk.stage.script(own, register).last?.contains("\"durable\": true") == true)
        }

        /// Nor is what was removed gone from there because that is said again, and it is no stranger's name.
        @Test func whatIsRemovedForGoodIsConfirmedWhenItIsGone() throws {
            let disk = try FailingDisk(apps: [Self.app: "[App]\nUsage=Skips when you shake the device\n"])
            let app = "app call org.jostle.Broker1 \(Stage.Object.app(Self.app)) org.jostle.Broker1.App"
            let register = [
                "app own \(Self.app)",
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                    + " ['\(Self.app)',{'durable':V('b',True)}]",
            ]
            let remove = "\(app) RemoveDetectors asa{sv} [['skip'],{}]"
            let forget =
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Forget sa{sv} ['\(Self.app)',{}]"
            let added = try disk.stage.script(
                register + [
                    "\(app) AddDetectors a(sa{sv})"
                        + " [[('skip',{'preset':V('s','shake.magnitude'),'threshold':V('d',0.5)})]]"
                ])
            #expect(added.count == 2 && added.allSatisfy { $0.hasPrefix("app ok ") }, "\(added)")
            try disk.set(.full)
            let answers = try disk.stage.script(register + [remove, remove, forget, forget])
            #expect(answers.filter { $0.contains("this is not on the disk yet") }.count == 4, "\(answers)")
            try disk.set(.none)
            try disk.stage.until("recovery") { try self.durability(disk.stage) == "s \"ok\"" }
            let last = try disk.stage.script([forget] + register + [remove])
            #expect(last.filter { $0.contains("NotFound") }.count == 2, "\(last)")
            #expect(try disk.stage.sql("state.db", "SELECT DISTINCT detector FROM detector_option").isEmpty)
        }

        /// A task that is taken back is gone from the disk when its app is answered, however slow that is.
        @Test func whatIsTakenBackDoesNotComeAgain() throws {
            let disk = try FailingDisk(
                apps: [Self.app: "[App]\nUsage=Sorts photos\nModes=processing\nTasks=sort tidy\n"],
                policy: "[App *]\nGrants=processing\n")
            let app = "app call org.jostle.Broker1 \(Stage.Object.app(Self.app)) org.jostle.Broker1.App"
            func submit(_ task: String) -> String {
                "\(app) SubmitTask ssa{sv} ['\(task)','processing',{'earliest-in':V('s','1h')}]"
            }
            try disk.set(.slow)
            let answers = try disk.stage.script([
                "app own \(Self.app)",
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                    + " ['\(Self.app)',{}]",
                submit("sort"), submit("tidy"), "\(app) CancelTask sa{sv} ['sort',{}]",
            ])
            #expect(answers.count == 4 && answers.allSatisfy { $0.hasPrefix("app ok ") }, "\(answers)")
            try disk.stage.kill(disk.stage.broker)
            try disk.set(.none)
            try disk.start()
            func tasks() throws -> String { try disk.stage.jostle("tasks", "--json").stdout }
            try disk.stage.until("the other is back") { try tasks().contains("\"tidy\"") }
            #expect(try !tasks().contains("\"sort\""))
        }

        /// It may be whole: all that was there is there when it can be read again.
        @Test func whatCannotBeReadForAWhileIsNotSetAside() throws {
            let disk = try FailingDisk(apps: [Self.app: "[App]\nUsage=Skips when you shake the device\n"])
            let stage = disk.stage
            let answers = try stage.script(
                "app own \(Self.app)",
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                    + " ['\(Self.app)',{'durable':V('b',True)}]")
            #expect(answers.last?.contains("\"durable\": true") == true, "\(answers)")
            try stage.kill(stage.broker)
            try disk.set(.read)
            try disk.start()
            let broker = try #require(stage.broker)
            // It may have said so before it served the bus, or say so later.
            _ = try broker.waitForLine(on: .errors, by: "failure") { $0.contains("nothing can be kept on the disk") }
            try disk.set(.none)
            _ = try broker.waitForLine(on: .errors) { $0.contains("the disk is well again") }
            #expect(!broker.errors.contains("set aside"), "\(broker.errors)")
            try stage.untilDurable(Self.app)
        }

        /// What is on the disk is known, though nothing can be written there: who says it again is told that it is there.
        @Test(arguments: [Fault.write, .full, .sync], [true, false])
        func whatIsForGoodIsKnownWhereNothingCanBeWritten(_ fault: Fault, _ isKilled: Bool) throws {
            let file = "[App]\nUsage=Skips when you shake the device\n"
            let disk = try FailingDisk(apps: [Self.app: file, "org.example.New": file])
            let (stage, object) = (disk.stage, Stage.Object.app(Self.app))
            let steps = [
                "app own \(Self.app)",
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                    + " ['\(Self.app)',{'durable':V('b',True)}]",
                "app call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetectors a(sa{sv})"
                    + " [[('skip',{'preset':V('s','shake.magnitude'),'threshold':V('d',0.5),'rest':V('t',0)})]]",
            ]
            func say() throws {
                let answers = try stage.script(steps)
                #expect(answers.count == 2 && answers.allSatisfy { $0.hasPrefix("app ok ") }, "\(answers)")
                #expect(answers.first?.contains("\"durable\": true") == true)
            }
            try say()
            if isKilled {
                try stage.kill(stage.broker)
            } else {
                _ = try #require(stage.broker).terminate()
            }
            try disk.set(fault)
            try disk.start()
            try stage.until("trouble") { try self.durability(stage) == "s \"degraded\"" }
            try stage.untilDurable(Self.app)
            try stage.until("its detector is at work") { try stage.count("Hits", at: object) > 2 }
            // Another app's word that is not there is none of its business.
            let new = try stage.script(
                "new own org.example.New",
                "new call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                    + " ['org.example.New',{'durable':V('b',True)}]")
            #expect(new.last?.contains("this is not on the disk yet") == true, "\(new)")
            try say()
            try disk.set(.none)
            try stage.until("recovery") { try self.durability(stage) == "s \"ok\"" }
            #expect(try stage.sql("state.db", "SELECT DISTINCT detector FROM detector_option") == "skip\n")
        }

        /// Whoever has used up a quota is told that there is no room, and not that the disk fails.
        @Test func aQuotaThatIsUsedUpIsAFullDisk() throws {
            let disk = try FailingDisk()
            let stage = disk.stage
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try stage.until("rows") { try self.written(stage) > 0 }
            try disk.set(.quota)
            let broker = try #require(stage.broker)
            let said = try broker.waitForLine(on: .errors) { $0.contains("nothing can be kept on the disk") }
            #expect(said.contains("database or disk is full"), "\(said)")
            try self.eventsGoOn(app)
            try disk.set(.none)
            try self.recovers(stage)
            _ = try app.terminate()
        }

        @Test(arguments: [Fault.write, .full, .sync])
        func aFailingDiskIsNoHindrance(_ fault: Fault) throws {
            let disk = try FailingDisk()
            let stage = disk.stage
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 5)
            try stage.until("rows") { try self.written(stage) > 0 }
            #expect(try self.durability(stage) == "s \"ok\"")
            let changes = try BackgroundProgram(tool: [
                "busctl", "--address=\(stage.address)", "monitor", "--match=member='PropertiesChanged'",
            ])
            _ = try changes.waitForLine(on: .errors) { $0.hasPrefix("Monitoring bus message stream") }

            try disk.set(fault)
            // A commit is not put on the disk at once, but before long.
            if fault == .sync { try self.fillWAL(stage) }
            _ = try changes.waitForLine { $0.contains("STRING \"Durability\"") }
            _ = try changes.waitForLine { $0.contains("STRING \"degraded\"") }
            try self.eventsGoOn(app)
            try disk.set(.none)
            try self.recovers(stage)
            #expect(try stage.count("JournalDropped", at: Stage.Object.broker) == 0)
            try self.eventsGoOn(app, 5)
            let broker = try #require(stage.broker)
            _ = try broker.waitForLine(on: .errors) { $0.contains("the disk is well again") }
            let log = broker.errors.split(separator: "\n")
            #expect(log.filter { $0.contains("nothing can be kept on the disk") }.count == 1, "\(log)")
        }

        /// What it forgot is written again, also where the first that is written to the new file fails and is there all the same.
        @Test func whatItForgotIsWrittenAgainWhereThatFailsAtFirst() throws {
            let disk = try FailingDisk(apps: [Self.app: "[App]\nUsage=Skips when you shake the device\n"])
            let stage = disk.stage
            let register =
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                + " ['\(Self.app)',{'durable':V('b',True)}]"
            let answers = try stage.script("app own \(Self.app)", register)
            #expect(answers.last?.contains("\"durable\": true") == true, "\(answers)")
            try disk.set(.secondCommit)
            try #require(Tool.run(["rm", "\(stage.state)/state.db"]).status == 0)
            let broker = try #require(stage.broker)
            _ = try broker.waitForLine(on: .errors) { $0.contains("nothing can be kept on the disk") }
            try disk.set(.none)
            _ = try broker.waitForLine(on: .errors) { $0.contains("the disk is well again") }
            #expect(try stage.sql("state.db", "SELECT app FROM app") == "\(Self.app)\n")
        }

        /// Makes the next commits need the disk itself: reserving epochs does.
        private func fillWAL(_ stage: Stage) throws {
            let motion = try stage.watch("\(Stage.always),every=10ms", "--app", "org.example.More")
            try stage.until("something that must last", timeout: .seconds(60)) {
                try self.durability(stage) == "s \"degraded\""
            }
            #expect(try motion.terminate() == .exited(0))
        }

        /// Nothing waits for a disk that does not answer: not what is under way, and not a broker that starts.
        @Test func aDiskThatDoesNotAnswerIsNoHindrance() throws {
            let disk = try FailingDisk()
            let stage = disk.stage
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 5)
            try stage.until("rows") { try self.written(stage) > 0 }
            try disk.set(.stall)
            try self.eventsGoOn(app)
            let before = try self.written(stage)
            try self.eventsGoOn(app, 5)
            #expect(try self.written(stage) == before)
            let epoch = try #require(number("epoch", of: try app.nextEvent()))

            try stage.kill(stage.broker)
            let start = ContinuousClock.now
            try disk.start()
            let took = ContinuousClock.now - start
            #expect(took < .seconds(5), "\(took)")
            _ = try app.nextEvent { number("sequence", of: $0) == 1 }
            #expect(try #require(number("epoch", of: try app.nextEvent())) > epoch)
            try disk.set(.none)
            try self.recovers(stage)
        }

        // MARK: Files that are never read

        /// Apps come as they were, and hear their events, while the file system of their files does not answer. What the files
        /// say counts when it does.
        @Test func aFileSystemThatDoesNotAnswerHoldsUpNobody() throws {
            let disk = try FailingDisk(apps: [Self.app: "[App]\nUsage=Was there\n"])
            let stage = disk.stage
            let broker = try #require(stage.broker)
            let first = try stage.watch(Self.busy, "--app", "org.example.First")
            _ = try stage.directory("apps", [Self.app: "[App]\nUsage=Is there\n"])
            try disk.set(.hang)
            let second = try stage.watch(Self.busy, "--app", Self.app)
            _ = try second.nextEvent()
            try self.eventsGoOn(first, 5)
            let said = try broker.waitForLine(on: .errors) { $0.contains("its file system has not answered") }
            #expect(said.contains("the app file of \(Self.app) is not read"))
            func usage() throws -> String { try stage.property("Usage", at: Stage.Object.app(Self.app)) }
            #expect(try usage() == "s \"Was there\"")
            // Whoever comes next waits no longer than that, and it is not said again.
            let third = try stage.watch(Self.busy, "--app", "org.example.Third")
            _ = try third.nextEvent()
            try disk.set(.none)
            try stage.until("what the file says counts") { try usage() == "s \"Is there\"" }
            #expect(try broker.terminate() == .exited(0))
            #expect(broker.errors.split(separator: "\n").filter { $0.contains("has not answered") }.count == 1)
        }

        /// Whoever registers for good and has a file that was not read is not told that there is none.
        @Test func whoseFileIsNotReadIsRefusedForTheMoment() throws {
            let disk = try FailingDisk(apps: ["org.example.Other": "[App]\nUsage=Was there\n"])
            let stage = disk.stage
            _ = try stage.directory("apps", [Self.app: "[App]\nUsage=Is there\n"])
            try disk.set(.hang)
            let register = [
                "app own \(Self.app)",
                "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv}"
                    + " ['\(Self.app)',{'durable':V('b',True)}]",
            ]
            let refused = try stage.script(register)
            #expect(
                refused.last?.contains("Failed: the app file of \(Self.app) is not read yet") == true, "\(refused)")
            try disk.set(.none)
            try stage.until("its file counts") {
                try stage.script(register).last?.contains("\"durable\": true") == true
            }
        }

        /// The policy in force stays in force, and whoever wants another one is told why it is not.
        @Test func aReloadThatReadsNothingIsSaid() throws {
            let disk = try FailingDisk(apps: [Self.app: "[App]\nUsage=Was there\n"])
            let stage = disk.stage
            let app = try stage.watch(Self.busy, "--app", Self.app)
            let before = try stage.count("PolicyGeneration", at: Stage.Object.broker)
            try disk.set(.hang)
            let reload = "r call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Reload a{sv} [{}]"
            let problem = "files are not read: their file system has not answered for 10 s"
            let answers = try stage.script(reload, reload)
            #expect(answers.count == 2 && answers.allSatisfy { $0.contains(problem) }, "\(answers)")
            try self.eventsGoOn(app, 5)
            try disk.set(.none)
            // What hung comes back a moment later.
            try stage.until("it reads again") { try stage.script(reload) == ["r ok []"] }
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) > before)
        }

        /// A reader that cannot read policy grants nothing that only policy can, and reads on for all others.
        @Test func aClaimDoesNotWaitForAFileSystem() throws {
            let disk = try FailingDisk()
            let stage = disk.stage
            try stage.kill(stage.reader)
            try stage.startReader(
                Stage.rest, policy: "[App org.example.Fast]\nFastestRate=300Hz\n", environment: disk.environment)
            func claim(_ rate: Int, _ more: String = "") -> String {
                "org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor Claim a{sv} "
                    + "[{'rate':V('d',\(rate).0)\(more)}]"
            }
            try disk.set(.hang)
            let lines = try stage.script(
                "p own org.example.Fast", "p begin \(claim(300))", "q call \(claim(100))",
                "r call \(claim(300, ",'or-slower':V('b',True)"))")
            let fast = try #require(lines.first { $0.hasPrefix("p error") }, "\(lines)")
            #expect(fast.contains("policy cannot be read for now"), "\(fast)")
            #expect(lines.contains { $0.hasPrefix("q ok") }, "\(lines)")
            #expect(lines.contains { $0.hasPrefix("r ok") && $0.contains("\"allowed\": 200.0") }, "\(lines)")
            try disk.set(.none)
            try stage.until("policy counts") {
                try stage.script("p own org.example.Fast", "p call \(claim(300))").last?.hasPrefix("p ok") == true
            }
        }

        /// Unique names begin anew with each bus: what somebody asked on one is not what another asks who has his name on the next.
        ///
        /// - Parameter isReadBetween: Policy is read while there is no bus.
        @Test(arguments: [false, true]) func whoHasTheNameOfOneBeforeHasNothingOfHis(isReadBetween: Bool) throws {
            let disk = try FailingDisk(replaceable: true)
            let stage = disk.stage
            try stage.kill(stage.reader)
            try stage.startReader(
                Stage.rest, policy: "[App *]\nFastestRate=300Hz\n", environment: disk.environment)
            let reader = try #require(stage.reader)
            let sensor = "org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor"
            let claim = "\(sensor) Claim a{sv} [{'rate':V('d',300.0),'or-slower':V('b',True)}]"
            // On the bus that nobody is led to yet: so many that one of them has his name.
            let spare = stage.address.replacing("/current/", with: "/")
            let others = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/bus-script.py"), spare]
                    + (0..<64).map { "c\($0) name" } + ["stay"])
            try others.waitUntilSaid("staying")
            try disk.set(.hang)
            let list = "q call \(sensor) ListClaimants a{sv} [{}]"
            let asker = try stage.startScript("q begin \(claim)", list, list)
            try asker.waitUntilSaid("staying")
            try stage.replaceBus {
                _ = try reader.waitForLine(on: .errors) { $0.hasSuffix("waiting for it to come back") }
                guard isReadBetween else { return }
                try disk.set(.none)
                usleep(200_000)
            }
            try Stage.waitUntilServing(reader)
            try disk.set(.none)
            // Who asks now is answered behind the one of before.
            try stage.until("policy is read") { try stage.script("p call \(claim)").last?.hasPrefix("p ok") == true }
            try stage.until("nobody claims") {
                try stage.property("ClaimCount", at: Stage.Object.accelerometer) == "t 0"
            }
            #expect(others.end == nil)
        }

        /// Whoever asks what only the disk knows takes a share of the places for that.
        @Test func whatOneUserAsksOfTheDiskLeavesRoomForOthers() throws {
            // The other bus lets nobody else in here.
            let disk = try FailingDisk(on: PrivateBus(on: .dbusDaemon))
            let stage = disk.stage
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 5)
            try disk.set(.stall)
            try stage.until("the disk does not answer") { try self.durability(stage) == "s \"degraded\"" }
            // Of before this broker, and so nothing that it remembers.
            let old = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Explain ta{sv} [1,{}]"
            let greedy = try stage.startScript(
                as: Stage.nobody, [String](repeating: "A begin \(old)", count: 40))
            func answers(_ count: Int, _ error: String, to script: BackgroundProgram) throws {
                for _ in 0..<count {
                    let line = try script.waitForLine { $0.contains(" error ") }
                    #expect(line.contains(".Error.\(error): "), "\(line)")
                }
            }
            try answers(10, "LimitsExceeded", to: greedy)
            let modest = try stage.startScript(as: Stage.somebody, ["B begin \(old)"])
            try modest.waitUntilSaid("staying")
            try disk.set(.none)
            try answers(1, "NotFound", to: modest)
            try answers(30, "NotFound", to: greedy)
        }

        /// One that never answers is told as such, and a broker that ends does not wait for it.
        @Test func aDiskThatDoesNotAnswerIsSaid() throws {
            let disk = try FailingDisk()
            let stage = disk.stage
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 5)
            try stage.until("rows") { try self.written(stage) > 0 }
            let changes = try BackgroundProgram(tool: [
                "busctl", "--address=\(stage.address)", "monitor", "--match=member='PropertiesChanged'",
            ])
            _ = try changes.waitForLine(on: .errors) { $0.hasPrefix("Monitoring bus message stream") }
            try disk.set(.stall)
            _ = try changes.waitForLine { $0.contains("STRING \"degraded\"") }
            let broker = try #require(stage.broker)
            _ = try broker.waitForLine(on: .errors) { $0.contains("the disk does not answer") }
            try self.eventsGoOn(app, 5)
            try disk.set(.none)
            try self.recovers(stage)
            try disk.set(.stall)
            try self.eventsGoOn(app, 30)
            // It does not answer for as long as that is waited for, which is more than the broker may.
            try broker.signal(SIGTERM)
            #expect(try broker.waitForEnd() == .exited(0))
            try disk.set(.none)
            let log = broker.errors.split(separator: "\n")
            #expect(log.filter { $0.contains("the disk does not answer") }.count == 1, "\(log)")
        }

        /// The limit on the size of a file that any user can set.
        @Test func aFileThatMayNotGrowIsNoHindrance() throws {
            let stage = try Stage()
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 5)
            try stage.until("rows") { try self.written(stage) > 0 }
            let pid = try #require(stage.broker).pid
            func limit(_ size: String) throws {
                #expect(try Tool.run(["prlimit", "--pid", "\(pid)", "--fsize=\(size):"]).status == 0)
            }
            try limit("4096")
            try stage.until("trouble") { try self.durability(stage) == "s \"degraded\"" }
            try self.eventsGoOn(app)
            try limit("unlimited")
            try self.recovers(stage)
        }

        /// A real disk of 1 MB that is full. Only root may mount one; `.full` does the same for everybody.
        @Test(.enabled(if: getuid() == 0, "only root may mount a disk"))
        func aFullDiskIsNoHindrance() throws {
            let stage = try Stage(broker: false)
            #expect(mkdir(stage.state, 0o700) == 0)
            // Seen by the broker alone, and gone with it.
            let broker = try BackgroundProgram(tool: [
                "unshare", "--mount", "--propagation", "private", "sh", "-c",
                "mount -t tmpfs -o size=1m tmpfs '\(stage.state)' && exec \"$0\" \"$@\"",
                Programs.path(of: "jostle-brokerd"), "--bus", stage.address, "--state-dir", stage.state,
            ])
            try Stage.waitUntilServing(broker)
            func inside(_ command: String) throws -> Int32 {
                try Tool.run(["nsenter", "-t", "\(broker.pid)", "-m", "sh", "-c", command]).status
            }
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 5)
            try stage.until("rows") { try self.written(stage) > 0 }
            #expect(try inside("dd if=/dev/zero of='\(stage.state)/filler' bs=4096 2>/dev/null") != 0)
            try stage.until("trouble") { try self.durability(stage) == "s \"degraded\"" }
            try self.eventsGoOn(app)
            #expect(try inside("rm '\(stage.state)/filler'") == 0)
            try self.recovers(stage)
            _ = try broker.terminate()
        }

        @Test(arguments: ["state.db", "journal.db"])
        func aBrokenFileIsSetAside(_ name: String) throws {
            let stage = try Stage()
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 10)
            try stage.until("rows") { try self.written(stage) > 0 }
            let epoch = try #require(number("epoch", of: try app.nextEvent()))
            #expect(try stage.broker?.terminate() == .exited(0))
            let path = "\(stage.state)/\(name)"
            #expect(try Tool.run(["sh", "-c", "head -c 20000 /dev/urandom >'\(path)'"]).status == 0)

            try stage.startBroker()
            _ = try app.nextEvent { number("sequence", of: $0) == 1 }
            #expect(try #require(number("epoch", of: try app.nextEvent())) > epoch)
            try stage.until("rows") { try self.written(stage) > 0 }
            #expect(try self.durability(stage) == "s \"ok\"")
            #expect(access("\(path).broken", F_OK) == 0)
            let broker = try #require(stage.broker)
            #expect(try broker.terminate() == .exited(0))
            let log = broker.errors.split(separator: "\n")
            #expect(log.filter { $0.contains("set aside") && $0.contains("\(path).broken") }.count == 1, "\(log)")
        }

        @Test func nothingIsKeptWhenNothingIsWanted() throws {
            let stage = try Stage(broker: false)
            try stage.startBroker("--no-journal")
            let app = try stage.watch(Self.busy, "--app", Self.app)
            try self.eventsGoOn(app, 5)
            #expect(try self.durability(stage) == "s \"off\"")
            #expect(try self.written(stage) == 0)
            #expect(access(stage.state, F_OK) != 0)
        }

        /// Where a broker keeps things that was not told where.
        @Test(arguments: ["STATE_DIRECTORY", "XDG_STATE_HOME"])
        func theEnvironmentSaysWhere(_ variable: String) throws {
            let stage = try Stage(broker: false)
            let place = "\(stage.bus.directory)/\(variable)"
            let program = try BackgroundProgram(
                "jostle-brokerd", ["--bus", stage.address],
                environment: [
                    variable: "\(place)\(variable == "STATE_DIRECTORY" ? ":/nonexistent" : "")", "SYSTEMD_EXEC_PID": "",
                ])
            try Stage.waitUntilServing(program)
            try stage.until("it is there") {
                access(variable == "STATE_DIRECTORY" ? "\(place)/state.db" : "\(place)/jostle/state.db", F_OK) == 0
            }
            #expect(try program.terminate() == .exited(0))
        }

        /// With nothing to do, neither of the broker's threads wakes up.
        @Test func theWriterSleeps() throws {
            let stage = try Stage()
            let app = try stage.watch(Self.busy)
            try self.eventsGoOn(app, 5)
            #expect(try app.terminate() == .exited(0))
            let pid = try #require(stage.broker).pid
            func switches() throws -> String {
                try Tool.run(["sh", "-c", "cat /proc/\(pid)/task/*/status | grep ctxt_switches"]).stdout
            }
            // What is left to write is written before that, however long it takes.
            var before = ""
            try stage.until("it sleeps") {
                before = try switches()
                _ = try Tool.run(["sleep", "3.5"])
                return try switches() == before
            }
            #expect(before.split(separator: "\n").count == 4)
        }

        // MARK: Afterwards

        @Test func whyIsKnownAfterARestart() throws {
            let stage = try Stage(broker: false)
            let policy = Programs.source("policies/examples/02-most-specific")
            try stage.startBroker("--policy", policy)
            let gentle = try stage.watch("shake.planar,threshold=2.3g,name=gentle", "--app", "org.example.Gentle")
            let hard = try stage.watch("shake.planar,threshold=3.5g,name=hard", "--app", "org.example.Hard")
            #expect(try stage.jostle("shake", "--peak", "4.5g", "--for", "500ms").status == 0)
            let epoch = try #require(field("epoch", of: try hard.nextEvent()))
            for app in [gentle, hard] { #expect(try app.terminate() == .exited(0)) }
            let told = try stage.jostle("explain", epoch).stdout
            #expect(told.contains("org.example.Gentle  NOT DELIVERED  S4.outranked"))
            try stage.until("rows") { try self.written(stage) >= 3 }
            try stage.kill(stage.broker)

            // Other rules, and generations that begin again.
            try stage.startBroker("--policy", Programs.source("policies"))
            let later = try stage.jostle("explain", epoch).stdout
            let note = "  read in the journal; its policy 1: \(policy)/policy.conf"
            #expect(later.split(separator: "\n").filter { $0 == note }.count == 2, "\(later)")
            let lines = later.split(separator: "\n", omittingEmptySubsequences: false).filter { $0 != note }
            // The journal has when it was decided, which is a little after the sample.
            #expect(timeless(told) != told)
            #expect(timeless(lines.joined(separator: "\n")) == timeless(told))
            // By the app's own number, and the last one.
            #expect(try stage.jostle("explain", "--app", "org.example.Hard").stdout.contains("epoch \(epoch) "))
            let own = try stage.busctl(
                "--json=short", "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "Explain",
                "ta{sv}", "1", "2", "app", "s", "org.example.Hard", "sequence", "b", "true")
            #expect(own.stdout.contains("\"policy-files\":{\"type\":\"as\",\"data\":[\"\(policy)/policy.conf\"]}"))
            #expect(own.stdout.contains("\"data\":\(epoch)"))
            #expect(try stage.jostle("explain", "7").status == 1)
        }

        // MARK: What if

        private static let broadcast = Programs.source("policies/examples/01-unarbitrated")
        private static let exclusive = Programs.source("policies/examples/02-most-specific")

        private func whatIf(_ stage: Stage, _ policy: String, _ arguments: String...) throws -> Tool.Result {
            try stage.jostle(
                ["policy", "whatif", "--policy", policy, "--state-dir", stage.state, "--since", "10min"] + arguments)
        }

        /// What really happened, under rules that were not in force then: while the broker runs, and when it is gone.
        @Test func whatIfReadsTheJournal() throws {
            let stage = try Stage(broker: false)
            try stage.startBroker("--policy", Self.broadcast)
            let gentle = try stage.watch("shake.planar,threshold=2.3g,name=gentle", "--app", "org.example.Gentle")
            let hard = try stage.watch("shake.planar,threshold=3.5g,name=hard", "--app", "org.example.Hard")
            #expect(try stage.jostle("shake", "--peak", "4.5g", "--for", "500ms").status == 0)
            _ = try hard.nextEvent()
            let event = try gentle.nextEvent()
            let epoch = try #require(field("epoch", of: event))
            for app in [gentle, hard] { #expect(try app.terminate() == .exited(0)) }
            try stage.until("rows") { try self.written(stage) >= 4 }

            let result = try self.whatIf(stage, Self.exclusive)
            #expect(result.status == 0 && result.stderr.isEmpty, "\(result)")
            let lines = result.stdout.split(separator: "\n").map(String.init)
            try #require(lines.count == 4, "\(result.stdout)")
            #expect(lines[0].hasSuffix("  org.example.Gentle  gentle  epoch \(epoch)"))
            #expect(lines[1].hasPrefix("  was       an event, S5.sent  "))
            #expect(lines[2].hasPrefix("  would be  no event, S4.outranked  "))
            #expect(lines[2].contains("02-most-specific/policy.conf:14 [Rule any-shake]"))
            #expect(lines[2].hasSuffix("org.example.Hard is first by specificity, 3.5 g to 2.3 g"))
            #expect(lines[3] == "1 of 2 hits would end otherwise; 1 events instead of 2")
            // The policy that was in force, and comparing two that were not.
            #expect(try self.whatIf(stage, Self.broadcast).stdout == "no difference in 2 hits and 2 events\n")
            #expect(
                try self.whatIf(stage, Self.exclusive, "--against", Self.exclusive).stdout
                    == "no difference in 2 hits and 1 events\n")
            // The broker was not held up by it, and nothing is changed.
            #expect(try self.durability(stage) == "s \"ok\"")
            #expect(try stage.broker?.terminate() == .exited(0))
            let journal = try Tool.run(["sha256sum", "\(stage.state)/journal.db"])
            #expect(journal.status == 0)
            #expect(try self.whatIf(stage, Self.exclusive) == result)
            #expect(try Tool.run(["sha256sum", "\(stage.state)/journal.db"]) == journal)
            let code = """
                import json, sys, time
                line, = map(json.loads, sys.argv[1].splitlines())
                assert line["app"] == "org.example.Gentle" and line["epoch"] == int(sys.argv[2])
                assert abs(line["wall_us"] / 1e6 - time.time()) < 60
                assert line["was"]["rule"] == "foreground-shake" and line["would_be"]["decided_by"] == "specificity"
                """
            let json = try self.whatIf(stage, Self.exclusive, "--json").stdout
            #expect(try Tool.run(["python3", "-c", code, json, epoch]).status == 0, "\(json)")
            try stage.startBroker("--policy", Self.broadcast)
            #expect(try self.whatIf(stage, Self.exclusive) == result)
            #expect(access("\(stage.state)/journal.db.broken", F_OK) != 0)
        }

        // MARK: Killed

        /// How often to kill the broker: `make test-kills` says 200, and half as often where it owes events.
        static let kills = ProcessInfo.processInfo.environment["JOSTLE_KILLS"].flatMap(Int.init) ?? 20
        static let areAsked = ProcessInfo.processInfo.environment["JOSTLE_KILLS"] != nil

        /// Killed at any moment under load: what was committed is there, no epoch comes twice, and events come again soon.
        @Test func aKilledBrokerLosesNothing() throws {
            let stage = try Stage()
            let apps = try (0..<3).map { index in
                try stage.watch("\(Stage.always),every=10ms,name=d\(index)", "--app", "org.example.App\(index)")
            }
            let seed = UInt64.random(in: .min ... .max)
            print("seed \(seed), \(Self.kills) kills")
            var state = seed
            var committed: [UInt64] = []
            var waits: [Duration] = []
            for kill in 0..<Self.kills {
                let start = ContinuousClock.now
                if kill > 0 { try stage.startBroker() }
                for app in apps {
                    _ = try app.nextEvent { number("sequence", of: $0) == 1 }
                    if app === apps[0], kill > 0 { waits.append(ContinuousClock.now - start) }
                }
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                for _ in 0..<(state >> 33 % 40) { _ = try apps[0].nextEvent() }
                // What it says is committed; there is more by the time it dies.
                committed.append(try self.written(stage))
                try stage.kill(stage.broker)
            }
            for app in apps { _ = try app.terminate() }
            try self.check(stage, apps, committed)
            let sorted = waits.sorted()
            print(
                "first event after a restart: median \(sorted[sorted.count / 2]), longest \(sorted[sorted.count - 1])")
            // Where others want the machine, too, it stands still now and then, which is none of ours: there it is what
            // most of them take.
            let longest = sorted[Self.areAsked ? sorted.count - 1 : sorted.count / 2]
            #expect(longest < .seconds(1), "\(sorted)")
        }

        /// - Parameter committed: What each broker said, before it was killed, that it had written.
        private func check(_ stage: Stage, _ apps: [BackgroundProgram], _ committed: [UInt64]) throws {
            // Every event that anybody got, in order: epochs of one app rise, and nobody shares one.
            var all: Set<Int> = []
            // The first epoch of each broker: what an app gets from another one counts from 1.
            var first = [Int](repeating: .max, count: committed.count)
            for app in apps {
                let events = app.output.split(separator: "\n").map(String.init).filter {
                    $0.hasPrefix("{\"detector\":")
                }
                var (life, last) = (-1, 0)
                for event in events {
                    let epoch = try #require(field("epoch", of: event).flatMap { Int($0) })
                    #expect(epoch > last && all.insert(epoch).inserted, "epoch \(epoch) came twice, or too late")
                    last = epoch
                    guard number("sequence", of: event) == 1 else { continue }
                    life += 1
                    try #require(life < first.count)
                    first[life] = min(first[life], epoch)
                }
                #expect(life + 1 == committed.count)
            }
            #expect(all.count > committed.count)
            let query = """
                import sqlite3,sys
                c=sqlite3.connect(sys.argv[1])
                print(c.execute('PRAGMA integrity_check').fetchone()[0])
                print(c.execute('SELECT count(*)-count(DISTINCT epoch) FROM verdict').fetchone()[0])
                # Of each app in each run, all events from the first to the last.
                print(c.execute('SELECT count(*) FROM (SELECT 1 FROM event GROUP BY run,app'
                    ' HAVING min(sequence)<>1 OR max(sequence)<>count(*))').fetchone()[0])
                # An event goes out before its verdict is kept: the last ones may lack theirs, no others.
                print(c.execute('SELECT count(*) FROM event e WHERE epoch<(SELECT max(epoch) FROM verdict'
                    ' WHERE run=e.run) AND NOT EXISTS (SELECT 1 FROM verdict WHERE epoch=e.epoch AND app=e.app'
                    ' AND run=e.run)').fetchone()[0])
                for run in c.execute('SELECT id FROM run ORDER BY id').fetchall():
                    print(*c.execute('SELECT count(*),min(epoch),max(epoch) FROM (SELECT epoch FROM verdict WHERE run=?1'
                        ' UNION ALL SELECT epoch FROM event WHERE run=?1)',run).fetchone())
                """
            let result = try Tool.run(["python3", "-c", query, "\(stage.state)/journal.db"])
            let lines = result.stdout.split(separator: "\n")
            try #require(lines.count > 4, "\(result)")
            #expect(lines[..<4] == ["ok", "0", "0", "0"], "\(lines[..<4])")
            // A broker that had written nothing need not be there.
            var found = [Int](repeating: 0, count: committed.count)
            var last = 0
            for line in lines.dropFirst(4) {
                if line == "0 None None" { continue }
                let numbers = line.split(separator: " ").compactMap { Int($0) }
                try #require(numbers.count == 3, "\(line)")
                #expect(numbers[1] > last && numbers[2] >= numbers[1])
                last = numbers[2]
                // What is decided first is written first.
                let life = try #require(first.firstIndex(of: numbers[1]), "\(line): nobody got the first event")
                found[life] = numbers[0]
            }
            for (said, rows) in zip(committed, found) { #expect(rows >= Int(said), "committed \(said), found \(rows)") }
            print("\(all.count) events came, \(committed.reduce(0, +)) rows were said to be written, none is missing")
            #expect(access("\(stage.state)/journal.db.broken", F_OK) != 0)
            #expect(access("\(stage.state)/state.db.broken", F_OK) != 0)
        }
    }
}
