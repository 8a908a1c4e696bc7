import DBus
import DaemonSupport
import FleetCore
import FleetFiles
import Loop
import MQTT
import Motion
import PolicyFiles
import Protocol
import Signatures

/// Does what is wanted of the device, as far as its configuration lets it: the shell of `DesiredMachine`.
///
/// Not `Sendable`: it belongs to the loop of the bridge.
final class DesiredLink {
    /// Publishes a message and calls the closure when the server has answered: whether it has it.
    typealias Publish = (Publication, _ answered: @escaping (_ isTaken: Bool) -> Void) -> Void

    private let terms: Terms
    private let store: DesiredStore
    private let key: VerifyingKey?
    private let bus: Connection
    private let loop: EventLoop
    /// What is wanted is checked there: it may take seconds, and so may files of the device's own.
    private let errands: Errands
    private let log: Log
    private let publish: Publish
    private var machine: DesiredMachine
    private var timer: EventLoop.TimerID?
    /// The broker's unique name; `nil`: there is none.
    private var broker: String?
    /// The files were changed back while there was no broker that could be told.
    private var owesReload = false
    private var switching = Switching()
    private var telling = Telling()
    /// The detectors of the bridge have other thresholds now.
    var onDetectors: ([DetectorRequest]) -> Void = { _ in }
    var onPause: (Bool) -> Void = { _ in }

    /// Whether motion is on, as far as that is up to us.
    private struct Switching {
        /// What is wanted had it switched off; `nil`: that of an earlier life of ours did, and the broker may be another one since.
        var hasPaused: Bool?
        /// It was switched a moment ago.
        var isUnderWay = false
        /// What was said last meanwhile.
        var next: Bool?

        /// How long after the broker answered it is switched again at the earliest, in µs.
        static let pause: Int64 = 200_000
    }

    /// When the report is told again that the server did not take.
    private struct Telling {
        var timer: EventLoop.TimerID?
        var pause = Telling.firstPause

        static let (firstPause, longestPause): (Int64, Int64) = (2_000_000, 120_000_000)
    }

    /// How long a check may take before that is told, in µs.
    private static let checkPatience: Int64 = 10_000_000

    /// What the configuration says.
    private struct Terms {
        let topics: FleetTopics
        /// By their topics.
        let scopes: [String: DesiredScope]
        let allow: BridgeConfiguration.Allow
        let detectors: [DetectorRequest]
        let format: PayloadFormat
    }

    private static let root = CallTarget(BusName.broker, Path.broker, InterfaceName.broker.description)
    private static let properties = CallTarget(
        BusName.broker, Path.broker, "org.freedesktop.DBus.Properties")

