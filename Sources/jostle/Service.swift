import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// One of our two services as the command line sees it.
struct Service {
    let connection: Connection
    let name: String
    let title: String
    /// How long an answer may take, in ms.
    private var patience: Int32 = Connection.callTimeout
    /// Whether the bus is to start it for a call.
    private let isStarted: Bool
    /// The same of the reader, which has nothing to do that takes longer.
    private static let readerPatience: Int32 = 2_500
    /// The same of the broker for what it knows without asking its disk: longer than any such answer, shorter than anybody's patience.
    static let brokerPatience: Int32 = 5_000

    /// - Parameters:
    ///   - name: a bus name of our own, under which we ask.
    ///   - patience: how long the bus may take to greet us, and each answer, in ms, if not as long as usual.
    ///   - starting: whether the bus is to start the service for a call.
    static func broker(
        on address: BusAddress, _ loop: EventLoop, as name: String? = nil, within patience: Int32? = nil,
        starting: Bool = true
    ) throws(CommandFailure) -> Service {
        try Service(
            BusName.broker, "the broker (\(BusName.broker))", on: address, loop, as: name, within: patience, starting)
    }

    static func sensors(
        on address: BusAddress, _ loop: EventLoop, within patience: Int32? = nil, starting: Bool = true
    ) throws(CommandFailure) -> Service {
        var service = try Service(
            BusName.sensors, "the sensor reader (\(BusName.sensors))", on: address, loop, within: patience, starting)
        if patience == nil { service.patience = Self.readerPatience }
        return service
    }

    /// Whoever looks at this session's windows.
    static func focus(on address: BusAddress, _ loop: EventLoop) throws(CommandFailure) -> Service {
        try Service(BusName.focus, "jostle-focus (\(BusName.focus))", on: address, loop, within: nil, true)
    }

    private init(
        _ name: String, _ title: String, on address: BusAddress, _ loop: EventLoop, as own: String? = nil,
        within patience: Int32?, _ starting: Bool
    ) throws(CommandFailure) {
        self.name = name
        self.title = title
        self.isStarted = starting
        if let patience { self.patience = patience }
        self.connection = Connection(to: address, on: loop, names: own.map { [$0] } ?? [])
        do throws(BusError) {
            try self.connection.openAndWait(timeout: patience)
        } catch {
            throw CommandFailure(error, service: title)
        }
    }

    func call<each T: WireValue>(
        _ path: ObjectPath, _ interface: StaticString, _ member: String, _ arguments: repeat each T,
        timeout: Int32? = nil
    ) throws(CommandFailure) -> Message {
        do throws(BusError) {
            let target = CallTarget(self.name, path, interface.description)
            return try self.connection.callAndWait(
                target, member, repeat each arguments, timeout: timeout ?? self.patience, autoStart: self.isStarted)
        } catch {
            throw self.failure(error)
        }
    }

    /// Calls a method and goes on; `then` runs on the loop with what became of it.
    func ask<each T: WireValue>(
        _ path: ObjectPath, _ interface: StaticString, _ member: String, _ arguments: repeat each T, timeout: Int32,
        starting: Bool, then: @escaping (consuming CallResult) -> Void
    ) {
        self.connection.call(
            CallTarget(self.name, path, interface.description), member, repeat each arguments, timeout: timeout,
            autoStart: starting, then: then)
    }

    /// The answer to what was asked.
    func answer(_ result: consuming CallResult) throws(CommandFailure) -> Message {
        do throws(BusError) {
            return try result.take()
        } catch {
            throw self.failure(error)
        }
    }

    private func failure(_ error: BusError) -> CommandFailure {
        error.name == BusError.noReply("").name
            ? CommandFailure(silent: self.title) : CommandFailure(error, service: self.title)
    }

