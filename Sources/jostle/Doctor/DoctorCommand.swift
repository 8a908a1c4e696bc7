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
        let buses = TypedCommand.Buses(broker: self.invocation.bus, reader: self.findReader())
        let remarks = self.examine(buses)
        let terminal = self.invocation.terminal
        let wrong = remarks.count { $0.state == .wrong }
        let isAll = self.invocation.isJSON || self.invocation.arguments.has(Self.all)
        for remark in remarks where isAll || remark.state != .good {
            let lines = self.invocation.isJSON ? [remark.json(on: buses)] : remark.lines(terminal, on: buses)
            lines.forEach { terminal.print($0) }
        }
        guard wrong == 0 else { throw CommandFailure(.no, "\(wrong) thing\(wrong == 1 ? " is" : "s are") wrong") }
        if !self.invocation.isJSON { terminal.print("nothing is wrong; --all shows what was looked at") }
    }

    /// Looks at everything, in the order in which one would mend it.
    private func examine(_ buses: TypedCommand.Buses) -> [Remark] {
        let (ownAddress, sensorAddress) = (buses.broker, buses.reader)
        let own = self.open(ownAddress)
        let sensors = sensorAddress == ownAddress ? own : self.open(sensorAddress)
        let broker = ServiceExam(.broker, on: own, at: ownAddress)
        let reader = ServiceExam(.reader, on: sensors, at: sensorAddress)
        var remarks: [Remark] = []
        for remark in broker.remarks + reader.remarks where !remarks.contains(remark) { remarks.append(remark) }
        remarks += (broker.unit?.remarks ?? []) + (reader.unit?.remarks ?? [])
        let sensorBus = try? sensors.get()
        let ofBroker = Self.properties(of: broker, on: try? own.get())
        let ofSensors = SensorExam(
            reader: reader.isHeard ? sensorBus : nil, broker: ofBroker, readersLog: reader.upkeep.log)
        let isSystems = sensorAddress == .system
        remarks +=
            DeviceExam(
                reader: isSystems ? DeviceExam.Reader(reader.owner) : nil, hasRival: Self.hasRival(sensorBus),
                hasSensors: ofSensors.hasSensors
            ).remarks
        if isSystems, let sensorBus { remarks += RightsExam(on: sensorBus, isRoot: geteuid() == 0).remarks }
        remarks += ofSensors.remarks
        remarks += PolicyExam(broker: ofBroker, on: ownAddress).remarks
        if let ofBroker {
            let exam = BrokerExam(
                ofBroker, log: broker.upkeep.log, directory: StateDirectory.standard(for: ownAddress))
            remarks += exam.remarks(now: Clock.boottime.now())
        }
        return remarks + ClockExam().remarks
    }

    /// Where the reader is; the session bus where there is none.
    private func findReader() -> BusAddress {
        if case .told(let address) = self.invocation.sensorBus { return address }
        return (try? Service.sensors(on: .found, self.invocation.loop, within: AskedBus.patience))?.connection.address
            ?? .session
    }

    private func open(_ address: BusAddress) -> Result<AskedBus, BusError> {
        do throws(BusError) {
            return .success(try AskedBus(address, self.invocation.loop))
        } catch {
            return .failure(error)
        }
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
