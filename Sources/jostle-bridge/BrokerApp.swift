import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// The bridge as an app of the broker: its detectors, and the events that they bring.
///
/// It registers again with whatever broker comes, and asks one again that did not answer or take it. Not `Sendable`: it belongs to the thread of its loop.
final class BrokerApp {
    /// Its app id, which is its name on the bus.
    static let name = "org.jostle.Bridge"

    var onEvent: (EventCodec.Body) -> Void = { _ in }
    /// A broker came, or left.
    var onBroker: (Bool) -> Void = { _ in }

    private let bus: Connection
    private let loop: EventLoop
    private let log: Log
    private let names: NameWatch
    private var detectors: [DetectorRequest]
    private(set) var broker: String?
    private var object: ObjectPath?
    private var retry: EventLoop.TimerID?

    /// After how long a broker is asked again that did not answer or take us, in µs.
    private static let pause: Int64 = 2_000_000

    init(_ detectors: [DetectorRequest], on bus: Connection, _ loop: EventLoop, log: Log) {
        self.detectors = detectors
        self.bus = bus
        self.loop = loop
        self.log = log
        self.names = NameWatch(on: bus)
        bus.onSignal(InterfaceName.app, "Event") { [unowned self] in self.hear($0) }
        _ = self.names.follow(BusName.broker, ownRule: true) { [unowned self] in self.brokerChanged($0) }
    }

    func busCame() { self.names.refresh() }
    func busLeft() { self.names.forgetAll() }

    /// Other thresholds: a detector of the same name replaces the one before.
    func change(_ detectors: [DetectorRequest]) {
        guard detectors != self.detectors else { return }
        self.detectors = detectors
        if self.object != nil { self.proceed() }
    }

    private func brokerChanged(_ owner: String?) {
        guard owner != self.broker else { return }
        self.broker = owner
        self.object = nil
        self.loop.cancel(&self.retry)
        self.onBroker(owner != nil)
        self.proceed()
    }

    /// Registers, or adds the detectors where that was done.
    private func proceed() {
        guard let broker, !self.detectors.isEmpty else { return }
        guard self.object != nil else { return self.register(with: broker) }
        self.add(DetectorBatch.split(self.detectors)[...], at: broker)
    }

    private func register(with broker: String) {
        let root = CallTarget(broker, Path.broker, InterfaceName.broker.description)
        self.bus.call(root, "Register", Self.name, [String: Value]()) { [weak self] result in
            guard let self, self.broker == broker else { return }
            do throws(BusError) {
                self.object = try result.take().read(reply: ObjectPath.self, [String: Value].self).0
                self.proceed()
            } catch {
                self.failed("the broker does not take us", error)
            }
        }
    }

    /// Adds detectors, batch by batch.
    private func add(_ batches: ArraySlice<ArraySlice<DetectorRequest>>, at broker: String) {
        guard let batch = batches.first, let object, self.broker == broker else { return }
        let target = CallTarget(broker, object, InterfaceName.app.description)
        self.bus.call(target, "AddDetectors", batch.map(\.wire)) { [weak self] result in
            guard let self, self.broker == broker else { return }
            do throws(BusError) {
                _ = try result.take()
            } catch {
                // The others of the batch are not there either: all or none are taken.
                if self.failed("the broker does not take our detectors", error) { return }
            }
            self.add(batches.dropFirst(), at: broker)
        }
    }

    /// Says what went wrong; true when the broker has not refused for good, and is asked again after a while.
    @discardableResult
    private func failed(_ what: String, _ error: BusError) -> Bool {
        guard !error.isFinal else {
            self.log.error("\(what): \(error)")
            return false
        }
        self.log.warning("\(what): \(error); it is asked again")
        self.loop.set(&self.retry, after: Self.pause) { [weak self] in self?.proceed() }
        return true
    }

    /// Anybody can send such a signal: only the broker's about our own object counts.
    private func hear(_ message: borrowing Message) {
        guard let broker, let object, message.isFrom(broker), message.isAt(object), let event = EventCodec.read(message)
        else { return }
        self.onEvent(event)
        guard event.wantsAck else { return }
        // The journal has it from here on.
        let target = CallTarget(broker, object, InterfaceName.app.description)
        self.bus.tell(target, "Ack", event.sequence, event.epoch, "consume", [String: Value]())
    }
}

@available(*, unavailable)
extension BrokerApp: Sendable {}
