import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Motion
import Protocol

/// Starts and resumes apps: the calls of `org.jostle.Receiver1`.
///
/// The name that is called is always that of an app that policy lets us launch, never one that a caller gave.
final class LaunchLink {
    private unowned let service: BrokerService
    /// Calls that wait until an app is launched.
    private var pushes: [AppID: [MethodCall]] = [:]

    init(_ service: BrokerService) { self.service = service }

    /// Launches an app with the events that are due to it.
    func launch(_ launch: Launch, _ events: [Event], missing: UInt64) {
        guard launch.isCold, let user = self.service.links.durable[launch.app]?.binding.user else {
            return self.call(launch, events, missing)
        }
        // Somebody else may have taken the name of an app that is not there. Without an owner the bus starts the app.
        self.service.bus.user(of: launch.app.name) { [weak self] uid in
            guard let self else { return }
            guard let uid, uid != user else { return self.call(launch, events, missing) }
            self.failed(launch, .refused, .identityMismatch("its name is another user's"))
        }
    }

    private func call(_ launch: Launch, _ events: [Event], _ missing: UInt64) {
        let target = CallTarget(launch.app.name, Path.receiver, InterfaceName.receiver.description)
        let begun = self.service.now { _, now in now }
        self.service.log.debug("\(launch.app) is launched: \(launch.reason), \(events.count) events")
        self.service.bus.call(
            target, "Deliver", launch.reason.word, events.map(\.body.structure),
            LaunchOptions.options(missing: missing),
            timeout: Int32(clamping: launch.timeout.microseconds / 1_000)
        ) { [weak self] result in
            guard let self else { return }
            do throws(BusError) {
                self.answered(launch, events, try Self.answer(result.take()))
            } catch {
                let waited = self.service.now { _, now in now - begun }
                self.failed(launch, LaunchFailure(error, hasWaited: waited >= launch.timeout), error)
            }
        }
    }

    private static func answer(_ reply: borrowing Message) throws(BusError) -> Answer {
        let word = try reply.read(reply: String.self)
        guard let answer = Answer(rawValue: word) else {
            throw .failed("an answer is 'consume' or 'pass', not '\(printable(word))'")
        }
        return answer
    }

    private func answered(_ launch: Launch, _ events: [Event], _ answer: Answer) {
        for event in events { self.service.links.disk.keep(event, of: launch.app, .sent) }
        self.service.happened(.answered(launch, answer))
    }

    /// Has the bus start an app for a task. It registers when it is up.
    func start(_ launch: Launch) {
        self.service.log.debug("\(launch.app) is started for a task")
        self.service.bus.callBus("StartServiceByName", launch.app.name, UInt32(0)) { [weak self] result in
            guard let self else { return }
            do throws(BusError) {
                _ = try result.take()
            } catch {
                self.failed(launch, LaunchFailure(error, hasWaited: false), error)
            }
        }
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
        guard self.pushes[app]?.count ?? 0 < limit else {
            return call.fail(.limitsExceeded("too many wait for this app: pushes-per-app is \(limit)"))
        }
        do throws(Refusal) {
            try self.service.input { (core, now, actions) throws(Refusal) in
                try core.apply(.push(app), at: now, &actions)
                self.pushes[app, default: []].append(call)
            }
        } catch {
            call.fail(BusError(error))
        }
    }

    /// A launch is over: answers whoever asked for it.
    func ended(_ launch: Launch, _ result: LaunchResult) {
        guard launch.reason == .push, result == .done else { return }
        for call in self.pushes.removeValue(forKey: launch.app) ?? [] { call.reply() }
    }

    /// A launch is not tried again: answers whoever asked for it.
    func gaveUp(_ request: LaunchRequest, _ failure: LaunchFailure?) {
        self.service.log.info(
            "\(request.app) is given up (\(request.reason)): \(failure?.name ?? "its turn did not come")")
        guard request.reason == .push else { return }
        for call in self.pushes.removeValue(forKey: request.app) ?? [] {
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
