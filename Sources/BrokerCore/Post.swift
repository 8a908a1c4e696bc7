import Arbitration
import Motion

/// Carries what is decided to the mailboxes of its apps, and from there to the bus and the disk; and keeps what became of it.
struct Post {
    /// What is due to apps.
    private(set) var mailboxes: Mailboxes
    /// What was decided lately, and what became of it.
    private(set) var records: Records
    /// What became of each app.
    private var tallies = AppTable<AppTally>()
    /// What mailboxes want, until it is carried.
    private var mail: [MailEffect] = []
    /// The user who looks after what is nobody's, and may read about it.
    private let keeper: UInt32
    /// The arrival time of the input that is performed.
    var now = Timestamp.zero

    init(_ limits: BrokerLimits, keeper: UInt32) {
        self.keeper = keeper
        self.mailboxes = Mailboxes(limits)
        self.records = Records(limits)
    }

    /// What became of an app.
    func tally(of app: AppHandle) -> AppTally? { self.tallies[app] }

    // MARK: Coming and going

    /// An app comes, and finds what was kept for it.
    mutating func open(
        _ app: AppHandle, _ id: AppID, _ user: UInt32?, keeping bytes: Int, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.mailboxes.open(app, id, user, keeping: bytes, at: now, &self.mail)
        self.tallies.put(AppTally(), for: app)
        self.carry(&actions)
    }

    /// An app goes. What outlives it is kept.
    mutating func close(_ app: AppHandle, _ actions: inout [BrokerAction]) {
        self.mailboxes.close(app, &self.mail)
        self.carry(&actions)
        self.tallies.remove(app)
    }

    /// The app left the bus and goes on to exist.
    mutating func detach(_ app: AppHandle, _ actions: inout [BrokerAction]) {
        self.mailboxes.detach(app, &self.mail)
        self.carry(&actions)
    }

    /// The app is another user's than it was, or the first one's whose it is.
    mutating func pass(
        _ app: AppHandle, from other: UInt32?, to user: UInt32, keeping bytes: Int, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.mailboxes.pass(app, to: user, keeping: bytes, at: now, &self.mail)
        self.carry(&actions)
        // What became of it at the other's is none of this one's business.
        if other != nil { self.tallies.put(AppTally(), for: app) }
    }

    // MARK: What is decided

    /// Takes in an event, and sends it if it can go.
    ///
    /// - Parameters:
    ///   - origin: When it happened, and whether that was made up.
    ///   - owner: The user of its app, and which registration that is.
    mutating func deliver(
        _ delivery: Delivery, _ origin: (start: Timestamp, isSimulated: Bool),
        to owner: (user: UInt32, registration: UInt64), at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        // Whether it goes or waits is the mailbox's to know, whatever the route.
        let event = self.mailboxes.add(
            delivery, isSimulated: origin.isSimulated, since: origin.start, at: now, &self.mail)
        // What it is to be launched for it may never have.
        if delivery.route != .wake { self.tallies.update(delivery.app) { $0?.expect(event) } }
        // So that it can be asked for by its number.
        if let event { self.records.keep(event, of: delivery.id, owner.user, owner.registration) }
        self.carry(&actions, delivering: delivery.epoch)
    }

    /// Keeps why an app got an event or did not.
    mutating func keep(
        _ verdict: consuming Verdict, of owner: (user: UInt32, registration: UInt64), at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        let app = verdict.app
        // An event that it was to be launched for comes to its end below, and is counted with that.
        if verdict.reason != .launchFailed || self.mailboxes[app]?.keeps(epoch: verdict.epoch) != true {
            self.count(verdict.reason, of: app, epoch: verdict.epoch, at: verdict.time)
        }
        let (revoked, inherited) = Self.revoked(by: verdict)
        let epoch = verdict.epoch
        let record = VerdictRecord(verdict: consume verdict, user: owner.user, registration: owner.registration)
        // One copy, and the record itself: it is large.
        self.records.keep(copy record)
        actions.append(.keep(consume record))
        self.tellEarlyEnds(of: app, &actions)
        // Who lost an event that it had been offered must not act on it later.
        if revoked { self.revoke(epoch, from: app, at: now, &actions) }
        if let inherited { self.revoke(inherited, at: now, &actions) }
    }

