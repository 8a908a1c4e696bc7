import Arbitration
import Motion
import Pictures
import Scenarios

/// What came of a scenario, as a page: episodes and windows along time, who was in, who won and why.
struct ScenarioReport {
    /// Verdicts of one motion in one group, or of one app alone.
    private struct Episode {
        let epoch: UInt64
        var verdicts: [Verdict]

        /// The first hit, and when it was decided for all.
        var begins: Timestamp { self.verdicts.map(\.time).min() ?? .zero }
        var ends: Timestamp { self.verdicts.map { $0.contest?.decided ?? $0.time }.max() ?? .zero }
        var contest: Contest? { self.verdicts.lazy.compactMap(\.contest).first }

        var group: String { self.contest?.group ?? "" }
        var winners: [String] { self.verdicts.filter(\.isDelivered).map { ScenarioReport.name($0.id) } }
        /// What put the first before the others.
        var why: String {
            guard let contest = self.contest else {
                return Set(self.verdicts.map(\.reason.name)).sorted().joined(separator: ", ")
            }
            let key = self.verdicts.first { $0.isDelivered && $0.decidedBy != nil }?.decidedBy
            var parts = [contest.candidates == 1 ? "the only candidate" : "\(contest.candidates) candidates"]
            if let key { parts.append("by \(key.name)") }
            if contest.isEager { parts.append("before the window closed: nothing could change it") }
            return parts.joined(separator: ", ")
        }
    }

    private var page: Page
    private let outcome: ScenarioRunner.Outcome
    private let episodes: [Episode]
    private let axis: Axis

    init(_ outcome: ScenarioRunner.Outcome, of file: String) {
        self.outcome = outcome
        let known = Dictionary(grouping: outcome.verdicts, by: \.epoch)
        self.episodes = known.map { Episode(epoch: $0.key, verdicts: $0.value) }
            .sorted { ($0.begins, $0.epoch) < ($1.begins, $1.epoch) }
        let times =
            self.episodes.flatMap { [$0.begins.seconds, $0.ends.seconds] } + outcome.entries.map(\.time.seconds)
        self.axis = Axis(
            "time", unit: "s", from: min(0, times.min() ?? 0), to: max(times.max() ?? 0, 0.1) * 1.02, marks: 8,
            widened: false)
        self.page = Page(
            title: "Scenario", lead: "\(file): what the arbiter decides, in virtual time.")
        self.write()
    }

    var html: String { self.page.html }

    private static func name(_ app: AppID) -> String { AppID.shown(app.description) }

    private mutating func write() {
        let delivered = self.outcome.verdicts.count { $0.isDelivered }
        let (episodes, verdicts, axis) = (self.episodes, self.outcome.verdicts, self.axis)
        let entries = self.outcome.entries
        self.page.section("Along the time") { page in
            page.figures([
                (Digits.grouped(episodes.count), "episodes", .main),
                (Digits.grouped(verdicts.count), "verdicts", .main),
                (Digits.grouped(delivered), "events", .good),
                (Digits.grouped(verdicts.count - delivered), "refused", verdicts.count > delivered ? .bad : .calm),
            ])
            Self.strips(episodes, verdicts, entries, along: axis).write(
                to: &page,
                key: [
                    (.main, "window: from the first hit to the decision"), (.good, "event"), (.bad, "refused"),
                    (.second, "launch"), (.calm, "another state"),
                ])
            Self.table(of: episodes).fold(into: &page, "Episodes as a table")
        }
        self.page.section("Episodes") { page in
            if episodes.isEmpty { page.paragraph("Nothing was decided.") }
            for episode in episodes { Self.write(episode, to: &page) }
        }
        self.page.section("Decision log") { page in
            var table = DataTable(
                "Everything that was decided, in its order", ["time", "epoch", "what", "app", "details"])
            for entry in entries {
                table.add([
                    .text("\(Digits.text(entry.time.seconds, atMost: 3)) s"), .text(entry.epoch.map { "\($0)" } ?? "–"),
                    .text(entry.kind.rawValue), .text(entry.app),
                    .text(entry.words.map { $0.isNamed ? "\($0.name)=\($0.value)" : $0.value }.joined(separator: " ")),
                ])
            }
            table.fold(into: &page, "\(entries.count) entries")
        }
    }

    // MARK: Along the time

