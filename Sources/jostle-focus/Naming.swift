import FocusCore
import Motion

/// Which app a window is of: the one place that all sources ask.
final class Naming {
    private var followers: [() -> Void] = []

    func app(of claims: WindowClaims) -> NamedApp {
        for id in [claims.gtkAppID, claims.appID].compactMap({ $0 }) where AppID.isValid(id) {
            return .app(AppID(id), by: .exact)
        }
        return .unknown(hint: "it says no app id that is a bus name")
    }

    /// Runs `handler` when something else is known of apps.
    func onChange(_ handler: @escaping () -> Void) { self.followers.append(handler) }
}
