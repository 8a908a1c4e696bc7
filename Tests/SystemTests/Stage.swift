import Glibc
import TestSupport
import Testing

/// A bus with the daemons on it, for one test.
///
/// Nothing here waits for a time: all waiting is for a line, a name or a property, and ends at a deadline.
final class Stage {
    private(set) var bus: PrivateBus
    /// What everybody connects to; stays the same when another bus takes the place of the first.
    let address: String
    let spare: PrivateBus?
    private(set) var reader: BackgroundProgram?
    private(set) var broker: BackgroundProgram?
    /// By the bus that they look at.
    private var readers: [String: PropertyReader] = [:]

    /// Motion that never crosses a threshold by itself: a device that lies still, flat on the table.
    static let rest = "synth:seed=1; noise=0.05g; gravity=z"
    /// A detector that is hit at each look, ten times a second: gravity is always there.
    static let always = "shake.magnitude,threshold=0.5g,rest=0s"

    /// A trace of an accelerometer, in g: rows of a time in µs and three values.
    static func trace(_ rows: some Sequence<String>) -> String {
        "# jostle trace 1\n# sensor: accelerometer\n# unit: g\nt,x,y,z\n" + rows.map { $0 + "\n" }.joined()
    }

    /// - Parameters:
    ///   - source: Where the reader takes its samples from; `nil`: no reader.
    ///   - broker: False: no broker.
    ///   - replaceable: True: the bus can be killed and replaced by another at the same address.
    ///   - program: What that other one is.
    ///   - bus: One that is there already.
    ///   - policed: True: the bus has the rules of a system bus, and those we install; root may have any name.
    init(
        source: String? = Stage.rest, broker: Bool = true, replaceable: Bool = false,
        spare program: PrivateBus.Implementation? = nil, services: [PrivateBus.Service] = [],
        files: [String: String] = [:],
        readerPolicy: String? = nil, policed: Bool = false, on bus: PrivateBus? = nil
    ) throws {
        self.bus = try bus ?? (policed ? Self.systemBus() : PrivateBus(services: services, files: files))
        self.spare = replaceable ? try PrivateBus(services: services, on: program) : nil
        if let spare {
            // The address leads through a link: to the first bus, and later to the other.
            self.address = "unix:path=\(spare.directory)/current/bus"
            #expect(symlink(self.bus.directory, "\(spare.directory)/current") == 0)
        } else {
            self.address = self.bus.address
        }
        if let source { try self.startReader(source, policy: readerPolicy) }
        if broker { try self.startBroker() }
    }

    /// A plain service, which everybody may call whatever the rules of the bus are.
    static let yardstick = "org.example.Yardstick"

    private static func systemBus() throws -> PrivateBus {
        // The user that the daemons run as where they are installed need not be there; `daemon` is.
        let policy = try Tool.run(["sed", "s/user=\"jostle\"/user=\"1\"/", Programs.source("dbus/org.jostle.conf")])
        return try PrivateBus(
            .system(policies: ["org.jostle.conf"]),
            additions: """
                <policy user="root"><allow own="*"/></policy>
                <policy context="default"><allow send_destination="\(self.yardstick)"/>
                <allow send_destination="org.freedesktop.PolicyKit1"/></policy>
                """,
            files: ["org.jostle.conf": policy.stdout])
    }

    deinit {
        // The bus last, so that nobody complains about its end.
        for program in [self.broker, self.reader] { _ = try? program?.terminate() }
        self.bus.stop()
        self.spare?.stop()
    }

    /// Kills the bus, and lets `meanwhile` look around before another one is there at the same address.
    ///
    /// - Parameter other: That one, after the first time: then it is the spare.
    func replaceBus(by other: PrivateBus? = nil, _ meanwhile: () throws -> Void = {}) throws {
        let spare = try #require(self.spare)
        let next = other ?? spare
        // It is our own, and not reaped before `stop`.
        #expect(Glibc.kill(self.bus.pid, SIGKILL) == 0)
        try meanwhile()
        #expect(unlink("\(spare.directory)/current") == 0)
        #expect(symlink(next.directory, "\(spare.directory)/current") == 0)
        self.bus.stop()
        self.bus = next
        // They are connected with the one that is gone.
        self.readers = [:]
    }

    // MARK: Daemons

    /// Lets everybody read as fast as can be.
    static let fast = "[App *]\nFastestRate=10000Hz\n"