    /// What is asked for besides; `nil`: it is refused, or of who has just left. That nobody answers is told: each further question
    /// would wait as long.
    func unlessRefused<Answer>(
        _ ask: () throws(CommandFailure) -> Answer
    ) throws(CommandFailure) -> Answer? {
        do throws(CommandFailure) {
            return try ask()
        } catch {
            guard error.code != .noService else { throw error }
            return nil
        }
    }

    func read<each T: WireValue>(
        _ message: borrowing Message, _ types: repeat (each T).Type
    ) throws(CommandFailure) -> (repeat each T) {
        do throws(BusError) {
            return try message.read(reply: repeat each types)
        } catch {
            throw CommandFailure(error, service: self.title)
        }
    }

    func properties(_ path: ObjectPath, _ interface: StaticString) throws(CommandFailure) -> [String: Value] {
        try self.read(
            try self.call(path, "org.freedesktop.DBus.Properties", "GetAll", interface.description),
            [String: Value].self)
    }

    /// Whether the service is there; it is not started for the question.
    func isThere() throws(CommandFailure) -> Bool {
        do throws(BusError) {
            return try self.connection.askBus("NameHasOwner", self.name, timeout: self.patience, as: Bool.self)
        } catch {
            throw CommandFailure(error, service: self.title)
        }
    }

    /// The same, or its bus can start it.
    func isThereOrCanStart() throws(CommandFailure) -> Bool {
        if try self.isThere() { return true }
        do throws(BusError) {
            return try self.connection.askBus("ListActivatableNames", timeout: self.patience, as: [String].self)
                .contains(self.name)
        } catch {
            throw CommandFailure(error, service: self.title)
        }
    }

    /// The apps of the broker.
    func listApps() throws(CommandFailure) -> [ListedApp] {
        func page(_ options: [String: Value]) throws(CommandFailure) -> [ListedApp] {
            let page = try self.call(Path.broker, InterfaceName.broker, "ListApps", options)
            return try self.read(page, [ListedApp.Wire].self).map { ListedApp($0) }
        }
        return try self.pages(after: try page([:]), by: { $0.object.text }) { last throws(CommandFailure) in
            try page([ListOptions.after: .objectPath(last.object)])
        }
    }

    /// The windows that jostle-focus sees.
    func listWindows() throws(CommandFailure) -> [ListedWindow] {
        func page(_ options: [String: Value]) throws(CommandFailure) -> [ListedWindow] {
            let page = try self.call(Path.focus, InterfaceName.focus, "ListWindows", options)
            return try self.read(page, [ListedWindow.Wire].self).map { ListedWindow($0) }
        }
        return try self.pages(after: try page([:]), by: { $0.number }) { last throws(CommandFailure) in
            try page([ListOptions.after: .uint64(last.number)])
        }
    }

    /// What there is to see of an app, with all of its detectors, of which a property shows only the first page.
    func app(_ path: ObjectPath) throws(CommandFailure) -> [String: Value] {
        var own = try self.properties(path, InterfaceName.app)
        let first = own.structures("Detectors")
        guard first.count < own.count("DetectorCount") else { return own }
        let detectors = try self.pages(after: first, by: Self.name) { last throws(CommandFailure) in
            let options: [String: Value] = [ListOptions.after: .string(Self.name(last))]
            let page = try self.call(path, InterfaceName.app, "ListDetectors", options)
            let rows = try self.read(page, [Structure<String, [String: Value]>].self)
            return rows.map { row -> [Value] in [.string(row.fields.0), Value(options: row.fields.1)] }
        }
        own["Detectors"] = .array(of: "(sa{sv})", detectors.map { .structure($0) })
        return own
    }

