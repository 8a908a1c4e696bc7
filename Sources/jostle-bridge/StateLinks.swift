import DBus
import DaemonSupport
import FleetCore
import Loop
import Motion

/// What is told of states: apps, sensors, and what is counted, as far as the configuration says.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class StateLinks {
    var onMessage: (Outgoing) -> Void = { _ in }
    /// What is counted, and how many rows wait.
    var counters: () -> (BridgeCounters, waiting: Int64) = { (BridgeCounters(), 0) }

    private let topics: FleetTopics
    private let loop: EventLoop
    private let apps: AppWatch?
    private let sensors: SensorWatch?
    private let pause: Int64?
    private var timer: EventLoop.TimerID?
    /// Topics on which a state was told in this life, and whether there is one still: an empty message may not have come.
    private var told: [String: Bool] = [:]

    /// So many topics are remembered at most.
    private static let mostTold = 1_024

    init(_ publish: BridgeConfiguration.Publish, _ topics: FleetTopics, on daemon: Daemon) {
        let address = daemon.bus.address
        self.topics = topics
        self.loop = daemon.loop
        self.apps = publish.apps.map { AppWatch($0, topics, on: address, daemon.loop) }
        // As installed there is one reader for the machine; on a bus of its own address everything is on that.
        self.sensors =
            publish.sensors ? SensorWatch(topics, on: address == .session ? .system : address, daemon.loop) : nil
        self.pause = publish.counters?.microseconds
        self.apps?.onMessage = { [unowned self] in self.tell($0) }
        self.sensors?.onMessage = { [unowned self] in self.tell($0) }
        if let pause {
            self.timer = daemon.loop.schedule(after: pause, on: .boottime) { [unowned self] in self.count() }
        }
    }

    private func tell(_ message: Outgoing) {
        if self.told[message.topic] == nil, self.told.count >= Self.mostTold { self.told = self.told.filter(\.value) }
        if self.told[message.topic] != nil || self.told.count < Self.mostTold {
            self.told[message.topic] = message.value != nil
        }
        self.onMessage(message)
    }

    /// All that is known, for a server that has just taken us; and what is gone, of which the last one may keep the state.
    func tellAll() {
        for (topic, isThere) in self.told where !isThere { self.onMessage(Outgoing(topic, nil, isRetained: true)) }
        self.apps?.tellAll()
        self.sensors?.tellAll()
    }

    /// The journal has grown: something was decided.
    func decided() { self.apps?.countsChanged() }

    /// The sensors that are told of.
    var onSensors: ([String]) -> Void {
        get { self.sensors?.onNames ?? { _ in } }
        set { self.sensors?.onNames = newValue }
    }

    private func count() {
        let (counters, waiting) = self.counters()
        let value = DataValue.fields([
            "sent": .count(counters.sent), "past": .count(counters.past), "again": .count(counters.again),
            "gaps": .count(counters.gaps), "waiting": .integer(waiting), "connections": .count(counters.connections),
        ])
        self.onMessage(Outgoing(self.topics.counters, value, isRetained: true))
        if let timer, let pause { self.loop.reschedule(timer, after: pause) }
    }
}

@available(*, unavailable)
extension StateLinks: Sendable {}
