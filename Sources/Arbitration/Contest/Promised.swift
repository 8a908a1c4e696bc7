import Motion

/// What an app may still get of what is not decided yet. Limits count it as if the app had it.
struct Promised: Sendable {
    /// How many events, one for each decision.
    private(set) var count = 0
    /// The sample times of the hits that wait, for an app that has a cooldown.
    private var times: [Timestamp] = []
    private let keepsTimes: Bool

    /// Nothing.
    init() { self.keepsTimes = false }

    init(for settings: AppSettings) { self.keepsTimes = settings.cooldown > .zero }

    /// Takes in what the app waits for as a candidate.
    mutating func add(_ candidate: Candidate) {
        self.count += 1
        guard self.keepsTimes else { return }
        self.times.append(candidate.first.hit.time)
        for held in candidate.more { self.times.append(held.hit.time) }
    }

    /// When a cooldown is over at the latest that one of the hits would begin, and that a time falls into.
    func cooldownEnds(_ cooldown: TimeSpan, around time: Timestamp) -> Timestamp? {
        self.times.filter { $0.isWithin(cooldown, of: time) }.max().map { $0 + cooldown }
    }
}
