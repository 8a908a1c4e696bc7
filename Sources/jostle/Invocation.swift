import DBus
import DaemonSupport
import JostleClient
import Loop

/// A command line of `jostle` that is carried out: what it says, and what commands need for it.
struct Invocation {
    let arguments: Arguments
    let terminal: Terminal
    let loop: EventLoop
    let bus: BusAddress
    let sensorBus: ReaderBus

    var isJSON: Bool { self.arguments.has(CommonOption.json) }

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        self.terminal = Terminal()
        self.loop = try EventLoop()
        self.bus = try arguments.value(of: CommonOption.bus) ?? .session
        self.sensorBus = try ReaderBus(arguments)
    }

    /// What a command does, for its table; it has failed, too, when its output could not be written.
    static func action(_ body: @escaping @Sendable (Invocation) throws -> Void) -> CommandSyntax.Action {
        { arguments in
            let invocation = try Invocation(arguments)
            try body(invocation)
            try invocation.terminal.output.check()
        }
    }
}

extension JostleApp.Bus {
    init(_ address: BusAddress) {
        switch address {
        case .session: self = .session
        case .system: self = .system
        case .address(let text): self = .address(text)
        }
    }
}
