import CDBus

/// A D-Bus error: the name is the API, the message is for people and logs.
package struct BusError: Swift.Error, Equatable, CustomStringConvertible {
    package let name: String
    package let message: String

    package init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    package var description: String {
        self.message.isEmpty ? self.name : "\(self.message) (\(self.name))"
    }

    package static func failed(_ message: String) -> BusError { standard("Failed", message) }
    package static func noReply(_ message: String) -> BusError { standard("NoReply", message) }
    package static func disconnected(_ message: String) -> BusError { standard("Disconnected", message) }
    package static func invalidArguments(_ message: String) -> BusError { standard("InvalidArgs", message) }
    package static func accessDenied(_ message: String) -> BusError { standard("AccessDenied", message) }
    package static func limitsExceeded(_ message: String) -> BusError { standard("LimitsExceeded", message) }
    package static func notSupported(_ message: String) -> BusError { standard("NotSupported", message) }
    /// What a caller hears of an object that is not there, and of one that is nothing to the caller.
    package static func noObject(at path: String) -> BusError { unknownObject("there is no object at \(path)") }
    package static func unknownObject(_ message: String) -> BusError { standard("UnknownObject", message) }
    package static func unknownInterface(_ message: String) -> BusError { standard("UnknownInterface", message) }
    package static func unknownMethod(_ message: String) -> BusError { standard("UnknownMethod", message) }
    package static func unknownProperty(_ message: String) -> BusError { standard("UnknownProperty", message) }
    package static func propertyReadOnly(_ message: String) -> BusError { standard("PropertyReadOnly", message) }

    /// What a caller hears whose user the bus does not know, as when it was reached by TCP.
    package static let unknownCaller = accessDenied("the bus does not know your user")
    /// What a caller hears when the bus failed to say who he is. He may ask again: it has not said that it does not know.
    package static func untoldCaller(_ error: BusError) -> BusError {
        failed("the bus does not say who you are: \(error.message)")
    }

    /// An error of `org.freedesktop.DBus.Error`.
    package static func standard(_ name: String, _ message: String) -> BusError {
        BusError("org.freedesktop.DBus.Error." + name, message)
    }

    /// True when no answer came in time.
    package var isUnanswered: Bool { self.name == "org.freedesktop.DBus.Error.NoReply" }

    /// True when there was no room, for now: at whoever was asked, or at the bus.
    package var isOverLimit: Bool { self.name == "org.freedesktop.DBus.Error.LimitsExceeded" }

    /// True when nobody owns the name that was asked about.
    package var isNameFree: Bool { self.name == "org.freedesktop.DBus.Error.NameHasNoOwner" }

    /// True when whoever was asked does not let us have that, now or later.
    package var isDenied: Bool { self.name == "org.freedesktop.DBus.Error.AccessDenied" }

    /// True when nobody owns the name that was called, and nobody could be started for it.
    package var isServiceMissing: Bool {
        self.isNameFree || self.name == "org.freedesktop.DBus.Error.ServiceUnknown"
            || self.name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
    }

    /// True when there is no bus, or it ended the connection or left a call without its answer.
    package var isBusMissing: Bool {
        self.isUnanswered
            || ["Disconnected", "NoServer", "FileNotFound"].contains {
                self.name == "org.freedesktop.DBus.Error." + $0
            }
    }

    /// True when something failed, and no more is said of it.
    package var hasFailed: Bool { self.name == "org.freedesktop.DBus.Error.Failed" }

    /// True when nobody refused what was asked for: there was no answer or no room, or something failed, as where the bus does not say
    /// who asks. It may be asked for again later.
    package var isForTheMoment: Bool {
        self.isBusMissing || self.isOverLimit || self.hasFailed
    }
}

/// Runs `body` with a libdbus error to fill in, and throws what it filled in.
func withDBusError<R>(_ body: (UnsafeMutablePointer<DBusError>) -> R) throws(BusError) -> R {
    var error = unsafe DBusError()
    // SAFETY: initialised before use and freed after; the strings are copied.
    unsafe dbus_error_init(&error)
    defer { unsafe dbus_error_free(&error) }
    let result = unsafe body(&error)
    guard unsafe dbus_error_is_set(&error) == 0 else {
        throw unsafe BusError(text(error.name) ?? "", text(error.message) ?? "")
    }
    return result
}

/// A peer's text for a message: long enough to recognise, no longer.
func shortened(_ text: String) -> String {
    text.utf8.count <= 96 ? text : String(text.prefix(64)) + "…"
}
