import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Detection
import Journal
import Loop
import Motion

/// Brings events and verdicts to the disk, and hears what it has to say.
final class DiskLink {
    private unowned let service: BrokerService
    /// `nil` when nothing is kept on the disk.
    private let link: StoreLink?
    /// What is noted besides events and verdicts.
    let history: HistoryLink
    /// What the disk said before there was a bus.
    private var heldNews: [Store.News] = []
    /// Whether what must last is on the disk, as it was told last.
    private var lastDurability: StoreHealth
    /// Tells when somebody sets the wall clock, from when on anything was to outlive us.
    private var clockWatch: ClockSetWatch?

    init(_ service: BrokerService, _ link: StoreLink?) {
        self.service = service
        self.link = link
        self.history = HistoryLink(service, link?.store)
        self.lastDurability = link?.store.health ?? .off
    }

    /// Whether what must last is on the disk.
    var durability: StoreHealth { self.link?.store.health ?? .off }

    /// How many rows are written, and how many were left out.
    var counts: (written: UInt64, dropped: UInt64) { self.link?.store.counts ?? (0, 0) }

    /// Begins to hear the news, and takes in what was registered for good, if the disk has said it. The rest waits for the bus.
    func begin() {
        guard let link = self.link else { return }
        link.onNews { [unowned self] in self.takeNews() }
        for news in link.store.takeNews() {
            if case .apps = news { self.service.links.take(news) } else { self.heldNews.append(news) }
        }
    }

    /// Takes in what the disk and its thread have to say.
    func takeNews() {
        guard let store = self.link?.store else { return }
        let all = self.heldNews + store.takeNews()
        self.heldNews = []
        for news in all { self.service.links.take(news) }
        let durability = self.durability
        guard durability != self.lastDurability else { return }
        self.lastDurability = durability
        self.service.links.changed("Durability")
    }

    /// Has more epochs reserved when that is due.
    func useEpochs(upTo last: UInt64) { self.link?.store.useEpochs(upTo: last) }

    /// Brings all events to the disk again that are to be there, because it has lost them, or knows a wrong time of them.
    func storeAgain() {
        for event in self.service.core.mailboxes.durableEvents { self.persist(event, again: true) }
    }

    // MARK: What is due

    /// Has an event outlive the broker. What a client without a name gets does not: nobody would come back for it.
    ///
    /// - Parameter again: It was to outlive it before, and may be on the disk.
    func persist(_ event: StoredEvent, again: Bool = false) {
        guard let store = self.link?.store, !event.app.isAnonymous else { return }
        self.watchClock()
        // What was nobody's is taken from the disk as that, and would be lost if there were no room for it as somebody's.
        store.keep(self.due(event), again: again || event.wasNobodys)
    }

    /// Has events written anew when the wall clock is set, by which the disk knows when they are too old: once it is right, what was written
    /// before would be too old for the next broker, or not for long. Without a descriptor it is tried with the next event.
    private func watchClock() {
        guard self.clockWatch == nil else { return }
        self.clockWatch = try? ClockSetWatch(on: self.service.loop) { [unowned self] in self.storeAgain() }
    }

    /// An event is over that was to outlive the broker.
    func forget(_ event: StoredEvent) {
        guard let store = self.link?.store, !event.app.isAnonymous else { return }
        store.forget(self.due(event))
    }

    private func due(_ stored: StoredEvent) -> DueEvent {
        let event = stored.event
        let left = self.service.now { _, now in event.ends - now }
        return DueEvent(
            app: stored.app, user: stored.user, event.content, event.terms,
            ends: Clock.wallClock().addingReportingOverflow(left.microseconds).partialValue, strength: event.strength)
    }

    private func stored(_ due: DueEvent, at now: Timestamp) -> StoredEvent {
        // As long as it may live at all, whatever the clocks say.
        let left = due.ends.subtractingReportingOverflow(Clock.wallClock())
        let most = max(0, due.terms.lifespan.microseconds)
        let ends = left.overflow ? now : now + TimeSpan(microseconds: min(max(0, left.partialValue), most))
        return StoredEvent(
            app: due.app, user: due.user, event: Event(due.content, due.terms, ends: ends, strength: due.strength))
    }

    /// Takes in events that were due when the broker ended.
    func restore(_ due: [DueEvent]) {
        self.service.log.info("\(due.count) events are due from before")
        self.watchClock()
        try? self.service.input { (core, now, actions) throws(Refusal) in
            _ = try core.apply(.restored(due.map { self.stored($0, at: now) }), at: now, &actions)
        }
    }

    /// These events are on the disk now.
    func persisted(_ due: [DueEvent]) {
        try? self.service.input { (core, now, actions) throws(Refusal) in
            for event in due { try core.apply(.persisted(self.stored(event, at: now)), at: now, &actions) }
        }
    }

    // MARK: The journal

    /// Notes what became of an event in the end.
    func ended(_ event: Event, of app: AppID, _ user: UInt32, _ end: EventEnd) {
        self.service.log.debug("event \(event.sequence) of \(app): \(end.reason.name)")
        if end == .unkept {
            self.service.log.warning(
                "event \(event.sequence) of \(app) is given up: its user's share of absent-apps or kept-bytes is used up"
            )
        }
        self.keep(event, of: app, user, .ended(end.reason))
    }

    func keep(_ record: consuming VerdictRecord) {
        guard let store = self.link?.store else { return }
        store.keep(
            .verdict(record.verdict, user: record.user, registration: record.registration), at: Clock.wallClock())
    }

    func keep(_ event: Event, of id: AppID, _ user: UInt32, _ fate: JournalEvent.Fate) {
        guard let store = self.link?.store else { return }
        store.keep(.event(JournalEvent(app: id, event.content, fate), user: user), at: Clock.wallClock())
    }

    /// Has a clip kept, if `fill` puts anything in it that may be.
    func keepClip(_ fill: (inout MotionClip) -> Bool) {
        self.link?.store.keepClip(
            at: Clock.wallClock(), Timestamp(microseconds: Clock.boottime.now()), fill)
    }

    /// Has clips forgotten, of a user or of all. Told when that is on the disk.
    func forgetClips(of user: UInt32?, then done: @escaping (BusError?) -> Void) {
        guard let store = self.link?.store else { return done(nil) }
        store.forgetClips(of: user) { result in
            switch result {
            case .success: done(nil)
            case .failure(let failure): done(.failed("clips are not forgotten: \(failure.description)"))
            }
        }
    }

    func keep(_ policy: JournalPolicy) { self.link?.store.keep(policy) }
}
