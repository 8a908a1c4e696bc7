import BrokerCore
import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// The broker's side of the reader: who it is, what it has, our claims, and the samples that come in.
final class SensorLink {
    private unowned let service: BrokerService
    private let search: ReaderSearch
    /// The bus that the reader is on.
    private var bus: Connection
    /// The reader's unique name; only its samples count.
    private var reader: String?
    /// Counts the readers that there were: a unique name may be another's on another bus.
    private var readers: UInt64 = 0
    private var sensors: [(name: String, path: ObjectPath, channels: Int)] = []
    /// Sensors whose samples come over a descriptor, and not as signals.
    private var streams: [String: SampleStream] = [:]
    /// The last claim or release of each sensor: what an older one comes to does not count any more.
    private var requests: [String: UInt64] = [:]
    private let streamsFrom: Double
    private var retryTimer: EventLoop.TimerID?
    private var silence = Silence()
    private var isStarting = false
    /// The last question what the reader has.
    private var listing: SentCall?
    /// The reader has more sensors than are taken in, and that was said.
    private var isCrowded = false
    /// Signals that pretended to be samples of ours, or were none.
    private var sampleForgeries: UInt64 = 0

    /// When the reader is tried again that could not be started, or not be asked.
    private var patience = RetryPatience()

    /// From so many messages a second on, a descriptor saves more than it is worth to see samples on the bus. docs/sensors.md has
    /// the figures.
    static let streamsFrom = 50.0

    /// When it is looked again whether a sensor has fallen silent.
    private struct Silence {
        var timer: EventLoop.TimerID?
        /// When the timer runs, while it does.
        var due: Int64?
    }

    /// - Parameters:
    ///   - streamsFrom: messages a second from which on samples come over a descriptor.
    ///   - buses: where the reader may be: one; or the first, if it is there or can be started there, and else the second.
    init(_ service: BrokerService, on buses: [Connection], streamsFrom: Double) {
        self.streamsFrom = streamsFrom
        self.service = service
        self.search = ReaderSearch(buses, besides: service.bus, service.names)
        self.bus = buses.last ?? service.bus
        for bus in buses { self.listen(to: bus) }
        self.search.onChange = { [unowned self] in self.choose() }
    }

    /// What another bus says than the one that the reader is on means nothing.
    private func listen(to bus: Connection) {
        bus.onSignal(InterfaceName.sensor, "Samples") { [unowned self, unowned bus] in
            if bus === self.bus { self.samples($0) }
        }
        bus.onSignal(InterfaceName.sensor, "ClaimChanged") { [unowned self, unowned bus] in
            if bus === self.bus { self.claimChanged($0) }
        }
        bus.onSignal(InterfaceName.sensors, "SensorChanged") { [unowned self, unowned bus] in
            if bus === self.bus { self.sensorChanged($0) }
        }
        // An answer that is not waited for only so long may have been lost, too; one that comes late keeps a place with the bus, and
        // there are few.
        bus.whenInDoubt { [unowned self, unowned bus] isOver in if isOver, bus === self.bus { self.begin() } }
        bus.addMatch(
            "type='signal',sender='\(BusName.sensors)',interface='\(InterfaceName.sensors)',member='SensorChanged'")
    }

    /// Connects to buses that are not the broker's own.
    func open() throws { try self.search.open(besides: self.service.bus) }

    /// Follows the reader to the bus that it is on by now.
    private func choose() {
        guard let place = self.search.chosen else { return }
        guard place.bus !== self.bus || place.reader != self.reader else { return self.startIfNeeded() }
        if place.bus !== self.bus, let reader {
            // It goes on there, and not for us.
            for sensor in self.sensors {
                let target = CallTarget(reader, sensor.path, InterfaceName.sensor.description)
                self.bus.tell(target, "Release", noOptions)
            }
        }
        self.bus = place.bus
        self.readerChanged(place.reader)
    }

    private func readerChanged(_ owner: String?) {
        if self.reader != nil {
            self.service.log.notice("the sensor reader is gone")
            self.service.happened(.sensorsLost)
            self.service.links.clients.availabilityChanged()
            self.watchSilence()
        }
        self.reader = owner
        self.readers += 1
        self.sensors = []
        self.isCrowded = false
        self.streams = [:]
        self.patience = RetryPatience()
        self.service.loop.cancel(&self.retryTimer)
        self.begin()
    }

