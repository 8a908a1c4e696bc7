import Arbitration
import BrokerCore
import Detection
import Glibc
import Journal
import Loop
import Motion

/// Notes in the journal what is the case around the apps: what the device does, what each app is at and asks of sensors, and how
/// these run.
///
/// Only what changed is noted, and nothing of it on the way of an event.
final class HistoryLink {
    private unowned let service: BrokerService
    /// `nil` when nothing is kept on the disk.
    private let store: Store?
    private let user = getuid()
    /// What was noted before there was an app: of a broker that nobody uses nothing is written. `nil`: there was one.
    private var held: [(change: JournalChange, wall: Int64)]? = []
    /// What was noted last of the device.
    private var device: [JournalChange.Kind: String] = [:]
    private var states: [AppHandle: String] = [:]
    private var asks: [AppHandle: [String: Need]] = [:]
    private var sensors: [String: SensorNotes] = [:]
    /// The system sleeps, and whatever sensors are to do, none runs.
    private var isAsleep = false
    /// Since when sensors may run otherwise than was noted, which is looked at soon.
    private var sensorsSince: Int64?
    /// Before that time they are not looked at again, in µs of `Clock.monotonic`.
    private var sensorsRest: Int64 = .min
    /// Apps that have other detectors since they were looked at, and the first of these times.
    private var changed: (apps: Set<AppHandle>, since: Int64)?

    /// What an app's detectors need of a sensor.
    private struct Need: Equatable {
        var rate = 0.0
        /// How often they look in a second, all together.
        var looks = 0.0
    }

    /// What was noted of a sensor.
    private struct SensorNotes {
        var rate = 0.0
        var lost: UInt64 = 0
        var gaps: UInt64 = 0
    }

    /// Whoever adds detectors one by one is looked at once, in µs.
    private static let lookAfter: Int64 = 500_000

    init(_ service: BrokerService, _ store: Store?) {
        self.service = service
        self.store = store
    }

    private func note(_ change: JournalChange, at time: Int64? = nil) {
        guard let store else { return }
        let wall = time ?? Clock.wallClock()
        guard let held else { return store.note(change, at: wall) }
        self.held?.append((change, wall))
        guard Self.isOfApps(change.kind) || held.count == Self.mostHeld else { return }
        for one in held { store.note(one.change, at: one.wall) }
        store.note(change, at: wall)
        self.held = nil
    }

    private static let mostHeld = 16

    private static func isOfApps(_ kind: JournalChange.Kind) -> Bool {
        switch kind {
        case .state, .asks, .sensor, .launch, .lost, .gaps: true
        case .lock, .foreground, .power, .sleep, .motion, .end: false
        }
    }

    // MARK: The device

    /// How the device is before anybody says something of it.
    func begin() {
        self.note(.lock, Self.word(isLocked: self.service.core.arbiter.device.isLocked))
        self.note(.foreground, "")
        self.note(.sleep, "awake")
        self.note(.motion, "on")
    }

    /// The broker ends: what was the case is not any more.
    func end() {
        if self.sensorsSince == nil { self.noteLosses() } else { self.noteSensors() }
        if self.held == nil { self.note(JournalChange(.end, user: self.user)) }
    }

    static func word(isLocked: Bool) -> String { isLocked ? "locked" : "unlocked" }

    /// Notes something of the device, if it is news.
    func note(_ kind: JournalChange.Kind, _ value: String, at wall: Int64? = nil) {
        guard self.store != nil, self.device[kind] != value else { return }
        self.device[kind] = value
        self.note(JournalChange(kind, user: self.user, value), at: wall)
    }

    /// The system goes to sleep, or is back.
    func sleep(_ begins: Bool, at time: Int64? = nil) {
        let wall = time ?? Clock.wallClock()
        self.note(.sleep, begins ? "asleep" : "awake", at: wall)
        guard self.isAsleep != begins else { return }
        self.isAsleep = begins
        self.noteSensors(at: wall)
    }

    // MARK: Apps

    /// Notes what an app is at, if it is news.
    func note(_ client: Client, isGone: Bool = false) {
        guard self.store != nil, client.object != nil else { return }
        let state = isGone ? Self.gone : client.stateName
        guard self.states[client.id] != state else { return }
        self.states[client.id] = isGone ? nil : state
        self.note(JournalChange(.state, app: client.app.description, user: client.uid ?? self.user, state))
        if isGone { self.forgetNeeds(of: client) }
    }

    /// An app is shown anew: it has come, or goes on without its connection. Its detectors may be others, or none.
    func shown(_ client: Client) {
        self.note(client)
        if client.appState?.detectors.isEmpty == false || self.asks[client.id] != nil {
            self.detectorsChanged(of: client)
        }
    }

    private static let gone = "gone"

