package import DBus
import Motion

/// Bus names, object paths, interfaces and errors, written once for both sides.
package enum BusName {
    package static let sensors = "org.jostle.Sensors1"
    package static let broker = "org.jostle.Broker1"
    package static let focus = "org.jostle.Focus1"
}

package enum InterfaceName {
    package static let sensors: StaticString = "org.jostle.Sensors1"
    package static let sensor: StaticString = "org.jostle.Sensors1.Sensor"
    package static let broker: StaticString = "org.jostle.Broker1"
    package static let app: StaticString = "org.jostle.Broker1.App"
    package static let receiver: StaticString = "org.jostle.Receiver1"
    package static let focus: StaticString = "org.jostle.Focus1"
}

package enum Path {
    package static var sensors: ObjectPath { ObjectPath(literal: "/org/jostle/Sensors1") }
    package static var broker: ObjectPath { ObjectPath(literal: "/org/jostle/Broker1") }
    package static var focus: ObjectPath { ObjectPath(literal: "/org/jostle/Focus1") }
    /// Where an app is called that is started or resumed.
    package static var receiver: ObjectPath { ObjectPath(literal: "/org/jostle/Receiver1") }
    package static var apps: ObjectPath { ObjectPath(literal: "/org/jostle/Broker1/apps") }

    package static func sensor(_ name: String) -> ObjectPath { self.sensors.appending(escaped: name) }

    /// The object of an app; a client without a name stands under its unique name.
    package static func app(_ id: String) -> ObjectPath { self.apps.appending(escaped: id) }
}

/// What polkit is asked about.
package enum PolkitAction {
    /// To claim sensors of the system's reader.
    package static let claim = "org.jostle.sensors.claim"
}

extension BusError {
    /// An error of our own.
    private static func jostle(_ name: String, _ message: String) -> BusError {
        BusError("org.jostle.Error." + name, message)
    }

    /// A detector, claim or script that cannot be: the message names the key, the value and what was expected.
    package static func invalidConfiguration(_ message: String) -> BusError {
        self.jostle("InvalidConfiguration", message)
    }
    /// A name of ours that does not exist: a detector, an app.
    package static func notFound(_ message: String) -> BusError { self.jostle("NotFound", message) }
    /// Policy files with an error: the message begins with file, line and column of the first.
    package static func invalidPolicy(_ message: String) -> BusError { self.jostle("InvalidPolicy", message) }
    /// An app that was to be started or resumed was not, or did not answer.
    package static func launchFailed(_ message: String) -> BusError { self.jostle("LaunchFailed", message) }
    /// The caller does not own the app id it gave.
    package static func identityMismatch(_ message: String) -> BusError { self.jostle("IdentityMismatch", message) }

    /// True when the same call would be refused however often it is made. Whatever else is answered may go better later: who has no
    /// such method is no broker, and has its name until a broker comes.
    package var isFinal: Bool {
        switch self.name {
        case "org.jostle.Error.IdentityMismatch", "org.jostle.Error.InvalidConfiguration",
            "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.InvalidArgs",
            "org.freedesktop.DBus.Error.NotSupported":
            true
        default: false
        }
    }
}
