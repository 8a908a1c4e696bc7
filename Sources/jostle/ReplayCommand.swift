import DaemonSupport
import Detection
import JostleClient
import Loop
import Motion
import Replay

/// `jostle replay`: runs detectors over recorded traces in virtual time.
struct ReplayCommand {
    static let syntax = CommandSyntax(
        "replay", "run detectors over recorded traces, without a bus and without waiting", reaching: .nobody,
        options: [
            CommonOption.json, CommonOption.detector, CommonOption.gesture, CommonOption.when,
            CommonOption.sensorOfCondition, CommonOption.every, CommonOption.rest, ReportFile.option,
        ],
        arguments: [
            CommandArgument("TRACE", "traces to read; '-' is standard input", .nonEmptyList, naming: .file)
        ],
        action: {
            let inputs = $0.arguments.positionals + $0.arguments.values(of: CommonOption.gesture)
            let report = try ReportFile.path($0.arguments, beside: inputs)
            let detectors = try $0.arguments.detectors(presets: $0.arguments.values(of: CommonOption.detector))
            try ReplayCommand(
                files: $0.arguments.positionals, requests: detectors.map(\.request),
                report: report, isJSON: $0.isJSON, terminal: $0.terminal
            ).run()
        })

    var files: [String]
    var requests: [DetectorRequest]
    /// Where a page is written.
    var report: String?
    var isJSON: Bool
    let terminal: Terminal

    func run() throws(CommandFailure) {
        let began = Clock.monotonic.now()
        var samples = 0
        var totals = self.requests.map { (detector: $0.name, hits: 0, held: UInt64(0), hours: 0.0) }
        let progress = Progress("replay", of: Progress.bytes(of: self.files), self.terminal)
        defer { progress.end() }
        var page = self.report.map { _ in ReplayReport(traces: self.files.count) }
        for file in self.files {
            var hits = ReplayReport.Hits()
            let replay = try self.replay(file, progress, &hits)
            page?.add(file, replay, hits)
            samples += replay.samples
            for (index, tally) in replay.tallies.enumerated() {
                totals[index].hits += tally.hits
                totals[index].held += tally.held
                totals[index].hours += replay.hours
                if self.isJSON { self.summarize(file, tally, replay.hours) }
            }
            if replay.refused > 0 {
                progress.hide()
                complain("\(file): \(replay.refused) samples out of order, damaged or not finite are left out")
            }
        }
        progress.end()
        if !self.isJSON { self.show(totals) }
        if let report, let page { try ReportFile.write(page.html, to: report) }
        // Beside the output, which is the same from run to run.
        let seconds = Double(max(1, Clock.monotonic.now() - began)) / 1_000_000
        complain("\(samples) samples in \(rounded(seconds, 2)) s, \(rounded(Double(samples) / seconds, 0)) a second")
    }

    private func replay(
        _ file: String, _ progress: Progress, _ hits: inout ReplayReport.Hits
    ) throws(CommandFailure) -> TraceReplay {
        var replay = TraceReplay(self.requests, isDrawn: self.report != nil)
        try stream(file, into: &replay, progress) { hit in
            hits.add(hit)
            if self.isJSON {
                var line = JSONLine()
                line.add("file", file)
                line.add("t_us", hit.time.microseconds, on: .trace)
                line.add("detector", hit.detector)
                line.add("peak", hit.peak)
                if self.isGesture(hit.detector) { line.add("score", hit.peak) }
                if hit.isClipped { line.add("clipped", true) }
                if let transition = hit.note.transition { line.add("transition", transition) }
                if let distance = hit.note.distance(hit.peak) { line.add("distance_m", distance) }
                if let filter = hit.note.filter { line.add("filter_m", filter) }
                if let stay = hit.note.stay(hit.peak) { line.add("stay_us", stay.microseconds) }
                self.terminal.print(line.text)
            } else {
                self.terminal.print(
                    "\(file)  \(rounded(hit.time.seconds, 3)) s  \(hit.detector)  "
                        + "\(self.isGesture(hit.detector) ? "score" : "peak") \(rounded(hit.peak))"
                        + (hit.note.filter.map { "  filter \(rounded($0, 0)) m" } ?? "")
                        + (hit.note.transition.map { "  \($0)" } ?? "") + (hit.isClipped ? " (clipped)" : ""))
            }
        }
        return replay
    }

    /// True for a taught gesture, whose hits carry how well they match.
    private func isGesture(_ detector: String) -> Bool {
        self.requests.contains { $0.name == detector && $0.options["preset"] == .text("gesture") }
    }

    private func summarize(_ file: String, _ tally: TraceReplay.Tally, _ hours: Double) {
        var line = JSONLine()
        line.add("file", file)
        line.add("detector", tally.detector)
        line.add("hits", tally.hits)
        line.add("hours", hours)
        if tally.held > 0 { line.add("held_by_activity", tally.held) }
        self.terminal.print(line.text)
    }

    private func show(_ totals: [(detector: String, hits: Int, held: UInt64, hours: Double)]) {
        // Most detectors hold nothing back, and most traces give no reason to.
        let showsHeld = totals.contains { $0.held > 0 }
        var table = Columns(
            ["DETECTOR", "HITS", "HOURS", "HITS/HOUR"] + (showsHeld ? ["HELD BY ACTIVITY"] : []),
            right: [1, 2, 3, 4])
        for total in totals {
            table.add(
                [
                    total.detector, "\(total.hits)", rounded(total.hours, 3),
                    total.hours > 0 ? rounded(Double(total.hits) / total.hours, 1) : "–",
                ] + (showsHeld ? ["\(total.held)"] : []))
        }
        table.lines(self.terminal).forEach { self.terminal.print($0) }
    }
}

extension Timestamp {
    var seconds: Double { Double(self.microseconds) / 1_000_000 }
}

/// Reads a trace, `-` for standard input, through a replay.
func stream(
    _ path: String, into replay: inout TraceReplay, _ progress: Progress, _ onHit: (TraceReplay.NamedHit) -> Void
) throws(CommandFailure) {
    var buffer = [UInt8](repeating: 0, count: 256 << 10)
    do {
        let file = try InputFile(path)
        while true {
            let count = try file.read(into: &buffer)
            guard count > 0 else { break }
            try replay.feed(buffer.span.extracting(0..<count), onHit)
            progress.advance(by: count)
        }
        try replay.finish(onHit)
    } catch let problem as TraceReplay.Problem {
        switch problem {
        case .trace: throw .usage("\(path):\(problem)")
        case .noSensor: throw .usage("\(path): \(problem)")
        case .detector: throw .usage("\(problem)")
        }
    } catch {
        throw .usage("\(path): \(error)")
    }
}
