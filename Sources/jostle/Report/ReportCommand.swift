import Arbitration
import DaemonSupport
import Detection
import Journal
import Loop
import Motion
import Replay
import Reports

/// `jostle report`: a page of what happened, from the broker's journal.
struct ReportCommand {
    private static let since = TypedOption.time(
        "since", "TIME", "how far back, such as 7min or 48h (default: 24h)", expected: "a time, such as 24h")
    private static let output = CommandOption.value(
        "output", "FILE",
        "where to write the page, '-o FILE' in short; '-' is standard output (default: jostle-report.html)",
        naming: .file)
    private static let opens = CommandOption.flag("open", "show the page when it is written")

    static let syntax = CommandSyntax(
        "report", "write a page of what happened: who got which motion, who did not, and why", reaching: .files,
        options: [since, output, opens, JournalPlace.option],
        action: { try ReportCommand($0).run() })

    private let directory: String
    private let span: TimeSpan
    private let path: String
    private let isShown: Bool
    private let terminal: Terminal
    private let loop: EventLoop

    /// So many verdicts are explained one by one.
    private static let stories = 1_000

    private init(_ invocation: Invocation) throws {
        let arguments = invocation.arguments
        self.directory = try JournalPlace.directory(arguments, on: invocation.bus, for: "report")
        self.span = try arguments.value(of: Self.since) ?? .seconds(86_400)
        self.path = arguments.value(of: Self.output) ?? "jostle-report.html"
        self.isShown = arguments.has(Self.opens)
        (self.terminal, self.loop) = (invocation.terminal, invocation.loop)
        if self.isShown, self.path == "-" {
            throw UsageProblem("report: --open shows a file: give another one than '-' with --output")
        }
        try OutputFile.check(self.path, isNoneOf: ["\(self.directory)/journal.db"], of: "report")
    }

    private func run() throws(CommandFailure) {
        let now = Clock.wallClock()
        let page = try self.page(from: now - min(self.span.microseconds, now), to: now)
        try OutputFile.write(Array(page.utf8), to: self.path, isPrivate: true)
        if self.path != "-" { self.terminal.print("written to \(self.path)") }
        if self.isShown { try self.show() }
    }

    private func page(from since: Int64, to until: Int64) throws(CommandFailure) -> String {
        // Before anything is read: one that ends meanwhile has said so.
        let isInUse = JournalPlace.isInUse(self.directory)
        var digest = DayDigest(since: since, until: until)
        do throws(JournalFailure) {
            let reader = try JournalReader(in: self.directory)
            var progress = try ReportProgress(reader, to: until, self.terminal)
            defer { progress.end() }
            try reader.eachVerdict(from: since, to: until) {
                digest.add(DayDigest.Glance($0))
                progress.read(.verdicts, $0.wall)
            }
            try reader.eachEvent(from: since, to: until) { app, wall, isSent in
                digest.addEvent(of: app, isSent: isSent)
                progress.read(.events, wall)
            }
            try reader.eachChange(to: until) { run, wall, change in
                digest.add(HistoryDigest.Change(change, run: run, wall: wall))
                progress.read(.changes, wall)
            }
            digest.finish(isInUse: isInUse)
            let newest = try reader.answer(
                JournalQuery(since: since, until: until - 1, keeping: .newest, limit: Self.stories))
            if newest.unreadable > 0 {
                complain("\(newest.unreadable) verdicts cannot be read; they are not explained")
            }
            let (nearMisses, unreadable) = try NearMissGathering.all(of: reader, from: since, to: until) {
                progress.read(.clips, $0)
            }
            progress.end()
            if unreadable > 0 { complain("\(unreadable) clips cannot be read; they are left out") }
            let page = DayPage(
                digest, stories: newest.verdicts.reversed().map(DayPage.Story.init),
                nearMisses: nearMisses,
                scale: TimeScale(since: since, until: until, offset: Moment.offset(at: until)),
                hasChanges: reader.hasChanges, clock: { Moment(wall: $0).seconds })
            return page.html
        } catch {
            throw CommandFailure(.no, error.description)
        }
    }

    private func show() throws(CommandFailure) {
        let viewer = "xdg-open"
        guard isProgram(viewer) else {
            throw CommandFailure(.no, "there is no \(viewer) to show \(self.path) with; open it in a browser")
        }
        var isDone = false
        do throws(SystemError) {
            let child = try ChildProcess(ChildProcess.Command(viewer, [self.path]), on: self.loop)
            try self.loop.run(until: { child.ending != nil })
            isDone = child.ending == .exited(0)
        } catch {
            throw CommandFailure(.no, "\(viewer): \(error)")
        }
        guard isDone else { throw CommandFailure(.no, "\(viewer) did not show \(self.path)") }
    }
}

extension DayDigest.Glance {
    fileprivate init(_ row: JournalGlance) {
        self.init(
            wall: row.wall, epoch: row.epoch, app: DayDigest.App(row.app, row.user), reason: row.reason,
            isDelivered: row.isDelivered, rule: row.rule, place: row.place)
    }
}

extension HistoryDigest.Change {
    fileprivate init(_ change: JournalChange, run: Int64, wall: Int64) {
        self.init(
            run: run, wall: wall, kind: change.kind.rawValue, app: DayDigest.App(change.app, Int64(change.user)),
            value: change.value, rate: change.rate, count: change.count)
    }
}

extension DayPage.Story {
    fileprivate init(_ stored: StoredVerdict) {
        var verdict = stored.verdict
        if let end = stored.end { verdict.reason = end }
        let explanation = Explanation(verdict)
        // What no stage saw is not worth a line in a thousand, and what it is about stands above them.
        var lines = explanation.lines.dropFirst(2).filter { !$0.hasSuffix("  -") }
        if let line = stored.aftermath.line(verdict, isLost: false) { lines.append(line) }
        let files = stored.policy.files.isEmpty ? "the built-in one" : stored.policy.files.joined(separator: ", ")
        lines.append("  epoch \(verdict.epoch), policy \(verdict.generation): \(files)")
        self.init(
            wall: stored.wall, app: Explanation.shown(verdict.id), reason: verdict.reason.name,
            isDelivered: verdict.isReceived, motion: "\(verdict.detector), \(explanation.intensity)", lines: lines)
    }
}