    /// - Parameters:
    ///   - policy: What its one policy file says.
    ///   - tool: A command that becomes the reader, with its arguments.
    func startReader(
        _ sources: String..., on address: String? = nil, policy: String? = nil, environment: [String: String] = [:],
        under tool: [String] = []
    ) throws {
        let address = address ?? self.address
        var options = sources.flatMap { ["--source", $0] }
        if let policy { options += ["--policy", try self.directory("reader-policy", ["10-test": policy])] }
        let program = try BackgroundProgram(
            "jostle-sensord", ["--bus", address] + options, environment: environment, under: tool)
        try Self.waitUntilServing(program)
        self.reader = program
    }

    /// A directory that is there as long as the stage.
    var home: String { (self.spare ?? self.bus).directory }

    /// Where the broker keeps what it keeps.
    var state: String { "\(self.home)/state" }

    /// - Parameter tool: a command that becomes the broker, with its arguments.
    func startBroker(
        _ arguments: String..., on address: String? = nil, environment: [String: String] = [:],
        under tool: [String] = []
    ) throws {
        try self.startBroker(options: arguments, on: address, environment: environment, under: tool)
    }

    func startBroker(
        options: [String], on address: String? = nil, environment: [String: String] = [:], under tool: [String] = []
    ) throws {
        let program = try BackgroundProgram(
            "jostle-brokerd", ["--bus", address ?? self.address, "--state-dir", self.state] + options,
            environment: environment, under: tool)
        try Self.waitUntilServing(program)
        self.broker = program
    }

    /// Starts a broker with this policy and no other, and these app files, by app id.
    func startBroker(policy: String, apps: [String: String] = [:], _ arguments: String...) throws {
        var options: [String] = []
        for (kind, files) in [("policy", ["10-test": policy]), ("apps", apps)] {
            options += ["--\(kind)", try self.directory(kind, files)]
        }
        let program = try BackgroundProgram("jostle-brokerd", ["--bus", self.address] + options + arguments)
        try Self.waitUntilServing(program)
        self.broker = program
    }

    /// Starts a broker whose one policy file says this.
    func startBroker(policy text: String) throws {
        try self.startBroker("--policy", try self.directory("policy", ["10-test": text]))
    }

    /// A directory of the stage's with these files of policy, or of apps.
    func directory(_ name: String, _ files: [String: String]) throws -> String {
        let directory = "\(self.home)/\(name)"
        try #require(mkdir(directory, 0o755) == 0 || errno == EEXIST)
        for (name, text) in files {
            let file = try #require(fopen("\(directory)/\(name).conf", "w"))
            fputs(text, file)
            try #require(fclose(file) == 0)
        }
        return directory
    }

    /// A daemon says so when the bus has given it its name.
    static func waitUntilServing(_ program: BackgroundProgram) throws {
        _ = try program.waitForLine(on: .errors) {
            $0.hasSuffix("serving the session bus") || $0.contains("serving the bus at")
        }
    }

    /// Ends a daemon as only the kernel can, and returns when it is gone.
    func kill(_ program: BackgroundProgram?) throws {
        let program = try #require(program)
        try program.signal(SIGKILL)
        #expect(try program.waitForEnd() == .killed(signal: SIGKILL))
    }

    /// A service file as it is installed, with the programs of this build.
    static func installedService(_ name: String) throws -> PrivateBus.Service {
        let file = Programs.source("dbus/services/\(name).service.in")
        let lines = try Tool.run(["sed", "-n", "s|^Exec=@libexecdir@|\(Programs.directory)|p", file]).stdout
        return PrivateBus.Service(name: name, command: String(lines.dropLast()))
    }

    /// A service file with which a bus starts a reader of its own, as none is installed for a session bus.
    static func readerService(_ options: String...) -> PrivateBus.Service {
        let command = [Programs.path(of: "jostle-sensord"), "--bus", "session", "--exit-with-bus"] + options
        return PrivateBus.Service(name: "org.jostle.Sensors1", command: command.joined(separator: " "))
    }

    // MARK: Programs

    /// What makes a program take our bus for its session bus.
    var environment: [String: String] {
        [
            "DBUS_SESSION_BUS_ADDRESS": self.address, "XDG_STATE_HOME": self.state,
            // What this machine has is no matter of a test's.
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
            // The package of this source, and nothing written beside it.
            "PYTHONPATH": Programs.source("Sources/python"), "PYTHONDONTWRITEBYTECODE": "1",
        ]
    }

    /// Runs a tool whose session bus is ours.
    func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Tool.Result {
        try Tool.run(arguments, environment: self.environment.merging(environment) { $1 })
    }

