package import Motion

/// Which apps are started or resumed, and when, whatever for: one launch at a time for each app, few cold starts at once, the
/// strongest first, and the longer between two tries the more of them failed. Who has an app of the same name waits for nobody
/// else's failures.
///
/// A value without a clock: each input comes with its arrival time, and `run`, which follows every one after which something is
/// due, says what is to be done. Each wish that is let in comes to exactly one end: its launch is done or needless, it is
/// given up, or it is withdrawn.
package struct Launches: Sendable {
    /// Apps that are being started at any time, for one user alone and for all. Whoever has none has a place beyond the first
    /// ones, so that nobody waits for apps of others that are silent.
    package static let (mostOfUser, mostColdStarts) = (2, 4)
    /// The time after the first of several failures, before which there is no further try. It doubles with each.
    package static let firstBackOff = TimeSpan.seconds(1)
    package static let longestBackOff = TimeSpan.seconds(60)

    private struct Wish: Comparable, Sendable {
        var request: LaunchRequest
        /// Rises with each wish: among equals, who came first goes first.
        var order: UInt64
        /// What its last try failed of.
        var failure: LaunchFailure?

        static func == (a: Wish, b: Wish) -> Bool { a.order == b.order }

        /// Whether it goes first.
        static func < (a: Wish, b: Wish) -> Bool {
            if a.request.reason.isPatient != b.request.reason.isPatient { return b.request.reason.isPatient }
            return a.request.strength == b.request.strength
                ? a.order < b.order : a.request.strength > b.request.strength
        }
    }

    /// Whose wishes stand in one line: what one user's apps are to be started for, or resumed.
    private struct Queue: Hashable, Sendable {
        let payer: UInt32
        let isCold: Bool
    }

    /// A wish, as it stands in its line.
    private struct Place: Sendable {
        let queue: Queue
        let wish: Wish
    }

    /// When an app is to be looked at.
    private struct Moment: Comparable, Sendable {
        let time: Timestamp
        let app: AppID

        static func < (a: Moment, b: Moment) -> Bool { (a.time, a.app) < (b.time, b.app) }
    }

    private struct Flight: Sendable {
        var launch: Launch
        var wish: Wish
        var answerBy: Timestamp
        /// It counts among the cold starts until the app is up.
        var isStarting: Bool
    }

    /// How long it is before there is a further try.
    private struct Rest: Sendable {
        /// Failures in a row.
        let failures: Int
        let notBefore: Timestamp
    }

    private struct Entry: Sendable {
        var wishes: [Wish] = []
        var flight: Flight?
        /// Of each user whose app of this name could not be launched lately.
        var rests: [UInt32?: Rest] = [:]
        /// Where it stands in the lines: what of it may be launched.
        var places: [Place] = []
        var deadline: Moment?
        var forgetting: Moment?
        /// It stands among those that have changed.
        var isChanged = false

        func isResting(_ user: UInt32?, at time: Timestamp) -> Bool {
            self.rests[user].map { $0.notBefore > time } ?? false
        }

        /// The launch that is under way, if it is that of a user's app of this name.
        func flight(of user: UInt32?) -> Flight? {
            self.flight.flatMap { isMeant(appOf: user, by: $0.launch.user) ? $0 : nil }
        }

        /// When something happens to it without an input.
        func nextDeadline(after now: Timestamp) -> Timestamp? {
            var times = self.wishes.map { $0.request.ends }
            if let flight = self.flight {
                times.append(flight.answerBy)
            } else {
                times += self.wishes.compactMap { self.rests[$0.request.user]?.notBefore }.filter { $0 > now }
            }
            return times.min()
        }

        /// When a failure of it is long enough ago to be forgotten.
        func nextForgetting(after now: Timestamp) -> Timestamp? {
            self.rests.values.map { $0.notBefore + Launches.longestBackOff }.filter { $0 > now }.min()
        }
    }

    private var entries: [AppID: Entry] = [:]
    /// Apps that are on the bus, and whose they are.
    private var running: [AppID: Set<UInt32?>] = [:]
    /// How many apps of each user are being started.
    private var starting: [UInt32: Int] = [:]
    // Of thousands that wait, only those are looked at of which something has changed or come.
    private var lines: [Queue: OrderedLine<Wish>] = [:]
    private var deadlines = OrderedLine<Moment>()
    private var forgettings = OrderedLine<Moment>()
    /// Apps of which something is otherwise than when they were last looked at.
    private var changed: [AppID] = []
    private var lastNumber: UInt64 = 0
    private var lastOrder: UInt64 = 0
    /// Something may have to be done whatever the time is.
    private var isUnsettled = false
    /// The next arrival time at which something happens without an input.
    package var nextDeadline: Timestamp? { self.deadlines.first?.time }

    package init() {}

    // MARK: What there is to see

    // An app is one of a name and a user. Of a name one launch at a time is under way, whoever's app it is for.

    /// The launch that is under way of any app of a name.
    package func launch(of app: AppID) -> Launch? { self.entries[app]?.flight?.launch }
    /// The launch of a user's app that is under way.
    package func launch(of app: AppID, for user: UInt32?) -> Launch? { self.entries[app]?.flight(of: user)?.launch }
    /// Until when the app that is being launched has to answer.
    func answerBy(_ app: AppID, of user: UInt32?) -> Timestamp? { self.entries[app]?.flight(of: user)?.answerBy }
    /// Whether somebody wishes that an app be launched that is not yet.
    package func isWaiting(_ app: AppID, of user: UInt32?) -> Bool {
        self.entries[app]?.wishes.contains { isMeant(appOf: user, by: $0.request.user) } == true
    }
    package func isWaiting(_ app: AppID, of user: UInt32?, for reason: LaunchReason) -> Bool {
        self.entries[app]?.wishes.contains {
            isMeant(appOf: user, by: $0.request.user) && $0.request.reason.isServed(with: reason)
        }
            == true
    }
    /// Whether an app can be launched for something that is of use until then, as far as is known: not while it rests after
    /// a failure.
    func canLaunch(_ app: AppID, of user: UInt32?, before ends: Timestamp) -> Bool {
        guard let entry = self.entries[app], entry.flight(of: user) == nil else { return true }
        return entry.rests[user].map { $0.notBefore < ends } ?? true
    }
    /// Before when an app is not launched again because that failed; `nil`: it may be at any time.
    package func restsUntil(_ app: AppID, of user: UInt32?) -> Timestamp? {
        guard let entry = self.entries[app], entry.flight(of: user) == nil else { return nil }
        return entry.rests[user]?.notBefore
    }
    /// Whether an app that is being launched has not answered, and its time is up by then.
    func isReplyDue(by time: Timestamp) -> Bool {
        self.isDue(by: time) && self.entries.values.contains { $0.flight.map { $0.answerBy <= time } ?? false }
    }
    package var inFlight: Int { self.entries.values.count { $0.flight != nil } }
    package var coldStarts: Int { self.starting.values.reduce(0, +) }
    /// Whose apps are being started.
    package var usage: LimitUsage { LimitUsage("cold-starts", Self.mostColdStarts, heldBy: self.starting) }
    /// What is nobody's comes from what is installed, and counts as root's.
    private static func payer(_ user: UInt32?) -> UInt32 { user ?? UserShares.root }
    /// Apps for which a launch waits.
    package var waiting: Int { self.entries.values.count { !$0.wishes.isEmpty } }

    mutating func shrink() {
        self.running.shrink()
        self.entries.shrink()
        for queue in self.lines.keys { self.lines[queue]?.shrink() }
        self.deadlines.shrink()
        self.forgettings.shrink()
    }

    // MARK: Inputs

    /// Somebody wishes that an app be launched. Wishes that one launch serves become one: as strong as the strongest, and of
    /// use as long as the longest.
    package mutating func add(_ request: LaunchRequest) {
        self.lastOrder &+= 1
        self.add(Wish(request: request, order: self.lastOrder))
    }

    private mutating func add(_ wish: Wish) {
        let app = wish.request.app
        var entry = self.entries[app] ?? Entry()
        if let index = entry.wishes.firstIndex(where: {
            $0.request.user == wish.request.user && $0.request.reason.isServed(with: wish.request.reason)
        }) {
            let old = entry.wishes[index]
            var joined = old.order < wish.order ? old : wish
            joined.request.strength = max(old.request.strength, wish.request.strength)
            joined.request.ends = max(old.request.ends, wish.request.ends)
            joined.failure = old.failure ?? wish.failure
            entry.wishes[index] = joined
        } else {
            entry.wishes.append(wish)
        }
        self.entries[app] = entry
        self.change(app)
    }

    /// An app need not be launched for this any more. A launch that is under way goes on.
    package mutating func withdraw(_ app: AppID, of user: UInt32?, where isOver: (LaunchReason) -> Bool) {
        guard self.entries[app] != nil else { return }
        self.entries[app]?.wishes.removeAll { isMeant(appOf: user, by: $0.request.user) && isOver($0.request.reason) }
        self.change(app)
    }

    /// An app is on the bus from now on, or not any more. Who comes up while it is launched makes place for the next start.
    package mutating func setRunning(_ app: AppID, of user: UInt32?, _ isRunning: Bool) {
        var users = self.running[app] ?? []
        guard isRunning != users.contains(user) else { return }
        if isRunning { users.insert(user) } else { users.remove(user) }
        self.running[app] = users.isEmpty ? nil : users
        // Whoever is here is resumed and not started, whenever that is.
        self.note(app)
        guard isRunning, let flight = self.entries[app]?.flight(of: user) else { return }
        self.entries[app]?.flight?.isStarting = false
        self.makePlace(after: flight)
        self.isUnsettled = true
    }

    /// Whether an app that is to be launched is on the bus.
    private func isRunning(_ request: LaunchRequest) -> Bool {
        self.running[request.app]?.contains { isMeant(appOf: $0, by: request.user) } ?? false
    }

    /// There is word on a launch. On one that is over already it changes nothing.
    package mutating func finish(
        _ app: AppID, _ number: UInt64, _ result: LaunchResult, at now: Timestamp, _ effects: inout [LaunchEffect]
    ) {
        guard let flight = self.entries[app]?.flight, flight.launch.number == number else { return }
        self.entries[app]?.flight = nil
        self.makePlace(after: flight)
        self.change(app)
        switch result {
        case .needless: effects.append(.ended(flight.launch, result, again: nil))
        case .postponed: self.postpone(flight, at: now, &effects)
        case .done:
            self.entries[app]?.rests[flight.launch.user] = nil
            effects.append(.ended(flight.launch, result, again: nil))
        case .failed(let failure):
            let failures = (self.entries[app]?.rests[flight.launch.user]?.failures ?? 0) + 1
            let again = now + Self.backOff(after: failures)
            self.entries[app]?.rests[flight.launch.user] = Rest(failures: failures, notBefore: again)
            effects.append(.ended(flight.launch, result, again: again))
            self.retry(flight.wish, after: failure, at: now, &effects)
        }
    }

    /// Lets a wish wait for which nobody could be asked. Its app has failed no more often than before.
    private mutating func postpone(_ flight: Flight, at now: Timestamp, _ effects: inout [LaunchEffect]) {
        let (launch, again) = (flight.launch, now + Self.firstBackOff)
        let failures = self.entries[launch.app]?.rests[launch.user]?.failures ?? 0
        self.entries[launch.app]?.rests[launch.user] = Rest(failures: failures, notBefore: again)
        effects.append(.ended(launch, .postponed, again: again))
        var wish = flight.wish
        switch wish.request.reason {
        // That is as old as what has happened.
        case .motion, .push: break
        // That is how long it waits for others, and it has waited for none.
        case .task: wish.request.ends = wish.request.ends + (again - (flight.answerBy - launch.timeout))
        }
        self.add(wish)
    }

    /// Lets a wish whose launch failed wait for the next, if there may be one that is of use.
    private mutating func retry(
        _ wish: Wish, after failure: LaunchFailure, at now: Timestamp, _ effects: inout [LaunchEffect]
    ) {
        switch wish.request.reason {
        // Who cannot be started now cannot be in a second.
        case .motion, .push:
            guard failure != .unknown, now < wish.request.ends else {
                return effects.append(.gaveUp(wish.request, failure))
            }
        // A task says itself when it is tried again, and that it was tried before.
        case .task: return effects.append(.gaveUp(wish.request, failure))
        }
        var again = wish
        again.failure = failure
        self.add(again)
    }

    private static func backOff(after failures: Int) -> TimeSpan {
        let doubled = Self.firstBackOff.microseconds << Int64(min(failures - 1, 6))
        return min(Self.longestBackOff, TimeSpan(microseconds: doubled))
    }

    // MARK: Time

    /// Whether there is anything to be done now.
    ///
    /// - Parameter isPatient: Whoever has not answered in time is waited for, and all that goes by time alone with it.
    func isDue(by now: Timestamp, isPatient: Bool = false) -> Bool {
        self.isUnsettled || !isPatient && self.nextDeadline.map { $0 <= now } ?? false
    }

    /// Does what is due now: ends what did not come in time, gives up what is too old, and launches whoever may be.
    ///
    /// - Parameters:
    ///   - timeout: How long an app may take.
    ///   - isPatient: Whoever has not answered in time is waited for.
    package mutating func run(
        to now: Timestamp, timeout: (AppID) -> TimeSpan, isPatient: Bool = false, _ effects: inout [LaunchEffect]
    ) {
        guard self.isDue(by: now, isPatient: isPatient) else { return }
        self.gatherDue(by: now)
        let flights = isPatient ? [] : self.changed.compactMap { self.entries[$0]?.flight }
        let late = flights.filter { $0.answerBy <= now }
        for flight in late.sorted(by: { ($0.answerBy, $0.launch.number) < ($1.answerBy, $1.launch.number) }) {
            self.finish(flight.launch.app, flight.launch.number, .failed(.silent), at: now, &effects)
        }
        self.giveUp(at: now, &effects)
        for app in self.changed { self.settle(app, at: now) }
        self.changed = []
        self.begin(at: now, timeout, &effects)
        self.isUnsettled = false
    }

    /// Those of whom something has come are looked at as well.
    private mutating func gatherDue(by now: Timestamp) {
        while let due = self.deadlines.first, due.time <= now {
            self.deadlines.remove(due)
            self.note(due.app)
        }
        while let due = self.forgettings.first, due.time <= now {
            self.forgettings.remove(due)
            self.note(due.app)
        }
    }

    private mutating func giveUp(at now: Timestamp, _ effects: inout [LaunchEffect]) {
        var old: [Wish] = []
        for app in self.changed {
            old += self.entries[app]?.wishes.filter { $0.request.ends <= now } ?? []
            self.entries[app]?.wishes.removeAll { $0.request.ends <= now }
        }
        for wish in old.sorted(by: { $0.order < $1.order }) { effects.append(.gaveUp(wish.request, wish.failure)) }
    }

    private mutating func begin(
        at now: Timestamp, _ timeout: (AppID) -> TimeSpan, _ effects: inout [LaunchEffect]
    ) {
        while let next = self.nextPlace() {
            let (app, wish, isCold) = (next.wish.request.app, next.wish, next.queue.isCold)
            if isCold { self.starting[next.queue.payer, default: 0] += 1 }
            self.lastNumber &+= 1
            let launch = Launch(
                number: self.lastNumber, app: app, reason: wish.request.reason, isCold: isCold, timeout: timeout(app),
                user: wish.request.user)
            self.entries[app]?.wishes.removeAll { $0.order == wish.order }
            self.entries[app]?.flight = Flight(
                launch: launch, wish: wish, answerBy: now + launch.timeout, isStarting: isCold)
            self.settle(app, at: now)
            effects.append(.begin(launch))
        }
    }

    /// Who is launched next, of the first of each line that may go on.
    private func nextPlace() -> Place? {
        var next: Place?
        for (queue, line) in self.lines where !queue.isCold || self.hasPlace(for: queue.payer) {
            guard let wish = line.first, next.map({ wish < $0.wish }) ?? true else { continue }
            next = Place(queue: queue, wish: wish)
        }
        return next
    }

    /// Whether one more app of a user may be started.
    private func hasPlace(for user: UInt32) -> Bool {
        self.coldStarts < (self.starting[user] == nil ? Self.mostColdStarts : Self.mostOfUser)
    }

    /// An app that was being started is so no more.
    private mutating func makePlace(after flight: Flight) {
        guard flight.isStarting else { return }
        let payer = Self.payer(flight.launch.user)
        let others = (self.starting[payer] ?? 0) - 1
        self.starting[payer] = others > 0 ? others : nil
    }

    private mutating func change(_ app: AppID) {
        self.note(app)
        self.isUnsettled = true
    }

    /// Has an app looked at when that is done next.
    private mutating func note(_ app: AppID) {
        guard self.entries[app]?.isChanged == false else { return }
        self.entries[app]?.isChanged = true
        self.changed.append(app)
    }

    /// Has an app stand in the lines as it is by now, or forgets it if there is nothing more to know of it.
    private mutating func settle(_ app: AppID, at now: Timestamp) {
        guard var entry = self.entries[app] else { return }
        for place in entry.places { self.leave(place) }
        if let deadline = entry.deadline { self.deadlines.remove(deadline) }
        if let forgetting = entry.forgetting { self.forgettings.remove(forgetting) }
        entry.places = []
        entry.isChanged = false
        entry.rests = entry.rests.filter { user, rest in
            now < rest.notBefore + Self.longestBackOff || entry.flight.map { $0.launch.user == user } ?? false
                || entry.wishes.contains { $0.request.user == user }
        }
        if entry.flight == nil {
            for wish in entry.wishes where !entry.isResting(wish.request.user, at: now) {
                let queue = Queue(payer: Self.payer(wish.request.user), isCold: !self.isRunning(wish.request))
                self.lines[queue, default: OrderedLine()].insert(wish)
                entry.places.append(Place(queue: queue, wish: wish))
            }
        }
        entry.deadline = entry.nextDeadline(after: now).map { Moment(time: $0, app: app) }
        entry.forgetting = entry.nextForgetting(after: now).map { Moment(time: $0, app: app) }
        if let deadline = entry.deadline { self.deadlines.insert(deadline) }
        if let forgetting = entry.forgetting { self.forgettings.insert(forgetting) }
        let isOver = entry.flight == nil && entry.wishes.isEmpty && entry.rests.isEmpty
        self.entries[app] = isOver ? nil : entry
    }

    private mutating func leave(_ place: Place) {
        self.lines[place.queue]?.remove(place.wish)
        if self.lines[place.queue]?.first == nil { self.lines[place.queue] = nil }
    }
}
