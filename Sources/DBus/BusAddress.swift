import CDBus
import Glibc
import Loop

/// Which bus to talk to.
package enum BusAddress: Equatable, Sendable, CustomStringConvertible {
    case session
    case system
    case address(String)

    /// Reads what stands after `--bus`: `session`, `system`, or an address.
    ///
    /// - Returns: `nil` when it is none of them.
    package init?(_ text: String) {
        switch text {
        case "session": self = .session
        case "system": self = .system
        default:
            guard text.contains(":"), !text.utf8.contains(0) else { return nil }
            self = .address(text)
        }
    }

    /// What `init(_:)` reads as this address.
    package var option: String {
        switch self {
        case .session: "session"
        case .system: "system"
        case .address(let text): text
        }
    }

    package var description: String {
        switch self {
        case .session: "session bus"
        case .system: "system bus"
        case .address(let text): "bus at \(text)"
        }
    }

    /// The address to connect to, as the specification says where to look for it.
    func resolve() throws(BusError) -> String {
        switch self {
        case .address(let text): return text
        case .system:
            return environment("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/var/run/dbus/system_bus_socket"
        case .session:
            if let address = environment("DBUS_SESSION_BUS_ADDRESS") { return address }
            if let directory = environment("XDG_RUNTIME_DIR") { return "unix:path=\(Self.escaped(directory))/bus" }
            throw .disconnected("no session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
        }
    }

    /// A path as it stands in an address: what could be read as a part of it is written byte by byte.
    package static func escaped(_ path: String) -> String {
        // SAFETY: libdbus reads the path, and gives away the text it makes of it.
        guard let text = unsafe dbus_address_escape_value(path) else { invariantFailure("out of memory") }
        defer { unsafe dbus_free(text) }
        return unsafe String(cString: text)
    }

    /// Whether all that may be the bus are sockets of this machine.
    var isNear: Bool { self.transports?.allSatisfy { $0 == "unix" } ?? false }

    /// Whether libdbus may start a program in order to connect, as for `unixexec:` and `autolaunch:`; what is not known to be a
    /// socket counts, too.
    package var mayStartProgram: Bool {
        self.transports?.contains { !["unix", "tcp", "nonce-tcp"].contains($0) } ?? false
    }

    /// How each of the places is reached where the bus may be.
    private var transports: [String]? {
        guard let address = try? self.resolve() else { return nil }
        return address.utf8.split(separator: UInt8(ascii: ";")).map {
            String(decoding: $0.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        }
    }
}

/// What may stand for a name on a bus.
package enum BusNames {
    /// Whether a text is a unique or well-known bus name.
    package static func isValid(_ text: String) -> Bool {
        // SAFETY: validation reads the string and keeps nothing; a NULL error is allowed.
        unsafe dbus_validate_bus_name(text, nil) != 0 && !text.utf8.contains(0)
    }
}

/// An environment variable that is set and not empty.
private func environment(_ name: String) -> String? {
    // SAFETY: nothing in this process changes its environment after start.
    guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
    return unsafe String(cString: value)
}
