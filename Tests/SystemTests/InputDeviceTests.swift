import TestSupport
import Testing

extension Senses.Devices {
    private static let pad = "/dev/input/event5"
    private static let buttons = "/dev/input/event4"

    /// Adds a pad that answers all that libevdev asks.
    private func addPad(to bed: DeviceBed) throws {
        try bed.perform(DeviceBed.add("pad"), "ioctl \(Programs.device("pad.ioctl"))", "pipe \(Self.pad)")
    }

    @Test func aGamePadIsAnAccelerometerAndAGyroscope() throws {
        func event(_ type: UInt16, _ code: UInt16, _ value: Int32) -> String {
            hex(UInt64(0), 0) + hex(type, code) + hex(value)
        }
        let report = event(0, 0, 0)
        let stage = try Stage(source: nil)
        let bed = try DeviceBed(stage)
        try self.addPad(to: bed)
        let reader = try self.start(stage, bed)
        let line = try self.sensor("gyroscope", on: stage)
        #expect(field("driver", of: line) == "\"Mock Pad Motion Sensors\"", "\(line)")
        #expect(field("method", of: line) == "\"input\"", "\(line)")
        #expect(try stage.property("Range", at: Stage.Object.accelerometer).hasPrefix("d 3.99"))
        let flat = try stage.watch("--when", "z > 0.9g and norm(x, y, z) < 1.1g", "--every", "50ms")
        let shaken = try stage.watch("shake.planar,threshold=2.3g")
        // It lies still and so tells nothing; a sample it is all the same.
        _ = try flat.nextEvent()
        try bed.perform("write \(Self.pad) " + event(3, 0, 24_576) + report)
        #expect(abs(try #require(number("peak", of: try shaken.nextEvent())) - 3) < 0.01)
        // The kernel dropped something: the state is asked for anew.
        let before = Self.boottime()
        try bed.perform("write \(Self.pad) " + event(0, 3, 0) + report)
        _ = try flat.waitForLine { (number("t_us", of: $0) ?? 0) > Double(before) }
        // One after the other: a pipe gives each event to one reader only, unlike the kernel.
        for app in [flat, shaken] { _ = try app.terminate() }
        try self.until("accelerometer", is: "idle", on: stage)
        let spun = try stage.watch("--when", "x > 3rad/s", "--sensor", "gyroscope", "--every", "50ms")
        try self.until("gyroscope", is: "running", on: stage)
        // 180 degrees a second, about an axis that points the other way with us.
        try bed.perform("write \(Self.pad) " + event(3, 3, -184_320) + report)
        #expect(abs(try #require(number("peak", of: try spun.nextEvent())) - .pi) < 0.01)
        #expect(try reader.terminate() == .exited(0))
    }