    /// Takes in a reason for which an app got no event, or none more.
    mutating func count(_ reason: Reason, of app: AppHandle, epoch: UInt64, at time: Timestamp, times: UInt64 = 1) {
        self.tallies.update(app) { $0?.count(reason, epoch: epoch, at: time, times: times) }
    }

    /// Whether a verdict takes its event from its app, and which event of others it hands on.
    private static func revoked(by verdict: borrowing Verdict) -> (own: Bool, inherited: UInt64?) {
        let own =
            switch verdict.reason {
            case .silent, .passed, .left, .launchFailed: true
            default: false
            }
        return (own, verdict.isDelivered ? verdict.contest?.inherits : nil)
    }

    /// Takes an event from whoever has it, because it is another's now.
    private mutating func revoke(
        _ epoch: UInt64, from app: AppHandle? = nil, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.mailboxes.revoke(epoch, from: app, at: now, &self.mail)
        self.carry(&actions)
    }

    /// All that was decided is performed: what ended before its verdict is told, and what is due by now goes.
    mutating func settle(at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.tellEarlyEnds(&actions)
        self.pump(at: now, &actions)
    }

    // MARK: Carrying

    /// Does what mailboxes want.
    ///
    /// - Parameter epoch: Of what is handed over now: its verdict is still to come, and an end of it waits for that.
    private mutating func carry(_ actions: inout [BrokerAction], delivering epoch: UInt64? = nil) {
        if self.mail.isEmpty { return }
        // Taken from the end, where that copies nothing. Its memory serves the next.
        self.mail.turnRound()
        while let effect = self.mail.popLast() {
            switch consume effect {
            case .send(let app, let event): actions.append(.deliver(app, event))
            case .mark(let app, let mark): actions.append(.mark(app, mark))
            case .persist(let stored): actions.append(.persist(stored))
            case .forget(let stored): actions.append(.forget(stored))
            case .ended(let app, let stored, let end):
                let event = stored.event
                if let app {
                    self.count(end.reason, of: app, epoch: event.epoch, at: event.time)
                    if end.reason.isReceived { self.tallies.update(app) { $0?.had(event) } }
                }
                if let app, event.epoch == epoch {
                    self.records.endEarly(stored, end, of: app)
                } else {
                    self.tell(end, of: stored, &actions)
                }
            case .failed(let stored, let failure):
                let reader = self.reader(of: stored)
                self.records.fail(stored, of: reader, failure)
                actions.append(.failed(stored.app, user: reader, stored.event, failure))
            }
        }
    }

    private mutating func tell(_ end: EventEnd, of stored: StoredEvent, _ actions: inout [BrokerAction]) {
        let reader = self.reader(of: stored)
        self.records.end(stored, of: reader, end, at: self.now)
        actions.append(.ended(stored.app, user: reader, stored.event, end))
    }

    /// Whose the verdict on an event is. That on what was nobody's stays the keeper's, whosever the event has become.
    private func reader(of stored: StoredEvent) -> UInt32 {
        stored.event.wasNobodys ? self.keeper : stored.user ?? self.keeper
    }

    /// Says of what ended before its verdict was there that it ended: of an app that has its verdict now, or of all.
    private mutating func tellEarlyEnds(of app: AppHandle? = nil, _ actions: inout [BrokerAction]) {
        for (stored, end) in self.records.takeEarlyEnds(of: app) { self.tell(end, of: stored, &actions) }
    }

    // MARK: Queues

    /// Does something with the queue of an app that is here.
    @discardableResult
    mutating func change<Result>(
        _ app: AppHandle, _ actions: inout [BrokerAction],
        _ body: (inout EventQueue, inout [QueueAction]) -> Result
    ) -> Result? {
        let result = self.mailboxes.change(app, &self.mail, body)
        self.carry(&actions)
        return result
    }

