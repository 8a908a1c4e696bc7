import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Loop
import Motion
import PolicyFiles
import Protocol

/// Takes in what callers say of apps and of the device: the foreground, single states, the lock, and that motion is not wanted.
final class ReportLink {
    private unowned let service: BrokerService
    /// What sources say of the foreground, and who they are.
    private var sources = FocusSources()
    /// The connections that said it, which are followed until they leave.
    private var followed: [String: NameWatch.Token] = [:]
    /// Runs when what one of them said is over that left.
    private var timer: EventLoop.TimerID?
    /// What the core was told last of lists.
    private var told: (playing: Set<AppID>, frozen: [AppID: FocusTestimony]) = ([], [:])
    /// The apps in front, in the order in which that was said first.
    private(set) var front: [AppID] = []
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

    /// Whose sources there are.
    var usage: LimitUsage { self.sources.usage }

    // MARK: Who may say it

    /// Another policy is in force, and may name others.
    func policyChanged() {
        if self.followEntitled() { self.service.links.clients.watchers.foregroundChanged() }
        let policy = self.reporters
        for reporter in self.sources.present { self.judge(reporter.name, by: policy) }
    }

    /// Learns whether policy lets somebody say it that has said it already.
    private func judge(_ reporter: String, by policy: Policy.Entitled, askingAgainAfter pause: Int64 = 1_000_000) {
        self.service.authority.isReporter(among: policy, reporter) { [weak self] answer in
            guard let self, self.reporters == policy else { return }
            if case .success(let mayReport) = answer {
                return self.change { sources, _ in sources.setCounts(mayReport, by: reporter) }
            }
            // What it said counts as it did while the bus does not say whose it is.
            self.service.loop.once(after: pause) { [weak self] in
                guard let self, self.reporters == policy, self.sources.present.contains(where: { $0.name == reporter })
                else { return }
                self.judge(reporter, by: policy, askingAgainAfter: min(2 * pause, 60_000_000))
            }
        }
    }

    /// Whom policy lets say it.
    private var reporters: Policy.Entitled { self.service.core.arbiter.policy.reporters }

