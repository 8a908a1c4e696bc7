import TestSupport
import Testing

/// Devices that fail, lie, stand still and go in the middle of things.
extension Senses.Devices {
    /// A bus that stumbles: the reading fails with EIO. The sensor is broken, the others go on, and with the bus it comes back.
    @Test func aReadingThatFailsIsABrokenSensor() throws {
        let stage = try Stage(source: nil)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.accelerometer(0), DeviceBed.accelerometer(1))
        let reader = try self.start(stage, bed)
        let other = try stage.watch(Stage.always)
        let app = try stage.watch(
            "--when", "norm(x, y, z) > 0.5g", "--sensor", "accelerometer-2", "--every", "50ms", "--rest", "0s")
        _ = try app.nextEvent()
        let path = DeviceBed.accelerometerPath(1)
        try bed.perform("spoil \(path) in_accel_y_raw")
        try self.until("accelerometer_2d2", is: "broken", on: stage)
        #expect(try self.sensor("accelerometer-2", on: stage).contains("in_accel_y_raw: Input/output error"))
        let broken = Self.boottime()
        _ = try other.nextEvent { (number("t_us", of: $0) ?? 0) > Double(broken) }
        #expect(try self.sensor("accelerometer", on: stage).contains("\"state\":\"running\""))
        try bed.perform("heal \(path) in_accel_y_raw 0")
        let event = try app.nextEvent { (number("t_us", of: $0) ?? 0) > Double(broken) }
        #expect(field("dropped", of: event) == nil || field("dropped", of: event) == "0", "\(event)")
        try self.until("accelerometer_2d2", is: "running", on: stage)
        #expect(try reader.terminate() == .exited(0))
    }

    /// What cannot be a scale is none, and a guess would be worse than no sensor.
    @Test(arguments: ["0", "-0.01", "nan", "1e30", "0,0098", ""])
    func aScaleThatIsNoneIsABrokenSensor(scale: String) throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(
            DeviceBed.accelerometer(0), DeviceBed.accelerometer(1),
            "set \(DeviceBed.accelerometerPath(1)) in_accel_scale '\(scale)'")
        let reader = try self.start(stage, bed)
        let line = try self.sensor("accelerometer-2", on: stage)
        #expect(field("state", of: line) == "\"broken\"", "\(line)")
        #expect(line.contains("in_accel_scale is "), "\(line)")
        #expect(field("state", of: try self.sensor("accelerometer", on: stage)) == "\"idle\"")
        #expect(try reader.terminate() == .exited(0))
    }

    /// No reading of it could be one.
    @Test(arguments: ["1e308", "-1e300", "nan"])
    func anOffsetThatIsNoneIsABrokenSensor(offset: String) throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.accelerometer(0), "set \(Self.flat) in_accel_offset '\(offset)'")
        let reader = try self.start(stage, bed)
        let line = try self.sensor("accelerometer", on: stage)
        #expect(field("state", of: line) == "\"broken\"" && line.contains("in_accel_offset"), "\(line)")
        #expect(try reader.terminate() == .exited(0))
    }

    /// Without a scale, what shows nothing at all tells no sample: the sensor says so, until it shows something.
    @Test func aSensorThatNeverShowsAnythingIsBroken() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(
            DeviceBed.accelerometer(0), "lose \(Self.flat) in_accel_scale", "set \(Self.flat) in_accel_z_raw 0")
        let reader = try self.start(stage, bed)
        let script = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 100))")
        try self.until("accelerometer", is: "broken", on: stage)
        #expect(try self.sensor("accelerometer", on: stage).contains("it shows 0 on each axis"))
        try bed.perform("set \(Self.flat) in_accel_z_raw 1000")
        #expect(try self.samples(script, 1).values.count >= 3)
        try self.until("accelerometer", is: "running", on: stage)
        #expect(try reader.terminate() == .exited(0))
    }

    /// A sensor that tells the same for ever, and one at the end of its range, are remarked on, and go on; the first change ends it.
    @Test func aStuckOrSaturatedSensorSaysSo() throws {
        let stage = try Stage(source: nil)
        let bed = try DeviceBed(stage)
        // No trigger is its own, so that it is polled; its range is 2.047 g.
        try bed.perform(DeviceBed.buffered(trigger: "somebody-elses"), DeviceBed.accelerometer(0))
        let reader = try self.start(stage, bed)
        let app = try stage.watch("--when", "z > 0.9g", "--sensor", "accelerometer-2", "--every", "50ms")
        let other = try stage.watch(Stage.always)
        try self.until("accelerometer_2d2", is: "stuck", on: stage)
        #expect(try self.sensor("accelerometer-2", on: stage).contains("the readings never change"))
        #expect(
            try stage.property("State", at: Stage.Object.accelerometer) == "s \"running\"",
            "the other one lies still and shows 1 g")
        try bed.perform("set \(Self.imu) in_accel_x_raw 2047")
        try self.until("accelerometer_2d2", is: "saturated", on: stage)
        // Neither is a reason to hold samples back.
        try bed.perform("set \(Self.imu) in_accel_z_raw 1000")
        _ = try app.nextEvent()
        try bed.perform("set \(Self.imu) in_accel_x_raw 3")
        try self.until("accelerometer_2d2", is: "running", on: stage)
        let now = Self.boottime()
        _ = try other.nextEvent { (number("t_us", of: $0) ?? 0) > Double(now) }
        #expect(try reader.terminate() == .exited(0))
    }

    /// The device goes when half a scan has come: the other half never does, and what comes later is not put together with it.
    @Test func aDeviceThatGoesInTheMiddleOfAScan() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3", DeviceBed.accelerometer(0))
        let reader = try self.start(stage, bed)
        let path = "\(Stage.Object.sensors)/accelerometer_2d2"
        let script = try stage.startScript(
            "a hear Samples", "a \(Self.claim("accelerometer_2d2", 100))")
        _ = try script.waitForLine { $0.hasPrefix("a ok ") }
        let before = Self.boottime() * 1_000
        let half = Self.scan(1, 2, 3, at: before).prefix(14)
        try bed.perform("write /dev/iio:device3 \(Self.scan(100, 0, 0, at: before))\(half)")
        #expect(try self.samples(script, 1).numbers == [0])
        try bed.perform(
            "remove \(Self.imu)", "remove /devices/platform/imu/trigger0", "close /dev/iio:device3")
        try self.until("accelerometer_2d2", is: "absent", on: stage)
        #expect(try stage.property("Running", at: path) == "b true", "the claim is kept")
        try bed.perform("pipe /dev/iio:device3", DeviceBed.buffered(), "event \(Self.imu) change")
        try self.until("accelerometer_2d2", is: "running", on: stage)
        let after = Self.boottime() * 1_000
        try bed.perform("write /dev/iio:device3 \(Self.scan(-100, 0, 0, at: after))")
        let later = try self.samples(script, 1)
        #expect(later.numbers == [2], "one number is left out")
        #expect(later.values.first.map { abs($0 - 0.1) < 1e-9 } == true, "\(later)")
        #expect(try stage.property("State", at: Stage.Object.accelerometer) == "s \"idle\"")
        #expect(try reader.terminate() == .exited(0))
    }

    /// A buffer that cannot be set up anew: who can be read without it is, and who cannot says so, whoever asked.
    @Test(arguments: [("accelerometer", "gyroscope"), ("gyroscope", "accelerometer")])
    func aBufferThatIsGivenUpSilencesNobody(first: String, second: String) throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3")
        for axis in ["x", "y", "z"] { try bed.perform("lose \(Self.imu) in_anglvel_\(axis)_raw") }
        try bed.perform("set \(Self.imu) in_accel_z_raw 1000")
        let reader = try self.start(stage, bed)
        let script = try stage.startScript(
            "a hear Samples", "a \(Self.claim(first, 50))", "b \(Self.claim(second, 50))", "say claimed")
        _ = try script.waitForLine { $0 == "claimed" }
        try bed.perform("spoil \(Self.imu) buffer/length")
        _ = try stage.script("c \(Self.claim(second, 200))")
        try self.until("gyroscope", is: "broken", on: stage)
        #expect(try self.sensor("gyroscope", on: stage).contains("in_anglvel_x_raw"))
        try self.until("accelerometer", is: "running", on: stage)
        #expect(field("method", of: try self.sensor("accelerometer", on: stage)) == "\"polled\"")
        if first == "accelerometer" { _ = try self.samples(script, 3) }
        #expect(try reader.terminate() == .exited(0))
    }

    /// What a buffer kept while nobody read it, as while the system slept, is told as old as it is.
    @Test func whatWaitedInABufferIsOld() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3")
        let reader = try self.start(stage, bed)
        let script = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 100))")
        _ = try script.waitForLine { $0.hasPrefix("a ok ") }
        let start = Self.boottime()
        try bed.perform("write /dev/iio:device3 \(Self.scan(0, 0, 1_000, at: start * 1_000))")
        #expect(try self.samples(script, 1).times == [start])
        // More than any device holds back by itself, less than what has the buffer given up.
        try stage.until("time has passed") { Self.boottime() > start + 3_500_000 }
        try bed.perform(
            "write /dev/iio:device3 " + Self.scan(1_000, 0, 1_000, at: (start + 10_000) * 1_000)
                + Self.scan(-1_000, 0, 1_000, at: (start + 20_000) * 1_000))
        #expect(try self.samples(script, 2).times == [start + 10_000, start + 20_000])
        #expect(try reader.terminate() == .exited(0))
    }

    /// Stamps of 32 bits begin again every 4.3 s; times of samples do not.
    @Test func aNarrowStampTurnsOver() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.buffered(stamp: "le:u32/32>>0"), "pipe /dev/iio:device3")
        let reader = try self.start(stage, bed)
        let script = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 100))")
        _ = try script.waitForLine { $0.hasPrefix("a ok ") }
        // Around the next time that the low 32 bits begin again: at most 4.3 s from now.
        let turn = ((Self.boottime() * 1_000) >> 32 + 1) << 32
        var expected: [Int64] = []
        for step in -1...1 {
            let stamp = turn + Int64(step) * 100_000_000
            try stage.until("its time has come") { Self.boottime() * 1_000 >= stamp }
            let low = UInt32(truncatingIfNeeded: stamp)
            try bed.perform(
                "write /dev/iio:device3 " + hex(Int16(0), 0, 1_000) + "0000" + hex(low))
            expected.append((stamp + 500) / 1_000)
        }
        #expect(try self.samples(script, 3).times == expected)
        #expect(try reader.terminate() == .exited(0))
    }
}
