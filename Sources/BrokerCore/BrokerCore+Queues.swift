package import Arbitration
package import Motion

/// An event on the disk, and whose it is.
package struct StoredEvent: Equatable, Sendable {
    package var app: AppID
    package var user: UInt32
    package var event: Event

    package init(app: AppID, user: UInt32, event: Event) {
        self.app = app
        self.user = user
        self.event = event
    }
}

extension BrokerCore {
    // MARK: What apps say

    /// Sends the app what is kept for it and not yet expired, in order; then tells it so; then goes on.
    ///
    /// - Returns: how many events are kept.
    package mutating func subscribe(
        _ client: ClientID, since: EventName?, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> Int {
        guard self.app(client) != nil else { throw .unknownClient }
        let index = Int(client.index)
        let count = self.apps[index]?.queue.subscribe(since: since, at: arrival, &self.queueActions) ?? 0
        self.settleQueue(index, &actions)
        return count
    }

    /// Takes an app's answer to an event: it is done with it and with all that it got before. One that it does not have,
    /// or not any more, changes nothing.
    package mutating func answer(
        _ client: ClientID, _ event: EventName, _ answer: Answer, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard self.app(client) != nil else { throw .unknownClient }
        let index = Int(client.index)
        let verdict = self.apps[index]?.queue.acknowledge(event, at: arrival, &self.queueActions)
        self.settleQueue(index, &actions)
        if verdict == .mismatched { return }
        self.tell(.answer(client.handle, epoch: event.epoch, answer), at: arrival)
        self.perform(&actions)
    }

    // MARK: What became of it

    /// An event went out.
    package mutating func sent(_ client: ClientID, _ event: Event) {
        guard client.index < self.apps.count else { return }
        if event.isRedelivered {
            self.apps[Int(client.index)]?.redelivered &+= 1
        } else {
            self.apps[Int(client.index)]?.delivered &+= 1
        }
    }

    /// A mark went out.
    package mutating func sent(_ client: ClientID, _ mark: Mark) {
        guard client.index < self.apps.count else { return }
        switch mark {
        case .gap: self.apps[Int(client.index)]?.gaps &+= 1
        case .caughtUp: break
        }
    }

    /// The client does not read, so the event did not go out. There will be word when there is room.
    package mutating func unsent(
        _ client: ClientID, _ event: Event, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard self.app(client) != nil else { return }
        self.apps[Int(client.index)]?.queue.takeBack(event, at: arrival, &self.queueActions)
        self.settleQueue(Int(client.index), &actions)
    }

    /// The client does not read, so the mark did not go out. There will be word when there is room.
    package mutating func unsent(_ client: ClientID, _ mark: Mark, _ actions: inout [BrokerAction]) {
        guard self.app(client) != nil else { return }
        self.apps[Int(client.index)]?.queue.takeBack(mark)
        self.settleQueue(Int(client.index), &actions)
    }

    /// The client has read, and so many bytes may be sent to it.
    package mutating func room(
        _ client: ClientID, _ bytes: Int, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard self.app(client) != nil else { return }
        self.apps[Int(client.index)]?.queue.resume(at: arrival, room: bytes, &self.queueActions)
        self.settleQueue(Int(client.index), &actions)
    }

    /// Whether what would be sent to the client now would only come back. Mutating so that the core is looked at where it is.
    package mutating func isHeld(_ client: ClientID) -> Bool {
        client.index < self.apps.count ? self.apps[Int(client.index)]?.queue.isHeld ?? true : true
    }

    /// How many bytes may be sent to a client that has not read them.
    package func busShare(of client: ClientID) -> Int {
        EventQueue.busShare(of: self.app(client).map { self.arbiter.policy.settings(for: $0.id).queueBytes } ?? 0)
    }

    // MARK: The disk

    /// An event is on the disk now.
    package mutating func persisted(_ event: StoredEvent) {
        if let index = self.index(of: event.app, event.user) {
            self.apps[index]?.queue.persisted(event.event.sequence)
        } else if let index = self.absent.index(of: event.app, event.user) {
            self.absent[index].queue.persisted(event.event.sequence)
        }
    }

    /// The events that are due and are to be on the disk.
    package var durableEvents: [StoredEvent] {
        let present = self.apps.lazy.compactMap { $0 }.flatMap { app in
            app.queue.durableEvents.map { StoredEvent(app: app.id, user: app.user, event: $0) }
        }
        return present
            + self.absent.all.flatMap { app in
                app.queue.durableEvents.map { StoredEvent(app: app.id, user: app.user, event: $0) }
            }
    }

    /// Puts in what was kept before a restart, in the order of the numbers of each app.
    package mutating func restore(
        _ events: [StoredEvent], at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        for stored in events {
            if let index = self.index(of: stored.app, stored.user) {
                self.apps[index]?.queue.restore(stored.event, at: arrival, &self.queueActions)
                self.apps[index]?.queue.pump(at: arrival, &self.queueActions)
                self.settleQueue(index, &actions)
            } else {
                let index = self.absent.index(of: stored.app, stored.user) ?? self.makeAbsent(stored)
                self.absent[index].queue.restore(stored.event, at: arrival, &self.queueActions)
                self.tellAbsent(index, &actions)
            }
        }
        for user in Set(events.map(\.user)) { self.absent.book(user) }
        self.launchForAll(at: arrival)
        self.perform(&actions)
        self.pumpQueues(at: arrival, &actions)
    }

    private func index(of app: AppID, _ user: UInt32) -> Int? {
        self.apps.firstIndex { $0?.id == app && $0?.user == user }
    }

    // MARK: Coming and going

    /// The queue of an app that came back for another user than the one it was kept for: what was, stays his.
    ///
    /// Of an app that was never on the bus nobody knew whose it is: it takes all with it.
    mutating func passQueue(_ index: Int, to user: UInt32, _ actions: inout [BrokerAction]) {
        guard let app = self.apps[index], app.user != user else { return }
        guard app.wasSeen else {
            for event in app.queue.durableEvents {
                actions.append(.forget(StoredEvent(app: app.id, user: app.user, event: event)))
                actions.append(.persist(StoredEvent(app: app.id, user: user, event: event)))
            }
            return
        }
        self.keepQueue(of: app, &actions)
        let queue = self.takeQueue(of: app.id, user)
        self.apps[index]?.queue = queue
    }

    /// The queue of an app that comes: its own, if something was kept for it.
    mutating func takeQueue(of app: AppID, _ user: UInt32) -> EventQueue {
        if !app.isAnonymous, let index = self.absent.index(of: app, user) { return self.absent.take(index).queue }
        return EventQueue(keeping: self.arbiter.policy.settings(for: app).queueBytes, isSubscribed: false)
    }

    /// Keeps what is left for an app that goes, if there is anything and its user has room for it.
    mutating func keepQueue(of app: App, _ actions: inout [BrokerAction]) {
        var queue = app.queue
        var ends: [QueueAction] = []
        queue.detach(&ends)
        if app.id.isAnonymous { queue.end(.removed, &ends) { _ in true } }
        if queue.isKeeping { queue.cut(to: self.absent.room(for: app.user), &ends) }
        for end in ends { self.tell(end, of: app.id, app.user, &actions) }
        guard queue.isKeeping else { return }
        self.absent.append(AbsentApp(id: app.id, user: app.user, queue: queue))
        if let deadline = queue.deadline { self.expect(deadline) }
    }

    private mutating func makeAbsent(_ stored: StoredEvent) -> Int {
        let bytes = self.arbiter.policy.settings(for: stored.app).queueBytes
        return self.absent.append(
            AbsentApp(id: stored.app, user: stored.user, queue: EventQueue(keeping: bytes, isSubscribed: false)))
    }

    /// An app that cannot receive keeps what is due to it; one that can again gets it.
    mutating func stateChanged(of app: AppHandle, _ change: StateChange, _ actions: inout [BrokerAction]) {
        let index = Int(app.index)
        guard index < self.apps.count else { return }
        let now = self.arbiter.arrivalTime
        self.apps[index]?.queue.setReachable(change.to.canReceive, at: now, &self.queueActions)
        self.settleQueue(index, &actions)
        if !change.to.canReceive { self.launchForQueue(index, at: now) }
    }

    // MARK: Queues at work

    /// Takes in an event for an app, and sends it if it can go.
    mutating func enqueue(
        _ delivery: Delivery, _ isSimulated: Bool, since start: Timestamp, _ actions: inout [BrokerAction]
    ) {
        let index = Int(delivery.app.index)
        let now = self.arbiter.arrivalTime
        let event = self.apps[index]?.take(delivery, isSimulated, since: start, at: now, &self.queueActions)
        if let app = self.apps[index], let last = app.lastEvent { self.recent.keep(last, of: app) }
        if let event { return actions.append(.deliver(ClientID(delivery.app.index), event)) }
        // It waits: for room, or for an app that is suspended or not on the bus. Each event comes by here once, when it is due.
        self.settleQueue(index, &actions)
    }

    /// Gives every queue the size that policy says.
    mutating func limitQueues(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for index in self.apps.indices {
            guard let id = self.apps[index]?.id else { continue }
            let bytes = self.arbiter.policy.settings(for: id).queueBytes
            guard self.apps[index]?.queue.keeps(atMost: bytes) == false else { continue }
            self.apps[index]?.queue.setLimit(keeping: bytes, at: arrival, &self.queueActions)
            self.settleQueue(index, &actions)
        }
        for index in self.absent.indices {
            let bytes = self.arbiter.policy.settings(for: self.absent[index].id).queueBytes
            self.absent[index].queue.setLimit(keeping: bytes, at: arrival, &self.queueActions)
            self.tellAbsent(index, &actions)
        }
    }

    /// Throws away what a detector of an app caused.
    mutating func discard(
        _ client: ClientID, _ detector: String, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        let index = Int(client.index)
        self.apps[index]?.queue.remove(detector: detector, at: arrival, &self.queueActions)
        self.settleQueue(index, &actions)
    }

    /// Takes an event from whoever has it, because it is another's now.
    mutating func revoke(_ epoch: UInt64, from app: AppHandle? = nil, _ actions: inout [BrokerAction]) {
        let now = self.arbiter.arrivalTime
        for index in self.busy where app.map({ Int($0.index) == index }) ?? true {
            self.apps[index]?.queue.remove(epoch: epoch, at: now, &self.queueActions)
            self.settleQueue(index, &actions)
        }
    }

    /// Passes on what a queue wants, and remembers it while it is not done.
    mutating func settleQueue(_ index: Int, _ actions: inout [BrokerAction]) {
        if !self.queueActions.isEmpty { self.passOn(index, &actions) }
        guard let queue = self.apps[index]?.queue else { return }
        if self.apps[index]?.isBusy == false, !queue.isIdle {
            self.apps[index]?.isBusy = true
            self.busy.append(index)
        }
        if let deadline = queue.deadline { self.expect(deadline) }
    }

    private mutating func passOn(_ index: Int, _ actions: inout [BrokerAction]) {
        defer { self.queueActions.removeAll(keepingCapacity: true) }
        // Not a copy of the app, which would have to be made anew when it counts.
        guard let id = self.apps[index]?.id, let user = self.apps[index]?.user else { return }
        let client = ClientID(UInt32(truncatingIfNeeded: index))
        for action in self.queueActions {
            switch action {
            case .send(let event): actions.append(.deliver(client, event))
            case .mark(let mark): actions.append(.mark(client, mark))
            case .ended(let event, let end):
                self.apps[index]?.count(end.reason, epoch: event.epoch, at: event.time)
                self.tell(action, of: id, user, &actions)
            case .persist, .forget: self.tell(action, of: id, user, &actions)
            }
        }
    }

    mutating func tellAbsent(_ index: Int, _ actions: inout [BrokerAction]) {
        let (id, user) = (self.absent[index].id, self.absent[index].user)
        if !self.queueActions.isEmpty {
            for action in self.queueActions { self.tell(action, of: id, user, &actions) }
            self.queueActions.removeAll(keepingCapacity: true)
            self.absent.book(user)
        }
        if let deadline = self.absent[index].queue.deadline { self.expect(deadline) }
    }

    private mutating func tell(
        _ action: QueueAction, of app: AppID, _ user: UInt32, _ actions: inout [BrokerAction]
    ) {
        switch action {
        case .persist(let event): actions.append(.persist(StoredEvent(app: app, user: user, event: event)))
        case .forget(let event): actions.append(.forget(StoredEvent(app: app, user: user, event: event)))
        case .ended(let event, let end):
            self.recent.end(event, of: app, user, end.reason)
            actions.append(.ended(app, event, end))
        case .send, .mark: break
        }
    }

    private mutating func expect(_ time: Timestamp) { self.queueDeadline = min(self.queueDeadline ?? time, time) }

    /// Lets time pass in the queues, once one of them waits for it.
    mutating func pumpQueues(at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let deadline = self.queueDeadline, deadline <= now else { return }
        self.queueDeadline = nil
        for index in self.busy {
            self.apps[index]?.queue.pump(at: now, &self.queueActions)
            self.settleQueue(index, &actions)
        }
        for index in self.busy where self.apps[index]?.queue.isIdle == true { self.apps[index]?.isBusy = false }
        self.busy.removeAll { self.apps[$0]?.isBusy != true }
        for index in self.absent.indices {
            self.absent[index].queue.pump(at: now, &self.queueActions)
            self.tellAbsent(index, &actions)
        }
        self.absent.tidy()
    }
}
