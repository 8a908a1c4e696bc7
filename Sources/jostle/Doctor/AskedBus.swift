import DBus
import Loop
import Protocol

/// A bus as `jostle doctor` sees it: who is there, and what they say. Whoever says nothing in time counts as silent.
struct AskedBus {
    /// Who owns a name.
    struct Owner: Equatable {
        var process: UInt32?
        var user: UInt32?
    }

    let address: BusAddress
    private let connection: Connection

    /// How long an answer may take, in ms; and where somebody is started first.
    static let patience: Int32 = 3_000
    private static let patienceToStart: Int32 = 10_000

    init(_ address: BusAddress, _ loop: EventLoop) throws(BusError) {
        self.address = address
        self.connection = Connection(to: address, on: loop)
        try self.connection.openAndWait(timeout: Self.patience)
    }

    /// Our own name on it.
    var ownName: String { self.connection.uniqueName }

    func ask<each T: WireValue>(
        _ target: CallTarget, _ member: String, _ arguments: repeat each T, starts: Bool = false
    ) throws(BusError) -> Message {
        try self.connection.callAndWait(
            target, member, repeat each arguments, timeout: starts ? Self.patienceToStart : Self.patience)
    }

    private func askBus<T: WireValue, each A: WireValue>(
        _ member: String, _ arguments: repeat each A, as type: T.Type
    ) throws(BusError) -> T {
        try self.connection.askBus(member, repeat each arguments, timeout: Self.patience, as: T.self)
    }

    func properties(
        _ name: String, _ path: ObjectPath, _ interface: String, starts: Bool = false
    ) throws(BusError) -> [String: Value] {
        let target = CallTarget(name, path, "org.freedesktop.DBus.Properties")
        return try self.ask(target, "GetAll", interface, starts: starts).read(reply: [String: Value].self)
    }

    /// Who owns a name; `nil`: nobody.
    func owner(of name: String) -> Owner? {
        guard let owner = try? self.askBus("GetNameOwner", name, as: String.self) else { return nil }
        return Owner(
            process: try? self.askBus("GetConnectionUnixProcessID", owner, as: UInt32.self),
            user: try? self.askBus("GetConnectionUnixUser", owner, as: UInt32.self))
    }

    /// Whether the bus starts somebody when this name is called.
    func starts(_ name: String) -> Bool {
        let names = try? self.askBus("ListActivatableNames", as: [String].self)
        return names?.contains(name) ?? false
    }
}
