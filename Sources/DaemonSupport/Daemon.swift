package import DBus
package import Loop

/// What both daemons do from the command line to the end: one connection, one name, signals, readiness.
package final class Daemon {
    package static let busOption = TypedOption.bus("bus", "the bus to serve: session (default), system or an address")
    package static let levelOption = TypedOption(
        "log-level", "LEVEL", "the least important messages to write: err, warning, notice, info or debug",
        naming: .oneOf(["err", "warning", "notice", "info", "debug"]), expected: "a log level"
    ) { LogLevel(name: $0) }
    /// For the bus's own activation files: whoever was started by a bus has no work on another.
    package static let exitWithBusOption = CommandOption.flag(
        "exit-with-bus", "end when the bus goes away, rather than wait for it to come back")
    package static let options: [any OptionDeclaration] = [busOption, levelOption, exitWithBusOption]

    package let loop: EventLoop
    package let log: Log
    package let bus: Connection
    private let services: ServiceManager
    private let exitsWithBus: Bool
    private var exitCode = ExitCode.done
    /// What was said last to keep us from the bus.
    private var obstacle: Connection.Obstacle?
    /// The bus was ready once.
    private var isStarted = false

    /// Longest time between two attempts to reach a bus that went away, in µs.
    package static let longestRetry: Int64 = 5_000_000
    /// How long the start waits for a bus that has no room, in µs: without one there is nothing to do.
    private static let longestOpening: Int64 = 20_000_000

    /// Reads the options common to daemons and prepares everything; nothing is sent yet.
    package init(_ name: String, owning busName: String, _ arguments: Arguments) throws {
        let level = try arguments.value(of: Self.levelOption)
        let address = try arguments.value(of: Self.busOption) ?? .session
        self.loop = try EventLoop()
        self.log = Log(program: name, level: level ?? .info)
        self.log.summarize(on: self.loop)
        self.services = ServiceManager(log: self.log)
        self.exitsWithBus = arguments.has(Self.exitWithBusOption)
        self.bus = Connection(
            to: address, on: self.loop, names: [busName], retry: .upTo(microseconds: Self.longestRetry))
        // On the system bus there are many users, into whose sandboxes we cannot look.
        if address != .system {
            self.bus.lookForSandboxes { (credentials) throws(BusError) in try credentials.findSandbox() }
        }
        self.bus.export(Self.logControl(name, self.log).exportedObject())
    }

    /// `busctl set-property … LogLevel s debug` while the daemon runs.
    private static func logControl(_ name: String, _ log: Log) -> LogControl {
        LogControl(
            identifier: name,
            // Standard error is all we write to; where that leads is our keeper's business.
            target: LogControl.Setting(allowed: ["console"], get: { "console" }, set: { _ in }),
            level: { log.level.name },
            // Nothing we say is graver than an error.
            setLevel: { log.level = LogLevel(name: $0) ?? .error })
    }

    /// Serves until a signal says otherwise.
    ///
    /// - Parameters:
    ///   - ready: the bus is there, or there again; the name is ours.
    ///   - lost: the bus went away.
    ///   - reload: SIGHUP.
    ///   - leaving: it is over, and what is said now is said before we leave the bus.
    package func run(
        ready: @escaping () -> Void, lost: @escaping () -> Void, reload: @escaping () -> Void = {},
        leaving: () -> Void = {}
    ) throws -> ExitCode {
        self.bus.onReady = { [unowned self] in
            self.obstacle = nil
            ready()
            self.services.ready()
            self.log.info("serving the \(self.bus.address.description)")
            guard !self.isStarted else { return }
            self.isStarted = true
            self.loop.turns.add {
                FreeMemory.forgetWhatRan()
                return false
            }
        }
        self.bus.onLost = { [unowned self] in
            lost()
            guard self.exitsWithBus else { return self.log.warning("the bus is gone; waiting for it to come back") }
            self.loop.stop()
        }
        self.bus.onRefused = { [unowned self] error in
            self.log.error(
                error.message, as: LogEvent(refusal: error),
                about: [.bus: self.bus.address.description, .reason: error.message])
            self.exitCode = .no
            self.loop.stop()
        }
        self.bus.onHeldUp = { [unowned self] obstacle, error in
            defer { self.obstacle = obstacle }
            guard self.obstacle != obstacle else { return }
            self.log.warning(
                "\(error.message); waiting \(obstacle == .name ? "for it" : "for the bus that was there")",
                as: obstacle == .name ? LogEvent(refusal: error) : nil,
                about: [.bus: self.bus.address.description, .reason: error.message])
        }
        try self.loop.onSignals(Startup.signals) { [unowned self] signal in
            if signal == Startup.reloadSignal { reload() } else { self.loop.stop() }
        }
        do throws(BusError) {
            try self.bus.open(within: Self.longestOpening)
        } catch {
            self.log.error("no bus: \(error)")
            return .noService
        }
        self.services.startWatchdog(on: self.loop)
        try self.loop.run()
        self.services.stopping()
        leaving()
        self.bus.close()
        self.log.flush()
        return self.exitCode
    }
}

extension LogEvent {
    /// What it is that we do not get our name; `nil`: the bus says why, and nobody else has it.
    init?(refusal error: BusError) {
        // Of a name that is taken we say ourselves that it failed. A bus refuses one by its rules, or has no room for it.
        guard error.hasFailed else { return nil }
        self = .alreadyRunning
    }
}
