import DBus
import DaemonSupport
import Detection
import Glibc
import Loop
import Motion
import PolicyFiles
import Protocol

/// What a shell is offered where a command line names something that is in no table: presets, and what there is at the moment.
///
/// Somebody waits at a prompt: who does not answer at once has no names, nothing is started for the question, and nothing is said
/// of what goes wrong.
enum CompletionNames {
    /// How long the bus may take to greet us, and each answer, in ms.
    private static let patience: Int32 = 250
    /// After so many seconds the process ends without a word, wherever it waits.
    private static let end: UInt32 = 2

    static func candidates(_ word: CommandWord, _ start: String, _ arguments: Arguments) -> [Candidate] {
        switch word {
        case .text, .oneOf, .file, .directory, .path, .program: return []
        case .preset: return self.presets
        case .detector: return self.detectors(start)
        case .app, .sensor, .task: break
        }
        guard let invocation = try? Invocation(arguments) else { return [] }
        alarm(self.end)
        switch word {
        case .app: return self.apps(invocation)
        case .sensor: return (try? self.sensors(invocation)) ?? []
        default: return (try? self.tasks(invocation)) ?? []
        }
    }

    // MARK: Presets

    private static var presets: [Candidate] { PresetCatalogue.all.map { Candidate($0.name, $0.summary) } }

    /// `PRESET`, and behind commas the options that are not there yet; behind an option its default, or its words.
    private static func detectors(_ start: String) -> [Candidate] {
        let parts = start.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1, let last = parts.last, let preset = PresetCatalogue.named(parts[0]) else {
            return self.presets
        }
        let head = parts.dropLast().joined(separator: ",") + ","
        if let equals = last.firstIndex(of: "=") {
            guard let option = preset.options.first(where: { $0.name == last[..<equals] }) else { return [] }
            let values = option.words.isEmpty ? option.standard.map { [$0] } ?? [] : option.words
            return values.map { Candidate("\(head)\(last[...equals])\($0)", option.range) }
        }
        let given = Set(parts.dropLast().map { String($0.prefix { $0 != "=" }) })
        return preset.options.filter { !given.contains($0.name) }.map { Candidate("\(head)\($0.name)=", $0.help) }
    }

    // MARK: What there is

    /// Those that have a file, and those that are there.
    private static func apps(_ invocation: Invocation) -> [Candidate] {
        let source = invocation.bus == .system ? AppSource([]) : AppSource([], user: environmentValue)
        let present = ((try? self.broker(invocation).listApps()) ?? []).map { Candidate($0.app, $0.state) }
        let told = Set(present.map(\.word))
        return present + source.ids().filter { !told.contains($0.name) }.map { Candidate($0.name, "installed") }
    }

    private static func tasks(_ invocation: Invocation) throws(CommandFailure) -> [Candidate] {
        let app = invocation.arguments.positionals.first
        return try TasksCommand.rows(of: self.broker(invocation)).filter { $0.app == app }.map {
            Candidate($0.identifier, $0.state)
        }
    }

    private static func sensors(_ invocation: Invocation) throws(CommandFailure) -> [Candidate] {
        if case .told(let bus) = invocation.sensorBus {
            _ = try self.running(bus)
        } else {
            _ = try self.running(.session)
        }
        let reader = try Service.sensors(
            on: invocation.sensorBus, invocation.loop, within: self.patience, starting: false)
        return try reader.listSensors().map { Candidate($0.sensor.name, $0.sensor.source) }
    }

    private static func broker(_ invocation: Invocation) throws(CommandFailure) -> Service {
        try Service.broker(
            on: try self.running(invocation.bus), invocation.loop, within: self.patience, starting: false)
    }

    /// A bus for which libdbus starts nothing.
    private static func running(_ bus: BusAddress) throws(CommandFailure) -> BusAddress {
        guard !bus.mayStartProgram else { throw CommandFailure(.noService, "the \(bus) may have to be started") }
        return bus
    }
}