    /// Throws away what a detector of an app caused.
    mutating func remove(
        detector: String, of app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.mailboxes.remove(detector: detector, of: app, at: now, &self.mail)
        self.carry(&actions)
    }

    /// An event went out.
    mutating func sent(_ app: AppHandle, _ event: Event, _ actions: inout [BrokerAction]) {
        self.tallies.update(app) { $0?.sent(event) }
        // Of others nothing waits for that.
        guard !event.wantsAck,
            event.terms.kind == .wake || event.terms.durability == .persistent || event.isRedelivered
        else { return }
        self.change(app, &actions) { $0.went(event, &$1) }
    }

    /// A mark went out.
    mutating func sent(_ app: AppHandle, _ mark: Mark) {
        switch mark {
        case .gap: self.tallies.update(app) { $0?.toldGap() }
        case .caughtUp: break
        }
    }

    /// Lets time pass in the mailboxes, once one of them waits for it.
    mutating func pump(at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.mailboxes.pump(at: now, &self.mail)
        self.carry(&actions)
    }

    /// Gives every mailbox the size that policy says.
    mutating func limit(to bytes: (AppID) -> Int, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.mailboxes.limit(to: bytes, at: now, &self.mail)
        self.carry(&actions)
    }

    // MARK: The disk

    /// An event is on the disk now.
    mutating func persisted(_ event: StoredEvent) { self.mailboxes.persisted(event) }

    /// Puts in what was kept before a restart, in the order of the numbers of each app.
    mutating func restore(
        _ events: [StoredEvent], keeping bytes: (AppID) -> Int, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.mailboxes.restore(events, keeping: bytes, at: now, &self.mail)
        self.carry(&actions)
    }

    // MARK: Launches

    /// An app is called for what waits for it.
    ///
    /// - Returns: What it is handed; `nil`: it need not be called.
    mutating func beginCall(
        of id: AppID, _ user: UInt32?, at now: Timestamp, _ actions: inout [BrokerAction]
    ) -> Handover? {
        let call = self.mailboxes.beginCall(of: id, user, at: now, &self.mail)
        self.carry(&actions)
        return call
    }

    /// Somebody is called with what an app is launched for, or nobody has been until now.
    mutating func setCalled(_ id: AppID, _ isCalled: Bool) { self.mailboxes.setCalled(id, isCalled) }

    /// What is left of what an app is about to be called with; `nil`: nothing.
    mutating func handOver(_ handover: Handover, to id: AppID) -> Handover? {
        self.mailboxes.handOver(handover, to: id)
    }

    /// The call of an app is over.
    mutating func endCall(
        of id: AppID, _ user: UInt32?, _ result: LaunchResult, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        switch result {
        case .done:
            if let app = self.mailboxes.called(id) {
                let count = self.mailboxes[app]?.called.count ?? 0
                self.tallies.update(app) { $0?.handedOver(count) }
            }
            self.mailboxes.endCall(of: id, user, &self.mail) { $0.callAnswered(at: now, &$1) }
            self.carry(&actions)
        case .failed(let failure):
            self.mailboxes.endCall(of: id, user, &self.mail) { $0.callFailed(failure, at: now, &$1) }
            self.carry(&actions)
        case .needless, .postponed:
            self.mailboxes.endCall(of: id, user, &self.mail) { queue, _ in queue.callPostponed(at: now) }
            self.carry(&actions)
        }
    }

    mutating func launchBegins(of app: AppHandle) { self.tallies.update(app) { $0?.launches.begin() } }

    mutating func launchEnded(_ launch: Launch, of app: AppHandle, _ result: LaunchResult, at now: Timestamp) {
        self.tallies.update(app) { $0?.launches.end(launch, result, at: now) }
    }

    /// Gives back the room of those who have gone.
    mutating func shrink() {
        self.mailboxes.shrink()
        self.tallies.shrink()
        self.mail.shrink()
    }
}