    /// What there is to see of a sensor, with all of its claims, of which a property shows only the first page.
    func sensor(at path: ObjectPath) throws(CommandFailure) -> [String: Value] {
        var own = try self.properties(path, InterfaceName.sensor)
        let first = own.structures("Claimants")
        guard first.count < own.count("ClaimCount") else { return own }
        func number(_ row: [Value]) -> UInt64 { row.last?.asOptions.count(SensorPace.Key.claim) ?? 0 }
        let claims = try self.pages(after: first, by: number) { last throws(CommandFailure) in
            let options: [String: Value] = [ListOptions.after: .uint64(number(last))]
            let page = try self.call(path, InterfaceName.sensor, "ListClaimants", options)
            let rows = try self.read(page, [Structure<String, Double, UInt64, UInt64, UInt64, [String: Value]>].self)
            return rows.map { row -> [Value] in
                let (name, rate, latency, sent, dropped, others) = row.fields
                return [
                    .string(name), .double(rate), .uint64(latency), .uint64(sent), .uint64(dropped),
                    Value(options: others),
                ]
            }
        }
        own["Claimants"] = .array(of: "(sdttta{sv})", claims.map { .structure($0) })
        return own
    }

    /// The text that a row begins with.
    private static func name(_ row: [Value]) -> String { if case .string(let name)? = row.first { name } else { "" } }

    /// Goes on with a list until there is no more of it. Whoever answers may be anybody: rows have to come in their order, and
    /// not without end.
    func pages<Row, Key: Comparable>(
        after first: [Row], by key: (Row) -> Key, _ next: (Row) throws(CommandFailure) -> [Row]
    ) throws(CommandFailure) -> [Row] {
        var rows = first
        for _ in 0..<Self.mostPages {
            guard let last = rows.last else { return rows }
            let page = try next(last)
            guard !page.isEmpty else { return rows }
            var latest = key(last)
            for row in page {
                guard key(row) >= latest else { throw CommandFailure(.no, "\(self.title) lists in no order") }
                latest = key(row)
            }
            guard latest > key(last) else { throw CommandFailure(.no, "\(self.title) lists the same twice") }
            rows += page
        }
        throw CommandFailure(.no, "\(self.title) lists more than there can be")
    }

    /// With these there is room for as many rows as any limit allows.
    private static let mostPages = 1_024

    /// The sensors of the reader, with their objects.
    func listSensors() throws(CommandFailure) -> [(path: ObjectPath, sensor: SensorDescription)] {
        let list = try self.read(
            try self.call(Path.sensors, InterfaceName.sensors, "ListSensors", noOptions),
            [Structure<ObjectPath, [String: Value]>].self)
        return list.compactMap { entry in
            SensorDescription(entry.fields.1).map { (entry.fields.0, $0) }
        }
    }

    /// The sensor of this name; without a name the only one, or the accelerometer.
    func sensor(_ name: String?) throws(CommandFailure) -> (path: ObjectPath, sensor: SensorDescription) {
        let sensors = try self.listSensors()
        let wanted = name ?? (sensors.count == 1 ? sensors[0].sensor.name : SensorDescription.accelerometer)
        if let found = sensors.first(where: { $0.sensor.name == wanted }) { return found }
        throw CommandFailure.usage(
            "there is no sensor '\(printable(wanted))'"
                + Suggestion.advice(on: wanted, among: sensors.map(\.sensor.name), orElse: "; the reader has none"))
    }
}

extension [String: Value] {
    func text(_ key: String) -> String { if case .string(let text) = self[key] { text } else { "" } }
    func number(_ key: String) -> Double { if case .double(let number) = self[key] { number } else { 0 } }
    func count(_ key: String) -> UInt64 { if case .uint64(let count) = self[key] { count } else { 0 } }
    func flag(_ key: String) -> Bool { self[key] == .boolean(true) }

    /// An `as`.
    func lines(_ key: String) -> [String] {
        self.array(key).compactMap { if case .string(let line) = $0 { line } else { nil } }
    }

    /// An `aa{sv}`.
    func rows(_ key: String) -> [[String: Value]] { self.array(key).map(\.asOptions) }

    /// An array of structures.
    func structures(_ key: String) -> [[Value]] {
        self.array(key).compactMap { if case .structure(let fields) = $0 { fields } else { nil } }
    }

    private func array(_ key: String) -> [Value] {
        if case .array(_, let values) = self[key] { values } else { [] }
    }
}
