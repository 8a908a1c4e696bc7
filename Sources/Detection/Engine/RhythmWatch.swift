/// Tells what a device is doing from the rhythm of its motion, how strong it is and how steadily it goes on.
///
/// Each eighth tick of a `RhythmHistory` it analyses the last 64: how much they resemble those of a moment before, for each moment
/// from 0.2 to 1.6 s. Steps resemble the steps before; a vehicle's shaking and a hand's handling resemble nothing. Who asks seldom
/// lets it catch up: what lies further back than it needs is not analysed, and what others have analysed already not again. Layout
/// of its numbers: as `Field` says.
struct RhythmWatch {
    /// Places of its numbers.
    private enum Field {
        /// Ticks that were seen.
        static let ticks = 0
        /// The activity that is told, and the one found last: what is found twice is told.
        static let told = 1
        static let found = 2
        /// Analyses for which the rhythm still counts as steady, how many have found it so, and its period in ticks.
        static let hold = 3
        static let age = 4
        static let period = 5
        /// The usual strength of the motion in g: the mean of the four largest lengths.
        static let level = 6
        /// Analyses since a walk or a run was last seen to go on.
        static let lost = 7
        /// How long it was a ride of late, in analyses: one more for each, and a quarter less for any other.
        static let ride = 8
    }

    static let size = 9
    private static let window = 64
    /// An analysis each so many ticks, from so many on.
    private static let analysis = 8
    private static let fewest = 24
    /// The ticks of 0.8 s.
    private static let recent = 16
    /// The ticks that who asks seldom catches up, and who asks for a ride: as many as are kept beside a window and a block.
    private static let furthest = 96
    private static let furthestRide = 240

    /// What the language calls steady: as much do samples resemble those of a period before.
    private static let likenessOfSteps = 0.55
    private static let likenessOfRhythm = 0.5
    /// Who walks and waves goes on walking, for as many analyses.
    private static let likenessLeft = 0.3
    private static let patience = 8.0
    /// A hand that shakes changes the direction of what it feels, by more than this for each change of its length.
    private static let shaken = 2.1
    /// A ride is one from 3 s of it on, and longer than this does not count: a hand that begins to move feels like one, too.
    private static let ridden = 8.0
    private static let longRidden = 16.0
    /// Below this the last 0.8 s break a rhythm.
    private static let likenessLost = 0.3

    /// Where its numbers stand, and those of the history.
    let base: Int
    let history: Int

    /// The number of the activity after so many ticks.
    func activity(_ state: inout MutableSpan<Double>, ticks: Double) -> Double {
        self.follow(&state, to: Int(ticks))
        return state[self.base + Field.told]
    }

    /// The number of the activity after so many ticks, and whether the device was in a vehicle lately.
    func ride(_ state: inout MutableSpan<Double>, ticks: Double) -> (activity: Double, hasRidden: Bool) {
        self.follow(&state, to: Int(ticks), furthest: Self.furthestRide)
        return (state[self.base + Field.told], state[self.base + Field.ride] >= Self.ridden)
    }

    /// What a shake must be after so many ticks.
    func demand(_ state: inout MutableSpan<Double>, ticks: Double) -> RhythmDemand {
        let ticks = Int(ticks)
        guard self.count(state, ticks) >= Self.fewest else { return RhythmDemand(.free) }
        if self.beganLately(state, ticks) {
            self.begin(&state, at: ticks)
        } else {
            self.follow(&state, to: ticks)
        }
        let recent = self.spread(state, ticks, Self.recent)
        guard state[self.base + Field.hold] > 0, state[self.base + Field.age] >= 3 else {
            return RhythmDemand(
                recent.swing >= 0.5 && recent.spread < Self.shaken * recent.swing ? .wary : .free)
        }
        // The level is the rhythm's own when the whole window is.
        let level = state[self.base + Field.age] >= 8 ? state[self.base + Field.level] : 0
        return RhythmDemand(
            self.likeness(state, ticks) < Self.likenessLost ? .broken : .steady, level: level)
    }

    // MARK: Ticks

