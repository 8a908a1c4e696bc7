import DBus
import DaemonSupport
import Glibc
import Loop
import Motion
import Protocol

/// `jostle demo fleet`: three devices, each a bus with real daemons and a bridge, and a real MQTT server between them and an operator.
final class FleetDemo {
    private let terminal: Terminal
    private let isJSON: Bool
    private let loop: EventLoop
    /// The server's, and the operator's.
    private let office: DemoStage
    private let stages: [DemoStage]
    private var story = FleetStory()
    private var server: ChildProcess?
    private var port: UInt16 = 0
    private let start = Clock.boottime.now()

    private static let patience = TimeSpan.seconds(40)
    /// So long a shake and the quiet after it take.
    private static let shake = TimeSpan.milliseconds(1_800)

    init(isJSON: Bool, terminal: Terminal, loop: EventLoop) {
        self.isJSON = isJSON
        self.terminal = terminal
        self.loop = loop
        self.office = DemoStage(motion: DemoStory.rest, on: loop)
        self.stages = FleetStory.devices.map { _ in DemoStage(motion: DemoStory.rest, on: loop) }
    }

    /// Plays the story.
    func run() throws(CommandFailure) {
        defer { self.strike() }
        if !self.isJSON { self.opening() }
        try self.build { _ in FleetStory.ownPolicy }
        try self.play()
        let differences = self.story.differences
        guard differences.isEmpty else {
            throw CommandFailure(.no, "not as it should be: \(differences.joined(separator: "; "))")
        }
    }

    /// Has somebody's command run beside the devices, each of which was shaken once; on the last it did nothing.
    func run(_ words: [String]) throws(CommandFailure) {
        defer { self.strike() }
        let last = FleetStory.devices[FleetStory.devices.count - 1]
        try self.build { FleetStory.ownPolicy + ($0 == last ? FleetStory.nightPolicy : "") + FleetStory.goodPolicy }
        for stage in self.stages { try stage.move(DemoStory.shakes[DemoStory.shakes.count - 1].motion) }
        try self.wait(on: self.office, "not all devices came") { () throws(CommandFailure) in
            try self.command(["list", "--json"], isShown: false).tells(of: FleetStory.devices, areShaken: true)
        }
        var environment = self.operatorEnvironment
        // So that our own programs are found, wherever this one was started.
        let own = siblingProgram("jostle").map { "\($0.dropLast("/jostle".count)):" } ?? ""
        environment["PATH"] = own + (environmentValue("PATH") ?? "/usr/bin:/bin")
        let ending = try self.office.runInFront(words[0], Array(words.dropFirst()), environment: environment)
        guard ending == .exited(0) else { throw CommandFailure(.no, "'\(words[0])' ended: \(ending)") }
    }

    private func strike() { for stage in self.stages + [self.office] { stage.strike() } }

    // MARK: The stage

    private func build(_ policy: (String) -> String) throws(CommandFailure) {
        try self.office.open()
        self.port = try Self.freePort()
        try self.office.write("[Server]\nHost=127.0.0.1\nPort=\(self.port)\nTLS=no\n", self.operatorFile)
        try self.startServer()
        for (name, stage) in zip(FleetStory.devices, self.stages) { try self.build(name, stage, policy(name)) }
    }

    /// Says to the operator's program where the server is.
    private var operatorFile: String { "\(self.office.directory)/fleet.conf" }
    private var operatorEnvironment: [String: String] { ["JOSTLE_FLEET_CONFIG": self.operatorFile] }

    private func startServer() throws(CommandFailure) {
        let path = "\(self.office.directory)/mosquitto.conf"
        try self.office.write(
            """
            listener \(self.port) 127.0.0.1
            allow_anonymous true
            persistence false
            log_dest none

            """, path)
        guard let program = ["mosquitto", "/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"].first(where: isProgram)
        else { throw CommandFailure(.no, "there is no mosquitto: install the package") }
        self.server = try self.office.start("the server", program, ["-c", path])
        try self.wait(on: self.office, "the server does not begin") { () throws(CommandFailure) in
            try Self.use(self.port, to: .reach) != nil
        }
    }

    private func build(_ name: String, _ stage: DemoStage, _ policy: String) throws(CommandFailure) {
        try stage.open(keepsState: true)
        guard let state = stage.stateDirectory else { return }
        let (bridge, configuration) = ("\(stage.directory)/bridge", "\(stage.directory)/bridge.conf")
        try stage.write(
            """
            [Server]
            Host=127.0.0.1
            Port=\(self.port)
            TLS=no

            [Bridge]
            Device=\(name)
            Groups=\(FleetStory.group)

            [Detector \(FleetStory.detector)]
            preset=shake
            threshold=\(FleetStory.threshold)

            [Publish]
            Apps=*

            [Allow]
            Requests=status explain why-not
            Desired=policy
            ConfirmWithin=4s

            """, configuration)
        stage.outside = "\(bridge)/desired"
        stage.onBus = { [unowned self, unowned stage] address throws(CommandFailure) in
            _ = try stage.makeDirectory("bridge", for: nil)
            try stage.start(
                "the bridge of \(name)", try stage.path(of: "jostle-bridge"),
                [
                    "--bus", address, "--config", configuration, "--journal", state, "--state-dir", bridge,
                    "--log-level", "err", "--exit-with-bus",
                ])
            // The broker reads there from its beginning on.
            try self.wait(on: stage, "the bridge of \(name) does not begin") {
                isDirectory("\(bridge)/desired/current/policy.d")
            }
        }
        try stage.write(policy: policy)
        try stage.build()
        var isThere = false
        try stage.startApp(
            "the app of \(name)", "jostle",
            ["watch", "shake,threshold=\(FleetStory.threshold)", "--app", FleetStory.app, "--json"]
        ) { _ in isThere = true }
        try stage.wait(until: { isThere })
    }

