import DBus
import DaemonSupport
import FleetCore
import Loop
import MQTT
import Motion
import Protocol

/// Tells Home Assistant of the device, and of its state.
///
/// Not `Sendable`: it belongs to the loop of the bridge.
final class HomeLink {
    private var home: HomeAssistant
    private let mayPause: Bool
    private let bus: Connection
    private let loop: EventLoop
    private let log: Log
    private let publish: (Publication) -> Void
    private var state = MotionState()
    private var told: MotionState?
    private var isConnected = false
    private var broker: String?
    private var timer: EventLoop.TimerID?
    private var resending: EventLoop.TimerID?
    /// Switches motion off or on.
    var onPause: (Bool) -> Void = { _ in }

    /// Home Assistant asks all devices to say again what they are not to do it at the same moment. In µs.
    private static let longestPause: Int64 = 5_000_000
    private static let properties = CallTarget(BusName.broker, Path.broker, "org.freedesktop.DBus.Properties")

    init(
        _ home: HomeAssistant, bus: Connection, loop: EventLoop, log: Log,
        publish: @escaping (Publication) -> Void
    ) {
        self.home = home
        self.mayPause = home.mayPause
        (self.bus, self.loop, self.log, self.publish) = (bus, loop, log, publish)
        bus.onSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") { [weak self] message in
            // Anybody can send such a signal: the broker's counts.
            guard let broker = self?.broker, message.isFrom(broker), message.isAt(Path.broker),
                let (interface, changed, _) = try? message.read(String.self, [String: Value].self, [String].self),
                interface == InterfaceName.broker.description
            else { return }
            self?.changed(changed)
        }
        bus.whenInDoubt { [weak self] _ in self?.ask() }
        bus.addMatch(Self.rule)
    }

    /// Topics to subscribe to.
    var wanted: [String] { [self.home.birthTopic] + (self.mayPause ? [self.home.topics.pause] : []) }

    // MARK: The server

    func connected() {
        self.isConnected = true
        self.told = nil
        self.announce()
    }

    func disconnected() {
        self.isConnected = false
        self.loop.cancel(&self.resending)
    }

    /// Takes a message, if it is of Home Assistant.
    func take(_ publication: Publication) -> Bool {
        switch publication.topic {
        case self.home.birthTopic:
            // What is retained is of before: it was told when we connected.
            guard HomeAssistant.isBirth(publication.payload), !publication.isRetained, self.resending == nil else {
                return true
            }
            self.resending = self.loop.schedule(after: Int64.random(in: 0...Self.longestPause)) { [weak self] in
                guard let self else { return }
                self.loop.cancel(&self.resending)
                self.told = nil
                self.announce()
            }
        case self.home.topics.pause:
            // A switch that was pressed long ago is none that is pressed now.
            guard self.mayPause, !publication.isRetained else { return true }
            // As bytes: as texts some take long to compare.
            switch publication.payload {
            case Array("ON".utf8): self.onPause(true)
            case Array("OFF".utf8): self.onPause(false)
            default: self.log.notice("'\(self.home.topics.pause)' takes ON and OFF")
            }
        default: return false
        }
        return true
    }

    private func announce() {
        guard self.isConnected else { return }
        self.send(self.home.config, to: self.home.topic)
        self.tell()
    }

    private func tell() {
        guard self.isConnected, self.told?.value != self.state.value else { return }
        self.told = self.state
        self.send(self.state.value, to: self.home.topics.motion)
    }

    private func send(_ value: DataValue, to topic: String) {
        var message = Publication(topic, JSONCoding.bytes(value), isRetained: true)
        message.properties.contentType = PayloadFormat.json.contentType
        message.properties.isText = true
        self.publish(message)
    }

    // MARK: The device

    /// Sensors came: each is an entity.
    func sensors(_ names: [String]) {
        guard names != self.home.sensors else { return }
        self.home.sensors = names
        if self.isConnected { self.send(self.home.config, to: self.home.topic) }
    }

    /// An event of one of the bridge's detectors, now.
    func event(preset: String) {
        if let later = self.state.event(preset: preset, at: Timestamp(microseconds: Clock.monotonic.now())) {
            self.loop.set(&self.timer, at: later.microseconds) { [weak self] in
                guard let self else { return }
                self.state.timePassed(Timestamp(microseconds: Clock.monotonic.now()))
                self.tell()
            }
        }
        self.tell()
    }

    private func changed(_ properties: [String: Value]) {
        if case .boolean(let flag)? = properties["Paused"] { self.state.isPaused = flag }
        if case .boolean(let flag)? = properties["Locked"] { self.state.isLocked = flag }
        self.tell()
    }

    /// A broker came: what it says counts. Or none is there.
    func brokerChanged(_ owner: String?) {
        self.broker = owner
        self.ask()
    }

    private func ask() {
        guard self.broker != nil else { return }
        self.bus.call(Self.properties, "GetAll", InterfaceName.broker.description, autoStart: false) {
            [weak self] result in
            do throws(BusError) {
                let message = try result.take()
                self?.changed(try message.read(reply: [String: Value].self))
            } catch {
                self?.log.debug("the broker does not say whether it is paused: \(error)")
            }
        }
    }

    /// What has the bus bring changes of the broker's properties.
    static let rule =
        "type='signal',sender='\(BusName.broker)',path='\(Path.broker.text)',interface='org.freedesktop.DBus.Properties',"
        + "member='PropertiesChanged'"
}
