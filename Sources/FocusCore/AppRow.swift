package import Motion

/// What is reported of an app that has windows: the best of them.
package struct AppRow: Hashable, Sendable {
    /// `nil`: a window is in front, and nobody knows of which app it is.
    package var app: AppID?
    package var state: WindowState
    /// The source's id of the window that this is known by.
    package var window: String
    package var process: UInt32?

    package init(_ app: AppID?, _ state: WindowState, window: String, process: UInt32?) {
        self.app = app
        self.state = state
        self.window = window
        self.process = process
    }
}
