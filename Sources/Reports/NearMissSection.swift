import Pictures

/// What nearly was a hit: each opens to its explanation, with the motion and the threshold that it stayed below.
struct NearMissSection {
    let misses: [DayPage.NearMiss]
    /// False: no clip was ever kept here.
    let areKept: Bool
    let sql: String
    let clock: @Sendable (Int64) -> String

    func write(to page: inout Markup) {
        guard self.areKept else {
            return page.paragraph(
                "Not recorded: a broker that is started with --clips 2s keeps the motion around what nearly is a hit.",
                class: "soft")
        }
        guard !self.misses.isEmpty else { return page.paragraph("Nothing nearly was a hit in this time.") }
        page.paragraph(
            "Motion that came beyond four fifths of a threshold and not beyond it. It was no hit, so that nothing was decided. "
                + "Each opens to the motion itself.")
        page.element("div", [("class", "log")]) { page in
            for miss in self.misses { self.write(miss, to: &page) }
        }
        var table = DataTable(
            "What nearly was a hit", ["when", "app", "user", "detector", "threshold", "clip"], sql: self.sql)
        for miss in self.misses {
            table.add([
                .number(Double(miss.wall), self.clock(miss.wall)), .code(miss.app),
                .number(Double(miss.user), "\(miss.user)"), .text(miss.detector),
                miss.threshold.map { .number($0, Self.value($0, miss.unit)) } ?? .unknown,
                .number(Double(miss.clip), "\(miss.clip)"),
            ])
        }
        table.fold(into: &page)
    }

    private func write(_ miss: DayPage.NearMiss, to page: inout Markup) {
        page.element("details") { page in
            page.element("summary") { page in
                page.element("span", [("class", "when")], self.clock(miss.wall))
                page.element("b", miss.app)
                page.add(" ")
                page.element("span", [("class", "word t-warn")], "nearly")
                page.add(" \(miss.detector), \(miss.strength)")
            }
            page.element("pre", miss.lines.joined(separator: "\n"))
            if let picture = self.picture(of: miss) { picture.write(to: &page) }
        }
        page.line()
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

    private static func value(_ value: Double, _ unit: String) -> String {
        unit.isEmpty ? Digits.text(value) : "\(Digits.text(value)) \(unit)"
    }
}

extension DayPage {
    /// Something that nearly was a hit.
    package struct NearMiss: Sendable {
        /// What it compared, along the clip.
        package struct Curve: Sendable {
            package var title: String
            /// In seconds from the beginning of the clip.
            package var points: [(time: Double, value: Double)]

            package init(_ title: String, _ points: [(time: Double, value: Double)]) {
                self.title = title
                self.points = points
            }
        }

        package var wall: Int64
        package var clip: Int64
        package var app: String
        package var user: Int64
        package var detector: String
        package var threshold: Double?
        package var unit: String
        /// How far it went, such as `2.1 g of 2.3 g`.
        package var strength: String
        package var lines: [String]
        /// In seconds from the beginning of the clip.
        package var moment: Double
        /// `nil`: it is not drawn.
        package var curve: Curve?

        package init(
            wall: Int64, clip: Int64, app: String, user: Int64, detector: String, threshold: Double?, unit: String,
            strength: String, lines: [String], moment: Double, curve: Curve?
        ) {
            self.wall = wall
            self.clip = clip
            self.app = app
            self.user = user
            self.detector = detector
            self.threshold = threshold
            self.unit = unit
            self.strength = strength
            self.lines = lines
            self.moment = moment
            self.curve = curve
        }
    }

    /// So many are told of, and of so many the motion is drawn: the newest.
    package static let (mostNear, drawnNear) = (1_000, 100)
}
