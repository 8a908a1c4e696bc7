import DBus
import DaemonSupport
import EventLoop
import Motion
import Protocol

/// jostle-sensord: the one reader. Publishes samples to whoever claims a sensor, and runs it only while someone does.
@main
struct Main {
    private static let sourceOption = CommandOption.value(
        "source", "URI", "where samples come from: synth:SCRIPT or trace:FILE[?speed=4&loop] (default: synth:)",
        repeats: true)
    private static let syntax = CommandSyntax(
        "jostle-sensord", "Reads sensors and publishes their samples on D-Bus, to those who claim them.",
        options: [sourceOption] + Daemon.options)

    static func main() {
        do {
            try Startup.prepareDaemon()
            let arguments = self.syntax.parseOrExit()
            let daemon = try Daemon(self.syntax.name, owning: BusName.sensors, arguments)
            let sources = try self.sources(arguments.values(of: self.sourceOption), on: daemon.loop)
            let names = NameWatch(on: daemon.bus)
            let sender = PacedSender(on: daemon.bus)
            let sensors = sources.map { SensorService($0, on: daemon.bus, names, sender, log: daemon.log) }
            let reader = ReaderService(sensors, on: daemon.bus, names)
            let code = try daemon.run(
                ready: { names.refresh() },
                lost: {
                    names.forgetAll()
                    for sensor in reader.sensors { sensor.busLost() }
                })
            code.exit()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch {
            Log(program: self.syntax.name).error("\(error)")
            ExitCode.no.exit()
        }
    }

    /// The sources of all URIs. Each sensor stands at a path of its name, so names must differ.
    private static func sources(_ texts: [String], on loop: EventLoop) throws(UsageProblem) -> [any SampleSource] {
        var sources: [any SampleSource] = []
        for text in texts.isEmpty ? ["synth:"] : texts {
            do throws(SourceURI.Problem) {
                sources += try SourceURI.open(text, on: loop)
            } catch {
                throw UsageProblem(error.message)
            }
        }
        var names: Set<String> = []
        for source in sources where !names.insert(source.sensor.name).inserted {
            throw UsageProblem("two sources have a sensor '\(source.sensor.name)'")
        }
        return sources
    }
}
