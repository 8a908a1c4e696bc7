import DaemonSupport
import Detection
import Glibc
import JostleClient
import Loop
import Motion
import Replay
import Teaching
import Traces

/// `jostle teach`: makes a detector of a few examples of a gesture, live or from traces.
struct TeachCommand {
    private static let example = CommandOption.list(
        "example", "TRACE", "a trace with one example in it (default: examples are asked for, live)", naming: .file)
    private static let save = CommandOption.value(
        "save", "FILE", "where the gesture goes (default: NAME.gesture); '-' is standard output", naming: .file)
    private static let negative = CommandOption.list(
        "negative", "TRACE", "a trace without the gesture, such as a recorded day: each hit in it is false",
        naming: .file)
    private static let beside = CommandOption.list(
        "beside", "GESTURE", "a gesture that was taught before: are they taken for each other?", naming: .file)
    private static let count = TypedOption.number(
        "count", "N", "live examples (default: 3)", in: TaughtGesture.Limits.examples,
        expected: "a number of examples, from 2 to 8")
    private static let anyway = CommandOption.flag(
        "anyway", "also when one of the examples does not resemble the others")

    static let syntax = CommandSyntax(
        "teach", "make a detector of a few examples of a gesture, live or from traces", reaching: .sensors,
        options: [
            example, save, negative, beside, count, anyway, CommonOption.json, CommonOption.sensor,
        ],
        arguments: [CommandArgument("NAME", "what the gesture is called: letters, digits, '.', '-' and '_'")],
        action: {
            let arguments = $0.arguments
            let command = try TeachCommand(arguments, isJSON: $0.isJSON, $0.terminal)
            let files = arguments.values(of: example)
            try command.checkFiles()
            if files.isEmpty {
                let live = LiveLessons(
                    name: command.name, count: try arguments.value(of: count) ?? 3,
                    sensor: arguments.value(of: CommonOption.sensor), bus: $0.sensorBus, loop: $0.loop,
                    terminal: $0.terminal, say: command.say)
                let lessons = try live.lessons { lessons throws(GestureTeacher.Problem) in try command.teach(lessons) }
                try command.run(lessons, [])
            } else {
                guard !arguments.has(count) else { throw UsageProblem("teach: --count is for live examples") }
                try command.run(try files.map { try command.lesson(from: $0) }, files)
            }
        })

    fileprivate let name: String
    private let path: String
    private let negatives: [String]
    private let others: [TaughtGesture]
    private let takesOdd: Bool
    private let isJSON: Bool
    private let terminal: Terminal

    private init(_ arguments: Arguments, isJSON: Bool, _ terminal: Terminal) throws(UsageProblem) {
        self.name = arguments.positionals[0]
        guard TaughtGesture.isName(self.name) else {
            throw UsageProblem(
                "teach: a name has up to \(TaughtGesture.Limits.name) letters, digits, '.', '-' and '_', not '\(printable(self.name))'"
            )
        }
        self.path = arguments.value(of: Self.save) ?? "\(self.name).gesture"
        guard !isJSON || self.path != "-" else {
            throw UsageProblem("teach: with --json the gesture goes into a file: give another one than '-' with --save")
        }
        self.negatives = arguments.values(of: Self.negative)
        try OutputFile.check(
            self.path, isNoneOf: arguments.values(of: Self.example) + self.negatives, of: "teach")
        var others: [TaughtGesture] = []
        for path in arguments.values(of: Self.beside) { others.append(try GestureFile.read(path)) }
        self.others = others
        self.takesOdd = arguments.has(Self.anyway)
        self.isJSON = isJSON
        self.terminal = terminal
    }

    /// Tells people a line: beside standard output, where that is the gesture, and nowhere, where it is for programs.
    fileprivate func say(_ line: String) {
        guard !self.isJSON else { return }
        guard self.path == "-" else {
            self.terminal.print(line)
            return
        }
        try? StandardStream.errors.write(escapedLine(line) + "\n", unless: isToldToEnd)
    }

    /// Nobody makes a gesture three times for a file that is not there, nor is one written over for its sake. What is read later is not
    /// opened for that: whoever writes into a pipe would take us for its reader.
    fileprivate func checkFiles() throws(CommandFailure) {
        try OutputFile.checkPlace(self.path)
        for path in self.negatives where path != "-" {
            // SAFETY: the path is a NUL-terminated string for the time of the call.
            guard unsafe access(path, R_OK) == 0 else { throw .usage("\(path): \(SystemError.last("open"))") }
        }
    }

    fileprivate func teach(_ lessons: [GestureTeacher.Lesson]) throws(GestureTeacher.Problem) -> TaughtGesture {
        try GestureTeacher.teach(self.name, lessons, anyway: self.takesOdd)
    }

