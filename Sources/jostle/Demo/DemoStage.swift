import DBus
import DaemonSupport
import EventLoop
import Glibc
import JostleClient
import Motion

/// A private bus with both daemons and two subscriber processes on it, for as long as the demo takes.
///
/// Each child dies with us, even when we are killed, and the directory goes with `strike`.
final class DemoStage {
    private let loop: EventLoop
    private var directory = ""
    /// Where the broker looks for policy files; there are none at first, whatever the machine has.
    private var policyDirectory: String { "\(self.directory)/policy" }
    private var policyFile: String { "\(self.policyDirectory)/10-demo.conf" }
    private var children: [ChildProcess] = []
    private(set) var bus: Connection?
    /// A child that ended although nobody asked it to.
    var onCollapse: (String) -> Void = { _ in }
    private var isStriking = false

    init(on loop: EventLoop) { self.loop = loop }

    /// Starts the bus and the two daemons, and connects.
    func build() throws(CommandFailure) {
        try self.makeDirectory()
        let path = "\(self.directory)/bus"
        var address: String?
        let daemon = try self.start(
            "the bus", "dbus-daemon",
            ["--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:path=\(path)"], output: .pipe,
            errorOutput: .null)
        try self.read(daemon) { address = address ?? $0 }
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
        try self.startDaemons(address, bus)
    }

    private func startDaemons(_ address: String, _ bus: Connection) throws(CommandFailure) {
        let names = NameWatch(on: bus)
        var owned: Set<String> = []
        for (program, arguments, name) in [
            ("jostle-sensord", ["--source", "synth:\(DemoStory.rest)"], "org.jostle.Sensors1"),
            ("jostle-brokerd", ["--policy", self.policyDirectory, "--no-journal"], "org.jostle.Broker1"),
        ] {
            guard let path = siblingProgram(program) else {
                throw CommandFailure(.no, "\(program) is not beside this program")
            }
            _ = try self.start(
                program, path, ["--bus", address, "--exit-with-bus", "--log-level", "warning"] + arguments)
            _ = names.follow(name) { owner in if owner != nil { owned.insert(name) } }
        }
        try self.loop.wait(until: { owned.count == 2 || self.children.contains { $0.ending != nil } })
        guard owned.count == 2 else { throw CommandFailure(.no, "a daemon ended before it was ready") }
    }

    /// Starts a subscriber: `jostle watch` under an app id of its own. Its lines come one at a time.
    func startSubscriber(_ app: DemoStory.App, _ onLine: @escaping (String) -> Void) throws(CommandFailure) {
        guard let own = siblingProgram("jostle"), case .address(let address) = self.bus?.address else {
            throw CommandFailure(.no, "this program does not find itself")
        }
        let child = try self.start(
            "the \(app.title)", own,
            [
                "watch", "shake.planar,threshold=\(app.threshold)g", "--app", app.id, "--json", "--bus", address,
            ], output: .pipe)
        try self.read(child, onLine)
    }

    /// Writes a policy for the broker to read.
    func write(_ policy: String) throws(CommandFailure) {
        let file = try OutputFile(self.policyFile)
        do throws(SystemError) {
            try file.write(Array(policy.utf8))
        } catch {
            throw CommandFailure(.no, "\(self.policyFile): \(error)")
        }
    }

    /// Ends everything and removes the directory. Nothing is left when this returns.
    func strike() {
        self.isStriking = true
        self.bus?.close()
        // In the reverse order of starting and one after the other, so that nobody misses its bus.
        for child in self.children.reversed() { self.end(child) }
        guard !self.directory.isEmpty else { return }
        // SAFETY: the paths are NUL-terminated strings for the time of the calls.
        unsafe unlink("\(self.directory)/bus")
        unsafe unlink(self.policyFile)
        unsafe rmdir(self.policyDirectory)
        unsafe rmdir(self.directory)
    }

    /// Asks a child to end, and makes it when it does not.
    private func end(_ child: ChildProcess) {
        try? child.terminate()
        let deadline = Clock.monotonic.now() + 1_000_000
        while child.ending == nil {
            let left = deadline - Clock.monotonic.now()
            if left <= 0 { try? child.send(SIGKILL) }
            guard (try? self.loop.runOnce(timeout: max(left, 10_000))) != nil else { return }
        }
    }

    private func makeDirectory() throws(CommandFailure) {
        var template = Array("\(environmentValue("TMPDIR") ?? "/tmp")/jostle-demo-XXXXXX".utf8CString)
        // SAFETY: the template is a NUL-terminated array of our own.
        guard unsafe mkdtemp(&template) != nil else {
            throw CommandFailure(.no, "cannot make a directory: \(SystemError.last("mkdtemp"))")
        }
        self.directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // SAFETY: the path is a NUL-terminated string for the time of the call.
        guard unsafe mkdir(self.policyDirectory, 0o700) == 0 else {
            throw CommandFailure(.no, "cannot make a directory: \(SystemError.last("mkdir"))")
        }
    }

    private func start(
        _ title: String, _ program: String, _ arguments: [String], output: ChildProcess.Stream = .inherit,
        errorOutput: ChildProcess.Stream = .inherit
    ) throws(CommandFailure) -> ChildProcess {
        // setpriv asks the kernel to end the child when we end, however we end.
        var command = ChildProcess.Command("setpriv", ["--pdeathsig", "TERM", "--", program] + arguments)
        command.output = output
        command.errorOutput = errorOutput
        command.input = .null
        // Ctrl-C is for us; we end the others in order.
        command.hasOwnGroup = true
        do throws(SystemError) {
            let child = try ChildProcess(command, on: self.loop) { [weak self] ending in
                if let self, !self.isStriking { self.onCollapse("\(title) ended: \(ending)") }
            }
            self.children.append(child)
            return child
        } catch {
            throw CommandFailure(.no, "cannot start \(title): \(error)")
        }
    }

    private func read(
        _ child: ChildProcess, _ onLine: @escaping (String) -> Void
    ) throws(CommandFailure) {
        guard let output = child.takeOutput() else { return }
        let reader = LineReader(output, onLine)
        do throws(SystemError) {
            try reader.watch(on: self.loop)
        } catch {
            throw CommandFailure(.no, "\(error)")
        }
    }
}