    /// Waits until something is so that nobody tells of.
    private func wait(
        on stage: DemoStage, _ words: String, until isSo: () throws(CommandFailure) -> Bool
    ) throws(CommandFailure) {
        let end = Clock.boottime.now() + Self.patience.microseconds
        while try !isSo() {
            guard Clock.boottime.now() < end else { throw CommandFailure(.no, "not as it should be: \(words)") }
            try stage.rest(.milliseconds(50))
        }
    }

    // MARK: The operator

    /// What a command of the operator's printed, and how it ended.
    private final class Outcome {
        var lines: [String] = []
        var child: ChildProcess?
        func has(_ words: String...) -> Bool {
            self.lines.contains { line in words.allSatisfy { contains(line, $0) } }
        }

        /// Whether all of them are there, and an app of each; and that has been shaken.
        func tells(of devices: [String], areShaken: Bool = false) -> Bool {
            devices.allSatisfy { device in
                self.has("\"device\":\"\(device)\"", "\"online\":true", "\"apps\":1")
                    && !(areShaken && self.has("\"device\":\"\(device)\"", "\"hits\":0"))
            }
        }
    }

    private func begin(
        _ words: [String], isShown: Bool = true, _ onLine: @escaping (String) -> Void = { _ in }
    ) throws(CommandFailure) -> Outcome {
        let outcome = Outcome()
        if isShown { self.tell("operator$ jostle fleet \(words.joined(separator: " "))", isCommand: true) }
        outcome.child = try self.office.startCommand(
            "the operator's command", try self.office.path(of: "jostle"), ["fleet"] + words,
            environment: self.operatorEnvironment, errorOutput: isShown ? .inherit : .null
        ) { [unowned self] line in
            outcome.lines.append(line)
            if isShown { self.tell("  \(line)", isCommand: true) }
            onLine(line)
        }
        return outcome
    }

    @discardableResult
    private func command(_ words: [String], isShown: Bool = true) throws(CommandFailure) -> Outcome {
        let outcome = try self.begin(words, isShown: isShown)
        try self.end(outcome)
        return outcome
    }

    private func end(_ outcome: Outcome) throws(CommandFailure) {
        try self.office.wait(until: { outcome.child?.ending != nil })
        // What it wrote last may still be in the pipe.
        try self.office.rest(.milliseconds(100))
    }

    // MARK: The story

    private func play() throws(CommandFailure) {
        try self.arrive()
        try self.apply()
        try self.seeLive()
        try self.outage()
        try self.badPolicy()
    }

    private func happened(_ step: FleetStory.Step) {
        self.story.happened(step)
        self.tell(step.rawValue, isCommand: false)
    }

    private func arrive() throws(CommandFailure) {
        try self.wait(on: self.office, "not all devices came") { () throws(CommandFailure) in
            try self.command(["list", "--json"], isShown: false).tells(of: FleetStory.devices)
        }
        try self.command(["list"])
        self.happened(.present)
    }

    private func apply() throws(CommandFailure) {
        let directory = try self.folder("good", FleetStory.goodPolicy)
        let outcome = try self.command(["apply", directory, "--group", FleetStory.group, "--wait"])
        guard outcome.child?.ending == .exited(0), outcome.has("3 of 3 devices have it") else { return }
        self.happened(.applied)
    }

    private func folder(_ name: String, _ policy: String) throws(CommandFailure) -> String {
        let directory = try self.office.makeDirectory(name, for: nil)
        _ = try self.office.makeDirectory("\(name)/policy.d", for: nil)
        try self.office.write(policy, "\(directory)/policy.d/50-fleet.conf")
        return directory
    }

    private func move(_ device: String) throws(CommandFailure) {
        guard let index = FleetStory.devices.firstIndex(of: device) else { return }
        try self.stages[index].move(DemoStory.shakes[DemoStory.shakes.count - 1].motion)
        try self.stages[index].rest(Self.shake)
    }

