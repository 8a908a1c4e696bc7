import Glibc
import Loop

/// Why a device cannot be read.
struct DeviceProblem: Swift.Error, Equatable {
    var message: String
    /// True when trying again at once is no use.
    var isFinal: Bool

    /// Something about the device that stays as it is.
    init(_ message: String) {
        self.message = message
        self.isFinal = true
    }

    /// A reading that makes no sense; the next may.
    init(passing message: String) {
        self.message = message
        self.isFinal = false
    }

    /// It does not say what it counts, and there is nothing yet to learn that from.
    static let showsNothing = DeviceProblem(passing: "it shows 0 on each axis, and nothing says what it counts")

    /// A system call that failed on something of the device's.
    init(_ error: SystemError, on what: String) {
        self.message = "\(what): \(SystemError.message(for: error.code))"
        // A bus between device and host that stumbles recovers by itself; a device that is gone or taken does not.
        self.isFinal = ![EIO, EAGAIN, ETIMEDOUT, EINVAL, EPROTO, EREMOTEIO].contains(error.code)
    }
}
