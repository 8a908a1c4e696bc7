import Glibc
import TestSupport
import Testing

extension Senses {
    /// jostle-sensord with devices: what it makes of them, and what it does when they come, go and break.
    @Suite(.serialized) struct Devices {
        static let flat = DeviceBed.accelerometerPath()

        func start(
            _ stage: Stage, _ bed: DeviceBed, _ sources: String..., environment: [String: String] = [:]
        ) throws -> BackgroundProgram {
            let program = try BackgroundProgram(
                "jostle-sensord", ["--bus", stage.address] + sources.flatMap { ["--source", $0] },
                environment: bed.environment.merging(environment) { $1 })
            try Stage.waitUntilServing(program)
            return program
        }

        /// A sensor as `jostle sensors --json` shows it.
        func sensor(_ name: String, on stage: Stage) throws -> String {
            let lines = try stage.jostle("sensors", "--json").stdout.split(separator: "\n").map(String.init)
            return try #require(lines.first { field("sensor", of: $0) == "\"\(name)\"" }, "\(lines)")
        }

        func until(_ sensor: String, is state: String, on stage: Stage) throws {
            let path = "\(Stage.Object.sensors)/\(sensor)"
            try stage.until("\(sensor) is \(state)") { try stage.property("State", at: path) == "s \"\(state)\"" }
        }

        static func claim(_ sensor: String, _ rate: Double, latency: Int = 0) -> String {
            "call org.jostle.Sensors1 \(Stage.Object.sensors)/\(sensor) org.jostle.Sensors1.Sensor Claim a{sv} "
                + "[{'rate':V('d',\(rate)),'batch-latency':V('t',\(latency))}]"
        }

        static func boottime() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_BOOTTIME, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        }

        // MARK: Polled

