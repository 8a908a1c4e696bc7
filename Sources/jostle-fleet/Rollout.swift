import DaemonSupport
import FleetCore
import Loop
import Motion
import Signatures

/// Brings something to a group of devices.
struct Rollout {
    let session: FleetSession
    let group: String
    let progress: Progress
    /// Whoever says to be of the group and is not: what they say counts for nothing.
    private let strangers: Set<String>
    /// What devices had reported when it began.
    private let before: [String: DesiredReport]

    init(_ session: FleetSession, _ group: String, without strangers: [String], _ progress: Progress) {
        self.strangers = Set(strangers)
        (self.session, self.group, self.progress) = (session, group, progress)
        self.before = session.book.devices.compactMapValues(\.report)
    }

    /// What a device reported of it. One that refuses what it could not read, or what is not signed, does not say which version that was.
    private func report(of name: String, on version: UInt64) -> DesiredReport? {
        guard var report = self.book.devices[name]?.report else { return nil }
        if report.outcome == .refused, report.version == 0, report != self.before[name] { report.version = version }
        return report
    }

    private var now: Timestamp { Timestamp(microseconds: Clock.monotonic.now()) }
    private var book: DeviceBook { self.session.book }

    /// Who is in a group is what each says; a server need not know better.
    private var members: [String] { self.book.devices(in: self.group).filter { !self.strangers.contains($0) } }
    private var present: [String] { self.members.filter { self.book.devices[$0]?.isOnline ?? false } }

    /// Who lets nobody change one of these kinds would refuse all of it, and whatever the group is told later. Of who is not there it is only
    /// said: it may never have been there.
    func check(_ state: DesiredState) throws {
        for name in self.members {
            let allowed = self.book.devices[name]?.desired ?? []
            guard let change = state.changes.map(\.rawValue).sorted().first(where: { !allowed.contains($0) }) else {
                continue
            }
            let problem = "\(name) lets nobody change \(change) ([Allow] Desired)"
            guard self.book.devices[name]?.isOnline ?? false else {
                complain("\(problem); it is not there, and would refuse it")
                continue
            }
            throw FleetFailure(.refused, "\(problem); nothing was sent; --without \(name) leaves it out of account")
        }
    }

    // MARK: Canaries

    /// Has some devices try it. Returns when all is well with these; else they get back what they had, and it fails.
    func tryFirst(_ state: DesiredState, on share: Share, _ terms: Canary.Terms) throws {
        let online = self.present
        guard !online.isEmpty else { throw FleetFailure(.no, "no device of group \(self.group) is there") }
        let had = try self.had(online)
        let canaries = Canary.choose(share.count(of: online.count), of: Array(had.keys), for: state.version)
        let others = Set(online).subtracting(canaries).sorted()
        var canary = Canary(
            state.version, canaries: canaries, others: others, terms: terms, at: self.now, wall: Clock.wallClock())
        for name in online { self.read(name, into: &canary) }
        try self.progress.tell(
            "canary", "version \(state.version) goes to \(canaries.joined(separator: ", ")) first",
            ["version": .count(state.version), "canaries": .list(canaries.map { .text($0) })])
        for name in canaries where self.book.devices[name]?.apps.isEmpty ?? true {
            complain("\(name) tells of no app ([Publish] Apps): what apps are denied there is not watched")
        }
        let before = canaries.map { (name: $0, state: had[$0] ?? DesiredState.none) }
        var hasNews = false
        self.session.onChange = { change in
            switch change {
            case .presence(let name), .report(let name), .counts(let name):
                self.read(name, into: &canary)
                hasNews = true
            case .birth, .wanted, .previous: break
            }
        }
        defer { self.session.onChange = { _ in } }
        do {
            for name in canaries { try self.session.publish(state, for: .device(name)) }
            while true {
                switch canary.decision(at: self.now) {
                case .wait(let text): try self.progress.tell("wait", text)
                case .watch(let left):
                    try self.progress.tell("watch", "all canaries have it, and are watched", left: left)
                case .goOn: return try self.progress.tell("go-on", "all is well with the canaries")
                case .stop(let why):
                    try self.progress.tell("stop", "stopped: \(why)", ["why": .text(why)])
                    throw FleetFailure(.no, "rolled back: \(why)")
                }
                // Time passes, too, and is part of the decision.
                hasNews = false
                try self.session.waitForNews { hasNews }
            }
        } catch {
            // Also when somebody stops us: what was tried is not left behind.
            do {
                try self.session.goOn()
                try self.takeBack(state, before)
            } catch let second {
                complain("what the canaries had cannot be given back: \(Self.words(second))")
            }
            throw error
        }
    }

