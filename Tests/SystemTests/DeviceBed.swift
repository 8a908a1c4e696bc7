import Glibc
import TestSupport
import Testing

/// Devices of a test's own, as the kernel would show them: files that jostle-sensord takes for /sys and /dev.
///
/// What there is, and how it changes, is said in commands to `Tests/Scripts/device-bed.py`.
final class DeviceBed {
    /// What makes a program see these devices and no others.
    let environment: [String: String]
    private let program: BackgroundProgram
    private let commands: Int32

    init(_ stage: Stage) throws {
        let fifo = "\(stage.bus.directory)/devices"
        try #require(mkfifo(fifo, 0o600) == 0)
        self.program = try BackgroundProgram(
            tool: ["umockdev-wrapper", "/usr/bin/python3", Programs.source("Tests/Scripts/device-bed.py"), fifo])
        let root = try self.program.waitForLine { $0.hasPrefix("bed ") }.dropFirst(4)
        // Opened for both, so that it does not wait for the reader.
        self.commands = open(fifo, O_RDWR | O_CLOEXEC)
        try #require(self.commands >= 0)
        self.environment = ["LD_PRELOAD": "libumockdev-preload.so.0", "UMOCKDEV_DIR": String(root)]
    }

    deinit {
        _ = close(self.commands)
        _ = try? self.program.terminate()
    }

    /// Performs commands; returns when all are done.
    func perform(_ commands: String...) throws {
        for command in commands {
            let bytes = Array("\(command)\n".utf8)
            try #require(write(self.commands, bytes, bytes.count) == bytes.count)
            let answer = try self.program.waitForLine { _ in true }
            try #require(answer == "done", "\(command): \(answer)")
        }
    }

    /// What an attribute holds now, without the line feed.
    func attribute(_ name: String, of device: String) throws -> String {
        let path = "\(self.environment["UMOCKDEV_DIR"] ?? "")/sys\(device)/\(name)"
        return String(try Tool.run(["cat", path]).stdout.prefix { $0 != "\n" })
    }

    /// The command that adds the devices of a description.
    static func add(_ name: String, _ values: String...) -> String {
        "add \(Programs.source("Tests/Devices/\(name).umockdev")) " + values.map { "'\($0)'" }.joined(separator: " ")
    }

    /// The command that adds an accelerometer that is polled and lies flat; its counts are mg.
    static func accelerometer(
        _ number: Int = 0, name: String = "mock_accel", label: String = "", matrix: String = "1, 0, 0; 0, 1, 0; 0, 0, 1"
    ) -> String {
        self.add("accelerometer", "NUMBER=\(number)", "NAME=\(name)", "LABEL=\(label)", "MATRIX=\(matrix)")
    }

    /// The command that adds a device with a buffer; in it accelerometer and gyroscope, 1 mg and 1 mrad/s a count.
    static func buffered(
        trigger: String = "imu-dev3", z: String = "be:s12/16>>4", stamp: String = "le:s64/64>>0"
    ) -> String { self.add("buffered", "TRIGGER=\(trigger)", "Z=\(z)", "STAMP=\(stamp)") }

    static func accelerometerPath(_ number: Int = 0) -> String {
        "/devices/platform/accel\(number)/iio:device\(number)"
    }
}

/// Bytes as the bed's commands take them, lowest first.
func hex<T: FixedWidthInteger>(_ values: T...) -> String {
    var text = ""
    for value in values {
        for shift in stride(from: 0, to: T.bitWidth, by: 8) {
            let byte = UInt8(truncatingIfNeeded: value >> T(shift))
            text += byte < 16 ? "0" + String(byte, radix: 16) : String(byte, radix: 16)
        }
    }
    return text
}
