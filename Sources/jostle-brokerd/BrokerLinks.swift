import Arbitration
import DBus
import DaemonSupport
import Journal
import Protocol

/// Makes what stands beside the broker's loop, and knows it all: each link has one subject, and its variables are its own.
final class BrokerLinks {
    private unowned let service: BrokerService
    let dueWork: DueWork
    let sensors: SensorLink
    let disk: DiskLink
    let clients: ClientLink
    let registrations: RegistrationLink
    let appFiles: AppFileLink
    let durable: DurableLink
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
        _ service: BrokerService, _ store: StoreLink?, _ policy: PolicyLink, _ appFiles: AppFileLink,
        sensorBuses: [Connection], loginBus: Connection, streamsFrom: Double, record: BrokerRecord
    ) {
        self.service = service
        self.dueWork = DueWork(service, record: record)
        self.sensors = SensorLink(service, on: sensorBuses, streamsFrom: streamsFrom)
        self.disk = DiskLink(service, store)
        self.clients = ClientLink(service)
        self.registrations = RegistrationLink(service, self.clients, waits: store != nil)
        self.appFiles = appFiles
        self.durable = DurableLink(service, store?.store)
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

    var usage: UsageLink { UsageLink(self.service) }
    var history: HistoryLink { self.disk.history }

    /// Another policy is in force.
    func policyChanged(from old: Policy) {
        self.service.followClock()
        self.clients.policyChanged(from: old)
        self.reports.policyChanged()
        self.disk.keep(self.policy.inForce)
        self.changed("PolicyGeneration")
        self.changed("PolicyFiles")
    }

    /// Hands on what the disk says.
    func take(_ news: Store.News) {
        switch news {
        case .epochs(let block): self.service.skipEpochs(upTo: block.first)
        case .restored(let due): self.disk.restore(due)
        case .persisted(let due): self.disk.persisted(due)
        case .apps(let apps):
            self.durable.restore(apps)
            self.clients.leaveMismatched()
            self.appFiles.install(apps) { [unowned self] in self.registrations.admitParked() }
        case .committed(let number): self.durable.committed(upTo: number)
        case .uncommitted(let why): self.durable.notCommitted(why)
        case .restoredTasks(let records, let terminated): self.tasks.restore(records, terminated: terminated)
        case .tasksKept(let number): self.tasks.committed(upTo: number)
        case .setAside(let why):
            self.service.log.error("a broken file is set aside: \(why)", as: .fileSetAside, about: [.reason: why])
        case .forgotten:
            // The file on the disk was not what it was: another one has to be what we know.
            self.durable.storeAgain()
            self.disk.storeAgain()
            self.tasks.storeAgain()
        case .failed(let why):
            self.service.log.error(
                "nothing can be kept on the disk: \(why)", as: .diskFailed, about: [.reason: why])
            self.tasks.notCommitted()
            self.registrations.admitParked()
        case .recovered: self.service.log.notice("the disk is well again", as: .diskRecovered)
        case .behind:
            self.service.log.warning(
                "rows of the journal are left out: more come than the disk takes; all else is kept")
        case .caughtUp: self.service.log.notice("no rows of the journal are left out any more")
        }
    }

    /// Notes that one of the broker's own properties has a new value.
    func changed(_ property: StaticString) { self.object.changed(property, of: BrokerInterface.table) }
}
