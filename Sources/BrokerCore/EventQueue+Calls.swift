package import Arbitration
package import Motion

/// Events in the hands of an app that is launched for them: they travel in one call, and its answer is for all of them.
extension EventQueue {
    /// How strong the wish is that the app be launched for what waits, and until when it is of use; `nil`: nothing does.
    var launchWish: (strength: Int, ends: Timestamp)? {
        let events = self.waiting.all.filter(\.isLaunching).map(\.event)
        guard let strength = events.map(\.strength).max(), let ends = events.map(\.ends).max() else { return nil }
        return (strength, ends)
    }
    /// Whether something is handed over now. All of it may have ended by now, and the answer still says what was told with it.
    var isCalled: Bool { self.calls.last > 0 || self.unacknowledged.contains(where: \.isCalled) }
    /// What is handed over now, in order.
    var called: [Event] { self.unacknowledged.filter(\.isCalled).map(\.event) }
    /// The first event that the app is to be launched for.
    var firstToLaunch: Event? { self.waiting.all.first(where: \.isLaunching)?.event }

    /// Takes what waits, to hand it over in a call to whosever queue it is; nothing, if the app needs not be launched any more.
    package mutating func beginCall(at now: Timestamp, _ actions: inout [QueueAction]) -> Handover {
        if let deadline = self.deadline, deadline <= now { self.pump(at: now, &actions) }
        guard self.launchWish != nil else { return Handover(to: nil) }
        self.calls.isOver()
        self.handOver(before: .max)
        let events = self.called
        self.calls.last = events.last?.sequence ?? 0
        return Handover(to: nil, events, lost: self.lost)
    }

    /// Takes what waits and has a number before this one into the call.
    mutating func handOver(before end: UInt64) {
        while let first = self.waiting.first, first.event.sequence < end, var kept = self.waiting.popFirst() {
            kept.isHandedOver()
            // Looked for from the end, where nearly all of them belong: there may be very many.
            let before = self.unacknowledged.lastIndex { $0.event.sequence < kept.event.sequence }
            self.unacknowledged.insert(kept, at: before.map { $0 + 1 } ?? 0)
        }
    }

    /// Somebody is called with what was handed over; or nobody has been until now, and then nobody has seen it.
    package mutating func setCalled(_ isCalled: Bool) { self.calls.isWaiting = !isCalled }

    /// The app answered: it has all that was handed over.
    package mutating func callAnswered(at now: Timestamp, _ actions: inout [QueueAction]) {
        let last = self.calls.last
        self.calls = CallBook()
        // Also when what it was handed has become another's since, or is behind others of the app by now.
        while self.lost.takeFirst(before: last) != nil {}
        self.end(.acknowledged, &actions) { $0.isCalled }
        self.pump(at: now, &actions)
    }

    /// The app was not reached, or nobody knows. What was handed over waits as before.
    package mutating func callFailed(_ failure: LaunchFailure, at now: Timestamp, _ actions: inout [QueueAction]) {
        self.calls.hasFailed = true
        var told: Set<UInt64> = []
        for kept in self.unacknowledged where kept.isCalled && told.insert(kept.event.epoch).inserted {
            actions.append(.failed(kept.event, failure))
        }
        // Whoever was not there has not seen it.
        self.takeBackCall(isUnseen: failure == .unknown || failure == .notStarted)
        // Nobody is tried again who cannot be started.
        if failure == .unknown { self.end(.launchFailed, &actions, where: \.isLaunching) }
        // It may have come by itself meanwhile. Whether it can be sent anything, or told, is known when all is decided.
        if !self.isIdle { self.expect(now) }
    }

    /// Nobody could be asked to call the app, which says nothing of it, or nobody need be. What was handed over waits as if it had not been.
    package mutating func callPostponed(at now: Timestamp) {
        self.takeBackCall(isUnseen: true)
        if !self.isIdle { self.expect(now) }
    }

    private mutating func takeBackCall(isUnseen isSaid: Bool) {
        // However it failed: where nobody was called, nobody has seen it.
        let isUnseen = isSaid || self.calls.isWaiting
        for gap in isUnseen ? self.calls.ended : [] { self.lost.insert(gap) }
        self.calls.isOver()
        var back: [KeptEvent] = []
        for var kept in self.unacknowledged where kept.isCalled {
            kept.callFailed(isUnseen: isUnseen)
            self.expect(kept.event.ends)
            back.append(kept)
        }
        // Each by itself would move all that came meanwhile, and there may be very many of both.
        self.waiting.insert(inOrder: back)
        self.unacknowledged.removeAll(where: \.isCalled)
    }
}
