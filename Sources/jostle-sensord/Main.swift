import DBus
import DaemonSupport
import Detection
import Devices
import Loop
import Motion
import PolicyFiles
import Protocol

/// jostle-sensord: the one reader. Publishes samples to whoever claims a sensor, and runs it only while someone does.
@main
struct Main {
    private static let sourceOption = CommandOption.value(
        "source", "URI",
        "where samples come from: auto (all sensors that are found; the default), iio:NAME, evdev:NODE, gpsd[:HOST[:PORT]], "
            + "synth:SCRIPT or trace:FILE[?speed=4&loop]",
        naming: .oneOf(["auto", "gpsd", "synth:"]), repeats: true)
    private static let policyOption = CommandOption.value(
        "policy", "DIR",
        "read policy files here and nowhere else, to learn who may read fast; a later directory overrides an earlier one",
        naming: .directory, repeats: true)
    private static let syntax = CommandSyntax(
        "jostle-sensord", "Reads sensors and publishes their samples on D-Bus, to those who claim them.",
        options: [
            sourceOption, policyOption, proxyOption, proxyRateOption, calmOption, calmingOption, hingeOption,
            tabletOption,
        ] + Daemon.options)

    private static let proxyOption = CommandOption.flag(
        "sensor-proxy", "also serve \(SensorProxy.busName), in the place of iio-sensor-proxy")
    private static let proxyRateOption = TypedOption<Double>(
        "sensor-proxy-rate", "RATE",
        "how often its sensors are read, such as 5Hz (default: every 0.7 s, as iio-sensor-proxy does)",
        expected: "a rate from \(SensorProxy.rates.lowerBound)Hz to \(SensorProxy.rates.upperBound)Hz"
    ) { text in
        guard let quantity = try? Quantity.parse(text), [.frequency, .none].contains(quantity.dimension),
            SensorProxy.rates.contains(quantity.value)
        else { return nil }
        return quantity.value
    }