    func busctl(_ arguments: String...) throws -> Tool.Result { try self.busctl(arguments) }

    func busctl(_ arguments: [String]) throws -> Tool.Result {
        try Tool.run(["busctl", "--address=\(self.address)"] + arguments)
    }

    /// Runs `jostle` to its end.
    func jostle(_ arguments: String..., environment: [String: String] = [:]) throws -> Tool.Result {
        try self.jostle(arguments, environment: environment)
    }

    func jostle(_ arguments: [String], environment: [String: String] = [:]) throws -> Tool.Result {
        try Tool.run(
            [Programs.path(of: "jostle")] + arguments, environment: self.environment.merging(environment) { $1 })
    }

    /// Starts `jostle` and lets it run.
    func start(_ arguments: String..., environment: [String: String] = [:]) throws -> BackgroundProgram {
        try BackgroundProgram("jostle", arguments, environment: self.environment.merging(environment) { $1 })
    }

    /// Starts `jostle watch --json` and returns when its detectors are in force.
    func watch(_ arguments: String...) throws -> BackgroundProgram {
        let program = try BackgroundProgram(
            "jostle", ["watch", "--json"] + arguments, environment: self.environment)
        _ = try program.waitForLine { $0.hasPrefix("{\"watching\":") }
        return program
    }

    /// Starts an app that reads whatever comes as fast as it can, and says at its end what it was; returns when its
    /// detector is in force.
    func reader(of condition: String, every microseconds: Int, _ app: String) throws -> BackgroundProgram {
        let program = try BackgroundProgram(
            "jostle-baseline",
            [
                "subscribe", "--bus", self.address, "--broker", "--app", app, "--count", "1000000", "--when", condition,
                "--every", "\(microseconds)", "--rest", "0", "--timeout", "86400",
            ])
        _ = try program.waitForLine { $0.hasPrefix(":") }
        return program
    }

    /// Ends such an app, and returns what it says.
    func figures(of reader: BackgroundProgram) throws -> String {
        try reader.signal(SIGTERM)
        return try reader.waitForLine { $0.hasPrefix("{") }
    }

    /// Adds motion to what the accelerometer reads.
    func inject(_ motion: String) throws {
        let result = try self.busctl(
            "call", "org.jostle.Sensors1", Object.accelerometer, "org.jostle.Sensors1.Sensor", "Inject", "sa{sv}",
            motion, "0")
        #expect(result.status == 0, "\(result.stderr)")
    }

    /// Shakes, long enough after the motion before for a detector to have rested.
    func shakeAfterRest(peak: Int = 4) throws {
        try self.inject("rest 2s; shake peak=\(peak)g for=600ms")
    }

    /// Lets a script speak on the bus, and returns what it printed.
    func script(_ steps: String...) throws -> [String] { try self.script(steps) }

    func script(_ steps: [String]) throws -> [String] {
        let result = try self.run(
            ["python3", Programs.source("Tests/Scripts/bus-script.py"), self.address] + steps)
        try #require(result.status == 0, "\(result.stderr)")
        return result.stdout.split(separator: "\n").map(String.init)
    }

    /// What makes a command that of somebody who has nothing to do with us, and of another. Only root can.
    static let (nobody, somebody) = (Stage.user(65_534), Stage.user(1))

    private static func user(_ id: UInt32) -> [String] {
        ["setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups", "--"]
    }

    /// The same as another user, for whom the way to the bus is opened.
    func script(as user: [String], _ steps: [String]) throws -> [String] {
        let result = try Tool.run(try self.scriptCommand(of: user) + steps)
        try #require(result.status == 0, "\(result.stderr)")
        return result.stdout.split(separator: "\n").map(String.init)
    }

    /// The same, and its connections stay.
    func startScript(as user: [String], _ steps: [String]) throws -> BackgroundProgram {
        try BackgroundProgram(tool: try self.scriptCommand(of: user) + steps + ["stay"])
    }

    private func scriptCommand(of user: [String]) throws -> [String] {
        try #require(chmod(self.bus.directory, 0o755) == 0)
        return user + ["/usr/bin/python3", Programs.source("Tests/Scripts/bus-script.py"), self.address]
    }

    /// Starts a script whose connections stay.
    func startScript(_ steps: String...) throws -> BackgroundProgram { try self.startScript(steps) }

