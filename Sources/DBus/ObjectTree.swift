import CDBus
import Loop
import Motion

/// The objects of one connection, and the calls that arrive for them.
///
/// Introspectable, Properties and Peer are complete for every object and for the nodes on the way to one.
final class ObjectTree {
    private var objects: [ObjectPath: ExportedObject] = [:]
    /// The same by the steps of their paths, for introspection.
    private var root = Node("")
    /// Nodes that were looked at for introspection, ever.
    private(set) var visits: UInt64 = 0
    /// Places for calls of which it is not known yet whether they are allowed. They are held in memory, and anybody can make them.
    private var waiting = CallLimits.waitingForLeave

    /// Objects with changes that are still to be told, in the order in which they changed; the first `told` have told theirs.
    private var changed: [ExportedObject] = []
    private var told = 0

    var usage: LimitUsage { LimitUsage("calls-waiting-for-leave", self.waiting) }

    /// How many bytes each of them may have that is still to be read.
    static let waitingBytes = 128 << 10
    /// How many nodes introspection names below one: an answer is to stay small, however many apps there are.
    static let childLimit = 1_024
    /// Of how many objects nobody notices that they tell their changes at once.
    private static let few = 32
    /// So many that have told theirs are remembered.
    private static let many = 1_024

    func insert(_ object: ExportedObject) {
        invariant(self.objects[object.path] == nil, "two objects at \(object.path)")
        self.objects[object.path] = object
        self.root.insert(object, at: Node.steps(of: object.path.text))
    }

    func remove(_ path: ObjectPath) {
        guard self.objects.removeValue(forKey: path) != nil else { return }
        self.root.remove(at: Node.steps(of: path.text))
    }

    func object(at path: ObjectPath) -> ExportedObject? { self.objects[path] }

    func retireAll() {
        for object in self.objects.values { object.retire() }
        self.objects = [:]
        self.root = Node("")
    }

    // MARK: Changes

    /// Has an object tell what changed, after this round. One call may change thousands: what is beyond a few of them is told in turns.
    func tellSoon(_ object: ExportedObject, on connection: Connection) {
        self.changed.append(object)
        guard self.changed.count == 1 else { return }
        connection.afterRound { [weak self, loop = connection.loop] in
            for _ in 0..<Self.few { if self?.tellNext() != true { return } }
            loop.turns.add { self?.tellNext() ?? false }
        }
    }

    /// False: no other is left.
    private func tellNext() -> Bool {
        let object = self.changed[self.told]
        self.told += 1
        object.tellAll()
        guard self.told == self.changed.count else {
            // There may always be more.
            if self.told == Self.many {
                self.changed.removeFirst(self.told)
                self.told = 0
            }
            return true
        }
        (self.changed, self.told) = ([], 0)
        return false
    }

