package import Motion

/// Who waits until an app that somebody wants launched has answered, and which launch is for whom.
///
/// What is wanted while an app is being called that call knows nothing of: it is for the next launch, and so is its answer.
package struct WaitingPushes<Call> {
    private struct Waiting {
        let call: Call
        /// From this arrival time on its launch is of no use any more.
        let ends: Timestamp
        /// The number of the last launch that was for it; `nil`: none has begun since it came.
        var launch: UInt64?
    }

    private var waiting: [AppID: [Waiting]] = [:]

    package init() {}

    /// How many wait for an app.
    package func count(of app: AppID) -> Int { self.waiting[app]?.count ?? 0 }

    /// Somebody wants an app launched.
    package mutating func add(_ call: Call, for app: AppID, until ends: Timestamp) {
        self.waiting[app, default: []].append(Waiting(call: call, ends: ends))
    }

    /// A launch begins, which is for all who wait by now.
    package mutating func begin(_ number: UInt64, of app: AppID) {
        for index in self.waiting[app]?.indices ?? 0..<0 { self.waiting[app]?[index].launch = number }
    }

    /// An app has answered a launch. Returns whom that was for.
    package mutating func answered(_ number: UInt64, by app: AppID) -> [Call] {
        self.take(of: app) { $0.launch == number }
    }

    /// Nobody is launched any more for what was of use until then.
    ///
    /// - Parameter current: The launch that is under way all the same.
    /// - Returns: Who does not wait for that.
    package mutating func gaveUp(_ app: AppID, until ends: Timestamp, besides current: UInt64?) -> [Call] {
        self.take(of: app) { $0.ends <= ends && ($0.launch == nil || $0.launch != current) }
    }

    private mutating func take(of app: AppID, where fits: (Waiting) -> Bool) -> [Call] {
        guard let all = self.waiting[app] else { return [] }
        let rest = all.filter { !fits($0) }
        self.waiting[app] = rest.isEmpty ? nil : rest
        return all.filter(fits).map(\.call)
    }
}
