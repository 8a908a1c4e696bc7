import Glibc
import TestSupport
import Testing

extension Senses {
    /// A laptop with two accelerometers: its hinge, who hears of it, and the switch.
    @Suite(.serialized) struct HingeReader {
        private static let display = DeviceBed.accelerometerPath(1)
        private static let hinge = "\(Stage.Object.sensors)/hinge"

        private func start(_ stage: Stage, _ bed: DeviceBed, _ options: String...) throws -> BackgroundProgram {
            let program = try BackgroundProgram(
                "jostle-sensord", ["--bus", stage.address] + options, environment: bed.environment)
            try Stage.waitUntilServing(program)
            return program
        }

        /// The base lies; the display stands upright, as Linux reads it.
        private func laptop(_ stage: Stage, base: String = "accel-base") throws -> DeviceBed {
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.accelerometer(0, name: "kxcjk", label: base),
                DeviceBed.accelerometer(1, name: "bmc150", label: "accel-display"),
                "set \(Self.display) in_accel_y_raw -1000", "set \(Self.display) in_accel_z_raw 0")
            return bed
        }

        private func readings(_ stage: Stage) throws -> String? {
            try stage.jostle("sensors", "--json").stdout.split(separator: "\n").map(String.init)
                .first { field("sensor", of: $0) == "\"hinge\"" }
        }

        @Test func aLaptopIsFoldedRoundAndBack() throws {
            let stage = try Stage(source: nil)
            let bed = try self.laptop(stage)
            let reader = try self.start(stage, bed)
            #expect(try stage.property("Unit", at: Self.hinge) == "s \"deg,%\"")
            #expect(try stage.property("State", at: Self.hinge) == "s \"idle\"")
            let app = try stage.watch("tablet-mode")
            let open = try stage.watch("--when", "angle > 85deg and confidence > 90%", "--sensor", "hinge")
            #expect(try number("peak", of: open.nextEvent()).map { ($0 - .pi / 2).magnitude < 0.02 } == true)
            let line = try #require(try self.readings(stage))
            #expect(line.contains("\"values\":[90.0,100.0]"), "\(line)")
            // It hangs over the edge of the table: 270 degrees.
            try bed.perform("set \(Self.display) in_accel_y_raw 1000")
            #expect(try number("peak", of: app.nextEvent()) == 1)
            try bed.perform("set \(Self.display) in_accel_y_raw -1000")
            #expect(try number("peak", of: app.nextEvent()) == 2)
            // A display that is unplugged takes the hinge with it, and brings it back.
            try bed.perform("remove \(Self.display)")
            try stage.until("the hinge is absent") { try stage.property("State", at: Self.hinge) == "s \"absent\"" }
            try bed.perform(
                DeviceBed.accelerometer(1, name: "bmc150", label: "accel-display"),
                "set \(Self.display) in_accel_y_raw 1000", "set \(Self.display) in_accel_z_raw 0")
            #expect(try number("peak", of: app.nextEvent()) == 1)
            for app in [app, open] { try stage.kill(app) }
            try stage.until("the hinge stands still") { try stage.property("State", at: Self.hinge) == "s \"idle\"" }
            try stage.until("so does the base") {
                try stage.property("State", at: "\(Stage.Object.sensors)/accelerometer_2dbase") == "s \"idle\""
            }
            #expect(try reader.terminate() == .exited(0))
        }

        /// What others want of the display's accelerometer is no matter of who claims the hinge.
        @Test func aFasterClaimOnTheDisplayChangesNoPace() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try self.laptop(stage)
            let reader = try self.start(stage, bed)
            func claim(_ path: String, _ rate: Double) -> String {
                "call org.jostle.Sensors1 \(path) org.jostle.Sensors1.Sensor Claim a{sv} [{'rate':V('d',\(rate))}]"
            }
            let script = try stage.startScript(
                "x \(claim(Self.hinge, 25))", "y \(claim(Stage.Object.accelerometer, 100))")
            try script.waitUntilSaid("staying")
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 100")
            #expect(try stage.property("Rate", at: Self.hinge) == "d 25")
            #expect(try reader.terminate() == .exited(0))
        }

        /// Where no label says which is which, the command line does.
        @Test func theSidesMayBeNamed() throws {
            let stage = try Stage(source: nil)
            let bed = try self.laptop(stage, base: "")
            var reader = try self.start(stage, bed)
            #expect(try self.readings(stage) == nil)
            #expect(try reader.terminate() == .exited(0))
            reader = try self.start(stage, bed, "--hinge", "accelerometer-2,accelerometer")
            let open = try stage.watch("--when", "confidence > 90%", "--sensor", "hinge")
            _ = try open.nextEvent()
            #expect(try reader.terminate() == .exited(0))
            for wrong in ["accelerometer", "accelerometer,accelerometer", "accelerometer,light", "a,b,c"] {
                let result = try Tool.run(
                    [Programs.path(of: "jostle-sensord"), "--bus", stage.address, "--hinge", wrong])
                #expect(result.status == 2 && result.stderr.contains("the names of two sensors"), "\(result)")
            }
        }

        /// A desktop gives a tablet no keyboard: a laptop is none for long after its hinge is not to be seen any more.
        @Test func whatIsNotSeenIsNoTabletForLong() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try self.laptop(stage)
            let base = DeviceBed.accelerometerPath(0)
            // Folded round by 270 degrees.
            try bed.perform("maker /dev/uinput", "set \(Self.display) in_accel_y_raw 1000")
            let reader = try self.start(stage, bed, "--tablet-switch")
            func untilTold(_ value: Int) throws {
                try stage.until("the switch is at \(value)") {
                    (try? bed.perform("told /dev/uinput \(value)")) != nil
                }
            }
            try untilTold(1)
            let spoiled = ContinuousClock.now
            try bed.perform("spoil \(base) in_accel_y_raw")
            try untilTold(0)
            // Who stumbles for a moment is believed.
            #expect(ContinuousClock.now - spoiled >= .seconds(3))
            try bed.perform("heal \(base) in_accel_y_raw 0")
            try untilTold(1)
            #expect(try reader.terminate() == .exited(0))
        }

        /// A machine without /dev/uinput has a reader all the same, and is told what it lacks.
        @Test func aSwitchThatCannotBeMadeIsTold() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try self.laptop(stage)
            // Where there is one, another node lies over it.
            let hiding = "test ! -e /dev/uinput || mount --bind /dev/null /dev/uinput; exec \"$@\""
            let reader = try BackgroundProgram(
                "jostle-sensord", ["--bus", stage.address, "--tablet-switch"], environment: bed.environment,
                under: ["unshare", "-m", "sh", "-ec", hiding, "sh"])
            _ = try reader.waitForLine(on: .errors) { $0.contains("there is no tablet switch: /dev/uinput: ") }
            try Stage.waitUntilServing(reader)
            #expect(try stage.property("State", at: Self.hinge) == "s \"idle\"")
            #expect(try reader.terminate() == .exited(0))
        }
    }
}
