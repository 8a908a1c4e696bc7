import CDBus
import Loop

/// An object that others can call: a path, its interfaces, and who may use it.
package final class ExportedObject {
    package let path: ObjectPath
    private(set) var interfaces: [(table: InterfaceTable, context: AnyObject)]
    /// Who is told what changes: everybody (`nil`), or one connection because the object is private.
    private let audience: Audience?
    /// Decides whether a caller may use the object, perhaps later; introspection needs no leave of it.
    private(set) var guardian: Guardian?
    /// Decides whether a caller may know that the object is there; `nil`: everybody.
    private(set) var visibility: Visibility?
    weak var connection: Connection?
    /// Interface index and property name of what changed since the last notice.
    private var changes: [(interface: Int, property: String)] = []
    /// What the audience is to be told besides, as soon as it has room.
    private var held = HeldNews<News>()

    /// A connection that is sent no more than it takes.
    package struct Audience {
        fileprivate let peer: PacedSender.Peer
        fileprivate let sender: PacedSender

        package init(_ peer: PacedSender.Peer, by sender: PacedSender) {
            self.peer = peer
            self.sender = sender
        }
    }

    private struct News {
        let interface: StaticString
        let member: StaticString
        /// `nil`: there is nothing to tell any more.
        let values: () -> [any WireValue]?
    }

    /// Answers with an error to refuse, or `nil` to allow.
    package typealias Guardian = (MethodCall, @escaping (BusError?) -> Void) -> Void

    /// Answers for a unique name and who stands behind it.
    package typealias Visibility = (_ sender: String, _ identity: CallerIdentity) -> Bool

    package init(
        _ path: ObjectPath, _ interfaces: [(InterfaceTable, AnyObject)], audience: Audience? = nil,
        guardian: Guardian? = nil, visibility: Visibility? = nil
    ) {
        self.path = path
        self.interfaces = interfaces
        self.audience = audience
        self.guardian = guardian
        self.visibility = visibility
        audience?.peer.onRoom(for: self) { [weak self] _ in self?.tellAll() }
    }

    /// Lets go of what stands behind the object, which as a rule holds the object in turn.
    func retire() {
        self.connection = nil
        self.interfaces = []
        self.guardian = nil
        self.visibility = nil
        self.changes = []
        self.held.forgetAll()
    }

    // MARK: Changes

    /// Notes that a property has a new value. Does nothing while the object is not on a bus.
    ///
    /// All that changes in one round of the loop, and until the audience has room, travels in one `PropertiesChanged` per interface.
    /// Where very many objects change in one round, some of them tell it later.
    package func changed(_ property: StaticString, of interface: InterfaceTable) {
        guard let connection = self.connection else { return }
        let name = property.description
        guard let index = self.interfaces.firstIndex(where: { $0.table === interface }),
            let description = interface.property(name)
        else { invariantFailure("\(interface.name) has no property \(name) on \(self.path)") }
        guard description.notice == .always || description.notice == .invalidates else { return }
        // All who listen would be told.
        invariant(!interface.discreet.contains(name), "\(name) of \(interface.name) is not for everybody")
        if self.changes.contains(where: { $0.interface == index && $0.property == name }) { return }
        if self.changes.isEmpty { connection.objects.tellSoon(self, on: connection) }
        self.changes.append((index, name))
    }

    /// Tells the audience by a signal how something stands: at once, or when it has room, and then only the newest of each subject.
    ///
    /// - Parameter values: What the signal says at that time; `nil`: it is not sent, because that is over.
    package func tell(
        _ interface: StaticString, _ member: StaticString, about subject: NewsSubject,
        _ values: @escaping () -> [any WireValue]?
    ) {
        guard self.connection != nil, self.audience != nil else { return }
        self.held.add(News(interface: interface, member: member, values: values), about: subject)
        _ = self.tellNews()
    }

    /// Leaves untold what has this number: it is over.
    package func forget(_ number: UInt64) { self.held.forget(number) }

    /// Tells what there is to tell. What there is no room for waits: there will be word of room.
    func tellAll() {
        guard let connection, connection.isReady else {
            self.changes = []
            return
        }
        guard self.tellNews() else { return }
        for (index, (table, context)) in self.interfaces.enumerated() {
            let names = self.changes.filter { $0.interface == index }.map(\.property)
            if names.isEmpty { continue }
            guard self.tell(names, of: table, context, on: connection) else { return }
            self.changes.removeAll { $0.interface == index }
        }
    }

    /// False: there is no room for all of it.
    private func tellNews() -> Bool {
        guard let audience else { return true }
        while let (subject, news) = self.held.first {
            if let values = news.values() {
                let isSent = audience.sender.signal(from: self.path, news.interface, news.member, to: audience.peer) {
                    for value in values { value.write(to: &$0) }
                }
                guard isSent else { return false }
            }
            self.held.remove(subject)
        }
        return true
    }

    /// False: there is no room for it. To everybody it goes as far as the bus takes it.
    private func tell(
        _ names: [String], of table: InterfaceTable, _ context: AnyObject, on connection: Connection
    ) -> Bool {
        func write(_ writer: inout WireWriter) {
            table.name.write(to: &writer)
            writer.container(CDBUS_TYPE_ARRAY, of: "{sv}") { array in
                for name in names where table.property(name)?.notice == .always {
                    array.container(CDBUS_TYPE_DICT_ENTRY, of: nil) { entry in
                        name.write(to: &entry)
                        table.write(name, of: context, to: &entry)
                    }
                }
            }
            names.filter { table.property($0)?.notice == .invalidates }.write(to: &writer)
        }
        let (interface, member): (StaticString, StaticString) = ("org.freedesktop.DBus.Properties", "PropertiesChanged")
        guard let audience else {
            connection.signal(from: self.path, interface, member, write)
            return true
        }
        return audience.sender.signal(from: self.path, interface, member, to: audience.peer, write)
    }
}
