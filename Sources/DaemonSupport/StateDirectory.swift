package import DBus

/// Where a broker keeps what must outlive it, unless it is told where.
package enum StateDirectory {
    /// On the system bus.
    package static let ofSystem = "/var/lib/jostle"

    /// - Parameter bus: The bus that the broker serves.
    /// - Returns: `nil` without a home.
    package static func standard(for bus: BusAddress) -> String? {
        // A service manager may give several, the first for us.
        let ofManager = environmentValue("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init)
        if let ofManager, ofManager.hasPrefix("/") { return ofManager }
        if case .system = bus { return self.ofSystem }
        // The variable is to be ignored when it holds no absolute path.
        let base = environmentValue("XDG_STATE_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environmentValue("HOME").flatMap { $0.hasPrefix("/") ? "\($0)/.local/state" : nil }
        return (base ?? home).map { "\($0)/jostle" }
    }
}
