import Arbitration
import BrokerCore
import Motion

/// Knows who is launched: nobody who is there, few at once, not again at once after a failure, and each launch ends once. Who wanted
/// an app launched is answered.
struct LaunchWatch {
    private struct Flight {
        let launch: Launch
        let begun: Timestamp
        /// Its app has come to the bus since.
        var isUp: Bool
        /// Somebody is called.
        var isMade = false
    }

    private struct Name: Hashable {
        let app: AppID
        let user: UInt32?
    }

    private struct Rest {
        var failures: Int
        var notBefore: Timestamp
    }

    struct Counts: Equatable {
        var begun = 0
        var done = 0
        var failed = 0
    }

    private var flights: [UInt64: Flight] = [:]
    private var rests: [Name: Rest] = [:]
    /// Calls that wait until an app is launched, by number, as `LaunchLink` has them; and what each wants.
    private var pushes = WaitingPushes<UInt64>()
    private var pushed: [UInt64: LaunchRequest] = [:]
    private var lastPush: UInt64 = 0
    /// What wakes took of what the last app is given, and when.
    private var woken: [Timestamp] = []
    /// The newest motion that it got: what had waited, and is older, is taken from what there is by then.
    private var newest: Timestamp?
    /// What is wrong, first of all.
    private(set) var finding: String?
    private(set) var counts = Counts()

    private mutating func find(_ what: String) { self.finding = self.finding ?? what }

    mutating func brokerEnds() {
        self.flights = [:]
        self.rests = [:]
        self.pushes = WaitingPushes()
        self.pushed = [:]
        self.woken = []
        self.newest = nil
    }

    /// Whether an app has events in its hands in a call, perhaps.
    func isCalled(_ app: AppID) -> Bool { self.flights.values.contains { $0.launch.app == app } }

    /// What the launches that are under way have begun with, in order.
    var underWay: [Launch] { self.flights.values.map(\.launch).sorted { $0.number < $1.number } }

    // MARK: What happens

    /// Somebody wants an app launched, and waits for what comes of that.
    mutating func push(_ wish: LaunchRequest) {
        self.lastPush += 1
        self.pushes.add(self.lastPush, for: wish)
        self.pushed[self.lastPush] = wish
    }

    private mutating func answer(_ calls: [UInt64]) {
        for call in calls where self.pushed.removeValue(forKey: call) == nil {
            self.find("push \(call) is answered twice")
        }
    }

    /// A launch begins.
    ///
    /// - Parameters:
    ///   - isThere: An app that is meant is on the bus.
    ///   - canReceive: And it can be sent events.
    mutating func begin(_ launch: Launch, isThere: Bool, canReceive: Bool, at now: Timestamp) {
        self.counts.begun += 1
        if launch.reason == .push { self.pushes.begin(launch) }
        if let other = self.flights.values.first(where: { $0.launch.app == launch.app }) {
            self.find("\(launch.app) is launched by \(launch.number) while \(other.launch.number) is under way")
        }
        if self.flights[launch.number] != nil { self.find("launch \(launch.number) begins twice") }
        if launch.isCold == isThere {
            self.find("\(launch.app) is \(isThere ? "" : "not ")there, and is \(launch.isCold ? "started" : "resumed")")
        }
        switch launch.reason {
        case .motion: if canReceive { self.find("\(launch.app) can be sent events, and is launched for them") }
        case .task: if isThere { self.find("\(launch.app) is there, and is started for a task") }
        case .push: break
        }
        let name = Name(app: launch.app, user: launch.user)
        if let rest = self.rests[name], now < rest.notBefore {
            self.find("\(launch.app) is launched at \(now), and rests until \(rest.notBefore)")
        }
        self.flights[launch.number] = Flight(launch: launch, begun: now, isUp: isThere)
        let starting = self.flights.values.filter { $0.launch.isCold && !$0.isUp }.map(\.launch)
        let own = starting.count { $0.user == launch.user }
        let most = own > 1 ? Launches.mostOfUser : Launches.mostColdStarts
        if launch.isCold, starting.count > most {
            self.find("\(starting.count) apps are being started, \(own) of one user")
        }
    }

    /// Somebody is called with what is handed over.
    mutating func isMade(_ launch: Launch) { self.flights[launch.number]?.isMade = true }

    /// An app has come to the bus.
    mutating func came(_ app: AppID, of user: UInt32) {
        for (number, flight) in self.flights
        where flight.launch.app == app && (flight.launch.user == nil || flight.launch.user == user) {
            self.flights[number]?.isUp = true
        }
    }

