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
    }

    private func run() throws(CommandFailure) {
        let now = Clock.wallClock()
        let page = try self.page(from: now - min(self.span.microseconds, now), to: now)
        let file = try OutputFile(self.path, isPrivate: true)
        do throws(SystemError) {
            try file.write(Array(page.utf8))
        } catch {
            throw CommandFailure(.no, "\(self.path): \(error)")
        }
        if self.path != "-" { self.terminal.print("written to \(self.path)") }
        if self.isShown { try self.show() }
    }

    private func page(from since: Int64, to until: Int64) throws(CommandFailure) -> String {
        var digest = DayDigest(since: since, until: until)
        do throws(JournalFailure) {
            let reader = try JournalReader(in: self.directory)
            try reader.eachVerdict(from: since, to: until) { digest.add(DayDigest.Glance($0)) }
            try reader.eachEvent(from: since, to: until) { app, _, isSent in digest.addEvent(of: app, isSent: isSent) }
            try reader.eachChange(to: until) { run, wall, change in
                digest.add(HistoryDigest.Change(change, run: run, wall: wall))
            }
            digest.finish()
            let newest = try reader.answer(
                JournalQuery(since: since, until: until - 1, keeping: .newest, limit: Self.stories))
            if newest.unreadable > 0 {
                complain("\(newest.unreadable) verdicts cannot be read; they are not explained")
            }
            let page = DayPage(
                digest, stories: newest.verdicts.reversed().map(DayPage.Story.init),
                nearMisses: try self.nearMisses(reader, from: since, to: until),
                scale: TimeScale(since: since, until: until, offset: Moment.offset(at: until)),
                hasChanges: reader.hasChanges, clock: { Moment(wall: $0).seconds })
            return page.html
        } catch {
            throw CommandFailure(.no, error.description)
        }
    }

    /// What nearly was a hit, the newest first; `nil`: nothing of that was ever kept.
    private func nearMisses(
        _ reader: borrowing JournalReader, from since: Int64, to until: Int64
    ) throws(JournalFailure) -> [DayPage.NearMiss]? {
        guard reader.hasClips else { return nil }
        var found: [(clip: PastClip, moment: StoredClip.Moment)] = []
        // A clip is as old as its first moment; the others are a few seconds younger.
        let first = since - min(since, ClipTerms.range.upperBound.microseconds * 4)
        let unreadable = try reader.eachClip(from: first, to: until) { stored in
            for moment in stored.moments where moment.isNear && (since..<until).contains(moment.wall) {
                found.append((PastClip(stored: stored), moment))
            }
        }
        if unreadable > 0 { complain("\(unreadable) clips cannot be read; they are left out") }
        // As the question in the page has them.
        let newest = found.enumerated().sorted { a, b in
            a.element.moment.wall != b.element.moment.wall
                ? a.element.moment.wall > b.element.moment.wall : a.offset > b.offset
        }
        return newest.prefix(DayPage.mostNear).enumerated().map { place, one in
            DayPage.NearMiss(one.element.clip, one.element.moment, isDrawn: place < DayPage.drawnNear)
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
        // What no stage saw is not worth a line in a thousand.
        var lines = explanation.lines.dropFirst().filter { !$0.hasSuffix("  -") }
        if let line = stored.aftermath.line(verdict, isLost: false) { lines.append(line) }
        let files = stored.policy.files.isEmpty ? "the built-in one" : stored.policy.files.joined(separator: ", ")
        lines.append("  epoch \(verdict.epoch), policy \(verdict.generation): \(files)")
        self.init(
            wall: stored.wall, app: Explanation.shown(verdict.id), reason: verdict.reason.name,
            isDelivered: verdict.isReceived, motion: "\(verdict.detector), \(explanation.intensity)", lines: lines)
    }
}

extension DayPage.NearMiss {
    fileprivate init(_ clip: PastClip, _ moment: StoredClip.Moment, isDrawn: Bool) {
        let detector = PastClip.detector(of: moment)
        let start = clip.stored.motion.times.first ?? moment.time
        var curve: Curve?
        if isDrawn, let detector {
            let (title, points) = clip.replay.curve(of: detector, lookingAt: moment.time)
            curve = Curve(title, points.map { (Double($0.time) / 1e6, $0.value) })
        }
        self.init(
            wall: moment.wall, clip: clip.stored.id, app: moment.app, user: clip.stored.user,
            detector: moment.detector, threshold: moment.threshold,
            unit: detector?.dimension.canonicalUnit ?? "", strength: clip.strength(of: moment).text,
            lines: NearMissText.lines(clip, moment, time: Moment(wall: moment.wall).text),
            moment: Double(moment.time - start) / 1e6, curve: curve)
    }
}
