import FleetCore
import Glibc
import Loop
import MQTT
import Randomness
import TestSupport
import Testing

extension Surroundings {
    /// jostle-bridge with a real server: what it tells, and that nothing is lost.
    @Suite(.serialized) struct Bridges {
        /// Gravity is always there: a hit at each look.
        private static func busy(_ count: Int, every: String) -> String {
            (1...count).map { "[Detector d\($0)]\npreset=shake.magnitude\nthreshold=0.5g\nrest=0s\nevery=\(every)\n" }
                .joined()
        }

        /// What a server says that keeps what it acknowledges, or all but so many changes of it.
        private static func lasting(_ bars: FleetBars) -> [String] {
            [
                "persistence true", "autosave_on_changes true", "autosave_interval \(bars.changes)",
                "max_queued_messages 0", "max_inflight_messages \(bars.window)",
            ]
        }

        @Test func nothingIsToldButPresence() throws {
            let scene = try FleetScene("")
            try scene.startBridge()
            let app = try scene.stage.watch(Stage.always, "--app", "org.example.App")
            _ = try app.nextEvent()
            try scene.listener.wait("presence") { scene.listener.last(scene.topics.presence)?["online"]?.bool == true }
            try scene.killBridge()
            try scene.listener.wait("the will") { scene.listener.last(scene.topics.presence)?["online"]?.bool == false }
            #expect(Set(scene.listener.others.map(\.topic)) == [scene.topics.presence])
            #expect(scene.listener.names.isEmpty)
        }

        @Test func anEventIsToldAtOnceAndOnce() throws {
            let scene = try FleetScene("[Detector knock]\npreset=shake\n[Publish]\nEvents=org.example.*\nVerdicts=*\n")
            try scene.startBridge()
            try scene.listener.wait("a birth") { scene.listener.last(scene.topics.birth) != nil }
            #expect(scene.listener.last(scene.topics.birth)?["detectors"]?.list?.first?["name"]?.text == "knock")
            try scene.waitUntilHearing()
            let app = try scene.stage.watch("shake,name=shake", "--app", "org.example.App")
            #expect(try scene.stage.jostle("shake", "--for", "500ms").status == 0)
            _ = try app.nextEvent()
            try scene.listener.wait("both events") { scene.listener.names.count == 2 }
            #expect(Set(scene.listener.names.map(\.app)) == ["org.jostle.Bridge", "org.example.App"])
            try scene.listener.wait("both verdicts") {
                scene.listener.others.filter { $0.topic.hasSuffix("/verdict") }.count == 2
            }
            // It stands in the journal, too, and is known from there.
            try scene.listener.wait("a mark") { scene.listener.last(scene.topics.position) != nil }
            #expect(scene.listener.copies == 0)
            #expect(scene.listener.past == 0)
            scene.check(try scene.journal())
        }

        /// The bridge comes while the broker hangs, for longer than an answer is waited for.
        @Test func aBrokerThatDidNotAnswerIsAskedAgain() throws {
            let scene = try FleetScene("[Detector knock]\npreset=shake\n")
            let broker = try #require(scene.stage.broker)
            try broker.stop()
            try scene.startBridge()
            let bridge = try #require(scene.bridge)
            _ = try bridge.waitForLine(on: .errors, timeout: .seconds(60)) { $0.contains("it is asked again") }
            try broker.signal(SIGCONT)
            try scene.waitUntilHearing()
            // It may have hung before the reader's answer, too, and asks it again.
            try scene.stage.until("the sensor runs") {
                try scene.stage.property("Running", at: Stage.Object.accelerometer) == "b true"
            }
            #expect(try scene.stage.jostle("shake", "--for", "500ms").status == 0)
            try scene.listener.wait("an event") { !scene.listener.names.isEmpty }
        }

        @Test func statesAreToldToWhoAsks() throws {
            let scene = try FleetScene("[Publish]\nApps=org.example.*\nSensors=yes\n")
            try scene.startBridge()
            let topic = scene.topics.state(of: "org.example.App")
            try scene.listener.wait("a sensor") {
                scene.listener.last(scene.topics.sensor("accelerometer"))?["available"]?.bool == true
            }
            let app = try scene.stage.watch(Stage.always, "--app", "org.example.App")
            try scene.listener.wait("a state") {
                let state = scene.listener.last(topic)
                return state?["state"]?.text == "foreground" && state?["detectors"]?.integer == 1
            }
            _ = try app.terminate()
            try scene.listener.wait("an empty message") {
                scene.listener.others.last { $0.topic == topic }?.payload.isEmpty == true
            }
        }

