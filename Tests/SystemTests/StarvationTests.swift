import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Little memory, no time, and a bus that others make slow.
    @Suite(.serialized) struct Starvation {
        /// What one app may have is at an end before the broker's memory is: nobody else notices. With the floods that
        /// `make test-attacks` makes, because it takes programs that ship.
        @Test(
            .enabled(if: FloodBars.asked != nil),
            arguments: Flood.played([
                Flood(.broker, "get-detectors", "--connections", "4"),
                Flood(.broker, "add-detectors", "--connections", "4"),
                Flood(.broker, "get-all", "--unread", "--connections", "4"),
            ]))
        func limitsHoldBeforeMemoryEnds(_ flood: Flood) throws {
            try FloodScene(flood, otherUser: false, limit: 128 << 20).run()
        }

        /// Eight programs want all of the processors, and the broker is the one that gives way: events are late, and all come.
        /// How late they may be before they are given up is policy. How late the scheduler lets somebody be who gives way, a
        /// plain relay in C says that does, too, as often and at the same time. On which processor either of them waits behind how
        /// many is chance, and stays so for seconds: that is why there are rounds, and their sum counts.
        @Test func aBrokerWithoutTimeLosesNothing() throws {
            let stage = try Stage(broker: false)
            let manager = try ServiceManager(in: stage.bus.directory, watchdog: 4_000_000)
            let patient = try stage.directory("policy", ["10-test": "[Rule all]\nThen=allow\nLifespan=10min\n"])
            try stage.startBroker(
                "--policy", patient, environment: manager.environment, under: ["nice", "-n", "19"])
            var late: (good: Int, relayed: Int, longest: Int) = (0, 0, 0)
            let rounds = FloodBars.asked == nil ? 1 : 7
            for number in 0..<rounds {
                let (good, relayed) = try self.starve(stage, "org.example.Good\(number)")
                late.good += try #require(good["p90_us"])
                late.relayed += try #require(relayed["p90_us"])
                late.longest = max(late.longest, try #require(relayed["p99_us"]))
            }
            if FloodBars.asked != nil { #expect(late.good <= max(rounds * 100_000, 2 * late.relayed), "\(late)") }
            #expect(try stage.count("Dropped", at: Stage.Object.accelerometer) == 0)
            try manager.check(beside: late.longest)
        }

        /// Lets eight programs run for a while, and returns how old the events were then, of an app and of a relay's. All come.
        private func starve(_ stage: Stage, _ app: String) throws -> (good: Figures, relayed: Figures) {
            let seconds = FloodBars.asked ?? 3
            let good = try stage.reader(of: "norm(x, y, z) > 0.5g", every: 100_000, app)
            let relay = try Relay(on: stage, rate: 10, under: ["nice", "-n", "19"])
            let object = Stage.Object.app(app)
            try stage.until("events come") { try stage.count("Delivered", at: object) > 0 }
            let hogs = try (0..<8).map { _ in
                try BackgroundProgram(tool: ["timeout", "\(seconds)", "sh", "-c", "while :; do :; done"])
            }
            for hog in hogs { #expect(try hog.waitForEnd(timeout: .seconds(60)) == .exited(124)) }
            #expect(try stage.count("Dropped", at: object) == 0)
            #expect(try stage.count("Expired", at: object) == 0)
            let delivered = try stage.count("Delivered", at: object)
            // Sent before the answer to that was.
            let figures = try #require(Figures(try stage.figures(of: good)))
            #expect(figures["lost"] == 0 && figures["refused"] == 0)
            let events = try #require(figures["events"])
            #expect(delivered > 0 && UInt64(events) >= delivered)
            let relayed = try relay.figures()
            // What is not asked for as often says nothing of the other.
            let usual = try #require(relayed["events"])
            #expect(min(usual, events) >= 5 * seconds && events <= 2 * usual + 20, "\(figures), \(relayed)")
            return (figures, relayed)
        }

        /// A broker that does not run does not say that it lives; when it runs again, it does.
        @Test func aStoppedBrokerIsSilent() throws {
            let stage = try Stage(broker: false)
            let manager = try ServiceManager(in: stage.bus.directory, watchdog: 400_000)
            try stage.startBroker(environment: manager.environment)
            let app = try stage.watch("\(Stage.always),every=20ms", "--app", "org.example.Good")
            _ = try app.nextEvent()
            let broker = try #require(stage.broker)
            _ = try manager.nextPing()
            try broker.stop()
            let silence = 1_500_000
            usleep(UInt32(silence))
            try broker.signal(SIGCONT)
            while try manager.nextPing() < silence {}
            for _ in 0..<2 { _ = try manager.nextPing() }
            let delivered = try stage.count("Delivered", at: Stage.Object.app("org.example.Good"))
            try stage.until("events go on") {
                try stage.count("Delivered", at: Stage.Object.app("org.example.Good")) > delivered
            }
            #expect(broker.end == nil && app.end == nil)
        }

        /// Without a descriptor to spare the reader opens no device and gives no stream, and all that it does goes on; with some it
        /// does, by itself.
        @Test func aReaderWithoutDescriptorsGoesOn() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer(), DeviceBed.add("ambient"))
            try stage.startReader(environment: bed.environment)
            let reader = try #require(stage.reader)
            func limit(_ count: Int) throws {
                #expect(try Tool.run(["prlimit", "--pid", "\(reader.pid)", "--nofile=\(count):"]).status == 0)
            }
            func state(of sensor: String) throws -> String {
                try stage.property("State", at: "\(Stage.Object.sensors)/\(sensor)")
            }
            let dark = try stage.watch("--when", "lux < 1000lx", "--sensor", "light", "--every", "50ms", "--rest", "0s")
            _ = try dark.nextEvent()
            let listed = try Tool.run(["ls", "/proc/\(reader.pid)/fd"]).stdout
            let used = Set(listed.split(separator: "\n").compactMap { Int($0) })
            // The kernel gives the lowest that is free, if that is below the limit.
            try limit(try #require((0...used.count).first { !used.contains($0) }))
            let app = try stage.watch("\(Stage.always),every=50ms")
            try stage.until("it is told") { try state(of: "accelerometer") != "s \"idle\"" }
            #expect(try state(of: "accelerometer") != "s \"running\"")
            let call = "p call org.jostle.Sensors1 \(Stage.Object.sensors)/light org.jostle.Sensors1.Sensor"
            let answer = try stage.script("\(call) OpenStream a{sv} [{'rate':V('d',1.0)}]").first
            #expect(answer?.hasPrefix("p error ") == true, "\(answer ?? "")")
            _ = try dark.nextEvent()
            #expect(reader.end == nil && app.end == nil)
            try limit(1_024)
            try stage.until("it is read") { try state(of: "accelerometer") == "s \"running\"" }
            _ = try app.nextEvent()
            #expect(
                try stage.script("\(call) OpenStream a{sv} [{'rate':V('d',1.0)}]").first?.hasPrefix("p ok ") == true)
            #expect(try reader.terminate() == .exited(0))
        }

        /// A sign of life for which no descriptor is left comes as soon as there is one, and not when the next is due.
        @Test func aSignOfLifeThatFindsNoDescriptorIsSentAgain() throws {
            let stage = try Stage(source: nil, broker: false)
            let manager = try ServiceManager(in: stage.bus.directory, watchdog: 4_000_000)
            try stage.startReader(Stage.rest, environment: manager.environment)
            let reader = try #require(stage.reader)
            func limit(_ count: Int) throws {
                #expect(try Tool.run(["prlimit", "--pid", "\(reader.pid)", "--nofile=\(count):"]).status == 0)
            }
            _ = try manager.nextPing()
            try limit(3)
            _ = try reader.waitForLine(on: .errors) { $0.contains("cannot tell the service manager 'WATCHDOG=1'") }
            try limit(1_024)
            #expect(try manager.nextPing() < 3_900_000)
            #expect(try reader.terminate() == .exited(0))
        }

        /// What a client asks the bus to listen for costs others nothing: events are addressed.
        @Test func matchRulesOfOthersDelayNothing() throws {
            let stage = try Stage()
            func measure() throws -> Figures {
                let good = try stage.reader(of: "norm(x, y, z) > 0.5g", every: 20_000, "org.example.Good")
                _ = try Tool.run(["sleep", "\(FloodBars(otherUser: false).seconds)"])
                return try #require(Figures(try stage.figures(of: good)))
            }
            let before = try measure()
            let client = try BackgroundProgram(
                "test-attacker", ["rules", "--bus", stage.address, "--count", "15000", "--seconds", "120"])
            _ = try client.waitForLine(timeout: .seconds(60)) { $0 == "listening" }
            let after = try measure()
            for figures in [before, after] { #expect(figures["lost"] == 0 && (figures["events"] ?? 0) > 0) }
            if Programs.variable("JOSTLE_ATTACK_SECONDS") != nil {
                let (usual, found) = (try #require(before["p99_us"]), try #require(after["p99_us"]))
                #expect(found <= usual * 12 / 10, "\(before) \(after)")
            }
            #expect(try client.terminate() == .killed(signal: SIGTERM))
        }

        /// One that does not read uses up what dbus-broker keeps for us all, and the bus throws others off for it: the broker
        /// is there again at once, and what it had written is.
        @Test func aBusWithoutRoomIsJoinedAgain() throws {
            let stage = try Stage(on: PrivateBus(on: .dbusBroker, bytes: 1 << 20))
            let app = try stage.watch("\(Stage.always),every=20ms", "--app", "org.example.App")
            try stage.until("events are written") { try stage.count("JournalWritten", at: Stage.Object.broker) > 20 }
            let written = try stage.count("JournalWritten", at: Stage.Object.broker)
            // A machine may stand still for that long, though not each time.
            var isSoon = false
            for _ in 0..<3 where !isSoon {
                let attackers = try ["get-all", "introspect"].map { kind in
                    try BackgroundProgram(
                        "test-attacker",
                        ["flood", kind, "--unread", "--connections", "8", "--bus", stage.address, "--seconds", "2"])
                }
                for attacker in attackers { _ = try attacker.waitForEnd() }
                let over = ContinuousClock.now
                try stage.until("the broker is there") {
                    try stage.property("Version", at: Stage.Object.broker).hasPrefix("s ")
                }
                isSoon = ContinuousClock.now - over < .seconds(2)
            }
            #expect(isSoon, "the broker came back later than after two seconds, three times")
            #expect(stage.broker?.end == nil && stage.reader?.end == nil && app.end == nil)
            // It may have been there still, and be thrown off only now.
            var last: UInt64 = 0
            try stage.until("the app is there") {
                let hits = try stage.property("Hits", at: Stage.Object.app("org.example.App"))
                last = UInt64(hits.dropFirst(2)) ?? 0
                return hits.hasPrefix("t ")
            }
            try stage.until("events come again") {
                try stage.count("Delivered", at: Stage.Object.app("org.example.App")) > last
            }
            #expect(try stage.broker?.terminate() == .exited(0))
            let query = """
                import sqlite3, sys
                c = sqlite3.connect(sys.argv[1])
                print(sum(c.execute("SELECT count(*) FROM " + table).fetchone()[0] for table in ("event", "verdict")))
                """
            let kept = try Tool.run(["python3", "-c", query, "\(stage.state)/journal.db"]).stdout.dropLast()
            #expect((UInt64(kept) ?? 0) >= written)
        }
    }
}
