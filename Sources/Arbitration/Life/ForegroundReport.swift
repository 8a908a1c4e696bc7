package import Motion

/// What was said of the foreground.
package enum ForegroundReport: Equatable, Sendable {
    /// Nobody says anything, so every app counts as foreground, and nothing is deaf by default.
    case none
    /// These apps are in front or beside, and no others. They need not be on the bus yet.
    case shown(ShownApps)

    /// This app alone is in front, or none is.
    package static func app(_ app: AppID?) -> Self { .shown(ShownApps(front: app.map { [$0] } ?? [])) }
}

/// The apps that the user sees.
package struct ShownApps: Equatable, Sendable {
    /// Those that the user works with: with two seats there are two.
    package var front: Set<AppID>
    /// Those that are only seen. One that is in front as well is in front.
    package var visible: Set<AppID>

    package init(front: Set<AppID> = [], visible: Set<AppID> = []) {
        self.front = front
        self.visible = visible
    }
}
