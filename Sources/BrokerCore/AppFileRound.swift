package import Motion

/// Knows what a reading of all app files decides, which takes a while.
///
/// Apps come meanwhile, and the file of each is read alone then: that is newer than what the reading saw of it, or did not see.
package struct AppFileRound: Sendable {
    private var isUnderWay = false
    /// Apps that the reading has exist.
    private var seen: Set<AppID> = []
    /// Apps whose files were read alone since it began.
    private var known: Set<AppID> = []

    package init() {}

    /// All files begin to be read.
    package mutating func begin() {
        self.end()
        self.isUnderWay = true
    }

    /// The file of one app was read alone.
    package mutating func readAlone(_ app: AppID) {
        if self.isUnderWay { self.known.insert(app) }
    }

    /// The reading has an app exist. Returns whether it has the say of how.
    package mutating func see(_ app: AppID) -> Bool {
        self.seen.insert(app)
        return !self.known.contains(app)
    }

    /// Whether an app is to go, as it has no file.
    package func isGone(_ app: AppID) -> Bool { !self.seen.contains(app) && !self.known.contains(app) }

    /// All is as the files say.
    package mutating func end() { self = AppFileRound() }
}
