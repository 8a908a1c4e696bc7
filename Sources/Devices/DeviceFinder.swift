import CUdev
import DeviceCore
import Glibc
import Loop

/// What udev says of a device that came, changed or went.
struct DeviceNotice: Equatable {
    enum Change {
        case there
        case gone
    }

    enum Subsystem: String, CaseIterable {
        case iio
        case input
        case hwmon
        case platform

        /// What the names of its devices begin with that can be sensors.
        var prefix: String {
            switch self {
            case .iio: "iio"
            case .input: "event"
            case .hwmon, .platform: ""
            }
        }

        /// The first to come is the first to have its kind's name.
        var rank: Int {
            switch self {
            case .iio: 0
            case .input: 1
            case .hwmon, .platform: 2
            }
        }

        /// Where the subsystem's devices stand, if there are many and hardly one of them is a sensor.
        var crowd: String? {
            switch self {
            case .iio, .input: nil
            case .hwmon: "/sys/class/hwmon"
            case .platform: "/sys/bus/platform/devices"
            }
        }
    }

    var change: Change
    var subsystem: Subsystem
    /// `iio:device0`, `event3`.
    var systemName: String
    /// The device's directory in sysfs.
    var path: String
    /// `/dev/iio:device0`; `nil` when it has none.
    var node: String?
    var mountMatrix: String?
    var location: String?
    var nearLevel: String?
    /// udev takes the input device for an accelerometer.
    var isAccelerometer: Bool
    /// It is a part of a game pad.
    var isInPad: Bool
    /// udev takes the input device for a joystick.
    var isJoystick: Bool

    /// Whether the kernel has it from a sensor hub that speaks HID: each sensor of one is a device of this name.
    var isInHub: Bool { self.path.contains("/HID-SENSOR-") }

    /// Which one of its subsystem it is: the number at the end of its name.
    var number: Int { Int(String(self.systemName.reversed().prefix { $0.isNumber }.reversed())) ?? 0 }
}

/// Finds devices through udev: those that are there, and those that come and go later.
///
/// Not `Sendable`: it belongs to the loop's thread. The corresponding C library is libudev.
@safe
final class DeviceFinder {
    private let udev: OpaquePointer
    private var monitor: OpaquePointer?
    private let loop: EventLoop
    private var watch: EventLoop.Registration?
    /// News taken in one turn: devices that come and go without end leave time for others.
    private static let longestTurn = 64
    var onNotice: (DeviceNotice) -> Void = { _ in }
    /// More came at once than the kernel keeps for us.
    var onLoss: () -> Void = {}

    init(on loop: EventLoop) throws(DeviceProblem) {
        self.loop = loop
        // SAFETY: no arguments; the object is released in deinit.
        guard let udev = unsafe udev_new() else { throw DeviceProblem("udev: \(SystemError.message(for: errno))") }
        unsafe self.udev = udev
    }

    deinit {
        if let watch { self.loop.cancel(watch) }
        // SAFETY: both are ours, and nothing uses them any more.
        if let monitor = unsafe self.monitor { _ = unsafe udev_monitor_unref(monitor) }
        _ = unsafe udev_unref(self.udev)
    }

    /// Listens for devices that come and go. To be called before `devices()`, so that none falls in between.
    func listen() throws(DeviceProblem) {
        // SAFETY: udev lives as long as we; the name is a constant. The object is released in deinit.
        guard let monitor = unsafe udev_monitor_new_from_netlink(self.udev, "udev") else {
            throw DeviceProblem("no news of devices: \(SystemError.message(for: errno))")
        }
        unsafe self.monitor = monitor
        for subsystem in DeviceNotice.Subsystem.allCases {
            // SAFETY: the monitor is there; the name is copied.
            _ = unsafe udev_monitor_filter_add_match_subsystem_devtype(monitor, subsystem.rawValue, nil)
        }
        let result = unsafe udev_monitor_enable_receiving(monitor)
        guard result >= 0 else { throw DeviceProblem("no news of devices: \(SystemError.message(for: -result))") }
        do throws(SystemError) {
            let descriptor = unsafe udev_monitor_get_fd(monitor)
            self.watch = try self.loop.watch(descriptor, for: .read) { [weak self] _ in self?.receive() }
        } catch {
            throw DeviceProblem(error, on: "udev")
        }
    }

    private func receive() {
        guard let monitor = unsafe self.monitor else { return }
        errno = 0
        // SAFETY: the monitor is there, and does not wait; each device is released here.
        for _ in 0..<Self.longestTurn {
            guard let device = unsafe udev_monitor_receive_device(monitor) else { break }
            defer { _ = unsafe udev_device_unref(device) }
            let action = unsafe Self.text(udev_device_get_action(device))
            let isGone = action == "remove" || action == "unbind"
            if let notice = unsafe Self.notice(of: device, isGone ? .gone : .there) { self.onNotice(notice) }
            errno = 0
        }
        if errno == ENOBUFS { self.onLoss() }
    }