        /// The broker says no more than that something was missed.
        @Test func anAppWhoseEndWasMissedLeavesNoState() throws {
            let scene = try FleetScene("[Publish]\nApps=org.example.*\n")
            try scene.stage.kill(scene.stage.broker)
            let broker = try BackgroundProgram(
                tool: [
                    "python3", Programs.source("Tests/Scripts/window-broker.py"), scene.stage.address,
                    "org.example.App=1",
                ])
            try broker.waitUntilSaid("ready")
            try scene.startBridge()
            let topic = scene.topics.state(of: "org.example.App")
            try scene.listener.wait("a state") { scene.listener.last(topic)?["state"]?.text == "foreground" }
            try broker.signal(SIGUSR1)
            try scene.listener.wait("an empty message") {
                scene.listener.others.last { $0.topic == topic }?.payload.isEmpty == true
            }
            _ = try broker.terminate()
        }

        /// It leaves while there is no server that could be told.
        @Test func whatLeftInAnOutageStaysOnNoServer() throws {
            let scene = try FleetScene("[Publish]\nApps=org.example.*\n", server: Self.lasting(FleetBars()))
            try scene.startBridge()
            let topic = scene.topics.state(of: "org.example.App")
            let app = try scene.stage.watch(Stage.always, "--app", "org.example.App")
            try scene.listener.wait("a state") { scene.listener.last(topic)?["state"] != nil }
            let bridge = try #require(scene.bridge)
            try scene.server.end()
            _ = try bridge.waitForLine(on: .errors, timeout: .seconds(60)) { $0.contains("no server: ") }
            _ = try app.terminate()
            try scene.stage.until("it is gone") {
                try !scene.stage.jostle("apps", "--json").stdout.contains("org.example.App")
            }
            try scene.server.restart()
            try scene.listener.connect()
            try scene.listener.wait("an empty message", timeout: 60_000_000) {
                scene.listener.others.last { $0.topic == topic }?.payload.isEmpty == true
            }
        }

        /// It leaves while no bridge runs that could tell.
        @Test func whatLeftWhileNoBridgeRanStaysOnNoServer() throws {
            let scene = try FleetScene("[Publish]\nApps=org.example.*\n")
            try scene.startBridge()
            let topic = scene.topics.state(of: "org.example.App")
            let app = try scene.stage.watch(Stage.always, "--app", "org.example.App")
            try scene.listener.wait("a state") { scene.listener.last(topic)?["state"] != nil }
            try scene.stage.until("it is written down") {
                let told = try? InputFile.contents(of: "\(scene.bridgeState)/bridge.told", atMost: 65_536)
                return String(decoding: told ?? [], as: UTF8.self).contains(topic)
            }
            try scene.killBridge()
            _ = try app.terminate()
            try scene.stage.until("it is gone") {
                try !scene.stage.jostle("apps", "--json").stdout.contains("org.example.App")
            }
            try scene.startBridge()
            try scene.listener.wait("an empty message") {
                scene.listener.others.last { $0.topic == topic }?.payload.isEmpty == true
            }
        }

        /// A broker that says nothing yet when a bridge begins has not said that nothing is there.
        @Test func whatABrokerThatHangsHasIsNotGone() throws {
            let scene = try FleetScene("[Publish]\nApps=org.example.*\n")
            try scene.startBridge()
            let topic = scene.topics.state(of: "org.example.App")
            let app = try scene.stage.watch(Stage.always, "--app", "org.example.App")
            try scene.listener.wait("a state") { scene.listener.last(topic)?["state"] != nil }
            try scene.stage.until("it is written down") {
                let told = try? InputFile.contents(of: "\(scene.bridgeState)/bridge.told", atMost: 65_536)
                return String(decoding: told ?? [], as: UTF8.self).contains(topic)
            }
            try scene.killBridge()
            let broker = try #require(scene.stage.broker)
            try broker.stop()
            defer { try? broker.signal(SIGCONT) }
            try scene.startBridge()
            // Longer than a bridge waits for what is there.
            try scene.listener.run(for: 8_000_000)
            #expect(scene.listener.others.last { $0.topic == topic }?.payload.isEmpty == false)
            try broker.signal(SIGCONT)
            _ = try app.terminate()
            try scene.listener.wait("an empty message") {
                scene.listener.others.last { $0.topic == topic }?.payload.isEmpty == true
            }
        }

