import Motion
import Pictures

/// A report of a time as a page.
package struct DayPage: Sendable {
    /// A verdict that can be opened to its explanation.
    package struct Story: Sendable {
        package var wall: Int64
        package var app: String
        package var reason: String
        package var isDelivered: Bool
        /// What was seen: the detector, and how strong it was.
        package var motion: String
        package var lines: [String]

        package init(
            wall: Int64, app: String, reason: String, isDelivered: Bool, motion: String, lines: [String]
        ) {
            self.wall = wall
            self.app = app
            self.reason = reason
            self.isDelivered = isDelivered
            self.motion = motion
            self.lines = lines
        }
    }

    static let (topCauses, topApps) = (10, 100)
    /// So many apps are drawn.
    private static let drawnApps = 16

    private let digest: DayDigest
    private let stories: [Story]
    private let nearMisses: NearMissDigest?
    private let scale: TimeScale
    private let clock: @Sendable (Int64) -> String
    private let questions: ReportQuestions
    private let hasChanges: Bool

    /// - Parameters:
    ///   - stories: The newest verdicts, the newest first.
    ///   - nearMisses: What nearly was a hit; `nil`: that was never kept.
    ///   - clock: A time of the wall clock, in µs, as people read it.
    ///   - hasChanges: False: the journal is of a version that did not note them.
    package init(
        _ digest: DayDigest, stories: [Story], nearMisses: NearMissDigest? = nil, scale: TimeScale, hasChanges: Bool,
        clock: @escaping @Sendable (Int64) -> String
    ) {
        self.digest = digest
        self.stories = stories
        self.nearMisses = nearMisses
        self.scale = scale
        self.clock = clock
        self.hasChanges = hasChanges
        self.questions = ReportQuestions(
            since: digest.since, until: digest.until, hasChanges: hasChanges, hasClips: nearMisses != nil,
            isInUse: digest.history.isInUse)
    }

    /// So large a page becomes while there is anything that can be said more briefly.
    private static let size = 970_000
    /// What nearly was a hit has so much of it, whatever else there is.
    private static let leastRoom = 100_000

    package var html: String {
        var sections: [(title: String, body: Markup)] = []
        func add(_ title: String, _ write: (inout Markup) -> Void) {
            var body = Markup()
            write(&body)
            sections.append((title, body))
        }
        add("In short") { self.writeSummary(to: &$0) }
        add("Along the day") { self.writeStrips(to: &$0) }
        add("Why") { self.writeCauses(to: &$0) }
        let place = sections.count
        add("Apps") { self.writeApps(to: &$0) }
        add("What it costs") { self.writeCosts(to: &$0) }
        add("The device") { self.writeDevice(to: &$0) }
        add("The newest, one by one") { self.writeStories(to: &$0) }
        add("Everything else") { self.writeParts(to: &$0) }
        let nearly = NearMissSection(
            digest: self.nearMisses, questions: self.questions, clock: self.clock,
            room: max(Self.leastRoom, Self.size - sections.reduce(0) { $0 + $1.body.html.utf8.count }))
        var body = Markup()
        nearly.write(to: &body)
        sections.insert(("Nearly", body), at: place)
        var page = Page(
            title: "Motion, and who got it",
            lead:
                "From \(self.clock(self.digest.since)) to \(self.clock(self.digest.until)), as the broker's journal has it."
        )
        for section in sections { page.section(section.title) { $0.add(section.body) } }
        return page.html
    }

    // MARK: In short

    private var launchCount: Int { self.digest.history.launches.values.reduce(0, +) }

    private func writeSummary(to page: inout Markup) {
        let ran = self.digest.history.sensors.values.map(\.microseconds).max()
        let near = self.nearMisses?.times
        page.figures(
            [
                (Digits.grouped(self.digest.verdicts), "decisions", .main),
                (Digits.grouped(self.digest.delivered), "events", .good),
                (Digits.grouped(self.digest.verdicts - self.digest.delivered), "refusals", .bad),
            ] + (near.map { [(Digits.grouped($0), "near misses", .warn)] } ?? []) + [
                (Digits.grouped(self.digest.apps.count), "apps", .second),
                (self.hasChanges ? Digits.grouped(self.launchCount) : "–", "launches", .third),
                (ran.map(Lasting.text) ?? "–", "the busiest sensor ran", .fourth),
            ])
        page.paragraph(self.sentence)
        if let note = self.recordingNote { page.paragraph(note, class: "soft") }
        var table = DataTable("The same numbers", ["what", "how many"], sql: self.questions.totals)
        table.add([.text("verdicts"), .count(self.digest.verdicts)])
        table.add([.text("events"), .count(self.digest.delivered)])
        table.add([.text("refusals"), .count(self.digest.verdicts - self.digest.delivered)])
        table.add([.text("apps"), .count(self.digest.apps.count)])
        if self.hasChanges { table.add([.text("launches"), .count(self.launchCount)]) }
        if let near { table.add([.text("near misses"), .count(near)]) }
        table.fold(into: &page)
    }

    private var sentence: String {
        guard self.digest.verdicts > 0 else {
            return "Nothing was decided in this time: no detector of an app was hit."
        }
        let share = Double(self.digest.delivered) / Double(self.digest.verdicts) * 100
        let refusals = self.topCauses.first { !$0.key.isDelivered }
        var text = "\(Digits.text(share, atMost: 0)) % of what apps could have heard reached them."
        if let refusals {
            let place = refusals.key.place.isEmpty ? "no rule" : refusals.key.place
            text += " The most frequent reason why not was \(refusals.key.reason), by \(place), "
            text += "\(Digits.grouped(refusals.value)) times."
        }
        if self.digest.leftOut > 0 {
            text += " \(Digits.grouped(self.digest.leftOut)) rows of further apps are left out."
        }
        return text
    }

    /// Since when more than events and verdicts is noted, if that is not all of the time.
    private var recordingNote: String? {
        guard self.hasChanges, let first = self.digest.history.first else {
            return "What the device did, the states of apps and how sensors ran: not recorded."
        }
        guard first > self.digest.since else { return nil }
        return "What the device did, the states of apps and how sensors ran is recorded since \(self.clock(first))."
    }

    // MARK: Why

    private var topCauses: [(key: DayDigest.Cause, value: Int)] {
        let sorted = self.digest.causes.sorted { a, b in
            if a.value != b.value { return a.value > b.value }
            return (Bytes(a.key.reason), Bytes(a.key.rule), Bytes(a.key.place))
                < (Bytes(b.key.reason), Bytes(b.key.rule), Bytes(b.key.place))
        }
        return Array(sorted.prefix(Self.topCauses))
    }

    private func writeCauses(to page: inout Markup) {
        page.paragraph("The ten most frequent reasons, and the rules that they are by.")
        let most = Double(self.topCauses.first?.value ?? 1)
        let axis = Axis("decisions", from: 0, to: most, ticks: [])
        var bars = StripPicture("Frequent reasons", along: axis)
        for cause in self.topCauses {
            let tone: Tone = cause.key.isDelivered ? .good : .bad
            bars.add(
                StripPicture.Strip(
                    cause.key.reason, total: Digits.grouped(cause.value),
                    spans: [.init(from: 0, to: Double(cause.value), tone, cause.key.rule, height: 0.7)]))
        }
        if !self.topCauses.isEmpty { bars.write(to: &page, key: [(.good, "it is an event"), (.bad, "it is none")]) }
        var table = DataTable(
            "Reasons, rules and their places", ["reason", "rule", "file and line", "times"], sql: self.questions.causes)
        for cause in self.topCauses {
            table.add([
                .code(cause.key.reason), .text(cause.key.rule), .code(cause.key.place), .count(cause.value),
            ])
        }
        table.write(to: &page)
    }

    // MARK: Apps

    /// Apps by how much was decided for them.
    private var topApps: [(key: DayDigest.App, value: DayDigest.Tally)] {
        let sorted = self.digest.apps.sorted { a, b in
            a.value.verdicts != b.value.verdicts ? a.value.verdicts > b.value.verdicts : a.key < b.key
        }
        return Array(sorted.prefix(Self.topApps))
    }

    private static func user(_ app: DayDigest.App) -> DataTable.Cell { .number(Double(app.user), "\(app.user)") }

    private func writeApps(to page: inout Markup) {
        var table = DataTable(
            "What was decided for each app", ["app", "user", "decisions", "events", "refusals"],
            sql: self.questions.apps)
        for (app, tally) in self.topApps {
            table.add([
                .code(app.name), Self.user(app), .count(tally.verdicts), .count(tally.delivered), .count(tally.refused),
            ])
        }
        table.write(to: &page)

        var refusals = DataTable(
            "Refusals by reason", ["app", "user", "reason", "times"], sql: self.questions.refusals,
            empty: "nothing was refused")
        for row in self.refusals {
            refusals.add([.code(row.app.name), Self.user(row.app), .code(row.reason), .count(row.count)])
        }
        refusals.write(to: &page)

        var sent = DataTable(
            "Events sent, and given up before they were", ["app", "sent", "given up"], sql: self.questions.sent,
            empty: "no event")
        let rows = self.digest.sent.sorted { a, b in
            if a.value.sent != b.value.sent { return a.value.sent > b.value.sent }
            return a.value.unsent != b.value.unsent ? a.value.unsent > b.value.unsent : Bytes(a.key) < Bytes(b.key)
        }
        for (app, count) in rows.prefix(Self.topApps) {
            sent.add([.code(app), .count(count.sent), .count(count.unsent)])
        }
        sent.write(to: &page)
        guard self.hasChanges else { return }
        self.writeStates(to: &page)
        self.writeLaunches(to: &page)
    }

    private var refusals: [(app: DayDigest.App, reason: String, count: Int)] {
        var rows: [(app: DayDigest.App, reason: String, count: Int)] = []
        for (app, tally) in self.digest.apps {
            for (reason, count) in tally.reasons { rows.append((app, reason, count)) }
        }
        rows.sort { a, b in
            if a.count != b.count { return a.count > b.count }
            return a.app != b.app ? a.app < b.app : Bytes(a.reason) < Bytes(b.reason)
        }
        return Array(rows.prefix(Self.topApps))
    }

    private func writeStates(to page: inout Markup) {
        var table = DataTable(
            "How long each app was in which state", ["app", "user", "state", "for", "times"],
            sql: self.questions.states,
            empty: "no app")
        let rows = self.digest.history.states.sorted { a, b in
            if a.key.app != b.key.app { return a.key.app < b.key.app }
            if a.value.microseconds != b.value.microseconds { return a.value.microseconds > b.value.microseconds }
            return Bytes(a.key.value) < Bytes(b.key.value)
        }
        for (key, duration) in rows.prefix(Self.topApps) {
            table.add([
                .code(key.app.name), Self.user(key.app), .text(key.value), Lasting.cell(duration.microseconds),
                .count(duration.times),
            ])
        }
        table.write(to: &page)
    }

    private func writeLaunches(to page: inout Markup) {
        var table = DataTable(
            "Apps started or resumed, and what came of it", ["app", "user", "result", "times"],
            sql: self.questions.launches, empty: "no app was started or resumed")
        let rows = self.digest.history.launches.sorted { a, b in
            if a.value != b.value { return a.value > b.value }
            return a.key.app != b.key.app ? a.key.app < b.key.app : Bytes(a.key.value) < Bytes(b.key.value)
        }
        for (key, count) in rows.prefix(Self.topApps) {
            table.add([.code(key.app.name), Self.user(key.app), .text(key.value), .count(count)])
        }
        table.write(to: &page)
    }

    // MARK: Costs

    private func writeCosts(to page: inout Markup) {
        guard self.hasChanges else { return page.paragraph("Not recorded.", class: "soft") }
        page.paragraph(
            "A sensor runs while a detector of some app asks for it, at the fastest rate that is asked for. A detector looks "
                + "at its samples so many times a second as it was made to.")
        let rows = self.digest.history.needs.sorted { a, b in
            if a.value.microseconds != b.value.microseconds { return a.value.microseconds > b.value.microseconds }
            if a.value.looks != b.value.looks { return a.value.looks > b.value.looks }
            return a.key.app != b.key.app ? a.key.app < b.key.app : Bytes(a.key.value) < Bytes(b.key.value)
        }
        if let most = rows.first?.value.microseconds, most > 0 {
            let unit = Lasting.unit(of: most)
            let axis = Axis(unit.name, from: 0, to: Double(most) / unit.microseconds)
            var bars = StripPicture("How long a sensor ran while an app asked for it", along: axis)
            for (key, need) in rows.prefix(Self.drawnApps) {
                let length = Double(need.microseconds) / unit.microseconds
                bars.add(
                    StripPicture.Strip(
                        AppID.shown(key.app.name), total: "\(key.value), \(Lasting.text(need.microseconds))",
                        spans: [StripPicture.Span(from: 0, to: length, .third, "", height: 0.7)]))
            }
            bars.write(to: &page)
        }
        var table = DataTable(
            "What each app's detectors ask for",
            ["app", "user", "sensor", "fastest rate (Hz)", "looks", "the sensor ran meanwhile"],
            sql: self.questions.needs, empty: "no app asked for a sensor")
        for (key, need) in rows.prefix(Self.topApps) {
            table.add([
                .code(key.app.name), Self.user(key.app), .text(key.value), .value(need.rate),
                .number(need.looks, Self.whole(need.looks)),
                Lasting.cell(need.microseconds),
            ])
        }
        table.write(to: &page)
        var sensors = DataTable(
            "Sensors", ["sensor", "fastest rate (Hz)", "ran", "samples lost", "gaps"], sql: self.questions.sensors,
            empty: "no sensor ran")
        for (name, use) in self.digest.history.sensors.sorted(by: { Bytes($0.key) < Bytes($1.key) }) {
            sensors.add([
                .text(name), .value(use.rate), Lasting.cell(use.microseconds), .value(use.lost, digits: 0),
                .value(use.gaps, digits: 0),
            ])
        }
        sensors.write(to: &page)
    }

    private static func whole(_ number: Double) -> String {
        number.isFinite ? Digits.grouped(Int(min(max(number, -1e15), 1e15).rounded())) : Digits.text(number)
    }

    // MARK: The device

    private func writeDevice(to page: inout Markup) {
        guard self.hasChanges else { return page.paragraph("Not recorded.", class: "soft") }
        var table = DataTable(
            "What was the case, and for how long", ["what", "was", "for", "times"], sql: self.questions.device,
            empty: "nothing was recorded in this time")
        for (kind, values) in self.digest.history.device.sorted(by: { Bytes($0.key) < Bytes($1.key) }) {
            let rows = values.sorted { a, b in
                a.value.microseconds != b.value.microseconds
                    ? a.value.microseconds > b.value.microseconds : Bytes(a.key) < Bytes(b.key)
            }
            for (value, duration) in rows {
                table.add([
                    .text(kind), .code(value), Lasting.cell(duration.microseconds), .count(duration.times),
                ])
            }
        }
        table.write(to: &page)
    }

    // MARK: One by one

    private func writeStories(to page: inout Markup) {
        guard !self.stories.isEmpty else { return page.paragraph("Nothing was decided.") }
        page.paragraph("The newest \(Digits.grouped(self.stories.count)) decisions. Each opens to its explanation.")
        page.element("div", [("class", "log")]) { page in
            for story in self.stories {
                page.element("details") { page in
                    page.element("summary") { page in
                        page.element("span", [("class", "when")], self.clock(story.wall))
                        page.element("b", AppID.shown(story.app))
                        page.add(" ")
                        page.element(
                            "span", [("class", "word \(story.isDelivered ? "t-good" : "t-bad")")], story.reason)
                        page.add(" \(story.motion)")
                    }
                    page.element("pre", story.lines.joined(separator: "\n"))
                }
                page.line()
            }
        }
    }

    private func writeParts(to page: inout Markup) {
        page.paragraph(
            "What is older is counted here, in \(DayDigest.partCount) parts of the time. The command explains a decision of "
                + "each; any number between the two is another one.")
        var table = DataTable(
            "All decisions, by time", ["from", "decisions", "events", "first epoch", "last epoch", "explained by"],
            sql: self.questions.parts)
        for (index, part) in self.digest.parts.enumerated() where part.verdicts > 0 {
            let start = self.questions.start(ofPart: index)
            table.add([
                .number(Double(start), self.clock(start)), .count(part.verdicts), .count(part.delivered),
                .number(Double(part.firstEpoch), "\(part.firstEpoch)"),
                .number(Double(part.lastEpoch), "\(part.lastEpoch)"), .code("jostle explain \(part.lastEpoch)"),
            ])
        }
        table.write(to: &page)
    }

    // MARK: The strips

    private func writeStrips(to page: inout Markup) {
        var strips = StripPicture("What was the case, and what came of motion", along: self.scale.axis)
        self.addDevice(to: &strips)
        self.addSensors(to: &strips)
        for (app, tally) in self.topApps.prefix(Self.drawnApps) { self.add(app, tally, to: &strips) }
        strips.write(
            to: &page,
            key: [
                (.main, "a state: the taller, the nearer to the user"),
                (.third, "a sensor runs: the taller, the faster"),
                (.good, "events"), (.bad, "refused by a rule"), (.warn, "by a limit; samples are missing"),
                (.second, "another app had it"), (.fourth, "it came too late"), (.calm, "not there, locked, asleep"),
            ])
        let others = self.digest.apps.count - Self.drawnApps
        if others > 0 {
            page.paragraph("\(Digits.grouped(others)) further apps are in the tables only.", class: "soft")
        }
    }

    private func addDevice(to strips: inout StripPicture) {
        let kinds = [
            ("lock", "screen"), ("foreground", "in front"), ("power", "power"), ("sleep", "sleep"),
            ("motion", "motion"),
        ]
        strips.add(
            kinds.map { kind, name in
                let spans = self.digest.history.deviceSpans[kind] ?? []
                return StripPicture.Strip(
                    name, spans: spans.compactMap { Self.drawn($0, kind) },
                    note: spans.isEmpty ? (self.hasChanges ? "nothing recorded" : "not recorded") : "")
            }, group: "Device")
    }

    private static func drawn(_ span: HistoryDigest.Span, _ kind: String) -> StripPicture.Span? {
        switch (kind, span.value) {
        case ("foreground", ""): nil
        case ("foreground", _): Self.span(span, .main, height: 0.8)
        case ("lock", "unlocked"), ("sleep", "awake"), ("motion", "on"), ("power", "ac"):
            Self.span(span, .calm, height: 0.1)
        default: Self.span(span, .calm, height: 0.8)
        }
    }

    private static func span(_ span: HistoryDigest.Span, _ tone: Tone, height: Double) -> StripPicture.Span {
        StripPicture.Span(from: Double(span.from), to: Double(span.to), tone, span.value, height: height)
    }

    private func addSensors(to strips: inout StripPicture) {
        let most = max(1, self.digest.history.sensors.values.map(\.rate).max() ?? 1)
        let names = self.digest.history.sensors.keys.sorted { Bytes($0) < Bytes($1) }
        strips.add(
            names.map { name in
                let use = self.digest.history.sensors[name]
                return StripPicture.Strip(
                    name, total: Lasting.text(use?.microseconds ?? 0),
                    spans: (self.digest.history.sensorSpans[name] ?? []).map {
                        StripPicture.Span(
                            from: Double($0.from), to: Double($0.to), .third, "\(Digits.text($0.rate)) Hz",
                            height: 0.2 + 0.8 * $0.rate / most)
                    },
                    moments: (use?.gapTimes ?? []).map { StripPicture.Moment(Double($0), .warn, "samples are missing") }
                )
            }, group: "Sensors")
    }

    private func add(_ app: DayDigest.App, _ tally: DayDigest.Tally, to strips: inout StripPicture) {
        let states = self.digest.history.stateSpans[app] ?? []
        var rows = [
            StripPicture.Strip(
                "state", spans: states.compactMap(Self.drawn), note: states.isEmpty ? "not recorded" : ""),
            StripPicture.Strip(
                "events", total: Digits.grouped(tally.delivered),
                counts: [StripPicture.Counts(tally.events.map { Int($0) }, .good)]),
            StripPicture.Strip(
                "refusals", total: Digits.grouped(tally.refused),
                counts: zip(tally.refusals, Self.tones).filter { !$0.0.isEmpty }.map { counts, tone in
                    StripPicture.Counts(counts.map { Int($0) }, tone)
                }),
        ]
        if let times = self.digest.history.launchTimes[app], !times.isEmpty {
            rows.append(
                StripPicture.Strip(
                    "launches", total: Digits.grouped(times.count),
                    moments: times.map { StripPicture.Moment(Double($0), .third, "started or resumed") }))
        }
        strips.add(rows, group: AppID.shown(app.name))
    }

    private static func drawn(_ span: HistoryDigest.Span) -> StripPicture.Span? {
        let height: Double
        switch span.value {
        case "foreground": height = 1
        case "inactive": height = 0.75
        case "background": height = 0.5
        case "suspended": height = 0.25
        case "gone": return nil
        default: return Self.span(span, .calm, height: 0.1)
        }
        return Self.span(span, .main, height: height)
    }

    /// Of refusals, by their stage.
    private static let tones: [Tone] = [.calm, .calm, .bad, .warn, .second, .fourth]
}
