import DBus
import Loop
import Motion
import Protocol
import TestSupport

/// A broker of a test's own, on the loop of the app that it is for: it notes what it is asked, and says what the test wants said.
///
/// It goes when it leaves, because its objects hold it.
final class BrokerDouble {
    /// What was asked, in order.
    private(set) var calls: [String] = []
    /// What the next call of a method is answered with, in place of what should be.
    var errors: [String: BusError] = [:]
    /// After how long detectors are answered that are added, in µs; they are there before.
    var pause: Int64 = 0
    /// The options of the detectors that it has, by their names.
    private(set) var detectors: [String: [String: Value]] = [:]
    private let connection: Connection
    private var objects: [ExportedObject] = []
    /// The app's connection.
    private var app = ""

    private typealias Detectors = [Structure<String, [String: Value]>]

    private static let path = Path.app("org.example.App")

    init(on bus: PrivateBus, _ loop: EventLoop) throws {
        self.connection = Connection(to: .address(bus.address), on: loop, names: [BusName.broker])
        self.objects = [
            ExportedObject(Path.broker, [(Self.root(), self)]), ExportedObject(Self.path, [(Self.table(), self)]),
        ]
        for object in self.objects { self.connection.export(object) }
        try self.connection.openAndWait()
    }

    /// Leaves the bus for good.
    func leave() {
        self.connection.close()
        for object in self.objects { self.connection.unexport(object) }
        self.objects = []
    }

    /// Sends the app an event that wants an answer.
    func send(_ sequence: UInt64, isRedelivered: Bool = false) {
        var event = EventCodec.Body(
            sequence: sequence, epoch: sequence + 100, time: .zero, detector: "jolt", peak: 1, generation: 1,
            isSimulated: true)
        event.wantsAck = true
        event.isRedelivered = isRedelivered
        self.connection.signal(from: Self.path, InterfaceName.app, "Event", to: self.app) { writer in
            EventCodec.write(event, to: &writer)
        }
    }

    /// Has the app begin a task; `then` is told whether it took it.
    func run(_ task: String, then: @escaping (Bool) -> Void) {
        let receiver = CallTarget(self.app, Path.receiver, InterfaceName.receiver.description)
        let options: [String: Value] = ["attempt": .uint32(1)]
        self.connection.call(receiver, "RunTask", task, UInt64.max, options) { result in
            then(result.errorName().isEmpty)
        }
    }

    private func note(_ method: String, _ details: String = "") throws(BusError) {
        self.calls.append(details.isEmpty ? method : "\(method) \(details)")
        if let error = self.errors.removeValue(forKey: method) { throw error }
    }

    private static func root() -> Interface<BrokerDouble> {
        Interface(
            InterfaceName.broker,
            methods: [
                Method("Register", in: ["app", "options"], out: ["object", "in_force"]) {
                    (broker: BrokerDouble, call: MethodCall, _: String, _: [String: Value])
                        throws(BusError) -> (ObjectPath, [String: Value]) in
                    broker.app = call.sender
                    try broker.note("Register")
                    return (Self.path, [:])
                }
            ])
    }

    private static func table() -> Interface<BrokerDouble> {
        Interface(
            InterfaceName.app,
            methods: [
                Method("Subscribe", in: ["options"], out: ["results"]) {
                    (broker: BrokerDouble, _: MethodCall, options: [String: Value])
                        throws(BusError) -> [String: Value] in
                    var since = ""
                    if case .structure(let name) = options[SubscribeOptions.since], case .uint64(let number) = name[0] {
                        since = "since \(number)"
                    }
                    try broker.note("Subscribe", since)
                    return [:]
                },
                Method(later: "AddDetectors", in: ["detectors"], out: ["effective"], as: Detectors.self) {
                    (broker: BrokerDouble, call: MethodCall, detectors: Detectors) throws(BusError) in
                    try broker.note("AddDetectors", detectors.map { $0.fields.0 }.joined(separator: " "))
                    for detector in detectors { broker.detectors[detector.fields.0] = detector.fields.1 }
                    guard broker.pause > 0 else { return call.reply(detectors) }
                    broker.connection.loop.once(after: broker.pause) { call.reply(detectors) }
                },
                Method("RemoveDetectors", in: ["names", "options"]) {
                    (broker: BrokerDouble, _: MethodCall, names: [String], _: [String: Value]) throws(BusError) in
                    try broker.note("RemoveDetectors", names.joined(separator: " "))
                    for name in names { broker.detectors[name] = nil }
                },
                Method("Ack", in: ["sequence", "epoch", "answer", "options"]) {
                    (broker: BrokerDouble, _: MethodCall, sequence: UInt64, _: UInt64, _: String, _: [String: Value])
                        throws(BusError) in try broker.note("Ack", "\(sequence)")
                },
                Method("TaskDone", in: ["result", "options"]) {
                    (broker: BrokerDouble, _: MethodCall, result: String, _: [String: Value]) throws(BusError) in
                    try broker.note("TaskDone", result)
                },
            ])
    }
}

extension CallResult {
    /// The name of the error; empty when there is none.
    fileprivate consuming func errorName() -> String {
        do throws(BusError) {
            _ = try self.take()
            return ""
        } catch {
            return error.name
        }
    }
}