    private static let calmOption = CommandOption.flag(
        "sensor-proxy-calm",
        "its AccelerometerOrientation turns as the preset orientation.screen does: not while shaken or walked with")
    private static let calmingOption = TypedOption<CalmScreen>(
        "sensor-proxy-calming", "OPTIONS",
        "the same, with options of that preset that are other than by default, such as hold=500ms,lean=40deg",
        expected: "options of the preset orientation.screen, such as hold=500ms,lean=40deg"
    ) { text in
        var options: DetectorOptions = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, pair[0] != "preset" else { return nil }
            options[String(pair[0])] = .text(String(pair[1]))
        }
        return try? CalmScreen(options)
    }
    private static let hingeOption = TypedOption<MadeSensors.HingePair>(
        "hinge", "DISPLAY,BASE",
        "the accelerometers of a laptop's display and base (default: accelerometer,accelerometer-base)",
        expected: "the names of two sensors, such as accelerometer,accelerometer-2"
    ) { text in
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let isPair = names.count == 2 && names[0] != names[1]
        let kind = SensorDescription.accelerometer
        guard isPair, names.allSatisfy({ SensorDescription.kind(of: $0) == kind }) else { return nil }
        return MadeSensors.HingePair(display: names[0], base: names[1])
    }
    private static let tabletOption = CommandOption.flag(
        "tablet-switch", "tell the kernel when the laptop is a tablet, by a switch that is made with /dev/uinput")

    static func main() {
        do {
            try Startup.prepareDaemon()
            let arguments = self.syntax.parseOrExit()
            let daemon = try Daemon(self.syntax.name, owning: BusName.sensors, arguments)
            let wanted = try self.sources(arguments.values(of: self.sourceOption), on: daemon.loop, log: daemon.log)
            let names = NameWatch(on: daemon.bus)
            let sender = PacedSender(on: daemon.bus)
            // Where the bus is one user's, whoever is there may claim.
            let polkit = daemon.bus.address == .system ? Polkit(besides: daemon.bus, log: daemon.log) : nil
            let policy = PolicySource(
                try arguments.directories(of: self.policyOption), environment: environmentValue)
            let rights = ClaimRights(on: daemon.bus, names, policy, polkit, log: daemon.log)
            let reader = ReaderService(on: daemon.bus, names, rights)
            if !arguments.has(self.proxyOption), arguments.has(self.calmOption) || arguments.has(self.calmingOption) {
                throw UsageProblem("a calm façade needs '--sensor-proxy'")
            }
            var proxy: SensorProxy?
            if arguments.has(self.proxyOption) {
                daemon.bus.ownIfFree(SensorProxy.busName) {
                    daemon.log.warning("\($0.message); serving the rest without it")
                }
                proxy = SensorProxy(
                    on: daemon.bus, names, sender, polkit,
                    rate: try arguments.value(of: self.proxyRateOption) ?? SensorProxy.usualRate,
                    calm: try self.calm(arguments), log: daemon.log)
            }
            reader.onSensor = { proxy?.see($0) }
            reader.otherUsage = { (polkit.map { [$0.usage] } ?? []) + (proxy?.usage ?? []) }
            let hinge = try arguments.value(of: self.hingeOption) ?? MadeSensors.HingePair()
            let tablet = arguments.has(self.tabletOption) ? self.tabletSwitch(on: daemon.loop, log: daemon.log) : nil
            func service(of source: any SampleSource) -> SensorService {
                let sensor = SensorService(source, on: daemon.bus, names, sender, rights, log: daemon.log)
                reader.add(sensor)
                return sensor
            }
            // What is made of sensors; a trace may have it already.
            let made = MadeSensors(given: wanted.fixed.map(\.sensor.name), hinge, tablet, service)
            func add(_ source: any SampleSource) { made.see(service(of: source)) }
            for source in wanted.fixed { add(source) }
            let devices = self.devices(
                wanted.devices, taken: wanted.fixed.map(\.sensor.name), on: daemon.loop, log: daemon.log)
            for source in devices?.sources ?? [] { add(source) }
            devices?.onSource = { add($0) }
            polkit?.open()
            let code = try daemon.run(
                ready: {
                    names.refresh()
                    if reader.sensors.isEmpty {
                        daemon.log.notice("no sensor is there; waiting for one (--source synth: makes motion)")
                    }
                },
                // With their names, all claimants are gone.
                lost: { names.forgetAll() })
            devices?.stop()
            code.exit()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch {
            Log(program: self.syntax.name).error("\(error)")
            ExitCode.no.exit()
        }
    }

    /// What turns the screen; `nil`: each reading does.
    private static func calm(_ arguments: Arguments) throws -> CalmScreen? {
        if let calm = try arguments.value(of: self.calmingOption) { return calm }
        return arguments.has(self.calmOption) ? try CalmScreen() : nil
    }

    /// The switch, or none where it cannot be made: a reader without it is better than no reader.
    private static func tabletSwitch(on loop: EventLoop, log: Log) -> TabletSwitch? {
        do throws(TabletSwitch.StartProblem) {
            return try TabletSwitch(on: loop, log: log)
        } catch {
            log.error("there is no tablet switch: \(error.message)")
            return nil
        }
    }

    /// The sources of all URIs. Each sensor stands at a path of its name, so names must differ.
    private static func sources(
        _ texts: [String], on loop: EventLoop, log: Log
    ) throws(UsageProblem) -> (fixed: [any SampleSource], devices: Set<DeviceSelection>) {
        var fixed: [any SampleSource] = []
        var devices: Set<DeviceSelection> = []
        for text in texts.isEmpty ? ["auto"] : texts {
            do throws(SourceURI.Problem) {
                switch try SourceURI.open(text, on: loop, remark: { log.warning("\($0)") }) {
                case .sources(let sources): fixed += sources
                case .devices(let selection): devices.insert(selection)
                }
            } catch {
                throw UsageProblem(error.message)
            }
        }
        var names: Set<String> = []
        for source in fixed where !names.insert(source.sensor.name).inserted {
            throw UsageProblem("two sources have a sensor '\(source.sensor.name)'")
        }
        return (fixed, devices)
    }

    /// The sensors that are measured; `nil` when none are wanted, or there is no way to find any.
    private static func devices(
        _ selections: Set<DeviceSelection>, taken: [String], on loop: EventLoop, log: Log
    ) -> DeviceSources? {
        guard !selections.isEmpty else { return nil }
        do throws(DeviceSources.Problem) {
            return try DeviceSources(
                selections, taken: taken, on: loop, remark: { log.warning("\($0)") }, detail: { log.debug("\($0)") })
        } catch {
            log.error("no devices can be read: \(error.message)")
            return nil
        }
    }
}
