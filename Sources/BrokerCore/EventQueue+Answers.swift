import Arbitration
package import Motion

/// An event as an app names it.
package struct EventName: Equatable, Sendable {
    package var sequence: UInt64
    package var epoch: UInt64

    package init(sequence: UInt64, epoch: UInt64) {
        self.sequence = sequence
        self.epoch = epoch
    }
}

extension EventQueue {
    // MARK: What the app says

    package enum AckVerdict: Equatable, Sendable {
        /// It and all that was sent before it is done with.
        case taken
        /// Not known here: its end is long ago, or nobody waits for an acknowledgement of it.
        case unknown
        /// Another event has this number, or none.
        case mismatched
    }

    /// Takes in an acknowledgement, which covers all that was sent before the event, too: not what is in a call, whose answer is for
    /// that, or is sent later because the call failed.
    package mutating func acknowledge(
        _ name: EventName, at now: Timestamp, _ actions: inout [QueueAction]
    ) -> AckVerdict {
        let (verdict, course) = self.verdict(on: name)
        self.outgoing.answered(name, isKept: verdict == .taken && course.order != nil)
        switch verdict {
        case .unknown: break
        case .mismatched: self.staleAcks &+= 1
        case .taken:
            self.end(.acknowledged, &actions) {
                $0.isSeen && !$0.isCalled && $0.event.sequence <= name.sequence
                    && $0.course.isCovered(by: course)
            }
            self.pump(at: now, &actions)
        }
        return verdict
    }

    private func verdict(on name: EventName) -> (AckVerdict, KeptEvent.Course) {
        // Numbers begin with 1.
        guard name.sequence > 0, name.sequence <= self.lastSequence else { return (.mismatched, KeptEvent.Course()) }
        // All of a motion have one epoch: what got this number behind others is not what the app has seen under it.
        func isNamed(_ kept: KeptEvent) -> Bool { kept.event.sequence == name.sequence && kept.isSeen }
        let known =
            (self.unacknowledged.first(where: isNamed) ?? self.waiting.all.first(where: isNamed)).map {
                (epoch: $0.event.epoch, course: $0.course)
            } ?? self.outgoing.ended.event(name.sequence)
        guard let known else { return (.unknown, KeptEvent.Course()) }
        return (known.epoch == name.epoch ? .taken : .mismatched, known.course)
    }

    /// The app wants what is kept for it, and then is told that this was all.
    ///
    /// - Returns: how many events are kept for it.
    package mutating func subscribe(at now: Timestamp, _ actions: inout [QueueAction]) -> Int {
        self.requeue()
        self.isSubscribed = true
        self.catchingUp = CaughtUp(last: self.lastSequence)
        let count = self.waiting.count
        self.wake(at: now, &actions)
        return count
    }

    /// The app wants its events, and asks for nothing.
    package mutating func listen(at now: Timestamp, _ actions: inout [QueueAction]) {
        guard !self.isSubscribed else { return }
        self.isSubscribed = true
        self.wake(at: now, &actions)
    }

    // MARK: The way to the app

    /// The app can be reached, or not.
    package mutating func setReachable(_ isReachable: Bool, at now: Timestamp, _ actions: inout [QueueAction]) {
        guard self.isReachable != isReachable else { return }
        self.isReachable = isReachable
        self.wake(at: now, &actions)
    }

    /// The app has read, and takes so many bytes.
    package mutating func resume(at now: Timestamp, room: Int, _ actions: inout [QueueAction]) {
        self.isHeld = false
        self.wake(at: now, room: room, &actions)
    }

    private mutating func wake(at now: Timestamp, room: Int = .max, _ actions: inout [QueueAction]) {
        // What was not to be sent again while nothing could be may be due since.
        if !self.unacknowledged.isEmpty { self.expect(now) }
        self.pump(at: now, room: room, &actions)
    }

    /// An event has gone out. With that it is over, if nobody has to acknowledge it.
    package mutating func went(_ event: Event, _ actions: inout [QueueAction]) {
        self.outgoing.take(event.sequence)?.isGone(.sent, &actions)
    }

    /// An event could not be sent. There will be word when it can.
    package mutating func takeBack(_ event: Event, at now: Timestamp, _ actions: inout [QueueAction]) {
        self.hold()
        let taken = self.outgoing.take(event.sequence)
        if let index = self.unacknowledged.firstIndex(at: event.sequence) {
            // The app has left since, and is called for it by now.
            if self.unacknowledged[index].isCalled { return self.unacknowledged[index].comesBack() }
            var kept = self.unacknowledged.remove(at: index)
            kept.comesBack()
            self.waiting.insert(kept)
            return self.expect(event.ends)
        }
        // It was on its way twice, or has ended or waits for who comes next since it was.
        if event.wantsAck { return self.takeBackAgain(event) }
        self.outgoing.takeOffer(event.sequence)
        // It may have been sent before, by another broker or under another number.
        var kept = taken ?? KeptEvent(event)
        if taken == nil, event.isRedelivered { kept.attempts = 1 }
        // It was on its way when the app left.
        guard self.isSubscribed || event.outlivesClient else { return self.finish(kept, .removed, &actions) }
        self.keep(kept, at: now, &actions)
        // Put there once more it would stay when it is over.
        if !kept.isStored { self.store(event, &actions) }
    }

