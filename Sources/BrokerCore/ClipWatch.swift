import Arbitration
import Detection
import Motion

/// Notices what is worth a clip: what detectors hit, and beside each detector with a threshold what nearly is a hit.
///
/// For that another detector is at work beside it, which nobody else hears of. There is room for so many of these only, and what they cost
/// is counted with what their user's detectors do, to which they give way.
struct ClipWatch {
    let terms: ClipTerms
    private var owners = AppTable<Owner>()
    /// By the numbers of detectors.
    private var roles: [Role?] = []
    /// What is at work beside detectors, by these.
    private var besides: [DetectorID: Beside] = [:]
    private var places: UserShares

    /// So many notice near misses, of all users together.
    static let mostNear = 1_024

    private struct Owner {
        let app: AppID
        var user: UInt32?
    }

    private struct Role {
        /// `nil`: its app has gone.
        var app: AppHandle?
        /// What moments tell of: of one that notices near misses, the one beside which it is.
        var detector: CompiledDetector
        let id: DetectorID
        let isNear: Bool
        let payer: UInt32
    }

    /// A detector that notices near misses, and whose share it is of.
    struct Beside {
        let id: DetectorID
        var detector: CompiledDetector
        let payer: UInt32
    }

    init(_ terms: ClipTerms, _ limits: BrokerLimits) {
        self.terms = terms
        self.places = limits.shares(of: Self.mostNear)
    }

    // MARK: Apps

    mutating func enter(_ app: AppHandle, _ id: AppID, _ user: UInt32?) {
        self.owners.put(Owner(app: id, user: user), for: app)
    }

    mutating func pass(_ app: AppHandle, to user: UInt32) { self.owners.update(app) { $0?.user = user } }

    mutating func leave(_ app: AppHandle) { self.owners.remove(app) }

    // MARK: Detectors

    /// How many notice near misses, and whose they are.
    var usage: LimitUsage { LimitUsage("near-miss-detectors", self.places) }

    /// A detector is at work.
    ///
    /// - Returns: What is to be put to work beside it, if there is room.
    mutating func add(
        _ detector: CompiledDetector, _ id: DetectorID, of app: AppHandle, _ payer: UInt32
    ) -> CompiledDetector? {
        guard detector.sensor != SensorDescription.location else { return nil }
        self.set(Role(app: app, detector: detector, id: id, isNear: false, payer: payer), id)
        return self.places.room(for: payer) > 0 ? NearMiss.detector(beside: detector) : nil
    }

    /// What was put to work beside a detector.
    mutating func add(_ near: Beside, beside id: DetectorID) {
        guard let role = self.roles[Int(id.index)], self.places.take(1, for: near.payer) else { return }
        self.besides[id] = near
        self.set(Role(app: role.app, detector: role.detector, id: id, isNear: true, payer: role.payer), near.id)
    }

    private mutating func set(_ role: Role, _ id: DetectorID) {
        while self.roles.count <= Int(id.index) { self.roles.append(nil) }
        self.roles[Int(id.index)] = role
    }

    /// A detector was compiled anew. Returns what was at work beside it, and what is to be instead; `nil`: nothing any more.
    mutating func replace(_ id: DetectorID, by detector: CompiledDetector) -> (old: Beside, new: CompiledDetector?)? {
        guard id.index < self.roles.count else { return nil }
        self.roles[Int(id.index)]?.detector = detector
        guard let old = self.besides[id] else { return nil }
        self.roles[Int(old.id.index)]?.detector = detector
        guard let new = NearMiss.detector(beside: detector) else { return self.takeNear(of: id).map { ($0, nil) } }
        self.besides[id]?.detector = new
        return (old, new)
    }

    /// The app of a detector has gone: it tells nothing any more.
    mutating func orphan(_ id: DetectorID) {
        guard id.index < self.roles.count else { return }
        self.roles[Int(id.index)]?.app = nil
        if let near = self.besides[id] { self.roles[Int(near.id.index)]?.app = nil }
    }

    /// A detector is gone, and its number free. Returns the one that was at work beside it, whose number is, too.
    mutating func remove(_ id: DetectorID) -> Beside? {
        guard id.index < self.roles.count else { return nil }
        let beside = self.takeNear(of: id)
        self.roles[Int(id.index)] = nil
        return beside
    }

    /// What those of a user on a sensor take is needed elsewhere: nobody notices near misses there any more.
    mutating func giveWay(of payer: UInt32, on sensor: String) -> [Beside] {
        let all = self.besides.filter { $0.value.payer == payer && $0.value.detector.sensor == sensor }
        return all.keys.sorted { $0.index < $1.index }.compactMap { self.takeNear(of: $0) }
    }

    private mutating func takeNear(of id: DetectorID) -> Beside? {
        guard let beside = self.besides.removeValue(forKey: id) else { return nil }
        self.roles[Int(beside.id.index)] = nil
        self.places.giveBack(1, for: beside.payer)
        return beside
    }

    // MARK: Moments

    /// Whether a hit is of a detector that nobody else hears of.
    @inline(__always)
    func isNear(_ id: DetectorID) -> Bool {
        id.index < self.roles.count ? self.roles[Int(id.index)]?.isNear ?? false : false
    }

    /// The detector that a near miss is of.
    func subject(of near: DetectorID) -> DetectorID? {
        near.index < self.roles.count ? self.roles[Int(near.index)]?.id : nil
    }

    /// What a hit tells of; `nil`: nothing that anybody may see.
    func moment(of hit: Hit) -> ClipMoment? {
        guard hit.detector.index < self.roles.count, let role = self.roles[Int(hit.detector.index)],
            let app = role.app, let owner = self.owners[app], let user = owner.user
        else { return nil }
        return ClipMoment(
            app: owner.app, user: user, id: role.id, role.detector, time: hit.time, peak: hit.peak,
            isNear: role.isNear)
    }

    /// Gives back memory that was needed for detectors and apps that are gone.
    mutating func shrink() {
        while let last = self.roles.last, last == nil { self.roles.removeLast() }
        self.roles.shrink()
        self.besides.shrink()
        self.owners.shrink()
    }
}
