import Arbitration
import Motion

/// The numbers of detectors, and what each stands for. A number that became free is given out again.
struct DetectorTable {
    struct Owner {
        let app: AppHandle
        /// Of whose share it is.
        let payer: UInt32
        let sensor: String
        /// It only notices what another detector nearly hits.
        var isNear = false
    }

    private var owners: [Owner?] = []
    private var free: [UInt32] = []

    /// Whose a detector is; `nil` when it is gone.
    subscript(_ detector: DetectorID) -> Owner? {
        detector.index < self.owners.count ? self.owners[Int(detector.index)] : nil
    }

    /// The app of a detector and who pays for it, without a copy of the rest.
    func account(of detector: DetectorID) -> (app: AppHandle, payer: UInt32)? {
        guard detector.index < self.owners.count else { return nil }
        return self.owners[Int(detector.index)].map { ($0.app, $0.payer) }
    }

    /// Those that apps have, in order.
    var all: some Sequence<(id: DetectorID, owner: Owner)> {
        self.owners.lazy.enumerated().compactMap { index, owner in
            guard let owner, !owner.isNear else { return nil }
            return Optional(owner).map { (DetectorID(UInt32(truncatingIfNeeded: index)), $0) }
        }
    }

    mutating func add(_ owner: Owner) -> DetectorID {
        if let index = self.free.popLast() {
            self.owners[Int(index)] = owner
            return DetectorID(index)
        }
        self.owners.append(owner)
        return DetectorID(UInt32(self.owners.count - 1))
    }

    /// Forgets whose a detector is. Its number stays taken.
    mutating func orphan(_ detector: DetectorID) { self.owners[Int(detector.index)] = nil }

    mutating func remove(_ detector: DetectorID) {
        self.orphan(detector)
        self.free.append(detector.index)
    }

    /// Gives back the room of those that have gone.
    mutating func shrink() {
        var count = self.owners.count
        let free = Set(self.free)
        while count > 0, free.contains(UInt32(count - 1)) { count -= 1 }
        if count < self.owners.count {
            self.owners.removeLast(self.owners.count - count)
            self.free.removeAll { $0 >= UInt32(count) }
        }
        self.owners.shrink()
        self.free.shrink()
    }
}
