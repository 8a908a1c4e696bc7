import Glibc

/// Devices of a test's own, as the kernel would show them: files that jostle-sensord takes for /sys and /dev.
///
/// What there is, and how it changes, is said in commands to `device-bed.py`.
package final class DeviceBed {
    /// What makes a program see these devices and no others.
    package let environment: [String: String]
    private let program: BackgroundProgram
    private let commands: Int32

    /// Makes a bed whose fifo lies in a directory of the test's own.
    package init(in directory: String) throws(Failure) {
        let fifo = "\(directory)/devices"
        // SAFETY: the path is a terminated string for the time of the call.
        guard unsafe mkfifo(fifo, 0o600) == 0 else { throw Failure.system("mkfifo") }
        self.program = try BackgroundProgram(
            tool: ["umockdev-wrapper", "/usr/bin/python3", Programs.source("Sources/TestSupport/device-bed.py"), fifo])
        let root = try self.program.waitForLine { $0.hasPrefix("bed ") }.dropFirst(4)
        // Opened for both, so that it does not wait for the reader.
        // SAFETY: as above.
        self.commands = unsafe open(fifo, O_RDWR | O_CLOEXEC)
        guard self.commands >= 0 else { throw Failure.system("open") }
        self.environment = ["LD_PRELOAD": "libumockdev-preload.so.0", "UMOCKDEV_DIR": String(root)]
    }

    deinit {
        _ = close(self.commands)
        _ = try? self.program.terminate()
    }

    /// Performs commands; returns when all are done.
    package func perform(_ commands: String...) throws(Failure) {
        for command in commands {
            let bytes = Array("\(command)\n".utf8)
            // SAFETY: the array lives for the call, and its length is given.
            guard unsafe write(self.commands, bytes, bytes.count) == bytes.count else { throw Failure.system("write") }
            let answer = try self.program.waitForLine { _ in true }
            guard answer == "done" else { throw Failure("\(command): \(answer)") }
        }
    }

    /// What an attribute holds now, without the line feed.
    package func attribute(_ name: String, of device: String) throws(Failure) -> String {
        let path = "\(self.environment["UMOCKDEV_DIR"] ?? "")/sys\(device)/\(name)"
        return String(try Tool.run(["cat", path]).stdout.prefix { $0 != "\n" })
    }

    /// The command that adds the devices of a description.
    package static func add(_ name: String, _ values: String...) -> String {
        "add \(Programs.device("\(name).umockdev")) " + values.map { "'\($0)'" }.joined(separator: " ")
    }

    /// The command that adds an accelerometer that is polled and lies flat; its counts are mg.
    package static func accelerometer(
        _ number: Int = 0, name: String = "mock_accel", label: String = "", matrix: String = "1, 0, 0; 0, 1, 0; 0, 0, 1"
    ) -> String {
        self.add("accelerometer", "NUMBER=\(number)", "NAME=\(name)", "LABEL=\(label)", "MATRIX=\(matrix)")
    }

    /// The command that adds a device with a buffer; in it accelerometer and gyroscope, 1 mg and 1 mrad/s a count.
    package static func buffered(
        trigger: String = "imu-dev3", z: String = "be:s12/16>>4", stamp: String = "le:s64/64>>0"
    ) -> String { self.add("buffered", "TRIGGER=\(trigger)", "Z=\(z)", "STAMP=\(stamp)") }

    package static func accelerometerPath(_ number: Int = 0) -> String {
        "/devices/platform/accel\(number)/iio:device\(number)"
    }
}
