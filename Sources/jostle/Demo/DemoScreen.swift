import Motion

/// Draws the demo: a line for every tenth of a second, with the thresholds marked, and a line for every event.
struct DemoScreen {
    let terminal: Terminal
    /// The largest value that is drawn, in g.
    private static let scale = 5.0
    private static let step = TimeSpan.milliseconds(100)
    private var origin: Timestamp?
    private var bucket: Int64 = 0
    private var peak = 0.0
    private let columns: Int

    init(_ terminal: Terminal) {
        self.terminal = terminal
        self.columns = max(20, min(60, terminal.width - 20))
    }

    func opening() {
        self.terminal.print(self.terminal.styled("Two apps, one sensor, two shakes", .bold))
        self.terminal.print()
        for app in DemoStory.apps {
            let name = app.title + String(repeating: " ", count: 13 - app.title.count)
            self.terminal.print(
                "  \(name) shake.planar above \(rounded(app.threshold, 1)) g  (\(app.origin))  \(app.id)")
        }
        self.terminal.print()
        self.terminal.print("Planar acceleration, the largest of each tenth of a second:")
        self.terminal.print()
        let marks = DemoStory.apps.map { (self.column(of: $0.threshold), "\(rounded($0.threshold, 1)) g") }
        var header = ""
        for (column, text) in marks {
            header += String(repeating: " ", count: max(1, 9 + column - header.count)) + text
        }
        self.terminal.print(self.terminal.styled(header, .dim))
    }

    private func column(of value: Double) -> Int {
        Int((min(max(value, 0), Self.scale) / Self.scale * Double(self.columns)).rounded(.down))
    }

    /// Takes a sample and draws when a tenth of a second is complete.
    mutating func sample(at time: Timestamp, x: Double, y: Double) {
        let origin = self.origin ?? time
        self.origin = origin
        let bucket = (time - origin).microseconds / Self.step.microseconds
        if bucket != self.bucket {
            self.draw(at: Double(self.bucket) / 10)
            self.bucket = bucket
            self.peak = 0
        }
        self.peak = max(self.peak, (x * x + y * y).squareRoot())
    }

    private func draw(at seconds: Double) {
        let filled = self.column(of: self.peak)
        let marks = DemoStory.apps.map { self.column(of: $0.threshold) }
        let reached = DemoStory.apps.filter { self.peak > $0.threshold }.count
        let style: Terminal.Style = [.dim, .green, .red][reached]
        var bar = ""
        for column in 0..<self.columns {
            if marks.contains(column) {
                bar += column < filled ? self.terminal.styled("┃", style) : self.terminal.styled("┊", .dim)
            } else {
                bar += column < filled ? self.terminal.styled("█", style) : " "
            }
        }
        let time = rounded(seconds, 1)
        let value = rounded(self.peak, 2)
        self.terminal.print(
            String(repeating: " ", count: max(0, 5 - time.count)) + "\(time) s ▏\(bar) \(value) g")
    }

    func shakeBegins(_ shake: DemoStory.Shake) {
        self.terminal.print(
            self.terminal.styled("  a \(shake.name) shake, \(rounded(shake.peak, 1)) g", .cyan))
    }

    func arrived(_ arrival: DemoStory.Arrival, at app: DemoStory.App) {
        self.terminal.print(
            self.terminal.styled("  → \(app.title): event", .yellow)
                + ", peak \(rounded(arrival.peak)) g, \(rounded(Double(arrival.delay) / 1_000, 2)) ms after the sample")
    }

    func closing(_ story: DemoStory) {
        self.terminal.print()
        var table = Table(["", "threshold"] + DemoStory.shakes.map { "\($0.name) \(rounded($0.peak, 1)) g" })
        for app in DemoStory.apps {
            let cells = DemoStory.shakes.map { shake in
                let arrivals = story.arrivals(of: shake, at: app)
                return arrivals.isEmpty
                    ? "nothing"
                    : arrivals.map { "event after \(rounded(Double($0.delay) / 1_000, 2)) ms" }.joined(separator: ", ")
            }
            table.add([app.title, "\(rounded(app.threshold, 1)) g"] + cells)
        }
        table.lines(self.terminal).forEach { self.terminal.print($0) }
        self.terminal.print()
        self.terminal.print(
            story.differences.isEmpty
                ? self.terminal.styled(
                    "As the article says: the gentle shake reached one app, the hard one both.", .green)
                : self.terminal.styled("Not as the article says: \(story.differences.joined(separator: "; ")).", .red))
    }
}
