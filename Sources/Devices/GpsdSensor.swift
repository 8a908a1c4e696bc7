import CGps
package import DeviceCore
import Glibc
package import Loop
import Motion

/// The location that a gpsd tells of. The connection is there only while somebody wants it, so that the receiver may sleep.
final class GpsdSensor: SensorReader {
    weak var sink: (any ReadingSink)?
    private let address: GpsdAddress
    private let loop: EventLoop
    private var connection: Connection?
    private var timer: EventLoop.TimerID?
    private var track = LocationTrack()
    private var clock = FixClock()

    /// What is there while somebody wants samples.
    private final class Connection {
        let descriptor: OwnedDescriptor
        let watch: EventLoop.Registration
        var isOpen = false
        /// Whether it has said something as gpsd does, which greets whoever comes.
        private(set) var isGpsd = false
        private var lines = LineSplitter(longest: GpsdParser.longestLine)
        private let parser = GpsdParser()
        private static let greeting = Array("{\"class\":\"".utf8)

        init(_ descriptor: consuming OwnedDescriptor, _ watch: EventLoop.Registration) {
            self.descriptor = descriptor
            self.watch = watch
        }

        /// Takes the next bytes, and tells the places in them. False when they cannot be gpsd's.
        func take(_ bytes: Span<UInt8>, _ onReport: (GpsdParser.Report) -> Void) -> Bool {
            self.lines.take(bytes) { line in
                if line.starts(with: Self.greeting) { self.isGpsd = true }
                if let report = self.parser.read(line) { onReport(report) }
            }
        }
    }

    /// A host that does not answer is given up after this.
    private static let patience: Int64 = 5_000_000

    init(_ address: GpsdAddress, on loop: EventLoop) {
        self.address = address
        self.loop = loop
    }

    deinit { self.stop() }

    var method: String { "told" }

    /// Nothing is asked of gpsd as long as nobody wants to know.
    func probe() throws(DeviceProblem) -> SensorFacts {
        var facts = SensorFacts()
        facts.isSteady = false
        return facts
    }

    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        // Fixes come as the receiver gives them.
        guard self.connection == nil else { return SensorPace(rate: pace.rate) }
        let raw = unsafe CGps_connect(self.address.host, "\(self.address.port)")
        guard raw >= 0 else {
            throw DeviceProblem("gpsd at \(self.address): \(SystemError.message(for: errno))")
        }
        let descriptor = OwnedDescriptor(adopting: raw)
        do throws(SystemError) {
            let watch = try self.loop.watch(raw, for: .write) { [weak self] _ in self?.isReady() }
            self.connection = Connection(descriptor, watch)
        } catch {
            throw DeviceProblem("gpsd at \(self.address): \(error)")
        }
        self.timer = self.loop.schedule(after: Self.patience) { [weak self] in self?.fail("it does not answer") }
        return SensorPace(rate: pace.rate)
    }

    func stop() {
        self.loop.cancel(&self.timer)
        if let watch = self.connection?.watch { self.loop.cancel(watch) }
        self.connection = nil
    }

    private func fail(_ reason: String) {
        self.stop()
        self.sink?.readingFailed(DeviceProblem("gpsd at \(self.address): \(reason)"))
    }

    private func isReady() {
        guard let connection = self.connection else { return }
        if connection.isOpen { self.read(connection) } else { self.open(connection) }
    }

    /// The connection is made, or is not: asks for reports.
    private func open(_ connection: Connection) {
        let raw = connection.descriptor.raw
        let code = CGps_connected(raw)
        guard code == 0 else { return self.fail(SystemError.message(for: code)) }
        let request = "?WATCH={\"enable\":true,\"json\":true};\n"
        // So little always fits into a new connection.
        var text = Array(request.utf8)
        // SAFETY: the array lives for the call, and its length is given.
        let sent = unsafe send(raw, &text, text.count, Int32(MSG_NOSIGNAL))
        guard sent == text.count else { return self.fail(SystemError.message(for: errno)) }
        do throws(SystemError) {
            try self.loop.update(connection.watch, for: .read)
        } catch {
            return self.fail("\(error)")
        }
        connection.isOpen = true
    }

    private func read(_ connection: Connection) {
        // One piece at a time: whoever else waits has its turn in between.
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let raw = connection.descriptor.raw
        // SAFETY: the array lives for the call, and its length is given.
        let count = unsafe recv(raw, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            return self.fail(count == 0 ? "it closed the connection" : SystemError.message(for: errno))
        }
        var fixes: [GpsdParser.Report] = []
        guard connection.take(buffer.span.extracting(0..<count), { fixes.append($0) }) else {
            return self.fail("a line is longer than \(GpsdParser.longestLine) bytes")
        }
        if connection.isGpsd { self.loop.cancel(&self.timer) }
        for fix in fixes { self.tell(fix) }
        if !fixes.isEmpty { self.sink?.readingDone() }
    }

    private func tell(_ report: GpsdParser.Report) {
        let now = Timestamp(microseconds: Clock.boottime.now())
        guard let position = Position(latitude: report.latitude, longitude: report.longitude),
            let time = self.clock.time(of: report.time, wallClock: Clock.wallClock(), now: now)
        else { return }
        let fix = LocationFix(
            time: time.microseconds, position: position, speed: report.speed, course: report.course,
            accuracy: report.accuracy)
        guard let row = self.track.row(for: fix) else { return }
        self.sink?.reading(at: time, row.span)
    }
}

extension DeviceSource {
    /// The sensor `location`, told by a gpsd.
    package static func gpsd(
        at address: GpsdAddress, on loop: EventLoop, remark: @escaping (_ message: String) -> Void
    ) -> DeviceSource {
        let source = DeviceSource(SensorDescription.location, .location, on: loop, remark: remark)
        source.attach(
            GpsdSensor(address, on: loop), Hardware(driver: "gpsd", placement: "", source: "gpsd:\(address)"))
        return source
    }
}
