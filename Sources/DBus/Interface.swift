import CDBus
import Loop

/// One argument as introspection shows it.
package struct Argument: Equatable, Sendable {
    package let name: String
    package let signature: String
}

/// How a property tells that it changed; the values of `org.freedesktop.DBus.Property.EmitsChangedSignal`.
package enum ChangeNotice: String, Sendable {
    case always = "true"
    case invalidates
    case constant = "const"
    case never = "false"
}

/// A method of an interface: its signature and what it does.
package struct Method<Context: AnyObject>: Sendable {
    let name: String
    let inputs: [Argument]
    let outputs: [Argument]
    let inputSignature: String
    let perform: @Sendable (Context, MethodCall) -> Void

    /// A method that answers when it returns; several results are a tuple.
    package init<each Input: WireValue, each Output: WireValue>(
        _ name: StaticString, in inputs: [StaticString] = [], out outputs: [StaticString] = [],
        _ body: @escaping @Sendable (Context, MethodCall, repeat each Input) throws(BusError) -> (repeat each Output)
    ) {
        let inputTypes = signatures(repeat (each Input).self)
        self.init(name, inputs, inputTypes, outputs, signatures(repeat (each Output).self)) { context, call in
            let arguments: (repeat each Input)
            do throws(WireError) {
                arguments = try call.message.read(repeat (each Input).self)
            } catch {
                return call.fail(.invalidArguments("\(name): \(error)"))
            }
            do throws(BusError) {
                let results = try body(context, call, repeat each arguments)
                call.reply(repeat each results)
            } catch {
                call.fail(error)
            }
        }
    }

    /// A method that answers later, through the call it is given. An error it throws is the answer.
    package init<each Input: WireValue, each Output: WireValue>(
        later name: StaticString, in inputs: [StaticString] = [], out outputs: [StaticString] = [],
        as results: repeat (each Output).Type,
        do body: @escaping @Sendable (Context, MethodCall, repeat each Input) throws(BusError) -> Void
    ) {
        let inputTypes = signatures(repeat (each Input).self)
        self.init(name, inputs, inputTypes, outputs, signatures(repeat each results)) { context, call in
            let arguments: (repeat each Input)
            do throws(WireError) {
                arguments = try call.message.read(repeat (each Input).self)
            } catch {
                return call.fail(.invalidArguments("\(name): \(error)"))
            }
            do throws(BusError) {
                try body(context, call, repeat each arguments)
            } catch {
                call.fail(error)
            }
        }
    }

    private init(
        _ name: StaticString, _ inputs: [StaticString], _ inputTypes: [String], _ outputs: [StaticString],
        _ outputTypes: [String], perform: @escaping @Sendable (Context, MethodCall) -> Void
    ) {
        self.name = name.description
        self.inputs = arguments(inputs, inputTypes, of: name)
        self.outputs = arguments(outputs, outputTypes, of: name)
        self.inputSignature = inputTypes.joined()
        self.perform = perform
    }
}

/// A property of an interface.
package struct Property<Context: AnyObject>: Sendable {
    let name: String
    let signature: String
    let notice: ChangeNotice
    let write: @Sendable (Context, inout WireWriter) -> Void
    /// What is for some only; `nil`: everybody reads the same.
    let discretion: Discretion?
    /// Takes a new value; `nil` when the property is read-only.
    let set: (@Sendable (Context, MethodCall, inout WireReader) throws(BusError) -> Void)?

    package init<T: WireValue>(
        _ name: StaticString, _ notice: ChangeNotice, get: @escaping @Sendable (Context) -> T
    ) {
        self.name = name.description
        self.signature = T.signature
        self.notice = notice
        self.write = { context, writer in writer.variant(get(context)) }
        self.discretion = nil
        self.set = nil
    }

    /// A property whose value is not for everybody. Changes of it are told by whoever knows to whom.
    ///
    /// - Parameters:
    ///   - notice: what introspection shows of that.
    ///   - others: what all others read.
    ///   - isFor: answers, perhaps later, whether a caller is to read the value.
    package init<T: WireValue & Sendable>(
        _ name: StaticString, _ notice: ChangeNotice = .never, others: T, isFor: @escaping Discretion.Question,
        get: @escaping @Sendable (Context) -> T
    ) {
        self.name = name.description
        self.signature = T.signature
        self.notice = notice
        self.write = { context, writer in writer.variant(get(context)) }
        self.discretion = Discretion(isFor: isFor) { writer in writer.variant(others) }
        self.set = nil
    }

    /// Who reads the value of a property, and what others read.
    package struct Discretion: Sendable {
        package typealias Question = @Sendable (Context, MethodCall, @escaping (Bool) -> Void) -> Void

        let isFor: Question
        let writeOthers: @Sendable (inout WireWriter) -> Void
    }

    package init<T: WireValue>(
        _ name: StaticString, _ notice: ChangeNotice, get: @escaping @Sendable (Context) -> T,
        set: @escaping @Sendable (Context, MethodCall, T) throws(BusError) -> Void
    ) {
        self.name = name.description
        self.signature = T.signature
        self.notice = notice
        self.write = { context, writer in writer.variant(get(context)) }
        self.discretion = nil
        self.set = { (context, call, reader: inout WireReader) throws(BusError) in
            let value: T
            do throws(WireError) {
                value = try T.read(from: &reader)
            } catch {
                throw .invalidArguments("\(name): \(error)")
            }
            try set(context, call, value)
        }
    }
}

