/// Finds the motions in a stream that lie between two calm moments, and what of each is compared with taught gestures.
///
/// A device moves when one of its axes has changed by more than `unrest` within 160 ms; a motion ends when that has not been
/// so for 0.3 s. What lasts longer than 3 s, as a walk does, is none. A gesture stands out from what was before: what follows
/// a motion half as strong within 0.8 s goes on with it, and is none either. Samples are gathered in cells of 20 ms, so that
/// the sensor's rate does not matter. It exists once for all gestures of a stream. The last motions are kept for a while: a
/// block of looks is computed at once, and several may end in it.
///
/// Layout of its numbers: the cell that is open, its sum and its samples, the last cell's mean and number, how many cells
/// were closed, how it stands, where the motion began, where it last moved, how many motions there were, how much the motion
/// changed an axis at most, and what came just before it did; the latest cells, room to cut a motion in, and the kept motions.
enum MotionSegmenter {
    /// A cell, in µs.
    static let cell = 20_000.0
    /// How much an axis must change to be motion, in g.
    static let unrest = 0.15
    /// Cells over which a change is looked for.
    private static let window = 8
    /// Cells without motion that end one.
    private static let calm = 15
    /// Cells in which nothing like a motion may have been before it, and how strong what was there may have been beside it.
    private static let pause = 40
    private static let prelude = 0.5
    /// Cells of a motion.
    static let lengths = 10...150
    /// Cells without a sample that end everything: half a second.
    private static let gap = 25

    private static let open = 0
    private static let sum = 1
    private static let samples = 4
    private static let last = 5
    private static let lastCell = 8
    private static let closed = 9
    private static let standing = 10
    private static let start = 11
    private static let moved = 12
    private static let found = 13
    private static let change = 14
    private static let before = 15

    private static let ringCells = 180
    private static let ring = 16
    private static let cut = ring + ringCells * 3
    private static let edges = cut + lengths.upperBound * 3
    private static let kept = edges + lengths.upperBound
    private static let keptMotions = 8
    /// How long what it remembers matters, in µs.
    static let span = cell * Double(ringCells)
    static let size = kept + keptMotions * Kept.size

    /// Where what is known of a kept motion stands, from its place on.
    enum Kept {
        /// Its length in s.
        static let seconds = 0
        /// How many cells ago it began and ended when it was found.
        static let began = 1
        static let ended = 2
        static let points = 3
        static let shape = points + GestureShape.points * 3
        /// How rare such a motion is; undefined until somebody asks.
        static let rarity = shape + GestureShape.size
        static let size = rarity + 1
    }

    /// Takes a sample; returns 1 more than the place of the motion that ended with it, or 0.
    static func take(
        _ state: inout MutableSpan<Double>, at base: Int, _ sample: SIMD3<Double>, now: Double
    ) -> Double {
        let cell = (now / self.cell).rounded()
        var found = 0.0
        if state[base].isNaN || cell != state[base] {
            if !state[base].isNaN { found = self.close(&state, at: base, before: cell) }
            state[base + self.open] = cell
            for axis in 0..<3 { state[base + self.sum + axis] = 0 }
            state[base + self.samples] = 0
        }
        for axis in 0..<3 { state[base + self.sum + axis] += sample[axis] }
        state[base + self.samples] += 1
        return found
    }

    /// Ends the open cell and fills those without samples before it by a line between their neighbours.
    private static func close(_ state: inout MutableSpan<Double>, at base: Int, before next: Double) -> Double {
        let cell = state[base + self.open]
        var mean = SIMD3<Double>.zero
        for axis in 0..<3 { mean[axis] = state[base + self.sum + axis] / state[base + self.samples] }
        let missing = cell - state[base + self.lastCell]
        var found = 0.0
        if missing > Double(self.gap) || next - cell > Double(self.gap) || state[base + self.closed].isNaN {
            state[base + self.closed] = 0
            state[base + self.standing] = 0
            // What was before a gap is no longer before anything.
            state[base + self.moved] = -Double(self.pause)
            state[base + self.change] = 0
            if state[base + self.found].isNaN { state[base + self.found] = 0 }
        } else if missing > 1 {
            let before = SIMD3(state[base + self.last], state[base + self.last + 1], state[base + self.last + 2])
            for step in 1..<Int(missing) {
                let place = self.add(&state, at: base, before + (mean - before) * (Double(step) / missing))
                if place > 0 { found = place }
            }
        }
        let place = self.add(&state, at: base, mean)
        for axis in 0..<3 { state[base + self.last + axis] = mean[axis] }
        state[base + self.lastCell] = cell
        return place > 0 ? place : found
    }

