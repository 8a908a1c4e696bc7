import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Loop
import PolicyFiles

/// Reads the policy files and the app files anew, on a thread, and puts them in force in turns: no event waits for it, however
/// much there is to read, and however long a file system takes.
///
/// One at a time. Whoever asks meanwhile is answered by the next one, which sees all that was written until then.
final class Reloading {
    private unowned let policy: PolicyLink
    private unowned let service: BrokerService
    private let errands: Errands
    /// Whoever waits for the one under way, and for the next.
    private var calls: [MethodCall] = []
    private var next: [MethodCall] = []
    private var isUnderWay = false
    private var isWanted = false
    /// Why what is under way is not done, and may never be; `nil`: it has not been for long.
    private var obstacle: BusError?

    init(for policy: PolicyLink, _ service: BrokerService) {
        self.policy = policy
        self.service = service
        self.errands = Errands(on: service.loop)
    }

    /// How long files may take before whoever waits for them is told that they cannot be read, in µs. Those that do not hold still
    /// take two seconds.
    private static let patience: Int64 = 10_000_000

    private var loop: EventLoop { self.service.loop }

    /// Begins, now or when what is under way is done. The call is answered when all is in force.
    func want(_ call: MethodCall? = nil) {
        if let obstacle {
            call?.fail(obstacle)
        } else if let call {
            self.next.append(call)
        }
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
        let source = self.policy.source
        self.run("policy files") {
            let loading = source.load()
            loading.run()
            var read = loading.finish()
            read.reading.discardSections()
            return read
        } then: { [unowned self] in
            self.take($0.reading, $0.files)
        }
    }

    /// Reads on the thread. Who waits does so no longer than a file system may take; what is read is taken nevertheless.
    private func run<Read: Sendable>(
        _ what: String, _ read: @escaping @Sendable () -> Read, then done: @escaping (Read) -> Void
    ) {
        self.errands.run(
            read, patience: Self.patience,
            overdue: { [unowned self] in
                let seconds = Self.patience / 1_000_000
                let problem = "the \(what) are not read: their file system has not answered for \(seconds) s"
                self.service.log.warning("\(problem); what they say counts when it does")
                let obstacle = BusError.failed(problem)
                for call in self.calls + self.next { call.fail(obstacle) }
                (self.calls, self.next) = ([], [])
                self.obstacle = obstacle
            }
        ) { [unowned self] read in
            self.obstacle = nil
            done(read)
        }
    }

    private func take(_ reading: PolicyReading, _ files: [PolicyFile]) {
        self.service.log.report(reading.findings)
        guard let policy = reading.inForce else { return self.readApps(self.policy.refusal(of: reading)) }
        // While the old policy decides, it is looked up what the new one says.
        var succession = PolicySuccession(policy)
        self.loop.turns.add({ succession.step(self.service.core.arbiter) }) {
            var old = self.service.core.arbiter.policy.rules
            self.policy.put(succession, from: files)
            self.readApps(nil)
            // To be rid of a large one takes a while.
            self.loop.turns.add({
                old.removeLast(min(128, old.count))
                return !old.isEmpty
            }) {
                FreeMemory.forgetWhatRan()
            }
        }
    }

    private func readApps(_ refusal: BusError?) {
        let source = self.service.links.appFiles.beginRound()
        self.run("app files") {
            let loading = source.loadAll()
            loading.run()
            return loading.finish()
        } then: { [unowned self] in
            let taking = self.service.links.appFiles.take($0)
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