/// A signal of an interface, as introspection shows it.
package struct SignalDescription: Sendable {
    let name: String
    let arguments: [Argument]

    package init<each T: WireValue>(_ name: StaticString, _ names: [StaticString] = [], _ types: repeat (each T).Type) {
        self.name = name.description
        self.arguments = DBus.arguments(names, signatures(repeat each types), of: name)
    }
}

/// An interface as a static table: methods, properties and signals, made once and shared by all objects that have it.
///
/// Its functions capture nothing, so tables are static constants.
package final class Interface<Context: AnyObject>: InterfaceTable, @unchecked Sendable {
    private let methods: [String: Method<Context>]
    private let properties: [String: Property<Context>]

    package init(
        _ name: StaticString, notes: GeneratorNotes? = nil, methods: [Method<Context>] = [],
        properties: [Property<Context>] = [], signals: [SignalDescription] = []
    ) {
        self.methods = Dictionary(uniqueKeysWithValues: methods.map { ($0.name, $0) })
        self.properties = Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0) })
        super.init(
            name: name.description, notes: notes,
            methods: methods.map { ($0.name, $0.inputs, $0.outputs) },
            properties: properties.map { ($0.name, $0.signature, $0.notice, $0.set != nil) },
            discreet: Set(properties.filter { $0.discretion != nil }.map(\.name)),
            signals: signals)
    }

    private func context(_ object: AnyObject) -> Context {
        guard let context = object as? Context else { invariantFailure("\(self.name) on an object of another type") }
        return context
    }

    override func inputSignature(of method: String) -> String? { self.methods[method]?.inputSignature }

    override func perform(_ method: String, on object: AnyObject, _ call: MethodCall) {
        self.methods[method]?.perform(self.context(object), call)
    }

    override func write(_ property: String, of object: AnyObject, to writer: inout WireWriter) {
        self.properties[property]?.write(self.context(object), &writer)
    }

    override func writeOthers(_ property: String, to writer: inout WireWriter) {
        self.properties[property]?.discretion?.writeOthers(&writer)
    }

    override func ask(
        whether property: String, of object: AnyObject, isFor call: MethodCall, _ answer: @escaping (Bool) -> Void
    ) {
        guard let discretion = self.properties[property]?.discretion else { return answer(true) }
        discretion.isFor(self.context(object), call, answer)
    }

    override func set(
        _ property: String, of object: AnyObject, _ call: MethodCall, _ reader: inout WireReader
    ) throws(BusError) {
        try self.properties[property]?.set?(self.context(object), call, &reader)
    }
}

/// An interface whatever the objects behind it are.
///
/// `@unchecked` because it has a subclass: all that either stores is constant and `Sendable`.
package class InterfaceTable: @unchecked Sendable {
    package let name: String
    let notes: GeneratorNotes?
    let methodList: [(name: String, inputs: [Argument], outputs: [Argument])]
    let propertyList: [(name: String, signature: String, notice: ChangeNotice, isWritable: Bool)]
    let signalList: [SignalDescription]
    /// The properties that are not for everybody.
    let discreet: Set<String>
    private let propertyIndex: [String: Int]

    fileprivate init(
        name: String, notes: GeneratorNotes?, methods: [(String, [Argument], [Argument])],
        properties: [(String, String, ChangeNotice, Bool)], discreet: Set<String>, signals: [SignalDescription]
    ) {
        self.name = name
        self.notes = notes
        self.methodList = methods
        self.propertyList = properties
        self.signalList = signals
        self.discreet = discreet
        self.propertyIndex = Dictionary(
            uniqueKeysWithValues: properties.enumerated().map { ($0.element.0, $0.offset) })
    }

    func property(_ name: String) -> (name: String, signature: String, notice: ChangeNotice, isWritable: Bool)? {
        self.propertyIndex[name].map { self.propertyList[$0] }
    }

    func inputSignature(of method: String) -> String? { nil }
    func perform(_ method: String, on object: AnyObject, _ call: MethodCall) {}
    func write(_ property: String, of object: AnyObject, to writer: inout WireWriter) {}
    /// Writes what those read for whom the value of a property is not.
    func writeOthers(_ property: String, to writer: inout WireWriter) {}
    func ask(
        whether property: String, of object: AnyObject, isFor call: MethodCall, _ answer: @escaping (Bool) -> Void
    ) { answer(true) }
    func set(
        _ property: String, of object: AnyObject, _ call: MethodCall, _ reader: inout WireReader
    ) throws(BusError) {}
}

private func signatures<each T: WireValue>(_ types: repeat (each T).Type) -> [String] {
    var result: [String] = []
    for part in repeat (each T).signature { result.append(part) }
    return result
}

private func arguments(_ names: [StaticString], _ types: [String], of member: StaticString) -> [Argument] {
    invariant(names.count == types.count, "\(member) has \(types.count) arguments and \(names.count) names for them")
    return zip(names, types).map { Argument(name: $0.description, signature: $1) }
}
