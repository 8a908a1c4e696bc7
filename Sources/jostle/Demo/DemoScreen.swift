import DaemonSupport
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

    /// What changes for the second act.
    func policy(_ text: String) {
        self.terminal.print()
        self.terminal.print(self.terminal.styled("The same two shakes, and a policy that decides:", .bold))
        self.terminal.print()
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            self.terminal.print(self.terminal.styled("  \(line)", .dim))
        }
        self.terminal.print()
    }

    func closing(_ story: DemoStory) {
        self.terminal.print()
        var table = Columns(["", "threshold"] + DemoStory.shakes.map { "\($0.name) \(rounded($0.peak, 1)) g" })
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
        guard story.differences.isEmpty else {
            let differences = story.differences.joined(separator: "; ")
            self.terminal.print(self.terminal.styled("\(Self.title(story, "Not as")): \(differences).", .red))
            return
        }
        self.terminal.print(self.terminal.styled("\(Self.title(story, "As")): \(Self.moral(story.rules)).", .green))
    }

    private static func title(_ story: DemoStory, _ start: String) -> String {
        switch story.rules {
        case .broadcast: "\(start) the article says"
        case .exclusive: "\(start) the policy says"
        }
    }

    private static func moral(_ rules: DemoStory.Rules) -> String {
        switch rules {
        case .broadcast: "the gentle shake reached one app, the hard one both"
        case .exclusive: "the gentle shake reached the demo app, the hard one the music player alone"
        }
    }

    /// Why somebody got nothing, in the broker's own words.
    func explanation(_ verdict: DemoStory.Verdict) {
        self.terminal.print()
        self.terminal.print(
            "Why did \(verdict.app) get nothing of the hard shake? jostle explain --app \(verdict.app):")
        self.terminal.print()
        verdict.text.forEach { self.terminal.print("  \($0)") }
    }
}
