package import Arbitration
package import Background
package import Detection
package import Motion

/// One app: who it is and what it registered.
package struct App {
    package let id: AppID
    /// How well it is proven who it is.
    package internal(set) var proof: IdentityProof
    /// False while it is not on the bus.
    package internal(set) var isConnected: Bool
    /// What exists of it also while it is not on the bus; `nil`: nothing does, not even itself.
    var installed: Installation?
    package var isInstalled: Bool { self.installed != nil }
    package internal(set) var detectors: [String: InstalledDetector] = [:]
    /// Detectors of its file that it took away itself: they are not there again until it leaves.
    var withdrawn: Set<String> = []
    /// What they cost.
    var census = AppCensus()
    /// Whose it is: the user of its latest connection, or who registered it for good. `nil`: nobody's yet, and that of
    /// whoever comes first.
    package internal(set) var user: UInt32?
    /// The user who looks after what is nobody's.
    private let keeper: UInt32
    /// Who may read about it.
    package var reader: UInt32 { self.user ?? self.keeper }
    /// Of whose share it is.
    var payer: UInt32
    /// Which registration this is, counted from 1; no two are the same.
    package internal(set) var registration: UInt64
    package internal(set) var registered: Timestamp

    init(
        id: AppID, _ entrance: AppEntrance, user: UInt32?, keeper: UInt32, payer: UInt32, registration: UInt64,
        at arrival: Timestamp
    ) {
        self.id = id
        self.proof = entrance.proof
        self.isConnected = entrance.isConnected
        self.user = user
        self.keeper = keeper
        self.payer = payer
        self.registration = registration
        self.registered = arrival
    }

    package var reference: AppReference { AppReference(self.id, user: self.reader, registration: self.registration) }
    /// Whose its tasks are.
    package var owner: TaskOwner { TaskOwner(self.id, user: self.reader) }
}

/// What exists of an app also while it is not on the bus.
package struct Installation: Equatable, Sendable {
    /// Detectors of one share.
    package struct Part: Equatable, Sendable {
        package let requests: [DetectorRequest]
        package let payer: UInt32

        package init(_ requests: [DetectorRequest], payer: UInt32) {
            self.requests = requests
            self.payer = payer
        }
    }

    /// What whoever put the app there asks for. The app is of the same share: root's, if that is who looks after the system; else
    /// the user's who did.
    let filed: Part
    /// What the app registered for good itself: it is of its user's share, whoever put the app there.
    let registered: Part

    /// - Parameter registered: no detector of a name that is in the other part, too; `nil`: nothing.
    package init(_ filed: Part, registered: Part? = nil) {
        self.filed = filed
        self.registered = registered ?? Part([], payer: filed.payer)
    }

    package var payer: UInt32 { self.filed.payer }
    var parts: [Part] { self.registered.requests.isEmpty ? [self.filed] : [self.filed, self.registered] }

    /// The same without what the app asked for itself, and without what it took away of its file.
    func parts(besides own: Set<String>, without withdrawn: Set<String>) -> [Part] {
        if own.isEmpty, withdrawn.isEmpty { return self.parts }
        let filed = self.filed.requests.filter { !own.contains($0.name) && !withdrawn.contains($0.name) }
        let registered = self.registered.requests.filter { !own.contains($0.name) }
        return [Part(filed, payer: self.filed.payer), Part(registered, payer: self.registered.payer)]
    }

    var names: Set<String> { Set((self.filed.requests + self.registered.requests).lazy.map(\.name)) }
}

/// A detector of an app, at work in the engine of its sensor.
///
/// It never changes, so that a table of them need not hold all of each.
package final class InstalledDetector: Sendable {
    package let id: DetectorID
    /// The app itself asked for it since it came to the bus.
    let isOwn: Bool
    package let request: DetectorRequest
    package let effective: CompiledDetector
    /// Of whose share it is.
    let payer: UInt32
    package var sensor: String { self.effective.sensor }

    init(id: DetectorID, request: DetectorRequest, effective: CompiledDetector, isOwn: Bool, payer: UInt32) {
        self.id = id
        self.payer = payer
        self.isOwn = isOwn
        self.request = request
        self.effective = effective
    }

    /// The same detector, compiled anew.
    func compiled(to effective: CompiledDetector) -> InstalledDetector {
        InstalledDetector(
            id: self.id, request: self.request, effective: effective, isOwn: self.isOwn, payer: self.payer)
    }

    /// The same detector, asked for by the app itself or not.
    func owned(_ isOwn: Bool) -> InstalledDetector {
        InstalledDetector(
            id: self.id, request: self.request, effective: self.effective, isOwn: isOwn, payer: self.payer)
    }

    /// The same detector, asked for in other words, or of another share.
    func asked(for request: DetectorRequest, by payer: UInt32, isOwn: Bool) -> InstalledDetector {
        InstalledDetector(id: self.id, request: request, effective: self.effective, isOwn: isOwn, payer: payer)
    }

    /// Whether a request asks for what is at work already. One that stays the same goes on as it is.
    func isUnchanged(by detector: CompiledDetector, _ request: DetectorRequest) -> Bool {
        self.request == request || self.effective.isSame(as: detector)
    }
}

extension CompiledDetector {
    /// What rules and rankings see of it.
    func facts(isAvailable: Bool) -> DetectorFacts {
        DetectorFacts(
            name: self.name, preset: self.preset ?? "", sensor: self.sensor, threshold: self.threshold,
            dimension: self.dimension,
            // A native function says `none` and rests by itself. Taken for none, a group waits a little longer for it
            // than it need, which is allowed; the other way round it could miss it.
            rest: self.restMode == .none ? .zero : self.rest, startsResting: self.startsResting,
            isAvailable: isAvailable)
    }
}

/// The answer to a registration: what is in force.
package struct EffectiveDetector {
    package let detector: CompiledDetector
    /// False while the sensor is not there; the detector works as soon as it is.
    package let isAvailable: Bool
    /// The rate the sensor runs at for all of us, in Hz; `nil` while it is not there.
    package let rate: Double?
    /// The fastest rate that the reader allows us, where that is too slow for the detector.
    package let allowed: Double?

    /// What the owner should know of it.
    package var warnings: [DetectorWarning] {
        let own = self.detector.warnings
        guard let allowed else { return own }
        return own + [
            DetectorWarning(
                .rateNotAllowed,
                "the reader lets the broker have \(self.detector.sensor) at \(allowed) Hz at most (FastestRate): it looks "
                    + "less often than it asked for")
        ]
    }
}

/// A detector that is wanted of an app, compiled, and of whose share it is to be.
struct WantedDetector {
    let request: DetectorRequest
    let compiled: CompiledDetector
    let payer: UInt32
}
