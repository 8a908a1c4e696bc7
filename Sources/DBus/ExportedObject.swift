import CDBus
import Loop

/// An object that others can call: a path, its interfaces, and who may use it.
package final class ExportedObject {
    package let path: ObjectPath
    private(set) var interfaces: [(table: InterfaceTable, context: AnyObject)]
    /// Where `PropertiesChanged` goes: to everybody (`nil`), or to one unique name because the object is private.
    private let audience: String?
    /// Decides whether a caller may use the object, perhaps later; introspection needs no leave of it.
    private(set) var guardian: Guardian?
    /// Decides whether a caller may know that the object is there; `nil`: everybody.
    private(set) var visibility: Visibility?
    weak var connection: Connection?
    /// Interface index and property name of what changed since the last notice.
    private var changes: [(interface: Int, property: String)] = []

    /// Answers with an error to refuse, or `nil` to allow.
    package typealias Guardian = (MethodCall, @escaping (BusError?) -> Void) -> Void

    /// Answers for a unique name and its user, `nil` when the bus does not know it.
    package typealias Visibility = (_ sender: String, _ uid: UInt32?) -> Bool

    package init(
        _ path: ObjectPath, _ interfaces: [(InterfaceTable, AnyObject)], audience: String? = nil,
        guardian: Guardian? = nil, visibility: Visibility? = nil
    ) {
        self.path = path
        self.interfaces = interfaces
        self.audience = audience
        self.guardian = guardian
        self.visibility = visibility
    }

    /// Lets go of what stands behind the object, which as a rule holds the object in turn.
    func retire() {
        self.connection = nil
        self.interfaces = []
        self.guardian = nil
        self.visibility = nil
        self.changes = []
    }

    /// Notes that a property has a new value. Does nothing while the object is not on a bus.
    ///
    /// All that changes in one round of the loop travels in one `PropertiesChanged` per interface.
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
        if self.changes.isEmpty { connection.afterRound { [weak self] in self?.sendChanges() } }
        self.changes.append((index, name))
    }

    private func sendChanges() {
        let changes = self.changes
        self.changes = []
        guard let connection, connection.isReady else { return }
        for (index, (table, context)) in self.interfaces.enumerated() {
            let names = changes.filter { $0.interface == index }.map(\.property)
            guard !names.isEmpty else { continue }
            connection.signal(
                from: self.path, "org.freedesktop.DBus.Properties", "PropertiesChanged", to: self.audience
            ) { writer in
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
        }
    }
}
