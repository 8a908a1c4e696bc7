import Motion

/// What happens to a feed that refreshes itself in the background, and what should. A value, so that its judgement can be tested.
struct RefreshStory {
    static let app = "org.jostle.Demo.Feed"
    /// No refresh sooner after it was submitted: an article's quarter of an hour, made short.
    static let interval = TimeSpan.seconds(2)
    /// How long a refresh may take.
    static let time = TimeSpan.seconds(6)
    /// For so long nothing is to happen after the user ended the app.
    static let silence = TimeSpan.seconds(3)
    /// The run that takes too long.
    static let slowRun = 3

    static let policy = """
        [App \(RefreshStory.app)]
        Grants=fetch
        RefreshInterval=\(RefreshStory.interval.text)
        RefreshTime=\(RefreshStory.time.text)
        TaskWindow=0

        """
    static let appFile = """
        [App]
        Usage=Has the news before you look
        Modes=fetch
        Tasks=refresh

        """

    /// What the app says, and what is done to it.
    enum Word: String, CaseIterable {
        case registered = "registered: yes"
        case submitted = "submitted"
        case begun = "begun: attempt 1"
        case done = "done"
        case expiring = "expiring"
        case brokenOff = "broken off"
        case left = "the user leaves it"
        case byHand = "jostle task run"
        case terminated = "the user ends it"
        case opened = "the user opens it"
    }

    /// All that should happen, in order.
    static let expected: [Word] = [
        .registered, .submitted, .left,
        // By itself, when its time has come; and at once, by hand.
        .begun, .submitted, .done, .byHand, .begun, .submitted, .done,
        // What was submitted waits for the user, and takes too long then.
        .terminated, .opened, .begun, .submitted, .expiring, .brokenOff,
    ]

    /// What is done to the app. We know when; what the app says is heard some time after it happened.
    static let acts: Set<Word> = [.left, .byHand, .terminated, .opened]

    /// When the app was started.
    var start = Timestamp.zero
    /// What happened so far, and when.
    private(set) var log: [(time: Timestamp, line: String)] = []

    mutating func add(_ line: String, at time: Timestamp) { self.log.append((time, line)) }

    /// Whether something has happened so many times.
    func has(_ word: Word, _ count: Int = 1) -> Bool { self.log.count { $0.line == word.rawValue } >= count }

    /// The last of it has happened.
    var isOver: Bool { self.log.last?.line == Self.expected.last?.rawValue }

    /// How what happened differs from what should; none: it does not.
    var differences: [String] {
        let lines = self.log.map(\.line)
        let wanted = Self.expected.map(\.rawValue)
        if let index = wanted.indices.first(where: { $0 >= lines.count || lines[$0] != wanted[$0] }) {
            let found = index < lines.count ? "'\(lines[index])'" : "nothing"
            return ["\(found) instead of '\(wanted[index])' as number \(index + 1)"]
        }
        if lines.count > wanted.count { return ["'\(lines[wanted.count])' after all was over"] }
        return self.log.indices.compactMap { index in
            guard self.log[index].line == Word.begun.rawValue else { return nil }
            let submission = self.log[..<index].lastIndex { $0.line == Word.submitted.rawValue } ?? index
            if self.log[index - 1].line == Word.byHand.rawValue {
                let waited = self.log[index].time - self.log[submission].time
                return waited < Self.interval ? nil : "begun \(waited.inWords) after it was submitted, by hand"
            }
            let waited = self.log[index].time - self.lastAct(before: submission)
            return waited >= Self.interval ? nil : "begun \(waited.inWords) after it was submitted, by itself"
        }
    }

    /// When we last did something before an entry: nothing that it led to is older.
    private func lastAct(before index: Int) -> Timestamp {
        let acts = Self.acts.map(\.rawValue)
        return self.log[..<index].last { acts.contains($0.line) }?.time ?? self.start
    }
}
