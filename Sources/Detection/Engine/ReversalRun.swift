/// A run of lobes, each pointing against the one before: what a hand's shake is and a walking body is not.
///
/// A body in flight reads 0, so steps and jumps swing the raw vector between nothing and a multiple of g but rarely turn
/// it round. Layout of its numbers: the peak's x, y, z and length, when the lobe was last seen, how many lobes, the
/// strength of the run, the times at which the latest lobes began, the peak of the lobe before with its length, and the
/// cosine between the last two peaks that are over.
enum ReversalRun {
    static let ring = 16
    static let size = 7 + ring + 5
    private static let before = 7 + ring
    /// Lobes of a hand follow each other within this; those of steps mostly take longer.
    private static let fastStep = 260_000.0
    /// So do all of the last five when a hand shakes: an impact rings for less, and then nothing comes until the next.
    private static let evenStep = 220_000.0
    /// The cosine below which two peaks are opposite to each other. Those of a runner's steps are not.
    private static let opposed = -0.5

    /// What the latest lobes of a run look like, for who has to tell a hand's from a runner's.
    struct Shape {
        /// They come in the time that a hand takes.
        var isFast = false
        /// The last five do, each.
        var isEven = false
        /// The last two that are over were opposite to each other.
        var isOpposed = false
        /// The harder of the last two.
        var strength = 0.0
    }
    static let strength = 6
    /// Without a sample of the lobe for this long, the run is over. All times in µs.
    static let pause = 400_000.0
    /// Lobes closer together than this are the ringing of an impact.
    static let spacing = 30_000.0
    /// The cosine below which a sample points against the lobe.
    static let against = -0.3

    /// Takes a sample; returns false for one that is not over the threshold and changes nothing.
    static func take(
        _ state: inout MutableSpan<Double>, at base: Int, _ x: Double, _ y: Double, _ z: Double, over: Double,
        now: Double
    ) -> Bool {
        let square = x * x + y * y + z * z
        guard square > over * over else { return false }
        let length = square.squareRoot()
        let count = state[base + 5]
        // Written so that the first sample of all, when nothing is a number yet, begins a run too.
        guard count > 0, now - state[base + 4] <= self.pause else {
            state[base + 5] = 0
            state[base + self.strength] = length
            self.begin(&state, at: base, x, y, z, length, now)
            return true
        }
        let dot = x * state[base] + y * state[base + 1] + z * state[base + 2]
        let cosine = dot / (length * state[base + 3])
        if cosine < self.against {
            if now - self.start(state, at: base, back: 0) >= self.spacing {
                self.begin(&state, at: base, x, y, z, length, now)
            }
        } else if cosine > 0 {
            state[base + 4] = now
            if length > state[base + 3] {
                state[base] = x
                state[base + 1] = y
                state[base + 2] = z
                state[base + 3] = length
            }
        }
        if length > state[base + self.strength] { state[base + self.strength] = length }
        return true
    }

    /// True when the latest `count` lobes began within `window`.
    static func has(
        _ state: borrowing MutableSpan<Double>, at base: Int, count: Int, within window: Double
    ) -> Bool {
        guard count <= self.ring, state[base + 5] >= Double(count) else { return false }
        return self.start(state, at: base, back: 0) - self.start(state, at: base, back: count - 1) <= window
    }

    /// How many of the latest lobes began within `window` before now; at most `ring`.
    static func count(_ state: borrowing MutableSpan<Double>, at base: Int, within window: Double, now: Double)
        -> Double
    {
        let lobes = state[base + 5]
        guard lobes > 0, now - state[base + 4] <= self.pause else { return 0 }
        var back = 0
        while back < self.ring, Double(back) < lobes, now - self.start(state, at: base, back: back) <= window {
            back += 1
        }
        return Double(back)
    }

    /// What the latest `count` lobes look like; the run has as many.
    static func shape(_ state: borrowing MutableSpan<Double>, at base: Int, count: Int) -> Shape {
        var shape = Shape()
        let latest = self.start(state, at: base, back: 0)
        shape.isFast = latest - self.start(state, at: base, back: count - 1) <= Double(count - 1) * self.fastStep
        if state[base + 5] >= 5 {
            shape.isEven = true
            for back in 0..<4 {
                let step =
                    self.start(state, at: base, back: back) - self.start(state, at: base, back: back + 1)
                if step > self.evenStep { shape.isEven = false }
            }
        }
        shape.isOpposed = state[base + self.before + 4] <= self.opposed
        shape.strength = max(state[base + 3], state[base + 5] > 1 ? state[base + self.before + 3] : 0)
        return shape
    }

    /// Ends the run and keeps its strength for who asks now.
    static func clear(_ state: inout MutableSpan<Double>, at base: Int) {
        state[base + 5] = 0
    }

    private static func begin(
        _ state: inout MutableSpan<Double>, at base: Int, _ x: Double, _ y: Double, _ z: Double, _ length: Double,
        _ now: Double
    ) {
        let count = state[base + 5]
        if count > 0 {
            let before = base + self.before
            let dot =
                state[before] * state[base] + state[before + 1] * state[base + 1] + state[before + 2] * state[base + 2]
            state[before + 4] = count > 1 ? dot / (state[before + 3] * state[base + 3]) : .nan
            for index in 0..<4 { state[before + index] = state[base + index] }
        } else {
            state[base + self.before + 4] = .nan
        }
        state[base] = x
        state[base + 1] = y
        state[base + 2] = z
        state[base + 3] = length
        state[base + 4] = now
        state[base + 7 + self.place(count)] = now
        state[base + 5] = count + 1
    }

    /// When the lobe `back` before the latest began.
    private static func start(_ state: borrowing MutableSpan<Double>, at base: Int, back: Int) -> Double {
        state[base + 7 + self.place(state[base + 5] - 1 - Double(back))]
    }

    private static func place(_ lobe: Double) -> Int {
        Int(max(0, lobe).truncatingRemainder(dividingBy: Double(self.ring)))
    }
}
