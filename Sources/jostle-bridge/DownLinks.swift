import DBus
import DaemonSupport
import FleetCore
import Loop
import MQTT
import Motion
import Protocol

/// What comes from outside: what is wanted, what is asked, and a home that listens. Each may be left out by the configuration.
///
/// Not `Sendable`: it belongs to the loop of the bridge.
final class DownLinks {
    private let server: ServerLink
    private let desired: DesiredLink?
    private let requests: RequestLink?
    private let home: HomeLink?
    private let presets: [String: String]
    /// What is called when the server has taken or refused a message, by its number.
    private var answered: [Int32: (_ isTaken: Bool) -> Void] = [:]
    /// The detectors have other thresholds now.
    var onDetectors: ([DetectorRequest]) -> Void = { _ in }

    init(
        _ configuration: BridgeConfiguration, _ places: BridgePlaces, _ topics: FleetTopics, _ daemon: Daemon,
        _ server: ServerLink
    ) throws {
        self.server = server
        let box = PublishBox(server, daemon.log)
        let directory = "\(places.state)/desired"
        // What was changed once goes on being in force when nothing may be changed any more: whoever forbids it removes the directory.
        self.desired =
            configuration.allow.changes.isEmpty
            ? nil
            : try DesiredLink(
                configuration, device: topics.device, in: directory,
                signedBy: try configuration.allow.signedBy.map { try places.mustFind($0) }, bus: daemon.bus,
                loop: daemon.loop, log: daemon.log
            ) { box.publish($0, $1) }
        self.requests =
            configuration.allow.requests.isEmpty
            ? nil
            : RequestLink(
                configuration, device: topics.device, in: places.state, journal: places.journal,
                bus: daemon.bus.address,
                loop: daemon.loop, log: daemon.log
            ) { box.publish($0) { _ in } }
        self.presets = Dictionary(configuration.detectors.map { ($0.name, $0.preset) }) { first, _ in first }
        let home = configuration.publish.home.map { prefix in
            HomeAssistant(
                topics, prefix: prefix, softwareVersion: Version.text,
                detectors: configuration.detectors.map { HomeAssistant.Detector(name: $0.name, preset: $0.preset) },
                // Which there are is not known yet.
                sensors: [], hasCounters: configuration.publish.counters != nil,
                // A switch signs nothing.
                mayPause: configuration.allow.changes.contains(.pause) && configuration.allow.signedBy == nil)
        }
        self.home = home.map {
            HomeLink($0, bus: daemon.bus, loop: daemon.loop, log: daemon.log) { box.publish($0) { _ in } }
        }
        box.onNumber = { [unowned self] in self.answered[$0] = $1 }
        self.desired?.onDetectors = { [unowned self] in self.onDetectors($0) }
        self.home?.onPause = { [unowned self] isOff in self.pause(isOff) }
    }

    /// Says something over the server, while there is a connection. What is retained is said again at the next.
    private final class PublishBox {
        private let server: ServerLink
        private let log: Log
        var onNumber: (Int32, @escaping (_ isTaken: Bool) -> Void) -> Void = { _, _ in }

        init(_ server: ServerLink, _ log: Log) { (self.server, self.log) = (server, log) }

        /// False: this server will never take it, as where it is too long for it.
        @discardableResult
        func publish(_ publication: Publication, _ answered: @escaping (_ isTaken: Bool) -> Void) -> Bool {
            do throws(MQTTProblem) {
                self.onNumber(try self.server.publish(publication), answered)
            } catch {
                guard error.isOfMessage else { return true }
                self.log.warning("a message cannot be sent: \(error)")
                return false
            }
            return true
        }
    }

    private func pause(_ isOff: Bool) { self.desired?.pause(isOff) }

    // MARK: What happens

    func start() { self.desired?.begin() }

    func connected() {
        self.answered = [:]
        for topic in (self.desired?.wanted ?? []) + (self.requests?.wanted ?? []) + (self.home?.wanted ?? []) {
            self.server.subscribe(to: topic)
        }
        self.desired?.connected()
        self.home?.connected()
    }

    func disconnected() {
        self.answered = [:]
        self.desired?.disconnected()
        self.home?.disconnected()
    }

    /// The server has taken or refused a message, if it is one of ours.
    func take(answer number: Int32, isTaken: Bool) -> Bool {
        guard let action = self.answered.removeValue(forKey: number) else { return false }
        action(isTaken)
        return true
    }

    /// Takes a message, if it is for one of these.
    func take(_ publication: Publication) -> Bool {
        if let desired, desired.take(publication) { return true }
        if let requests, requests.take(publication) { return true }
        return self.home?.take(publication) ?? false
    }

    /// - Parameter owner: the broker's unique name; `nil`: there is none.
    func brokerChanged(_ owner: String?) {
        self.desired?.brokerChanged(owner)
        self.home?.brokerChanged(owner)
    }

    /// The sensors whose states are told.
    func sensors(_ names: [String]) { self.home?.sensors(names) }

    /// An event of one of our detectors, now.
    func happened(_ detector: String) { self.home?.event(preset: self.presets[detector] ?? "") }
}

@available(*, unavailable)
extension DownLinks: Sendable {}

extension Publication {
    /// What is said to a device; `nil`: it cannot be read.
    var value: DataValue? {
        try? PayloadFormat.read(
            self.payload, contentType: self.properties.contentType, atMost: DataLimits.valuesDown)
    }
}

extension DetectorRequest {
    /// The preset it is made of; empty: a condition.
    var preset: String { if case .text(let preset)? = self.options["preset"] { preset } else { "" } }
}

extension BridgePlaces {
    /// Where a file of the configuration is, without which the bridge would do what it was told not to.
    func mustFind(_ place: BridgeConfiguration.Place) throws -> String {
        guard let path = self.path(of: place) else {
            throw UsageProblem("the configuration names a credential, and there are none")
        }
        return path
    }
}
