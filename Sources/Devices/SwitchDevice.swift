import CEvdev
import Glibc
import Loop

/// An input device of our own, with the switch that says whether a laptop is a tablet; gone with this object.
///
/// Not `Sendable`: it belongs to the loop's thread.
@safe
package final class SwitchDevice {
    /// Why there is none, or why it cannot be set.
    package struct Problem: Swift.Error {
        package let message: String
    }

    private let device: OpaquePointer

    package init(named name: String) throws(Problem) {
        // SAFETY: a new object, or none.
        guard let description = unsafe libevdev_new() else { throw Problem(message: "no memory") }
        // SAFETY: the description is ours, and what is made of it keeps nothing of it.
        defer { unsafe libevdev_free(description) }
        // SAFETY: the name is copied.
        unsafe libevdev_set_name(description, name)
        // SAFETY: a switch needs nothing besides.
        guard unsafe libevdev_enable_event_code(description, CEvdev_EV_SW, CEvdev_SW_TABLET_MODE, nil) == 0 else {
            throw Problem(message: "libevdev knows no tablet mode")
        }
        var device: OpaquePointer?
        // SAFETY: the description is there; what is made is ours, and is ended in deinit.
        let result = unsafe CEvdev_make(description, &device)
        guard result == 0, let device = unsafe device else {
            throw Problem(message: "/dev/uinput: \(SystemError.message(for: -result))")
        }
        unsafe self.device = device
    }

    deinit {
        // SAFETY: the device is ours, and nothing uses it any more.
        unsafe libevdev_uinput_destroy(self.device)
    }

    /// Sets the switch, and tells whoever reads it.
    package func set(_ isOn: Bool) throws(Problem) {
        // SAFETY: the device is there.
        let result = unsafe CEvdev_set(self.device, CEvdev_EV_SW, CEvdev_SW_TABLET_MODE, isOn ? 1 : 0)
        guard result == 0 else { throw Problem(message: SystemError.message(for: -result)) }
    }
}
