package import Motion

extension Arbiter {
    /// What would become of a hit.
    package enum Prospect: Sendable {
        /// Its app would come to this verdict.
        case verdict(Verdict)
        /// Its app would get one more event of a motion that is not over.
        case more(epoch: UInt64)
        /// It would count to a motion that is not over, in which its app has its part already, and come to nothing.
        case counted(epoch: UInt64, Reason)
    }

    /// What would become of a hit of a detector now if nothing else happened: no other hit, and no answer of others.
    ///
    /// A copy of this arbiter is given the hit, and time if it waits for time, so that the answer is the arbiter's own.
    /// An app that would be offered an event is taken to consume it. `nil` when there is no such detector.
    package func rehearse(
        _ detector: DetectorID, peak: Double, at arrival: Timestamp, lastTrue: LastTrue = { _ in nil }
    ) -> Prospect? {
        var copy = self
        // There is nothing that it could still read.
        copy.isPatient = false
        var actions: [ArbiterAction] = []
        let hit = Hit(detector: detector, time: max(self.motionTime, arrival), peak: peak)
        // What is due by now comes first, and is not of interest.
        copy.take(.motion(hit.time), at: arrival, lastTrue: lastTrue, into: &actions)
        guard let app = copy.contests.detectors[detector]?.app, copy.apps[app] != nil else { return nil }
        actions.removeAll()
        // Not by way of `take`, which would copy every detector to note the hit at one.
        if let refusal = copy.rehearse(hit, into: &actions) { return .verdict(refusal) }
        while true {
            if let prospect = copy.prospect(of: app, in: &actions) { return prospect }
            // It waits, for the window to close or for its turn.
            guard let next = [copy.nextMotionDeadline, copy.nextArrivalDeadline].compactMap({ $0 }).min() else {
                return nil
            }
            copy.take(.motion(next), at: next, lastTrue: lastTrue, into: &actions)
        }
    }

    /// What was done about an app, if it was its turn; otherwise nothing of interest was done.
    private mutating func prospect(of app: AppHandle, in actions: inout [ArbiterAction]) -> Prospect? {
        var offered: UInt64?
        var counted: Prospect?
        for action in actions {
            switch action {
            case .verdict(let verdict) where verdict.app == app: return .verdict(verdict)
            case .repeated(app, _, let epoch, let reason): counted = .counted(epoch: epoch, reason)
            case .deliver(let delivery) where delivery.app == app: offered = delivery.epoch
            case .verdict, .repeated, .deliver, .life, .assertion, .activity, .session, .launch: break
            }
        }
        actions.removeAll()
        guard let epoch = offered, self.contests.isOffered(epoch, to: app) else {
            return counted ?? offered.map { .more(epoch: $0) }
        }
        self.take(.answer(app, epoch: epoch, .consume), at: self.arrivalTime, into: &actions)
        return self.prospect(of: app, in: &actions)
    }
}
