import DBus
import DaemonSupport
import FleetCore
import Loop
import Protocol

/// Follows which sensors there are, and whether they work: on the bus that the reader is on.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class SensorWatch {
    /// The message of a sensor's state.
    var onMessage: (Outgoing) -> Void = { _ in }
    /// There are others than before.
    var onNames: ([String]) -> Void = { _ in }

    private let topics: FleetTopics
    private let bus: Connection
    private let owners: NameWatch
    private var reader: String?
    private let loop: EventLoop
    private var retry: EventLoop.TimerID?
    private var sensors: [String: DataValue] = [:]
    /// There is a reader that has neither told which sensors it has nor refused to.
    private(set) var isAsked = false

    /// After how long a reader is asked again that did not answer, in µs.
    private static let pause: Int64 = 2_000_000
    private static let rule = "type='signal',interface='\(InterfaceName.sensors)',member='SensorChanged'"

    init(_ topics: FleetTopics, on address: BusAddress, _ loop: EventLoop) {
        self.topics = topics
        self.loop = loop
        self.bus = Connection(to: address, on: loop, retry: .upTo(microseconds: Daemon.longestRetry))
        self.owners = NameWatch(on: self.bus)
        self.bus.onReady = { [unowned self] in self.owners.refresh() }
        self.bus.onLost = { [unowned self] in self.owners.forgetAll() }
        self.bus.onSignal(InterfaceName.sensors, "SensorChanged") { [unowned self] message in
            guard let reader, message.isFrom(reader),
                let row = try? message.read(ObjectPath.self, [String: Value].self)
            else { return }
            self.take(row.1)
        }
        self.bus.whenInDoubt { [unowned self] _ in self.ask() }
        self.bus.addMatch(Self.rule)
        _ = self.owners.follow(BusName.sensors, ownRule: true) { [unowned self] in self.readerChanged($0) }
        _ = self.bus.openOrRetry()
    }

    /// All that is known, for a server that has just taken us.
    func tellAll() { for (name, value) in self.sensors { self.tell(name, value) } }

    private func readerChanged(_ owner: String?) {
        guard owner != self.reader else { return }
        self.reader = owner
        for name in self.sensors.keys { self.tell(name, nil) }
        self.sensors = [:]
        self.loop.cancel(&self.retry)
        self.isAsked = owner != nil
        self.ask()
    }

    /// Asks the reader, if there is one, which sensors it has.
    private func ask() {
        guard let owner = self.reader else { return }
        let root = CallTarget(owner, Path.sensors, InterfaceName.sensors.description)
        self.bus.call(root, "ListSensors", noOptions, autoStart: false) { [weak self] result in
            guard let self, self.reader == owner else { return }
            do throws(BusError) {
                let rows = try result.take().read(reply: [Structure<ObjectPath, [String: Value]>].self)
                for row in rows { self.take(row.fields.1) }
                self.isAsked = false
            } catch {
                // What did not answer did not refuse.
                self.isAsked = error.isForTheMoment
                guard self.isAsked else { return }
                self.loop.set(&self.retry, after: Self.pause) { [unowned self] in self.ask() }
            }
        }
    }

    private func take(_ description: [String: Value]) {
        func text(_ key: String) -> DataValue? {
            if case .string(let text) = description[key] { .text(text) } else { nil }
        }
        func flag(_ key: String) -> DataValue? {
            if case .boolean(let flag) = description[key] { .bool(flag) } else { nil }
        }
        guard let name = text("name")?.text, !name.isEmpty else { return }
        let value = DataValue.fields([
            "available": flag("available"), "unit": text("unit"), "source": text("source"),
            "simulated": flag("simulated"),
        ])
        let isNew = self.sensors.updateValue(value, forKey: name) == nil
        self.tell(name, value)
        if isNew { self.onNames(self.sensors.keys.sorted()) }
    }

    private func tell(_ name: String, _ value: DataValue?) {
        self.onMessage(Outgoing(self.topics.sensor(name), value, isRetained: true))
    }
}

@available(*, unavailable)
extension SensorWatch: Sendable {}
