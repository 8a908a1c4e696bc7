import Motion

/// What `jostle scope` writes into a pipe, or for who has it read aloud: a line for each second and each hit, nothing drawn.
struct ScopeLines {
    private let terminal: Terminal
    private let unit: String
    private let name: String
    private var second: Int64 = 0
    private var gaps = 0

    init(_ terminal: Terminal, _ unit: String, _ name: String) {
        self.terminal = terminal
        self.unit = unit
        self.name = name
    }

    func opening(_ picture: ScopePicture) -> String {
        let marked = picture.watched.map { one in
            one.title + (one.limit(in: self.unit).map { " \($0)" } ?? "")
        }
        return picture.heading
            + "; " + (marked.isEmpty ? picture.nobody : marked.joined(separator: ", "))
    }

    /// - Returns: false when nobody reads any more.
    mutating func tell(_ news: [ScopeSession.News], _ session: inout ScopeSession) -> Bool {
        var isHeard = true
        for hit in news {
            let time = rounded(hit.time.seconds, 1)
            let text = hit.peak.map { "hit: \(hit.title), peak \(rounded($0))" } ?? "held by activity: \(hit.title)"
            isHeard = self.terminal.print("\(time) s  \(text)") && isHeard
        }
        if session.picture.gaps > self.gaps {
            self.gaps = session.picture.gaps
            isHeard = self.terminal.print("\(rounded(session.elapsed.seconds, 1)) s  gap") && isHeard
        }
        let second = session.elapsed.microseconds / 1_000_000
        guard second > self.second else { return isHeard }
        self.second = second
        let range = session.takeRange()
        let text =
            "\(second) s  \(self.name) \(rounded(range.low)) to \(rounded(range.high)) \(self.unit), "
            + "\(range.count) samples"
        return self.terminal.print(text) && isHeard
    }
}