    @Test func anInputDeviceThatIsNamedMustBeOne() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try self.addPad(to: bed)
        let reader = try self.start(stage, bed, "evdev:\(Self.pad)")
        #expect(field("source", of: try self.sensor("accelerometer", on: stage)) == "\"evdev:\(Self.pad)\"")
        #expect(try reader.terminate() == .exited(0))
        let other = try self.start(stage, bed, "evdev:/dev/input/event6")
        #expect(try stage.jostle("sensors").stdout == "no sensor is there\n")
        #expect(try other.terminate() == .exited(0))
    }

    /// Old drivers set neither the mark of an accelerometer nor a resolution. Gravity tells what they count.
    @Test func aLaptopThatDoesNotSayWhatItCountsIsRead() throws {
        let node = "/dev/input/event6"
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(
            DeviceBed.add("laptop"), "input \(node) asked 0=-512,512,0 1=-512,512,0 2=-512,512,0", "axis \(node) 1 -256"
        )
        let reader = try self.start(stage, bed)
        #expect(reader.errors.contains("it tells no resolution; what it shows on average is taken for 1 g"))
        #expect(field("driver", of: try self.sensor("accelerometer", on: stage)) == "\"Mock Laptop Accelerometer\"")
        #expect(try stage.property("Range", at: Stage.Object.accelerometer) == "d 0")
        let script = try stage.startScript("s hear", "s \(Self.claim("accelerometer", 10))")
        #expect(try self.samples(script, 1).values == [0, 1, 0])
        #expect(try reader.terminate() == .exited(0))
    }

    /// What a device calls itself is anybody's, and is told together with all others.
    @Test func whateverOneIsCalledAllAreShown() throws {
        let name = "x" + String(repeating: "\u{301}", count: 40)
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(
            DeviceBed.add("laptop"), "input /dev/input/event6 asked 0=-512,512,0 1=-512,512,0 2=-512,512,0",
            "bytes /devices/platform/lis3/input/input6 name \(name.utf8.map { hex($0) }.joined())")
        let reader = try self.start(stage, bed)
        #expect(field("source", of: try self.sensor("accelerometer", on: stage)) == "\"evdev:/dev/input/event6\"")
        #expect(try stage.jostle("sensors").status == 0)
        #expect(try reader.terminate() == .exited(0))
    }

    /// One that shows nothing besides gives nothing to learn it from: it says so, until it shows something.
    @Test func aLaptopThatShowsNothingIsBroken() throws {
        let node = "/dev/input/event6"
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.add("laptop"), "input \(node) asked 0=-512,512,0 1=-512,512,0 2=-512,512,0")
        let reader = try self.start(stage, bed)
        let script = try stage.startScript("s hear Samples", "s \(Self.claim("accelerometer", 100))")
        try self.until("accelerometer", is: "broken", on: stage)
        #expect(try self.sensor("accelerometer", on: stage).contains("it shows 0 on each axis"))
        try bed.perform("axis \(node) 1 -256")
        #expect(try self.samples(script, 1).values == [0, 1, 0])
        try self.until("accelerometer", is: "running", on: stage)
        #expect(try reader.terminate() == .exited(0))
    }

    /// A pad beside a joystick is no part of the screen's, whether it comes first or not.
    @Test func theMotionOfAJoypadHasANameOfItsOwn() throws {
        let node = "/dev/input/event8"
        let axes = (0..<3).map { "\($0)=-32768,32767,8192" }.joined(separator: " ")
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.add("joypad"), "input \(node) asked \(axes)")
        let reader = try self.start(stage, bed)
        #expect(field("placement", of: try self.sensor("accelerometer-pad", on: stage)) == "\"pad\"")
        try bed.perform(DeviceBed.accelerometer())
        try self.until("accelerometer", is: "idle", on: stage)
        #expect(field("driver", of: try self.sensor("accelerometer", on: stage)) == "\"mock_accel\"")
        #expect(try reader.terminate() == .exited(0))
    }

    /// The joystick is often told of after what moves beside it.
    @Test func aJoystickThatComesLaterMakesAPad() throws {
        let node = "/dev/input/event8"
        let axes = (0..<3).map { "\($0)=-32768,32767,8192" }.joined(separator: " ")
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(
            DeviceBed.add("joypad"), "input \(node) asked \(axes)", "remove /devices/pci/usb2/hid0/input/input7")
        let reader = try self.start(stage, bed)
        #expect(field("driver", of: try self.sensor("accelerometer", on: stage)) == "\"Mock Joypad Motion Sensors\"")
        try bed.perform(DeviceBed.add("joystick"))
        try self.until("accelerometer", is: "absent", on: stage)
        #expect(field("placement", of: try self.sensor("accelerometer-pad", on: stage)) == "\"pad\"")
        #expect(try reader.terminate() == .exited(0))
    }

    /// A switch says at once what it has to say, however seldom it is asked.
    @Test(arguments: [("followed", "input"), ("asked", "polled")])
    func aProximitySwitchIsHeardAtOnce(how: String, method: String) throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.add("phone"), "input \(Self.buttons) \(how)", "pipe \(Self.buttons)")
        let reader = try self.start(stage, bed)
        let line = try self.sensor("proximity", on: stage)
        #expect(
            field("driver", of: line) == "\"Mock Buttons\"" && field("method", of: line) == "\"\(method)\"", "\(line)")
        let script = try stage.startScript("s hear", "s \(Self.claim("proximity", 0.05))")
        #expect(try self.samples(script, 1).values == [0])
        // The lid, and then what comes near.
        try bed.perform("switch \(Self.buttons) 400", "switch \(Self.buttons) c00")
        #expect(try self.samples(script, 1).values == [1])
        try bed.perform("switch \(Self.buttons) 400")
        #expect(try self.samples(script, 1).values == [0])
        #expect(try reader.terminate() == .exited(0))
    }

    /// The light sensors of a MacBook tell percent of something.
    @Test func aPairOfLightSensorsTellsPercent() throws {
        let path = "/devices/platform/applesmc.768"
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        let reader = try self.start(stage, bed)
        try bed.perform(DeviceBed.add("keyboard"))
        try self.until("light", is: "idle", on: stage)
        let line = try self.sensor("light", on: stage)
        #expect(field("unit", of: line) == "\"%\"" && field("driver", of: line) == "\"applesmc\"", "\(line)")
        let script = try stage.startScript("s hear", "s \(Self.claim("light", 10))")
        #expect(try self.samples(script, 1).values == [0])
        try bed.perform("set \(path) light (51,102)")
        var last = 0.0
        while last == 0 { last = try #require(self.samples(script, 1).values.last) }
        #expect(last == 40)
        try bed.perform("set \(path) light nonsense")
        try self.until("light", is: "broken", on: stage)
        // Another device takes its place and its name, and measures something else.
        try bed.perform("remove \(path)", DeviceBed.add("ambient"))
        try stage.until("it counts lux") {
            try stage.property("Unit", at: "\(Stage.Object.sensors)/light") == "s \"lx\""
        }
        #expect(try reader.terminate() == .exited(0))
    }
}
