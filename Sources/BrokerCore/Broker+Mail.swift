package import Arbitration
package import Motion

/// The way to the mailboxes, and from them.
extension Broker {
    /// Does what mailboxes want.
    ///
    /// - Parameter epoch: Of what is handed over now: its verdict is still to come, and an end of it waits for that.
    mutating func carry(_ actions: inout [BrokerAction], delivering epoch: UInt64? = nil) {
        if self.mail.isEmpty { return }
        for effect in self.mail {
            switch effect {
            case .send(let app, let event): actions.append(.deliver(app, event))
            case .mark(let app, let mark): actions.append(.mark(app, mark))
            case .persist(let stored): actions.append(.persist(stored))
            case .forget(let stored): actions.append(.forget(stored))
            case .ended(let app, let stored, let end):
                let event = stored.event
                if let app { self.registry.count(end.reason, of: app, epoch: event.epoch, at: event.time) }
                if let app, event.epoch == epoch {
                    self.records.endEarly(stored, end, of: app)
                } else {
                    self.tell(end, of: stored, &actions)
                }
            }
        }
        self.mail.removeAll(keepingCapacity: true)
    }

    private mutating func tell(_ end: EventEnd, of stored: StoredEvent, _ actions: inout [BrokerAction]) {
        self.records.end(stored, end)
        actions.append(.ended(stored.app, user: stored.user, stored.event, end))
    }

    /// Says of what ended before its verdict was there that it ended: of an app that has its verdict now, or of all.
    mutating func tellEarlyEnds(of app: AppHandle? = nil, _ actions: inout [BrokerAction]) {
        for (stored, end) in self.records.takeEarlyEnds(of: app) { self.tell(end, of: stored, &actions) }
    }

    /// What is due to an app, as others may see it.
    package func mailbox(_ app: AppHandle) -> EventQueue? { self.mailboxes[app] }

    // MARK: What apps say

    /// Sends the app what is kept for it and not yet expired, in order; then tells it so; then goes on.
    ///
    /// - Returns: how many events are kept.
    package mutating func subscribe(
        _ app: AppHandle, since: EventName?, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> Int {
        guard self.registry.has(app) else { throw .unknownClient }
        let count = self.mailboxes.change(app, &self.mail) { $0.subscribe(since: since, at: arrival, &$1) }
        self.carry(&actions)
        return count ?? 0
    }

    /// Takes an app's answer to an event: it is done with it and with all that it got before. One that it does not have,
    /// or not any more, changes nothing.
    package mutating func answer(
        _ app: AppHandle, _ event: EventName, _ answer: Answer, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard self.registry.has(app) else { throw .unknownClient }
        let verdict = self.mailboxes.change(app, &self.mail) { $0.acknowledge(event, at: arrival, &$1) }
        self.carry(&actions)
        if verdict == .mismatched { return }
        self.tell(.answer(app, epoch: event.epoch, answer), at: arrival)
        self.perform(&actions)
    }

    // MARK: What became of it

    /// An event went out. Returns whose it is.
    @discardableResult
    package mutating func sent(_ app: AppHandle, _ event: Event) -> AppID? {
        self.registry.sent(app, event)
        return self.registry.id(of: app)
    }

    /// A mark went out.
    package mutating func sent(_ app: AppHandle, _ mark: Mark) {
        switch mark {
        case .gap: self.registry.toldGap(app)
        case .caughtUp: break
        }
    }

    /// The client does not read, so the event did not go out. There will be word when there is room.
    package mutating func unsent(
        _ app: AppHandle, _ event: Event, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.mailboxes.change(app, &self.mail) { $0.takeBack(event, at: arrival, &$1) }
        self.carry(&actions)
    }

    /// The client does not read, so the mark did not go out. There will be word when there is room.
    package mutating func unsent(_ app: AppHandle, _ mark: Mark, _ actions: inout [BrokerAction]) {
        self.mailboxes.change(app, &self.mail) { queue, _ in queue.takeBack(mark) }
        self.carry(&actions)
    }

    /// The client has read, and so many bytes may be sent to it.
    package mutating func room(
        _ app: AppHandle, _ bytes: Int, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.mailboxes.change(app, &self.mail) { $0.resume(at: arrival, room: bytes, &$1) }
        self.carry(&actions)
    }

    /// Whether what would be sent to the client now would only come back. Mutating so that the core is looked at where it is.
    package mutating func isHeld(_ app: AppHandle) -> Bool { self.mailboxes.isHeld(app) }

    /// How many bytes may be sent to a client that has not read them.
    package func busShare(of app: AppHandle) -> Int {
        EventQueue.busShare(of: self.app(app).map { self.queueBytes(of: $0.id) } ?? 0)
    }

    // MARK: The disk

    /// An event is on the disk now.
    package mutating func persisted(_ event: StoredEvent) { self.mailboxes.persisted(event) }

    /// The events that are due and are to be on the disk.
    package var durableEvents: [StoredEvent] { self.mailboxes.durableEvents }

    /// Puts in what was kept before a restart, in the order of the numbers of each app.
    package mutating func restore(
        _ events: [StoredEvent], at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        let policy = self.decisions.arbiter.policy
        self.mailboxes.restore(events, keeping: { policy.settings(for: $0).queueBytes }, at: arrival, &self.mail)
        self.carry(&actions)
        self.launchForAll(at: arrival)
        self.perform(&actions)
        self.pumpMailboxes(at: arrival, &actions)
    }

    // MARK: What changes

    /// How much may be kept for an app anywhere.
    func queueBytes(of app: AppID) -> Int { self.decisions.arbiter.policy.settings(for: app).queueBytes }

    /// An app that cannot receive keeps what is due to it; one that can again gets it.
    mutating func stateChanged(of app: AppHandle, _ change: StateChange, _ actions: inout [BrokerAction]) {
        let now = self.decisions.arbiter.arrivalTime
        self.mailboxes.change(app, &self.mail) { $0.setReachable(change.to.canReceive, at: now, &$1) }
        self.carry(&actions)
        if !change.to.canReceive { self.launchForMail(of: app, at: now) }
    }

    /// Gives every mailbox the size that policy says.
    mutating func limitMailboxes(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        let policy = self.decisions.arbiter.policy
        self.mailboxes.limit(to: { policy.settings(for: $0).queueBytes }, at: arrival, &self.mail)
        self.carry(&actions)
    }

    /// Takes an event from whoever has it, because it is another's now.
    mutating func revoke(_ epoch: UInt64, from app: AppHandle? = nil, _ actions: inout [BrokerAction]) {
        self.mailboxes.revoke(epoch, from: app, at: self.decisions.arbiter.arrivalTime, &self.mail)
        self.carry(&actions)
    }

    /// Lets time pass in the mailboxes, once one of them waits for it.
    mutating func pumpMailboxes(at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.mailboxes.pump(at: now, &self.mail)
        self.carry(&actions)
    }
}