    /// Takes the next cell's value.
    private static func add(_ state: inout MutableSpan<Double>, at base: Int, _ value: SIMD3<Double>) -> Double {
        let index = Int(state[base + self.closed])
        let to = base + self.ring + index % self.ringCells * 3
        for axis in 0..<3 { state[to + axis] = value[axis] }
        state[base + self.closed] += 1
        let change = self.change(state, at: base, upTo: index)
        let isMoving = change >= self.unrest
        guard state[base + self.standing] > 0 else {
            guard isMoving else { return 0 }
            state[base + self.standing] = 1
            let isSoon = Double(index) - state[base + self.moved] < Double(self.pause)
            state[base + self.before] = isSoon ? state[base + self.change] : 0
            state[base + self.change] = change
            state[base + self.start] = Double(max(0, index - self.window / 2))
            state[base + self.moved] = Double(index)
            return 0
        }
        let start = Int(state[base + self.start])
        if isMoving {
            state[base + self.moved] = Double(index)
            state[base + self.change] = max(state[base + self.change], change)
            // Longer than any gesture; its beginning is no longer kept.
            if index - start > self.lengths.upperBound + self.calm + self.window { state[base + self.standing] = 2 }
            return 0
        }
        let moved = Int(state[base + self.moved])
        guard index - moved >= self.calm else { return 0 }
        let isKept =
            state[base + self.standing] == 1
            && state[base + self.before] < self.prelude * state[base + self.change]
        state[base + self.standing] = 0
        let end = moved - self.window / 2
        guard isKept, self.lengths.contains(end - start) else { return 0 }
        return self.keep(&state, at: base, start..<end, now: index)
    }

    /// The most that an axis changed within the window that ends with a cell.
    private static func change(_ state: borrowing MutableSpan<Double>, at base: Int, upTo index: Int) -> Double {
        guard index >= self.window - 1 else { return 0 }
        var (most, least) = (SIMD3<Double>(repeating: -.infinity), SIMD3<Double>(repeating: .infinity))
        for cell in index - self.window + 1...index {
            let value = self.cell(state, at: base, cell)
            most = pointwiseMax(most, value)
            least = pointwiseMin(least, value)
        }
        return (most - least).max()
    }

    private static func cell(_ state: borrowing MutableSpan<Double>, at base: Int, _ index: Int) -> SIMD3<Double> {
        let place = base + self.ring + index % self.ringCells * 3
        return SIMD3(state[place], state[place + 1], state[place + 2])
    }

    // MARK: A motion that ended

    private static func keep(
        _ state: inout MutableSpan<Double>, at base: Int, _ cells: Range<Int>, now: Int
    ) -> Double {
        for (place, cell) in cells.enumerated() {
            let value = self.cell(state, at: base, cell)
            for axis in 0..<3 { state[base + self.cut + place * 3 + axis] = value[axis] }
        }
        let strong = self.strongPart(&state, at: base, count: cells.count)
        var points = GestureShape.Points(repeating: .zero)
        for index in 0..<GestureShape.points {
            let at = Double(strong.count - 1) * Double(index) / Double(GestureShape.points - 1)
            let first = min(Int(at), strong.count - 2)
            let share = at - Double(first)
            let (a, b) = (
                self.cutCell(state, at: base, strong.lowerBound + first),
                self.cutCell(state, at: base, strong.lowerBound + first + 1)
            )
            points[index] = a + (b - a) * share
        }
        let number = Int(state[base + self.found])
        state[base + self.found] += 1
        let place = base + self.kept + number % self.keptMotions * Kept.size
        let seconds = Double(strong.count) * self.cell / 1_000_000
        state[place + Kept.seconds] = seconds
        state[place + Kept.rarity] = .nan
        state[place + Kept.began] = Double(now - cells.lowerBound - strong.lowerBound)
        state[place + Kept.ended] = Double(now - cells.lowerBound - strong.upperBound)
        for index in 0..<GestureShape.points {
            for axis in 0..<3 { state[place + Kept.points + index * 3 + axis] = points[index][axis] }
        }
        GestureShape.write(points, seconds: seconds, to: &state, at: place + Kept.shape)
        return Double(place + 1)
    }

    /// The motion without its weak ends: from where its change first comes near its mean strength to where it last does.
    private static func strongPart(_ state: inout MutableSpan<Double>, at base: Int, count: Int) -> Range<Int> {
        for index in 0..<count {
            let (before, after) = (max(0, index - 1), min(count - 1, index + 1))
            let change =
                (self.smooth(state, at: base, after, of: count) - self.smooth(state, at: base, before, of: count))
                / Double(after - before)
            state[base + self.edges + index] = (change * change).sum().squareRoot()
        }
        func edge(_ index: Int) -> Double {
            var sum = 0.0
            for near in index - 2...index + 2 { sum += state[base + self.edges + min(count - 1, max(0, near))] }
            return sum / 5
        }
        var square = 0.0
        for index in 0..<count { square += edge(index) * edge(index) }
        let least = 0.35 * (square / Double(count)).squareRoot()
        guard let first = (0..<count).first(where: { edge($0) > least }),
            let last = (0..<count).last(where: { edge($0) > least })
        else { return 0..<count }
        let part = max(0, first - 2)..<min(count, last + 3)
        return part.count >= self.lengths.lowerBound ? part : 0..<count
    }

    /// The mean of five cells.
    private static func smooth(
        _ state: borrowing MutableSpan<Double>, at base: Int, _ index: Int, of count: Int
    ) -> SIMD3<Double> {
        var sum = SIMD3<Double>.zero
        for near in index - 2...index + 2 { sum += self.cutCell(state, at: base, min(count - 1, max(0, near))) }
        return sum / 5
    }

    private static func cutCell(
        _ state: borrowing MutableSpan<Double>, at base: Int, _ index: Int
    ) -> SIMD3<Double> {
        let place = base + self.cut + index * 3
        return SIMD3(state[place], state[place + 1], state[place + 2])
    }
}
