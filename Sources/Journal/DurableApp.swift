package import Arbitration
package import Motion

/// What an app registered for good: it outlives the app's connection, and the broker.
package struct DurableApp: Equatable, Sendable {
    package var id: AppID
    /// Who may have it again.
    package var binding: IdentityBinding
    /// What its app file said when it registered: why it wants motion, and the modes that policy can grant it.
    package var usage: String
    package var modes: WordSet<BackgroundMode>
    /// By name, in order.
    package var detectors: [DetectorRequest]

    package init(
        _ id: AppID, _ binding: IdentityBinding, usage: String, modes: WordSet<BackgroundMode>,
        detectors: [DetectorRequest] = []
    ) {
        self.id = id
        self.binding = binding
        self.usage = usage
        self.modes = modes
        self.detectors = detectors
    }

    /// These are there for good, too, in place of those of their names.
    package mutating func add(_ requests: [DetectorRequest]) {
        let names = Set(requests.map(\.name))
        self.detectors = (self.detectors.filter { !names.contains($0.name) } + requests).sorted { $0.name < $1.name }
    }

    /// What there is for good when an app registered before the disk said that there was this: both, if it is the same app.
    ///
    /// - Parameter withdrawn: The names of what it has removed meanwhile.
    package func joined(by later: DurableApp, without withdrawn: Set<String>) -> DurableApp {
        guard self.binding.mismatch(of: later.binding) == nil else { return self }
        var app = DurableApp(
            self.id, self.binding.strengthened(by: later.binding), usage: later.usage, modes: later.modes,
            detectors: self.detectors.filter { !withdrawn.contains($0.name) })
        app.add(later.detectors)
        return app
    }
}

/// What is to be done to the durable apps on the disk: the last word on each.
struct DurableChanges: Sendable {
    /// `nil`: nothing of it is kept any more.
    private(set) var apps: [AppID: DurableApp?] = [:]
    /// The number of the last change.
    private(set) var last: UInt64 = 0

    var isEmpty: Bool { self.apps.isEmpty }

    mutating func set(_ id: AppID, to app: DurableApp?, number: UInt64) {
        self.apps[id] = .some(app)
        self.last = number
    }

    /// Takes in what comes later.
    mutating func merge(_ later: DurableChanges) {
        guard !later.isEmpty else { return }
        self.apps.merge(later.apps) { $1 }
        self.last = later.last
    }
}
