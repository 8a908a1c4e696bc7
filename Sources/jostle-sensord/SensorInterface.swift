import DBus
import DeviceCore
import Motion
import Protocol
import SensorCore
import Traces

/// `org.jostle.Sensors1.Sensor`: claims, and what there is to see of one sensor.
enum SensorInterface {
    static let table = Interface<SensorService>(
        InterfaceName.sensor, notes: .jostle,
        methods: [
            Method(later: "Claim", in: ["options"], out: ["in_force"], as: [String: Value].self) {
                (service: SensorService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try service.claim(options, call)
            },
            Method(later: "Release", in: ["options"]) {
                (service: SensorService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Release")
                service.release(call)
            },
            Method(later: "Flush", in: ["options"]) {
                (service: SensorService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Flush")
                service.flush(call)
            },
            Method(
                later: "OpenStream", in: ["options"], out: ["stream", "in_force"], as: WireDescriptor.self,
                [String: Value].self
            ) {
                (service: SensorService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try service.openStream(options, call)
            },
            Method("ListClaimants", in: ["options"], out: ["claimants"]) {
                (
                    service: SensorService, _: MethodCall, options: [String: Value]
                ) throws(BusError) -> [SensorService.ClaimantRow] in
                let reader = try OptionReader(options, of: "ListClaimants", known: [ListOptions.after])
                return service.claimants(after: try reader.count(ListOptions.after) ?? 0)
            },
            Method(later: "Inject", in: ["motion", "options"]) {
                (service: SensorService, call: MethodCall, motion: String, options: [String: Value]) throws(BusError) in
                try OptionReader.none(options, of: "Inject")
                service.inject(motion, call)
            },
        ],
        properties: [
            Property("Name", .constant) { (service: SensorService) in service.description.name },
            Property("Channels", .constant) { (service: SensorService) in service.description.channels },
            Property("Unit", .always) { (service: SensorService) in service.description.unit },
            Property("Range", .always) { (service: SensorService) in service.description.range ?? 0 },
            Property("Rates", .always) { (service: SensorService) in service.description.rates },
            Property("Placement", .always) { (service: SensorService) in service.description.placement },
            Property("Source", .always) { (service: SensorService) in service.description.source },
            Property("Simulated", .constant) { (service: SensorService) in service.description.isSimulated },
            Property("Driver", .always) { (service: SensorService) in service.driver },
            Property("Method", .always) { (service: SensorService) in service.method },
            Property("State", .always) { (service: SensorService) in service.state.name },
            Property("StateDetail", .always) { (service: SensorService) in service.state.detail },
            Property("Running", .always) { (service: SensorService) in service.hub.running != nil },
            Property("Rate", .always) { (service: SensorService) in service.hub.running?.rate ?? 0 },
            Property("BatchLatency", .always) { (service: SensorService) in
                (Timestamp.zero + (service.hub.running?.batchLatency ?? .zero)).wire
            },
            Property("Claimants", .never) { (service: SensorService) in service.claimants() },
            Property("ClaimCount", .never) { (service: SensorService) in UInt64(service.hub.claimCount) },
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
    private(set) var sensors: [SensorService] = []

    private let bus: Connection
    private let names: NameWatch
    private let rights: ClaimRights
    /// Told of each sensor that came or whose description changed.
    var onSensor: (SensorService) -> Void = { _ in }
    /// What there is for all beside what the sensors and rights have, and who has it.
    var otherUsage: () -> [LimitUsage] = { [] }

    init(on bus: Connection, _ names: NameWatch, _ rights: ClaimRights) {
        self.bus = bus
        self.names = names
        self.rights = rights
        bus.export(ExportedObject(Path.sensors, [(Self.table, self)]))
        rights.holders.onAllowed = { [unowned self] name in
            for sensor in self.sensors { sensor.announce(to: name) }
        }
    }

    /// Signals and replies that were not what they pretended to be.
    private var forgeries: UInt64 {
        self.names.forgeries &+ self.bus.refusedReplies &+ self.rights.holders.forgeries
    }

    /// Adds a sensor, and tells those who listen if the bus is there already.
    func add(_ sensor: SensorService) {
        self.sensors.append(sensor)
        sensor.onChange = { [weak self] in self?.tell($0) }
        self.tell(sensor)
    }

    private func tell(_ sensor: SensorService) {
        self.onSensor(sensor)
        guard self.bus.isReady else { return }
        sensor.announce(to: nil)
    }

    private var limits: [String: UInt64] {
        let (claimants, streams) = (SensorHub.strangers, self.rights.streams)
        let messages = SensorHub.messages
        let (refused, waiting) = (SensorLimits.refused, SensorLimits.allWaiting)
        let own: [String: UInt64] = [
            "claimants": UInt64(claimants.limit), "claimants-of-root": UInt64(claimants.reserve),
            "claimants-per-user": UInt64(claimants.share), "messages-per-second": UInt64(messages.limit),
            "messages-per-second-of-root": UInt64(messages.reserve),
            "messages-per-second-per-user": UInt64(messages.share), "list-rows": UInt64(SensorService.listRows),
            "motions": UInt64(SyntheticMotion.Limits.injected),
            "motion-bytes": UInt64(SyntheticMotion.Limits.script), "streams": UInt64(SensorLimits.streams),
            "all-streams": UInt64(streams.limit), "all-streams-of-root": UInt64(streams.reserve),
            "all-streams-per-user": UInt64(streams.share), "stream-bytes": UInt64(SampleStream.room),
            "refused-claims": UInt64(refused.limit), "refused-claims-of-root": UInt64(refused.reserve),
            "refused-claims-per-user": UInt64(refused.share),
            "waiting-per-caller": UInt64(SensorLimits.waiting), "all-waiting": UInt64(waiting.limit),
            "all-waiting-of-root": UInt64(waiting.reserve), "all-waiting-per-user": UInt64(waiting.share),
            "signal-bytes": UInt64(SignalLine.room + SignalLine.kept),
        ]
        return own.merging(CallLimits.table) { own, _ in own }.merging(Polkit.limits) { own, _ in own }
            .merging(PolkitRounds.limits) { own, _ in own }.merging(SensorProxy.limits) { own, _ in own }
    }

    /// What is held of what there is for all, and by whom. A user sees what is his, and what all have together; our own user and
    /// root see everything.
    private func listUsage(_ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let last = try UsageTable.Key.after(options)
        self.bus.identity(of: call.sender) { [weak self] answer in
            guard let self else { return }
            let identity: CallerIdentity
            switch answer {
            case .success(let known): identity = known
            case .failure(let error): return call.fail(error)
            }
            let table = UsageTable(
                self.sensors.flatMap(\.usage) + self.rights.usage + self.otherUsage() + self.bus.usage)
            let viewer: UsageTable.Viewer = identity.isTrusted ? .everything : .user(identity.payer)
            call.reply(table.rows(for: viewer, after: last, atMost: SensorService.listRows).map(\.wire))
        }
    }

    /// What this reader can do that another version might not.
    private static let features = [
        "batching", "decimation", "flush", "fusion", "inject", "or-slower", "passive", "resting", "streams",
        "usage",
    ]

    private static let table = Interface<ReaderService>(
        InterfaceName.sensors, notes: .jostle,
        methods: [
            Method("ListSensors", in: ["options"], out: ["sensors"]) {
                (
                    service: ReaderService, _: MethodCall, options: [String: Value]
                ) throws(BusError) -> [Structure<ObjectPath, [String: Value]>] in
                try OptionReader.none(options, of: "ListSensors")
                return service.sensors.map { Structure(Path.sensor($0.description.name), $0.description.options) }
            },
            Method(later: "ListUsage", in: ["options"], out: ["usage"], as: [UsageTable.Row.Wire].self) {
                (service: ReaderService, call: MethodCall, options: [String: Value]) throws(BusError) in
                try service.listUsage(options, call)
            },
        ],
        properties: [
            Property("Version", .constant) { (_: ReaderService) in Version.text },
            Property("Features", .constant) { (_: ReaderService) in ReaderService.features },
            Property("Limits", .constant) { (service: ReaderService) -> [String: UInt64] in service.limits },
            Property("RefusedMessages", .never) { (service: ReaderService) in service.forgeries },
        ],
        signals: [
            SignalDescription("SensorChanged", ["sensor", "description"], ObjectPath.self, [String: Value].self)
        ])
}
