import Background
import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import EventLoop
import Journal
import Motion

extension BrokerService {
    /// Whether what must last is on the disk.
    var durability: StoreHealth { self.storeLink?.store.health ?? .off }

    /// What the disk and its thread have to say.
    func storeNews() {
        guard let store = self.storeLink?.store else { return }
        let news = self.heldNews + store.takeNews()
        self.heldNews = []
        self.take(news)
    }

    /// Takes in what was registered for good, if the disk has said it. The rest waits for the bus.
    func takeDurableApps() {
        guard let store = self.storeLink?.store else { return }
        for news in store.takeNews() {
            if case .apps(let apps) = news { self.restore(apps) } else { self.heldNews.append(news) }
        }
    }

    private func take(_ all: [Store.News]) {
        for news in all {
            switch news {
            case .epochs(let block): self.skipEpochs(upTo: block.first)
            case .restored(let due): self.restore(due)
            case .apps(let apps): self.restore(apps)
            case .committed(let number): self.committed(upTo: number)
            case .uncommitted(let why): self.uncommitted(why)
            case .persisted(let due): self.persisted(due)
            case .restoredTasks(let records, let terminated): self.links.tasks.restore(records, terminated: terminated)
            case .tasksKept(let number): self.links.tasks.committed(upTo: number)
            case .setAside(let why):
                self.log.error("a broken file is set aside: \(why)")
            case .forgotten: self.restoreDisk()
            case .failed(let why):
                self.log.error("nothing can be kept on the disk: \(why)")
                self.links.tasks.notCommitted()
                self.admitParked()
            case .recovered: self.log.notice("the disk is well again")
            }
        }
        self.noteDurability()
    }

    /// The file on the disk was not what it was: another one has to be what we know.
    private func restoreDisk() {
        guard let store = self.storeLink?.store else { return }
        for app in self.durable.values { self.lastCommit = store.set(app.id, to: app) }
        for event in self.core.durableEvents { self.persist(event) }
        self.links.tasks.storeAgain()
    }

    private func noteDurability() {
        let durability = self.durability
        guard durability != self.lastDurability else { return }
        self.lastDurability = durability
        self.links.changed("Durability")
    }

    /// Has more epochs reserved when that is due.
    func noteEpochs() { self.storeLink?.store.useEpochs(upTo: self.core.lastEpoch) }

    // MARK: What is due

    /// Has an event outlive the broker. What a client without a name gets does not: nobody would come back for it.
    func persist(_ event: StoredEvent) {
        guard let store = self.storeLink?.store, !event.app.isAnonymous else { return }
        store.keep(self.due(event))
    }

    func forget(_ event: StoredEvent) {
        guard let store = self.storeLink?.store, !event.app.isAnonymous else { return }
        store.forget(self.due(event))
    }

    private func due(_ stored: StoredEvent) -> DueEvent {
        let event = stored.event
        let left = self.now { _, now in event.ends - now }
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

    private func restore(_ due: [DueEvent]) {
        self.log.info("\(due.count) events are due from before")
        try? self.input { (core, now, actions) throws(Refusal) in
            core.restore(due.map { self.stored($0, at: now) }, at: now, &actions)
        }
    }

    private func persisted(_ due: [DueEvent]) {
        try? self.input { (core, now, _) throws(Refusal) in
            for event in due { core.persisted(self.stored(event, at: now)) }
        }
    }

    // MARK: The journal

    func keep(_ record: VerdictRecord) {
        guard let store = self.storeLink?.store else { return }
        store.keep(
            .verdict(record.verdict, user: record.user, registration: record.registration), at: Clock.wallClock())
    }

    func keep(_ event: Event, of id: AppID, _ fate: JournalEvent.Fate) {
        guard let store = self.storeLink?.store else { return }
        store.keep(.event(JournalEvent(app: id, event.content, fate)), at: Clock.wallClock())
    }

    func keep(_ policy: JournalPolicy) { self.storeLink?.store.keep(policy) }
}