    // MARK: Calls

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
        guard let object = ObjectPath(path).flatMap({ self.objects[$0] }) else { return self.failUnknown(path, call) }
        guard let guardian = object.guardian else {
            return self.perform(interface, member, on: object, call)
        }
        guard let user = self.identity(of: call)?.user else { return }
        let leave = Leave(self)
        call.awaitsLeave = true
        guardian(call) { [weak self] refusal in
            guard leave.end() else { return }
            call.awaitsLeave = false
            defer { if leave.isLate { call.detach() } }
            if let refusal { return call.fail(refusal) }
            // The answer may have come later: the object may be gone, or another may stand in its place.
            guard let self, self.objects[object.path] === object else { return call.fail(.noObject(at: path)) }
            self.perform(interface, member, on: object, call)
        }
        if call.awaitsLeave {
            leave.isLate = true
            if call.message.size > Self.waitingBytes, leave.end() {
                call.awaitsLeave = false
                return call.fail(.limitsExceeded("a call that waits for leave has at most \(Self.waitingBytes) bytes"))
            }
        }
        self.wait(call, of: user, leave)
    }

    /// Who makes a call, in whose user's share it is to wait. `nil`: that has to be asked, and the call comes again when it is known.
    private func identity(of call: MethodCall) -> CallerIdentity? {
        let incoming = call.connection.incoming
        guard let identity = incoming.knownIdentity(of: call.sender) else {
            incoming.identify(call)
            return nil
        }
        return identity
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

    /// Has a call wait for leave in the share of its user, if it has to, or refuses it when there is no room.
    private func wait(_ call: MethodCall, of user: UInt32, _ leave: Leave) {
        guard !leave.wait(in: user), leave.end() else { return }
        call.awaitsLeave = false
        call.fail(
            .limitsExceeded(
                "calls-waiting-for-leave: \(self.waiting.limit) may, those of your user as far as others leave room"))
    }

    /// Leave for one call: given or refused once, or never.
    private final class Leave {
        private weak var tree: ObjectTree?
        /// In whose share it waits, if it does.
        private var payer: UInt32?
        /// The call waits, or did.
        var isLate = false

        init(_ tree: ObjectTree) { self.tree = tree }

        deinit { _ = self.end() }

        /// Takes a place in a user's share, unless it is over. Returns false when there is none.
        func wait(in payer: UInt32) -> Bool {
            guard let tree else { return true }
            guard tree.waiting.take(1, for: payer) else { return false }
            self.payer = payer
            return true
        }

        /// True the first time.
        func end() -> Bool {
            guard let tree else { return false }
            if let payer { tree.waiting.giveBack(1, for: payer) }
            self.tree = nil
            return true
        }
    }

    private func perform(_ interface: String?, _ member: String, on object: ExportedObject, _ call: MethodCall) {
        if interface == Standard.properties { return self.properties(member, of: object, call) }
        let candidates = object.interfaces.filter { interface == nil || $0.table.name == interface }
        guard !candidates.isEmpty || interface == nil else {
            return call.fail(
                .unknownInterface(
                    object.lacks("interface", interface ?? "", among: object.interfaces.map(\.table.name))))
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
        let methods = candidates.flatMap { $0.table.methodList.map(\.name) }
        let advice = Suggestion.advice(on: member, among: methods)
        call.fail(.unknownMethod("\(interface ?? "\(object.path)") has no method \(member)\(advice)"))
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
                self.ask([(table, context, name)], of: object, call) { withheld in
                    call.reply { writer in
                        if withheld.contains(name) {
                            table.writeOthers(name, to: &writer)
                        } else {
                            table.write(name, of: context, to: &writer)
                        }
                    }
                }
            case "GetAll":
                let interface = try self.arguments(call, "s", String.self)
                let tables = object.interfaces.filter { interface.isEmpty || $0.table.name == interface }
                guard !tables.isEmpty || interface.isEmpty || Standard.all.contains(interface) else {
                    throw .unknownInterface(
                        object.lacks("interface", interface, among: object.interfaces.map(\.table.name)))
                }
                let discreet = tables.flatMap { table, context in
                    table.discreet.map { (table: table, context: context, name: $0) }
                }
                self.ask(discreet[...], of: object, call) { withheld in
                    call.reply { writer in
                        writer.container(CDBUS_TYPE_ARRAY, of: "{sv}") { array in
                            for (table, context) in tables {
                                object.writeEntries(of: table, context, without: withheld, to: &array)
                            }
                        }
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

    /// Asks, of one property after the other, whether it is for the caller, and goes on with the names of those that are not.
    private func ask(
        _ properties: ArraySlice<(table: InterfaceTable, context: AnyObject, name: String)>, of object: ExportedObject,
        _ call: MethodCall, withheld: Set<String> = [], then: @escaping (Set<String>) -> Void
    ) {
        guard let (table, context, name) = properties.first else { return then(withheld) }
        func goOn(_ isFor: Bool) {
            self.ask(
                properties.dropFirst(), of: object, call, withheld: isFor ? withheld : withheld.union([name]),
                then: then)
        }
        guard table.discreet.contains(name) else { return goOn(true) }
        guard let user = self.identity(of: call)?.user else { return }
        let leave = Leave(self)
        table.ask(whether: name, of: context, isFor: call) { [weak self] isFor in
            guard leave.end() else { return }
            // The answer may have come later: the object may be gone, or another may stand in its place.
            guard self?.objects[object.path] === object else { return call.fail(.noObject(at: object.path.text)) }
            goOn(isFor)
        }
        self.wait(call, of: user, leave)
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
            throw .unknownInterface(object.lacks("interface", interface, among: object.interfaces.map(\.table.name)))
        }
        guard let found = tables.first(where: { $0.table.property(property) != nil }) else {
            let known = tables.flatMap { $0.table.propertyList.map(\.name) }
            throw .unknownProperty(object.lacks("property", property, among: known))
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
        guard let node = self.node(at: path) else { return self.failUnknown(path, call) }
        // Who asks is asked for once, however many objects are not for everybody.
        guard node.dependsOnCaller else { return self.introspect(path, call) { _ in true } }
        guard let identity = self.identity(of: call) else { return }
        self.introspect(path, call) { object in object.visibility?(call.sender, identity) ?? true }
    }

    private func introspect(_ path: String, _ call: MethodCall, seeing isSeen: (ExportedObject) -> Bool) {
        guard let node = self.node(at: path) else { return self.failUnknown(path, call) }
        let object = node.object.flatMap { isSeen($0) ? $0 : nil }
        let children = self.children(of: node, seeing: isSeen)
        guard object != nil || !children.isEmpty || path == "/" else { return call.fail(.noObject(at: path)) }
        call.reply(Introspection.document(for: object, children: children))
    }

    /// Says that there is no object, in the time and under the limit that it takes to say so of one that the caller must not see:
    /// who he is is asked for first.
    private func failUnknown(_ path: String, _ call: MethodCall) {
        if self.root.open < self.objects.count, self.identity(of: call) == nil { return }
        call.fail(.noObject(at: path))
    }

    private func node(at path: String) -> Node? {
        // Anybody sends us paths, and of a long one only what is there is worth taking apart.
        var (node, rest) = (self.root, path.dropFirst())
        while !rest.isEmpty {
            let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            guard let child = node.child(rest[..<end]) else { return nil }
            node = child
            rest = rest[end...].dropFirst()
        }
        return node
    }

    /// The names right below a node of what the caller may see: the first of them, in order.
    private func children(of node: Node, seeing isSeen: (ExportedObject) -> Bool) -> [String] {
        var names: [String] = []
        for child in node.children {
            if self.isSeen(child, isSeen) { names.append(child.name) }
            if names.count == Self.childLimit { break }
        }
        return names
    }

    /// Whether the caller may see something at a node or below it.
    private func isSeen(_ node: Node, _ isSeen: (ExportedObject) -> Bool) -> Bool {
        self.visits &+= 1
        if node.open > 0 || node.object.map(isSeen) == true { return true }
        return node.children.contains { self.isSeen($0, isSeen) }
    }

    /// A step on the way to objects, or the last to one.
    private final class Node {
        let name: String
        private(set) var object: ExportedObject?
        /// In the order of their names.
        private(set) var children: [Node] = []
        /// Objects here and below that are for everybody.
        private(set) var open = 0

        init(_ name: String) { self.name = name }

        static func steps(of path: String) -> ArraySlice<Substring> { path.split(separator: "/")[...] }

        /// What introspection shows here is not the same for everybody.
        var dependsOnCaller: Bool { self.object?.visibility != nil || self.children.contains { $0.open == 0 } }

        func child(_ name: Substring) -> Node? {
            let place = self.place(of: name)
            return place < self.children.count && self.children[place].name == name ? self.children[place] : nil
        }

        /// Where a child of this name is, or belongs.
        private func place(of name: Substring) -> Int {
            var (low, high) = (0, self.children.count)
            while low < high {
                let middle = (low + high) / 2
                if self.children[middle].name < name { low = middle + 1 } else { high = middle }
            }
            return low
        }

        func insert(_ object: ExportedObject, at steps: ArraySlice<Substring>) {
            if object.visibility == nil { self.open += 1 }
            guard let step = steps.first else {
                self.object = object
                return
            }
            let place = self.place(of: step)
            if place == self.children.count || self.children[place].name != step {
                self.children.insert(Node(String(step)), at: place)
            }
            self.children[place].insert(object, at: steps.dropFirst())
        }

        /// Takes off the object that stands there, and the steps that lead to nothing then.
        func remove(at steps: ArraySlice<Substring>) {
            guard let step = steps.first else {
                if self.object?.visibility == nil { self.open -= 1 }
                self.object = nil
                return
            }
            let place = self.place(of: step)
            let child = self.children[place]
            let before = child.open
            child.remove(at: steps.dropFirst())
            self.open += child.open - before
            if child.object == nil, child.children.isEmpty { self.children.remove(at: place) }
        }
    }
}

extension ExportedObject {
    /// That it does not have what a caller asks for, and what was meant.
    func lacks(_ what: String, _ name: String, among known: [String]) -> String {
        "\(self.path) has no \(what) \(shortened(name))\(Suggestion.advice(on: name, among: known))"
    }

    /// Each readable property of an interface as an entry of an `a{sv}` that the writer stands in.
    ///
    /// - Parameter withheld: those whose values are not for the reader.
    func writeEntries(
        of table: InterfaceTable, _ context: AnyObject, without withheld: Set<String>, to array: inout WireWriter
    ) {
        for property in table.propertyList {
            array.container(CDBUS_TYPE_DICT_ENTRY, of: nil) { entry in
                property.name.write(to: &entry)
                if withheld.contains(property.name) {
                    table.writeOthers(property.name, to: &entry)
                } else {
                    table.write(property.name, of: context, to: &entry)
                }
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