    private static func words(_ error: any Swift.Error) -> String { (error as? FleetFailure)?.message ?? "\(error)" }

    /// What those have that may be canaries: who could not be given it back is none.
    private func had(_ names: [String]) throws -> [String: DesiredState] {
        var known: [String: DesiredState] = [:]
        for name in names { known[name] = self.book.inForce(on: name) }
        let unknown = names.filter { known[$0] == nil }
        guard !unknown.isEmpty else { return known }
        let problem = "the server does not say any more what is in force on \(Self.list(unknown))"
        guard !known.isEmpty else {
            throw FleetFailure(.no, "\(problem), so that no canary could get it back; nothing was sent")
        }
        complain("\(problem), which cannot be canaries")
        return known
    }

    private func read(_ name: String, into canary: inout Canary) {
        guard let device = self.book.devices[name] else { return }
        canary.presence(of: name, isOnline: device.isOnline, at: self.now)
        if let report = self.report(of: name, on: canary.version) { canary.reported(report, by: name, at: self.now) }
        canary.counted(device.apps, by: name)
    }

    /// Gives the canaries back what each had: that one of them cannot have it is no reason to leave the others with what was tried.
    private func takeBack(_ state: DesiredState, _ before: [(name: String, state: DesiredState)]) throws {
        let version = max(self.book.nextVersion ?? 0, state.version + 1)
        var given: [String] = []
        var failure: (any Swift.Error)?
        for (name, old) in before {
            do {
                let old = state.undone(by: old, version: version)
                do {
                    try self.session.publish(old, for: .device(name))
                } catch  where self.session.isOver {
                    // Some servers end the connection of whom they do not let say something.
                    try self.session.goOn()
                    try self.session.publish(old, for: .device(name))
                }
                given.append(name)
            } catch {
                failure = failure ?? error
                // A server that answers nothing is not asked as often as there are canaries.
                if (error as? FleetFailure)?.code == .noService { break }
            }
        }
        if !given.isEmpty {
            let who = failure == nil ? "the canaries get" : "\(Self.list(given)) got"
            // It is so also where it cannot be told.
            try? self.progress.tell(
                "rollback", "\(who) back what they had, as version \(version)", ["version": .count(version)])
        }
        guard let failure else { return }
        let done = Set(given)
        let left = before.map { $0.name }.filter { !done.contains($0) }
        throw FleetFailure(.no, "\(Self.list(left)): \(Self.words(failure))")
    }

    // MARK: All

    /// Wants it of the whole group, and remembers what was wanted before. It is told whole, with what earlier states said and this one does
    /// not: whoever joins the group later is to have all of it.
    ///
    /// - Returns: who was there then.
    func publish(_ state: DesiredState, behind old: DesiredState?) throws -> Set<String> {
        let before = state.undone(by: old, version: old?.version ?? 1)
        let there = Set(self.present)
        try self.session.publish(state, behind: before, of: self.group)
        try self.progress.tell(
            "publish", "version \(state.version) is wanted of group \(self.group)", ["version": .count(state.version)])
        return there
    }

    /// Waits until all that are there report it, and all that were: it may be what had them leave.
    func waitForAll(_ version: UInt64, and there: Set<String>, atMost span: TimeSpan) throws {
        let end = self.now + span
        var hasNews = false
        self.session.onChange = { _ in hasNews = true }
        defer { self.session.onChange = { _ in } }
        while true {
            let (all, done, bad) = self.count(version, there)
            try self.progress.tell(
                "wait", "\(done.count) of \(all.count) devices have it" + (bad.isEmpty ? "" : ", \(bad.count) refused"),
                ["devices": .count(all.count), "done": .count(done.count), "refused": .count(bad.count)])
            if done.count + bad.count == all.count || self.now >= end {
                return try self.endWaiting(Set(all).subtracting(done).sorted(), bad)
            }
            hasNews = false
            try self.session.waitForNews { hasNews }
        }
    }

