import Glibc
import TestSupport
import Testing

/// What people do with their devices, from the device to the apps.
extension Senses.Devices {
    /// The documented case without anything made or played: a gentle shake of the device reaches one app, a hard one both.
    @Test(arguments: ["polled", "buffered"])
    func theDocumentedCaseHappensThroughADevice(method: String) throws {
        let stage = try Stage(source: nil)
        let bed = try DeviceBed(stage)
        var target = Self.flat
        if method == "buffered" {
            target = "/dev/iio:device3"
            try bed.perform(DeviceBed.buffered(z: "be:s16/16>>0"), "pipe \(target)")
        } else {
            try bed.perform(DeviceBed.accelerometer())
        }
        let reader = try self.start(stage, bed)
        let app = try stage.watch("shake.planar,threshold=2.3g", "--app", "org.example.App")
        let player = try stage.watch("shake.planar,threshold=3.5g", "--app", "org.example.Player")
        try self.until("accelerometer", is: "running", on: stage)
        // Lies still for longer than a rest after each shake.
        let began = Self.boottime()
        try bed.perform("move \(target) 2800 2.8")
        let hard = Self.boottime()
        try bed.perform("move \(target) 4500 2.8")

        let gentle = try app.nextEvent()
        #expect(field("sequence", of: gentle) == "1")
        #expect(try #require(number("peak", of: gentle)) < 2.9, "\(gentle)")
        #expect((Double(began)...Double(hard)).contains(try #require(number("t_us", of: gentle))), "\(gentle)")
        for (program, sequence) in [(app, "2"), (player, "1")] {
            let event = try program.nextEvent()
            #expect(field("sequence", of: event) == sequence, "\(event)")
            #expect(try #require(number("t_us", of: event)) >= Double(hard), "\(event)")
        }

        // It all shows: driver, rates, range, claims and what is read now.
        func shown(_ arguments: String...) throws -> String {
            let program = try BackgroundProgram("jostle", ["sensors"] + arguments, environment: stage.environment)
            try bed.perform("move \(target) 0 0.6")
            return try program.waitForLine { $0.contains("accelerometer") }
        }
        let line = try shown("--json")
        #expect(field("method", of: line) == "\"\(method)\"", "\(line)")
        #expect(field("simulated", of: line) == "false" && field("claims", of: line) == "1", "\(line)")
        #expect(field("driver", of: line) == (method == "buffered" ? "\"imu\"" : "\"mock_accel\""), "\(line)")
        #expect(line.contains("\"values\":[0.0,0.0,1.0]"), "\(line)")
        #expect(try shown().contains("  0.00 0.00 1.00  "))
        #expect(try reader.terminate() == .exited(0))
    }

    /// Apps and a claimant of raw samples at work, while the device is pulled out and put back again and again.
    @Test func unpluggedAndPluggedInAgainUnderLoad() throws {
        let stage = try Stage(source: nil)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.accelerometer())
        let reader = try self.start(stage, bed)
        let raw = try stage.startScript("r hear Samples", "r \(Self.claim("accelerometer", 200))")
        _ = try raw.waitForLine { $0.hasPrefix("r ok ") }
        // Hit at each look, fifty times a second; and one that needs a second without a gap.
        let apps = try (0..<8).map { index in
            try stage.watch(
                "--when", "norm(x, y, z) > 0.\(index + 1)g", "--every", "20ms", "--rest", "0s", "--app",
                "org.example.App\(index)")
        }
        let held = try stage.watch("--when", "held(norm(x, y, z) > 2g, 1s)", "--every", "20ms", "--rest", "0s")
        for app in apps { _ = try app.nextEvent() }
        func claims() throws -> String? { field("claims", of: try self.sensor("accelerometer", on: stage)) }
        #expect(try claims() == "2")
        // How long after the device the last of the apps had a sample, in each round.
        var waits: [Double] = []
        for round in 0..<3 {
            try bed.perform("set \(Self.flat) in_accel_x_raw 3000", "remove \(Self.flat)")
            try self.until("accelerometer", is: "absent", on: stage)
            #expect(try claims() == "2", "round \(round)")
            let away = Self.boottime()
            try bed.perform(DeviceBed.accelerometer(), "set \(Self.flat) in_accel_x_raw 3000")
            let back = Self.boottime()
            var wait = 0.0
            for app in apps + [held] {
                let event = try app.nextEvent { (number("t_us", of: $0) ?? 0) > Double(away) }
                let time = try #require(number("t_us", of: event))
                if app === held {
                    #expect(time - Double(away) >= 1_000_000, "round \(round): true across the gap: \(event)")
                } else {
                    wait = max(wait, time - Double(back))
                }
            }
            waits.append(wait)
            #expect(try claims() == "2", "round \(round)")
        }
        // A machine that stands still makes one round late, not each.
        #expect(waits.contains { $0 <= 1_000_000 }, "\(waits)")
        #expect(try stage.count("Refused", at: Stage.Object.accelerometer) == 0)
        #expect(try reader.terminate() == .exited(0))
    }
}
