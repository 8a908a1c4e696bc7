import DBus
import DaemonSupport
import Glibc
import JostleClient
import Loop
import Motion
import Protocol
import Traces

/// A private bus with both daemons and some apps on it, for as long as the demo takes.
///
/// Each child dies with us, even when we are killed, and the directory goes with `strike`.
final class DemoStage {
    private let loop: EventLoop
    /// Where the reader takes its samples from.
    private var source: String
    private(set) var directory = ""
    /// Where the broker looks for policy and app files, and the bus for programs that it may start; there are none at first,
    /// whatever the machine has.
    private var policyDirectory: String { "\(self.directory)/policy" }
    /// Where a bridge keeps what comes from outside; `nil`: nothing does.
    var outside: String?
    /// Called when the bus is there, with its address, before the daemons are.
    var onBus: (String) throws(CommandFailure) -> Void = { _ throws(CommandFailure) in }
    private var appDirectory: String { "\(self.directory)/apps.d" }
    private var serviceDirectory: String { "\(self.directory)/services" }
    /// What outlives the broker; `nil`: nothing does.
    private(set) var stateDirectory: String?
    private var children: [ChildProcess] = []
    private(set) var bus: Connection?
    /// What programs say that the bus has started.
    var onServiceLine: (String) -> Void = { _ in }
    /// Somebody has the bus's output: the bus itself, or a program that it has started.
    private var isOutputOpen = false
    private var isStriking = false
    private var isKilling = false
    /// What went wrong first.
    private(set) var failure: CommandFailure?

    /// - Parameter motion: what the sensor shows by itself.
    init(motion: String, on loop: EventLoop) {
        self.source = "synth:\(motion)"
        self.loop = loop
    }

    /// Nobody waits any more: something went wrong.
    func fail(_ failure: CommandFailure) { self.failure = self.failure ?? failure }

    func fail(_ message: String) { self.fail(CommandFailure(.no, message)) }

    /// Waits until it is so, or something went wrong.
    func wait(until isSo: () -> Bool) throws(CommandFailure) {
        try self.loop.wait(until: { self.failure != nil || isSo() })
        if let failure { throw failure }
    }

    /// Waits until it is so, but no longer than the time. Returns whether it is.
    func wait(atMost span: TimeSpan, until isSo: () -> Bool) throws(CommandFailure) -> Bool {
        var isLate = false
        let timer = self.loop.schedule(after: span.microseconds) { isLate = true }
        defer { self.loop.cancel(timer) }
        try self.wait(until: { isLate || isSo() })
        return isSo()
    }

    /// Lets everything go on for a while.
    func rest(_ span: TimeSpan) throws(CommandFailure) {
        var isOver = false
        self.loop.once(after: span.microseconds) { isOver = true }
        try self.wait(until: { isOver })
    }

    /// Makes room for files. To be called first.
    ///
    /// - Parameter keepsState: whether the broker has a journal and a state that outlives it.
    func open(keepsState: Bool = false) throws(CommandFailure) {
        stopOnSignals(self.loop) { [weak self] in self?.fail("stopped before the end") }
        let place = environmentValue("TMPDIR") ?? "/tmp"
        var template = Array("\(place)/jostle-demo-XXXXXX".utf8CString)
        // SAFETY: the template is a NUL-terminated array of our own.
        guard unsafe mkdtemp(&template) != nil else {
            throw CommandFailure(.no, "cannot make a directory in \(place): \(SystemError.last("mkdtemp"))")
        }
        self.directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // So long a name a socket has, with what ends it.
        guard "\(self.directory)/bus".utf8.count < 108 else {
            throw CommandFailure(.no, "\(place) is too long to have sockets in it; give a shorter one as TMPDIR")
        }
        if keepsState { self.stateDirectory = "\(self.directory)/state" }
        for path in [self.policyDirectory, self.appDirectory, self.serviceDirectory, self.stateDirectory] {
            // SAFETY: the path is a NUL-terminated string for the time of the call.
            guard let path, unsafe mkdir(path, 0o700) != 0 else { continue }
            throw CommandFailure(.no, "cannot make a directory: \(SystemError.last("mkdir"))")
        }
    }

