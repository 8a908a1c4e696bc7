import Arbitration
import BrokerCore
import DBus
import Loop
import Motion
import Protocol

/// What an app keeps going in the background with, and what it can see of its own life.
extension Client {
    var life: AppLife? { self.service.core.arbiter.life(of: self.id) }

    func beginAssertion(_ name: String, _ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let reader = try OptionReader(options, of: "assertion", known: [HeldKey.warning])
        let warning = try reader.time(HeldKey.warning) ?? AssertionRequest.standardWarning
        let limits = self.service.core.limits
        guard warning <= limits.warning else {
            throw .limitsExceeded("the app is told too long ahead: warning is \(limits.warning.microseconds) us")
        }
        guard !name.isEmpty else { throw .invalidConfiguration("an assertion needs a name") }
        guard name.utf8.count <= limits.assertionNameBytes else {
            throw .limitsExceeded(
                "the name of an assertion is too long: assertion-name-bytes is \(limits.assertionNameBytes)")
        }
        let request = AssertionRequest(AssertionID(self.nextNumber()), name, warning: warning)
        let (own, given) = try self.service.links.clients.held.make(for: self.heldBy) { [weak self] in
            self?.end(request.id)
        }
        self.assertions[request.id] = own
        do throws(BusError) {
            try self.service.request(.life(.beginAssertion(self.id, request)))
        } catch {
            self.assertions[request.id] = nil
            throw error
        }
        self.changed("Assertions")
        var answer: [String: Value] = [
            HeldKey.backgroundTime: .uint64(self.backgroundTimeRemaining), HeldKey.name: .string(name),
            HeldKey.number: .uint64(request.id.number),
        ]
        let (remaining, now) = self.service.now { core, now in
            (core.arbiter.remaining(of: request.id, self.id, at: now), now)
        }
        if let remaining {
            answer[HeldKey.deadline] = .uint64((now + remaining).wire)
            answer[HeldKey.remaining] = .uint64((Timestamp.zero + remaining).wire)
        }
        call.reply(given, answer)
    }

    private func end(_ id: AssertionID) {
        guard self.assertions.removeValue(forKey: id) != nil else { return }
        self.service.happened(.life(.endAssertion(self.id, id)))
        self.ended(id)
    }

    /// Notes that one is over. Only that is still to be told of it.
    private func ended(_ id: AssertionID) {
        self.object?.forget(id.number)
        self.changed("Assertions")
    }

    func beginActivity(_ word: String, _ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let session = try SessionRequest(options)
        let mode = try GivenWord.read(word, "mode", among: BackgroundMode.allCases, name: \.name)
        let id = ActivityID(self.nextNumber())
        let (own, given) = try self.service.links.clients.held.make(for: self.heldBy) { [weak self] in self?.end(id) }
        self.activities[id] = own
        do throws(BusError) {
            try self.service.request(.life(.beginActivity(self.id, id, mode, session)))
        } catch {
            self.activities[id] = nil
            throw error
        }
        self.activitiesChanged()
        let isGranted = self.service.core.arbiter.settings(of: self.id)?.grants.contains(mode) == true
        call.reply(
            given, [HeldKey.number: Value.uint64(id.number), HeldKey.keepsGoing: Value.boolean(isGranted)])
    }

    private func end(_ id: ActivityID) {
        guard self.activities.removeValue(forKey: id) != nil else { return }
        self.service.happened(.life(.endActivity(self.id, id)))
        self.ended(id)
    }

    /// Notes that one is over, and its session with it. Only that is still to be told of them.
    private func ended(_ id: ActivityID) {
        self.object?.forget(id.number)
        self.activitiesChanged()
    }

    /// Notes that other activities are under way, and sessions with them.
    private func activitiesChanged() {
        self.changedForAll("Activities")
        self.changed("Sessions")
    }

    /// Whose share it is that the app takes from: only who is completely registered asks.
    private var heldBy: UInt32 { self.uid ?? UserShares.root }

    private func nextNumber() -> UInt64 {
        self.lastNumber += 1
        return self.lastNumber
    }

    /// Takes in what followed in the app's life. What it holds no more is closed, so that it sees a hang-up.
    func perform(_ effect: LifeEffect) {
        switch effect {
        case .changed:
            self.service.links.history.note(self)
            self.changedForAll("State")
            self.changed("StateCause")
        case .expiring(let id, let name, _): self.tellExpiring(id, name)
        case .assertionEnded(let id, _, _):
            self.assertions[id] = nil
            self.ended(id)
        case .player: self.changedForAll("Activities")
        case .activityEnded(let id, _):
            self.activities[id] = nil
            self.ended(id)
        }
    }

    /// Tells the app that an assertion ends soon, unless it has come back meanwhile, where nothing ends it.
    private func tellExpiring(_ id: AssertionID, _ name: String) {
        self.object?.tell(InterfaceName.app, "AssertionExpiring", about: NewsSubject(id.number, "expiry")) {
            [weak self] in
            guard let self, let left = self.remaining(of: id) else { return nil }
            let details: [String: Value] = [HeldKey.number: .uint64(id.number), HeldKey.remaining: .uint64(left)]
            return [name, details]
        }
    }

    // MARK: What there is to see

    /// How long an assertion lasts; `nil`: nothing of its budget is used while the app is where it is.
    private func remaining(of id: AssertionID) -> UInt64? {
        let left = self.service.now { core, now in core.arbiter.remaining(of: id, self.id, at: now) }
        return left.map { (Timestamp.zero + $0).wire }
    }

    /// How long the app can go on as things are; the largest number when nothing ends it.
    var backgroundTimeRemaining: UInt64 {
        let remaining = self.service.now { core, now in core.arbiter.remaining(of: self.id, at: now) }
        return remaining.map { (Timestamp.zero + $0).wire } ?? .max
    }

    /// What it holds; without a time left while nothing of the budget is used.
    var assertionList: [[String: Value]] {
        let held = self.life?.assertions ?? []
        return held.map { assertion in
            var row: [String: Value] = [
                HeldKey.name: .string(assertion.name), HeldKey.number: .uint64(assertion.id.number),
            ]
            row[HeldKey.remaining] = self.remaining(of: assertion.id).map { .uint64($0) }
            return row
        }
    }

    /// The last launch that is over: why, what came of it, and when that was; empty before the first.
    var lastLaunch: [String: Value] { self.tally?.launches.options ?? [:] }

    /// By the modes. What its player has it at work in comes last.
    var activityList: [String] {
        guard let life else { return [] }
        return life.activities.map(\.mode.name) + (life.isAtPlay ? [BackgroundMode.audio.name] : [])
    }
    var grantList: [String] { (self.service.core.arbiter.settings(of: self.id)?.grants.elements ?? []).map(\.name) }
}
