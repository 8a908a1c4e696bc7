import CDBus
import EventLoop

/// The objects of one connection, and the calls that arrive for them.
///
/// Introspectable, Properties and Peer are complete for every object and for the nodes on the way to one.
final class ObjectTree {
    private var objects: [ObjectPath: ExportedObject] = [:]
    /// Calls whose object's guardian has not answered yet.
    private var waiting = 0

    /// How many calls may wait for guardians. They are held in memory, and anybody can make them.
    static let waitingLimit = 256

    func insert(_ object: ExportedObject) {
        invariant(self.objects[object.path] == nil, "two objects at \(object.path)")
        self.objects[object.path] = object
    }

    func remove(_ path: ObjectPath) { self.objects[path] = nil }

    func object(at path: ObjectPath) -> ExportedObject? { self.objects[path] }

    func retireAll() {
        for object in self.objects.values { object.retire() }
        self.objects = [:]
    }

    /// Answers a call, or hands it to the method that will.
    func dispatch(_ call: MethodCall) {
        let path = call.message.path ?? ""
        let interface = call.message.interface
        let member = call.message.member ?? ""
        if interface == Standard.introspectable || (interface == nil && member == "Introspect") {
            return self.introspect(path, member, call)
        }
        if interface == Standard.peer {
            guard self.peer(member, call) else {
                return call.fail(.unknownMethod("\(Standard.peer) has no method \(member)"))
            }
            return
        }
        guard let object = ObjectPath(path).flatMap({ self.objects[$0] }) else {
            return call.fail(.unknownObject("there is no object at \(path)"))
        }
        guard let guardian = object.guardian else {
            return self.perform(interface, member, on: object, call)
        }
        let leave = Leave(self)
        guardian(call) { [weak self] refusal in
            guard leave.end() else { return }
            if let refusal { return call.fail(refusal) }
            // The answer may have come later: the object may be gone, or another may stand in its place.
            guard let self, self.objects[object.path] === object else {
                return call.fail(.unknownObject("there is no object at \(path)"))
            }
            self.perform(interface, member, on: object, call)
        }
        if self.waiting > Self.waitingLimit, leave.end() {
            call.fail(.limitsExceeded("\(Self.waitingLimit) calls wait for leave already"))
        }
    }

    /// Whether a method takes the descriptors that a call brings. One that has to ask for leave first takes none: the call would
    /// be held, and its descriptors with it.
    func takesDescriptors(of call: MethodCall) -> Bool {
        let signature = call.message.signature
        guard signature.utf8.contains(UInt8(ascii: "h")), let member = call.message.member,
            let object = call.message.path.flatMap({ ObjectPath($0) }).flatMap({ self.objects[$0] }),
            object.guardian == nil
        else { return false }
        let interface = call.message.interface
        return object.interfaces.contains {
            (interface == nil || $0.table.name == interface) && $0.table.inputSignature(of: member) == signature
        }
    }

    /// A guardian's leave for one call: given or refused once, or never.
    private final class Leave {
        private weak var tree: ObjectTree?

        init(_ tree: ObjectTree) {
            self.tree = tree
            tree.waiting += 1
        }

        deinit { _ = self.end() }

        /// True the first time.
        func end() -> Bool {
            guard let tree else { return false }
            tree.waiting -= 1
            self.tree = nil
            return true
        }
    }

    private func perform(_ interface: String?, _ member: String, on object: ExportedObject, _ call: MethodCall) {
        if interface == Standard.properties { return self.properties(member, of: object, call) }
        let candidates = object.interfaces.filter { interface == nil || $0.table.name == interface }
        guard !candidates.isEmpty || interface == nil else {
            return call.fail(.unknownInterface("\(object.path) has no interface \(interface ?? "")"))
        }
        for (table, context) in candidates {
            guard let expected = table.inputSignature(of: member) else { continue }
            let found = call.message.signature
            guard found == expected else {
                return call.fail(.invalidArguments("\(member) takes '\(expected)', got '\(found)'"))
            }
            return table.perform(member, on: context, call)
        }
        if interface == nil {
            if ["Get", "Set", "GetAll"].contains(member) { return self.properties(member, of: object, call) }
            if self.peer(member, call) { return }
        }
        call.fail(.unknownMethod("\(interface ?? "\(object.path)") has no method \(member)"))
    }

    /// Answers the calls of Peer, wherever they go. False: it has no such method.
    private func peer(_ member: String, _ call: MethodCall) -> Bool {
        guard member == "Ping" || member == "GetMachineId" else { return false }
        guard call.message.signature.isEmpty else {
            call.fail(.invalidArguments("\(member) takes no arguments, got '\(call.message.signature)'"))
            return true
        }
        if member == "Ping" {
            call.reply()
        } else if let id = unsafe dbus_try_get_local_machine_id(nil) {
            // SAFETY: libdbus allocates the string and wants it back.
            defer { unsafe dbus_free(id) }
            call.reply(unsafe text(id) ?? "")
        } else {
            call.fail(.failed("this machine has no id"))
        }
        return true
    }

    // MARK: Properties

    private func properties(_ member: String, of object: ExportedObject, _ call: MethodCall) {
        do throws(BusError) {
            switch member {
            case "Get":
                let (interface, name) = try self.arguments(call, "ss", String.self, String.self)
                let (table, context) = try self.find(name, interface, in: object)
                call.reply { table.write(name, of: context, to: &$0) }
            case "GetAll":
                let interface = try self.arguments(call, "s", String.self)
                let tables = object.interfaces.filter { interface.isEmpty || $0.table.name == interface }
                guard !tables.isEmpty || interface.isEmpty || Standard.all.contains(interface) else {
                    throw .unknownInterface("\(object.path) has no interface \(shortened(interface))")
                }
                call.reply { writer in
                    writer.container(CDBUS_TYPE_ARRAY, of: "{sv}") { array in
                        for (table, context) in tables { object.writeEntries(of: table, context, to: &array) }
                    }
                }
            case "Set":
                try self.set(object, call)
            default:
                throw .unknownMethod("\(Standard.properties) has no method \(member)")
            }
        } catch {
            call.fail(error)
        }
    }

