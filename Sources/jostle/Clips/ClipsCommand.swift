import DaemonSupport
import Journal
import Motion
import Traces

/// `jostle clips`: the motion around hits and near misses, as the broker kept it.
enum ClipsCommand {
    static let syntax = CommandSyntax(
        "clips", "show or export the motion that was kept around hits and near misses",
        commands: [ClipListCommand.syntax, ClipExportCommand.syntax])
}

/// `jostle clips list`
struct ClipListCommand {
    static let syntax = CommandSyntax(
        "list", "list the moments in clips, the oldest first", reaching: .files,
        options: [ClipSource.since, JournalPlace.option, ClipSource.app, ClipSource.near, CommonOption.json],
        action: { invocation in
            let command = ClipListCommand(
                choice: MomentChoice(invocation.arguments), isJSON: invocation.isJSON, terminal: invocation.terminal)
            command.show(try ClipSource(invocation, "clips list").clips())
        })

    let choice: MomentChoice
    let isJSON: Bool
    let terminal: Terminal

    private func show(_ clips: [PastClip]) {
        var table = Columns(["CLIP", "TIME", "APP", "DETECTOR", "", "STRENGTH"], right: [0])
        let progress = Progress("clips", of: Int64(clips.count), self.terminal)
        defer { progress.end() }
        for clip in clips {
            progress.advance(by: 1)
            for moment in clip.stored.moments where self.choice.has(moment) {
                let strength = clip.strength(of: moment)
                if self.isJSON {
                    self.terminal.print(self.json(clip, moment, strength.reach))
                } else {
                    table.add([
                        "\(clip.stored.id)", Moment(wall: moment.wall).text, printable(AppID.shown(moment.app)),
                        printable(moment.detector), moment.isNear ? "near" : "hit", strength.text,
                    ])
                }
            }
        }
        if !self.isJSON { table.lines(self.terminal).forEach { self.terminal.print($0) } }
    }

    private func json(_ clip: PastClip, _ moment: StoredClip.Moment, _ reach: Double) -> String {
        var line = JSONLine(clip, moment)
        line.add("preset", moment.preset)
        line.add("near", moment.isNear)
        line.add("reach", reach)
        if let threshold = moment.threshold { line.add("threshold", threshold) } else { line.addNull("threshold") }
        line.add("sensor", clip.stored.sensor)
        line.add("samples", clip.stored.motion.count)
        return line.text
    }
}

/// `jostle clips export`
struct ClipExportCommand {
    private static let output = CommandOption.value(
        "output", "DIR", "where to write them (default: here)", naming: .directory)

    static let syntax = CommandSyntax(
        "export", "write clips as traces, which 'jostle replay' and 'jostle tune' read", reaching: .files,
        options: [
            ClipSource.since, JournalPlace.option, ClipSource.app, ClipSource.near, output, CommonOption.label,
        ],
        arguments: [CommandArgument("CLIP", "numbers of clips (default: all of the time)", .list)],
        action: { try ClipExportCommand($0).run() })

    private let source: ClipSource
    private let numbers: Set<Int64>
    private let choice: MomentChoice
    private let directory: String
    private let label: String?
    private let terminal: Terminal

    private init(_ invocation: Invocation) throws {
        let arguments = invocation.arguments
        var numbers: Set<Int64> = []
        for word in arguments.positionals {
            guard let number = Int64(word), number > 0 else {
                throw UsageProblem("clips export: expected the number of a clip, got '\(printable(word))'")
            }
            numbers.insert(number)
        }
        self.numbers = numbers
        self.source = try ClipSource(invocation, "clips export")
        self.choice = MomentChoice(arguments)
        self.directory = arguments.value(of: Self.output) ?? "."
        self.label = try arguments.value(of: CommonOption.label)
        self.terminal = invocation.terminal
    }

    private func run() throws(CommandFailure) {
        var left = self.numbers
        for clip in try self.source.someClips() where self.isWanted(clip) {
            left.remove(clip.stored.id)
            let path = "\(self.directory)/clip-\(clip.stored.id).csv"
            try OutputFile.write(try clip.trace(label: self.label), to: path, isPrivate: true)
            self.terminal.print(path)
        }
        if let missing = left.min() { throw CommandFailure(.no, "there is no clip \(missing) of that time") }
    }

    private func isWanted(_ clip: PastClip) -> Bool {
        guard self.numbers.isEmpty || self.numbers.contains(clip.stored.id) else { return false }
        return clip.stored.moments.contains(where: self.choice.has)
    }
}

extension PastClip {
    /// What detectors are shown the values of a sensor in.
    private static func unit(of sensor: String) -> String {
        switch SensorDescription.kind(of: sensor) {
        case SensorDescription.accelerometer: Dimension.acceleration.canonicalUnit
        case SensorDescription.gyroscope: Dimension.angularVelocity.canonicalUnit
        case "light": Dimension.illuminance.canonicalUnit
        default: ""
        }
    }

    /// The clip as a trace whose time begins with it.
    func trace(label: String? = nil) throws(CommandFailure) -> [UInt8] {
        var notes = [TraceHeader.Note(key: "source", value: "clip \(self.stored.id)")]
        if let label { notes.append(TraceHeader.Note(key: "label", value: label)) }
        for moment in self.stored.moments.prefix(8) {
            let what = moment.isNear ? "near" : "hit"
            notes.append(
                TraceHeader.Note(
                    key: what,
                    value:
                        "\(moment.time - (self.stored.motion.times.first ?? 0)) us, \(printable(moment.detector)) of "
                        + "\(printable(AppID.shown(moment.app))), \(self.strength(of: moment).text)"))
        }
        let unit = Self.unit(of: self.stored.sensor)
        do throws(TraceWriter.Problem) {
            var writer = try TraceWriter(
                TraceHeader(
                    sensors: [TraceSensor(name: self.stored.sensor, channels: self.stored.channels, unit: unit)],
                    notes: notes))
            let motion = self.stored.motion
            for row in 0..<motion.count {
                let values = motion.values[row * motion.channels..<(row + 1) * motion.channels]
                try writer.append(
                    Timestamp(microseconds: motion.times[row] - motion.times[0]), Array(values).span)
            }
            writer.finish()
            return writer.bytes
        } catch {
            throw CommandFailure(.no, "clip \(self.stored.id) cannot be written as a trace: \(error)")
        }
    }
}