        /// The server goes and comes back, and so does the bridge: what happened meanwhile follows.
        @Test func nothingIsLostAcrossAnOutageAndKills() throws {
            let bars = FleetBars()
            let scene = try FleetScene(
                Self.busy(bars.isAsked ? 4 : 2, every: bars.isAsked ? "10ms" : "100ms"),
                server: Self.lasting(bars), broker: ["--journal-size", "1024"])
            scene.listener.allow(forgotten: bars.changes + bars.window)
            try scene.startBridge()
            try scene.listener.wait("events") { scene.listener.live > 5 }
            // Under load the server dies, and stays away; and in the midst of it the bridge dies.
            try scene.server.kill()
            let start = Clock.monotonic.now()
            try scene.listener.run(for: bars.outage / 2)
            try scene.killBridge()
            try scene.startBridge(waits: false)
            try scene.listener.run(for: bars.outage / 2)
            let outage = Clock.monotonic.now() - start
            let owed = try scene.journal().count
            try scene.server.restart()
            try scene.listener.connect()
            // While it catches up both die once more.
            try scene.listener.wait("something of before", timeout: 180_000_000) {
                scene.listener.past > (bars.isAsked ? 2_000 : 5)
            }
            try scene.killBridge()
            try scene.startBridge()
            try scene.listener.wait("more of before", timeout: 180_000_000) {
                scene.listener.past > (bars.isAsked ? 10_000 : 10)
            }
            try scene.server.kill()
            try scene.server.restart()
            try scene.listener.connect()
            let names = try scene.waitForAll(timeout: bars.patience)
            scene.check(names)
            #expect(scene.listener.past > 0 && scene.listener.live > 0)
            #expect(names.count >= bars.events)
            print(
                "fleet: \(names.count) events, outage \(outage / 1_000) ms with \(owed) in the journal, "
                    + "\(scene.listener.live) live, \(scene.listener.past) past, \(scene.listener.copies) copies")
        }

        /// Killed again and again while events flow, each time after another number of them: the next one tells of what happens
        /// within a second, and of all that happened meanwhile.
        @Test func aBridgeKilledAtAnyMomentLosesNothing() throws {
            let seed = UInt64.random(in: .min ... .max)
            let kills = EndToEnd.Disks.areAsked ? EndToEnd.Disks.kills : max(6, EndToEnd.Disks.kills / 4)
            print("bridge: seed \(seed), \(kills) kills")
            var random = SeededRandom(seed: seed)
            let scene = try FleetScene(
                Self.busy(2, every: "20ms"), server: ["max_queued_messages 0"], broker: ["--journal-size", "1024"])
            let listener = scene.listener
            try scene.startBridge()
            try listener.wait("events") { listener.live > 5 }
            var waits: [Duration] = []
            for _ in 0..<kills {
                try listener.run(for: .random(in: 0...50_000, using: &random))
                try scene.killBridge()
                // What the dead one said comes first. It was born before it told of anything.
                let heard = listener.others.count
                let began = ContinuousClock.now
                try scene.startBridge(waits: false)
                try listener.wait("a birth") { listener.others[heard...].contains { $0.topic == scene.topics.birth } }
                let live = listener.live
                try listener.wait("an event") { listener.live > live }
                waits.append(ContinuousClock.now - began)
            }
            let names = try scene.waitForAll()
            scene.check(names)
            // Each life had one at least.
            #expect(names.count > kills)
            #expect(listener.past > 0)
            let sorted = waits.sorted()
            print(
                "\(names.count) events, \(listener.past) past, \(listener.copies) copies; first event after a kill: median "
                    + "\(sorted[sorted.count / 2]), longest \(sorted[sorted.count - 1])")
            guard EndToEnd.Disks.areAsked else { return }
            #expect(sorted.allSatisfy { $0 < .seconds(1) }, "\(sorted.suffix(3))")
        }