    private func set(_ object: ExportedObject, _ call: MethodCall) throws(BusError) {
        guard call.message.signature == "ssv", var reader = unsafe WireReader(call.message.raw) else {
            throw .invalidArguments("Set takes 'ssv', got '\(call.message.signature)'")
        }
        var refusal: BusError?
        do throws(WireError) {
            let interface = try String.read(from: &reader)
            let name = try String.read(from: &reader)
            try reader.container { (inner: inout WireReader) throws(WireError) in
                do throws(BusError) {
                    let (table, context) = try self.find(name, interface, in: object)
                    guard let property = table.property(name), property.isWritable else {
                        throw .propertyReadOnly("\(name) cannot be set")
                    }
                    let found = inner.signature
                    guard found == property.signature else {
                        throw .invalidArguments("\(name) is '\(property.signature)', got '\(found)'")
                    }
                    try table.set(name, of: context, call, &inner)
                } catch {
                    refusal = error
                }
            }
        } catch {
            refusal = .invalidArguments("Set: \(error)")
        }
        if let refusal { throw refusal }
        call.reply()
    }

    private func arguments<each T: WireValue>(
        _ call: MethodCall, _ expected: String, _ types: repeat (each T).Type
    ) throws(BusError) -> (repeat each T) {
        do throws(WireError) {
            return try call.message.read(repeat each types)
        } catch {
            throw .invalidArguments("\(call.message.member ?? "") takes '\(expected)', got '\(call.message.signature)'")
        }
    }

    /// The property; an empty interface name means any that has it.
    private func find(
        _ property: String, _ interface: String, in object: ExportedObject
    ) throws(BusError) -> (InterfaceTable, AnyObject) {
        let tables = object.interfaces.filter { interface.isEmpty || $0.table.name == interface }
        guard !tables.isEmpty || Standard.all.contains(interface) else {
            throw .unknownInterface("\(object.path) has no interface \(shortened(interface))")
        }
        guard let found = tables.first(where: { $0.table.property(property) != nil }) else {
            throw .unknownProperty("\(object.path) has no property \(shortened(property))")
        }
        return (found.table, found.context)
    }

    // MARK: Introspection

    private func introspect(_ path: String, _ member: String, _ call: MethodCall) {
        guard member == "Introspect" else {
            return call.fail(.unknownMethod("\(Standard.introspectable) has no method \(member)"))
        }
        guard call.message.signature.isEmpty else {
            return call.fail(.invalidArguments("Introspect takes no arguments, got '\(call.message.signature)'"))
        }
        // Who asks is asked for once, however many objects are not for everybody.
        guard let hidden = self.firstHidden(at: path) else { return self.introspect(path, call) { _ in true } }
        guard let connection = hidden.connection else {
            return self.introspect(path, call) { $0.visibility == nil }
        }
        let leave = Leave(self)
        connection.user(of: call.sender) { [weak self] uid in
            guard leave.end(), let self else { return }
            self.introspect(path, call) { object in object.visibility?(call.sender, uid) ?? true }
        }
        if self.waiting > Self.waitingLimit, leave.end() {
            call.fail(.limitsExceeded("\(Self.waitingLimit) calls wait for leave already"))
        }
    }

    private func introspect(_ path: String, _ call: MethodCall, seeing isSeen: (ExportedObject) -> Bool) {
        let object = ObjectPath(path).flatMap { self.objects[$0] }.flatMap { isSeen($0) ? $0 : nil }
        let children = self.children(of: path, seeing: isSeen)
        guard object != nil || !children.isEmpty || path == "/" else {
            return call.fail(.unknownObject("there is no object at \(path)"))
        }
        call.reply(Introspection.document(for: object, children: children))
    }

    /// One of the objects at `path` and below that are not for everybody; `nil`: there is none.
    private func firstHidden(at path: String) -> ExportedObject? {
        let prefix = path == "/" ? "/" : path + "/"
        return self.objects.values.first {
            $0.visibility != nil && ($0.path.text == path || $0.path.text.hasPrefix(prefix))
        }
    }

    /// The names right below `path` of what the caller may see, in order.
    private func children(of path: String, seeing isSeen: (ExportedObject) -> Bool) -> [String] {
        let prefix = path == "/" ? "/" : path + "/"
        var names: Set<Substring> = []
        for (key, object) in self.objects where key.text.utf8.count > prefix.utf8.count {
            guard key.text.hasPrefix(prefix), isSeen(object) else { continue }
            names.insert(key.text.dropFirst(prefix.count).prefix { $0 != "/" })
        }
        return names.map(String.init).sorted()
    }
}

extension ExportedObject {
    /// Each readable property of an interface as an entry of an `a{sv}` that the writer stands in.
    func writeEntries(of table: InterfaceTable, _ context: AnyObject, to array: inout WireWriter) {
        for property in table.propertyList {
            array.container(CDBUS_TYPE_DICT_ENTRY, of: nil) { entry in
                property.name.write(to: &entry)
                table.write(property.name, of: context, to: &entry)
            }
        }
    }
}

/// The interfaces every object has.
enum Standard {
    static let introspectable = "org.freedesktop.DBus.Introspectable"
    static let properties = "org.freedesktop.DBus.Properties"
    static let peer = "org.freedesktop.DBus.Peer"
    static let all = [introspectable, properties, peer]
}