    /// Follows the names of those whom policy lets say what is in the foreground. Returns whether that may be news to somebody.
    @discardableResult
    private func followEntitled() -> Bool {
        let reporters = self.reporters
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

    /// Takes in which app is in the foreground; empty: none. It is what the caller's source without a name sees.
    func setForeground(_ name: String, _ call: MethodCall) throws(BusError) {
        guard name.isEmpty || AppID.isValid(name) else { throw .badAppID(name) }
        self.say(name.isEmpty ? [] : [SeenWindow(AppID(name), .front)], as: "", call)
    }

    /// Takes in all that a source of the caller sees.
    func setWindows(
        _ rows: [Structure<String, [String: Value]>], _ options: [String: Value], _ call: MethodCall
    ) throws(BusError) {
        let source = try Self.source(options, of: "SetWindows")
        self.say(try rows.map { row throws(BusError) in try SeenWindow(row) }, as: source, call)
    }

    /// Takes back what a source of the caller said.
    func forgetWindows(_ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let source = try Self.source(options, of: "ForgetWindows")
        self.ifReporter(call) { service, reporter in
            service.links.reports.change { sources, _ in sources.forget(source, by: reporter.name) }
            call.reply()
        }
    }

    /// Takes in of which apps a source of the caller says that they play, or are frozen.
    func setList(
        _ subject: FocusSources.Subject, _ names: [String], _ options: [String: Value], of method: String,
        _ call: MethodCall
    ) throws(BusError) {
        let source = try Self.source(options, of: method)
        for name in names where !AppID.isValid(name) { throw .badAppID(name) }
        let apps = names.map { AppID($0) }
        self.say(call) { (sources, reporter) throws(Refusal) in
            try sources.say(subject, of: apps, as: source, by: reporter)
        }
    }

    private static func source(_ options: [String: Value], of method: String) throws(BusError) -> String {
        try OptionReader(options, of: method, known: [FocusKey.source]).text(FocusKey.source) ?? ""
    }

    private func say(_ windows: [SeenWindow], as source: String, _ call: MethodCall) {
        self.say(call) { (sources, reporter) throws(Refusal) in
            try sources.say(windows, as: source, by: reporter)
        }
    }

    private func say(
        _ call: MethodCall, _ body: @escaping (inout FocusSources, FocusSources.Reporter) throws(Refusal) -> Void
    ) {
        self.ifReporter(call) { service, reporter in
            do throws(Refusal) {
                try service.links.reports.change { (sources, _) throws(Refusal) in try body(&sources, reporter) }
            } catch {
                return call.fail(BusError(error))
            }
            call.reply()
        }
    }

    /// Does something for a caller who may say it.
    private func ifReporter(
        _ call: MethodCall, then: @escaping (BrokerService, FocusSources.Reporter) -> Void
    ) {
        let policy = self.reporters
        self.service.authority.ifReporter(among: policy, call) { [weak self] user, process in
            guard let self else { return }
            // Another policy may have come while the bus was asked.
            guard self.reporters == policy else { return self.ifReporter(call, then: then) }
            then(self.service, FocusSources.Reporter(name: call.sender, user: user, process: process))
        }
    }

    /// What each source says, for those who may know it.
    var sourceRows: [[String: Value]] { self.sources.rows.map(\.options) }

    /// Counts changes of these rows.
    var sourceChanges: UInt64 { self.sources.changes }

    /// Whether a connection may know what each source says, which concerns the apps of all users: our own, root, and who may say
    /// it.
    func mayKnowSources(_ sender: String, _ identity: CallerIdentity) -> Bool {
        identity.isTrusted || self.isEverybodyEntitled || self.named[sender] != nil
    }

    /// The same for whoever calls.
    func mayKnowSources(_ call: MethodCall, _ answer: @escaping (Bool) -> Void) {
        self.service.bus.identity(of: call.sender) { [weak self] told in
            guard let self, case .success(let identity) = told else { return answer(false) }
            answer(self.mayKnowSources(call.sender, identity))
        }
    }

    /// Whether a connection may know which app is in the foreground: whose app that is, our own user, root, and who may say it.
    func mayKnowForeground(_ sender: String, _ identity: CallerIdentity) -> Bool {
        if self.mayKnowSources(sender, identity) { return true }
        guard let client = self.front.first.flatMap({ self.service.links.clients[$0] }) else { return false }
        return client.isShown(to: sender, identity)
    }

    /// The same for whoever calls.
    func mayKnowForeground(_ call: MethodCall, _ answer: @escaping (Bool) -> Void) {
        self.service.bus.identity(of: call.sender) { [weak self] told in
            guard let self, case .success(let identity) = told else { return answer(false) }
            answer(self.mayKnowForeground(call.sender, identity))
        }
    }

    /// Changes what sources say, and tells the core and those who watch what follows.
    private func change<E: Swift.Error>(_ body: (inout FocusSources, Timestamp) throws(E) -> Void) throws(E) {
        let (changes, now) = (self.sources.changes, self.service.now { $1 })
        // What is over by now has no part in it.
        self.sources.pass(to: now)
        defer { self.changed(since: changes) }
        try body(&self.sources, now)
    }

    private func changed(since changes: UInt64) {
        self.followReporters()
        self.setTimer()
        guard self.sources.changes != changes else { return }
        let front = self.sources.front
        self.front = front.map(\.app)
        self.service.log.debug(
            "in front: " + (front.isEmpty ? "no app" : front.map(Self.text).joined(separator: "; ")))
        self.service.links.history.note(.foreground, self.front.first?.description ?? "")
        self.service.happened(.life(.foreground(self.sources.report, self.sources.testimony)))
        self.tellLists()
        self.service.links.clients.watchers.foregroundChanged()
    }

    /// Tells the core of lists that are others now: they are rarely, and each is written down by a recording.
    private func tellLists() {
        let (playing, frozen) = (self.sources.playing, self.sources.frozen)
        if playing != self.told.playing {
            self.told.playing = playing
            self.service.happened(.life(.playing(playing)))
        }
        if frozen != self.told.frozen {
            self.told.frozen = frozen
            self.service.happened(.life(.frozen(frozen)))
        }
    }

    /// By what it was told that an app is in front.
    private static func text(_ app: AppID, _ source: String, _ window: SeenWindow) -> String {
        let told = [
            source.isEmpty ? nil : source, window.id.isEmpty ? nil : "window \(printable(window.id))",
            window.process.map { "process \($0)" },
        ].compactMap { $0 }
        return "\(app)" + (told.isEmpty ? "" : " (\(told.joined(separator: ", ")))")
    }

    private func followReporters() {
        let names = self.sources.reporters
        for (name, token) in self.followed where !names.contains(name) {
            self.service.names.unfollow(token)
            self.followed[name] = nil
        }
        for name in names where self.followed[name] == nil {
            self.followed[name] = self.service.names.follow(name) { [weak self] owner in
                if owner == nil { self?.change { sources, now in sources.leave(name, at: now) } }
            }
        }
    }

    /// A timer only while what somebody said stands who left.
    private func setTimer() {
        let deadline = self.sources.nextDeadline?.microseconds
        self.service.loop.set(&self.timer, at: deadline, on: .boottime) { [weak self] in
            self?.change { sources, now in sources.pass(to: now) }
        }
    }

    /// The bus went away, and whoever reported with it, and every app.
    func loseReporters() { self.change { sources, _ in sources.forgetAll() } }

    // MARK: Single states

    /// Takes in what state a single app is in, whatever else is the case.
    func setState(_ name: String, _ word: String, _ call: MethodCall) throws(BusError) {
        let words =
            [AppState.foreground, .inactive, .background, .suspended].map(\.name) + ["auto", Self.terminated]
        _ = try GivenWord.read(word, "state", among: words) { $0 }
        let state = AppState.allCases.first { $0.name == word }
        self.ifReporter(call) { [weak self] _, reporter in
            guard let self else { return }
            if word == Self.terminated {
                return self.service.links.tasks.terminate(name, for: reporter.user, call)
            }
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
        self.ifReporter(call) { [weak self] _, _ in
            self?.lock(isLocked)
            call.reply()
        }
    }

    /// The screen is locked or unlocked, as whoever spoke last has it.
    func lock(_ isLocked: Bool) {
        guard isLocked != self.service.core.arbiter.device.isLocked else { return }
        self.service.links.history.note(.lock, HistoryLink.word(isLocked: isLocked))
        self.service.happened(.life(.locked(isLocked)))
        self.service.links.changed("Locked")
    }

    // MARK: All motion

    /// Silences motion while the device itself vibrates: for everybody, as `pause`.
    func mute(_ duration: UInt64, _ call: MethodCall) {
        self.service.authority.ifTrusted(
            call, .accessDenied("motion is silenced by the broker's own user and root, in no sandbox")
        ) {
            do throws(BusError) {
                try self.service.request(.mute(TimeSpan(microseconds: Int64(clamping: duration))))
                call.reply()
            } catch {
                call.fail(error)
            }
        }
    }

    /// Switches motion off or on again, for everybody and therefore for a caller of our own user, or root.
    func pause(_ isPaused: Bool, _ call: MethodCall) {
        self.service.authority.ifTrusted(
            call, .accessDenied("motion is switched off by the broker's own user and root, in no sandbox")
        ) {
            let wasPaused = self.service.core.sensing.isPaused
            self.service.happened(.pause(isPaused))
            if isPaused != wasPaused { self.service.links.changed("Paused") }
            self.service.links.history.note(.motion, isPaused ? "off" : "on")
            call.reply()
        }
    }
}
