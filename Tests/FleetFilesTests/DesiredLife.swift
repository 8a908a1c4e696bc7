import FleetCore
import FleetFiles
import Glibc
import Loop
import Motion
import PolicyFiles
import Randomness
import Testing

/// A device whose bridge is killed at any step, whose broker dies of some policies, and whose server comes and goes.
///
/// The disk is a real one; everything else is told.
final class DesiredLife {
    let directory: String
    private var random: SeededRandom
    private var machine: DesiredMachine?
    private var store: DesiredStore?
    private var now = Timestamp(microseconds: 1_000_000)
    private var wake: Timestamp?
    /// After so many changes of the disk the bridge is killed.
    private var changesLeft: Int?
    private var inputs: [DesiredMachine.Input] = []

    private var isServerThere = true
    private var isBrokerThere = true
    /// What the broker goes by: the version in its files.
    private var brokerVersion: UInt64 = 0
    /// Versions that were wanted, and what becomes of them.
    private(set) var offered: [UInt64: Kind] = [:]
    private var retained: DesiredState?
    private(set) var reports: [DesiredReport] = []
    private(set) var kills = 0
    /// What is wrong.
    private(set) var problems: [String] = []

    enum Kind: CaseIterable {
        case good
        /// The check finds an error.
        case wrong
        /// The broker finds one.
        case refused
        /// The broker ends of it.
        case deadly
        /// The broker does not answer any more.
        case hanging
    }

    struct Killed: Swift.Error {}