    /// A launch is over.
    mutating func end(_ launch: Launch, _ result: LaunchResult, at now: Timestamp) {
        guard let flight = self.flights.removeValue(forKey: launch.number) else {
            // It was called off before anybody was called.
            if result != .needless { self.find("launch \(launch.number) of \(launch.app) ends, and never began") }
            return
        }
        let name = Name(app: launch.app, user: launch.user)
        switch result {
        case .needless:
            if flight.isMade { self.find("launch \(launch.number) of \(launch.app) was called, and is called off") }
        case .postponed:
            let failures = self.failures(of: name, at: flight.begun)
            self.rests[name] = Rest(failures: failures, notBefore: now + Launches.firstBackOff)
        case .done:
            self.counts.done += 1
            self.rests[name] = nil
            if launch.reason == .push { self.answer(self.pushes.answered(launch)) }
        case .failed(let failure):
            self.counts.failed += 1
            if failure == .silent, now < flight.begun + launch.timeout {
                self.find("\(launch.app) had not all its time, and is said to be silent")
            }
            let failures = self.failures(of: name, at: flight.begun) + 1
            let pause = min(
                Launches.longestBackOff.microseconds, Launches.firstBackOff.microseconds << Int64(min(failures - 1, 6)))
            self.rests[name] = Rest(failures: failures, notBefore: now + TimeSpan(microseconds: pause))
        }
    }

    /// A launch is not tried again. Another of that name may be under way all the same.
    mutating func gaveUp(_ wish: LaunchRequest, besides current: UInt64?) {
        if wish.reason == .push { self.answer(self.pushes.gaveUp(wish, besides: current)) }
    }

    /// How often it had failed in a row. Older failures may be forgotten when it has been left alone for so long.
    private func failures(of name: Name, at begun: Timestamp) -> Int {
        guard let rest = self.rests[name], begun < rest.notBefore + Launches.longestBackOff else { return 0 }
        return rest.failures
    }

    /// Time passed, and the broker has had its turn.
    mutating func check(_ launches: Launches, at now: Timestamp) {
        for flight in self.flights.values where flight.begun + flight.launch.timeout < now {
            self.find("launch \(flight.launch.number) of \(flight.launch.app) has had its time, and is not over")
        }
        for (call, wish) in self.pushed where wish.ends <= now {
            let isUnderWay = self.flights.values.contains {
                $0.launch.app == wish.app && $0.launch.user == wish.user && $0.launch.reason == .push
            }
            // Who came later may have wished for the same, which is of use for longer.
            if !isUnderWay, !launches.isWaiting(wish.app, of: wish.user, for: .push) {
                self.find("push \(call) of \(wish.app) was of use until \(wish.ends), and is not answered")
            }
        }
    }

    /// What was decided: however one looks at a stretch of time, no more wakes were spent than the quota gives.
    mutating func take(_ steps: [ArbiterStep]) {
        for step in steps {
            // A push may have taken one, for a moment that no event tells: a new stretch begins.
            if case .launch(let request) = step.input, request.app == Setup.apps[7] { self.woken = [] }
            for decision in step.decisions {
                guard case .deliver(let delivery) = decision, delivery.id == Setup.apps[7] else { continue }
                let time = max(delivery.hit.time, self.newest ?? delivery.hit.time)
                self.newest = time
                if delivery.route == .wake { self.spend(time) }
            }
        }
    }

    private mutating func spend(_ time: Timestamp) {
        let quota = Setup.wakeQuota
        self.woken.append(time)
        for (index, first) in self.woken.enumerated() {
            let surplus = Int64(self.woken.count - index - quota.burst)
            guard surplus > 0 else { break }
            if surplus * quota.period.microseconds > Int64(quota.count) * (time - first).microseconds {
                self.find("\(self.woken.count - index) launches from \(first) to \(time) are beyond the quota")
            }
        }
        if self.woken.count > 64 { self.woken.removeFirst() }
    }

    // MARK: In the end

    /// Nobody waits for anything any more.
    mutating func end(_ launches: Launches) {
        if let flight = self.flights.values.first {
            self.find("launch \(flight.launch.number) of \(flight.launch.app) never ended")
        }
        if let call = self.pushed.keys.min() { self.find("push \(call) is never answered") }
        if launches.inFlight > 0 || launches.waiting > 0 {
            self.find("nothing is due, and \(launches.inFlight) launches are under way, \(launches.waiting) wait")
        }
    }
}