    /// Watches, has something done, and returns whether a line with these words came.
    private func sees(
        _ words: String, _ options: [String] = [], while act: () throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> Bool {
        let watching = try self.begin(["watch"] + options)
        // It is there when it tells what the server keeps.
        try self.wait(on: self.office, "nothing is told") { !watching.lines.isEmpty }
        try act()
        func isSeen() -> Bool { watching.has(words) }
        _ = try self.office.wait(atMost: Self.patience, until: isSeen)
        try? watching.child?.terminate()
        try self.end(watching)
        return isSeen()
    }

    private func seeLive() throws(CommandFailure) {
        let words = "kiosk-15  event/\(FleetStory.detector)  "
        if try self.sees(words, while: { () throws(CommandFailure) in try self.move("kiosk-15") }) {
            self.happened(.live)
        }
    }

    private func outage() throws(CommandFailure) {
        guard let server else { return }
        try self.office.kill(server)
        self.tell("the server is killed, and kiosk-16 is shaken", isCommand: false)
        try self.move("kiosk-16")
        let words = "kiosk-16  past/event  "
        // A kiosk that comes before the operator does tells nobody. To a server that has forgotten all it tells it again.
        for _ in 0..<3 {
            try self.startServer()
            guard let server = self.server else { return }
            if try self.sees(words, ["--past"], while: { () throws(CommandFailure) in }) {
                return self.happened(.caughtUp)
            }
            try self.office.kill(server)
        }
    }

    private func badPolicy() throws(CommandFailure) {
        let directory = try self.folder("bad", FleetStory.badPolicy)
        // The server that came back remembers nothing: what is wanted is said again.
        let good = "\(self.office.directory)/good"
        _ = try self.command(["apply", good, "--group", FleetStory.group, "--wait"])
        var canary: String?
        var isWatching = false
        let applying = try self.begin(
            ["apply", directory, "--group", FleetStory.group, "--canary", "5%", "--watch", "2min", "--wait"]
        ) { line in
            canary = canary ?? FleetStory.devices.first { contains(line, " goes to \($0) first") }
            if contains(line, "are watched") { isWatching = true }
        }
        try self.wait(on: self.office, "no canary has it") {
            isWatching && canary != nil || applying.child?.ending != nil
        }
        guard let canary else { return }
        // People try again when nothing happens.
        for _ in 0..<14 where applying.child?.ending == nil { try self.move(canary) }
        _ = try self.office.wait(atMost: Self.patience, until: { applying.child?.ending != nil })
        guard applying.child?.ending == .exited(1), applying.has("stopped: denied jumped"),
            applying.has("the canaries get back what they had")
        else { return }
        self.happened(.stopped)
        let explanation = try self.command(["explain", canary, "--app", FleetStory.app])
        if explanation.has("not delivered", "S2.denied"), explanation.has("[Rule quiet]", "says deny") {
            self.happened(.explained)
        }
        try self.seeRestored(canary)
    }

    private func seeRestored(_ canary: String) throws(CommandFailure) {
        try self.wait(on: self.office, "the canary did not go back") { () throws(CommandFailure) in
            try self.command(["list", "--json"], isShown: false)
                .has("\"device\":\"\(canary)\"", "\"state\":\"applied\"")
        }
        let words = "\(canary)  event/\(FleetStory.detector)  "
        if try self.sees(words, while: { () throws(CommandFailure) in try self.move(canary) }) {
            self.happened(.restored)
        }
    }

    // MARK: Words

    private func tell(_ text: String, isCommand: Bool) {
        let seconds = rounded(Double(Clock.boottime.now() - self.start) / 1_000_000, 1)
        if self.isJSON {
            guard !isCommand else { return }
            var line = JSONLine()
            line.add("t_us", Clock.boottime.now() - self.start, on: .story)
            line.add("what", text)
            self.terminal.print(line.text)
        } else if isCommand {
            self.terminal.print(self.terminal.styled(text, .dim))
        } else {
            self.terminal.print("\(seconds) s  \(text)")
        }
    }

    private func opening() {
        for line in [
            self.terminal.styled("Three kiosks, one server, one operator", .bold), "",
            "Each kiosk has a bus, a sensor, a broker and a bridge of its own. The server is mosquitto. What the operator does stands",
            "in grey, what came of it behind the time.", "",
        ] { self.terminal.print(line) }
    }

    private static func freePort() throws(CommandFailure) -> UInt16 {
        guard let port = try self.use(0, to: .take) else { throw CommandFailure(.no, "\(SystemError.last("bind"))") }
        return port
    }

    private enum PortUse { case take, reach }

    /// Takes a port of this machine's own, or reaches who has it, for a moment; which port it was, `nil` if that failed.
    private static func use(_ port: UInt16, to use: PortUse) throws(CommandFailure) -> UInt16? {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw CommandFailure(.no, "\(SystemError.last("socket"))") }
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: the address is ours, and as large as is said.
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                switch use {
                case .take: unsafe bind(socket, $0, size) | getsockname(socket, $0, &size)
                case .reach: unsafe connect(socket, $0, size)
                }
            }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }
}

/// Whether a text stands in another one.
private func contains(_ text: String, _ part: String) -> Bool {
    let (text, part) = (Array(text.utf8), Array(part.utf8))
    guard part.count <= text.count else { return false }
    return (0...text.count - part.count).contains { text[$0..<$0 + part.count].elementsEqual(part) }
}