    /// The devices that are there now.
    func devices() -> [DeviceNotice] {
        DeviceNotice.Subsystem.allCases.flatMap { subsystem in
            subsystem.crowd.map { self.lights(in: subsystem, $0) } ?? self.devices(in: subsystem)
        }
    }

    /// What udev says of a device by now; `nil` when it is gone.
    func device(at path: String) -> DeviceNotice? {
        // SAFETY: udev lives as long as we; the path is NUL-terminated for the call; the device is released here.
        guard let device = unsafe udev_device_new_from_syspath(self.udev, path) else { return nil }
        defer { _ = unsafe udev_device_unref(device) }
        return unsafe Self.notice(of: device, .there)
    }

    /// The devices of a crowd that have the attribute of a light sensor. libudev takes 50 us for each device that it looks at.
    private func lights(in subsystem: DeviceNotice.Subsystem, _ crowd: String) -> [DeviceNotice] {
        let directory = AttributeDirectory(path: crowd)
        return directory.names(in: ".").filter { directory.has("\($0)/\(LightPair.attribute)") }.compactMap { name in
            // SAFETY: udev lives as long as we; the names are NUL-terminated for the call; the device is released here.
            guard let device = unsafe udev_device_new_from_subsystem_sysname(self.udev, subsystem.rawValue, name) else {
                return nil
            }
            defer { _ = unsafe udev_device_unref(device) }
            return unsafe Self.notice(of: device, .there)
        }
    }

    private func devices(in subsystem: DeviceNotice.Subsystem) -> [DeviceNotice] {
        // SAFETY: udev lives as long as we; the object is released here.
        guard let search = unsafe udev_enumerate_new(self.udev) else { return [] }
        defer { _ = unsafe udev_enumerate_unref(search) }
        // SAFETY: the search is there; the names are copied.
        _ = unsafe udev_enumerate_add_match_subsystem(search, subsystem.rawValue)
        _ = unsafe udev_enumerate_add_match_sysname(search, subsystem.prefix + "*")
        _ = unsafe udev_enumerate_scan_devices(search)
        var notices: [DeviceNotice] = []
        // SAFETY: the list belongs to the search, which stays until the end.
        var entry = unsafe udev_enumerate_get_list_entry(search)
        while let item = unsafe entry {
            if let path = unsafe udev_list_entry_get_name(item),
                let device = unsafe udev_device_new_from_syspath(self.udev, path)
            {
                if let notice = unsafe Self.notice(of: device, .there) { notices.append(notice) }
                _ = unsafe udev_device_unref(device)
            }
            unsafe entry = udev_list_entry_get_next(item)
        }
        return notices
    }

    /// What we need of a device, or `nil` when it cannot be one of ours.
    private static func notice(of device: OpaquePointer, _ change: DeviceNotice.Change) -> DeviceNotice? {
        // SAFETY: the device is there; each text belongs to it and is copied at once.
        guard let subsystem = unsafe self.text(udev_device_get_subsystem(device)).flatMap(DeviceNotice.Subsystem.init),
            let name = unsafe self.text(udev_device_get_sysname(device)),
            let path = unsafe self.text(udev_device_get_syspath(device)),
            name.hasPrefix(subsystem.prefix)
        else { return nil }
        func property(_ key: String) -> String? { unsafe self.text(udev_device_get_property_value(device, key)) }
        let isAccelerometer = property("ID_INPUT_ACCELEROMETER") == "1"
        return unsafe DeviceNotice(
            change: change, subsystem: subsystem, systemName: name, path: path,
            node: self.text(udev_device_get_devnode(device)), mountMatrix: property("ACCEL_MOUNT_MATRIX"),
            location: property("ACCEL_LOCATION"), nearLevel: property("PROXIMITY_NEAR_LEVEL"),
            isAccelerometer: isAccelerometer, isInPad: isAccelerometer && change == .there && self.isInPad(device),
            isJoystick: property("ID_INPUT_JOYSTICK") == "1")
    }

    /// Whether an input device stands beside one that udev takes for a joystick: both are made of one piece of hardware.
    private static func isInPad(_ device: OpaquePointer) -> Bool {
        // SAFETY: parents belong to the device; udev does too, and outlives the search, which is released here.
        guard let parent = unsafe udev_device_get_parent(device), let hardware = unsafe udev_device_get_parent(parent),
            let search = unsafe udev_enumerate_new(udev_device_get_udev(device))
        else { return false }
        defer { _ = unsafe udev_enumerate_unref(search) }
        // SAFETY: the search is there; the texts are copied.
        _ = unsafe udev_enumerate_add_match_parent(search, hardware)
        _ = unsafe udev_enumerate_add_match_subsystem(search, DeviceNotice.Subsystem.input.rawValue)
        _ = unsafe udev_enumerate_add_match_property(search, "ID_INPUT_JOYSTICK", "1")
        _ = unsafe udev_enumerate_scan_devices(search)
        return unsafe udev_enumerate_get_list_entry(search) != nil
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        // SAFETY: libudev gives NUL-terminated strings or NULL.
        unsafe pointer.map { unsafe String(cString: $0) }
    }
}
