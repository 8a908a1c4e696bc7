/// What the ticks of a window show, as all see it who ask for the rhythm of one history.
///
/// Layout of its numbers, where it is kept: the tick with which it ends, then as they stand here, the rhythm's last.
struct RhythmWindow {
    static let size = 8

    /// The usual strength of the motion in g.
    let level: Double
    /// How far the lengths and the samples lie from their means, and the samples of the last 0.8 s.
    let swing: Double
    let spread: Double
    let recent: Double
    let rhythm: Rhythm
}

extension RhythmWindow {
    /// The one that ends with a tick, if that is kept there.
    init?(_ state: borrowing MutableSpan<Double>, at place: Int, end: Int) {
        guard state[place] == Double(end) else { return nil }
        self.level = state[place + 1]
        self.swing = state[place + 2]
        self.spread = state[place + 3]
        self.recent = state[place + 4]
        self.rhythm = Rhythm(likeness: state[place + 5], period: state[place + 6], stride: state[place + 7])
    }

    func write(to state: inout MutableSpan<Double>, at place: Int, end: Int) {
        state[place] = Double(end)
        state[place + 1] = self.level
        state[place + 2] = self.swing
        state[place + 3] = self.spread
        state[place + 4] = self.recent
        state[place + 5] = self.rhythm.likeness
        state[place + 6] = self.rhythm.period
        state[place + 7] = self.rhythm.stride
    }
}
