import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// The wall clock is set, by a year forward and back, and the time zone: nothing but what people read goes by them.
    @Suite(.serialized) struct Clocks {
        private static let day = 86_400
        /// A year is 52 weeks and a day.
        private static let year = 365 * day

        /// A reader and a broker whose wall clock is ours to set. It says noon of the day it is, in UTC.
        private final class Setting {
            let stage: Stage
            let reader: BackgroundProgram
            private let control: String
            private let environment: [String: String]
            private let options: [String]
            private let noon: Int
            let day: String
            /// What it says at first, in seconds since 1970.
            let start: Int

            init(apps: [String: String] = [:], _ rules: (_ day: String) -> String) throws {
                self.stage = try Stage(source: nil, broker: false)
                self.control = "\(self.stage.bus.directory)/offset"
                let now = time(nil)
                self.start = now - now % Clocks.day + Clocks.day / 2
                self.noon = self.start - now
                // The first of January 1970 was a Thursday.
                self.day = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][now / Clocks.day % 7]
                self.environment = [
                    "LD_PRELOAD": "\(Programs.directory)/libclock-jump.so", "CLOCK_JUMP": self.control, "TZ": "UTC",
                ]
                self.reader = try Self.make(self.stage, self.environment, self.control, self.noon)
                let policy = try self.stage.directory("policy", ["10-test": rules(self.day)])
                self.options = ["--policy", policy, "--apps", try self.stage.directory("apps", apps)]
                try self.startBroker()
            }

            /// Starts a broker, the first or in place of one that is gone.
            func startBroker() throws {
                try self.stage.startBroker(options: self.options, environment: self.environment)
            }

            private static func make(
                _ stage: Stage, _ environment: [String: String], _ control: String, _ noon: Int
            ) throws -> BackgroundProgram {
                try self.write(noon, 0, to: control)
                let reader = try BackgroundProgram(
                    "jostle-sensord", ["--bus", stage.address, "--source", Stage.rest], environment: environment)
                try Stage.waitUntilServing(reader)
                return reader
            }

            /// In place, because it is mapped.
            private static func write(_ value: Int, _ place: Int, to control: String) throws {
                var value = Int64(value)
                let file = try #require(open(control, O_WRONLY | O_CREAT, 0o600) as Int32?)
                #expect(pwrite(file, &value, 8, 8 * place) == 8)
                close(file)
            }

            func jump(_ seconds: Int) throws { try Self.write(self.noon + seconds, 0, to: self.control) }

            /// Sets the time zone, by how far it is ahead of UTC.
            func move(hours: Int) throws { try Self.write(hours, 1, to: self.control) }

            deinit { _ = try? self.reader.terminate() }
        }

        @Test func nothingButTheTimeOfDayGoesByTheWallClock() throws {
            let setting = try Setting { day in
                """
                [Rule free]
                WhenApp=org.example.Free
                Then=allow
                Reliability=ack
                Lifespan=1min
                [Rule timed]
                WhenApp=org.example.Timed
                WhenTime=\(day)/00:00-24:00
                Then=allow
                [Rule calm]
                WhenApp=org.example.Calm
                Then=allow
                [App org.example.Calm]
                Cooldown=450ms
                """
            }
            let stage = setting.stage
            let free = try stage.watch(Stage.always, "--app", "org.example.Free")
            let timed = try stage.watch(Stage.always, "--app", "org.example.Timed")
            let calm = try stage.watch(Stage.always, "--app", "org.example.Calm")
            let object = Stage.Object.app("org.example.Free")
            func denied() throws -> UInt64 { try stage.count("Denied", at: Stage.Object.app("org.example.Timed")) }
            func delivered() throws -> UInt64 {
                try stage.count("Delivered", at: Stage.Object.app("org.example.Timed"))
            }
            _ = try timed.nextEvent()
            #expect(try denied() == 0)
            let first = try free.nextEvent()
            var last = try #require(number("t_us", of: first))
            var sequence = try #require(number("sequence", of: first))
            for (jump, isAllowed) in [(Self.year, false), (0, true), (-Self.year, false), (0, true)] {
                try setting.jump(jump)
                // The rule is asked anew with the next event, and the answer to a question is as new.
                let (before, had) = (try denied(), try delivered())
                try stage.until("the rule for \(setting.day) and \(jump) s") {
                    try isAllowed ? delivered() > had + 3 : denied() > before + 3
                }
                let answer = try stage.jostle("why-not", "org.example.Timed").stdout
                #expect(answer.contains(isAllowed ? "it would get the event" : "it would get no event"), "\(answer)")
                // The other one hears a tenth of a second after a tenth of a second, and none is missing.
                for _ in 0..<5 {
                    let event = try free.nextEvent()
                    let time = try #require(number("t_us", of: event))
                    sequence += 1
                    #expect(number("sequence", of: event) == sequence)
                    #expect((99_000...101_000).contains(time - last), "\(event)")
                    last = time
                }
            }
            // A pause that policy asks for is as long as ever: the first sample behind it.
            _ = try calm.nextEvent { (number("t_us", of: $0) ?? 0) > last - 1_000_000 }
            let spaced = calm.output.split(separator: "\n").compactMap { number("t_us", of: String($0)) }
            #expect(spaced.count > 3)
            #expect(zip(spaced, spaced.dropFirst()).allSatisfy { (499_000...501_000).contains($1 - $0) }, "\(spaced)")
            #expect(try stage.count("Expired", at: object) == 0 && stage.count("Dropped", at: object) == 0)
            let sensors = try stage.property("Sensors", at: Stage.Object.broker)
            #expect(sensors.contains("\"gaps\" t 0") && sensors.contains("\"lost\" t 0"), "\(sensors)")
        }

        /// Nothing else happens that would have the broker look at the clock.
        @Test func aClockThatIsSetForwardBeginsWhatIsDue() throws {
            let app = "org.example.Feed"
            let file = "[App]\nUsage=Has the news before you look\nModes=processing\nTasks=tidy-up\n"
            let setting = try Setting(apps: [app: file]) { _ in "[App *]\nGrants=processing\nTaskWindow=0\n" }
            let feed = try BackgroundProgram(
                tool: [
                    "python3", Programs.source("Tests/Scripts/task-app.py"), app, "--at",
                    "\((setting.start + 3_600) * 1_000_000)", "tidy-up",
                ], environment: setting.stage.environment)
            _ = try feed.waitForLine { $0 == "handed in: tidy-up" }
            #expect(!feed.output.contains("begun"))
            try setting.jump(3_600)
            _ = try feed.waitForLine { $0 == "begun: tidy-up, attempt 1" }
        }

        /// The disk knows by the wall clock when an event is too old, and the clock is put right while it waits, as where no battery keeps it.
        @Test func whatIsDueOutlivesAClockThatIsSet() throws {
            let setting = try Setting { _ in
                "[Rule kept]\nThen=allow\nReliability=ack\nDurability=persistent\nLifespan=1h\n"
            }
            let (stage, app) = (setting.stage, "org.example.Kept")
            // It answers nothing.
            let silent = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/bus-script.py"), stage.address, "a own \(app)", "a hear",
                "a call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv} ['\(app)',{}]",
                "a call org.jostle.Broker1 \(Stage.Object.app(app)) org.jostle.Broker1.App AddDetectors a(sa{sv}) "
                    + "[[['d',{'when':V('s','norm(x, y, z) > 0.5g'),'rest':V('s','1min')}]]]", "a await 1", "stay",
            ])
            _ = try silent.waitForLine { $0.contains(" Event ") }
            func isDue(after seconds: Int) throws -> Bool {
                let query = "SELECT count(*) FROM due WHERE ends > \(seconds * 1_000_000)"
                return try stage.sql("state.db", query).split(separator: "\n") == ["1"]
            }
            try stage.until("it is on the disk") { try isDue(after: setting.start) }
            #expect(try !isDue(after: setting.start + Self.year))
            try setting.jump(Self.year)
            try stage.until("it is there for as long as before") { try isDue(after: setting.start + Self.year) }
            try stage.kill(stage.broker)
            try stage.kill(silent)
            try setting.startBroker()
            let again = try stage.start("watch", "--json", "--kept", "--app", app, "shake.planar,threshold=9g")
            let event = try again.nextEvent()
            #expect(field("redelivered", of: event) == "true" && field("persistent", of: event) != "false")
            #expect(try again.terminate() == .exited(0))
        }

        /// As a traveller's device does it; the broker runs on.
        @Test func aTimeZoneThatIsSetCountsFromTheNextMinute() throws {
            let setting = try Setting { day in "[Rule timed]\nWhenTime=\(day)/00:00-24:00\nThen=allow\n" }
            let stage = setting.stage
            let app = try stage.watch(Stage.always, "--app", "org.example.Timed")
            let object = Stage.Object.app("org.example.Timed")
            _ = try app.nextEvent()
            #expect(try stage.count("Denied", at: object) == 0)
            // Fourteen hours behind noon it is the next day, and before it the day before.
            for (minutes, hours, counter) in [(1, 14, "Denied"), (2, 0, "Delivered"), (3, -14, "Denied")] {
                try setting.move(hours: hours)
                try setting.jump(60 * minutes)
                let before = try stage.count(counter, at: object)
                try stage.until("the rule for \(setting.day) at \(hours) h") {
                    try stage.count(counter, at: object) > before + 3
                }
            }
        }
    }

    /// What no hand does is no gesture.
    @Suite(.serialized) struct Glitches {
        /// A sample now and then is far beyond all others, as from a bad contact.
        @Test func aSpikeOfOneSampleIsNoGesture() throws {
            let spikes = (0..<3_000).map { row in
                let value = row % 50 == 25 ? (row % 100 == 25 ? 8.0 : -8.0) : 0.01
                return "\(row * 10_000),\(value),0,1"
            }
            let stage = try Stage(source: nil, broker: false, files: ["spikes.csv": Stage.trace(spikes)])
            func hits(_ detector: String...) throws -> Int {
                let result = try stage.jostle(["replay", "\(stage.bus.directory)/spikes.csv", "--json"] + detector)
                try #require(result.status == 0, "\(result.stderr)")
                let line = try #require(result.stdout.split(separator: "\n").last { $0.contains("\"hits\":") })
                return try #require(number("hits", of: String(line)).map { Int($0) })
            }
            // Each of the sixty is seen by whoever asks for no duration.
            #expect(try hits("--when", "norm(x, y, z) > 2g", "--rest", "0s") == 60)
            for condition in [
                "held(norm(x, y, z) > 2g, 30ms)", "fraction(norm(x, y, z) > 1.33g, 500ms) >= 75%",
            ] { #expect(try hits("--when", condition, "--rest", "0s") == 0, "\(condition)") }
            #expect(try hits("--detector", "shake") == 0)
            #expect(try hits("--detector", "shake,sensitivity=pocket") == 0)
        }
    }
}
