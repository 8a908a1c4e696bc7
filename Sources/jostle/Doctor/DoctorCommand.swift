import DBus
import DaemonSupport
import Glibc
import Loop
import Protocol

/// `jostle doctor`: looks at all that has to work together, and says of each what is wrong and which command mends it.
struct DoctorCommand {
    private static let all = CommandOption.flag("all", "show what is well, too")

    static let syntax = CommandSyntax(
        "doctor", "look at all that motion needs, and say what is wrong and what mends it", reaching: .whoeverIsThere,
        options: [all, CommonOption.json],
        exits: [.done: "nothing is wrong", .no: "something is wrong"],
        action: { try DoctorCommand(invocation: $0).run() })

    private let invocation: Invocation

    private func run() throws(CommandFailure) {
        let remarks = self.examine()
        let terminal = self.invocation.terminal
        let wrong = remarks.count { $0.state == .wrong }
        let isAll = self.invocation.isJSON || self.invocation.arguments.has(Self.all)
        for remark in remarks where isAll || remark.state != .good {
            let lines = self.invocation.isJSON ? [remark.json] : remark.lines(terminal)
            lines.forEach { terminal.print($0) }
        }
        guard wrong == 0 else { throw CommandFailure(.no, "\(wrong) thing\(wrong == 1 ? " is" : "s are") wrong") }
        if !self.invocation.isJSON { terminal.print("nothing is wrong; --all shows what was looked at") }
    }

    /// Looks at everything, in the order in which one would mend it.
    private func examine() -> [Remark] {
        let (ownAddress, sensorAddress) = (self.invocation.bus, self.sensorAddress)
        let own = self.open(ownAddress)
        let sensors = sensorAddress == ownAddress ? own : self.open(sensorAddress)
        let broker = ServiceExam(.broker, on: own, at: ownAddress)
        let reader = ServiceExam(.reader, on: sensors, at: sensorAddress)
        var remarks: [Remark] = []
        for remark in broker.remarks + reader.remarks where !remarks.contains(remark) { remarks.append(remark) }
        remarks += self.units(own, ownAddress, "jostle-brokerd.service")
        remarks += self.units(sensors, sensorAddress, "jostle-sensord.service")
        let isSystems = sensorAddress == .system
        let sensorBus = try? sensors.get()
        remarks += DeviceExam(isSystems: isSystems, hasRival: Self.hasRival(sensorBus)).remarks
        if isSystems, let sensorBus { remarks += RightsExam(on: sensorBus, isRoot: geteuid() == 0).remarks }
        let ofBroker = Self.properties(of: broker, on: try? own.get())
        remarks += SensorExam(reader: reader.isHeard ? sensorBus : nil, broker: ofBroker).remarks
        remarks += PolicyExam(broker: ofBroker, on: ownAddress).remarks
        if let ofBroker { remarks += BrokerExam(ofBroker).remarks(now: Clock.boottime.now()) }
        return remarks + ClockExam().remarks
    }

    /// Where the reader is; the session bus where there is none.
    private var sensorAddress: BusAddress {
        if case .told(let address) = self.invocation.sensorBus { return address }
        return (try? Service.sensors(on: .found, self.invocation.loop))?.connection.address ?? .session
    }

    private func open(_ address: BusAddress) -> Result<AskedBus, BusError> {
        do throws(BusError) {
            return .success(try AskedBus(address, self.invocation.loop))
        } catch {
            return .failure(error)
        }
    }

    /// Whoever made a bus of their own has no units on it.
    private func units(_ bus: Result<AskedBus, BusError>, _ address: BusAddress, _ unit: String) -> [Remark] {
        guard let bus = try? bus.get(), address == .session || address == .system else { return [] }
        return UnitExam(unit, isUsers: address == .session, on: bus)?.remarks ?? []
    }

    /// Whether somebody else than the reader has iio-sensor-proxy's name.
    private static func hasRival(_ bus: AskedBus?) -> Bool {
        guard let rival = bus?.owner(of: "net.hadess.SensorProxy") else { return false }
        return rival.process != bus?.owner(of: BusName.sensors)?.process
    }

    private static func properties(of broker: ServiceExam, on bus: AskedBus?) -> [String: Value]? {
        guard broker.isHeard else { return nil }
        return try? bus?.properties(BusName.broker, Path.broker, InterfaceName.broker.description)
    }
}

extension ServiceExam {
    /// Whether it answers, of whatever version it is.
    var isHeard: Bool { if case .runs = self.standing { true } else { false } }
}