        /// How fast it catches up, and how late what is live comes meanwhile.
        @Test func whatIsLiveIsNotHeldUp() throws {
            let bars = FleetBars()
            let scene = try FleetScene(
                Self.busy(bars.isAsked ? 5 : 2, every: bars.isAsked ? "10ms" : "100ms"),
                server: ["persistence true", "max_queued_messages 0", "max_inflight_messages \(bars.window)"],
                broker: ["--journal-size", "1024"])
            try scene.startBridge()
            try scene.listener.wait("events") { scene.listener.live > 5 }
            // It ends in order, so that it remembers the listener: what is measured is no disk.
            try scene.server.end()
            try scene.listener.run(for: bars.backlog)
            let owed = try scene.journal().count - scene.listener.names.count
            try scene.server.restart()
            // Two that only note it; the listener hears of everything afterwards.
            let past = try PlainSubscriber(scene.server, to: scene.topics.pastEvents, in: scene.stage.home)
            let live = try PlainSubscriber(
                scene.server, to: "jostle/1/\(FleetScene.device)/event/+", in: scene.stage.home)
            try scene.stage.until("most of before", timeout: bars.patience) {
                try scene.listener.run(for: 200_000)
                return try past.count() >= owed * 9 / 10
            }
            let times = try past.arrivals().map(\.came)
            let first = try #require(times.first)
            let last = try #require(times.last)
            let delays = try live.arrivals().filter { (first...last).contains($0.happened) }
                .map { $0.came - $0.happened }.sorted()
            try scene.listener.connect()
            scene.check(try scene.waitForAll(timeout: bars.patience))
            try past.end()
            try live.end()
            let p99 = delays.isEmpty ? 0 : delays[delays.count * 99 / 100]
            let rate = Int64(times.count) * 1_000_000 / max(1, last - first)
            print(
                "fleet: \(times.count) of \(owed) of before in \((last - first) / 1_000) ms, \(rate) a second; "
                    + "\(delays.count) live meanwhile, p99 \(p99) us, most \(delays.last ?? 0) us")
            guard bars.isAsked else { return }
            #expect(rate >= 5_000)
            #expect(delays.count > 100 && p99 <= 100_000)
        }

        /// A server that forgets all it acknowledged loses nothing that a consumer has not acknowledged.
        @Test func aConsumersWordMovesTheCursor() throws {
            let scene = try FleetScene(
                "Acknowledge=archive\nResend=0s\n" + Self.busy(1, every: "100ms"), server: ["max_queued_messages 0"])
            scene.listener.acknowledges = scene.topics.acknowledgement(of: "archive")
            try scene.startBridge()
            try scene.listener.wait("events") { scene.listener.live > 5 }
            for _ in 0..<2 {
                try scene.server.kill()
                try scene.server.restart()
                // The bridge is there before the listener, whose session is lost: what it is told meanwhile is gone.
                _ = try scene.bridge?.waitForLine(on: .errors, timeout: .seconds(60)) {
                    $0.hasSuffix("connected to localhost")
                }
                try scene.listener.run(for: 1_000_000)
                try scene.listener.connect()
                // What was not acknowledged comes again with the next connection.
                try scene.killBridge()
                try scene.startBridge()
                let before = scene.listener.live
                try scene.listener.wait("live ones") { scene.listener.live > before + 5 }
            }
            scene.check(try scene.waitForAll())
        }

        /// All events are removed from a journal, so that its rows count anew: those that come then are told.
        @Test func rowsThatCountAnewAreTold() throws {
            let name = "org.example.App"
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            try scene.startBridge()
            let app = try scene.stage.watch(Stage.always, "--app", name)
            try scene.listener.wait("events") { scene.listener.names.count > 30 }
            let emptied = try Tool.run([
                "python3", "-c",
                "import sqlite3,sys;c=sqlite3.connect(sys.argv[1],timeout=20);c.execute('DELETE FROM event');c.commit()",
                "\(scene.stage.state)/journal.db",
            ])
            try #require(emptied.status == 0, "\(emptied.stderr)")
            try scene.stage.until("events of afterwards") { try scene.journal(of: name).count > 10 }
            _ = try app.terminate()
            scene.check(try scene.waitForAll(of: name))
        }

        /// The broker's directory is moved away while both run: whatever is there in its place is followed as well.
        @Test func aDirectoryThatIsMovedIsFollowed() throws {
            let name = "org.example.App"
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            try scene.startBridge()
            let app = try scene.stage.watch(Stage.always, "--app", name)
            try scene.listener.wait("events") { scene.listener.names.count > 5 }
            for round in 1...2 {
                try #require(rename(scene.stage.state, "\(scene.stage.home)/moved-\(round)") == 0)
                try scene.stage.until("events of afterwards") { (try? scene.journal(of: name).count) ?? 0 > 5 }
                let before = scene.listener.names.count
                try scene.listener.wait("events of another journal") { scene.listener.names.count > before + 5 }
            }
            _ = try app.terminate()
            scene.check(try scene.waitForAll(of: name))
        }

