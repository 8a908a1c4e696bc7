import Glibc
import TestSupport
import Testing

extension Senses {
    /// `net.hadess.SensorProxy` in the place of iio-sensor-proxy, as its clients see it.
    @Suite(.serialized) struct SensorProxy {
        private static let name = "net.hadess.SensorProxy"
        private static let path = "/net/hadess/SensorProxy"
        private static let call = "call \(name) \(path) \(name)"
        private static let compass = "call \(name) \(path)/Compass \(name).Compass"
        private static let flat = DeviceBed.accelerometerPath()

        private func start(_ stage: Stage, _ bed: DeviceBed, _ options: String...) throws -> BackgroundProgram {
            let program = try BackgroundProgram(
                "jostle-sensord", ["--bus", stage.address, "--sensor-proxy"] + options, environment: bed.environment)
            try Stage.waitUntilServing(program)
            return program
        }

        private func property(_ name: String, on stage: Stage, compass: Bool = false) throws -> String {
            let (path, interface) = compass ? ("/Compass", ".Compass") : ("", "")
            let result = try stage.busctl("get-property", Self.name, Self.path + path, Self.name + interface, name)
            return result.status == 0 ? String(result.stdout.dropLast()) : result.stderr
        }

        /// The next properties that a script's peer is told of, as JSON.
        private func told(_ script: BackgroundProgram, _ peer: String) throws -> String {
            // What two peers are told comes in no order.
            let line = try script.waitForLine(by: peer) {
                $0.hasPrefix("\(peer) heard ") && $0.contains(" PropertiesChanged ")
            }
            return String(line.drop { $0 != "[" })
        }

        private func claims(_ sensor: String, on stage: Stage) throws -> Int {
            let path = "\(Stage.Object.sensors)/\(sensor)"
            return try stage.property("Claimants", at: path).split(separator: " ").count { $0.hasPrefix("\":") }
        }

        private func until(_ sensor: String, is state: String, on stage: Stage) throws {
            let path = "\(Stage.Object.sensors)/\(sensor)"
            try stage.until("\(sensor) is \(state)") { try stage.property("State", at: path) == "s \"\(state)\"" }
        }

        // MARK: Sensors

        @Test func whoClaimsTheAccelerometerIsToldOfTurnsAndNobodyElse() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            // Built in upside down: what the sensor takes for down is up.
            try bed.perform(DeviceBed.accelerometer(matrix: "-1, 0, 0; 0, -1, 0; 0, 0, 1"))
            try bed.perform("set \(Self.flat) in_accel_y_raw 1000", "set \(Self.flat) in_accel_z_raw 0")
            let reader = try self.start(stage, bed)
            #expect(try self.property("HasAccelerometer", on: stage) == "b true")
            #expect(try self.property("HasAmbientLight", on: stage) == "b false")
            #expect(try self.property("AccelerometerOrientation", on: stage) == "s \"undefined\"")
            #expect(try self.property("AccelerometerTilt", on: stage) == "s \"undefined\"")
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b false")

