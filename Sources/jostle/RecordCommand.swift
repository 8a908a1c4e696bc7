import DBus
import DaemonSupport
import Glibc
import Loop
import Motion
import Protocol
import Traces

/// `jostle record`: claims a sensor and writes what it reads into a trace.
struct RecordCommand {
    static let syntax = CommandSyntax(
        "record", "write what a sensor reads into a trace", reaching: .sensors,
        options: [CommonOption.sensor, CommonOption.rate, CommonOption.length, CommonOption.label],
        arguments: [CommandArgument("FILE", "the trace to write; '-' is standard output", naming: .file)],
        action: {
            let rate = try $0.arguments.value(of: CommonOption.rate)
            try RecordCommand(
                path: $0.arguments.positionals[0], sensor: $0.arguments.value(of: CommonOption.sensor),
                rate: rate ?? 50, length: try $0.arguments.value(of: CommonOption.length),
                label: try $0.arguments.value(of: CommonOption.label), bus: $0.sensorBus, loop: $0.loop
            ).run()
        })

    var path: String
    var sensor: String?
    var rate: Double
    var length: TimeSpan?
    var label: String?
    var bus: ReaderBus
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let service = try Service.sensors(on: self.bus, self.loop)
        let (object, sensor) = try service.sensor(self.sensor)
        let file = try OutputFile(self.path)
        var writer = try TraceWriter(of: sensor, source: sensor.source, label: self.label)
        var tally = Tally()
        var isDone = false
        var failure: CommandFailure?
        func flush() {
            do throws(SystemError) {
                try file.write(writer.bytes)
            } catch {
                // A reader that has enough is no failure.
                if error.code != EPIPE { failure = CommandFailure(.no, "\(self.path): \(error)") }
                isDone = true
            }
            writer.removeBytes()
        }
        let deadline = SensorDeadline(self.length, on: self.loop) { isDone = true }
        let reader = SampleReader(service, [(object, sensor.channels.count)])
        reader.onSamples = { _, first, times, values in
            deadline.hear()
            tally.hear(first, times.count)
            for index in times.indices {
                let time = Timestamp(microseconds: times[index])
                let start = tally.start ?? time
                tally.start = start
                if let length = self.length, time - start >= length {
                    isDone = true
                    break
                }
                let row = values.extracting(index * sensor.channels.count..<(index + 1) * sensor.channels.count)
                // Times count from the start of the recording. What the reader refuses to be, is left out.
                if (try? writer.append(Timestamp.zero + (time - start), row)) != nil { tally.rows += 1 }
            }
            flush()
        }
        let lose = { (what: String) in
            failure = CommandFailure(.noService, "\(what) went away")
            isDone = true
        }
        service.connection.onLost = { lose("the bus") }
        reader.onLoss = { lose(service.title) }
        stopOnSignals(self.loop) { isDone = true }
        // A file is in no hurry, and several samples in a message cost what one does.
        let pace = SensorPace(rate: self.rate, batchLatency: .milliseconds(100))
        _ = try service.call(object, InterfaceName.sensor, "Claim", pace.options)
        deadline.begin()
        // It is a trace from the first moment on, whether or not a sample ever comes.
        flush()
        if let failure { throw failure }
        // What was there stays when the sensor is refused. From here on all that is recorded is under its name, however this ends.
        try file.takeName()
        try self.loop.wait { isDone }
        if let failure { throw failure }
        complain(
            "\(tally.rows) samples of the \(sensor.name) in \(self.path == "-" ? "standard output" : self.path)"
                + (tally.missed > 0 ? ", \(tally.missed) missed" : ""))
    }

    struct Tally {
        var rows = 0
        /// Samples that the reader had and we did not get.
        private(set) var missed: UInt64 = 0
        private var expected: UInt64?
        var start: Timestamp?

        /// So many samples came, from this number on, which is whatever the reader says.
        mutating func hear(_ first: UInt64, _ count: Int) {
            if let expected = self.expected, first > expected {
                let (sum, isTooMany) = self.missed.addingReportingOverflow(first - expected)
                self.missed = isTooMany ? .max : sum
            }
            self.expected = first &+ UInt64(count)
        }
    }
}

extension TraceWriter {
    /// A trace of one sensor, with what is known of it.
    init(of sensor: SensorDescription, source: String, label: String?) throws(CommandFailure) {
        var notes = [TraceHeader.Note(key: "source", value: source)]
        if let label { notes.append(TraceHeader.Note(key: "label", value: label)) }
        do throws(Problem) {
            let columns = TraceSensor(
                name: sensor.name, channels: sensor.channels, unit: sensor.unit, range: sensor.range)
            try self.init(TraceHeader(sensors: [columns], notes: notes))
        } catch {
            throw CommandFailure(.no, "the sensor cannot be written as a trace: \(error)")
        }
    }
}

/// Hears the samples of sensors that we claimed ourselves.
final class SampleReader {
    var onSamples: (_ object: ObjectPath, _ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Void = {
        _, _, _, _ in
    }
    /// Runs when the reader that was there leaves: the next one knows nothing of what was claimed of it.
    var onLoss: () -> Void = {}

    private let names: NameWatch
    private var owner: String?

    /// Only the owner of the reader's name is heard: anybody can send us a signal of this name.
    init(_ service: Service, _ sensors: [(object: ObjectPath, channels: Int)]) {
        let names = NameWatch(on: service.connection)
        self.names = names
        _ = names.follow(service.name, ownRule: true) { [weak self] owner in self?.ownerChanged(owner) }
        service.connection.onSignal(InterfaceName.sensor, "Samples") { [weak self] message in
            guard let self, let owner = self.owner, message.isFrom(owner) else { return }
            for sensor in sensors where message.isAt(sensor.object) {
                _ = SampleCodec.read(message, channels: sensor.channels) { self.onSamples(sensor.object, $0, $1, $2) }
            }
        }
    }

    private func ownerChanged(_ owner: String?) {
        let wasThere = self.owner != nil
        self.owner = owner
        if wasThere { self.onLoss() }
    }
}
