import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Loop
import PolicyFiles

/// Reads the policy files and the app files anew, in turns: no event waits for it, however much there is to read.
///
/// One at a time. Whoever asks meanwhile is answered by the next one, which sees all that was written until then.
final class Reloading {
    private unowned let policy: PolicyLink
    private unowned let service: BrokerService
    /// Whoever waits for the one under way, and for the next.
    private var calls: [MethodCall] = []
    private var next: [MethodCall] = []
    private var isUnderWay = false
    private var isWanted = false

    init(for policy: PolicyLink, _ service: BrokerService) {
        self.policy = policy
        self.service = service
    }

    private var loop: EventLoop { self.service.loop }

    /// Begins, now or when what is under way is done. The call is answered when all is in force.
    func want(_ call: MethodCall? = nil) {
        if let call { self.next.append(call) }
        guard !self.isUnderWay else {
            self.isWanted = true
            return
        }
        self.isUnderWay = true
        self.begin()
    }

    private func begin() {
        self.isWanted = false
        (self.calls, self.next) = (self.next, [])
        let loading = self.policy.load()
        self.loop.turns.add({ loading.step().pause }) { self.read(loading) }
    }

    private func read(_ loading: PolicyLoading) {
        var (reading, files) = loading.finish()
        self.service.log.report(reading.findings)
        guard let policy = reading.inForce else { return self.readApps(self.policy.refusal(of: reading)) }
        // While the old policy decides: to be done with what was read, and to look up what the new one says.
        (reading.policy, reading.standing) = (nil, nil)
        self.loop.turns.add({ reading.discard() }) {
            var succession = PolicySuccession(policy)
            self.loop.turns.add({ succession.step(self.service.core.arbiter) }) {
                var old = self.service.core.arbiter.policy.rules
                self.policy.put(succession, from: files)
                self.readApps(nil)
                // To be rid of a large one takes a while, too.
                self.loop.turns.add({
                    old.removeLast(min(128, old.count))
                    return !old.isEmpty
                }) {
                    FreeMemory.forgetWhatRan()
                }
            }
        }
    }

    private func readApps(_ refusal: BusError?) {
        let loading = self.service.links.appFiles.load()
        self.loop.turns.add({ loading.step().pause }) {
            let taking = self.service.links.appFiles.take(loading.finish())
            self.loop.turns.add(taking) { self.end(refusal) }
        }
    }

    private func end(_ refusal: BusError?) {
        for call in self.calls {
            if let refusal { call.fail(refusal) } else { call.reply() }
        }
        self.calls = []
        if self.isWanted { self.begin() } else { self.isUnderWay = false }
    }
}

@available(*, unavailable)
extension Reloading: Sendable {}
