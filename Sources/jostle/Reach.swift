import DBus
import DaemonSupport
import Loop

/// Whom a command speaks to: that decides which of the options for all commands mean something to it, and how it can end.
enum Reach {
    case nobody
    /// Processes on a bus of its own.
    case ownBus
    /// A server, by another program.
    case server
    /// Nobody; but which bus is meant says which files are.
    case files
    case broker
    /// Whoever looks at this session's windows.
    case focus
    case sensors
    case both
    /// Whoever is there: that somebody is not is what it finds out.
    case whoeverIsThere

    /// The options above a command that would do nothing.
    fileprivate var refused: [any OptionDeclaration] {
        switch self {
        case .nobody, .ownBus, .server: [CommonOption.bus, CommonOption.sensorBus]
        case .files, .broker, .focus: [CommonOption.sensorBus]
        // The broker's bus that is told is where the reader is, too, unless another one is.
        case .sensors, .both, .whoeverIsThere: []
        }
    }

    fileprivate var exits: [ExitCode] {
        switch self {
        case .nobody, .files, .whoeverIsThere: [.done, .no, .usage]
        case .ownBus, .server, .broker, .focus, .sensors, .both: ExitCode.allCases
        }
    }
}

/// Where a command looks for the reader.
///
/// One rule for all commands: on the bus that they are told; else on the session bus, if it is there or can be started there, and else
/// on the system bus, where it is installed.
enum ReaderBus {
    case told(BusAddress)
    case found

    init(_ arguments: Arguments) throws(UsageProblem) {
        let (own, bus) = (
            try arguments.value(of: CommonOption.sensorBus), try arguments.value(of: CommonOption.bus)
        )
        self = (own ?? bus).map { .told($0) } ?? .found
    }
}

extension Service {
    /// The reader, wherever it is. Where there is none, that is said of the session bus.
    ///
    /// - Parameters:
    ///   - patience: how long an answer may take, in ms.
    ///   - starting: whether the bus is to start it for a call.
    static func sensors(
        on bus: ReaderBus, _ loop: EventLoop, within patience: Int32? = nil, starting: Bool = true
    ) throws(CommandFailure) -> Service {
        if case .told(let address) = bus {
            return try self.sensors(on: address, loop, within: patience, starting: starting)
        }
        let own: Service
        do throws(CommandFailure) {
            own = try self.sensors(on: .session, loop, within: patience, starting: starting)
            if try own.isThereOrCanStart() { return own }
        } catch {
            guard let other = try? self.sensors(on: .system, loop, within: patience, starting: starting),
                try other.isThereOrCanStart()
            else { throw error }
            return other
        }
        guard let other = try? self.sensors(on: .system, loop, within: patience, starting: starting),
            try other.isThereOrCanStart()
        else {
            return own
        }
        own.connection.close()
        return other
    }
}

extension CommandSyntax {
    /// A command of `jostle`.
    ///
    /// - Parameter exits: what codes mean that do not mean the usual.
    init(
        _ name: String, _ summary: String, reaching reach: Reach, options: [any OptionDeclaration] = [],
        arguments: [CommandArgument] = [], trailing: CommandArgument? = nil, notes: [HelpTable] = [],
        exits: [ExitCode: String] = [:], action: @escaping @Sendable (Invocation) throws -> Void
    ) {
        let perform = Invocation.action(action)
        self.init(
            name, summary, options: options, arguments: arguments, trailing: trailing, refusing: reach.refused,
            notes: notes, exits: reach.exits.map { ExitStatus($0, exits[$0]) }
        ) { arguments in
            if reach == .sensors, arguments.has(CommonOption.bus), arguments.has(CommonOption.sensorBus) {
                throw UsageProblem("\(name): --bus has no effect beside --sensor-bus")
            }
            try perform(arguments)
        }
    }

    /// A command that shows one app, to people or to machines.
    static func ofOneApp(
        _ name: String, _ summary: String,
        _ show: @escaping @Sendable (_ app: String, Invocation) throws -> Void
    ) -> CommandSyntax {
        CommandSyntax(
            name, summary, reaching: .broker, options: [CommonOption.json], arguments: [CommonArgument.app],
            exits: [.no: "there is no such app, or it did not work out"]
        ) { try show($0.arguments.positionals[0], $0) }
    }
}