    private func follow(_ state: inout MutableSpan<Double>, to ticks: Int, furthest: Int = Self.furthest) {
        let seen = state[self.base + Field.ticks]
        if seen.isNaN || Double(ticks) - seen > Double(furthest) {
            self.begin(&state, at: max(0, ticks - furthest))
        }
        // Analyses lie at the same ticks for all.
        var next = (Int(state[self.base + Field.ticks]) / Self.analysis + 1) * Self.analysis
        while next <= ticks {
            self.analyse(&state, next)
            next += Self.analysis
        }
        state[self.base + Field.ticks] = Double(ticks)
    }

    private func begin(_ state: inout MutableSpan<Double>, at ticks: Int) {
        for field in 0..<Self.size { state[self.base + field] = 0 }
        state[self.base + Field.ticks] = Double(ticks)
    }

    /// How many ticks without a pause there are, a window at most.
    private func count(_ state: borrowing MutableSpan<Double>, _ ticks: Int) -> Int {
        var count = 0
        while count < min(ticks, Self.window),
            !RhythmHistory.tick(state, at: self.history, ticks - count).w.isNaN
        { count += 1 }
        return count
    }

    /// True when the device was at rest until 1.2 s ago: so short a motion is no rhythm yet.
    private func beganLately(_ state: borrowing MutableSpan<Double>, _ ticks: Int) -> Bool {
        guard ticks >= Self.window else { return false }
        let rest = RhythmHistory.tick(state, at: self.history, ticks - Self.fewest)
        for back in Self.fewest..<Self.window {
            var offset = RhythmHistory.tick(state, at: self.history, ticks - back) - rest
            offset.w = 0
            guard (offset * offset).sum() < 0.01 else { return false }
        }
        return true
    }

    /// How far the lengths and the samples of the last ticks lie from their means.
    private func spread(
        _ state: borrowing MutableSpan<Double>, _ ticks: Int, _ count: Int
    ) -> (swing: Double, spread: Double) {
        var (sum, squares) = (SIMD4<Double>.zero, SIMD4<Double>.zero)
        for back in 0..<count {
            let tick = RhythmHistory.tick(state, at: self.history, ticks - back)
            sum += tick
            squares += tick * tick
        }
        let mean = sum / Double(count)
        let variances = squares / Double(count) - mean * mean
        return (
            max(0, variances.w).squareRoot(), max(0, variances.x + variances.y + variances.z).squareRoot()
        )
    }

    /// How much the last 0.8 s are like those one period before, at its best a tick earlier or later; from -1 to 1.
    private func likeness(_ state: borrowing MutableSpan<Double>, _ ticks: Int) -> Double {
        let count = self.count(state, ticks)
        var mean = SIMD4<Double>.zero
        for back in 0..<count { mean += RhythmHistory.tick(state, at: self.history, ticks - back) }
        mean /= Double(count)
        let period = Int(state[self.base + Field.period])
        var best = -1.0
        for lag in period - 1...period + 1 where lag > 0 && Self.recent + lag <= count {
            var (product, squares) = (SIMD4<Double>.zero, SIMD4<Double>.zero)
            for back in ticks - Self.recent + 1...ticks {
                let now = RhythmHistory.tick(state, at: self.history, back) - mean
                let before = RhythmHistory.tick(state, at: self.history, back - lag) - mean
                product += now * before
                squares += now * now + before * before
            }
            // Where the samples point, not how long they are.
            let sum = squares.x + squares.y + squares.z
            if sum > 0 { best = max(best, 2 * (product.x + product.y + product.z) / sum) }
        }
        return best
    }

    // MARK: The window

    private func analyse(_ state: inout MutableSpan<Double>, _ end: Int) {
        guard let window = self.window(&state, end) else { return self.begin(&state, at: end) }
        state[self.base + Field.level] = window.level
        let (rhythm, swing, spread) = (window.rhythm, window.swing, window.spread)
        let isShaken = spread >= Self.shaken * swing
        // What has come to rest is over at once.
        let goesOn = window.recent >= 0.2 * spread
        self.hold(
            &state, rhythm,
            isSteady: rhythm.likeness >= Self.likenessOfRhythm && swing >= 0.15 && !isShaken,
            goesOn: goesOn)
        let found = self.activity(&state, rhythm, swing, spread, isShaken: isShaken)
        let number = Double(found.rawValue)
        if number == state[self.base + Field.found] || state[self.base + Field.told] == 0 {
            state[self.base + Field.told] = number
        }
        state[self.base + Field.found] = number
        let isRiding = state[self.base + Field.told] == Double(MotionActivity.riding.rawValue)
        let ride = state[self.base + Field.ride]
        state[self.base + Field.ride] = isRiding ? min(Self.longRidden, ride + 1) : max(0, ride - 0.25)
    }

