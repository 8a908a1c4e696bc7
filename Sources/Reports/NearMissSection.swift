import Motion
import Pictures

/// What nearly was a hit: each opens to its explanation, with the motion and the threshold that it stayed below.
///
/// The newest open one by one, as many as the page has room for. Of older ones those of one detector open together: what is to be said
/// of them is the same, but for when it was and how far it went.
struct NearMissSection {
    /// `nil`: no clip was ever kept here.
    let digest: NearMissDigest?
    let questions: ReportQuestions
    let clock: @Sendable (Int64) -> String
    /// So many bytes it may have.
    let room: Int

    /// So many open one by one at most.
    private static let mostOpen = 1_000
    /// So many bytes one takes that opens together with others.
    private static let lineBytes = 25

    func write(to page: inout Markup) {
        guard let digest else {
            return page.paragraph(
                "Not recorded: a broker that is started with --clips 2s keeps the motion around what nearly is a hit.",
                class: "soft")
        }
        guard digest.times > 0 else { return page.paragraph("Nothing nearly was a hit in this time.") }
        page.paragraph(
            "Motion that came beyond four fifths of a threshold and not beyond it. It was no hit, so that nothing was decided. "
                + "The newest open to the motion itself.")
        page.element("div", [("class", "log")]) { self.writeAll(digest, to: &$0) }
        let older = digest.times - digest.misses.count
        if older > 0 {
            page.paragraph("\(Digits.grouped(older)) older ones are counted by time only, below.", class: "soft")
        }
        self.kinds(digest).fold(into: &page, "By app and detector")
        self.parts(digest).fold(into: &page, "By time")
    }

    // MARK: One by one

    private func writeAll(_ digest: NearMissDigest, to page: inout Markup) {
        var older = digest.misses[...]
        var left = self.room - older.count * Self.lineBytes
        var areDrawn = true
        while let miss = older.first, digest.misses.count - older.count < Self.mostOpen {
            var entry = self.entry(miss, isDrawn: areDrawn)
            if areDrawn, entry.html.utf8.count > left {
                areDrawn = false
                entry = self.entry(miss, isDrawn: false)
            }
            guard entry.html.utf8.count <= left else { break }
            left -= entry.html.utf8.count - Self.lineBytes
            page.add(entry)
            older = older.dropFirst()
        }
        self.writeTogether(older, to: &page)
    }

    private func entry(_ miss: DayPage.NearMiss, isDrawn: Bool) -> Markup {
        var page = Markup()
        page.element("details") { page in
            page.element("summary") { page in
                page.element("span", [("class", "when")], self.clock(miss.wall))
                page.element("b", AppID.shown(miss.app))
                page.add(" ")
                page.element("span", [("class", "word t-warn")], "nearly")
                page.add(" \(miss.detector), \(miss.strength)")
            }
            page.element("pre", miss.lines.joined(separator: "\n"))
            if isDrawn, let picture = self.picture(of: miss) { picture.write(to: &page) }
        }
        page.line()
        return page
    }

    private func picture(of miss: DayPage.NearMiss) -> LinePicture? {
        guard let curve = miss.curve, let last = curve.points.last else { return nil }
        let most = max(curve.points.map(\.value).max() ?? 0, miss.threshold ?? 0)
        var picture = LinePicture(
            "The motion of clip \(miss.clip)", across: Axis("time", unit: "s", from: 0, to: last.time),
            up: Axis(curve.title, unit: miss.unit, from: 0, to: most * 1.1))
        picture.add(LinePicture.Mark(miss.moment, .warn, "nearly, \(Digits.text(miss.moment)) s into it"))
        if let threshold = miss.threshold {
            picture.add(
                LinePicture.Level(
                    threshold, .bad, "\(miss.detector) over \(Self.value(threshold, miss.unit))"))
        }
        picture.add(LinePicture.Line(curve.title, .main, curve.points.map { ($0.time, $0.value) }))
        return picture
    }

    // MARK: Together

    private func writeTogether(_ misses: ArraySlice<DayPage.NearMiss>, to page: inout Markup) {
        var kinds: [NearMissDigest.Kind] = []
        var alike: [NearMissDigest.Kind: [DayPage.NearMiss]] = [:]
        for miss in misses {
            if alike[miss.kind] == nil { kinds.append(miss.kind) }
            alike[miss.kind, default: []].append(miss)
        }
        for kind in kinds { self.writeTogether(kind, alike[kind] ?? [], to: &page) }
    }

    private func writeTogether(_ kind: NearMissDigest.Kind, _ misses: [DayPage.NearMiss], to page: inout Markup) {
        let threshold = kind.threshold.map { " of \(Self.value($0, misses.first?.unit ?? ""))" } ?? ""
        page.element("details") { page in
            page.element("summary") { page in
                page.element("span", [("class", "when")], "\(Digits.grouped(misses.count)) older ones")
                page.element("b", AppID.shown(kind.app.name))
                page.add(" ")
                page.element("span", [("class", "word t-warn")], "nearly")
                page.add(" \(kind.detector)\(threshold)")
            }
            page.element("pre") { page in
                page.add(
                    "No hit\(threshold), so that nothing was decided and nobody was refused. When, how far, and the number of the clip:\n"
                        + "jostle explain --clip NUMBER says what would have made it one.\n")
                var day: Substring = ""
                for miss in misses {
                    page.add("\n" + self.time(miss.wall, after: &day) + "  \(miss.reach)  \(miss.clip)")
                }
            }
        }
        page.line()
    }

    /// The time of the wall clock, without its day if that was said.
    private func time(_ wall: Int64, after day: inout Substring) -> String {
        let text = self.clock(wall)
        guard let space = text.firstIndex(of: " ") else { return text }
        guard text[..<space] == day else {
            day = text[..<space]
            return "\(day)\n" + text[space...].dropFirst()
        }
        return String(text[space...].dropFirst())
    }

    // MARK: Counted

    private func kinds(_ digest: NearMissDigest) -> DataTable {
        var table = DataTable(
            "What nearly was a hit, by app and detector", ["app", "user", "detector", "threshold", "times", "last"],
            sql: self.questions.nearKinds)
        let sorted = digest.kinds.sorted { a, b in
            if a.value.times != b.value.times { return a.value.times > b.value.times }
            if a.key.app != b.key.app { return a.key.app < b.key.app }
            if a.key.detector != b.key.detector { return Bytes(a.key.detector) < Bytes(b.key.detector) }
            // What is nothing comes first, as SQLite has it.
            return (a.key.threshold ?? -.infinity) < (b.key.threshold ?? -.infinity)
        }
        for (kind, tally) in sorted.prefix(DayPage.topApps) {
            table.add([
                .code(kind.app.name), .number(Double(kind.app.user), "\(kind.app.user)"), .text(kind.detector),
                kind.threshold.map { .number($0, Self.value($0, tally.unit)) } ?? .unknown,
                .count(tally.times), .number(Double(tally.last), self.clock(tally.last)),
            ])
        }
        return table
    }

    private func parts(_ digest: NearMissDigest) -> DataTable {
        var table = DataTable(
            "What nearly was a hit, by time", ["from", "times", "the newest is explained by"],
            sql: self.questions.nearParts)
        for (index, part) in digest.parts.enumerated() where part.times > 0 {
            let start = self.questions.start(ofPart: index)
            table.add([
                .number(Double(start), self.clock(start)), .count(part.times),
                .code("jostle explain --clip \(part.clip)"),
            ])
        }
        return table
    }

    private static func value(_ value: Double, _ unit: String) -> String {
        unit.isEmpty ? Digits.text(value) : "\(Digits.text(value)) \(unit)"
    }
}
