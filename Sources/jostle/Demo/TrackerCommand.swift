import DaemonSupport
import Detection
import Loop
import Motion
import Traces

/// `jostle demo tracker`: what a tracker gets of a journey, and what it is spared, in virtual time; and what becomes of one that
/// is killed, between real processes.
struct TrackerCommand {
    static let track = CommandOption.value(
        "track", "FILE", "'demo tracker' (what a tracker gets of a journey): on yours, in GPX or NMEA", naming: .file)

    /// GPX, NMEA or a trace of the sensor `location`; `nil`: a journey that is made.
    let file: String?
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let block = try self.journey()
        let story = try Self.story(block)
        if self.isJSON {
            self.linesForPrograms(story)
        } else {
            self.opening(story)
            self.track(story)
        }
        var missed: [String] = []
        for judgement in story.judgements {
            self.tell(judgement)
            if !judgement.isMet { missed.append(judgement.requirement.rawValue) }
        }
        // The same without the right shows that the right is what carries it.
        let denied = try Self.story(block, isGranted: false)
        if let last = denied.judgements.last {
            if !self.isJSON { self.terminal.print("  without it  \(last.finding ?? "")") }
            if !last.isMet { missed.append("nothing without the right") }
        }
        var relaunch: TrackerStory.Relaunch?
        if let excerpt = story.excerpt { relaunch = try TrackerLive(loop: self.loop).run(block, excerpt) }
        let killed = TrackerStory.judgement(of: relaunch)
        self.tell(killed)
        if !killed.isMet { missed.append(killed.requirement.rawValue) }
        self.tellSavings(story, try Self.story(block, smoothing: 0.25))
        guard missed.isEmpty else {
            throw CommandFailure(.no, "not as it should be: \(missed.joined(separator: "; "))")
        }
    }

    private static func story(
        _ block: SampleBlock, smoothing: Double = 0, isGranted: Bool = true
    ) throws(CommandFailure) -> TrackerStory {
        do throws(DetectorProblem) {
            return try TrackerStory(block, smoothing: smoothing, isGranted: isGranted)
        } catch {
            throw CommandFailure(.no, "\(error)")
        }
    }

    private func journey() throws(CommandFailure) -> SampleBlock {
        guard let file else { return SyntheticDrive().block }
        var reader = TraceReader()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var journey = SampleBlock(channels: 5)
        func take() {
            guard let index = reader.header?.index(of: SensorDescription.location),
                reader.header?.sensors[index].channels == SensorDescription.channels(of: SensorDescription.location)
            else { return }
            let block = reader.blocks[index]
            for row in 0..<block.count {
                journey.append(Timestamp(microseconds: block.times[row]), block.values, at: row * 5)
            }
            reader.removeRows()
        }
        do {
            let input = try InputFile(file)
            while true {
                let count = try input.read(into: &buffer)
                guard count > 0 else { break }
                try reader.feed(buffer.span.extracting(0..<count))
                take()
            }
            try reader.finish()
            take()
        } catch let problem as TraceProblem {
            throw .usage("\(file):\(problem)")
        } catch {
            throw .usage("\(file): \(error)")
        }
        guard journey.count > 1 else { throw .usage("\(file): no journey: the sensor 'location' has no two fixes") }
        return journey
    }

    // MARK: For people

    private func opening(_ story: TrackerStory) {
        let metres = zip(story.fixes.dropFirst(), story.fixes).reduce(0) {
            $0 + $1.1.position.distance(to: $1.0.position)
        }
        let name = self.file ?? "a journey made for this"
        for line in [
            self.terminal.styled("A tracker on \(name)", .bold),
            "\(rounded(metres / 1_000, 1)) km in \(story.length.inWords), \(story.fixes.count) fixes. The tracker asks for "
                + "location.adaptive; after \(TrackerStory.leaves.text) the user turns to another app.", "",
        ] { self.terminal.print(line) }
    }

    /// The reports and the changes of the filter, in their order.
    private func track(_ story: TrackerStory) {
        var changes = story.changes[...]
        for report in story.reports {
            while let change = changes.first, change.time <= report.time {
                self.terminal.print(
                    self.terminal.styled(
                        "\(Self.clock(change.time))  filter \(rounded(change.from, 0)) m -> \(rounded(change.to, 0)) m",
                        .dim))
                changes.removeFirst()
            }
            self.terminal.print(
                "\(Self.clock(report.time))  report after \(rounded(report.distance, 0)) m, at "
                    + "\(rounded(report.speed, 1)) m/s, filter \(rounded(report.filter, 0)) m")
        }
        self.terminal.print()
    }

    private static func clock(_ time: Timestamp) -> String {
        let seconds = time.microseconds / 1_000_000
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(seconds / 3_600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }

    private func tell(_ judgement: TrackerStory.Judgement) {
        guard self.isJSON else {
            let mark = judgement.isMet ? self.terminal.styled("yes", .green) : self.terminal.styled("NO", .red)
            self.terminal.print(
                "\(judgement.finding == nil ? "-" : mark)  \(judgement.requirement.rawValue): "
                    + (judgement.finding ?? "this journey has none of it"))
            return
        }
        var line = JSONLine()
        line.add("requirement", judgement.requirement.rawValue)
        line.add("met", judgement.isMet)
        if let finding = judgement.finding { line.add("finding", finding) } else { line.addNull("finding") }
        self.terminal.print(line.text)
    }

    private func tellSavings(_ story: TrackerStory, _ smooth: TrackerStory) {
        let rules = [("as in the article", story), ("smoothing=25%", smooth)]
        guard !self.isJSON else {
            for (name, story) in rules {
                var line = JSONLine()
                line.add("rule", name)
                line.add("reports", UInt64(story.reports.count))
                line.add("settings", UInt64(story.settings))
                line.add("changes", UInt64(story.changes.count))
                line.add("savings", story.savings)
                self.terminal.print(line.text)
            }
            return
        }
        self.terminal.print()
        var table = Columns(["RULE", "REPORTS", "FILTER SET", "CHANGED", "SAVED"], right: [1, 2, 3, 4])
        for (name, story) in rules {
            table.add([
                name, "\(story.reports.count)", "\(story.settings)", "\(story.changes.count)",
                "\(rounded(story.savings * 100, 1)) %",
            ])
        }
        table.lines(self.terminal).forEach { self.terminal.print($0) }
        self.terminal.print("Saved: against a report each second.")
    }

    // MARK: For programs

    private func linesForPrograms(_ story: TrackerStory) {
        for report in story.reports {
            var line = JSONLine()
            line.add("t_us", report.time.microseconds, on: .trace)
            line.add("distance_m", report.distance)
            line.add("filter_m", report.filter)
            line.add("speed", report.speed)
            self.terminal.print(line.text)
        }
        for change in story.changes {
            var line = JSONLine()
            line.add("t_us", change.time.microseconds, on: .trace)
            line.add("filter_from_m", change.from)
            line.add("filter_to_m", change.to)
            self.terminal.print(line.text)
        }
    }
}