        /// What all share who have the journal open is removed: the broker goes on with another, and so does the bridge.
        @Test func whatIsSharedIsTakenAway() throws {
            let name = "org.example.App"
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            try scene.startBridge()
            let app = try scene.stage.watch(Stage.always, "--app", name)
            try scene.listener.wait("events") { scene.listener.names.count > 5 }
            try scene.listener.wait("a mark") { scene.listener.last(scene.topics.position) != nil }
            let stream = try #require(scene.listener.last(scene.topics.position)?["stream"]?.text)
            for _ in 1...2 {
                try #require(unlink("\(scene.stage.state)/journal.db-shm") == 0)
                let before = scene.listener.names.count
                try scene.listener.wait("events of afterwards") { scene.listener.names.count > before + 10 }
            }
            _ = try app.terminate()
            scene.check(try scene.waitForAll(of: name))
            // The journal is the same one.
            #expect(scene.listener.last(scene.topics.position)?["stream"]?.text == stream)
        }

        /// What is written counts when it is committed, which is later where the disk takes its time, and which nobody tells.
        @Test func whatIsCommittedLateIsTold() throws {
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            let fault = "\(scene.stage.home)/fault"
            try FleetScene.write("9", to: fault)
            try FleetScene.write(
                "[Rule kept]\nPriority=300\nWhenApp=org.example.*\nThen=allow\nDurability=persistent\n",
                to: "\(scene.policyDirectory)/30-kept.conf")
            try scene.stage.kill(scene.stage.broker)
            try scene.stage.startBroker(
                options: ["--policy", scene.policyDirectory],
                environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": fault])
            try scene.startBridge()
            let app = try scene.stage.watch("shake,name=shake", "--app", "org.example.App")
            #expect(try scene.stage.jostle("shake", "--for", "500ms").status == 0)
            _ = try app.nextEvent()
            // Nothing else happens that would have the bridge look.
            try scene.listener.wait("the event", timeout: 20_000_000) { !scene.listener.names.isEmpty }
            #expect(scene.listener.past == 0)
        }

        /// The server has lost all while the journal was away: what it acknowledged comes again when that is back, once.
        @Test func whatAServerForgotComesAgainWhenItCanBeRead() throws {
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            try scene.startBridge()
            let app = try scene.stage.watch(Stage.always, "--app", "org.example.App")
            try scene.listener.wait("events") { scene.listener.names.count > 5 }
            _ = try app.terminate()
            let names = try scene.waitForAll(of: "org.example.App")
            try scene.listener.wait("a mark") { scene.listener.last(scene.topics.position) != nil }
            try scene.stage.kill(scene.stage.broker)
            let away = "\(scene.stage.home)/away"
            try #require(rename(scene.stage.state, away) == 0)
            func births() -> Int { scene.listener.others.count { $0.topic == scene.topics.birth } }
            let before = births()
            try scene.server.kill()
            try scene.server.restart()
            try scene.listener.connect()
            try scene.listener.wait("another birth") { births() > before }
            // Longer than a server may take to say what it remembers.
            try scene.listener.run(for: 5_000_000)
            #expect(scene.listener.copies == 0)
            try #require(rename(away, scene.stage.state) == 0)
            try scene.listener.wait("all again") { scene.listener.copies >= names.count }
            try scene.listener.run(for: 5_000_000)
            #expect(scene.listener.copies == names.count)
            scene.check(names)
        }

        /// The bridge comes while the reader hangs, for longer than an answer is waited for.
        @Test func aReaderThatDidNotAnswerIsAskedAgain() throws {
            let scene = try FleetScene("[Publish]\nSensors=yes\n")
            let reader = try #require(scene.stage.reader)
            try reader.stop()
            try scene.startBridge()
            try scene.listener.run(for: 28_000_000)
            try reader.signal(SIGCONT)
            try scene.listener.wait("a sensor") {
                scene.listener.last(scene.topics.sensor("accelerometer"))?["available"]?.bool == true
            }
        }

        /// A user may have no more watches than the kernel gives: then nobody tells that there is more, and it is looked for.
        @Test func whatNobodyTellsOfIsLookedFor() throws {
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            let fault = "\(scene.stage.home)/fault"
            // No directory is watched.
            try FleetScene.write("6", to: fault)
            try scene.startBridge(
                environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": fault])
            let app = try scene.stage.watch(Stage.always, "--app", "org.example.App")
            for _ in 1...2 {
                let before = scene.listener.names.count
                try scene.listener.wait("events") { scene.listener.names.count > before }
            }
            _ = try app.terminate()
            #expect(scene.listener.problems.isEmpty, "\(scene.listener.problems.prefix(5))")
        }

        /// A journal that cannot be used is opened once a second at most: to close it, too, is something that happens there.
        @Test func aJournalOfLaterIsLeftAlone() throws {
            let server = try MQTTServer()
            let stage = try Stage()
            let listener = try FleetListener(server)
            let (directory, file) = ("\(stage.home)/later", "\(stage.home)/bridge.conf")
            try #require(mkdir(directory, 0o700) == 0)
            let made = try Tool.run([
                "python3", "-c",
                """
                import sqlite3, sys
                c = sqlite3.connect(sys.argv[1])
                for name, value in (('journal_mode', 'wal'), ('application_id', 0x4A737402), ('user_version', 99)):
                    c.execute('PRAGMA %s = %s' % (name, value))
                c.execute('CREATE TABLE t (x)'); c.commit(); c.close()
                """, "\(directory)/journal.db",
            ])
            try #require(made.status == 0, "\(made.stderr)")
            try FleetScene.write("[Server]\nHost=localhost\nPort=\(server.port)\nTLS=no\n", to: file)
            let events = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
            try #require(events >= 0)
            defer { close(events) }
            // One after the other, so that the kernel takes no two for the same.
            let mask = UInt32(IN_OPEN | IN_CLOSE_NOWRITE)
            try #require(unsafe inotify_add_watch(events, "\(directory)/journal.db", mask) >= 0)
            let begin = Clock.monotonic.now()
            let program = try BackgroundProgram(
                "jostle-bridge",
                [
                    "--bus", stage.address, "--config", file, "--journal", directory, "--state-dir",
                    "\(stage.home)/b",
                ])
            _ = try program.waitForLine(on: .errors) { $0.hasSuffix("was made by another version; waiting for it") }
            try listener.run(for: 5_000_000)
            var bytes = [UInt8](repeating: 0, count: 16 << 10)
            var count = 0
            // Each says nothing but what it is, in as many bytes.
            func tries() -> Int { count / 16 / 2 }
            try stage.until("it is tried again") {
                // Nothing is there to be read where nothing has happened.
                count += max(0, unsafe read(events, &bytes, bytes.count))
                return tries() >= 2
            }
            // One at first, and one for each second: those that have passed, however many they were to be.
            let most = 1 + Int((Clock.monotonic.now() - begin) / 1_000_000)
            _ = try program.terminate()
            #expect(tries() <= most, "\(tries())")
        }

        /// What cannot be forced onto the disk takes no older one's place. Where it cannot be used, nothing of the last minutes is left out.
        @Test func aLostCursorLeavesNothingOut() throws {
            let name = "org.example.App"
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            let (cursor, fault) = ("\(scene.bridgeState)/bridge.cursor", "\(scene.stage.home)/fault")
            // What was written does not stay.
            try FleetScene.write("3", to: fault)
            try scene.startBridge(
                environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": fault])
            let bridge = try #require(scene.bridge)
            let app = try scene.stage.watch(Stage.always, "--app", name)
            try scene.listener.wait("events") { scene.listener.names.count > 5 }
            try scene.killBridge()
            #expect(bridge.errors.contains("bridge.cursor: fsync: "), "\(bridge.errors)")
            #expect(access(cursor, F_OK) != 0)
            let before = try scene.journal(of: name).count
            try scene.stage.until("events that are not told") { try scene.journal(of: name).count > before + 10 }
            try FleetScene.write("", to: cursor)
            try scene.startBridge()
            _ = try app.terminate()
            scene.check(try scene.waitForAll(of: name))
            #expect(scene.listener.copies > 0)
        }

        /// More is sent while the disk takes nothing than was written down ahead, and then the bridge is killed.
        @Test func whatCouldNotBeWrittenDownComesAgainAsCopies() throws {
            let name = "org.example.App"
            let scene = try FleetScene("[Publish]\nEvents=org.example.*\n")
            let (cursor, fault) = ("\(scene.bridgeState)/bridge.cursor", "\(scene.stage.home)/fault")
            try FleetScene.write("0", to: fault)
            try scene.startBridge(
                environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": fault])
            let app = try scene.stage.watch(Stage.always, "--app", name)
            try scene.listener.wait("events") { scene.listener.names.count > 5 }
            // The program has it mapped: it is not to become shorter.
            let control = try #require(fopen(fault, "r+"))
            fputs("3", control)
            try #require(fclose(control) == 0)
            try scene.listener.wait("a disk that fails") {
                access(cursor, F_OK) != 0 && access("\(cursor).old", F_OK) == 0
            }
            let before = scene.listener.names.count
            try scene.listener.wait("more events") { scene.listener.names.count > before + 10 }
            try scene.killBridge()
            // As if that were more than was written down ahead, which would take minutes.
            var state = try #require(
                BridgeState(bytes: try InputFile.contents(of: "\(cursor).old", atMost: 65_536)))
            state.events.sentThrough = state.events.ledger.cursor
            try FleetScene.write(String(decoding: state.bytes, as: UTF8.self), to: "\(cursor).old")
            try scene.startBridge()
            _ = try app.terminate()
            let names = try scene.waitForAll(of: name)
            // Each may have come before already, and what is new ahead of what comes again.
            try scene.listener.wait("copies") { scene.listener.copies > 0 }
            scene.check(names)
            #expect(access(cursor, F_OK) == 0 && access("\(cursor).old", F_OK) != 0)
        }

        @Test func itSaysWhatIsWrongWithItsConfiguration() throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            let file = "\(bus.directory)/bridge.conf"
            try FleetScene.write("[Server]\nHost=localhost\nPasswort=x\n[Publish]\nEvents=*\n", to: file)
            let program = try BackgroundProgram("jostle-bridge", ["--bus", bus.address, "--config", file])
            #expect(try program.waitForEnd() == .exited(2))
            #expect(
                program.errors.contains("\(file):3:1: error E001: unknown key of [Server] 'Passwort'"),
                "\(program.errors)")
        }

        /// Which file it is, and why.
        @Test(arguments: [
            ("true", ": open: No such file or directory"), ("printf 'a\\0b' > \"$0\"", " holds no text"),
        ])
        func aPasswordThatCannotBeReadIsTold(_ making: String, _ why: String) throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            let (file, password) = ("\(bus.directory)/bridge.conf", "\(bus.directory)/password")
            try FleetScene.write("[Server]\nHost=localhost\nTLS=no\nUser=kiosk\nPassword=\(password)\n", to: file)
            let made = try Tool.run(["sh", "-c", making, password])
            try #require(made.status == 0, "\(made)")
            let program = try BackgroundProgram(
                "jostle-bridge",
                [
                    "--bus", bus.address, "--config", file, "--journal", bus.directory, "--state-dir",
                    "\(bus.directory)/bridge",
                ])
            _ = try program.waitForLine(on: .errors) { $0.contains("the password cannot be read: \(password)\(why)") }
            #expect(try program.terminate() == .exited(0))
        }

