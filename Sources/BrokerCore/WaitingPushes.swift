package import Arbitration
package import Motion

/// Who waits until an app that somebody wants launched has answered, and which launch is for whom.
///
/// What is wanted while an app is being called that call knows nothing of: it is for the next launch, and so is its answer.
package struct WaitingPushes<Call> {
    private struct Waiting {
        let call: Call
        let wish: LaunchRequest
        /// The number of the last launch that was for it; `nil`: none has begun since it came.
        var launch: UInt64?
    }

    private var waiting: [AppID: [Waiting]] = [:]

    package init() {}

    /// How many wait for an app.
    package func count(of app: AppID) -> Int { self.waiting[app]?.count ?? 0 }

    /// Somebody wants an app launched.
    package mutating func add(_ call: Call, for wish: LaunchRequest) {
        self.waiting[wish.app, default: []].append(Waiting(call: call, wish: wish))
    }

    /// A launch begins, which is for all who wait by now for that user's app.
    package mutating func begin(_ launch: Launch) {
        for index in self.waiting[launch.app]?.indices ?? 0..<0
        where self.waiting[launch.app]?[index].wish.user == launch.user {
            self.waiting[launch.app]?[index].launch = launch.number
        }
    }

    /// An app has answered a launch. Returns whom that was for.
    package mutating func answered(_ launch: Launch) -> [Call] {
        self.take(of: launch.app) { $0.launch == launch.number }
    }

    /// Nobody is launched any more for a wish, which may be that of several.
    ///
    /// - Parameter current: The launch that is under way all the same.
    /// - Returns: Who does not wait for that.
    package mutating func gaveUp(_ wish: LaunchRequest, besides current: UInt64?) -> [Call] {
        self.take(of: wish.app) {
            $0.wish.user == wish.user && $0.wish.ends <= wish.ends && ($0.launch == nil || $0.launch != current)
        }
    }

    private mutating func take(of app: AppID, where fits: (Waiting) -> Bool) -> [Call] {
        guard let all = self.waiting[app] else { return [] }
        let rest = all.filter { !fits($0) }
        self.waiting[app] = rest.isEmpty ? nil : rest
        return all.filter(fits).map(\.call)
    }
}
