import CEvdev
import CLinux
import DeviceCore
import Glibc
import Loop

/// What the kernel tells in sysfs of an input device, which nobody needs a right to read.
struct InputFacts {
    /// The device's name for people; empty when it has none.
    var name: String
    private let axes: InputBits?
    private let switches: InputBits?
    private let properties: InputBits?

    /// - Parameter path: the directory of the event node; the device's own is the one above it.
    init(of path: String) {
        let directory = AttributeDirectory(path: path + "/..")
        func bits(_ name: String) -> InputBits? { (try? directory.text(name)).flatMap { InputBits($0) } }
        self.name = (try? directory.text("name")) ?? ""
        self.axes = bits("capabilities/abs")
        self.switches = bits("capabilities/sw")
        self.properties = bits("properties")
    }

    var isAccelerometer: Bool { self.properties?.has(CEvdev_INPUT_PROP_ACCELEROMETER) ?? false }
    /// A switch that closes when something comes near the screen: phones have it among their buttons.
    var tellsProximity: Bool { self.switches?.has(CEvdev_SW_FRONT_PROXIMITY) ?? false }

    /// Whether there are three axes from this one on. Where the kernel tells nothing, there are those of an accelerometer.
    func hasAxes(from axis: UInt32) -> Bool {
        guard let axes else { return axis == CEvdev_ABS_X }
        return (axis..<axis + 3).allSatisfy { axes.has($0) }
    }
}

/// An open input device: followed by libevdev where that can take it, else asked for its state by `ioctl`.
@safe
final class InputDevice {
    let descriptor: OwnedDescriptor
    /// `nil` for a device that does not answer what libevdev asks first of all.
    private let device: OpaquePointer?
    /// What follows is how the device's state differs from what it told.
    private var isSyncing = false
    /// Events taken in one turn: more than the kernel keeps for one who reads a device.
    private static let longestTurn = 1_024

    /// Where an axis is, and how far it reaches.
    struct Axis {
        var value: Int32
        var least: Int32
        var most: Int32
        /// Units per physical unit; 0 when nothing is said.
        var resolution: Int32
    }

    init(_ node: String) throws(DeviceProblem) {
        do throws(SystemError) {
            self.descriptor = try OwnedDescriptor(opening: node, O_RDONLY | O_NONBLOCK)
        } catch {
            throw DeviceProblem(error, on: node)
        }
        var device: OpaquePointer?
        // SAFETY: the descriptor is open and outlives the object, which is released in deinit; on failure there is none.
        let result = unsafe libevdev_new_from_fd(self.descriptor.raw, &device)
        unsafe self.device = result == 0 ? device : nil
    }

    deinit {
        // SAFETY: the object is ours, and nothing uses it any more.
        if let device = unsafe self.device { unsafe libevdev_free(device) }
    }

    /// True while events tell the state; false where it is asked for.
    var isFollowed: Bool { unsafe self.device != nil }

    func axis(_ number: UInt32) throws(DeviceProblem) -> Axis {
        if let device = unsafe self.device {
            // SAFETY: the struct belongs to the device and is copied at once.
            guard let info = unsafe libevdev_get_abs_info(device, number) else {
                throw DeviceProblem("an axis is missing")
            }
            return unsafe Axis(
                value: info.pointee.value, least: info.pointee.minimum, most: info.pointee.maximum,
                resolution: info.pointee.resolution)
        }
        var answer = CLinux_axis()
        let raw = self.descriptor.raw
        // SAFETY: the struct lives until the call returns.
        try self.ask { unsafe CLinux_input_axis(raw, number, &answer) }
        guard answer.least < answer.most else { throw DeviceProblem("an axis is missing") }
        return Axis(value: answer.value, least: answer.least, most: answer.most, resolution: answer.resolution)
    }

    func isClosed(_ number: UInt32) throws(DeviceProblem) -> Bool {
        if let device = unsafe self.device {
            // SAFETY: the device is there.
            return unsafe libevdev_get_event_value(device, CEvdev_EV_SW, number) != 0
        }
        var answer: UInt32 = 0
        let raw = self.descriptor.raw
        // SAFETY: the word lives until the call returns.
        try self.ask { unsafe CLinux_input_switches(raw, &answer) }
        return answer >> number & 1 == 1
    }

    private func ask(_ call: () -> Int32) throws(DeviceProblem) {
        do throws(SystemError) {
            try systemCall("ioctl", call)
        } catch {
            throw DeviceProblem(error, on: "the device")
        }
    }

    /// Takes in what the device told. False when there may be more, because it tells more than there is time for.
    func takeEvents() throws(DeviceProblem) -> Bool {
        guard let device = unsafe self.device else { return try self.drain() }
        for _ in 0..<Self.longestTurn {
            // SAFETY: the device is there.
            let result = unsafe CEvdev_advance(device, self.isSyncing ? 1 : 0)
            switch result {
            case 0: continue
            // The kernel dropped events because we slept: what follows is how the device's state differs.
            case 1: self.isSyncing = true
            case -EAGAIN where self.isSyncing: self.isSyncing = false
            case -EAGAIN: return true
            default:
                throw DeviceProblem(SystemError(code: -result, function: "libevdev_next_event"), on: "the device")
            }
        }
        return false
    }

    /// Throws away what was told, or a part of it: who is asked for its state need not have been heard.
    private func drain() throws(DeviceProblem) -> Bool {
        var events = [UInt8](repeating: 0, count: 24 * Self.longestTurn)
        while true {
            let raw = self.descriptor.raw
            let count = unsafe events.withUnsafeMutableBytes { buffer in
                // SAFETY: the kernel writes at most `buffer.count` bytes at its base.
                unsafe Glibc.read(raw, buffer.baseAddress, buffer.count)
            }
            if count > 0 { return true }
            guard count < 0 else { throw DeviceProblem("the device has ended") }
            let error = SystemError.last("read")
            if error.code == EAGAIN { return true }
            if error.code != EINTR { throw DeviceProblem(error, on: "the device") }
        }
    }
}
