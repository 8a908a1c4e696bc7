import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Loop
import Motion
import Protocol

/// Starts and resumes apps: the calls of `org.jostle.Receiver1`.
///
/// The name that is started is always that of an app that policy lets us launch, never one that a caller gave. What is due to an
/// app goes to a connection whose user is known, and not to a name: that may be another's when the call arrives, and whoever
/// has it by then could answer.
final class LaunchLink {
    private unowned let service: BrokerService
    /// Calls that wait until an app is launched.
    private var pushes = WaitingPushes<MethodCall>()
    /// What apps owe an answer to, also to calls for their tasks.
    var owed: OwedAnswers
    /// Launches that wait until another app of their user has answered, as long as they are of use.
    private var held: [(flight: Flight, connection: String, claimant: IdentityBinding)] = []

    /// A launch that is under way.
    private struct Flight {
        let launch: Launch
        let handover: Handover
        let begun: Timestamp
    }

    init(_ service: BrokerService) {
        self.service = service
        self.owed = OwedAnswers(isOnSystemBus: service.bus.address == .system)
    }

    /// Launches an app with what is due to it; for a task it only has it come up, as the task is run when it has registered.
    func launch(_ launch: Launch, _ handover: Handover) {
        self.service.log.debug("\(launch.app) is launched: \(launch.reason), \(handover.events.count) events")
        let flight = Flight(launch: launch, handover: handover, begun: self.service.now { _, now in now })
        // Whatever it fails for before that, nobody has seen what it brings.
        self.service.setCalled(launch, false)
        if case .task = launch.reason { return self.start(flight) }
        if launch.reason == .push { self.pushes.begin(launch) }
        // Whose connection a registered one is, the bus has said. One that is just leaving may be what this is for.
        let clients = self.service.links.clients
        if let client = clients[launch.app], clients.has(client), let user = client.uid {
            return self.call(client.uniqueName, IdentityBinding(user: user, proof: client.proof), flight)
        }
        self.find(flight, isStarted: false)
    }

    /// Finds out who has the name, and has the bus start the app if nobody does.
    private func find(_ flight: Flight, isStarted: Bool) {
        self.service.bus.callBus("GetNameOwner", flight.launch.app.name) { [weak self] result in
            guard let self else { return }
            do throws(BusError) {
                self.prove(try result.take().read(reply: String.self), flight)
            } catch {
                guard error.isNameFree else { return self.notCalled(flight, error) }
                if !isStarted { return self.start(flight) }
                self.failed(flight.launch, .left, error)
            }
        }
    }

    private func start(_ flight: Flight) {
        let time = self.timeLeft(flight)
        self.service.bus.callBus("StartServiceByName", flight.launch.app.name, UInt32(0), timeout: time) {
            [weak self] result in
            guard let self else { return }
            do throws(BusError) {
                _ = try result.take()
                // Its task waits until it registers.
                if case .task = flight.launch.reason { return }
                self.find(flight, isStarted: true)
            } catch {
                self.notCalled(flight, error)
            }
        }
    }

    /// Learns whose connection has the name, and how well it is proven to be the app: it has not registered. It is that of its user for
    /// as long as it is there, whoever has the name by then.
    private func prove(_ owner: String, _ flight: Flight) {
        self.service.bus.credentials(of: owner) { [weak self] told in
            guard let self else { return }
            guard self.service.bus.isReady else { return self.postpone(flight.launch) }
            let claimant: IdentityBinding
            do throws(BusError) {
                let credentials = try told.get()
                guard let user = credentials.user else { throw .unknownCaller }
                claimant = IdentityBinding(user: user, proof: try credentials.proof(of: flight.launch.app))
            } catch {
                return self.failed(flight.launch, .left, error)
            }
            self.call(owner, claimant, flight)
        }
    }

