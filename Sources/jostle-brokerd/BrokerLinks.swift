import BrokerCore
import DBus
import Protocol

/// Makes what stands beside the broker's loop, and knows it all: each link has one subject, and its variables are its own.
final class BrokerLinks {
    private unowned let service: BrokerService
    let due: DueWork
    let sensors: SensorLink
    let policy: PolicyLink
    let launches: LaunchLink
    let tasks: TaskLink
    let reports: ReportLink
    let explanations: ExplainLink
    let login: LoginLink
    private let power: PowerLink
    /// Our own object on the bus.
    private let object: ExportedObject

    init(
        _ service: BrokerService, _ store: StoreLink?, _ policy: PolicyLink, sensorBus: Connection,
        loginBus: Connection, streamsFrom: Double, record: BrokerRecord
    ) {
        self.service = service
        self.due = DueWork(service, record: record)
        self.sensors = SensorLink(service, on: sensorBus, streamsFrom: streamsFrom)
        self.policy = policy
        self.launches = LaunchLink(service)
        self.tasks = TaskLink(service, store?.store)
        self.reports = ReportLink(service)
        self.explanations = ExplainLink(service, store)
        self.login = LoginLink(service, on: loginBus)
        self.power = PowerLink(service, on: loginBus, self.login.names)
        self.object = ExportedObject(Path.broker, [(BrokerInterface.table, service)])
        service.bus.export(self.object)
    }

    /// Another policy is in force.
    func policyChanged() {
        self.service.followClock()
        self.service.limitPeers()
        self.service.keep(self.policy.inForce)
        self.changed("PolicyGeneration")
        self.changed("PolicyFiles")
    }

    /// Notes that one of the broker's own properties has a new value.
    func changed(_ property: StaticString) { self.object.changed(property, of: BrokerInterface.table) }
}
