import TestSupport
import Testing

extension Senses.Devices {
    /// A device that only turns: gravity wanders over all axes, and whoever looks at `user` sees nothing move.
    @Test func turningIsNoShake() throws {
        let stage = try Stage(source: nil)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.buffered(z: "be:s16/16>>0"), "pipe /dev/iio:device3")
        let reader = try self.start(stage, bed)
        let turned = try stage.watch("--when", "pitch < -1rad", "--sensor", "motion", "--every", "10ms")
        let fused = try stage.watch("--when", "norm(user) > 0.3g", "--sensor", "motion", "--every", "10ms")
        let simple = try stage.watch("--when", "norm(user) > 0.3g", "--every", "10ms")
        try self.until("motion", is: "running", on: stage)
        let line = try self.sensor("motion", on: stage)
        #expect(field("method", of: line) == "\"fused\"", "\(line)")
        #expect(field("source", of: line) == "\"accelerometer and gyroscope\"", "\(line)")
        // Who claims the accelerometer: the broker, and the sensor that is made of it.
        #expect(try field("claims", of: self.sensor("accelerometer", on: stage)) == "2")
        #expect(try field("claims", of: self.sensor("gyroscope", on: stage)) == "1")
        // One reader of one buffer, at a rate for all.
        #expect(try stage.property("Rate", at: "\(Stage.Object.sensors)/motion") == "d 100")

        // A quarter turn about x in half a second, after a second of rest, and then a shake. In our axes the lower edge goes up.
        try bed.perform("turn /dev/iio:device3 1.0 0.5 1500")
        let event = try turned.nextEvent()
        #expect(try #require(number("peak", of: event)) > -1.1, "\(event)")
        // The one takes the turn for motion; what the other hears first is the shake. When it began is told by the turn itself, whenever
        // that was made: a radian of it is done a sixth of a second before the shake.
        let radian = try #require(number("t_us", of: event))
        #expect(try #require(number("t_us", of: simple.nextEvent())) < radian)
        #expect(try #require(number("t_us", of: fused.nextEvent())) > radian + 100_000)
        #expect(try reader.terminate() == .exited(0))
    }

    /// What others want of the accelerometer is no matter of who claims what is made of it.
    @Test func aFasterClaimBesideItChangesNoPace() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.accelerometer())
        let reader = try self.start(stage, bed)
        let script = try stage.startScript(
            "x \(Self.claim("motion", 20))", "y \(Self.claim("accelerometer", 100))", "z \(Self.claim("motion", 10))")
        try script.waitUntilSaid("staying")
        #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 100")
        #expect(try stage.property("Rate", at: "\(Stage.Object.sensors)/motion") == "d 20")
        try stage.kill(script)
        try self.until("accelerometer", is: "idle", on: stage)
        #expect(try reader.terminate() == .exited(0))
    }

    /// Without a gyroscope the same sensor is made of the accelerometer alone, and goes with it.
    @Test func motionNeedsNoGyroscope() throws {
        let stage = try Stage(source: nil)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.accelerometer())
        let reader = try self.start(stage, bed)
        let app = try stage.watch("--when", "norm(user) > 0.3g", "--sensor", "motion", "--every", "50ms")
        try self.until("motion", is: "running", on: stage)
        let line = try self.sensor("motion", on: stage)
        #expect(field("method", of: line) == "\"filtered\"" && field("source", of: line) == "\"accelerometer\"")
        try bed.perform("set \(Self.flat) in_accel_x_raw 1000")
        _ = try app.nextEvent()
        try bed.perform("remove \(Self.flat)")
        try self.until("motion", is: "absent", on: stage)
        try bed.perform(DeviceBed.accelerometer())
        try self.until("motion", is: "running", on: stage)
        try stage.kill(app)
        try self.until("motion", is: "idle", on: stage)
        try self.until("accelerometer", is: "idle", on: stage)
        #expect(try reader.terminate() == .exited(0))
    }
}
