package import DBus
import Glibc

/// Where a broker keeps what must outlive it, unless it is told where.
package enum StateDirectory {
    /// On the system bus.
    package static let ofSystem = "/var/lib/jostle"

    /// Where a service manager has the program keep its state that it started; `nil`: it says nothing of this one.
    ///
    /// Others inherit what it said, as all programs of a session do that is a unit with a directory of its own.
    package static func ofManager(
        _ environment: (String) -> String? = environmentValue, pid: Int32 = getpid()
    ) -> String? {
        // Before version 248 systemd does not say whom it started.
        if let started = environment("SYSTEMD_EXEC_PID").flatMap({ Int32($0) }), started != pid { return nil }
        // It may give several, the first for us.
        guard let first = environment("STATE_DIRECTORY")?.split(separator: ":").first, first.hasPrefix("/") else {
            return nil
        }
        return String(first)
    }

    /// - Parameter bus: The bus that the broker serves.
    /// - Returns: `nil` without a home.
    package static func standard(for bus: BusAddress) -> String? {
        if let ofManager = self.ofManager() { return ofManager }
        if case .system = bus { return self.ofSystem }
        // The variable is to be ignored when it holds no absolute path.
        let base = environmentValue("XDG_STATE_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environmentValue("HOME").flatMap { $0.hasPrefix("/") ? "\($0)/.local/state" : nil }
        return (base ?? home).map { "\($0)/jostle" }
    }
}