    /// Starts the bus and the two daemons, and connects.
    func build() throws(CommandFailure) {
        let configuration = "\(self.directory)/bus.conf"
        try self.write(self.busConfiguration, configuration)
        var address: String?
        let daemon = try self.start(
            "the bus", "dbus-daemon",
            ["--config-file=\(configuration)", "--nofork", "--nopidfile", "--print-address=1"], output: .pipe,
            errorOutput: .null)
        self.isOutputOpen = true
        try self.read(daemon, onEnd: { [weak self] in self?.isOutputOpen = false }) { [weak self] line in
            if address == nil { address = line } else { self?.onServiceLine(line) }
        }
        try self.loop.wait(until: { address != nil || self.children.contains { $0.ending != nil } })
        guard let address else {
            throw CommandFailure(.no, "the private bus did not start: is dbus-daemon installed?")
        }
        let bus = Connection(to: .address(address), on: self.loop)
        self.bus = bus
        do throws(BusError) {
            try bus.openAndWait()
        } catch {
            throw CommandFailure(error, service: "the private bus")
        }
        try self.onBus(address)
        try self.startDaemons(address, bus)
    }

    /// A session bus that knows no services but ours.
    private var busConfiguration: String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(BusAddress.escaped(self.directory))/bus</listen>
          <servicedir>\(self.serviceDirectory.replacing("&", with: "&amp;").replacing("<", with: "&lt;"))</servicedir>
          <policy context="default">
            <allow send_destination="*"/>
            <allow receive_type="*"/>
            <allow own="*"/>
          </policy>
        </busconfig>
        """
    }

    private func startDaemons(_ address: String, _ bus: Connection) throws(CommandFailure) {
        let names = NameWatch(on: bus)
        var owned: Set<String> = []
        let state = self.stateDirectory.map { ["--state-dir", $0] } ?? ["--no-journal"]
        for (program, arguments, name) in [
            ("jostle-sensord", ["--source", self.source], "org.jostle.Sensors1"),
            (
                "jostle-brokerd",
                (self.outside.map { ["--outside", $0] } ?? [])
                    + ["--policy", self.policyDirectory, "--apps", self.appDirectory] + state,
                "org.jostle.Broker1"
            ),
        ] {
            _ = try self.start(
                program, try self.path(of: program),
                ["--bus", address, "--exit-with-bus", "--log-level", "warning"] + arguments)
            _ = names.follow(name) { owner in if owner != nil { owned.insert(name) } }
        }
        try self.loop.wait(until: { owned.count == 2 || self.children.contains { $0.ending != nil } })
        guard owned.count == 2 else { throw CommandFailure(.no, "a daemon ended before it was ready") }
    }

    func path(of program: String) throws(CommandFailure) -> String {
        guard let path = siblingProgram(program) else {
            throw CommandFailure(.no, "\(program) is not beside this program")
        }
        return path
    }

    /// Starts an app: one of our programs, which is told the address of the bus as `--bus`. Its lines come one at a time.
    @discardableResult
    func startApp(
        _ title: String, _ program: String, _ arguments: [String], _ onLine: @escaping (String) -> Void
    ) throws(CommandFailure) -> ChildProcess {
        guard case .address(let address) = self.bus?.address else {
            throw CommandFailure(.no, "the private bus has no address")
        }
        let child = try self.start(
            title, try self.path(of: program), arguments + ["--bus", address], output: .pipe)
        try self.read(child, onLine)
        return child
    }

    /// Starts a program that does something and ends. Its lines come one at a time.
    func startCommand(
        _ title: String, _ program: String, _ arguments: [String], environment: [String: String],
        errorOutput: ChildProcess.Stream = .inherit, _ onLine: @escaping (String) -> Void
    ) throws(CommandFailure) -> ChildProcess {
        let child = try self.start(
            title, program, arguments, environment: environment, mayEnd: true, output: .pipe, errorOutput: errorOutput)
        try self.read(child, onLine)
        return child
    }

    /// Runs a program that has the terminal to itself, and returns how it ended.
    func runInFront(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) throws(CommandFailure) -> ChildProcess.Ending {
        let child = try self.start(
            program, program, arguments, environment: environment, mayEnd: true, isInFront: true)
        try self.wait(until: { child.ending != nil })
        return child.ending ?? .exited(-1)
    }

    /// Ends an app as only the kernel can, and returns when it is gone.
    func kill(_ app: ChildProcess) throws(CommandFailure) {
        self.isKilling = true
        defer { self.isKilling = false }
        do throws(SystemError) {
            try app.send(SIGKILL)
        } catch {
            throw CommandFailure(.no, "cannot kill process \(app.pid): \(error)")
        }
        try self.loop.wait(until: { app.ending != nil })
    }

    static let broker = CallTarget(BusName.broker, Path.broker, InterfaceName.broker.description)
    static let accelerometer = CallTarget(
        BusName.sensors, Path.sensor(SensorDescription.accelerometer), InterfaceName.sensor.description)

    /// Has the broker do something, and waits until it has.
    func tellBroker<each T: WireValue>(_ member: String, _ arguments: repeat each T) throws(CommandFailure) {
        guard let bus = self.bus else { return }
        do throws(BusError) {
            _ = try bus.callAndWait(Self.broker, member, repeat each arguments, noOptions)
        } catch {
            throw CommandFailure(error, service: "the broker")
        }
    }

    /// Asks the broker for a property of one of its objects.
    func property(
        _ name: String, of object: ObjectPath = Path.broker, _ interface: StaticString = InterfaceName.broker
    ) throws(CommandFailure) -> Value {
        guard let bus = self.bus else { throw CommandFailure(.no, "there is no private bus") }
        let properties = CallTarget(BusName.broker, object, "org.freedesktop.DBus.Properties")
        do throws(BusError) {
            return try bus.callAndWait(properties, "Get", interface.description, name).read(reply: Value.self)
        } catch {
            throw CommandFailure(error, service: "the broker")
        }
    }

    /// Has the device moved, beginning now.
    func move(_ motion: String) throws(CommandFailure) {
        guard let bus = self.bus else { return }
        do throws(BusError) {
            _ = try bus.callAndWait(Self.accelerometer, "Inject", motion, noOptions)
        } catch {
            throw CommandFailure(error, service: "the sensor reader")
        }
    }

    /// Writes a policy, which the broker reads when it starts or is told to.
    func write(policy: String) throws(CommandFailure) { try self.write(policy, "\(self.policyDirectory)/10-demo.conf") }

    /// Writes the file of an app, likewise.
    func write(app: String, _ file: String) throws(CommandFailure) {
        try self.write(file, "\(self.appDirectory)/\(app).conf")
    }

    /// Lets the sensor be the location, and plays a journey from a time after its beginning on, when somebody claims it.
    func write(journey: SampleBlock, from start: Timestamp, speed: Double) throws(CommandFailure) {
        let path = "\(self.directory)/journey.csv"
        let location = SensorDescription.location
        let columns = TraceSensor(
            name: location, channels: SensorDescription.channels(of: location), unit: SensorDescription.locationUnits)
        let begin = Timestamp(microseconds: journey.times.first ?? 0) + (start - .zero)
        let values = journey.values
        let bytes: [UInt8]
        do throws(TraceWriter.Problem) {
            var writer = try TraceWriter(TraceHeader(sensors: [columns]))
            for row in 0..<journey.count where journey.times[row] >= begin.microseconds {
                let first = row * journey.channels
                try writer.append(
                    Timestamp(microseconds: journey.times[row]),
                    values.span.extracting(first..<first + journey.channels))
            }
            writer.finish()
            bytes = writer.bytes
        } catch {
            throw CommandFailure(.no, "the journey cannot be written as a trace: \(error)")
        }
        try self.write(String(decoding: bytes, as: UTF8.self), path)
        self.source = "trace:\(path)?speed=\(speed)"
    }

    /// Lets the bus start one of our programs, with the arguments, when something calls its name.
    func write(service name: String, _ program: String, _ arguments: [String]) throws(CommandFailure) {
        let command = ([try self.path(of: program)] + arguments).joined(separator: " ")
        try self.write(
            "[D-BUS Service]\nName=\(name)\nExec=\(command)\n", "\(self.serviceDirectory)/\(name).service")
    }

    func write(_ text: String, _ path: String) throws(CommandFailure) {
        try OutputFile.write(Array(text.utf8), to: path)
    }

    /// Ends everything and removes the directory. Nothing is left when this returns.
    func strike() {
        self.isStriking = true
        self.bus?.close()
        // In the reverse order of starting and one after the other, so that nobody misses its bus.
        for child in self.children.reversed() { self.end(child) }
        // What the bus started ends without its bus, and has its output until then.
        self.linger(atMost: .seconds(1)) { !self.isOutputOpen }
        // Some of it may be another user's.
        if !self.directory.isEmpty { removeAll(self.directory) }
    }

    /// Asks a child to end, and makes it when it does not.
    private func end(_ child: ChildProcess) {
        try? child.terminate()
        self.linger(atMost: .seconds(1)) { child.ending != nil }
        guard child.ending == nil else { return }
        try? child.send(SIGKILL)
        self.linger { child.ending != nil }
    }

    /// Waits whatever went wrong.
    private func linger(atMost span: TimeSpan? = nil, until isSo: () -> Bool) {
        var isLate = false
        let timer = span.map { self.loop.schedule(after: $0.microseconds) { isLate = true } }
        defer { if let timer { self.loop.cancel(timer) } }
        // A loop that fails cannot tell of anything any more.
        try? self.loop.run(until: { isLate || isSo() })
    }

    /// Starts a program. Its end before ours is a failure.
    ///
    /// - Parameters:
    ///   - environment: what it finds in its environment besides ours.
    ///   - user: as whom it runs; `nil`: as we do.
    ///   - isInFront: whether it has the terminal: what is typed, and Ctrl-C.
    @discardableResult
    func start(
        _ title: String, _ program: String, _ arguments: [String], environment: [String: String] = [:],
        as user: UInt32? = nil, mayEnd: Bool = false, isInFront: Bool = false, output: ChildProcess.Stream = .inherit,
        errorOutput: ChildProcess.Stream = .inherit
    ) throws(CommandFailure) -> ChildProcess {
        // setpriv asks the kernel to end the child when we end, however we end.
        var command = ChildProcess.Command("setpriv", ["--pdeathsig", "TERM"])
        if let user { command.arguments += ["--reuid=\(user)", "--regid=\(user)", "--clear-groups"] }
        let lines = environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        command.arguments += ["--"] + (lines.isEmpty ? [] : ["env"] + lines) + [program] + arguments
        command.output = output
        command.errorOutput = errorOutput
        command.input = isInFront ? .inherit : .null
        // Ctrl-C is for us; we end the others in order.
        command.hasOwnGroup = !isInFront
        do throws(SystemError) {
            let child = try ChildProcess(command, on: self.loop) { [weak self] ending in
                guard let self, !self.isStriking, !self.isKilling else { return }
                if !mayEnd { self.fail("\(title) ended: \(ending)") }
            }
            self.children.append(child)
            return child
        } catch {
            throw CommandFailure(.no, "cannot start \(title): \(error)")
        }
    }

    /// Makes a directory for what this user's programs share.
    func makeDirectory(_ name: String, for user: UInt32?) throws(CommandFailure) -> String {
        let path = "\(self.directory)/\(name)"
        // SAFETY: the paths are NUL-terminated strings for the time of the calls.
        var isMade = unsafe mkdir(path, 0o700) == 0
        if let user { isMade = unsafe isMade && chown(path, user, user) == 0 && chmod(self.directory, 0o711) == 0 }
        guard isMade else { throw CommandFailure(.no, "cannot make a directory: \(SystemError.last("mkdir"))") }
        return path
    }

    private func read(
        _ child: ChildProcess, onEnd: @escaping () -> Void = {}, _ onLine: @escaping (String) -> Void
    ) throws(CommandFailure) {
        guard let output = child.takeOutput() else { return }
        let reader = LineReader(output, onEnd: onEnd, onLine)
        do throws(SystemError) {
            try reader.watch(on: self.loop)
        } catch {
            throw CommandFailure(.no, "\(error)")
        }
    }
}
