package import Arbitration
package import Motion

/// What is to be done for mailboxes, in order.
enum MailEffect {
    case send(AppHandle, Event)
    case mark(AppHandle, Mark)
    /// Put it on the disk; it is kept there until it is to be forgotten.
    case persist(StoredEvent)
    case forget(StoredEvent)
    /// It came to its end without being sent for good; without a number when its app is not here.
    case ended(AppHandle?, StoredEvent, EventEnd)
    /// Its app could not be launched for it, this time.
    case failed(StoredEvent, LaunchFailure)
}

/// One mailbox for each app, here or not: what is due to it, until it has it or that comes to its end.
///
/// Effects go into the list that each request is handed.
package struct Mailboxes {
    /// What is due to an app that is here.
    private struct Box {
        let app: AppID
        /// Who may have it; `nil`: nobody's yet, and that of whoever comes first.
        var user: UInt32?
        var queue: EventQueue
        /// Rises with each that is opened: of those that are due at the same time, which one is first.
        let order: UInt64

        mutating func change<Result>(
            _ wants: inout [QueueAction], _ body: (inout EventQueue, inout [QueueAction]) -> Result
        ) -> Result { body(&self.queue, &wants) }

        mutating func left(of handover: Handover) -> Handover? { handover.left(in: &self.queue) }
    }

    private var boxes = AppTable<Box>()
    private var names = AppNames()
    private var opened: UInt64 = 0
    /// When something happens without an input in the queues of those that are here.
    private var deadlines = DeadlineHeap()
    private var absent: AbsentApps
    /// Not later than the first time at which something happens without an input in a queue of those that are not here.
    private var absentDeadline: Timestamp?
    /// What a queue wants, until it is passed on.
    private var wants: [QueueAction] = []

    init(_ limits: BrokerLimits) { self.absent = AbsentApps(limits) }

    /// What is due to an app that is here.
    package subscript(app: AppHandle) -> EventQueue? { self.boxes[app]?.queue }

    /// What there is to keep for all apps that are not here, and who has it.
    package var usage: [LimitUsage] { self.absent.usage }

    /// Not later than the first time at which something happens in a mailbox without an input.
    var deadline: Timestamp? {
        guard let here = self.deadlines.first?.time else { return self.absentDeadline }
        return min(here, self.absentDeadline ?? here)
    }

    /// Whether what would be sent now would only come back.
    func isHeld(_ app: AppHandle) -> Bool { self.boxes[app]?.queue.isHeld ?? true }

    // MARK: Coming and going

    /// Opens the mailbox of an app that comes, with what was kept for it.
    mutating func open(
        _ app: AppHandle, _ id: AppID, _ user: UInt32?, keeping bytes: Int, at now: Timestamp,
        _ effects: inout [MailEffect]
    ) {
        let queue = self.takeQueue(of: id, user, keeping: bytes, at: now, &effects)
        self.opened &+= 1
        self.boxes.put(Box(app: id, user: user, queue: queue, order: self.opened), for: app)
        self.names.insert(app, id)
        // It may be there for long without being on the bus, and what it has expires all the same.
        self.settle(app, &effects)
    }

    /// Closes the mailbox of an app that goes. What outlives it is kept, if its user has room for it.
    mutating func close(_ app: AppHandle, _ effects: inout [MailEffect]) {
        guard let box = self.boxes[app] else { return }
        self.keep(box, &effects)
        self.boxes.remove(app)
        self.names.remove(app, box.app)
        self.deadlines.set(app, box.order, to: nil)
    }

    /// The app left the bus and goes on to exist.
    mutating func detach(_ app: AppHandle, _ effects: inout [MailEffect]) {
        self.change(app, &effects) { $0.detach(&$1) }
    }

    /// The app came for another user than the one whose it was, and what was, stays his; or for the first whose it is.
    mutating func pass(
        _ app: AppHandle, to user: UInt32, keeping bytes: Int, at now: Timestamp, _ effects: inout [MailEffect]
    ) {
        guard let box = self.boxes[app], box.user != user else { return }
        if box.user != nil { self.keep(box, &effects) }
        let queue = self.takeQueue(
            of: box.app, user, besides: box.user == nil ? box.queue : nil, keeping: bytes, at: now, &effects)
        self.boxes.update(app) {
            $0?.user = user
            $0?.queue = queue
        }
        self.settle(app, &effects)
    }

    /// The queue of an app that comes: its own, if something was kept for it, with what was nobody's behind.
    private mutating func takeQueue(
        of id: AppID, _ user: UInt32?, besides open: EventQueue? = nil, keeping bytes: Int, at now: Timestamp,
        _ effects: inout [MailEffect]
    ) -> EventQueue {
        let own = self.takeAbsent(id, user)
        guard let user, let nobodys = open ?? self.takeAbsent(id, nil) else {
            return own ?? EventQueue(keeping: bytes, isSubscribed: false)
        }
        var queue = own ?? nobodys
        // What is his is on the disk as that, and is not put there again: it may be over before the disk has heard of that.
        let last = own?.lastSequence ?? 0
        if own != nil {
            var ends: [QueueAction] = []
            queue.join(nobodys, at: now, &ends)
            for end in ends { Self.tell(end, of: id, user, nil, &effects) }
        }
        for event in queue.durableEvents where event.sequence > last {
            effects.append(.persist(StoredEvent(app: id, user: user, event: event)))
        }
        // The disk may have only the first of this: it never has neither.
        for event in nobodys.durableEvents {
            effects.append(.forget(StoredEvent(app: id, user: nil, event: event)))
        }
        return queue
    }

    private mutating func takeAbsent(_ id: AppID, _ user: UInt32?) -> EventQueue? {
        guard !id.isAnonymous, let index = self.absent.index(of: id, user) else { return nil }
        return self.absent.take(index).queue
    }

    private mutating func keep(_ box: Box, _ effects: inout [MailEffect]) {
        var queue = box.queue
        var ends: [QueueAction] = []
        queue.detach(&ends)
        if box.app.isAnonymous { queue.end(.removed, &ends) { _ in true } }
        if queue.isKeeping { queue.cut(to: self.absent.room(for: box.user), &ends) }
        for end in ends { Self.tell(end, of: box.app, box.user, nil, &effects) }
        guard queue.isKeeping else { return }
        self.absent.append(AbsentApp(id: box.app, user: box.user, queue: queue))
        if let deadline = queue.deadline { self.expect(deadline) }
    }

    // MARK: Events

    /// Takes in an event, and sends it if it can go. Returns it with its number.
    mutating func add(
        _ delivery: Delivery, isSimulated: Bool, since start: Timestamp, at now: Timestamp,
        _ effects: inout [MailEffect]
    ) -> Event? {
        let result = self.boxes.update(delivery.app) { (box: inout Box?) -> (event: Event, goesAtOnce: Bool)? in
            let isNobodys = box?.user == nil
            return box?.queue.add(
                delivery, isSimulated: isSimulated, wasNobodys: isNobodys, since: start, at: now, &self.wants)
        }
        guard let (event, goesAtOnce) = result else { return nil }
        // It may wait for room, or for an app that is suspended or not on the bus. Each comes by here once, when it is due.
        if goesAtOnce { effects.append(.send(delivery.app, event)) } else { self.settle(delivery.app, &effects) }
        return event
    }

    /// Takes an event from whoever has it, or from one app, because it is another's now. The app may have become another user's since,
    /// and then it waits for the one whose it was.
    mutating func revoke(
        _ epoch: UInt64, from app: AppHandle?, at now: Timestamp, _ effects: inout [MailEffect]
    ) {
        for app in app.map({ [$0] }) ?? self.boxes.handles where self.boxes[app]?.queue.isIdle == false {
            self.change(app, &effects) { $0.remove(epoch: epoch, at: now, &$1) }
        }
        let id = app.flatMap { self.boxes[$0]?.app }
        for index in self.absent.indices where id.map({ $0 == self.absent[index].id }) ?? (app == nil) {
            guard self.absent[index].queue.keeps(epoch: epoch) else { continue }
            self.absent[index].queue.remove(epoch: epoch, at: now, &self.wants)
            self.tellAbsent(index, &effects)
        }
        self.absent.tidy()
    }

    /// Throws away what a detector of an app caused.
    mutating func remove(detector: String, of app: AppHandle, at now: Timestamp, _ effects: inout [MailEffect]) {
        self.change(app, &effects) { $0.remove(detector: detector, at: now, &$1) }
    }

    /// Does something with the queue of an app that is here, and passes on what that wants.
    @discardableResult
    mutating func change<Result>(
        _ app: AppHandle, _ effects: inout [MailEffect],
        _ body: (inout EventQueue, inout [QueueAction]) -> Result
    ) -> Result? {
        guard self.boxes.has(app) else { return nil }
        let result = self.boxes.update(app) { $0?.change(&self.wants, body) }
        self.settle(app, &effects)
        return result
    }

    /// Passes on what a queue wants, and notes when there is more to do for it.
    private mutating func settle(_ app: AppHandle, _ effects: inout [MailEffect]) {
        guard self.boxes.has(app) else { return }
        if !self.wants.isEmpty, let id = self.boxes[app]?.app {
            let user = self.boxes[app]?.user
            for want in self.wants { Self.tell(want, of: id, user, app, &effects) }
            self.wants.removeAll(keepingCapacity: true)
        }
        self.deadlines.set(app, self.boxes[app]?.order ?? 0, to: self.boxes[app]?.queue.deadline)
    }

    private static func tell(
        _ want: QueueAction, of id: AppID, _ user: UInt32?, _ app: AppHandle?, _ effects: inout [MailEffect]
    ) {
        switch want {
        case .send(let event): if let app { effects.append(.send(app, event)) }
        case .mark(let mark): if let app { effects.append(.mark(app, mark)) }
        case .persist(let event): effects.append(.persist(StoredEvent(app: id, user: user, event: event)))
        case .forget(let event): effects.append(.forget(StoredEvent(app: id, user: user, event: event)))
        case .ended(let event, let end):
            effects.append(.ended(app, StoredEvent(app: id, user: user, event: event), end))
        case .failed(let event, let failure):
            effects.append(.failed(StoredEvent(app: id, user: user, event: event), failure))
        }
    }

    private mutating func tellAbsent(_ index: Int, _ effects: inout [MailEffect]) {
        let (id, user) = (self.absent[index].id, self.absent[index].user)
        if !self.wants.isEmpty {
            for want in self.wants { Self.tell(want, of: id, user, nil, &effects) }
            self.wants.removeAll(keepingCapacity: true)
            self.absent.book(user)
        }
        if let deadline = self.absent[index].queue.deadline { self.expect(deadline) }
    }

    // MARK: Launches

    /// How much an app is to be launched for what waits for it, until when that is of use, and for which event first, if that is
    /// known.
    struct Wish {
        let id: AppID
        /// Whose it is; `nil`: nobody's yet.
        let user: UInt32?
        let strength: Int
        let ends: Timestamp
        var first: Event?
    }

    /// What an app that is here is to be launched for; `nil`: it need not be.
    func wish(of app: AppHandle) -> Wish? {
        guard let box = self.boxes[app], !box.app.isAnonymous, let wish = box.queue.launchWish else { return nil }
        return Wish(
            id: box.app, user: box.user, strength: wish.strength, ends: wish.ends, first: box.queue.firstToLaunch)
    }

    /// The same for what is kept for apps that are not here; of one of them, or of all.
    func absentWishes(of id: AppID? = nil) -> [Wish] {
        self.absent.all.compactMap { app in
            guard id.map({ $0 == app.id }) ?? true, !self.isSomebodys(app.id) else { return nil }
            return app.queue.launchWish.map {
                Wish(id: app.id, user: app.user, strength: $0.strength, ends: $0.ends)
            }
        }
    }

    /// Whether the app of this name is here and somebody's: it is launched for what is due to him, and what other users had waits
    /// until they have the name again.
    private func isSomebodys(_ id: AppID) -> Bool { self.names[id].contains { self.boxes[$0]?.user != nil } }

    /// Takes what an app is to be launched for, wherever that is; `nil`: it need not be launched.
    ///
    /// - Parameter user: Whose it is; `nil`: it was nobody's when that was wished for, and whoever's is here has it now.
    mutating func beginCall(
        of id: AppID, _ user: UInt32?, at now: Timestamp, _ effects: inout [MailEffect]
    ) -> Handover? {
        if let app = self.here(id, user) {
            var call = self.change(app, &effects) { $0.beginCall(at: now, &$1) }
            call?.user = self.boxes[app]?.user
            if let call, !call.events.isEmpty { return call }
        }
        guard !self.isSomebodys(id), let index = self.absent.index(of: id, user) else { return nil }
        var call = self.absent[index].queue.beginCall(at: now, &self.wants)
        call.user = user
        self.tellAbsent(index, &effects)
        return call.events.isEmpty ? nil : call
    }

    /// Somebody is called with what an app is launched for, or nobody has been until now.
    mutating func setCalled(_ id: AppID, _ isCalled: Bool) {
        if let app = self.called(id) {
            self.boxes.update(app) { $0?.queue.setCalled(isCalled) }
        } else if let index = self.absentCalled(id) {
            self.absent[index].queue.setCalled(isCalled)
        }
    }

    /// What is left of what an app is about to be called with, wherever that is, and whose it is by now; `nil`: nothing.
    mutating func handOver(_ handover: Handover, to id: AppID) -> Handover? {
        var left: Handover?
        if let app = self.called(id) {
            left = self.boxes.update(app) { $0?.left(of: handover) }
            left?.user = self.boxes[app]?.user
        } else if let index = self.absentCalled(id) {
            left = handover.left(in: &self.absent[index].queue)
            left?.user = self.absent[index].user
        }
        return left
    }

    /// The app that is here and has events in its hands in a call.
    func called(_ id: AppID) -> AppHandle? {
        self.names[id].first { self.boxes[$0]?.queue.isCalled == true }
    }

    /// The same of what is kept for apps that are not here.
    private func absentCalled(_ id: AppID) -> Int? {
        self.absent.all.firstIndex { $0.id == id && $0.queue.isCalled }
    }

    /// An app that is here: a user's, or anybody's.
    private func here(_ id: AppID, _ user: UInt32?) -> AppHandle? {
        self.names[id].first { user == nil || self.boxes[$0]?.user == user }
    }

    /// Does something with the queue whose events an app was called for, or could not be, wherever that is.
    mutating func endCall(
        of id: AppID, _ user: UInt32?, _ effects: inout [MailEffect],
        _ body: (inout EventQueue, inout [QueueAction]) -> Void
    ) {
        if let app = self.called(id) { return self.change(app, &effects, body) ?? () }
        if let index = self.absentCalled(id) {
            return self.endCall(ofAbsent: index, &effects, body)
        }
        // What it was called for is gone; that it could not be called counts for what came since.
        if let app = self.here(id, user) {
            self.change(app, &effects, body)
        } else if let index = self.absent.index(of: id, user) {
            self.endCall(ofAbsent: index, &effects, body)
        }
    }

    private mutating func endCall(
        ofAbsent index: Int, _ effects: inout [MailEffect], _ body: (inout EventQueue, inout [QueueAction]) -> Void
    ) {
        body(&self.absent[index].queue, &self.wants)
        self.tellAbsent(index, &effects)
        // Nothing more may be due there, and then no time comes at which that would be seen.
        self.absent.tidy()
    }

    // MARK: The disk

    /// An event is on the disk now.
    mutating func persisted(_ stored: StoredEvent) {
        let name = EventName(sequence: stored.event.sequence, epoch: stored.event.epoch)
        if let app = self.here(stored) {
            self.boxes.update(app) { $0?.queue.persisted(name) }
        } else if let index = self.absent.index(of: stored.app, stored.user) {
            self.absent[index].queue.persisted(name)
        }
    }

    /// What is kept for apps that are not here, and whose it is.
    package var absentBoxes: [(app: AppID, user: UInt32?, queue: EventQueue)] {
        self.absent.all.map { ($0.id, $0.user, $0.queue) }
    }

    /// The events that are due and are to be on the disk.
    package var durableEvents: [StoredEvent] {
        let here = self.boxes.handles.flatMap { app in
            self.boxes[app].map { Self.durable($0.queue, $0.app, $0.user) } ?? []
        }
        return here + self.absent.all.flatMap { Self.durable($0.queue, $0.id, $0.user) }
    }

    private static func durable(_ queue: EventQueue, _ app: AppID, _ user: UInt32?) -> [StoredEvent] {
        queue.durableEvents.map { StoredEvent(app: app, user: user, event: $0) }
    }

    /// Puts in what was kept before a restart, in the order of the numbers of each app.
    ///
    /// - Parameter bytes: How much is kept for an app.
    mutating func restore(
        _ events: [StoredEvent], keeping bytes: (AppID) -> Int, at now: Timestamp, _ effects: inout [MailEffect]
    ) {
        // What had become somebody's just before the restart may be on the disk as that and as nobody's.
        let owned = Set(events.lazy.filter { $0.user != nil }.map(\.identity))
        for var stored in events {
            stored.event.wasNobodys = stored.user == nil
            if stored.user == nil, owned.contains(stored.identity) {
                effects.append(.forget(stored))
            } else if let app = self.here(stored) {
                self.change(app, &effects) { queue, wants in
                    queue.restore(stored.event, at: now, &wants)
                    queue.pump(at: now, &wants)
                }
            } else if stored.user == nil, let app = self.names[stored.app].first {
                // Somebody came for it before it was known that something was nobody's.
                self.change(app, &effects) { queue, wants in
                    queue.restore(stored.event, at: now, &wants)
                    var event = stored.event
                    event.content.sequence = queue.lastSequence
                    if queue.keeps(event.sequence) { wants.append(.persist(event)) }
                    queue.pump(at: now, &wants)
                }
                effects.append(.forget(stored))
            } else {
                let index = self.absent.index(of: stored.app, stored.user) ?? self.makeAbsent(stored, bytes)
                self.absent[index].queue.restore(stored.event, at: now, &self.wants)
                self.tellAbsent(index, &effects)
            }
        }
        // What found no room waits for no time at which it would be seen that nothing is kept.
        self.absent.tidy()
        for user in Set(events.map(\.user)) { self.absent.book(user) }
    }

    private func here(_ stored: StoredEvent) -> AppHandle? {
        self.names[stored.app].first { self.boxes[$0]?.user == stored.user }
    }

    private mutating func makeAbsent(_ stored: StoredEvent, _ bytes: (AppID) -> Int) -> Int {
        let queue = EventQueue(keeping: bytes(stored.app), isSubscribed: false)
        return self.absent.append(AbsentApp(id: stored.app, user: stored.user, queue: queue))
    }

    // MARK: Time and room

    /// Gives every queue the size that policy says.
    mutating func limit(to bytes: (AppID) -> Int, at now: Timestamp, _ effects: inout [MailEffect]) {
        for app in self.boxes.handles {
            guard let id = self.boxes[app]?.app else { continue }
            let bytes = bytes(id)
            guard self.boxes[app]?.queue.keeps(atMost: bytes) == false else { continue }
            self.change(app, &effects) { $0.setLimit(keeping: bytes, at: now, &$1) }
        }
        for index in self.absent.indices {
            self.absent[index].queue.setLimit(keeping: bytes(self.absent[index].id), at: now, &self.wants)
            self.tellAbsent(index, &effects)
        }
        // As above: who has nothing left takes nobody a place.
        self.absent.tidy()
    }

    private mutating func expect(_ time: Timestamp) {
        self.absentDeadline = min(self.absentDeadline ?? time, time)
    }

    /// Lets time pass in those mailboxes that wait for it.
    mutating func pump(at now: Timestamp, _ effects: inout [MailEffect]) {
        for app in self.takeDue(by: now) { self.change(app, &effects) { $0.pump(at: now, &$1) } }
        guard let deadline = self.absentDeadline, deadline <= now else { return }
        self.absentDeadline = nil
        for index in self.absent.indices {
            self.absent[index].queue.pump(at: now, &self.wants)
            self.tellAbsent(index, &effects)
        }
        self.absent.tidy()
    }

    /// Each of them once: it is due anew when it has been looked at.
    private mutating func takeDue(by now: Timestamp) -> [AppHandle] {
        var apps: [AppHandle] = []
        while let due = self.deadlines.first, due.time <= now {
            self.deadlines.set(due.app, due.order, to: nil)
            apps.append(due.app)
        }
        return apps
    }

    /// Gives back the room of those who have gone.
    mutating func shrink() {
        self.boxes.shrink()
        self.names.shrink()
        self.deadlines.shrink()
        self.wants.shrink()
    }
}
