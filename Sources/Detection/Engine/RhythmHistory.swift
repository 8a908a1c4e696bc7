import Motion

/// Keeps what a sensor showed lately, in ticks of 50 ms whatever the pace of the looks, for all that ask for the rhythm of it.
///
/// Layout of its numbers: how many ticks there were, when the next is due, and x, y and z of the latest ticks; behind them what the
/// latest windows show of which somebody has asked that. A look only writes; who asks reads as much as it needs. What was never
/// written, or lies behind a pause, is undefined.
enum RhythmHistory {
    /// Ticks that are kept: a power of two, for a window behind all looks of a block.
    static let kept = 512
    private static let windows = 2 + 3 * kept
    /// Windows that are kept: a power of two, and no further back than ticks are.
    private static let keptWindows = 64
    static let size = windows + keptWindows * RhythmWindow.size
    /// A tick, in µs.
    private static let tick = 50_000.0
    /// Looks that miss more ticks than this tell nothing of a rhythm.
    private static let rarest = 2.0

    /// Takes the samples of a block's looks, and tells for each how many ticks there are.
    static func take(
        _ node: Instruction, _ columns: inout MutableSpan<Double>, _ stride: Int, _ state: inout MutableSpan<Double>,
        _ times: Span<Int64>
    ) {
        guard times.count > 0 else { return }
        let (a, b, c) = (Int(node.a) &* stride, Int(node.b) &* stride, Int(node.c) &* stride)
        let (to, base) = (Int(node.destination) &* stride, Int(node.state))
        var ticks = state[base].isNaN ? 0 : Int(state[base])
        var due = state[base].isNaN ? Double(times[0]) : state[base + 1]
        for look in 0..<times.count {
            // SAFETY: as in `Evaluation.run`; the numbers of a node have room for all ticks that are kept.
            let (x, y) = (columns[unchecked: a &+ look], columns[unchecked: b &+ look])
            let z = columns[unchecked: c &+ look]
            let late = Double(times[unchecked: look]) - due
            // What comes a little early is of this tick: sensors do not keep time to the millisecond.
            if late >= -0.1 * self.tick, !(x + y + z).isNaN {
                if late < self.tick {
                    due += self.tick
                } else {
                    let missed = (late / self.tick).rounded(.down)
                    due += (missed + 1) * self.tick
                    // A pause is one tick of nothing; else what is missed was as it is now.
                    let value = missed > self.rarest ? Double.nan : 1
                    for _ in 0..<(missed > self.rarest ? 1 : Int(missed)) {
                        self.push(&state, base, ticks, value * x, value * y, value * z)
                        ticks &+= 1
                    }
                }
                self.push(&state, base, ticks, x, y, z)
                ticks &+= 1
            }
            columns[unchecked: to &+ look] = Double(ticks)
        }
        state[base] = Double(ticks)
        state[base + 1] = due
    }

    @inline(__always)
    private static func push(
        _ state: inout MutableSpan<Double>, _ base: Int, _ ticks: Int, _ x: Double, _ y: Double, _ z: Double
    ) {
        let place = base &+ 2 &+ 3 &* (ticks & (self.kept - 1))
        state[unchecked: place] = x
        state[unchecked: place &+ 1] = y
        state[unchecked: place &+ 2] = z
    }

    /// Where what a window shows is kept, by the number of the window.
    static func window(at base: Int, _ number: Int) -> Int {
        base + self.windows + (number & (self.keptWindows - 1)) * RhythmWindow.size
    }

    /// The last of so many ticks, with its length.
    static func tick(_ state: borrowing MutableSpan<Double>, at base: Int, _ ticks: Int) -> SIMD4<
        Double
    > {
        let place = base + 2 + 3 * ((ticks - 1) & (self.kept - 1))
        let (x, y, z) = (state[place], state[place + 1], state[place + 2])
        return SIMD4(x, y, z, (x * x + y * y + z * z).squareRoot())
    }
}