    private func endWaiting(_ missing: [String], _ bad: [String]) throws {
        for name in bad {
            try self.progress.tell("refused", "\(name): \(self.book.devices[name]?.report?.line ?? "")")
        }
        let away = self.members.filter { !(self.book.devices[$0]?.isOnline ?? false) }
        if !away.isEmpty {
            try self.progress.tell(
                "away", "\(away.count) not there, and will have it when they come: \(Self.list(away))",
                ["away": .list(away.map { .text($0) })])
        }
        guard missing.isEmpty else { throw FleetFailure(.no, "not in force on: \(Self.list(missing))") }
    }

    /// The devices of the group that are there or were, those that have it, and those that will not.
    private func count(_ version: UInt64, _ there: Set<String>) -> (all: [String], done: [String], bad: [String]) {
        let all = self.members.filter { there.contains($0) || self.book.devices[$0]?.isOnline ?? false }
        func outcome(_ name: String) -> DesiredReport.Outcome? {
            self.report(of: name, on: version).flatMap { $0.version == version ? $0.outcome : nil }
        }
        return (
            all, all.filter { outcome($0) == .applied },
            all.filter { [.refused, .rolledBack].contains(outcome($0)) }
        )
    }

    /// Names for people: not a thousand of them.
    static func list(_ names: [String]) -> String {
        names.prefix(10).joined(separator: ", ") + (names.count > 10 ? " and \(names.count - 10) more" : "")
    }
}

/// So many devices, or so many per cent of them.
enum Share: Sendable {
    case percent(Double)
    case devices(Int)

    init?(_ text: String) {
        if text.hasSuffix("%"), let number = Double(text.dropLast()), number > 0, number <= 100 {
            self = .percent(number)
        } else if let number = Int(text), number > 0 {
            self = .devices(number)
        } else {
            return nil
        }
    }

    func count(of all: Int) -> Int {
        switch self {
        case .percent(let share): Canary.count(of: all, share: share)
        case .devices(let number): min(number, all)
        }
    }
}

/// Tells how far something is: each step once. On a terminal a step that only waits is written over the one before.
final class Progress {
    private let isJSON: Bool
    private let isTerminal: Bool
    private var last = ""
    private var isOpen = false
    private var isRead = true
    /// Whether whoever reads stands still.
    private var isHeldUp = false

    /// How long one who stands still is waited for, in µs.
    private static let patience: Int64 = 5_000_000

    init(isJSON: Bool) {
        self.isJSON = isJSON
        self.isTerminal = !isJSON && isOutputTerminal()
    }

    /// - Parameters:
    ///   - step: a word for machines.
    ///   - left: how long it will take yet, for people.
    func tell(
        _ step: String, _ text: String, _ fields: KeyValuePairs<String, DataValue?> = [:], left: TimeSpan? = nil
    ) throws {
        let isWaiting = step == "wait" || step == "watch"
        let left = self.isTerminal ? left.map { " for another \(Int($0.seconds.rounded(.up))) s" } ?? "" : ""
        let line = text + left
        guard line != self.last else { return }
        self.last = line
        if self.isJSON {
            let common: DataValue = .fields(["step": .text(step), "text": .text(text)])
            guard case .object(let first) = common, case .object(let rest) = DataValue.fields(fields) else { return }
            return try self.show(escapedLine(JSONCoding.text(.object(first + rest))) + "\n")
        }
        guard self.isTerminal else { return try self.show(escapedLine(line) + "\n") }
        // Back to its beginning, and nothing of it stays.
        try self.show((self.isOpen ? "\r\u{1B}[K" : "") + escapedLine(line) + (isWaiting ? "" : "\n"))
        self.isOpen = isWaiting
    }

    /// What is told of goes on when nobody reads any more how far it is, and also where whoever reads stands still: what is told then is
    /// left out.
    private func show(_ text: String) throws(FleetFailure) {
        guard self.isRead else { return }
        let end = self.isHeldUp ? 0 : Clock.monotonic.now() + Self.patience
        var isLate = false
        let isTold = try isWritten(text) {
            isLate = isToldToEnd() || Clock.monotonic.now() >= end
            return isLate
        }
        (self.isHeldUp, self.isRead) = (isLate, isTold || isLate)
    }

    deinit { if self.isOpen { try? self.show("\n") } }
}
