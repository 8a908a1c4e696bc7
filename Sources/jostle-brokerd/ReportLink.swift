import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Glibc
import Motion
import PolicyFiles
import Protocol

/// Takes in what callers say of apps and of the device: the foreground, single states, the lock, and that motion is not wanted.
final class ReportLink {
    private unowned let service: BrokerService
    /// Whoever said last which app is in the foreground.
    private var reporter: (name: String, token: NameWatch.Token)?
    /// Whose the names are that policy lets say it: followed, so that who may know is known whenever something changes.
    private var entitled: [AppID: Entitled] = [:]
    /// How many of those names each connection owns that owns any.
    private var named: [String: Int] = [:]
    private var isEverybodyEntitled = false

    private struct Entitled {
        let token: NameWatch.Token
        var owner: String?
    }

    init(_ service: BrokerService) {
        self.service = service
        self.followEntitled()
    }

    // MARK: Who may say it

    /// Another policy is in force, and may name others.
    func policyChanged() {
        if self.followEntitled() { self.service.links.clients.watchers.foregroundChanged() }
    }

    /// Follows the names of those whom policy lets say what is in the foreground. Returns whether that may be news to somebody.
    @discardableResult
    private func followEntitled() -> Bool {
        let reporters = self.service.core.arbiter.policy.reporters
        let isEverybody = reporters == .everybody
        var isNews = isEverybody != self.isEverybodyEntitled
        self.isEverybodyEntitled = isEverybody
        var apps: Set<AppID> = []
        if case .named(let named) = reporters { apps = Set(named) }
        for (app, entitled) in self.entitled where !apps.contains(app) {
            self.service.names.unfollow(entitled.token)
            self.entitled[app] = nil
            if let owner = entitled.owner {
                self.count(owner, by: -1)
                isNews = true
            }
        }
        for app in apps where self.entitled[app] == nil {
            let token = self.service.names.follow(app.name, ownRule: true) { [weak self] in self?.isOwned(app, by: $0) }
            self.entitled[app] = Entitled(token: token)
        }
        return isNews
    }

    private func isOwned(_ app: AppID, by owner: String?) {
        guard let entitled = self.entitled[app], entitled.owner != owner else { return }
        if let earlier = entitled.owner { self.count(earlier, by: -1) }
        if let owner { self.count(owner, by: 1) }
        self.entitled[app]?.owner = owner
        self.service.links.clients.watchers.foregroundChanged()
    }

    private func count(_ owner: String, by change: Int) {
        let count = self.named[owner, default: 0] + change
        self.named[owner] = count > 0 ? count : nil
    }

    // MARK: The foreground

    /// Takes in which app is in the foreground; empty: none. The report lapses when its reporter leaves the bus.
    func setForeground(_ name: String, _ call: MethodCall) throws(BusError) {
        guard name.isEmpty || AppID.isValid(name) else {
            throw .invalidConfiguration("'\(printable(name))' is no app id: give a well-known bus name, or nothing")
        }
        self.service.authority.ifReporter(among: self.service.core.arbiter.policy.reporters, call) { [weak self] in
            guard let self else { return }
            if self.reporter?.name != call.sender {
                self.forgetReporter()
                let token = self.service.names.follow(call.sender) { [weak self] owner in
                    if owner == nil { self?.reporterLeft(call.sender) }
                }
                self.reporter = (call.sender, token)
            }
            self.report(.app(name.isEmpty ? nil : AppID(name)))
            call.reply()
        }
    }

    /// Whether a connection may know which app is in the foreground: the user of that app, our own, root, and who may say it.
    func mayKnowForeground(_ sender: String, of uid: UInt32) -> Bool {
        if uid == 0 || uid == getuid() || self.isEverybodyEntitled { return true }
        let front = self.service.core.arbiter.foreground.app
        if front.flatMap({ self.service.links.clients[$0]?.uid }) == uid { return true }
        return self.named[sender] != nil
    }

    /// The same for whoever calls.
    func mayKnowForeground(_ call: MethodCall, _ answer: @escaping (Bool) -> Void) {
        self.service.bus.user(of: call.sender) { [weak self] uid in
            guard let self, let uid else { return answer(false) }
            answer(self.mayKnowForeground(call.sender, of: uid))
        }
    }

    private func reporterLeft(_ name: String) {
        guard self.reporter?.name == name else { return }
        self.forgetReporter()
        self.report(.none)
    }

    private func forgetReporter() {
        if let token = self.reporter?.token { self.service.names.unfollow(token) }
        self.reporter = nil
    }

    private func report(_ report: ForegroundReport) {
        let before = self.service.core.arbiter.foreground
        self.service.happened(.life(.foreground(report)))
        if report != before { self.service.links.clients.watchers.foregroundChanged() }
    }

    /// The bus went away, and whoever reported with it.
    func loseReporter() {
        guard self.reporter != nil else { return }
        self.forgetReporter()
        self.report(.none)
    }

    // MARK: Single states

    /// Takes in what state a single app is in, whatever else is the case.
    func setState(_ name: String, _ word: String, _ call: MethodCall) throws(BusError) {
        let words =
            [AppState.foreground, .inactive, .background, .suspended].map(\.name) + ["auto", Self.terminated]
        _ = try GivenWord.read(word, "state", among: words) { $0 }
        let state = AppState.allCases.first { $0.name == word }
        self.service.authority.ifReporter(among: self.service.core.arbiter.policy.reporters, call) { [weak self] in
            guard let self else { return }
            if word == Self.terminated { return self.service.links.tasks.terminate(name, call) }
            guard let client = self.service.links.clients.registered(app: name) else {
                let shown = "'\(printable(name))'"
                let isDead = self.service.links.clients[AppID(name)] != nil
                return call.fail(.notFound(isDead ? "\(shown) is not on the bus" : "there is no app \(shown)"))
            }
            self.service.happened(.life(.told(client.id, state)))
            call.reply()
        }
    }

    private static let terminated = "terminated"

    // MARK: The lock

    func setLocked(_ isLocked: Bool, _ call: MethodCall) {
        self.service.authority.ifReporter(among: self.service.core.arbiter.policy.reporters, call) { [weak self] in
            self?.lock(isLocked)
            call.reply()
        }
    }

    /// The screen is locked or unlocked, as whoever spoke last has it.
    func lock(_ isLocked: Bool) {
        guard isLocked != self.service.core.arbiter.device.isLocked else { return }
        self.service.happened(.life(.locked(isLocked)))
        self.service.links.changed("Locked")
    }

    // MARK: All motion

    /// Silences motion while the device itself vibrates.
    func mute(_ duration: UInt64) throws(BusError) {
        try self.service.request(.mute(TimeSpan(microseconds: Int64(clamping: duration))))
    }

    /// Switches motion off or on again, for everybody and therefore for a caller of our own user, or root.
    func pause(_ isPaused: Bool, _ call: MethodCall) {
        self.service.authority.ifTrusted(
            call, .accessDenied("motion is switched off by the broker's own user and root")
        ) {
            let wasPaused = self.service.core.sensing.isPaused
            self.service.happened(.pause(isPaused))
            if isPaused != wasPaused { self.service.links.changed("Paused") }
            call.reply()
        }
    }
}