    /// The motion that a trace shows, as if the device had been held still before its first sample and after its last.
    private func lesson(from path: String) throws(CommandFailure) -> GestureTeacher.Lesson {
        var lesson = LessonReader()
        var reader = TraceReader()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        do {
            let file = try InputFile(path)
            while true {
                let count = try file.read(into: &buffer)
                if count > 0 { try reader.feed(buffer.span.extracting(0..<count)) } else { try reader.finish() }
                if let header = reader.header {
                    guard let index = header.index(of: SensorDescription.accelerometer) else {
                        throw CommandFailure.usage("\(path): the trace has no accelerometer")
                    }
                    if index < reader.blocks.count { lesson.take(reader.blocks[index]) }
                }
                reader.removeRows()
                guard count > 0 else { break }
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch let problem as TraceProblem {
            throw .usage("\(path):\(problem)")
        } catch {
            throw .usage("\(path): \(error)")
        }
        guard let motion = lesson.finish() else {
            throw .usage("\(path): there is no motion of 0.2 to 3 s between two calm moments")
        }
        return GestureTeacher.Lesson(source: path, motion: motion)
    }

    // MARK: What was learned

    private func run(_ lessons: [GestureTeacher.Lesson], _ files: [String]) throws(CommandFailure) {
        let gesture: TaughtGesture
        do throws(GestureTeacher.Problem) {
            gesture = try self.teach(lessons)
        } catch {
            var message = "\(error)"
            if case .odd = error { message += "; leave it out, or say --anyway" }
            throw .usage("teach: \(message)")
        }
        // What was taught is kept, whatever becomes of what else there is to say of it.
        try GestureFile.write(gesture, to: self.path)
        if !files.isEmpty {
            for lesson in lessons {
                let (seconds, strength) = (lesson.motion.example.seconds, lesson.motion.strength)
                self.say("\(lesson.source)  \(rounded(seconds)) s, \(rounded(strength)) g")
                for line in lesson.motion.example.picture(self.terminal) { self.say(line) }
            }
        }
        for lesson in GestureTeacher.doubtful(lessons) {
            complain("\(lesson.source) resembles the others little; without it the gesture might be found better")
        }
        let made: EverydayMotion.Count
        do throws(DetectorProblem) {
            made = try EverydayMotion.count(gesture)
        } catch {
            throw CommandFailure(.no, "\(error)")
        }
        let progress = Progress("teach", of: Progress.bytes(of: self.negatives + files), self.terminal)
        defer { progress.end() }
        let own = try self.negatives.isEmpty ? nil : self.count(gesture, progress)
        let presets = try self.presets(on: files, progress)
        progress.end()
        if self.isJSON {
            self.tell(gesture, made, own, presets, lessons)
        } else {
            self.show(gesture, made, own, presets, lessons)
        }
    }

    /// What the gesture does on the traces that do not have it.
    private func count(_ gesture: TaughtGesture, _ progress: Progress) throws(CommandFailure) -> EverydayMotion.Count {
        let request = Self.request(gesture)
        var count = EverydayMotion.Count(hits: 0, hours: 0)
        for path in self.negatives {
            var replay = TraceReplay([request])
            try stream(path, into: &replay, progress) { _ in }
            count.hits += replay.tallies.reduce(0) { $0 + $1.hits }
            count.hours += replay.hours
        }
        return count
    }

    private static func request(_ gesture: TaughtGesture) -> DetectorRequest {
        DetectorRequest(
            name: gesture.name,
            options: [
                "preset": .text("gesture"), CompiledDetector.gestureKey: .text(GestureText.write(gesture)),
            ])
    }

    /// Which presets fire in how many of the traces with examples.
    private func presets(
        on files: [String], _ progress: Progress
    ) throws(CommandFailure) -> [(name: String, files: Int)] {
        let usual = PresetCatalogue.all.filter { preset in
            preset.sensor == SensorDescription.accelerometer && preset.content == nil
                && !preset.parameters.contains(where: \.isRequired) && !Self.states.contains(preset.name)
        }
        let requests = usual.map { DetectorRequest(name: $0.name, options: ["preset": .text($0.name)]) }
        var counts = usual.map { (name: $0.name, files: 0) }
        for path in files {
            var replay = TraceReplay(requests)
            try stream(path, into: &replay, progress) { _ in }
            for (index, tally) in replay.tallies.enumerated() where tally.hits > 0 { counts[index].files += 1 }
        }
        return counts.filter { $0.files > 0 }
    }

    /// What any motion is to; nobody takes them for a gesture. The system's shake is the shake.
    private static let states: Set<String> = [
        "moving", "still", "step", "tilt", "orientation", "activity", "system.shake",
    ]

    /// How many examples each other gesture takes for its own, and how many of its own this one takes.
    private func confusions(
        _ gesture: TaughtGesture, _ lessons: [GestureTeacher.Lesson]
    ) -> [(name: String, taken: Int, takes: Int, of: Int)] {
        self.others.map { other in
            (
                name: other.name, taken: lessons.count { other.score(of: $0.motion.shape) >= 0.5 },
                takes: other.examples.count { gesture.score(of: $0.shape) >= 0.5 }, of: other.examples.count
            )
        }
    }

    private func show(
        _ gesture: TaughtGesture, _ made: EverydayMotion.Count, _ own: EverydayMotion.Count?,
        _ presets: [(name: String, files: Int)], _ lessons: [GestureTeacher.Lesson]
    ) {
        guard self.path != "-" else { return }
        func line(_ what: String, _ count: EverydayMotion.Count) {
            self.terminal.print(
                "  on \(what): \(count.hits) false hit\(count.hits == 1 ? "" : "s") in \(rounded(count.hours, count.hours < 0.1 ? 3 : 1)) h; "
                    + "at 95 % no more than \(rounded(count.boundPerHour, 1)) an hour")
        }
        self.terminal.print(
            self.terminal.styled("\(gesture.name): \(gesture.examples.count) examples in \(self.path)", .bold))
        line("made everyday motion", made)
        if let own { line("what was given", own) }
        for preset in presets {
            self.terminal.print(
                "  the preset '\(preset.name)' fires on \(preset.files) of \(lessons.count) examples, too")
        }
        for other in self.confusions(gesture, lessons) {
            self.terminal.print(
                "  '\(other.name)' takes \(other.taken) of \(lessons.count) examples for its own; "
                    + "this one takes \(other.takes) of its \(other.of)")
        }
        self.terminal.print("  try it: jostle replay TRACE --gesture \(self.path)")
        self.terminal.print("          jostle watch --gesture \(self.path)")
    }

    private func tell(
        _ gesture: TaughtGesture, _ made: EverydayMotion.Count, _ own: EverydayMotion.Count?,
        _ presets: [(name: String, files: Int)], _ lessons: [GestureTeacher.Lesson]
    ) {
        func object(_ count: EverydayMotion.Count) -> JSONLine {
            var line = JSONLine()
            line.add("hits", count.hits)
            line.add("hours", count.hours)
            line.add("bound_per_hour", count.boundPerHour)
            return line
        }
        var line = JSONLine()
        line.add("gesture", gesture.name)
        line.add("file", self.path)
        line.add("examples", gesture.examples.count)
        line.add("limit", gesture.limit)
        line.add("made_motion", object(made))
        if let own { line.add("negatives", object(own)) }
        line.add(
            "presets",
            presets.map { preset in
                var line = JSONLine()
                line.add("preset", preset.name)
                line.add("examples", preset.files)
                return line
            })
        line.add(
            "beside",
            self.confusions(gesture, lessons).map { other in
                var line = JSONLine()
                line.add("gesture", other.name)
                line.add("taken", other.taken)
                line.add("takes", other.takes)
                return line
            })
        self.terminal.print(line.text)
    }
}

/// Finds the motion of a trace that shows one example.
private struct LessonReader {
    private var finder = MotionFinder()
    private var motions: [MotionFinder.Found] = []
    private var last: (time: Int64, value: SIMD3<Double>)?

    /// Calm that is put before and behind, in µs: more than what ends a motion.
    private static let calm: Int64 = 600_000

    mutating func take(_ block: SampleBlock) {
        guard block.channels >= 3 else { return }
        for row in 0..<block.count {
            let place = row * block.channels
            let value = SIMD3(block.values[place], block.values[place + 1], block.values[place + 2])
            let time = block.times[row]
            guard time > self.last?.time ?? -1, time < .max / 4 else { continue }
            if self.last == nil { self.hold(value, from: time, to: time + Self.calm) }
            self.add(value, at: time + Self.calm)
            self.last = (time, value)
        }
    }

    mutating func finish() -> MotionFinder.Found? {
        if let last { self.hold(last.value, from: last.time + Self.calm + 20_000, to: last.time + 2 * Self.calm) }
        return GestureTeacher.example(in: self.motions)
    }

    private mutating func hold(_ value: SIMD3<Double>, from start: Int64, to end: Int64) {
        for time in stride(from: start, to: end, by: 20_000) { self.add(value, at: time) }
    }

    private mutating func add(_ value: SIMD3<Double>, at time: Int64) {
        if let found = self.finder.take(value, at: time) { self.motions.append(found) }
    }
}
