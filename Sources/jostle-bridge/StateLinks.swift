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
    private var memory: Memory

    /// How long after there is a server first whatever is there has been told, in µs.
    private static let settling: Int64 = 5_000_000
    /// How long what is kept on the disk may be behind, in µs.
    private static let keepPause: Int64 = 1_000_000

    /// What was told, and what of it is on the disk: an empty message may not have come, and what leaves while no bridge runs has nobody
    /// else who says so.
    private struct Memory {
        let path: String
        let log: Log
        var told: ToldStates
        var timer: EventLoop.TimerID?
        /// There was a server.
        var isSettling = false
        var isTroubled = false
    }

    /// - Parameter directory: The bridge's own, which is there.
    init(
        _ publish: BridgeConfiguration.Publish, _ topics: FleetTopics, in directory: String, on daemon: Daemon
    ) {
        let address = daemon.bus.address
        self.topics = topics
        self.loop = daemon.loop
        let path = "\(directory)/bridge.told"
        // Without it states may stay on the server that are gone, and nothing else.
        let told = (try? InputFile.contents(of: path, atMost: 1 << 20)) ?? []
        self.memory = Memory(
            path: path, log: daemon.log, told: ToldStates(String(decoding: told, as: UTF8.self), of: topics.device))
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
        if self.memory.told.tell(message.topic, isThere: message.value != nil) { self.keepSoon() }
        self.onMessage(message)
    }

    /// All that is known, for a server that has just taken us; and what is gone, of which the last one may keep the state.
    func tellAll() {
        self.tellGone()
        self.apps?.tellAll()
        self.sensors?.tellAll()
        // What could not be written down may go there now.
        if self.memory.isTroubled { self.keepSoon() }
        guard self.memory.told.waits, !self.memory.isSettling else { return }
        self.memory.isSettling = true
        self.settleLater()
    }

    /// Who is there and has not answered yet may have all that an earlier life told.
    private func settleLater() {
        self.loop.once(after: Self.settling, on: .boottime) { [weak self] in
            guard let self else { return }
            if self.apps?.isAsked ?? false || self.sensors?.isAsked ?? false { return self.settleLater() }
            self.memory.told.settle()
            self.tellGone()
            self.keepSoon()
        }
    }

    private func tellGone() {
        for topic in self.memory.told.gone { self.onMessage(Outgoing(topic, nil, isRetained: true)) }
    }

    private func keepSoon() {
        guard self.memory.timer == nil else { return }
        self.memory.timer = self.loop.schedule(after: Self.keepPause) { [unowned self] in self.keep() }
    }

    /// Writes down on which topics something was told, if that is not there.
    private func keep() {
        guard self.memory.timer != nil else { return }
        self.loop.cancel(&self.memory.timer)
        do throws(SystemError) {
            try StateFile.replace(self.memory.path, with: Array(self.memory.told.text.utf8))
            self.memory.isTroubled = false
        } catch {
            if !self.memory.isTroubled {
                self.memory.log.warning("\(self.memory.path): \(error); states may stay on the server that are gone")
            }
            self.memory.isTroubled = true
        }
    }

    func stop() { self.keep() }

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