    private mutating func takeBackAgain(_ event: Event) {
        if self.waiting.has(event.sequence) {
            self.waiting.updateFirst(at: event.sequence) { $0.comesBack() }
        } else if self.outgoing.ended.comesBack(event.sequence) {
            self.lost.insert(Gap(of: event.sequence, .removed))
        }
    }

    /// A mark could not be sent. There will be word when it can.
    package mutating func takeBack(_ mark: Mark) {
        self.hold()
        switch mark {
        case .gap(let gap): self.lost.insert(gap)
        case .caughtUp(let mark):
            if self.isSubscribed, self.catchingUp == nil { self.catchingUp = mark }
        }
    }

    /// Waits for room. Of one who has left there never is any: whoever comes next reads.
    private mutating func hold() { self.isHeld = self.isSubscribed }

    // MARK: What is gone

    /// The detector is gone, and what it caused.
    package mutating func remove(detector: String, at now: Timestamp, _ actions: inout [QueueAction]) {
        self.end(.removed, &actions) { $0.event.detector == detector }
        self.pump(at: now, &actions)
    }

    /// The event is another app's now; should this one have failed to be launched for it, because of that.
    package mutating func remove(epoch: UInt64, at now: Timestamp, _ actions: inout [QueueAction]) {
        guard !self.isIdle else { return }
        if self.calls.hasFailed {
            self.end(.launchFailed, &actions) { $0.event.epoch == epoch && $0.isLaunching && !$0.isCalled }
        }
        self.end(.removed, &actions) { $0.event.epoch == epoch }
        self.pump(at: now, &actions)
    }

    /// The app left the bus. What outlives that waits for its return; all of it may have come already.
    package mutating func detach(_ actions: inout [QueueAction]) {
        self.isSubscribed = false
        self.isReachable = true
        self.isHeld = false
        self.catchingUp = nil
        for index in self.unacknowledged.indices { self.unacknowledged[index].isAsUnsent() }
        self.requeue()
        // Also what was sent, and came back when it was sent again: whoever comes next has not had it.
        self.waiting.updateEach { $0.isAsUnsent() }
        // Nobody was there any more whom it could be sent to.
        for gone in self.outgoing.takeAll() { gone.isGone(.removed, &actions) }
        self.end(.removed, &actions) { !$0.event.outlivesClient }
    }

    /// Gives up what is too much to be kept for an app that left: the newest, until the rest fits; all of it without room.
    package mutating func cut(to room: Int?, _ actions: inout [QueueAction]) {
        var bytes = 0
        var last: UInt64 = 0
        for kept in self.waiting.all {
            bytes += kept.event.bytes
            guard let room, bytes <= room else { break }
            last = kept.event.sequence
        }
        self.end(.unkept, &actions) { !$0.isCalled && $0.event.sequence > last }
    }

    /// What was sent and not acknowledged is to be sent again, before everything else.
    private mutating func requeue() {
        for kept in self.unacknowledged where !kept.isCalled { self.waiting.insert(kept) }
        self.unacknowledged.removeAll { !$0.isCalled }
    }

    // MARK: Policy and the disk

    /// Whether so much is what it may keep already.
    func keeps(atMost total: Int) -> Bool { self.limit == total - Self.busShare(of: total) }

    /// Other limits are in force.
    package mutating func setLimit(keeping total: Int, at now: Timestamp, _ actions: inout [QueueAction]) {
        self.limit = total - Self.busShare(of: total)
        _ = self.makeRoom(for: 0, at: now, &actions)
    }

    /// An event is on the disk now. An app that came anew in the meantime may have another one of its number.
    package mutating func persisted(_ name: EventName) {
        if let index = self.unacknowledged.firstIndex(at: name.sequence), self.unacknowledged[index].isNamed(name) {
            self.unacknowledged[index].event.isPersistent = true
        }
        self.waiting.updateFirst(at: name.sequence) { if $0.isNamed(name) { $0.event.isPersistent = true } }
    }

    /// Puts in an event that was kept before a restart. It may have been sent already.
    package mutating func restore(_ event: Event, at now: Timestamp, _ actions: inout [QueueAction]) {
        var event = event
        // The numbers of an app that has had events since are its own.
        let isRenumbered = event.sequence <= self.lastSequence
        if isRenumbered { event.content.sequence = self.lastSequence &+ 1 }
        event.isPersistent = true
        self.lastSequence = event.sequence
        var kept = KeptEvent(event)
        kept.isRestored(isRenumbered: isRenumbered)
        self.keep(kept, at: now, &actions)
    }

    /// Takes in what another queue keeps, behind all that is here: its events get numbers of this one.
    mutating func join(_ other: EventQueue, at now: Timestamp, _ actions: inout [QueueAction]) {
        for var kept in other.unacknowledged + other.waiting.all {
            self.lastSequence &+= 1
            kept.event.content.sequence = self.lastSequence
            kept.earlierAttempts = kept.attempts
            guard kept.isCalled else {
                self.keep(kept, at: now, &actions)
                continue
            }
            self.bytes += kept.event.bytes
            self.unacknowledged.append(kept)
        }
        // It is the one call of this name that is out.
        if other.isCalled { self.calls.isWaiting = other.calls.isWaiting }
        self.dropped &+= other.dropped
        self.expired &+= other.expired
        self.calls.hasFailed = self.calls.hasFailed || other.calls.hasFailed
    }
}