    /// Calls a connection that has the app's name.
    private func call(_ connection: String, _ claimant: IdentityBinding, _ flight: Flight) {
        let (launch, user) = (flight.launch, claimant.user)
        // It may have taken too long to find out.
        guard self.service.core.arbiter.isCurrent(launch) else { return }
        // Whose turn was over before its program was up must not act any more; and what was nobody's may be somebody's by now.
        guard let handover = self.service.handOver(flight.handover, of: launch) else {
            return self.tellSoon(of: launch) { $0.service.happened(.needless(launch)) }
        }
        guard handover.user == nil || handover.user == user else {
            return self.tellSoon(of: launch) {
                $0.failed(launch, .refused, .identityMismatch("its name is another user's"))
            }
        }
        // What is handed over to nobody in particular is nothing that is kept for the app.
        if handover.user != nil, let mismatch = self.service.links.durable.mismatch(of: launch.app, claimant) {
            return self.tellSoon(of: launch) { $0.failed(launch, .refused, mismatch) }
        }
        // It may have waited for a place until the bus was gone.
        guard self.service.bus.isReady else { return self.tellSoon(of: launch) { $0.postpone(launch) } }
        switch self.owed.begin(.launch, connection, of: user) {
        case .granted: break
        case .owing:
            return self.tellSoon(of: launch) {
                $0.failed(launch, .silent, .noReply("it has not answered the last call yet"))
            }
        case .crowded:
            self.held.removeAll { !self.service.core.arbiter.isCurrent($0.flight.launch) }
            return self.held.append((flight, connection, claimant))
        }
        self.service.setCalled(launch, true)
        // The bus keeps the place of the call until it is answered, however long we wait.
        let timer = self.service.loop.schedule(after: Int64(self.timeLeft(flight)) * 1_000) { [weak self] in
            self?.failed(flight, .noReply("no answer came in time"))
        }
        self.service.bus.call(
            CallTarget(connection, Path.receiver, InterfaceName.receiver.description), "Deliver", launch.reason.word,
            handover.events.map(\.body.structure), LaunchOptions.options(missing: handover.missing),
            timeout: Connection.noTimeout, autoStart: false
        ) { [weak self] result in
            guard let self else { return }
            self.service.loop.cancel(timer)
            self.owed.end(.launch, connection)
            self.callHeld()
            // Of one that was given up nothing is to be known any more.
            guard self.service.core.arbiter.isCurrent(launch) else { return }
            do throws(BusError) {
                self.answered(launch, of: user, handover.events, try Self.answer(result.take()))
            } catch {
                // A connection that is gone says nothing of whether the app can be started. It was before it was called.
                if error.isServiceMissing {
                    self.service.setCalled(launch, false)
                    return self.failed(launch, .left, error)
                }
                self.failed(flight, error)
            }
        }
    }

    /// Tells what came of a launch for which nobody was called. Not at once: it was begun by what is being performed, and what follows from
    /// its failure, as an event of the next best app, must not go out before the rest of that.
    private func tellSoon(of launch: Launch, _ tell: @escaping (LaunchLink) -> Void) {
        self.service.bus.afterRound { [weak self] in
            // It may have been given up meanwhile.
            guard let self, self.service.core.arbiter.isCurrent(launch) else { return }
            tell(self)
        }
    }

    /// Calls those for whom there was no place: somebody has answered.
    private func callHeld() {
        let held = self.held
        self.held = []
        for (flight, connection, claimant) in held { self.call(connection, claimant, flight) }
    }

    /// What is left of the time that an app has to come up and to answer, in ms, and not less.
    private func timeLeft(_ flight: Flight) -> Int32 {
        let waited = self.service.now { _, now in now - flight.begun }
        return Int32(clamping: max(1, (flight.launch.timeout.microseconds - waited.microseconds + 999) / 1_000))
    }

    private static func answer(_ reply: borrowing Message) throws(BusError) -> Answer {
        let word = try reply.read(reply: String.self)
        guard let answer = Answer(rawValue: word) else {
            throw .failed("an answer is 'consume' or 'pass', not '\(printable(word))'")
        }
        return answer
    }

    private func answered(_ launch: Launch, of user: UInt32, _ events: [Event], _ answer: Answer) {
        for event in events { self.service.links.disk.keep(event, of: launch.app, user, .sent) }
        self.service.happened(.answered(launch, answer))
    }