    /// - Parameters:
    ///   - directory: where what is wanted is kept, and where the broker reads it.
    ///   - key: the public key by which it must be signed, if one is configured.
    init(
        _ configuration: BridgeConfiguration, device: String, in directory: String, signedBy key: String?,
        bus: Connection, loop: EventLoop, log: Log, publish: @escaping Publish
    ) throws {
        let scopes = [DesiredScope.device(device)] + configuration.groups.map { DesiredScope.group($0) }
        self.terms = Terms(
            topics: FleetTopics(device: device),
            scopes: Dictionary(scopes.map { ($0.topic, $0) }) { first, _ in first },
            allow: configuration.allow, detectors: configuration.detectors, format: configuration.format)
        self.store = try DesiredStore(directory)
        self.key = try key.map { path throws(KeyProblem) in try VerifyingKey(file: path) }
        (self.bus, self.loop, self.log, self.publish) = (bus, loop, log, publish)
        self.errands = Errands(on: loop)
        let now = Timestamp(microseconds: Clock.monotonic.now())
        let memory = try self.store.memory { file in
            log.error("\(file) cannot be used: of what is wanted only policy and app files are still in force")
        }
        self.machine = DesiredMachine(
            memory, allowing: Set(configuration.allow.changes),
            confirmWithin: configuration.allow.confirmWithin, signedBy: self.key?.fingerprint, at: now)
        self.switching.hasPaused = self.machine.inForce.isPaused == true ? nil : false
        bus.onSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") { [weak self] message in
            // Anybody can send such a signal: the broker's counts.
            guard let broker = self?.broker, message.isFrom(broker), message.isAt(Path.broker),
                let (interface, changed, _) = try? message.read(String.self, [String: Value].self, [String].self),
                interface == InterfaceName.broker.description, changed["PolicyFiles"] != nil
            else { return }
            self?.lookWhetherAllCounts()
        }
        bus.whenInDoubt { [weak self] _ in self?.lookWhetherAllCounts() }
        bus.addMatch(HomeLink.rule)
    }

    /// Begins: removes what an earlier life left, and takes back what was interrupted. To be called once, before anything comes. It does
    /// not wait for a broker: what was interrupted may be what keeps it from beginning.
    func begin() {
        self.clear()
        self.perform(self.machine.begin(at: self.now))
    }

    /// The topics on which it is said what is wanted; none: nothing may be.
    var wanted: [String] { self.terms.allow.changes.isEmpty ? [] : self.terms.scopes.keys.sorted() }

    // MARK: The server

    func connected() {
        self.step(.connection(true))
        self.lookWhetherAllCounts()
        guard !self.terms.allow.changes.isEmpty else { return }
        self.tell(self.machine.report)
    }

    func disconnected() {
        self.loop.cancel(&self.telling.timer)
        self.telling.pause = Telling.firstPause
        self.step(.connection(false))
    }

    /// Takes a message, if it says what is wanted.
    func take(_ publication: Publication) -> Bool {
        guard let scope = self.terms.scopes[publication.topic] else { return false }
        guard !self.terms.allow.changes.isEmpty else { return true }
        // Who takes back a wish leaves things as they are.
        guard !publication.payload.isEmpty else {
            self.step(.withdrawn(scope))
            return true
        }
        do throws(DesiredProblem) {
            let state = try DesiredState.read(
                publication.payload, contentType: publication.properties.contentType, for: scope,
                isSigned: self.key.map { key in { key.isSigned($0.bytes, by: $0.signature) } })
            self.step(.offered(scope, state, isNew: !publication.isRetained))
        } catch {
            self.step(.unusable(scope, error))
        }
        return true
    }

    private func tell(_ report: DesiredReport) {
        guard !self.terms.allow.changes.isEmpty else { return }
        var message = Publication(self.terms.topics.reported, self.terms.format.bytes(report.value), isRetained: true)
        message.properties.contentType = self.terms.format.contentType
        message.properties.isText = self.terms.format == .json
        self.publish(message) { [weak self] isTaken in
            guard let self else { return }
            guard !isTaken else {
                self.loop.cancel(&self.telling.timer)
                self.telling.pause = Telling.firstPause
                return self.step(.told(report))
            }
            // What the server does not know is not confirmed. It may take it later, or what is to be told then.
            let pause = self.telling.pause
            self.telling.pause = min(2 * pause, Telling.longestPause)
            self.loop.set(&self.telling.timer, after: pause, on: .boottime) { [weak self] in
                if let self { self.tell(self.machine.report) }
            }
        }
    }

    // MARK: The machine

    private var now: Timestamp { Timestamp(microseconds: Clock.monotonic.now()) }

    private func step(_ input: DesiredMachine.Input) { self.perform(self.machine.step(input, at: self.now)) }

    /// Does things in order. What cannot be done ends the list, and the machine is told.
    private func perform(_ effects: [DesiredMachine.Effect]) {
        for effect in effects {
            do throws(SystemError) {
                try self.perform(effect)
            } catch {
                self.log.error("what is wanted cannot be kept: \(error)")
                return self.step(.failed(DesiredProblem("\(error)")))
            }
        }
    }

    /// Removes what is of no use any more. What cannot be removed now is with the next, and keeps nothing else from being done.
    private func clear() {
        do throws(SystemError) {
            try self.store.clear()
        } catch {
            self.log.error("what is not wanted any more stays on the disk: \(error)")
        }
    }

    private func perform(_ effect: DesiredMachine.Effect) throws(SystemError) {
        switch effect {
        case .stage(let state):
            try self.store.stage(state)
            self.check(state)
        case .note(let attempt): try self.store.note(attempt)
        case .switchTo(let version): try self.store.switchTo(version)
        case .keep(let version):
            try self.store.keep(version)
            self.clear()
            self.loop.defer { [weak self] in
                self?.step(.kept)
                self?.lookWhetherAllCounts()
            }
        case .clear:
            self.clear()
            self.lookWhetherAllCounts()
        case .reload(let number): self.reload(number)
        case .follow(let state): self.follow(state)
        case .report(let report): self.tell(report)
        case .probe: self.probe()
        case .wake(let time):
            self.loop.set(&self.timer, at: time.microseconds) { [weak self] in self?.step(.time) }
        case .say(let text): self.log.notice(text)
        }
    }

    // MARK: The broker

    func brokerChanged(_ owner: String?) {
        self.broker = owner
        let isThere = owner != nil
        if isThere, self.owesReload {
            self.owesReload = false
            self.bus.tell(Self.root, "Reload", noOptions)
        }
        self.step(.broker(isThere: isThere))
        self.lookWhetherAllCounts()
        // A broker that begins knows of no pause.
        if isThere { self.follow(self.machine.inForce) } else { self.switching.hasPaused = false }
    }

    /// Checks what was staged together with what the broker goes by.
    private func check(_ state: DesiredState) {
        do throws(DesiredProblem) {
            _ = try DesiredDetectors.apply(state.thresholds ?? [], to: self.terms.detectors)
        } catch {
            return self.loop.defer { [weak self, error] in self?.step(.staged(error)) }
        }
        self.askForFiles { [weak self] result in
            guard let self else { return }
            let files: [String]
            do throws(DesiredProblem) {
                files = try result.get()
            } catch {
                return self.step(.unchecked(error))
            }
            let outside = "\(self.store.path)/"
            let own = DesiredCheck.Own(
                policy: files.filter { !$0.hasPrefix(outside) }, users: PolicyDirectories.user(environmentValue))
            self.check(state.version, beside: own)
        }
    }

    /// Checks on the thread what was staged. Nothing else is tried, and nothing of it removed, until that is done.
    private func check(_ version: UInt64, beside own: DesiredCheck.Own) {
        let (policy, apps) = (self.store.stagedPolicyDirectory(version), self.store.stagedAppDirectory(version))
        self.errands.run(
            { DesiredCheck.problem(own: own, staged: policy, apps: apps) }, patience: Self.checkPatience,
            overdue: { [weak self] in
                let seconds = Self.checkPatience / 1_000_000
                self?.log.warning("version \(version) has not been checked for \(seconds) s; it is tried when it is")
            }
        ) { [weak self] in self?.step(.staged($0)) }
    }

    /// Asks the broker by which files it goes.
    private func askForFiles(_ then: @escaping (Result<[String], DesiredProblem>) -> Void) {
        self.bus.call(
            Self.properties, "Get", InterfaceName.broker.description, "PolicyFiles", autoStart: false
        ) { result in
            do throws(BusError) {
                let message = try result.take()
                guard case .array(_, let paths) = try message.read(reply: Value.self) else {
                    return then(.failure(DesiredProblem("the broker does not say by which files it goes")))
                }
                then(.success(paths.compactMap { if case .string(let path) = $0 { path } else { nil } }))
            } catch {
                then(.failure(DesiredProblem("the broker does not say by which files it goes: \(error)")))
            }
        }
    }

    private func reload(_ number: UInt64) {
        guard self.broker != nil else {
            self.owesReload = true
            return self.loop.defer { [weak self] in
                self?.step(.unanswered(number, DesiredProblem("there is no broker")))
            }
        }
        self.bus.call(Self.root, "Reload", noOptions, autoStart: false) { [weak self] result in
            do throws(BusError) {
                _ = try result.take()
                self?.confirmFiles(number)
            } catch {
                let isRefusal = error.name == BusError.invalidPolicy("").name
                self?.step(
                    isRefusal
                        ? .reloaded(number, DesiredProblem(refusal: error.message))
                        : .unanswered(number, DesiredProblem("\(error)")))
            }
        }
    }

    /// A broker that was told of another place, or leaves something out, goes by other files than it should.
    private func confirmFiles(_ number: UInt64) {
        guard self.hasFiles else { return self.step(.reloaded(number, nil)) }
        self.askForFiles { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let problem): self.step(.unanswered(number, problem))
            case .success(let files):
                self.step(.reloaded(number, self.problem(among: files)))
            }
        }
    }

    private var hasFiles: Bool { !(self.machine.inForce.policy ?? []).isEmpty }

    /// What of that which is in force is not among the files by which the broker goes.
    private func problem(among files: [String]) -> DesiredProblem? {
        let inForce = Set(files)
        let missing = (self.machine.inForce.policy ?? []).map(\.name).first {
            !inForce.contains("\(self.store.policyDirectory)/\($0)")
        }
        return missing.map { DesiredProblem("the broker does not go by it", file: $0, line: 1) }
    }

    /// A change of the device's own files may have the broker leave out what is in force, and another have it taken in again.
    private func lookWhetherAllCounts() {
        guard self.broker != nil, self.machine.isIdle else { return }
        guard self.hasFiles else { return self.step(.leftOut(nil)) }
        self.askForFiles { [weak self] result in
            guard let self, case .success(let files) = result else { return }
            self.step(.leftOut(self.problem(among: files)))
        }
    }

    /// Whether the broker still does what it is for: it has to answer.
    private func probe() {
        self.bus.call(
            Self.properties, "Get", InterfaceName.broker.description, "PolicyGeneration", autoStart: false
        ) { [weak self] result in
            do throws(BusError) {
                _ = try result.take()
                self?.step(.probed(true))
            } catch {
                self?.step(.probed(false))
            }
        }
    }

    private func follow(_ state: DesiredState) {
        if let requests = try? DesiredDetectors.apply(state.thresholds ?? [], to: self.terms.detectors) {
            self.onDetectors(requests)
        }
        let wants = state.isPaused ?? false
        // Without a broker there is nothing to be switched; it hears of it when it comes.
        guard self.broker != nil, wants != self.switching.hasPaused else { return }
        self.switching.hasPaused = wants
        self.pause(wants)
    }

    /// Switches motion off or on. Of what is said within a moment of that, or before the broker answers, the last counts: whoever says it
    /// without end has neither us nor the broker be kept by it.
    func pause(_ isOff: Bool) {
        guard !self.switching.isUnderWay else { return self.switching.next = isOff }
        self.switching.isUnderWay = true
        self.bus.call(Self.root, isOff ? "Pause" : "Resume", noOptions, autoStart: false) { [weak self] result in
            guard let self else { return }
            do throws(BusError) {
                _ = try result.take()
                self.onPause(isOff)
            } catch {
                self.log.warning("motion cannot be switched \(isOff ? "off" : "on"): \(error)")
            }
            self.loop.once(after: Switching.pause) { [weak self] in self?.switchNext() }
        }
    }

    private func switchNext() {
        self.switching.isUnderWay = false
        if let next = self.switching.next.take() { self.pause(next) }
    }
}