    init(seed: UInt64) throws {
        self.random = SeededRandom(seed: seed)
        var template = Array("/dev/shm/jostle-desired-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Killed() }
        self.directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: The bridge

    private func start() {
        guard self.machine == nil else { return }
        self.inputs = []
        do {
            let store = try DesiredStore("\(self.directory)/state") { [unowned self] () throws(SystemError) in
                guard let left = self.changesLeft else { return }
                guard left > 0 else { throw SystemError(code: EINTR, function: "killed") }
                self.changesLeft = left - 1
            }
            self.store = store
            try store.clear()
            var machine = DesiredMachine(
                try store.memory(), allowing: [.policy, .apps], confirmWithin: .seconds(20), at: self.now)
            let effects = machine.begin(at: self.now)
            self.machine = machine
            self.perform(effects)
        } catch {
            self.kill()
        }
        self.feed(.broker(isThere: self.isBrokerThere))
        self.feed(.connection(self.isServerThere))
        if self.isServerThere, let retained { self.feed(.offered(.group("all"), retained, isNew: false)) }
    }

    private func kill() {
        self.machine = nil
        self.store = nil
        self.changesLeft = nil
        self.wake = nil
        self.kills += 1
        self.check()
    }

    private func feed(_ input: DesiredMachine.Input) {
        self.inputs.append(input)
        while !self.inputs.isEmpty, self.machine != nil {
            let input = self.inputs.removeFirst()
            guard let effects = self.machine?.step(input, at: self.now) else { return }
            self.perform(effects)
        }
    }

    private func perform(_ effects: [DesiredMachine.Effect]) {
        for effect in effects {
            guard let store = self.store else { return }
            do throws(SystemError) {
                switch effect {
                case .stage(let state):
                    try store.stage(state)
                    let problem = DesiredCheck.problem(
                        own: DesiredCheck.Own(policy: [], users: nil, apps: []),
                        staged: store.stagedPolicyDirectory(state.version),
                        apps: store.stagedAppDirectory(state.version))
                    self.inputs.append(.staged(problem))
                case .note(let attempt): try store.note(attempt)
                case .switchTo(let version): try store.switchTo(version)
                case .keep(let version):
                    try store.keep(version)
                    try store.clear()
                    self.inputs.append(.kept)
                case .clear: try store.clear()
                case .reload(let number): self.inputs.append(self.reload(number))
                case .report(let report):
                    self.reports.append(report)
                    if self.isServerThere { self.inputs.append(.told(report)) }
                case .probe:
                    self.inputs.append(.probed(self.isBrokerThere && self.kind(self.brokerVersion) != .hanging))
                case .wake(let time): self.wake = time
                case .follow, .say: break
                }
            } catch {
                // The only thing that goes wrong with this disk is our end.
                return self.kill()
            }
            self.check()
        }
    }

    // MARK: The broker

    private func kind(_ version: UInt64) -> Kind { version == 0 ? .good : self.offered[version] ?? .good }

    private func reload(_ number: UInt64) -> DesiredMachine.Input {
        guard self.isBrokerThere else { return .unanswered(number, DesiredProblem("no broker")) }
        guard let version = self.filesVersion() else { return .reloaded(number, DesiredProblem("files of several")) }
        if self.kind(version) == .refused { return .reloaded(number, DesiredProblem("the broker refuses it")) }
        self.brokerVersion = version
        return .reloaded(number, nil)
    }

    /// The version in all files that the broker reads; `nil`: not all are of one.
    func filesVersion() -> UInt64? {
        var versions: Set<UInt64> = []
        var count = 0
        var expected = 0
        for directory in ["policy.d", "apps.d"] {
            let path = "\(self.directory)/state/current/\(directory)"
            guard let names = try? directoryNames(path) else { return nil }
            for name in names {
                guard let text = Self.text("\(path)/\(name)"), let line = text.split(separator: "\n").first else {
                    return nil
                }
                // # VERSION of COUNT
                let words = line.split(separator: " ")
                guard words.count == 4, let version = UInt64(words[1]), let all = Int(words[3]) else { return nil }
                versions.insert(version)
                (count, expected) = (count + 1, all)
            }
        }
        guard count == expected, versions.count <= 1 else { return nil }
        return versions.first ?? 0
    }

    static func text(_ path: String) -> String? {
        guard let file = try? InputFile(path) else { return nil }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        guard let count = try? file.read(into: &buffer) else { return nil }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    // MARK: What happens

    func offer(_ kind: Kind) {
        let version = (self.offered.keys.max() ?? 0) + UInt64.random(in: 1...3, using: &self.random)
        self.offered[version] = kind
        let (policies, apps) = (Int.random(in: 1...3, using: &self.random), Int.random(in: 0...2, using: &self.random))
        let head = "# \(version) of \(policies + apps)\n"
        let body = kind == .wrong ? "[App org.example.A]\nGrants=nonsense\n" : "[App org.example.A]\nGrants=audio\n"
        self.retained = DesiredState(
            version: version,
            policy: (0..<policies).map { DesiredFile("\($0).conf", head + ($0 == 0 ? body : "")) },
            apps: (0..<apps).map { DesiredFile("org.example.A\($0).conf", head + "[App]\nUsage=Is there\n") })
        if self.isServerThere, let retained { self.feed(.offered(.group("all"), retained, isNew: false)) }
    }

    func step() {
        self.start()
        switch Int.random(in: 0..<20, using: &self.random) {
        case 0..<4: self.offer(Kind.allCases.randomElement(using: &self.random) ?? .good)
        case 4: if let retained, self.isServerThere { self.feed(.offered(.group("all"), retained, isNew: false)) }
        case 5..<8: self.changesLeft = Int.random(in: 0..<60, using: &self.random)
        case 8: self.kill()
        case 9: self.server(!self.isServerThere)
        case 10: self.broker(!self.isBrokerThere)
        default: self.pass(.milliseconds(Int64.random(in: 100..<8_000, using: &self.random)))
        }
        self.check()
    }

    private func server(_ isThere: Bool) {
        self.isServerThere = isThere
        self.feed(.connection(isThere))
        guard isThere else { return }
        if let report = self.machine?.report { self.feed(.told(report)) }
        if let retained { self.feed(.offered(.group("all"), retained, isNew: false)) }
    }

    private func broker(_ isThere: Bool) {
        self.isBrokerThere = isThere
        // It begins with what is there.
        if isThere {
            let version = self.filesVersion() ?? 0
            self.brokerVersion = self.kind(version) == .refused ? 0 : version
        }
        self.feed(.broker(isThere: isThere))
    }

    private func pass(_ span: TimeSpan) {
        let end = self.now + span
        while let wake, wake <= end, self.machine != nil {
            self.now = max(self.now, wake)
            self.wake = nil
            self.feed(.time)
        }
        self.now = end
        // A deadly policy ends the broker, if it goes by it.
        if self.isBrokerThere, self.kind(self.brokerVersion) == .deadly {
            self.broker(false)
            self.broker(true)
        }
    }

    /// Lets some time pass.
    func rest() { self.pass(.seconds(5)) }

    /// All is well from now on, until nothing happens any more.
    func end() {
        self.changesLeft = nil
        self.start()
        self.server(true)
        self.broker(true)
        self.offer(.good)
        for _ in 0..<60 {
            self.start()
            self.pass(.seconds(5))
        }
        self.check()
    }

    // MARK: What must hold

    private func check() {
        // Before the first start there is nothing.
        guard access("\(self.directory)/state/current", F_OK) == 0 else { return }
        guard let version = self.filesVersion() else {
            self.problems.append("the files are of several states, or not all are there")
            return
        }
        guard version > 0 else { return }
        switch self.offered[version] {
        case nil: self.problems.append("version \(version) was never wanted")
        case .wrong: self.problems.append("version \(version) has an error, and the broker could read it")
        case .good, .refused, .deadly, .hanging: break
        }
    }

    /// What is on the disk in the end.
    func memory() throws -> DesiredMemory { try DesiredStore("\(self.directory)/state").memory() }

    /// The states on the disk, as the bridge left it; whoever opens it anew cleans up.
    func versions() throws -> [UInt64] { try directoryNames("\(self.directory)/state").compactMap { UInt64($0) } }

    func remove() { Self.remove(self.directory) }

    private static func remove(_ path: String) {
        guard Glibc.remove(path) != 0, errno == ENOTEMPTY || errno == EEXIST else { return }
        for name in (try? directoryNames(path)) ?? [] { self.remove("\(path)/\(name)") }
        _ = Glibc.remove(path)
    }
}