        /// A secret stands in no log, no list of processes and no topic.
        @Test func secretsStaySecret() throws {
            let secret = "quite-secret-4711"
            let server = try MQTTServer(lines: ["max_queued_messages 0"])
            let stage = try Stage()
            let listener = try FleetListener(server)
            try listener.connect()
            let credentials = "\(stage.home)/credentials"
            try #require(mkdir(credentials, 0o700) == 0)
            try FleetScene.write("\(secret)\n", to: "\(credentials)/password")
            let file = "\(stage.home)/bridge.conf"
            try FleetScene.write(
                """
                [Server]
                Host=localhost
                Port=\(server.port)
                TLS=no
                User=kiosk
                Password=credential:password
                [Publish]
                Events=*
                """, to: file)
            let program = try BackgroundProgram(
                "jostle-bridge",
                [
                    "--bus", stage.address, "--config", file, "--journal", stage.state, "--state-dir",
                    "\(stage.home)/state/b", "--log-level", "debug",
                ],
                environment: ["CREDENTIALS_DIRECTORY": credentials])
            _ = try program.waitForLine(on: .errors) { $0.hasSuffix("connected to localhost") }
            try listener.wait("a birth") { listener.others.contains { $0.topic.hasSuffix("/birth") } }
            let line = try Tool.run(["cat", "/proc/\(program.pid)/cmdline"]).stdout
            _ = try program.terminate()
            #expect(!line.contains(secret) && !program.errors.contains(secret))
            #expect(!listener.others.contains { String(decoding: $0.payload, as: UTF8.self).contains(secret) })
            let kept = try Tool.run(["grep", "-r", secret, "\(stage.home)/state/b"])
            // The directory is there, and so is what is above it: it was made.
            #expect(kept.status == 1, "\(kept.stdout)")
        }

