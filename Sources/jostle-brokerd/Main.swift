import DBus
import DaemonSupport
import EventLoop
import Motion
import Protocol

/// jostle-brokerd: evaluates all apps' detectors once, decides who reacts, and tells them.
@main
struct Main {
    private static let sensorBusOption = CommandOption.value(
        "sensor-bus", "BUS", "the bus of the sensor reader, if it is another one")
    private static let syntax = CommandSyntax(
        "jostle-brokerd", "Evaluates the detectors of all apps and gives each its events.",
        options: [sensorBusOption] + Daemon.options)

    static func main() {
        do {
            try Startup.prepareDaemon()
            let arguments = self.syntax.parseOrExit()
            let daemon = try Daemon(self.syntax.name, owning: BusName.broker, arguments)
            let sensorBus = try self.sensorBus(arguments, daemon)
            let service = BrokerService(on: daemon.loop, bus: daemon.bus, sensorBus: sensorBus, log: daemon.log)
            if sensorBus !== daemon.bus { try service.sensors.open() }
            let code = try daemon.run(ready: { service.busReady() }, lost: { service.busLost() })
            code.exit()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch {
            Log(program: self.syntax.name).error("\(error)")
            ExitCode.no.exit()
        }
    }

    /// A connection of its own when the sensors are on another bus than the apps.
    private static func sensorBus(_ arguments: Arguments, _ daemon: Daemon) throws(UsageProblem) -> Connection {
        guard let address = try Daemon.address(of: self.sensorBusOption, in: arguments),
            address != daemon.bus.address
        else { return daemon.bus }
        return Connection(to: address, on: daemon.loop, retry: .upTo(microseconds: Daemon.longestRetry))
    }
}