    /// Has the reader started, or asks it what it has.
    private func begin() {
        guard let reader else { return self.startIfNeeded() }
        let readers = self.readers
        let target = CallTarget(reader, Path.sensors, InterfaceName.sensors.description)
        // It may hang, and so may we: its answer counts whenever it comes. One that is not waited for any more keeps its place with the
        // bus all the same, and there are few. One that may be lost is waited for no more when it is asked anew.
        self.listing?.forget()
        self.listing = self.bus.call(
            target, "ListSensors", noOptions, timeout: Connection.noTimeout, autoStart: false
        ) { [weak self] result in
            guard let self, self.readers == readers else { return }
            do throws(BusError) {
                let list = try result.take().read(reply: [Structure<ObjectPath, [String: Value]>].self)
                for entry in list { self.appeared(entry.fields.0, entry.fields.1) }
            } catch {
                self.service.log.error("cannot list the sensors: \(error)")
                // What is refused otherwise will be refused again.
                if error.isOverLimit { self.tryAgain(after: error) }
            }
        }
    }

    /// As many as no device has.
    private static let mostSensors = 64

    private func appeared(_ path: ObjectPath, _ options: [String: Value]) {
        guard let sensor = SensorDescription(options) else {
            return self.service.log.warning("the sensor at \(path) describes itself wrongly and is left out")
        }
        guard self.sensors.count < Self.mostSensors || self.sensors.contains(where: { $0.name == sensor.name }) else {
            if !self.isCrowded {
                self.service.log.warning("the reader has more than \(Self.mostSensors) sensors: others are left out")
            }
            self.isCrowded = true
            return
        }
        self.sensors.removeAll { $0.name == sensor.name }
        self.sensors.append((sensor.name, path, sensor.channels.count))
        let before = self.shown(sensor.name)
        self.service.happened(.sensorAppeared(sensor))
        // Whoever found no place at it is told of it once more whenever there is one: that is no news to apps.
        if self.shown(sensor.name) != before { self.service.links.clients.availabilityChanged() }
        self.watchSilence()
    }

    /// What of a sensor concerns the apps that listen to it. Not the stream itself, which would be copied when it changes.
    private func shown(_ sensor: String) -> SensorState {
        let stream = self.service.core.sensing[sensor]
        return SensorState(description: stream?.description, isAvailable: stream?.isAvailable ?? false)
    }

    private struct SensorState: Equatable {
        let description: SensorDescription?
        let isAvailable: Bool
    }

    /// A sensor came, or its device came back, went or broke.
    private func sensorChanged(_ message: borrowing Message) {
        guard let reader, message.isFrom(reader),
            let (path, options) = try? message.read(ObjectPath.self, [String: Value].self)
        else { return self.countForgery() }
        self.appeared(path, options)
    }

    /// Asks the bus to start the reader while a detector waits for a sensor.
    func startIfNeeded() {
        guard self.reader == nil, !self.isStarting, self.service.core.sensing.missesSensor,
            self.search.chosen != nil, self.bus.isReady
        else { return }
        self.isStarting = true
        // It may be another bus by now that can.
        self.search.look { [weak self] in self?.start() }
    }

    private func start() {
        guard self.reader == nil, self.bus.isReady else { return self.isStarting = false }
        self.bus.callBus("StartServiceByName", BusName.sensors, UInt32(0)) { [weak self] result in
            guard let self else { return }
            self.isStarting = false
            do throws(BusError) {
                _ = try result.take()
            } catch {
                // No file says how to start it: then its name will appear, or not.
                if error.name == "org.freedesktop.DBus.Error.ServiceUnknown" { return }
                // It may never be: that is no news each time.
                if self.patience.refusal != error.message {
                    self.service.log.warning(
                        "the sensor reader could not be started: \(error)", as: .readerMissing,
                        about: [.bus: self.bus.address.description, .reason: error.message])
                }
                self.tryAgain(after: error)
            }
        }
    }

    private func tryAgain(after error: BusError) {
        // Whoever wants a sensor meanwhile has it tried at once, and nobody wait longer.
        if self.patience.nextTry == nil { self.patience.failed(error.message, at: self.service.now { $1 }) }
        self.service.loop.set(&self.retryTimer, at: self.patience.nextTry?.microseconds, on: .boottime) { [weak self] in
            self?.patience.tried()
            self?.begin()
        }
    }

    // MARK: Claims

    func claim(_ sensor: String, _ pace: SensorPace) {
        guard let target = self.target(sensor) else { return }
        let request = self.nextRequest(sensor)
        if pace.messages >= self.streamsFrom {
            self.openStream(sensor, pace, target, request)
        } else {
            self.claim(sensor, pace, target, request)
        }
    }