    /// What the last ticks show, up to one of them; `nil`: there are too few. Found out once for all who share the history: thousands
    /// may ask in one moment for what none of them has asked for before.
    private func window(_ state: inout MutableSpan<Double>, _ end: Int) -> RhythmWindow? {
        let place = RhythmHistory.window(at: self.history, end / Self.analysis)
        if let known = RhythmWindow(state, at: place, end: end) { return known }
        let count = self.count(state, end)
        guard count >= Self.fewest else { return nil }
        var ticks = InlineArray<64, SIMD4<Double>>(repeating: .zero)
        var sum = SIMD4<Double>.zero
        for index in 0..<count {
            ticks[index] = RhythmHistory.tick(state, at: self.history, end - count + 1 + index)
            sum += ticks[index]
        }
        let level = Self.level(ticks.span.extracting(first: count - Self.analysis))
        let mean = sum / Double(count)
        var squares = SIMD4<Double>.zero
        for index in 0..<count {
            ticks[index] -= mean
            squares += ticks[index] * ticks[index]
        }
        let swing = (squares.w / Double(count)).squareRoot()
        let spread = ((squares.x + squares.y + squares.z) / Double(count)).squareRoot()
        // Where hardly anything moves there is no rhythm to look for.
        let rhythm = swing < 0.08 ? Rhythm() : Rhythm(ticks.span.extracting(first: count), squares)
        let window = RhythmWindow(
            level: level, swing: swing, spread: spread, recent: self.spread(state, end, Self.recent).spread,
            rhythm: rhythm)
        window.write(to: &state, at: place, end: end)
        return window
    }

    /// The mean of the four largest lengths.
    private static func level(_ ticks: Span<SIMD4<Double>>) -> Double {
        var largest = SIMD4<Double>.zero
        for index in 0..<ticks.count where ticks[index].w > largest.w {
            // The least of the four gives way, and the four are brought in order again.
            largest.w = ticks[index].w
            if largest.w > largest.z { (largest.z, largest.w) = (largest.w, largest.z) }
            if largest.z > largest.y { (largest.y, largest.z) = (largest.z, largest.y) }
            if largest.y > largest.x { (largest.x, largest.y) = (largest.y, largest.x) }
        }
        return largest.sum() / 4
    }

    private func hold(
        _ state: inout MutableSpan<Double>, _ rhythm: Rhythm, isSteady: Bool, goesOn: Bool
    ) {
        if isSteady {
            state[self.base + Field.hold] = 6
            state[self.base + Field.age] += 1
            state[self.base + Field.period] = rhythm.stride
        } else if state[self.base + Field.hold] > 0 {
            state[self.base + Field.hold] -= 1
        }
        guard !goesOn || state[self.base + Field.hold] == 0 else { return }
        state[self.base + Field.hold] = 0
        state[self.base + Field.age] = 0
    }

    private func activity(
        _ state: inout MutableSpan<Double>, _ rhythm: Rhythm, _ swing: Double, _ spread: Double,
        isShaken: Bool
    ) -> MotionActivity {
        let told = MotionActivity(rawValue: Int(state[self.base + Field.told])) ?? .unknown
        let goesOn = told == .walking || told == .running
        if rhythm.likeness >= Self.likenessOfSteps, swing >= 0.1, !(isShaken && swing >= 0.5) {
            state[self.base + Field.lost] = 0
            let enough = told == .running ? 0.5 : 0.6
            return (swing >= enough && rhythm.isFast) || swing >= 0.95 ? .running : .walking
        }
        if goesOn, swing >= 0.12 {
            if rhythm.likeness < Self.likenessLeft { state[self.base + Field.lost] += 1 }
            if state[self.base + Field.lost] <= Self.patience { return told }
        }
        state[self.base + Field.lost] = 0
        if swing < 0.025, spread < 0.06 { return .still }
        return swing < 0.3 && spread < 0.45 && swing > 0.3 * spread ? .riding : .handled
    }
}
