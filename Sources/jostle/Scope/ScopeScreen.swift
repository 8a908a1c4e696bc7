import Motion

/// The terminal while a picture is drawn on it: a screen of its own, which gives way to what was there before.
struct ScopeScreen {
    private let terminal: Terminal

    init(_ terminal: Terminal) { self.terminal = terminal }

    func open() { _ = self.terminal.output.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J") }
    func close() { _ = self.terminal.output.write("\u{1B}[?25h\u{1B}[?1049l") }

    /// Draws over the picture before, in the size that the terminal has now.
    ///
    /// - Returns: false when nobody looks any more.
    func draw(_ picture: ScopePicture) -> Bool {
        let (width, height) = Terminal.size
        // The last place of a line is left free: some terminals go on to the next one there.
        let lines = picture.lines(width: width - 1, height: height, self.terminal)
        let text =
            "\u{1B}[H" + lines.map { "\(self.terminal.shown($0))\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
        return self.terminal.output.write(text)
    }
}

/// The same for a pipe, or for who has it read aloud: a line for each second and for each hit, and nothing is drawn.
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
            one.title + (one.threshold.map { " over \(rounded($0)) \(self.unit)" } ?? "")
        }
        return picture.heading
            + (marked.isEmpty ? "; no detector listens to it" : "; \(marked.joined(separator: ", "))")
    }

    /// - Returns: false when nobody reads any more.
    mutating func tell(_ news: [ScopeSession.News], _ session: inout ScopeSession) -> Bool {
        var isHeard = true
        for hit in news {
            let time = rounded(hit.time.seconds, 1)
            isHeard = self.terminal.print("\(time) s  hit: \(hit.title), peak \(rounded(hit.peak))") && isHeard
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