    private static func strips(
        _ episodes: [Episode], _ verdicts: [Verdict], _ entries: [DecisionLog.Entry], along axis: Axis
    ) -> StripPicture {
        var picture = StripPicture("Windows of groups, and what apps got", along: axis)
        let groups = Dictionary(grouping: episodes.filter { $0.contest != nil }, by: \.group)
        picture.add(
            groups.sorted { $0.key < $1.key }.map { group, episodes in
                StripPicture.Strip(
                    group, total: "\(episodes.count) episode\(episodes.count == 1 ? "" : "s")",
                    spans: episodes.map {
                        StripPicture.Span(
                            from: $0.begins.seconds, to: $0.ends.seconds, .main,
                            "epoch \($0.epoch): \($0.why); \($0.winners.joined(separator: ", "))")
                    })
            }, group: "Groups")
        var apps: [String: StripPicture.Strip] = [:]
        var events: [String: (sent: Int, refused: Int)] = [:]
        for verdict in verdicts {
            let app = Self.name(verdict.id)
            let time = (verdict.contest?.decided ?? verdict.time).seconds
            let outcome = verdict.isDelivered ? "an event" : "no event"
            apps[app, default: StripPicture.Strip(app)].moments.append(
                StripPicture.Moment(
                    time, verdict.isDelivered ? .good : .bad,
                    "\(Digits.text(time, atMost: 3)) s: \(outcome), \(verdict.reason.name)"))
            if verdict.isDelivered {
                events[app, default: (0, 0)].sent += 1
            } else {
                events[app, default: (0, 0)].refused += 1
            }
        }
        for entry in entries where [.launch, .state].contains(entry.kind) {
            let words = entry.words.map(\.value).joined(separator: " ")
            apps[entry.app, default: StripPicture.Strip(entry.app)].moments.append(
                StripPicture.Moment(
                    entry.time.seconds, entry.kind == .launch ? .second : .calm, "\(entry.kind.rawValue): \(words)"))
        }
        picture.add(
            apps.sorted { $0.key < $1.key }.map { app, strip in
                var strip = strip
                let count = events[app] ?? (0, 0)
                strip.total = "\(count.sent) event\(count.sent == 1 ? "" : "s"), \(count.refused) refused"
                return strip
            }, group: "Apps")
        return picture
    }

    private static func table(of episodes: [Episode]) -> DataTable {
        var table = DataTable(
            "Episodes", ["epoch", "group", "from", "decided", "in it", "got it", "why"], empty: "nothing was decided")
        for episode in episodes {
            table.add([
                .text("\(episode.epoch)"), .text(episode.group.isEmpty ? "–" : episode.group),
                .number(episode.begins.seconds, "\(Digits.text(episode.begins.seconds, atMost: 3)) s"),
                .number(episode.ends.seconds, "\(Digits.text(episode.ends.seconds, atMost: 3)) s"),
                .text(episode.verdicts.map { Self.name($0.id) }.joined(separator: ", ")),
                .text(episode.winners.isEmpty ? "nobody" : episode.winners.joined(separator: ", ")), .text(episode.why),
            ])
        }
        return table
    }

    // MARK: One by one

    private static func write(_ episode: Episode, to page: inout Markup) {
        let window = (episode.ends - episode.begins).seconds
        let heading =
            "Epoch \(episode.epoch)" + (episode.group.isEmpty ? "" : " in \(episode.group)")
            + ", at \(Digits.text(episode.begins.seconds, atMost: 3)) s"
        page.element("h3", heading)
        var text = episode.winners.isEmpty ? "Nobody got it" : "\(episode.winners.joined(separator: ", ")) got it"
        text += ": \(episode.why)."
        if let contest = episode.contest, window > 0 {
            text +=
                " The \(contest.mode.name) group waited \(Digits.text(window * 1_000, atMost: 1)) ms from the first hit."
        }
        page.paragraph(text)
        var table = DataTable("Who was in", ["app", "detector", "hit", "peak", "outcome", "reason", "rule"])
        for verdict in episode.verdicts {
            let unit = verdict.dimension.canonicalUnit
            let rule = verdict.rule.map { $0.name.isEmpty ? "the default" : "\($0.name) (\($0.place.lineDescription))" }
            table.add([
                .text(Self.name(verdict.id)), .text(verdict.detector),
                .number(verdict.time.seconds, "\(Digits.text(verdict.time.seconds, atMost: 3)) s"),
                .number(verdict.intensity, "\(Digits.text(verdict.intensity)) \(unit)"),
                .text(verdict.isDelivered ? "an event" : "no event"), .text(verdict.reason.name),
                .code(rule ?? "the default"),
            ])
        }
        table.write(to: &page)
        page.element("div", [("class", "log")]) { page in
            for verdict in episode.verdicts {
                page.element("details") { page in
                    page.element("summary") { page in
                        page.element("b", Self.name(verdict.id))
                        page.add(" \(verdict.reason.name), stage by stage")
                    }
                    page.element(
                        "pre",
                        [
                            ("tabindex", "0"), ("role", "region"),
                            ("aria-label", "the verdict on \(Self.name(verdict.id))"),
                        ],
                        "\(Explanation(verdict))")
                }
            }
        }
        page.line()
    }
}
