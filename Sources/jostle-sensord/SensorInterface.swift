import DBus
import Motion
import Protocol
import SensorCore
import Traces

/// `org.jostle.Sensors1.Sensor`: claims, and what there is to see of one sensor.
enum SensorInterface {
    static let table = Interface<SensorService>(
        InterfaceName.sensor,
        methods: [
            Method("Claim", in: ["options"], out: ["in_force"]) {
                (service: SensorService, call: MethodCall, options: [String: Value]) throws(BusError) -> [String: Value]
                in
                try service.claim(options, call)
            },
            Method("Release") { (service: SensorService, call: MethodCall) throws(BusError) in
                service.release(call)
            },
            Method("Inject", in: ["motion"]) {
                (service: SensorService, _: MethodCall, motion: String) throws(BusError) in
                try service.inject(motion)
            },
        ],
        properties: [
            Property("Name", .constant) { (service: SensorService) in service.description.name },
            Property("Channels", .constant) { (service: SensorService) in service.description.channels },
            Property("Unit", .constant) { (service: SensorService) in service.description.unit },
            Property("Range", .constant) { (service: SensorService) in service.description.range ?? 0 },
            Property("Rates", .constant) { (service: SensorService) in service.description.rates },
            Property("Placement", .constant) { (service: SensorService) in service.description.placement },
            Property("Source", .constant) { (service: SensorService) in service.description.source },
            Property("Simulated", .constant) { (service: SensorService) in service.description.isSimulated },
            Property("Running", .always) { (service: SensorService) in service.hub.running != nil },
            Property("Rate", .always) { (service: SensorService) in service.hub.running?.rate ?? 0 },
            Property("BatchLatency", .always) { (service: SensorService) in
                (Timestamp.zero + (service.hub.running?.batchLatency ?? .zero)).wire
            },
            Property("Claimants", .never) { (service: SensorService) in service.claimants },
            Property("Sent", .never) { (service: SensorService) in service.hub.counters.sent },
            Property("Dropped", .never) { (service: SensorService) in service.hub.counters.dropped },
            Property("Refused", .never) { (service: SensorService) in service.hub.counters.refused },
        ],
        signals: [
            SignalDescription("Samples", ["samples"], Structure<UInt64, [UInt64], [Double]>.self),
            SignalDescription("ClaimChanged", ["in_force"], [String: Value].self),
        ])
}

/// The reader's root object.
final class ReaderService {
    let sensors: [SensorService]

    private let names: NameWatch

    init(_ sensors: [SensorService], on bus: Connection, _ names: NameWatch) {
        self.sensors = sensors
        self.names = names
        bus.export(ExportedObject(Path.sensors, [(Self.table, self)]))
    }

    private static let table = Interface<ReaderService>(
        InterfaceName.sensors,
        methods: [
            Method("ListSensors", out: ["sensors"]) {
                (service: ReaderService, _: MethodCall) throws(BusError) -> [Structure<ObjectPath, [String: Value]>] in
                service.sensors.map { Structure(Path.sensor($0.description.name), $0.description.options) }
            }
        ],
        properties: [
            Property("Version", .constant) { (_: ReaderService) in Version.text },
            Property("Limits", .constant) { (_: ReaderService) -> [String: UInt64] in
                [
                    "claimants": UInt64(SensorLimits.claimants), "motions": UInt64(SyntheticMotion.Limits.injected),
                    "motion-bytes": UInt64(SyntheticMotion.Limits.script),
                ]
            },
            Property("RefusedSignals", .never) { (service: ReaderService) in service.names.forgeries },
        ])
}
