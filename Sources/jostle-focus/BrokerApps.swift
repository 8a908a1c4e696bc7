import Arbitration
import DBus
import DaemonSupport
import FocusCore
import Loop
import Motion
import Protocol

/// The apps that the broker knows, and which windows their app files say are theirs.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class BrokerApps {
    private let bus: Connection
    private let log: Log
    /// The broker's connection.
    private var owner: String?
    private var apps: [ObjectPath: AppNamer.KnownApp] = [:]
    /// What was asked anew: answers to what was asked before it do not count.
    private var round: UInt64 = 0
    private var retry: EventLoop.TimerID?
    /// All that are there have been told by this broker.
    private var isComplete = false
    /// What was told last, and when.
    private var told: [AppNamer.KnownApp] = []
    private var toldAt = Int64.min / 2
    private var isDue = false
    /// Runs when there are other apps than before, or they have other windows or processes.
    var onChange: ([AppNamer.KnownApp]) -> Void = { _ in }
    /// Runs when the broker said something of apps, also what does not change which there are.
    var onNews: ([AppNamer.KnownApp]) -> Void = { _ in }

    /// After how long a broker is asked again that did not answer, in µs.
    private static let pause: Int64 = 2_000_000
    /// Shortest time between two times at which there are others, in µs: all windows are named anew then.
    private static let pace: Int64 = 100_000
    private static let broker = CallTarget(BusName.broker, Path.broker, InterfaceName.broker.description)

    init(on bus: Connection, _ names: NameWatch, log: Log) {
        self.bus = bus
        self.log = log
        bus.onSignal(InterfaceName.broker, "AppsChanged") { [weak self] message in self?.hear(message) }
        bus.whenInDoubt { [weak self] _ in self?.ask() }
        _ = names.follow(BusName.broker, ownRule: true) { [weak self] owner in
            self?.owner = owner
            self?.ask()
        }
    }

    /// Asks the broker, if there is one, to tell, and what there is.
    private func ask() {
        let round = self.begin()
        guard self.owner != nil else { return }
        let options: [String: Value] = [:]
        self.bus.call(Self.broker, "Watch", options, autoStart: false) { [weak self] result in
            self?.answered(result, in: round) { (_: borrowing Message) throws(BusError) in
                self?.list(in: round)
            }
        }
    }

    /// Forgets which apps there are. Until all have been told again, what was said of them last counts.
    private func begin() -> UInt64 {
        self.bus.loop.cancel(&self.retry)
        self.round &+= 1
        self.isComplete = false
        self.apps = [:]
        return self.round
    }

    private func list(after known: ObjectPath? = nil, in round: UInt64) {
        let options: [String: Value] = known.map { [ListOptions.after: .objectPath($0)] } ?? [:]
        self.bus.call(Self.broker, "ListApps", options, autoStart: false) { [weak self] result in
            self?.answered(result, in: round) { (answer: borrowing Message) throws(BusError) in
                guard let self else { return }
                let rows = try answer.read(reply: [ListedApp.Wire].self).map { ListedApp($0) }
                self.take(rows)
                // Each page is behind the one before; a broker that sends others would keep us for ever.
                guard let last = rows.last?.object, known.map({ $0 < last }) ?? true, self.apps.count < Self.most else {
                    self.isComplete = true
                    return self.tellSoon()
                }
                self.list(after: last, in: round)
            }
        }
    }

    /// More apps than any broker has.
    private static let most = 65_536

    private func answered(
        _ result: consuming CallResult, in round: UInt64, _ body: (borrowing Message) throws(BusError) -> Void
    ) {
        guard round == self.round else { return }
        do throws(BusError) {
            try body(try result.take())
        } catch {
            let what = "the broker does not say which apps there are: \(error)"
            // It hung, or we did. What it refuses it will refuse again.
            guard error.isForTheMoment else { return self.log.warning(what) }
            self.log.warning("\(what); it is asked again")
            self.bus.loop.set(&self.retry, after: Self.pause) { [weak self] in self?.ask() }
        }
    }

    /// Anybody can send such a signal.
    private func hear(_ message: borrowing Message) {
        guard let owner, message.isFrom(owner),
            let (rows, gone, details) = try? message.read(
                [ListedApp.Wire].self, [ObjectPath].self, [String: Value].self)
        else { return }
        if details["missed"] == .boolean(true) { self.list(in: self.begin()) }
        for object in gone { self.apps[object] = nil }
        self.take(rows.map { ListedApp($0) })
        self.tellSoon()
    }

    private func take(_ rows: [ListedApp]) {
        for row in rows where AppID.isValid(row.app) {
            self.apps[row.object] = AppNamer.KnownApp(
                id: AppID(row.app), windows: row.windows.map { NamePattern($0) }, isOfFlatpak: row.isOfFlatpak,
                process: row.process)
        }
    }

    /// States change much more often than windows do, and whoever likes comes and goes all the time.
    private func tellSoon() {
        guard self.isComplete, !self.isDue else { return }
        self.isDue = true
        let wait = self.toldAt + Self.pace - Clock.monotonic.now()
        if wait > 0 {
            self.bus.loop.once(after: wait) { [weak self] in self?.tell() }
        } else {
            self.bus.afterRound { [weak self] in self?.tell() }
        }
    }

    private func tell() {
        self.isDue = false
        guard self.isComplete else { return }
        self.toldAt = Clock.monotonic.now()
        let apps = self.apps.values.sorted { ($0.id, $0.process ?? 0) < ($1.id, $1.process ?? 0) }
        self.onNews(apps)
        guard apps != self.told else { return }
        self.told = apps
        self.onChange(apps)
    }
}