        @Test func aShakeGoesFromAnAttributeToAnApp() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer(label: "accel-display", matrix: "0, 1, 0; -1, 0, 0; 0, 0, 1"))
            let reader = try self.start(stage, bed)
            let app = try stage.watch("shake.planar,threshold=2.3g")
            try self.until("accelerometer", is: "running", on: stage)
            let line = try self.sensor("accelerometer", on: stage)
            for (key, value) in [
                ("driver", "\"mock_accel\""), ("method", "\"polled\""), ("placement", "\"display\""), ("unit", "\"g\""),
                ("source", "\"iio:mock_accel\""), ("simulated", "false"), ("state", "\"running\""), ("detail", "\"\""),
            ] { #expect(field(key, of: line) == value, "\(key): \(line)") }
            try bed.perform("set \(Self.flat) in_accel_y_raw -3000")
            let event = try app.nextEvent()
            #expect(abs(try #require(number("peak", of: event)) - 3) < 0.001, "\(event)")
            // The device runs at its rate nearest above what is needed, and the reader at what is needed.
            #expect(try bed.attribute("sampling_frequency", of: Self.flat) == "12.5")
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 10")
            // Turned as the matrix says, where y becomes x, and into our axes.
            let heard = try stage.script("s hear", "s \(Self.claim("accelerometer", 10))", "s await 1")
            let values = try #require(heard.first { $0.contains(" Samples ") }).split(separator: "[").last ?? ""
            #expect(values.hasPrefix("3.0, 0.0, 1.0"), "\(heard)")
            #expect(try reader.terminate() == .exited(0))
        }

        /// Many drivers have the rate beside a kind's name, and what there is to choose from beside none.
        @Test func aRateIsOneThatTheDeviceHas() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.accelerometer(), "lose \(Self.flat) sampling_frequency",
                "set \(Self.flat) in_accel_sampling_frequency 12.5")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("s hear", "s \(Self.claim("accelerometer", 60))")
            _ = try self.samples(script, 1)
            #expect(try bed.attribute("in_accel_sampling_frequency", of: Self.flat) == "100")
            #expect(try reader.terminate() == .exited(0))
        }

        /// A machine's owner corrects how a sensor is turned while the reader runs.
        @Test func whatUdevSaysLaterCounts() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer(), "set \(Self.flat) in_accel_x_raw 500")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("s hear Samples", "s \(Self.claim("accelerometer", 20))")
            #expect(try self.samples(script, 1).values == [-0.5, 0, 1])
            try bed.perform(
                "say \(Self.flat) ACCEL_MOUNT_MATRIX '0, 1, 0; 1, 0, 0; 0, 0, 1'", "event \(Self.flat) change")
            try stage.until("it is turned") { Array(try self.samples(script, 1).values.suffix(3)) == [0, -0.5, 1] }
            #expect(try stage.property("State", at: Stage.Object.accelerometer) == "s \"running\"")
            #expect(try reader.terminate() == .exited(0))
        }

        @Test func lightAndProximityAreRead() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.add("ambient"))
            let reader = try self.start(stage, bed)
            let dark = try stage.watch("--when", "lux < 10lx", "--sensor", "light", "--every", "100ms")
            let near = try stage.watch("--when", "near > 0.5", "--sensor", "proximity", "--every", "100ms")
            try self.until("light", is: "running", on: stage)
            try self.until("proximity", is: "running", on: stage)
            #expect(field("unit", of: try self.sensor("light", on: stage)) == "\"lx\"")
            let path = "/devices/platform/ambient/iio:device7"
            // (220 - 200) * 0.25 lx.
            try bed.perform("set \(path) in_illuminance_raw 220", "set \(path) in_proximity_raw 111")
            _ = try dark.nextEvent()
            _ = try near.nextEvent()
            #expect(try reader.terminate() == .exited(0))
        }

        /// The level is said in counts, whatever its driver makes of one: that of phones says so.
        @Test(arguments: [("in_proximity_scale", "0.1"), ("in_proximity_offset", "-100")])
        func whatIsNearIsSaidInCounts(attribute: String, value: String) throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            let path = "/devices/platform/ambient/iio:device7"
            try bed.perform(
                DeviceBed.add("ambient"), "set \(path) \(attribute) \(value)", "set \(path) in_proximity_raw 111")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("s hear Samples", "s \(Self.claim("proximity", 20))")
            #expect(try self.samples(script, 1).values == [1])
            #expect(try reader.terminate() == .exited(0))
        }

        /// Whoever speaks French writes 0,0098; the kernel never does, and a reader started in France must not mind.
        @Test func theLocaleDoesNotMatter() throws {
            let stage = try Stage(source: nil)
            let directory = stage.bus.directory
            let made = try Tool.run(["localedef", "-i", "fr_FR", "-f", "UTF-8", "\(directory)/fr_FR.UTF-8"])
            try #require(made.status == 0, "\(made.stderr)")
            let french = ["LOCPATH": directory, "LC_ALL": "fr_FR.UTF-8", "LANG": "fr_FR.UTF-8"]
            #expect(try Tool.run(["locale", "decimal_point"], environment: french).stdout == ",\n")
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer(matrix: "0.5, 0, 0; 0, 0.5, 0; 0, 0, 0.5"))
            let reader = try self.start(stage, bed, environment: french)
            let heard = try stage.script("s hear", "s \(Self.claim("accelerometer", 12.5))", "s await 1")
            let values = try #require(heard.first { $0.contains(" Samples ") }).split(separator: "[").last ?? ""
            #expect(values.hasPrefix("0.0, 0.0, 0.5"), "\(heard)")
            #expect(try bed.attribute("sampling_frequency", of: Self.flat) == "12.5")
            #expect(try reader.terminate() == .exited(0))
        }

        @Test func twoAccelerometersAreTwoSensors() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.accelerometer(0, name: "kxcjk", label: "accel-base"),
                DeviceBed.accelerometer(1, name: "bmc150", label: "accel-display"),
                DeviceBed.accelerometer(2, name: "third"))
            var reader = try self.start(stage, bed)
            func drivers() throws -> [String: String] {
                var result: [String: String] = [:]
                for line in try stage.jostle("sensors", "--json").stdout.split(separator: "\n").map(String.init) {
                    let name = try #require(field("sensor", of: line))
                    // Made of the others, and no devices.
                    if name != "\"motion\"", name != "\"hinge\"" { result[name] = field("driver", of: line) }
                }
                return result
            }
            #expect(
                try drivers() == [
                    "\"accelerometer\"": "\"bmc150\"", "\"accelerometer-base\"": "\"kxcjk\"",
                    "\"accelerometer-2\"": "\"third\"",
                ])
            #expect(try reader.terminate() == .exited(0))
            // By driver, by number, beside a sensor that is made; one that is not there is waited for.
            reader = try self.start(stage, bed, "iio:third", "iio:iio:device0", "iio:later", "synth:")
            #expect(
                try drivers() == [
                    "\"accelerometer\"": "\"\"", "\"accelerometer-base\"": "\"kxcjk\"",
                    "\"accelerometer-2\"": "\"third\"",
                ])
            try bed.perform(DeviceBed.accelerometer(5, name: "later"))
            try stage.until("the later one is there") { try drivers()["\"accelerometer-3\""] == "\"later\"" }
            #expect(try reader.terminate() == .exited(0))
        }

        // MARK: Come and gone

        @Test func claimsOutliveADeviceAndNothingIsDetectedAcross() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer())
            let reader = try self.start(stage, bed)
            let always = try stage.watch("--when", "norm(x, y, z) > 0.5g", "--every", "50ms", "--rest", "0s")
            let long = try stage.watch("--when", "held(norm(x, y, z) > 2g, 1s)", "--every", "50ms")
            _ = try always.nextEvent()
            // True for a while, but not for long enough; then the device is away, and then it is true still.
            try bed.perform("set \(Self.flat) in_accel_x_raw 3000")
            _ = try always.waitForLine { (number("peak", of: $0) ?? 0) > 2.9 }
            let claimants = try stage.property("Claimants", at: Stage.Object.accelerometer)
            try bed.perform("remove \(Self.flat)")
            try self.until("accelerometer", is: "absent", on: stage)
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b true")
            let kept = try stage.property("Claimants", at: Stage.Object.accelerometer)
            #expect(kept.split(separator: " ").prefix(4) == claimants.split(separator: " ").prefix(4))
            try stage.until("the broker knows") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("\"available\" b false")
            }
            #expect(try stage.jostle("sensors").stdout.contains("accelerometer is absent: no device"))
            // A machine that stands still makes one return late, not each.
            var away = Self.boottime()
            var waits: [Double] = []
            while waits.count < 3, waits.allSatisfy({ $0 > 1_000_000 }) {
                if !waits.isEmpty {
                    try bed.perform("remove \(Self.flat)")
                    try self.until("accelerometer", is: "absent", on: stage)
                    away = Self.boottime()
                }
                try bed.perform(DeviceBed.accelerometer())
                let back = Self.boottime()
                let event = try always.waitForLine { (number("t_us", of: $0) ?? 0) > Double(away) }
                waits.append(try #require(number("t_us", of: event)) - Double(back))
            }
            #expect(waits.contains { $0 <= 1_000_000 }, "\(waits)")
            try bed.perform("set \(Self.flat) in_accel_x_raw 3000")
            let held = try long.nextEvent()
            #expect(try #require(number("t_us", of: held)) - Double(away) >= 1_000_000, "\(held)")
            try stage.until("the broker knows") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("\"available\" b true")
            }
            #expect(try reader.terminate() == .exited(0))
        }

        /// To look is not to use: what stands still is started only when that is asked for, and stands still again after it.
        @Test func aSensorThatStandsStillIsReadOnRequest() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer(), DeviceBed.add("ambient"))
            let reader = try self.start(stage, bed)
            #expect(try self.sensor("light", on: stage).contains("\"values\":[],"))
            #expect(try stage.count("Sent", at: "\(Stage.Object.sensors)/light") == 0)
            let live = try stage.jostle("sensors", "--json", "--live").stdout.split(separator: "\n")
            let values = [
                "accelerometer": "[0.0,0.0,1.0]", "light": "[50.0]", "proximity": "[0.0]",
                "motion": "[0.0,0.0,1.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0]",
            ]
            #expect(live.count == values.count)
            for (sensor, expected) in values {
                let line = live.first { $0.contains("\"sensor\":\"\(sensor)\"") }
                #expect(line?.contains("\"values\":\(expected)") == true, "\(live)")
            }
            try self.until("light", is: "idle", on: stage)
            #expect(try reader.terminate() == .exited(0))
        }

        @Test func aSensorThatComesLaterIsThere() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            let reader = try self.start(stage, bed)
            #expect(try stage.jostle("sensors").stdout == "no sensor is there\n")
            #expect(reader.errors.contains("no sensor is there; waiting for one"))
            let app = try stage.watch(Stage.always)
            try bed.perform(DeviceBed.accelerometer())
            _ = try app.nextEvent()
            #expect(try reader.terminate() == .exited(0))
        }

        // MARK: Broken

        @Test func aBrokenDeviceStopsNoOther() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.accelerometer(0), DeviceBed.accelerometer(1), DeviceBed.accelerometer(2),
                DeviceBed.add("ambient"), "set \(DeviceBed.accelerometerPath(1)) in_accel_scale banana",
                "lose \(DeviceBed.accelerometerPath(2)) in_accel_y_raw")
            let reader = try self.start(stage, bed)
            let app = try stage.watch(Stage.always)
            _ = try app.nextEvent()
            let two = try self.sensor("accelerometer-2", on: stage)
            #expect(field("state", of: two) == "\"broken\"")
            #expect(two.contains("in_accel_scale is 'banana', which is no number"), "\(two)")
            let three = try self.sensor("accelerometer-3", on: stage)
            #expect(three.contains("in_accel_y_raw is missing"), "\(three)")

            // Mended, and told so.
            try bed.perform(
                "set \(DeviceBed.accelerometerPath(1)) in_accel_scale 0.01",
                "event \(DeviceBed.accelerometerPath(1)) change")
            try self.until("accelerometer_2d2", is: "idle", on: stage)

            // One that runs stops working in the middle: an attribute that cannot be read, then one that is gone.
            let light = try stage.watch("--when", "lux > 0lx", "--sensor", "light", "--every", "100ms")
            _ = try light.nextEvent()
            let path = "/devices/platform/ambient/iio:device7"
            try bed.perform("spoil \(path) in_illuminance_raw")
            try self.until("light", is: "broken", on: stage)
            #expect(try self.sensor("light", on: stage).contains("in_illuminance_raw: "))
            #expect(reader.errors.contains("light: in_illuminance_raw: ") || !reader.errors.isEmpty)
            // The others do not notice.
            _ = try app.nextEvent()
            // It is tried again while somebody wants it, and works again when it can be read again.
            try bed.perform("event \(path) change")
            try self.until("light", is: "broken", on: stage)
            try bed.perform("heal \(path) in_illuminance_raw 4000")
            try self.until("light", is: "running", on: stage)
            _ = try app.nextEvent()
            #expect(try reader.terminate() == .exited(0))
        }

        /// Readings that make no sense now and then are left out; the sensor goes on.
        @Test func nonsenseInBetweenIsLeftOut() throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.accelerometer())
            let reader = try self.start(stage, bed)
            let app = try stage.watch("shake.planar,threshold=2.3g")
            for nonsense in ["999999999999999999999", "nan", "banana", "0x7fff", "-"] {
                try bed.perform("set \(Self.flat) in_accel_x_raw '\(nonsense)'")
                try self.until("accelerometer", is: "broken", on: stage)
                #expect(try self.sensor("accelerometer", on: stage).contains("in_accel_x_raw holds no reading"))
                try bed.perform("set \(Self.flat) in_accel_x_raw 0")
                try self.until("accelerometer", is: "running", on: stage)
            }
            try bed.perform("set \(Self.flat) in_accel_x_raw 3000")
            let event = try app.nextEvent()
            #expect(field("sequence", of: event) == "1")
            #expect(abs(try #require(number("peak", of: event)) - 3) < 0.001, "\(event)")
            #expect(try reader.terminate() == .exited(0))
        }

        // MARK: Buffered

        static let imu = "/devices/platform/imu/iio:device3"

        /// A scan as the description lays it out: little-endian x and y, big-endian z in the upper 12 bits, a stamp.
        static func scan(_ x: Int16, _ y: Int16, _ z: Int16, at nanoseconds: Int64) -> String {
            hex(x, y) + hex((z << 4).byteSwapped) + "0000" + hex(nanoseconds)
        }

        /// The next samples that a script heard: the number of each message's first, all times, all values.
        func samples(
            _ script: BackgroundProgram, _ count: Int
        ) throws -> (numbers: [Int64], times: [Int64], values: [Double]) {
            var numbers: [Int64] = []
            var times: [Int64] = []
            var values: [Double] = []
            while times.count < count {
                let line = try script.waitForLine { $0.contains(" Samples ") }
                let parts = line.split(separator: "[").map { $0.split { ",] ".contains($0) }.map(String.init) }
                try #require(parts.count >= 3, "\(line)")
                numbers += parts[parts.count - 3].compactMap { Int64($0) }
                times += parts[parts.count - 2].compactMap { Int64($0) }
                values += (parts.last ?? []).compactMap { Double($0) }
            }
            return (numbers, times, values)
        }

        @Test func aBufferIsReadAsItFills() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3")
            let reader = try self.start(stage, bed)
            #expect(try stage.property("Rates", at: Stage.Object.accelerometer) == "ad 4 25 50 100 200")
            // 12 bits with their sign, at 1 mg each.
            #expect(try stage.property("Range", at: Stage.Object.accelerometer).hasPrefix("d 2.047"))
            let script = try stage.startScript("a hear", "a \(Self.claim("accelerometer", 100, latency: 125_000))")
            let answer = try script.waitForLine { $0.hasPrefix("a ok ") }
            #expect(answer.contains("\"rate\": 100.0") && answer.contains("\"batch-latency\": 125000"), "\(answer)")
            for (attribute, value) in [
                ("sampling_frequency", "100"), ("buffer/watermark", "12"), ("buffer/length", "100"),
                ("buffer/enable", "1"), ("trigger/current_trigger", "imu-dev3"),
                ("current_timestamp_clock", "boottime"),
                ("scan_elements/in_accel_x_en", "1"), ("scan_elements/in_accel_z_en", "1"),
                ("scan_elements/in_anglvel_y_en", "0"), ("scan_elements/in_timestamp_en", "1"),
            ] { #expect(try bed.attribute(attribute, of: Self.imu) == value, "\(attribute)") }
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"buffered\"")
            #expect(try stage.property("BatchLatency", at: Stage.Object.accelerometer) == "t 120000")

            // Whole scans, and one in two pieces; the stamps are rounded once, and are what the samples have.
            let now = Self.boottime() * 1_000
            let third = Self.scan(-2_000, 500, -2_048, at: now - 1_000_400)
            try bed.perform(
                "write /dev/iio:device3 " + Self.scan(1_000, -1_000, 2_047, at: now - 20_000_600)
                    + Self.scan(0, 0, 0, at: now - 10_000_000) + third.prefix(14),
                "write /dev/iio:device3 " + third.dropFirst(14))
            let (_, times, values) = try self.samples(script, 3)
            #expect(times == [now / 1_000 - 20_001, now / 1_000 - 10_000, now / 1_000 - 1_000])
            // In our axes, which are half a turn from Linux' own.
            let expected = [-1, 1, 2.047, 0, 0, 0, 2, -0.5, -2.048]
            #expect(zip(values, expected).allSatisfy { abs($0 - $1) < 1e-9 } && values.count == 9, "\(values)")
            #expect(try stage.count("Refused", at: Stage.Object.accelerometer) == 0)

            // The gyroscope joins: one buffer for both, at the more impatient's latency.
            let other = try stage.startScript("g hear", "g \(Self.claim("gyroscope", 200))")
            _ = try other.waitForLine { $0.hasPrefix("g ok ") }
            for (attribute, value) in [
                ("sampling_frequency", "200"), ("buffer/watermark", "1"), ("scan_elements/in_anglvel_y_en", "1"),
                ("scan_elements/in_accel_x_en", "1"), ("buffer/enable", "1"),
            ] { #expect(try bed.attribute(attribute, of: Self.imu) == value, "\(attribute)") }
            let later = Self.boottime() * 1_000
            try bed.perform(
                "write /dev/iio:device3 " + hex(Int16(500), 0) + hex((Int16(100) << 4).byteSwapped)
                    + hex(Int16(1_000), -2_000, 3_000) + "00000000" + hex(later))
            let turned = try self.samples(other, 1)
            #expect(turned.times == [later / 1_000])
            #expect(turned.values == [-1, 2, 3])
            #expect(try self.samples(script, 1).values.first.map { abs($0 + 0.5) < 1e-9 } == true)

            // With the last claim the device stands still.
            _ = try other.terminate()
            _ = try script.terminate()
            try stage.until("the buffer is off") { try bed.attribute("buffer/enable", of: Self.imu) == "0" }
            try stage.until("the clock is what it was") {
                try bed.attribute("current_timestamp_clock", of: Self.imu) == "realtime"
            }
            #expect(try reader.terminate() == .exited(0))
        }

        /// A buffer that must be set up anew for somebody else's claim loses what is measured meanwhile, and that is told. One that is
        /// claimed and released in turn is set up anew no more.
        @Test func whatABufferLosesIsToldAndItLosesLittle() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 50))", "say claimed")
            _ = try script.waitForLine { $0 == "claimed" }
            func write(_ wide: Bool, at nanoseconds: Int64) throws {
                let turns = wide ? hex(Int16(1), 2, 3) + "00000000" : "0000"
                try bed.perform(
                    "write /dev/iio:device3 " + hex(Int16(0), 0) + hex((Int16(100) << 4).byteSwapped) + turns
                        + hex(nanoseconds))
            }
            let start = Self.boottime() * 1_000
            try write(false, at: start - 100_000_000)
            #expect(try self.samples(script, 1).numbers == [0])

            let other = try stage.startScript(
                "g hear Samples", "g \(Self.claim("gyroscope", 200))", "say claimed", "g await 1",
                "g call org.jostle.Sensors1 /org/jostle/Sensors1/gyroscope org.jostle.Sensors1.Sensor Release a{sv} [{}]",
                "g \(Self.claim("gyroscope", 100))", "say again")
            _ = try other.waitForLine { $0 == "claimed" }
            // Whoever sets the buffer up writes another.
            try bed.perform("set \(Self.imu) buffer/length 77")
            try write(true, at: start)
            #expect(try self.samples(script, 1).numbers == [2], "one number is left out")
            _ = try other.waitForLine { $0 == "again" }
            #expect(try bed.attribute("buffer/length", of: Self.imu) == "77")
            // After a while it becomes what is still wanted.
            try stage.until("the device slows down") { try bed.attribute("buffer/length", of: Self.imu) == "100" }
            _ = try other.terminate()
            try stage.until("the gyroscope is let go") {
                try bed.attribute("scan_elements/in_anglvel_y_en", of: Self.imu) == "0"
            }
            try stage.until("the buffer goes on") { try bed.attribute("buffer/enable", of: Self.imu) == "1" }
            #expect(try bed.attribute("sampling_frequency", of: Self.imu) == "50")
            _ = try script.terminate()
            try stage.until("the buffer is off") { try bed.attribute("buffer/enable", of: Self.imu) == "0" }
            #expect(try reader.terminate() == .exited(0))
        }

        /// The kernel shows a device before udev gives rights to it, and whoever starts meanwhile finds it barred.
        @Test func aBufferIsTakenOnceUdevGivesRightsToIt() throws {
            let element = "scan_elements/in_accel_x_en"
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.buffered(), "pipe /dev/iio:device3", "spoil \(Self.imu) \(element)",
                "set \(Self.imu) in_accel_z_raw 1000")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("s hear Samples", "s \(Self.claim("accelerometer", 100))")
            #expect(try self.samples(script, 1).values == [0, 0, 1])
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"polled\"")
            try bed.perform("heal \(Self.imu) \(element) 0", "event \(Self.imu) change")
            try stage.until("it has its buffer") { try bed.attribute("buffer/enable", of: Self.imu) == "1" }
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"buffered\"")
            #expect(try reader.terminate() == .exited(0))
        }

        /// Another program that has the buffer open keeps it as it set it up.
        @Test func aBufferThatSomebodyElseHasIsLeftAlone() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.buffered(), "refuse /dev/iio:device3", "set \(Self.imu) buffer/enable 1",
                "set \(Self.imu) in_accel_z_raw 1000")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("s hear Samples", "s \(Self.claim("accelerometer", 100))")
            #expect(try self.samples(script, 1).values == [0, 0, 1])
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"polled\"")
            for (name, value) in [
                ("buffer/enable", "1"), ("buffer/length", "2"), ("trigger/current_trigger", ""),
                ("current_timestamp_clock", "realtime"), ("scan_elements/in_anglvel_y_en", "1"),
                ("sampling_frequency", "25.000000"),
            ] { #expect(try bed.attribute(name, of: Self.imu) == value, "\(name)") }
            #expect(try reader.terminate() == .exited(0))
        }

        /// iio-sensor-proxy has its buffer run all the time, and opens it for each look. What a killed reader left is ours.
        @Test func aBufferThatRunsForSomebodyElseIsLeftAlone() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.buffered(), "pipe /dev/iio:device3", "set \(Self.imu) buffer/enable 1",
                "set \(Self.imu) in_accel_z_raw 1000")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("s hear Samples", "s \(Self.claim("accelerometer", 100))")
            #expect(try self.samples(script, 1).values == [0, 0, 1])
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"polled\"")
            _ = try reader.waitForLine(on: .errors) { $0.contains("its buffer runs for another program") }
            _ = try script.terminate()
            try self.until("accelerometer", is: "idle", on: stage)
            for (name, value) in [
                ("buffer/enable", "1"), ("buffer/length", "2"), ("trigger/current_trigger", ""),
                ("current_timestamp_clock", "realtime"), ("sampling_frequency", "25.000000"),
            ] { #expect(try bed.attribute(name, of: Self.imu) == value, "\(name)") }
            #expect(try reader.terminate() == .exited(0))

            try bed.perform("set \(Self.imu) current_timestamp_clock boottime")
            let next = try self.start(stage, bed)
            let other = try stage.startScript("o hear", "o \(Self.claim("accelerometer", 100))", "say claimed")
            _ = try other.waitForLine { $0 == "claimed" }
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"buffered\"")
            #expect(try bed.attribute("sampling_frequency", of: Self.imu) == "100")
            #expect(try next.terminate() == .exited(0))
            // It rests, though it was claimed. With our clock the next buffer of somebody else's would seem to be ours.
            for (name, value) in [("buffer/enable", "0"), ("current_timestamp_clock", "realtime")] {
                #expect(try bed.attribute(name, of: Self.imu) == value, "\(name)")
            }
        }

        /// What has no buffer of ours has no clock of ours either, by which a later one of somebody else's would seem to be.
        @Test func aBufferThatCannotBeSetUpKeepsItsClock() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.buffered(), "pipe /dev/iio:device3", "spoil \(Self.imu) buffer/length",
                "set \(Self.imu) in_accel_z_raw 1000")
            let reader = try self.start(stage, bed)
            let script = try stage.startScript("s hear Samples", "s \(Self.claim("accelerometer", 100))")
            #expect(try self.samples(script, 1).values == [0, 0, 1])
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"polled\"")
            #expect(try bed.attribute("current_timestamp_clock", of: Self.imu) == "realtime")
            #expect(try reader.terminate() == .exited(0))
        }

        /// The kernel opens a buffer for one at a time: when less is wanted of it, it is let go before it is taken anew.
        @Test func aBufferIsOpenOnceAtATime() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3")
            let reader = try self.start(stage, bed)
            let slow = try stage.startScript("a hear", "a \(Self.claim("accelerometer", 50))", "say claimed")
            _ = try slow.waitForLine { $0 == "claimed" }
            let fast = try stage.startScript("b hear", "b \(Self.claim("accelerometer", 200))", "say claimed")
            _ = try fast.waitForLine { $0 == "claimed" }
            try bed.perform("count /dev/iio:device3")
            _ = try fast.terminate()
            try stage.until("the device slows down") {
                try bed.attribute("sampling_frequency", of: Self.imu) == "50"
            }
            try stage.until("the buffer goes on") { try bed.attribute("buffer/enable", of: Self.imu) == "1" }
            try bed.perform("single /dev/iio:device3")
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"buffered\"")
            #expect(try reader.terminate() == .exited(0))
        }

        /// Without its trigger, or when nothing ever comes, a device is read attribute by attribute.
        @Test(arguments: [("somebody-elses", "no trigger is its own"), ("imu-dev3", "no reading came in")])
        func aBufferThatDoesNotWorkIsDoneWithout(trigger: String, reason: String) throws {
            let stage = try Stage(source: nil)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.buffered(trigger: trigger), "pipe /dev/iio:device3",
                "set \(Self.imu) in_accel_x_raw 3000")
            let reader = try self.start(stage, bed)
            let app = try stage.watch("shake.planar,threshold=2.3g")
            _ = try app.nextEvent()
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"polled\"")
            _ = try reader.waitForLine(on: .errors) { $0.contains("read without its buffer: \(reason)") }
            #expect(try bed.attribute("buffer/enable", of: Self.imu) == "0")
            #expect(try reader.terminate() == .exited(0))
        }

        /// Such a hub shows where gravity pulls; what it shows of turning and of the magnetic field is in our axes. It lies on its back,
        /// a little raised at its upper and its right edge.
        @Test func aHubThatSpeaksHIDHasAxesOfItsOwn() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.add("hid"))
            let reader = try self.start(stage, bed)
            for (sensor, expected) in [
                ("accelerometer", [0.1, 0.2, 1]), ("gyroscope", [0.1, 0.2, -0.3]), ("magnetometer", [10, 20, -40]),
            ] {
                let script = try stage.startScript("s hear", "s \(Self.claim(sensor, 10))")
                let values = try self.samples(script, 1).values.prefix(3)
                #expect(
                    zip(values, expected).allSatisfy { abs($0 - $1) < 1e-9 } && values.count == 3,
                    "\(sensor): \(values)")
                _ = try script.terminate()
            }
            #expect(try reader.terminate() == .exited(0))
        }

        /// Some devices have their channels in the buffer and nowhere else, no trigger, and say nothing of their scale.
        @Test func aDeviceThatHasNothingButABufferIsRead() throws {
            let hub = "/devices/platform/hub/iio:device4"
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(DeviceBed.add("hub"), "pipe /dev/iio:device4")
            let reader = try self.start(stage, bed)
            #expect(reader.errors.contains("in_accel_scale is missing; what it shows on average is taken for 1 g"))
            #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"buffered\"")
            // Prepared, and standing still.
            for axis in ["x", "y", "z"] {
                #expect(try bed.attribute("scan_elements/in_accel_\(axis)_en", of: hub) == "1")
            }
            #expect(try bed.attribute("buffer/enable", of: hub) == "0")
            let script = try stage.startScript("s hear", "s \(Self.claim("accelerometer", 10))", "say claimed")
            _ = try script.waitForLine { $0 == "claimed" }
            #expect(try bed.attribute("buffer/enable", of: hub) == "1")
            // 16 bits of 32 count; what stands above them is anything.
            let rest = UInt32(0x7ABC_0000)
            let scan = hex(rest, rest | UInt32(UInt16(bitPattern: -8_192)), rest)
            try bed.perform("write /dev/iio:device4 \(scan)")
            #expect(try self.samples(script, 1).values == [0, 1, 0])
            // Nobody is disturbed who has the device's buffer already.
            #expect(try reader.terminate() == .exited(0))
            try bed.perform("set \(hub) buffer/enable 1", "set \(hub) scan_elements/in_accel_z_en 0")
            let other = try self.start(stage, bed)
            _ = try self.sensor("accelerometer", on: stage)
            #expect(try bed.attribute("scan_elements/in_accel_z_en", of: hub) == "0")
            #expect(try bed.attribute("buffer/enable", of: hub) == "1")
            #expect(try other.terminate() == .exited(0))
        }
    }
}
