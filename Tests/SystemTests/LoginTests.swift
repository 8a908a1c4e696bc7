import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// What logind tells: the lock of the screen and the sleep of the system; and UPower: what the device runs on. Both are
    /// python-dbusmock's.
    @Suite(.serialized) struct Login {
        private static let app = "org.example.App"
        private static let manager = ["org.freedesktop.login1", "/org/freedesktop/login1"]
        private static let own = "\(getuid())"

        private func startLogin(_ stage: Stage) throws -> BackgroundProgram {
            let mock = try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", "--template", "logind"],
                environment: ["DBUS_SYSTEM_BUS_ADDRESS": stage.address])
            try stage.bus.waitForName("org.freedesktop.login1")
            return mock
        }

        private func mock(_ stage: Stage, _ arguments: String...) throws {
            let result = try stage.busctl(["call"] + Self.manager + ["org.freedesktop.DBus.Mock"] + arguments)
            #expect(result.status == 0, "\(result.stderr)")
        }

        private func lock(_ session: String, _ isLocked: Bool, _ stage: Stage) throws {
            let result = try stage.busctl(
                "call", "org.freedesktop.login1", "/org/freedesktop/login1/session/\(session)",
                "org.freedesktop.login1.Session", "SetLockedHint", "b", "\(isLocked)")
            #expect(result.status == 0, "\(result.stderr)")
        }

        private func sleep(_ begins: Bool, _ stage: Stage) throws {
            try self.mock(
                stage, "EmitSignal", "sssav", "org.freedesktop.login1.Manager", "PrepareForSleep", "b", "1", "b",
                "\(begins)")
        }

        private func locked(_ stage: Stage) throws -> Bool {
            try stage.property("Locked", at: Stage.Object.broker) == "b true"
        }

        @Test func theLockOfTheOwnSessionCounts() throws {
            let stage = try Stage(source: nil, broker: false)
            let mock = try self.startLogin(stage)
            try self.mock(stage, "AddSession", "ssusb", "c1", "seat0", Self.own, "me", "true")
            try self.mock(stage, "AddSession", "ssusb", "c9", "seat9", "4711", "other", "true")
            try stage.startBroker()
            let app = try stage.watch("shake", "--app", Self.app)
            #expect(try !self.locked(stage))
            try self.lock("c1", true, stage)
            try stage.until("the screen is locked") { try self.locked(stage) }
            #expect(try stage.property("State", at: Stage.Object.app(Self.app)) == "s \"inactive\"")
            #expect(try stage.property("StateCause", at: Stage.Object.app(Self.app)) == "s \"lock\"")
            try self.lock("c1", false, stage)
            try stage.until("the screen is unlocked") { try !self.locked(stage) }
            #expect(try stage.property("State", at: Stage.Object.app(Self.app)) == "s \"foreground\"")

            // A second session: the screen is locked when both are. Another user's is none of ours.
            try self.mock(stage, "AddSession", "ssusb", "c2", "seat0", Self.own, "me", "true")
            try self.lock("c1", true, stage)
            try stage.until("the screen is locked") { try self.locked(stage) }
            try self.mock(
                stage, "EmitSignal", "sssav", "org.freedesktop.login1.Manager", "SessionNew", "so", "2", "s", "c2", "o",
                "/org/freedesktop/login1/session/c2")
            try stage.until("the new session counts") { try !self.locked(stage) }
            try self.lock("c2", true, stage)
            try stage.until("both are locked") { try self.locked(stage) }
            #expect(try app.terminate() == .exited(0))
            _ = try mock.terminate()
            // What was said last holds.
            #expect(try self.locked(stage))
            #expect(try stage.jostle("unlock").status == 0)
            #expect(try !self.locked(stage))
        }

        /// Something of it still runs, and so logind lists it.
        @Test func whoHasLoggedOutKeepsNoScreenUnlocked() throws {
            let stage = try Stage(source: nil, broker: false)
            let mock = try self.startLogin(stage)
            for session in ["c1", "c2"] {
                try self.mock(stage, "AddSession", "ssusb", session, "seat0", Self.own, "me", "true")
            }
            try self.lock("c2", true, stage)
            try stage.startBroker()
            try self.lock("c1", true, stage)
            try stage.until("both are locked") { try self.locked(stage) }
            try self.lock("c1", false, stage)
            try stage.until("one is not") { try !self.locked(stage) }
            let end = try stage.busctl(
                "call", "org.freedesktop.login1", "/org/freedesktop/login1/session/c1", "org.freedesktop.DBus.Mock",
                "UpdateProperties", "sa{sv}", "org.freedesktop.login1.Session", "2", "State", "s", "closing", "Active",
                "b", "true")
            #expect(end.status == 0, "\(end.stderr)")
            try stage.until("the other one counts alone") { try self.locked(stage) }
            _ = try mock.terminate()
        }

        @Test func aLogindThatComesLaterIsAsked() throws {
            let stage = try Stage(source: nil)
            #expect(try stage.jostle("lock").status == 0)
            let mock = try self.startLogin(stage)
            try self.mock(stage, "AddSession", "ssusb", "c1", "seat0", Self.own, "me", "true")
            try self.lock("c1", true, stage)
            // A broker that asks only now, or asked while the session was not locked yet, hears that it is.
            try stage.until("the screen is locked") { try self.locked(stage) }
            try self.mock(
                stage, "EmitSignal", "sssav", "org.freedesktop.login1.Manager", "SessionNew", "so", "2", "s", "c1", "o",
                "/org/freedesktop/login1/session/c1")
            try self.lock("c1", false, stage)
            try stage.until("the screen is unlocked") { try !self.locked(stage) }
            _ = try mock.terminate()
        }

        /// The screen is known to be locked, and the device to run on its battery, though neither the list of sessions nor the
        /// session nor UPower answered the first time.
        @Test func whoDoesNotAnswerIsAskedAgain() throws {
            let stage = try Stage(source: nil, broker: false)
            let login = try BackgroundProgram(
                tool: ["/usr/bin/python3", Programs.source("Tests/Scripts/login.py"), stage.address, Self.own])
            _ = try login.waitForLine { $0 == "ready" }
            try stage.startBroker()
            let app = try stage.watch("shake", "--app", Self.app)
            try stage.until("the screen is locked") { try self.locked(stage) }
            let query = """
                import sqlite3,sys
                rows=sqlite3.connect(sys.argv[1]).execute("SELECT value FROM change WHERE kind='power'").fetchall()
                print([value for value, in rows])
                """
            try stage.until("the battery is noted") {
                try Tool.run(["python3", "-c", query, "\(stage.state)/journal.db"]).stdout == "['battery']\n"
            }
            _ = (try login.terminate(), try app.terminate())
        }

        /// A rule holds while UPower says of all batteries together that they are as empty as that, and nobody else's word counts.
        @Test func aLowBatteryIsWhatUPowerSays() throws {
            let stage = try Stage(broker: false)
            let mock = try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", "--template", "upower", "-p", "{\"OnBattery\": true}"],
                environment: ["DBUS_SYSTEM_BUS_ADDRESS": stage.address])
            try stage.bus.waitForName("org.freedesktop.UPower")
            let battery = "/org/freedesktop/UPower/devices/DisplayDevice"
            let device = "org.freedesktop.UPower.Device"
            func say(_ changed: String...) throws {
                let result = try stage.busctl(
                    ["call", "org.freedesktop.UPower", battery, "org.freedesktop.DBus.Mock", "UpdateProperties"]
                        + ["sa{sv}", device, "\(changed.count / 3)"] + changed)
                try #require(result.status == 0, "\(result.stderr)")
            }
            try say("IsPresent", "b", "true", "Percentage", "d", "5")
            try stage.startBroker(
                policy: "[Policy]\nDefault=allow\n[Rule low]\nWhenPower=battery<20%\nThen=deny\n")
            let app = try stage.watch(Stage.always, "--app", Self.app)
            func denied() throws -> UInt64 { try stage.count("Denied", at: Stage.Object.app(Self.app)) }
            func delivered() throws -> UInt64 { try stage.count("Delivered", at: Stage.Object.app(Self.app)) }
            func waitUntilLow() throws {
                let before = try denied()
                try stage.until("the battery is low") { try denied() > before + 3 }
            }
            func waitUntilNotLow() throws {
                let before = try delivered()
                try stage.until("the battery is not low") { try delivered() > before + 3 }
            }
            // As it was before the broker came.
            try waitUntilLow()
            let unique = try stage.uniqueName("org.jostle.Broker1")
            let had = try delivered()
            _ = try stage.script(
                "forger send \(unique) \(battery) org.freedesktop.DBus.Properties PropertiesChanged sa{sv}as "
                    + "['\(device)',{'Percentage':V('d',90.0)},[]]")
            try say("Percentage", "d", "19.9")
            try waitUntilLow()
            #expect(try delivered() == had, "a forged signal fills no battery")
            try say("Percentage", "d", "20")
            try waitUntilNotLow()
            try say("Percentage", "d", "3")
            try waitUntilLow()
            // How full it is, nobody knows.
            try say("IsPresent", "b", "false")
            try waitUntilNotLow()
            #expect(try stage.jostle("why-not", Self.app).stdout.contains("it would get the event"))
            _ = (try mock.terminate(), try app.terminate())
        }

        /// It owes an answer when it goes, and the screen is as locked as it was.
        @Test func aLogindThatGoesUnlocksNothing() throws {
            let stage = try Stage(source: nil, broker: false)
            let login = try BackgroundProgram(
                tool: ["/usr/bin/python3", Programs.source("Tests/Scripts/login.py"), stage.address, Self.own])
            _ = try login.waitForLine { $0 == "ready" }
            try stage.startBroker()
            try stage.until("the screen is locked") { try self.locked(stage) }
            #expect(try login.terminate() == .exited(0))
            // The bus tells the broker, and gives it the error in place of the answer, before it tells us.
            try stage.until("it is gone") {
                try stage.busctl(
                    "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", "s", Self.manager[0]
                ).stdout == "b false\n"
            }
            #expect(try self.locked(stage))
        }

        /// While the system sleeps nothing of a budget is used; only logind may say so.
        @Test func sleepIsFree() throws {
            let stage = try Stage(source: nil, broker: false)
            let mock = try self.startLogin(stage)
            let rules = try Tool.run(["cat", Programs.source("policies/10-default.conf")]).stdout
            try stage.startBroker(policy: rules + "\n[App *]\nAssertionBudget=1h\n")
            let broker = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
            let object = "org.jostle.Broker1 \(Stage.Object.app(Self.app)) org.jostle.Broker1.App"
            let script = try stage.startScript(
                "app own \(Self.app)", "app call \(broker) Register sa{sv} ['\(Self.app)',{}]",
                "app call \(object) BeginAssertion sa{sv} ['a',{}]", "shell call \(broker) SetForeground sa{sv} ['',{}]"
            )
            try script.waitUntilSaid("staying")
            func remaining() throws -> UInt64 {
                try stage.count("BackgroundTimeRemaining", at: Stage.Object.app(Self.app))
            }
            let unique = try stage.uniqueName("org.jostle.Broker1")
            _ = try stage.script(
                "forger send \(unique) /org/freedesktop/login1 org.freedesktop.login1.Manager PrepareForSleep b [True]")
            let first = try remaining()
            #expect(try remaining() < first, "a forged signal is no sleep")
            try self.sleep(true, stage)
            try stage.until("it sleeps") {
                let one = try remaining()
                return try remaining() == one
            }
            let before = try remaining()
            try self.sleep(false, stage)
            try stage.until("it is awake") { try remaining() < before }
            // logind that dies says nothing of waking.
            try self.sleep(true, stage)
            try stage.until("it sleeps") {
                let one = try remaining()
                return try remaining() == one
            }
            let last = try remaining()
            _ = try mock.terminate()
            try stage.until("it is awake") { try remaining() < last }
        }

        /// Whatever apps ask for, nobody reads a sensor while the system sleeps: a report is not to count that time.
        @Test func noSensorIsNotedToRunWhileItSleeps() throws {
            let stage = try Stage(broker: false)
            let mock = try self.startLogin(stage)
            try stage.startBroker()
            let app = try stage.watch("shake", "--app", Self.app)
            let query = """
                import sqlite3,sys
                journal=sqlite3.connect(f"file:{sys.argv[1]}?mode=ro",uri=True)
                rows=journal.execute("SELECT rate FROM change WHERE kind='sensor' ORDER BY id").fetchall()
                print("runs" if rows[-1][0] > 0 else "rests")
                """
            func noted() throws -> String {
                try Tool.run(["python3", "-c", query, "\(stage.state)/journal.db"]).stdout
            }
            try stage.until("the sensor runs") { try noted() == "runs\n" }
            try self.sleep(true, stage)
            try stage.until("it sleeps") { try noted() == "rests\n" }
            try self.sleep(false, stage)
            try stage.until("it is awake") { try noted() == "runs\n" }
            _ = (try mock.terminate(), try app.terminate())
        }

        /// One that is a bus of its own, as a session's broker has it, is found again when it has begun anew.
        @Test func aLoginBusThatBeginsAnewIsFoundAgain() throws {
            let there = try Stage(source: nil, broker: false, replaceable: true)
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker("--login-bus", there.address)
            for isFirst in [true, false] {
                let mock = try self.startLogin(there)
                try self.mock(there, "AddSession", "ssusb", "c1", "seat0", Self.own, "me", "true")
                try self.lock("c1", isFirst, there)
                try self.mock(
                    there, "EmitSignal", "sssav", "org.freedesktop.login1.Manager", "SessionNew", "so", "2", "s", "c1",
                    "o", "/org/freedesktop/login1/session/c1")
                try stage.until("it says how the screen is") { try self.locked(stage) == isFirst }
                if isFirst { try there.replaceBus() }
                _ = try mock.terminate()
            }
        }

        private func connections(_ stage: Stage) throws -> Set<String> {
            let list = "p call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ListNames"
            let words = try stage.script(list).flatMap { $0.split(separator: "\"") }
            return Set(words.filter { $0.hasPrefix(":") }.map(String.init))
        }

        /// The bus of a whole machine drops what logind says where somebody has filled what it keeps for us, and tells nobody.
        @Test func whatLogindSaidIsNotLostForEver() throws {
            let there = try Stage(source: nil, broker: false)
            let mock = try self.startLogin(there)
            try self.mock(there, "AddSession", "ssusb", "c1", "seat0", Self.own, "me", "true")
            try self.lock("c1", true, there)
            let stage = try Stage(source: nil, broker: false)
            let others = try self.connections(there)
            try stage.startBroker("--login-bus", there.address)
            try stage.until("the screen is locked") { try self.locked(stage) }
            // Not a word of it.
            try self.mock(there, "AddSession", "ssusb", "c2", "seat0", Self.own, "me", "true")
            #expect(try self.locked(stage))
            let noise = try self.connections(there).subtracting(others).map {
                "stranger send \($0) / org.example.Noise Heard ay [bytes(2<<20)]"
            }
            _ = try there.script((0..<40).flatMap { _ in noise })
            try stage.until("the new session counts") { try !self.locked(stage) }
            _ = try mock.terminate()
        }

        @Test func aLoginBusThatIsNotThereIsNone() throws {
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker("--login-bus", "unix:path=/nonexistent/bus")
            #expect(try stage.jostle("status").status == 0)
            #expect(try #require(stage.broker).terminate() == .exited(0))
        }
    }
}