            let quiet = try stage.startScript("q hear", "q \(Self.call) ClaimLight", "q name")
            let quietName = try quiet.waitForLine { $0.hasPrefix("q name ") }.dropFirst(7)
            let script = try stage.startScript(
                "a hear", "b hear", "a \(Self.call) ClaimAccelerometer",
                "a call \(Self.name) \(Self.path) org.freedesktop.DBus.Properties Get ss "
                    + "['\(Self.name)','AccelerometerOrientation']",
                "b \(Self.call) ClaimAccelerometer")
            // Told first, then answered: whoever asks after that gets a true answer.
            let first = try self.told(script, "a")
            #expect(
                first
                    == "[\"net.hadess.SensorProxy\", {\"AccelerometerOrientation\": \"normal\", \"AccelerometerTilt\": \"vertical\"}, []]"
            )
            _ = try script.waitForLine { $0 == "a ok [\"normal\"]" }
            #expect(try self.told(script, "b") == first)
            _ = try script.waitForLine { $0.hasPrefix("b ok") }
            #expect(try self.claims("accelerometer", on: stage) == 2)
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer).hasPrefix("d 1.4"))

            try bed.perform("set \(Self.flat) in_accel_x_raw 1000", "set \(Self.flat) in_accel_y_raw 0")
            for peer in ["a", "b"] {
                #expect(try self.told(script, peer).contains("{\"AccelerometerOrientation\": \"right-up\"}"))
            }
            // What the screen's words call the right edge is up for apps, too.
            let line = try #require(
                stage.jostle("sensors", "--json").stdout.split(separator: "\n").map(String.init)
                    .first { field("sensor", of: $0) == "\"accelerometer\"" })
            #expect(line.contains("\"values\":[1.0,0.0,0.0]"), "\(line)")
            // Lying flat is a tilt, and no turn.
            try bed.perform("set \(Self.flat) in_accel_x_raw 0", "set \(Self.flat) in_accel_z_raw 1000")
            #expect(try self.told(script, "a").contains("{\"AccelerometerTilt\": \"face-up\"}"))
            #expect(try self.property("AccelerometerOrientation", on: stage) == "s \"right-up\"")

            // They go without a word, and the device stands still.
            try stage.kill(script)
            try self.until("accelerometer", is: "idle", on: stage)
            #expect(try self.property("AccelerometerOrientation", on: stage) == "s \"right-up\"")
            // What is sent now is the first that the other hears.
            _ = try stage.script("x send \(quietName) / org.example.Test Last")
            #expect(try quiet.waitForLine { $0.hasPrefix("q heard ") }.contains(" Last "))
            #expect(try reader.terminate() == .exited(0))
        }

        /// A calm façade: read often, told when the device is calm, and by the words that the original has.
        @Test func whereItIsCalmItTurnsWhenTheDeviceIs() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer())
            try bed.perform("set \(Self.flat) in_accel_y_raw -1000", "set \(Self.flat) in_accel_z_raw 0")
            let reader = try self.start(stage, bed, "--sensor-proxy-calm")
            let script = try stage.startScript("a hear", "a \(Self.call) ClaimAccelerometer", "say ready")
            #expect(try self.told(script, "a").contains("\"AccelerometerOrientation\": \"normal\""))
            _ = try script.waitForLine { $0 == "ready" }
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 20")
            try bed.perform("set \(Self.flat) in_accel_x_raw -1000", "set \(Self.flat) in_accel_y_raw 0")
            #expect(try self.told(script, "a").contains("{\"AccelerometerOrientation\": \"right-up\"}"))
            #expect(try reader.terminate() == .exited(0))
        }

        @Test func optionsOfTheCalmOneAreChecked() throws {
            let program = Programs.path(of: "jostle-sensord")
            for (options, words) in [
                (["--sensor-proxy-calm"], "needs '--sensor-proxy'"),
                (["--sensor-proxy", "--sensor-proxy-calming", "hold=1h"], "options of the preset orientation.screen"),
                (["--sensor-proxy", "--sensor-proxy-calming", "holt=1s"], "options of the preset orientation.screen"),
            ] {
                let result = try Tool.run([program, "--bus", "unix:path=/nonexistent"] + options)
                #expect(result.status == 2 && result.stderr.contains(words), "\(result)")
            }
        }

        @Test func lightAndProximity() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            let path = "/devices/platform/ambient/iio:device7"
            try bed.perform(DeviceBed.add("ambient"))
            let reader = try self.start(stage, bed)
            #expect(try self.property("HasProximity", on: stage) == "b true")
            #expect(try self.property("LightLevelUnit", on: stage) == "s \"lux\"")
            let script = try stage.startScript(
                "a hear", "a \(Self.call) ClaimLight", "b hear", "b \(Self.call) ClaimProximity", "say ready")
            #expect(try self.told(script, "a").contains("{\"LightLevel\": 50.0, \"LightLevelUnit\": \"lux\"}"))
            #expect(try self.told(script, "b").contains("{\"ProximityNear\": false}"))
            _ = try script.waitForLine { $0 == "ready" }
            try bed.perform("set \(path) in_illuminance_raw 600", "set \(path) in_proximity_raw 111")
            #expect(try self.told(script, "a").contains("{\"LightLevel\": 100.0}"))
            #expect(try self.told(script, "b").contains("{\"ProximityNear\": true}"))
            // 10 % below the level it is still near.
            try bed.perform("set \(path) in_proximity_raw 91", "set \(path) in_illuminance_raw 200")
            #expect(try self.told(script, "a").contains("{\"LightLevel\": 0.0}"))
            #expect(try self.property("ProximityNear", on: stage) == "b true")
            try bed.perform("set \(path) in_proximity_raw 89")
            #expect(try self.told(script, "b").contains("{\"ProximityNear\": false}"))
            #expect(try reader.terminate() == .exited(0))
        }

        /// Nothing comes of its buffer: whoever claims it goes on meanwhile, and hears when something does.
        @Test func whoClaimsWhatTellsNothingIsAnswered() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("a hear", "a \(Self.call) ClaimAccelerometer", "say answered")
            _ = try script.waitForLine { $0 == "answered" }
            // It takes a buffer for broken only after some more seconds: the answer did not wait for that.
            #expect(try stage.property("Method", at: Stage.Object.accelerometer) == "s \"buffered\"")
            let scan = Senses.Devices.scan(0, -1_000, 0, at: Senses.Devices.boottime() * 1_000)
            try bed.perform("write /dev/iio:device3 \(scan)")
            #expect(try self.told(script, "a").contains("\"AccelerometerOrientation\": \"normal\""))
            #expect(try reader.terminate() == .exited(0))
        }

        /// What is no lux is told as such; and a machine whose owner wants it faster is read faster.
        @Test func anotherUnitIsToldWithTheLight() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            let path = "/devices/platform/applesmc.768"
            try bed.perform(DeviceBed.add("keyboard"), "set \(path) light (0,51)")
            let reader = try self.start(stage, bed, "--sensor-proxy-rate", "5Hz")
            let script = try stage.startScript("a hear", "a \(Self.call) ClaimLight")
            let first = try self.told(script, "a")
            #expect(
                first.contains("\"LightLevel\": 20.0") && first.contains("\"LightLevelUnit\": \"vendor\""), "\(first)")
            #expect(try stage.property("Rate", at: "\(Stage.Object.sensors)/light") == "d 5")
            #expect(try reader.terminate() == .exited(0))
            for rate in ["0", "51", "fast", "5s"] {
                let refused = try BackgroundProgram(
                    "jostle-sensord", ["--bus", stage.address, "--sensor-proxy", "--sensor-proxy-rate", rate])
                #expect(try refused.waitForEnd() == .exited(2), "\(rate)")
            }
        }

        @Test func theCompassKnowsWhereUpIs() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            let path = "/devices/platform/compass/iio:device8"
            let reader = try self.start(stage, bed)
            #expect(try self.property("HasCompass", on: stage, compass: true) == "b false")
            #expect(try self.property("CompassHeading", on: stage, compass: true) == "d -1")
            // Claimed before it is there, and told when it comes.
            let script = try stage.startScript("a hear", "a \(Self.compass) ClaimCompass", "say ready")
            _ = try script.waitForLine { $0 == "ready" }
            try bed.perform(DeviceBed.accelerometer(), DeviceBed.add("compass"))
            #expect(try self.told(script, "a").contains("{\"CompassHeading\": -1.0, \"HasCompass\": true}"))
            #expect(try self.told(script, "a").contains("{\"CompassHeading\": 0.0}"))
            #expect(try self.claims("accelerometer", on: stage) == 1)
            // A quarter turn to the right: north is to the left.
            try bed.perform("set \(path) in_magn_y_raw 0", "set \(path) in_magn_x_raw 200")
            try stage.until("it points east") {
                try self.property("CompassHeading", on: stage, compass: true) == "d 90"
            }
            #expect(try reader.terminate() == .exited(0))
        }

        @Test func claimsOutliveTheDevice() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer(), "set \(Self.flat) in_accel_x_raw 1000")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("a hear", "a \(Self.call) ClaimAccelerometer", "say ready")
            #expect(try self.told(script, "a").contains("\"left-up\""))
            _ = try script.waitForLine { $0 == "ready" }
            for _ in 0..<2 {
                try bed.perform("remove \(Self.flat)")
                #expect(
                    try self.told(script, "a").contains(
                        "{\"AccelerometerOrientation\": \"undefined\", \"AccelerometerTilt\": \"undefined\", "
                            + "\"HasAccelerometer\": false}"))
                try bed.perform(DeviceBed.accelerometer())
                #expect(try self.told(script, "a").contains("\"HasAccelerometer\": true"))
                #expect(try self.told(script, "a").contains("\"face-up\""))
            }
            #expect(try reader.terminate() == .exited(0))
        }

        /// A device that broke is there no more, and nobody waits for it.
        @Test func whoClaimsABrokenSensorIsAnswered() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer())
            let reader = try self.start(stage, bed)
            try bed.perform("spoil \(Self.flat) in_accel_y_raw")
            let script = try stage.startScript("a hear", "a \(Self.call) ClaimAccelerometer", "say answered")
            #expect(try self.told(script, "a").contains("\"HasAccelerometer\": false"))
            _ = try script.waitForLine { $0 == "answered" }
            try bed.perform("heal \(Self.flat) in_accel_y_raw -1000")
            #expect(try self.told(script, "a").contains("\"HasAccelerometer\": true"))
            #expect(try self.told(script, "a").contains("\"normal\""))
            #expect(try reader.terminate() == .exited(0))
        }

        /// A device with a buffer gathers what comes in the meantime, and wakes nobody for it.
        @Test func aBufferGathersForTheDesktop() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("a hear", "a \(Self.call) ClaimAccelerometer", "say answered")
            try self.until("accelerometer", is: "running", on: stage)
            // 20 samples at 25 Hz are a little more than a period of the claim.
            for (attribute, value) in [("sampling_frequency", "25.000000"), ("buffer/watermark", "20")] {
                #expect(try bed.attribute(attribute, of: Senses.Devices.imu) == value, "\(attribute)")
            }
            let now = Senses.Devices.boottime() * 1_000
            var scans = ""
            for index in 0..<20 {
                scans += Senses.Devices.scan(0, -1_000, 0, at: now - Int64(20 - index) * 40_000_000)
            }
            try bed.perform("write /dev/iio:device3 " + scans)
            // The claim waits for no company of its own.
            #expect(try self.told(script, "a").contains("\"normal\""))
            _ = try script.waitForLine { $0 == "answered" }
            #expect(try reader.terminate() == .exited(0))
        }

        // MARK: Callers

        @Test func oddCallsAreAnswered() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer())
            let reader = try self.start(stage, bed)
            let lines = try stage.script(
                // Released without a claim, claimed twice, released twice.
                "a \(Self.call) ReleaseAccelerometer", "a \(Self.call) ClaimAccelerometer",
                "a \(Self.call) ClaimAccelerometer", "a \(Self.call) ReleaseAccelerometer",
                "a \(Self.call) ReleaseAccelerometer", "a \(Self.compass) ReleaseCompass",
                "a \(Self.call) ClaimAccelerometer s ['x']", "a \(Self.call) ClaimBarometer",
                "a \(Self.compass) ClaimLight",
                "a call \(Self.name) \(Self.path) org.freedesktop.DBus.Properties Set ssv "
                    + "['\(Self.name)','LightLevel',V('d',1.0)]",
                "a call \(Self.name) \(Self.path) org.freedesktop.DBus.Properties Get ss ['\(Self.name)','Barometer']")
            #expect(lines[..<6] == ["a ok []", "a ok []", "a ok []", "a ok []", "a ok []", "a ok []"])
            let errors = ["InvalidArgs", "UnknownMethod", "UnknownMethod", "PropertyReadOnly", "UnknownProperty"]
            for (line, error) in zip(lines[6...], errors) { #expect(line.contains("Error.\(error):"), "\(line)") }
            try self.until("accelerometer", is: "idle", on: stage)
            #expect(try reader.terminate() == .exited(0))
        }

        /// One user's connections take no place that others, or root, are to find. Only root can play several.
        @Test(.enabled(if: geteuid() == 0)) func oneUserLeavesPlacesToOthers() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            let reader = try BackgroundProgram(
                "jostle-sensord", ["--bus", stage.address, "--sensor-proxy", "--source", Stage.rest])
            try Stage.waitUntilServing(reader)
            // Nobody is kept waiting for a sensor that is not there.
            let hog = try stage.startScript(as: Stage.nobody, (0...480).map { "p\($0) \(Self.call) ClaimLight" })
            try hog.waitUntilSaid("staying", timeout: .seconds(60))
            let lines = hog.output.split(separator: "\n").map(String.init).dropLast()
            try #require(lines.count == 481)
            #expect(lines.dropLast().allSatisfy { $0.hasSuffix(" ok []") })
            let refusal = "p480 error org.freedesktop.DBus.Error.LimitsExceeded: proxy-claimants is at its limit of "
            #expect(lines.last == refusal + "480 for one user, as much as the others leave")
            for user in [Stage.somebody, []] {
                #expect(try stage.script(as: user, ["p \(Self.call) ClaimLight"]) == ["p ok []"])
            }
            let limits = try stage.property("Limits", at: Stage.Object.sensors)
            #expect(limits.contains("\"proxy-claimants-per-user\" 480"), "\(limits)")
            // What one leaves is there for the next.
            _ = try hog.terminate()
            try stage.until("its places are free") {
                try stage.script(as: Stage.nobody, ["p \(Self.call) ClaimLight"]) == ["p ok []"]
            }
            #expect(try reader.terminate() == .exited(0))
        }

        /// The rules that iio-sensor-proxy brings for the system bus stay where it is masked, or was removed and not purged. They let
        /// anybody set properties by its name, whatever object they are of; so does this bus. Only root can play another user.
        @Test(.enabled(if: geteuid() == 0)) func theRulesOfTheOriginalLetNobodySetTheLog() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            let reader = try BackgroundProgram(
                "jostle-sensord", ["--bus", stage.address, "--sensor-proxy", "--source", Stage.rest])
            try Stage.waitUntilServing(reader)
            let control = "org.freedesktop.LogControl1"
            let properties = "p call \(Self.name) /org/freedesktop/LogControl1 org.freedesktop.DBus.Properties"
            let get = "\(properties) Get ss ['\(control)','LogLevel']"
            let set = "\(properties) Set ssv ['\(control)','LogLevel',V('s','debug')]"
            let lines = try stage.script(as: Stage.nobody, [set, get])
            let refusal = "what is logged is for the daemon's own user and root to say"
            #expect(lines == ["p error org.freedesktop.DBus.Error.AccessDenied: \(refusal)", "p ok [\"info\"]"])
            #expect(try stage.script([set, get]) == ["p ok []", "p ok [\"debug\"]"])
            #expect(try reader.terminate() == .exited(0))
        }

        /// A desktop that was stopped for longer than changes are kept for it hears what is true when it goes on.
        @Test func whoDidNotReadIsToldAllWhenItDoes() throws {
            // Dark until it is stopped, and then more changes than may wait for it, the last of which stands.
            let rows = (1...1_000).map { "\(400_000_000 + $0 * 50_000),\($0)\n" }.joined()
            let trace = "# jostle trace 1\n# light.unit: lx\nt,light.lux\n0,0\n" + rows
            let stage = try Stage(source: nil, broker: false, files: ["dawn.csv": trace])
            let reader = try BackgroundProgram(
                "jostle-sensord",
                [
                    "--bus", stage.address, "--sensor-proxy", "--sensor-proxy-rate", "50Hz", "--source",
                    "trace:\(stage.bus.directory)/dawn.csv?speed=50",
                ])
            try Stage.waitUntilServing(reader)
            let script = try stage.startScript("a hear", "a \(Self.call) ClaimLight")
            #expect(try self.told(script, "a").contains("\"LightLevel\": 0.0"))
            try script.waitUntilSaid("staying")
            try script.stop()
            try #require(try self.property("LightLevel", on: stage) == "d 0", "it is dark no more")
            try stage.until("it is as light as it gets") {
                try self.property("LightLevel", on: stage) == "d 1000"
            }
            try script.signal(SIGCONT)
            let last = try script.waitForLine { $0.contains("\"LightLevel\": 1000.0") }
            #expect(
                last.contains("\"HasAmbientLight\": true") && last.contains("\"LightLevelUnit\": \"lux\""), "\(last)")
            #expect(try reader.terminate() == .exited(0))
        }

        /// On the system bus polkit decides who may claim. To look is free, and so is to let go.
        @Test func polkitIsAskedOnTheSystemBus() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer())
            let system = ["DBUS_SYSTEM_BUS_ADDRESS": stage.address]
            let reader = try BackgroundProgram(
                "jostle-sensord", ["--bus", "system", "--sensor-proxy"],
                environment: bed.environment.merging(system) { $1 })
            _ = try reader.waitForLine(on: .errors) { $0.hasSuffix("serving the system bus") }
            let claim = "a \(Self.call) ClaimAccelerometer"
            func denied(_ line: String?) -> Bool { line?.contains("Error.AccessDenied: polkit") == true }
            var lines = try stage.script(claim, "a \(Self.call) ReleaseAccelerometer")
            #expect(denied(lines.first) && lines.last == "a ok []", "\(lines)")

            let polkit = try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", "--template", "polkitd"], environment: system)
            try stage.bus.waitForName("org.freedesktop.PolicyKit1")
            lines = try stage.script(claim)
            #expect(denied(lines.first), "\(lines)")
            let allowed = try stage.busctl(
                "call", "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                "org.freedesktop.DBus.Mock",
                "SetAllowed", "as", "1", "net.hadess.SensorProxy.claim-sensor")
            #expect(allowed.status == 0, "\(allowed.stderr)")
            #expect(try stage.script(claim) == ["a ok []"])
            #expect(try self.property("AccelerometerTilt", on: stage) == "s \"face-up\"")
            // Who lets go before polkit has spoken has let go: the questions of two are answered in order.
            let begin = "a begin" + claim.dropFirst("a call".count)
            let hasty = try stage.startScript(
                begin, "a \(Self.call) ReleaseAccelerometer", "b \(Self.call) ClaimAccelerometer",
                "b \(Self.call) ReleaseAccelerometer", "say done")
            _ = try hasty.waitForLine { $0 == "done" }
            #expect(hasty.output.hasPrefix("a ok []\na ok []\nb ok []\nb ok []\ndone\n"), "\(hasty.output)")
            #expect(try self.claims("accelerometer", on: stage) == 0)
            try stage.kill(hasty)
            // While polkit says nothing, nobody can have many calls waiting.
            try polkit.signal(SIGSTOP)
            let many = try stage.startScript(Array(repeating: begin, count: 34))
            _ = try many.waitForLine {
                $0.contains("Error.LimitsExceeded: waiting-per-caller, all-waiting: 32 of your calls")
            }
            #expect(try self.property("HasAccelerometer", on: stage) == "b true")
            try polkit.signal(SIGCONT)
            for _ in 0..<33 { _ = try many.waitForLine { $0 == "a ok []" } }
            try stage.kill(many)
            try self.until("accelerometer", is: "idle", on: stage)
            _ = try polkit.terminate()
            #expect(try reader.terminate() == .exited(0))
        }

        @Test func iioSensorProxyKeepsItsName() throws {
            let stage = try Stage(source: nil, broker: false)
            let other = try stage.startScript("o own \(Self.name)", "say owned")
            _ = try other.waitForLine { $0 == "owned" }
            let reader = try BackgroundProgram("jostle-sensord", ["--bus", stage.address, "--sensor-proxy"])
            _ = try reader.waitForLine(on: .errors) { $0.contains("the name \(Self.name) is taken") }
            // Its own name is served all the same, and the other's once that is gone.
            _ = try reader.waitForLine(on: .errors) { $0.hasSuffix("serving the bus at \(stage.address)") }
            let own = try stage.uniqueName("org.jostle.Sensors1")
            #expect(try stage.uniqueName(Self.name) != own)
            try stage.kill(other)
            try stage.until("the name is the reader's") { try stage.uniqueName(Self.name) == own }
            #expect(try self.property("HasAccelerometer", on: stage) == "b false")
            #expect(try reader.terminate() == .exited(0))
        }

        // MARK: Everybody at once

        /// A client that GNOME would know beside three apps with detectors: one reader for all, and a shake of the device arrives.
        @Test func oneReaderServesTheDesktopAndTheApps() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer())
            let reader = try self.start(stage, bed)
            let desktop = try BackgroundProgram(
                tool: ["monitor-sensor"], environment: ["DBUS_SYSTEM_BUS_ADDRESS": stage.address])
            _ = try desktop.waitForLine { $0.contains("Has accelerometer") }
            let apps = try [2.0, 2.3, 3.5].enumerated().map { index, threshold in
                try stage.watch("shake.planar,threshold=\(threshold)g", "--app", "org.example.App\(index)")
            }
            try self.until("accelerometer", is: "running", on: stage)
            // Who claims it: the broker for the three, and the desktop.
            try stage.until("both claim it") { try self.claims("accelerometer", on: stage) == 2 }
            let line = try #require(
                stage.jostle("sensors", "--json").stdout.split(separator: "\n").map(String.init)
                    .first { field("sensor", of: $0) == "\"accelerometer\"" })
            #expect(field("claims", of: line) == "2" && field("simulated", of: line) == "false", "\(line)")
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 10")

            // Held, so that nothing depends on how often a busy machine looks.
            try bed.perform("set \(Self.flat) in_accel_x_raw 2800")
            for app in apps[..<2] { _ = try app.nextEvent() }
            try bed.perform("set \(Self.flat) in_accel_x_raw 4500")
            _ = try apps[2].nextEvent { (number("peak", of: $0) ?? 0) > 3.5 }
            try bed.perform(
                "set \(Self.flat) in_accel_x_raw 0", "set \(Self.flat) in_accel_y_raw -1000",
                "set \(Self.flat) in_accel_z_raw 0")
            _ = try desktop.waitForLine { $0.contains("orientation changed: normal") }
            // The apps go, the desktop stays, and the device is read as seldom as it needs.
            for app in apps { try stage.kill(app) }
            try stage.until("only the desktop is left") {
                try stage.property("Rate", at: Stage.Object.accelerometer).hasPrefix("d 1.4")
            }
            try stage.kill(desktop)
            try self.until("accelerometer", is: "idle", on: stage)
            #expect(try reader.terminate() == .exited(0))
        }
    }
}
