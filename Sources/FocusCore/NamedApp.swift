package import Motion

/// Which app a window is of, as far as that can be known.
package enum NamedApp: Hashable, Sendable {
    /// An app, and what it was known by.
    case app(AppID, by: Way)
    /// Nobody knows, or several could be meant. The hint says what to write where, so that it is known.
    case unknown(hint: String)

    /// What an app was known by, the surest first.
    package enum Way: String, Sendable, CaseIterable {
        /// Its process is the one that is the app on the bus.
        case process
        /// The window says the app's id itself.
        case exact
        /// The unit of systemd or the scope that its process runs in.
        case unit
        /// The Flatpak or snap that its process runs in.
        case sandbox
        /// The desktop file of that name.
        case desktopFile = "desktop-file"
        /// A desktop file that names this window class.
        case windowClass = "window-class"
        /// The app's own file says so.
        case alias
    }

    /// The app; `nil` when it is unknown.
    package var id: AppID? {
        guard case .app(let id, _) = self else { return nil }
        return id
    }
}