        /// While nothing happens nothing wakes it: not even within the keep-alive of this test.
        @Test func itRests() throws {
            let scene = try FleetScene("[Detector knock]\npreset=shake\n[Publish]\nEvents=*\n")
            try scene.startBridge()
            try scene.listener.wait("a birth") { scene.listener.last(scene.topics.birth) != nil }
            let bridge = try #require(scene.bridge)
            func switches() throws -> Int {
                let text = try Tool.run(["cat", "/proc/\(bridge.pid)/status"]).stdout
                let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") })
                return try #require(line.split(whereSeparator: { " \t".contains($0) }).last.flatMap { Int($0) })
            }
            // What its beginning left to do is done when two looks find the same.
            var before = try switches()
            try scene.stage.until("it is quiet", timeout: .seconds(30)) {
                try scene.listener.run(for: 1_000_000)
                let now = try switches()
                defer { before = now }
                return now == before
            }
            let rest = FleetBars().rest
            // A connection that says nothing for 60 s is asked for a word, which comes and is read. The first may be due at once.
            let most = rest < 60_000_000 ? 0 : 2 * Int(rest / 60_000_000 + 1)
            // Who is not let run looks quiet, and does later what was left to do; or that word is due just then.
            try scene.stage.until("it rests") {
                before = try switches()
                try scene.listener.run(for: rest)
                let woken = try switches() - before
                print("fleet: woken \(woken) times in \(rest / 1_000_000) s")
                return woken <= most
            }
        }