    private func nextRequest(_ sensor: String) -> UInt64 {
        self.requests[sensor, default: 0] += 1
        return self.requests[sensor, default: 0]
    }

    /// Has samples come as signals.
    ///
    /// - Parameter isLost: The reader ended the stream by which they came.
    private func claim(
        _ sensor: String, _ pace: SensorPace, _ target: CallTarget, _ request: UInt64,
        insteadOfStream isLost: Bool = false
    ) {
        let readers = self.readers
        self.bus.call(target, "Claim", Self.options(pace), autoStart: false) { [weak self] result in
            guard let self, self.readers == readers else { return }
            // Of a reader that is gone streams end before the bus says so: only one that is there has ended it.
            if isLost { self.service.log.warning("the reader ended the stream of the \(sensor)") }
            do throws(BusError) {
                let options = try result.take().read(reply: [String: Value].self)
                let inForce = try self.answer(options)
                // What it was sent until now belongs before what comes next.
                self.streams.removeValue(forKey: sensor)?.drain()
                self.claimed(sensor, inForce, options)
            } catch {
                guard self.requests[sensor] == request else { return }
                self.service.happened(.claim(sensor: sensor, .failed(error.message)))
            }
        }
    }

    /// One detector's wish for more than we may have must not take from the others what we may.
    private static func options(_ pace: SensorPace) -> [String: Value] {
        SensorRequest(pace, orSlower: true).options
    }

    /// Has samples come over a descriptor; as signals, should the reader have none for us.
    private func openStream(_ sensor: String, _ pace: SensorPace, _ target: CallTarget, _ request: UInt64) {
        let readers = self.readers
        self.bus.call(target, "OpenStream", Self.options(pace), autoStart: false, takesDescriptors: true) {
            [weak self] result in
            guard let self, self.readers == readers, self.requests[sensor] == request else { return }
            do throws(BusError) {
                let (descriptor, options) = try result.take().read(reply: WireDescriptor.self, [String: Value].self)
                let inForce = try self.answer(options)
                let stream = try self.stream(of: sensor, descriptor, options, pace)
                // What came over another one until now belongs before what comes over this one. Where both have the same time, as
                // after a stall, that of the other one is heard, at its pace.
                self.streams.updateValue(stream, forKey: sensor)?.drain()
                // What was heard then may have it wanted by nobody.
                guard self.streams[sensor] === stream else { return }
                // It may have come as signals until now. Release ends that claim, and not the stream.
                self.bus.tell(target, "Release", noOptions)
                self.claimed(sensor, inForce, options)
            } catch {
                self.service.log.info("the \(sensor) has no stream for us: \(error)")
                self.claim(sensor, pace, target, request)
            }
        }
    }

    private func answer(_ options: [String: Value]) throws(BusError) -> SensorPace {
        guard let inForce = SensorPace(inForce: options) else { throw .failed("the answer makes no sense") }
        return inForce
    }

    private func claimed(_ sensor: String, _ inForce: SensorPace, _ options: [String: Value]) {
        var allowed: Double?
        if case .double(let rate) = options[SensorPace.Key.allowed], rate.isFinite, rate > 0 { allowed = rate }
        self.service.happened(.claim(sensor: sensor, .answered(inForce, allowed: allowed)))
        self.service.links.history.sensorsChanged()
        self.watchSilence()
    }

    /// Says how it stands with a sensor now.
    func report(_ sensor: String) {
        guard let stream = self.service.core.sensing[sensor] else { return }
        // It stands in nobody's way any more; whether it is to be had, nobody has said.
        guard stream.wanted != nil else { return self.service.log.info("the \(sensor) is wanted by nobody any more") }
        if let obstacle = stream.standing.obstacle(sensor) { return self.service.log.warning(obstacle) }
        let limit = stream.allowed.map { ", at \($0) Hz at most, as FastestRate of the reader's policy has it" } ?? ""
        self.service.log.notice("the \(sensor) is to be had\(limit)")
    }

    // MARK: Silence

    /// A timer while a sensor has to speak. It is let run and set anew, so that nothing has to be done for a sample.
    func watchSilence() {
        guard let next = self.service.now({ core, now in core.sensing.nextSilence(at: now) })?.microseconds else {
            self.silence.due = nil
            return self.service.loop.cancel(&self.silence.timer)
        }
        if let due = self.silence.due, due <= next { return }
        self.setSilenceTimer(next)
    }

