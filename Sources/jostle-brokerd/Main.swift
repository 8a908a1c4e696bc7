import DBus
import DaemonSupport
import Journal
import Loop
import Motion
import PolicyFiles
import Protocol

/// jostle-brokerd: evaluates all apps' detectors once, decides who reacts, and tells them.
@main
struct Main {
    private enum SensorBus {
        case auto
        case told(BusAddress)
    }

    private static let sensorBusOption = TypedOption<SensorBus>(
        "sensor-bus", "BUS",
        "the bus of the sensor reader, if it is another one; auto: the system bus, if a reader is there or can be started there, else "
            + "the broker's own", naming: .oneOf(["auto", "session", "system"]),
        expected: "auto, session, system or a bus address"
    ) { $0 == "auto" ? .auto : BusAddress($0).map { .told($0) } }
    private static let latencyOption = TypedOption<TimeSpan>(
        "batch-latency", "TIME",
        "how long the reader may hold samples back so that several travel together, such as 100ms (default: 0)",
        expected: "a time up to \(Int(SensorLimits.batchLatency.seconds)) s, such as 100ms"
    ) { text in
        guard let quantity = try? Quantity.parse(text), quantity.dimension == .time,
            let span = TimeSpan(seconds: quantity.value)
        else { return nil }
        return (.zero...SensorLimits.batchLatency).contains(span) ? span : nil
    }
    private static let streamsOption = TypedOption<Double>(
        "streams-from", "RATE",
        "take samples past the bus, over a descriptor, from so many messages a second on (default: "
            + "\(Int(SensorLink.streamsFrom))Hz)", expected: "a rate, such as 50Hz"
    ) { text in
        guard let quantity = try? Quantity.parse(text), quantity.value >= 0,
            [.frequency, .none].contains(quantity.dimension)
        else { return nil }
        return quantity.value
    }
    private static let policyOption = CommandOption.value(
        "policy", "DIR",
        "read policy files here and nowhere else; a later directory overrides an earlier one", naming: .directory,
        repeats: true)
    private static let appsOption = CommandOption.value(
        "apps", "DIR", "read app files here and nowhere else; a later directory overrides an earlier one",
        naming: .directory, repeats: true)
    private static let outsideOption = CommandOption.value(
        "outside", "DIR",
        "where a bridge keeps policy and app files from outside (default: where that of the same bus does, without "
            + "--policy; none with it)", naming: .directory)
    private static let loginBusOption = TypedOption.bus(
        "login-bus",
        "the bus where logind tells of the lock and of sleep (default: system; that of --bus if it is an address)")
    private static let recordOption = CommandOption.value(
        "record-inputs", "FILE", "write a scenario of everything that the broker decides by, for 'jostle scenario'",
        naming: .file)
    private static let decisionsOption = CommandOption.value(
        "decision-log", "FILE", "write what is decided, as 'jostle scenario' prints it", naming: .file)
    private static let syntax = CommandSyntax(
        "jostle-brokerd", "Evaluates the detectors of all apps and gives each its events.",
        options: [
            policyOption, appsOption, outsideOption, sensorBusOption, loginBusOption, latencyOption, streamsOption,
            recordOption,
            decisionsOption,
        ] + StoreLink.options + Daemon.options)

    static func main() {
        do {
            try Startup.prepareDaemon()
            let arguments = self.syntax.parseOrExit()
            let daemon = try Daemon(self.syntax.name, owning: BusName.broker, arguments)
            let sensorBuses = try self.sensorBuses(arguments, daemon)
            let latency = try arguments.value(of: self.latencyOption) ?? .zero
            let streamsFrom = try arguments.value(of: self.streamsOption) ?? SensorLink.streamsFrom
            let policy = PolicySource(
                try arguments.directories(of: self.policyOption),
                outside: try self.outside(.policy, arguments, daemon), environment: environmentValue)
            let apps = try self.apps(arguments, daemon)
            let record = try BrokerRecord(
                inputs: arguments.value(of: self.recordOption), decisions: arguments.value(of: self.decisionsOption),
                on: daemon.loop, daemon.log)
            // After all that could be wrong with the command line, and as long as can be before it is needed.
            let store = try StoreLink(arguments, on: daemon)
            let service = try BrokerService(
                on: daemon.loop, bus: daemon.bus, sensorBuses: sensorBuses,
                loginBus: try self.loginBus(arguments, daemon),
                policy: policy, apps: apps, batchLatency: latency, streamsFrom: streamsFrom, store: store,
                record: record, log: daemon.log)
            try service.links.sensors.open()
            let code = try daemon.run(
                ready: { service.busReady() }, lost: { service.busLost() }, reload: { service.links.policy.reload() })
            record.flush()
            service.links.history.end()
            store?.close()
            code.exit()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch let problem as DirectoryInUse {
            Log(program: self.syntax.name).error(
                "\(problem)", as: .alreadyRunning, about: [.reason: "\(problem)"])
            ExitCode.no.exit()
        } catch {
            Log(program: self.syntax.name).error("\(error)")
            ExitCode.no.exit()
        }
    }

    /// Where app files are. On the system bus there are many users, and none of them speaks for all.
    private static func apps(_ arguments: Arguments, _ daemon: Daemon) throws(UsageProblem) -> AppSource {
        let given = try arguments.directories(of: self.appsOption)
        let outside = try self.outside(.apps, arguments, daemon)
        return daemon.bus.address == .system
            ? AppSource(given, outside: outside) : AppSource(given, outside: outside, user: environmentValue)
    }

    /// Where files from outside are, if they are to be read.
    private static func outside(
        _ kind: PolicyDirectories.OutsideKind, _ arguments: Arguments, _ daemon: Daemon
    ) throws(UsageProblem) -> String? {
        if let given = arguments.value(of: self.outsideOption) { return "\(given)/current/\(kind.rawValue)" }
        guard try arguments.directories(of: self.policyOption).isEmpty,
            try arguments.directories(of: self.appsOption).isEmpty
        else { return nil }
        return PolicyDirectories.outside(ofSystem: daemon.bus.address == .system, kind, environmentValue)
    }

    /// Where logind is.
    private static func loginBus(_ arguments: Arguments, _ daemon: Daemon) throws(UsageProblem) -> Connection {
        let own = daemon.bus.address
        let address = try arguments.value(of: self.loginBusOption) ?? (own == .session ? .system : own)
        return address == own ? daemon.bus : Self.connection(to: address, daemon)
    }

    /// Where the reader may be: with a connection of its own when that is another bus than the apps'.
    private static func sensorBuses(_ arguments: Arguments, _ daemon: Daemon) throws(UsageProblem) -> [Connection] {
        let own = daemon.bus.address
        let addresses: [BusAddress]
        switch try arguments.value(of: self.sensorBusOption) {
        case nil: addresses = [own]
        case .told(let address): addresses = [address]
        case .auto: addresses = own == .system ? [own] : [.system, own]
        }
        return addresses.map { $0 == own ? daemon.bus : Self.connection(to: $0, daemon) }
    }

    /// A connection to another bus than the apps'. One that was there is waited for.
    private static func connection(to address: BusAddress, _ daemon: Daemon) -> Connection {
        Connection(to: address, on: daemon.loop, retry: .upTo(microseconds: Daemon.longestRetry))
    }
}