        /// What it holds while nothing happens, beside the plainest client of the same server by the same certificates.
        @Test func itIsSmall() throws {
            let server = try MQTTServer(isSecure: true)
            let stage = try Stage()
            let file = "\(stage.home)/bridge.conf"
            try FleetScene.write(
                """
                \(FleetScene.section(of: server, as: "device"))
                [Detector knock]
                preset=shake
                [Publish]
                Events=*
                """, to: file)
            let plain = try BackgroundProgram(
                tool: [
                    "mosquitto_sub", "-V", "5", "-h", "localhost", "-p", "\(server.port)", "-i", "plain", "--cafile",
                    server.authority, "--cert", server.certificate(of: "device"), "--key", server.key(of: "device"),
                    "-q", "1", "-t", "jostle/#",
                ])
            let program = try BackgroundProgram(
                "jostle-bridge",
                ["--bus", stage.address, "--config", file, "--journal", stage.state, "--state-dir", "\(stage.home)/b"])
            _ = try program.waitForLine(on: .errors) { $0.hasSuffix("connected to localhost") }
            _ = try plain.waitForLine { $0.contains("\"online\":true") }
            _ = try plain.waitForLine { $0.contains("\"events\":") }
            // With that it comes to rest, and gives back what the handshake needed.
            var (ours, theirs) = (try Resident(of: program.pid), try Resident(of: plain.pid))
            let peak = try ProcessValue.size("VmHWM", of: program.pid)
            try stage.until("it is small") {
                (ours, theirs) = (try Resident(of: program.pid), try Resident(of: plain.pid))
                // A debug program is large, but gives back, too.
                return FleetBars().isAsked ? ours.all * 2 <= theirs.all * 3 : ours.all + (1 << 20) < peak
            }
            if FleetBars().isAsked {
                // What comes back by and by is more than that.
                sleep(15)
                (ours, theirs) = (try Resident(of: program.pid), try Resident(of: plain.pid))
                #expect(ours.all * 2 <= theirs.all * 3)
            }
            print(
                "fleet: resident \(ours.all >> 10) kB, of them \(ours.own >> 10) its own, at most \(peak >> 10) kB before; "
                    + "mosquitto_sub \(theirs.all >> 10) kB, of them \(theirs.own >> 10) its own")
            #expect(ours.own > 0 && theirs.own > 0)
        }
    }
}