    private func setSilenceTimer(_ time: Int64) {
        self.silence.due = time
        self.service.loop.set(&self.silence.timer, at: time, on: .boottime) { [unowned self] in
            let late = Clock.boottime.now() - (self.silence.due ?? 0)
            self.silence.due = nil
            self.checkSilence(late)
        }
    }

    private func checkSilence(_ late: Int64) {
        // We ourselves were held up: what has come meanwhile is heard first.
        if late > Self.lateness { return self.setSilenceTimer(Clock.boottime.now() + Self.grace) }
        self.service.happened(.silence)
        self.watchSilence()
    }

    /// A timer of ours that comes later than this says that we are late, and not somebody else.
    private static let lateness: Int64 = 20_000
    /// How long we then give what has come meanwhile.
    private static let grace: Int64 = 100_000

    private func stream(
        of sensor: String, _ descriptor: WireDescriptor, _ options: [String: Value], _ pace: SensorPace
    ) throws(BusError) -> SampleStream {
        guard case .uint64(let number) = options[SensorPace.Key.stream], let end = descriptor.take(),
            let channels = self.sensors.first(where: { $0.name == sensor })?.channels
        else { throw .failed("the answer makes no sense") }
        let stream: SampleStream
        do throws(SystemError) {
            stream = try SampleStream(number, end, channels: channels, on: self.bus.loop)
        } catch {
            throw .failed("\(error)")
        }
        stream.onSamples = { [unowned self] first, times, values in
            try? self.service.input { (core, now, actions) throws(Refusal) in
                core.samples(sensor, first: first, times: times, values: values, at: now, &actions)
            }
        }
        stream.onEnd = { [unowned self, unowned stream] in
            guard self.streams[sensor] === stream, let target = self.target(sensor) else { return }
            self.service.happened(.claim(sensor: sensor, .ended))
            self.claim(sensor, pace, target, self.nextRequest(sensor), insteadOfStream: true)
        }
        return stream
    }

    func release(_ sensor: String) {
        guard let target = self.target(sensor) else { return }
        _ = self.nextRequest(sensor)
        self.streams.removeValue(forKey: sensor)?.close()
        self.bus.call(target, "Release", noOptions, autoStart: false) { _ in }
        self.watchSilence()
    }

    private func target(_ sensor: String) -> CallTarget? {
        guard let reader, let path = self.sensors.first(where: { $0.name == sensor })?.path else { return nil }
        return CallTarget(reader, path, InterfaceName.sensor.description)
    }

    // MARK: What comes in

    /// What pretended to be samples; and on a bus of the reader's own, to be that bus's word or an answer.
    var forgeries: UInt64 {
        self.search.places.reduce(self.sampleForgeries) { sum, place in
            place.bus === self.service.bus ? sum : sum &+ place.names.forgeries &+ place.bus.refusedReplies
        }
    }

    private func countForgery() { self.sampleForgeries &+= 1 }

    /// Anybody can send us a signal of this name: only the owner of the reader's name is heard.
    private func sensor(of message: borrowing Message) -> (name: String, path: ObjectPath, channels: Int)? {
        guard let reader, message.isFrom(reader) else { return nil }
        for sensor in self.sensors where message.isAt(sensor.path) { return sensor }
        return nil
    }

    private func samples(_ message: borrowing Message) {
        guard let sensor = self.sensor(of: message) else { return self.countForgery() }
        // The last ones of a claim that a stream has replaced.
        guard self.streams[sensor.name] == nil else { return }
        let isWhole = SampleCodec.read(message, channels: sensor.channels) { first, times, values in
            try? self.service.input { (core, now, actions) throws(Refusal) in
                core.samples(sensor.name, first: first, times: times, values: values, at: now, &actions)
            }
        }
        if !isWhole { self.countForgery() }
    }

    private func claimChanged(_ message: borrowing Message) {
        guard let sensor = self.sensor(of: message), let options = try? message.read([String: Value].self),
            let pace = SensorPace(inForce: options)
        else { return self.countForgery() }
        // Of the claim that is in force, and not of one that was replaced.
        let stream = self.streams[sensor.name]?.number
        guard options[SensorPace.Key.stream] == stream.map({ .uint64($0) }) else { return }
        self.service.happened(.paceChanged(sensor: sensor.name, pace, Resting(inForce: options)))
        self.service.links.history.sensorsChanged()
    }
}