    func startScript(_ steps: [String]) throws -> BackgroundProgram {
        let program = try BackgroundProgram(
            tool: ["python3", Programs.source("Tests/Scripts/bus-script.py"), self.address] + steps + ["stay"])
        return program
    }

    // MARK: What the daemons show

    /// Who owns a name.
    func uniqueName(_ name: String) throws -> String {
        let answer = try self.busctl(
            "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetNameOwner", "s", name)
        return String(try #require(answer.stdout.split(separator: "\"").dropFirst().first))
    }

    enum Object {
        static let sensors = "/org/jostle/Sensors1"
        static let accelerometer = "/org/jostle/Sensors1/accelerometer"
        static let broker = "/org/jostle/Broker1"

        static func app(_ id: String) -> String {
            "\(self.broker)/apps/" + id.split(separator: ".", omittingEmptySubsequences: false).joined(separator: "_2e")
        }
    }

    /// A property as busctl prints it: `t 5`.
    func property(_ name: String, at path: String, on address: String? = nil) throws -> String {
        let service = path.hasPrefix(Object.sensors) ? "org.jostle.Sensors1" : "org.jostle.Broker1"
        let interface =
            switch path {
            case Object.sensors, Object.broker: service
            case _ where path.hasPrefix(Object.sensors): "\(service).Sensor"
            default: "\(service).App"
            }
        let address = address ?? self.address
        let reader = self.readers[address] ?? PropertyReader(address)
        self.readers[address] = reader
        return reader.property(name, of: interface, at: path, from: service)
    }

    /// A property of type `t`.
    func count(_ name: String, at path: String) throws -> UInt64 {
        let text = try self.property(name, at: path)
        return try #require(text.hasPrefix("t ") ? UInt64(text.dropFirst(2)) : nil, "\(path) \(name): \(text)")
    }

    /// What another program reads in one of the broker's files while the broker has it open: a row a line.
    func sql(_ name: String, _ query: String) throws -> String {
        let result = try Tool.rows(of: "\(self.state)/\(name)", query)
        try #require(result.status == 0, "\(result.stderr)")
        return result.stdout
    }

    /// Waits until an app that is registered, or soon is, was sent one more event.
    func untilEventsReach(_ app: String) throws {
        var before: String?
        try self.until("\(app) has events") {
            let now = try self.property("Delivered", at: Object.app(app))
            guard now.hasPrefix("t ") else { return false }
            defer { before = before ?? now }
            return before.map { now != $0 } ?? false
        }
    }

    /// Waits until a broker that has begun knows that an app is durable: it waits 250 ms for what the disk says, and goes on without.
    func untilDurable(_ app: String) throws {
        try self.until("what lasts is known") { try self.property("Durable", at: Object.app(app)) == "b true" }
    }

    /// Looks again and again until `isSo`. Between two looks the processors are left to those who are looked at.
    func until(
        _ what: String, timeout: Duration = .seconds(20), _ isSo: () throws -> Bool
    ) throws {
        let deadline = ContinuousClock.now + timeout
        while try !isSo() {
            guard ContinuousClock.now < deadline else { throw Failure("\(what): not within \(timeout)") }
            usleep(5_000)
        }
    }
}

/// The next event that `jostle watch --json` prints.
extension BackgroundProgram {
    func nextEvent(where fits: (String) -> Bool = { _ in true }) throws -> String {
        try self.waitForLine { $0.hasPrefix("{\"detector\":") && fits($0) }
    }

    /// Waits until the kernel has stopped the program.
    func stop() throws {
        try self.signal(SIGSTOP)
        let deadline = ContinuousClock.now + .seconds(20)
        while !(try Tool.run(["grep", "^State:", "/proc/\(self.pid)/status"]).stdout.contains("T (stopped)")) {
            guard ContinuousClock.now < deadline else { throw Failure("\(self.name) does not stop") }
        }
    }
}

/// What stands after `key` in a line of JSON that `jostle` wrote: a number, or a text with its quotes.
func field(_ key: String, of line: String) -> String? {
    let pattern = "\"\(key)\":"
    guard let start = line.range(of: pattern) else { return nil }
    return String(line[start.upperBound...].prefix { $0 != "," && $0 != "}" })
}

func number(_ key: String, of line: String) -> Double? { field(key, of: line).flatMap(Double.init) }

extension String {
    /// Where a text begins and ends in this one.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = self.startIndex
        while start < self.endIndex {
            if self[start...].hasPrefix(text) { return start..<self.index(start, offsetBy: text.count) }
            start = self.index(after: start)
        }
        return nil
    }
}
