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
        for news in store.takeNews() {
            switch news {
            case .epochs(let block): self.skipEpochs(upTo: block.first)
            case .setAside(let why): self.log.error("a broken file is set aside: \(why)")
            case .failed(let why): self.log.error("nothing can be kept on the disk: \(why)")
            case .recovered: self.log.notice("the disk is well again")
            }
        }
        self.noteDurability()
    }

    private func noteDurability() {
        let durability = self.durability
        guard durability != self.lastDurability else { return }
        self.lastDurability = durability
        self.object?.changed("Durability", of: BrokerInterface.table)
    }

    /// Has more epochs reserved when that is due.
    func noteEpochs() { self.storeLink?.store.useEpochs(upTo: self.core.lastEpoch) }

    // MARK: The journal

    func keep(_ record: VerdictRecord) {
        guard let store = self.storeLink?.store else { return }
        store.keep(
            .verdict(record.verdict, user: record.user, registration: record.registration), at: Clock.wallClock())
    }

    /// - Parameter isSent: False for an event that came to its end and that its app has not, as far as is known.
    func keep(_ event: Event, of id: AppID, isSent: Bool) {
        guard let store = self.storeLink?.store else { return }
        store.keep(
            .event(
                JournalEvent(
                    app: id, sequence: event.sequence, epoch: event.epoch, generation: event.generation,
                    time: event.time, detector: event.detector, peak: event.peak, isSimulated: event.isSimulated,
                    isSent: isSent)), at: Clock.wallClock())
    }

    /// The policy in force, as verdicts name it from now on.
    func keepPolicy() {
        self.storeLink?.store.keep(
            JournalPolicy(generation: self.core.policyGeneration, files: self.policyFiles, since: Clock.wallClock()))
    }
}