    private func forgetNeeds(of client: Client) {
        self.changed?.apps.remove(client.id)
        for sensor in (self.asks.removeValue(forKey: client.id) ?? [:]).keys.sorted() {
            self.note(
                JournalChange(
                    .asks, app: client.app.description, user: client.uid ?? self.user, sensor, rate: 0, count: 0))
        }
    }

    /// An app has other detectors. What they need is looked at when there are no more for a while.
    func detectorsChanged(of client: Client) {
        guard self.store != nil, client.object != nil else { return }
        if self.changed == nil {
            self.changed = ([], Clock.wallClock())
            self.service.loop.once(after: Self.lookAfter) { [weak self] in self?.noteNeeds() }
        }
        self.changed?.apps.insert(client.id)
    }

    private func noteNeeds() {
        guard let (apps, since) = self.changed else { return }
        self.changed = nil
        for app in apps {
            guard let client = self.service.links.clients[app] else { continue }
            self.noteNeeds(of: client, since: since)
        }
    }

    private func noteNeeds(of client: Client, since: Int64) {
        var needs: [String: Need] = [:]
        for detector in (client.appState?.detectors ?? [:]).values {
            let looks = detector.effective.every.map { 1 / max($0.seconds, 1e-6) } ?? detector.effective.neededRate
            var need = needs[detector.sensor] ?? Need()
            need.looks += looks
            need.rate = max(need.rate, detector.effective.neededRate)
            needs[detector.sensor] = need
        }
        let known = self.asks[client.id] ?? [:]
        for sensor in Set(needs.keys).union(known.keys).sorted() where needs[sensor] != known[sensor] {
            let need = needs[sensor] ?? Need()
            self.note(
                JournalChange(
                    .asks, app: client.app.description, user: client.uid ?? self.user, sensor, rate: need.rate,
                    count: need.looks), at: since)
        }
        self.asks[client.id] = needs.isEmpty ? nil : needs
    }

    /// A launch is over.
    func launched(_ app: AppID, _ user: UInt32?, _ result: String) {
        self.note(JournalChange(.launch, app: app.description, user: user ?? self.user, result))
    }

    // MARK: Sensors

    /// Notes at which rates sensors run for us, if that is news: at once, but no more often than twice a second.
    ///
    /// Any app may have a sensor run otherwise all the time, and is not to push out what else is noted of the device.
    func sensorsChanged() {
        guard self.store != nil, self.sensorsSince == nil else { return }
        guard Clock.monotonic.now() < self.sensorsRest else { return self.noteSensors() }
        self.sensorsSince = Clock.wallClock()
        self.service.loop.once(at: self.sensorsRest) { [weak self] in
            if self?.sensorsSince != nil { self?.noteSensors() }
        }
    }

    private func noteSensors(at time: Int64? = nil) {
        let (since, streams) = (time ?? self.sensorsSince, self.service.core.sensing.sensors)
        self.sensorsSince = nil
        var rates: [(name: String, rate: Double)] = []
        for stream in streams {
            let rate = stream.isAvailable && !self.isAsleep ? stream.inForce?.rate ?? 0 : 0
            guard self.sensors[stream.name, default: SensorNotes()].rate != rate else { continue }
            self.sensors[stream.name, default: SensorNotes()].rate = rate
            rates.append((name: stream.name, rate: rate))
        }
        // One that is forgotten by now runs no more.
        let there = Set(streams.map(\.name))
        let gone = self.sensors.filter { $0.value.rate != 0 && !there.contains($0.key) }
        rates += gone.keys.sorted().map { (name: $0, rate: 0.0) }
        for (name, rate) in rates {
            self.note(JournalChange(.sensor, user: self.user, name, rate: rate), at: since)
        }
        let hasLost = self.noteLosses()
        if hasLost || !rates.isEmpty { self.sensorsRest = Clock.monotonic.now() + Self.lookAfter }
    }

    /// Notes what did not come of sensors since it was noted last. False: nothing.
    @discardableResult
    private func noteLosses() -> Bool {
        guard self.store != nil else { return false }
        var isNews = false
        // Of sensors that are forgotten, nothing is kept: their names may be anything.
        var sensors: [String: SensorNotes] = [:]
        defer { self.sensors = sensors }
        for stream in self.service.core.sensing.sensors {
            var notes = self.sensors[stream.name] ?? SensorNotes()
            func note(_ kind: JournalChange.Kind, _ count: UInt64, _ known: inout UInt64) {
                // A sensor that was forgotten and came again counts anew.
                let more = count >= known ? count - known : count
                known = count
                guard more > 0 else { return }
                self.note(JournalChange(kind, user: self.user, stream.name, count: Double(more)))
                isNews = true
            }
            note(.lost, stream.lost, &notes.lost)
            note(.gaps, stream.gaps, &notes.gaps)
            sensors[stream.name] = notes
        }
        return isNews
    }

    // MARK: Memory

    /// Gives back memory that was needed for apps that are gone.
    func shrink() {
        self.states.shrink()
        self.asks.shrink()
    }
}