    /// Whom to call could not be found out, or nobody was started. Without a bus that says nothing of the app.
    private func notCalled(_ flight: Flight, _ error: BusError) {
        guard error.name != BusError.disconnected("").name else { return self.postpone(flight.launch) }
        self.failed(flight, error)
    }

    private func postpone(_ launch: Launch) {
        self.service.log.debug("\(launch.app) is launched later: there is no bus")
        self.service.happened(.postponed(launch))
    }

    private func failed(_ flight: Flight, _ error: BusError) {
        let waited = self.service.now { _, now in now - flight.begun }
        self.failed(flight.launch, LaunchFailure(error, hasWaited: waited >= flight.launch.timeout), error)
    }

    private func failed(_ launch: Launch, _ failure: LaunchFailure, _ error: BusError) {
        self.service.log.info("\(launch.app) is not launched (\(failure.name)): \(error.message)")
        self.service.happened(.failed(launch, failure))
    }

    // MARK: Push

    /// Launches an app for whoever policy names, and answers when the app has.
    func push(_ name: String, _ call: MethodCall) throws(BusError) {
        guard AppID.isValid(name) else {
            throw .invalidConfiguration("'\(printable(name))' is no app id: give a well-known bus name")
        }
        try self.service.authority.ifPusher(among: self.service.core.arbiter.policy.pushers, call) { [weak self] in
            self?.pushNow(AppID(name), call)
        }
    }

    private func pushNow(_ app: AppID, _ call: MethodCall) {
        let limit = self.service.core.limits.pushesPerApp
        guard self.pushes.count(of: app) < limit else {
            return call.fail(.limitsExceeded("too many wait for this app: pushes-per-app is \(limit)"))
        }
        do throws(Refusal) {
            try self.service.input { (core, now, actions) throws(Refusal) in
                guard let wish = try core.apply(.push(app), at: now, &actions).wish else { return }
                self.pushes.add(call, for: wish)
            }
        } catch {
            call.fail(BusError(error))
        }
    }

    /// A launch is over: answers whoever asked for it.
    func ended(_ launch: Launch, _ result: LaunchResult) {
        // Nothing has come of it, each second while there is no bus.
        if result == .postponed { return }
        self.service.links.history.launched(launch.app, launch.user, result.name)
        guard launch.reason == .push, result == .done else { return }
        for call in self.pushes.answered(launch) { call.reply() }
    }

    /// A launch is not tried again: answers whoever asked for it.
    func gaveUp(_ request: LaunchRequest, _ failure: LaunchFailure?) {
        self.service.log.info(
            "\(request.app) is given up (\(request.reason)): \(failure?.name ?? "its turn did not come")")
        guard request.reason == .push else { return }
        let current = self.service.core.arbiter.launches.launch(of: request.app)?.number
        for call in self.pushes.gaveUp(request, besides: current) {
            call.fail(.launchFailed("\(request.app) could not be launched: \(Self.why(failure))"))
        }
    }

    private static func why(_ failure: LaunchFailure?) -> String {
        switch failure {
        case .unknown: "there is no D-Bus service file for it"
        case .notStarted: "it was started and did not come up"
        case .silent: "it did not answer in time"
        case .left: "it went away without an answer"
        case .refused: "it answered with an error"
        case nil: "its turn did not come"
        }
    }
}

extension LaunchFailure {
    /// What an error of the bus or of the app means.
    init(_ error: BusError, hasWaited: Bool) {
        let prefix = "org.freedesktop.DBus.Error."
        guard error.name.hasPrefix(prefix) else {
            self = .refused
            return
        }
        switch error.name.dropFirst(prefix.count) {
        case "ServiceUnknown", "NameHasNoOwner", "Spawn.ServiceNotFound", "Spawn.ServiceNotValid", "Spawn.FileInvalid":
            self = .unknown
        case "TimedOut", "LimitsExceeded": self = .notStarted
        case let name where name.hasPrefix("Spawn."): self = .notStarted
        case "NoReply": self = hasWaited ? .silent : .left
        case "Disconnected": self = .left
        default: self = .refused
        }
    }
}
