import DBus
import Protocol

/// Why something could not be done.
public struct JostleError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds a program may want to tell apart.
    public enum Kind: Hashable, Sendable {
        /// There is no bus, or no broker on it.
        case noService
        /// The broker refused, and says why.
        case refused
        /// The request made no sense to it.
        case invalid
        /// Anything else.
        case failed
    }

    /// What kind it is.
    public var kind: Kind
    /// The D-Bus error name.
    public var name: String
    /// What happened, for people.
    public var message: String

    /// Whether the same request would be refused however often it is made. Anything else may go better later.
    public var isFinal: Bool { BusError(self.name, self.message).isFinal }

    /// What happened, for people.
    public var description: String { self.message.isEmpty ? self.name : self.message }
}

extension JostleError {
    init(_ error: BusError) {
        let kind: Kind
        switch error.name {
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.LimitsExceeded",
            "org.jostle.Error.IdentityMismatch":
            kind = .refused
        case "org.jostle.Error.InvalidConfiguration", "org.jostle.Error.NotFound",
            "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.BadAddress":
            kind = .invalid
        default:
            kind = error.isServiceMissing || error.isBusMissing ? .noService : .failed
        }
        // The bus's own words are about service files, which few people know.
        let isAbsent = ["ServiceUnknown", "NameHasNoOwner"].contains {
            error.name == "org.freedesktop.DBus.Error." + $0
        }
        self.init(
            kind: kind, name: error.name,
            message: isAbsent ? "the broker (\(BusName.broker)) is not running" : error.message)
    }
}
