import Motion

extension Evaluation {
    /// A look of an operation that remembers something. An undefined value leaves what it remembers as it is.
    static func remembering(
        _ node: Instruction, _ value: Double, _ b: Double, _ c: Double, _ state: inout MutableSpan<Double>,
        _ now: Double, _ elapsed: Double
    ) -> Double {
        let base = Int(node.state)
        if value.isNaN || b.isNaN || c.isNaN { return .nan }
        switch node.operation {
        case .smoothByLook:
            let last = state[base]
            let next = last.isNaN ? value : node.p * value + (1 - node.p) * last
            state[base] = next
            return next
        case .delta:
            let last = state[base]
            state[base] = value
            return last.isNaN ? 0 : value - last
        case .rate:
            let last = state[base]
            state[base] = value
            return last.isNaN || elapsed <= 0 ? 0 : (value - last) / (elapsed / 1_000_000)
        case .held:
            guard value > 0 else {
                state[base] = .nan
                return 0
            }
            if state[base].isNaN { state[base] = now }
            return now - state[base] >= node.p ? 1 : 0
        case .sequence:
            let isTrue = b > 0 && now - state[base] <= node.p
            if value > 0 { state[base] = now }
            return isTrue ? 1 : 0
        case .reversals:
            _ = ReversalRun.take(&state, at: base, value, b, c, over: node.p, now: now)
            return ReversalRun.count(state, at: base, within: node.q, now: now)
        case .tilted:
            return self.tilted(node, value, b, &state, base, now)
        case .posture: return HingePosture.take(&state, at: base, angle: value, confidence: b, node, now: now)
        case .segment:
            return MotionSegmenter.take(&state, at: base, SIMD3(value, b, c), now: now)
        case .gesture:
            // Most looks end no motion.
            guard value > 0 else { return 0 }
            return GestureMatch.take(&state, at: base, motion: Int(value) - 1, node, now: now)
        case .adaptive, .displacement, .visit, .fence:
            return self.note(node, value, b, c, &state, base, now)
        case .channel, .constant, .add, .addMultiple, .subtract, .multiply, .divide, .negate, .absolute, .minimum,
            .maximum,
            .hypotenuse, .norm, .largest, .squareRoot, .arctangent, .arccosine, .greater, .both, .either, .strength,
            .recall, .shake, .orientation, .history, .activity, .smooth, .mean, .rms, .peak, .range, .fraction, .count:
            return .nan
        }
    }

    /// The filter at each look: the last, the interval that it came after, and the weight that goes with that.
    static func smooth(
        by constant: Double, _ columns: inout MutableSpan<Double>, _ to: Int, _ a: Int,
        _ state: inout MutableSpan<Double>, _ base: Int, _ times: Span<Int64>, _ before: Int64
    ) {
        var (last, interval, weight) = (state[base], state[base + 1], state[base + 2])
        var previous = before
        for look in 0..<times.count {
            let elapsed = previous >= 0 ? Double(times[look] - previous) : 0
            previous = times[look]
            // SAFETY: as in `run`.
            let value = columns[unchecked: a &+ look]
            if value.isNaN {
                columns[unchecked: to &+ look] = .nan
                continue
            }
            if last.isNaN {
                last = value
            } else {
                // Samples mostly come at one interval, so the weight of the last is usually that of this one.
                if interval != elapsed {
                    interval = elapsed
                    weight = Mathematics.approach(elapsed / constant)
                }
                last += (value - last) * weight
            }
            columns[unchecked: to &+ look] = last
        }
        (state[base], state[base + 1], state[base + 2]) = (last, interval, weight)
    }

    static func activity(
        _ node: Instruction, _ columns: inout MutableSpan<Double>, _ stride: Int, _ state: inout MutableSpan<Double>,
        _ count: Int
    ) {
        let (a, to) = (Int(node.a) &* stride, Int(node.destination) &* stride)
        let watch = RhythmWatch(base: Int(node.state), history: Int(node.history))
        for look in 0..<count {
            // SAFETY: as in `run`.
            columns[unchecked: to &+ look] = watch.activity(&state, ticks: columns[unchecked: a &+ look])
        }
    }

    /// The shake: `q` lobes within `r`, at least `s` since the last, which also ends the run. What the rhythm does not admit is
    /// held back and counted, once a rest.
    static func shake(
        _ node: Instruction, _ columns: inout MutableSpan<Double>, _ stride: Int, _ state: inout MutableSpan<Double>,
        _ times: Span<Int64>
    ) {
        let (a, b, c) = (Int(node.a) &* stride, Int(node.b) &* stride, Int(node.c) &* stride)
        let (to, ticks) = (Int(node.destination) &* stride, Int(max(0, node.d)) &* stride)
        let base = Int(node.state)
        for look in 0..<times.count {
            // SAFETY: as in `run`.
            let sample = SIMD3(
                columns[unchecked: a &+ look], columns[unchecked: b &+ look], columns[unchecked: c &+ look])
            columns[unchecked: to &+ look] =
                sample.x.isNaN || sample.y.isNaN || sample.z.isNaN
                ? .nan : self.shake(node, sample, columns[unchecked: ticks &+ look], &state, Double(times[look]))
            guard node.strength >= 0 else { continue }
            let found = state[base + ReversalRun.strength]
            columns[unchecked: Int(node.strength) &* stride &+ look] = found.isNaN ? 0 : found
        }
    }

    private static func shake(
        _ node: Instruction, _ sample: SIMD3<Double>, _ ticks: Double, _ state: inout MutableSpan<Double>, _ now: Double
    ) -> Double {
        let base = Int(node.state)
        let held = base + ReversalRun.size
        let fired = held + 2 + RhythmWatch.size
        guard ReversalRun.take(&state, at: base, sample.x, sample.y, sample.z, over: node.p, now: now),
            ReversalRun.has(state, at: base, count: Int(node.q), within: node.r), !(now - state[fired] < node.s)
        else { return 0 }
        if node.history >= 0 {
            // Only now is the rhythm asked for: most looks are of no shake.
            let watch = RhythmWatch(base: held + 2, history: Int(node.history))
            let shape = ReversalRun.shape(state, at: base, count: Int(node.q))
            guard watch.demand(&state, ticks: ticks).admits(shape, factor: node.t) else {
                if !(now - state[held + 1] < node.s) {
                    state[held] = state[held].isNaN ? 1 : state[held] + 1
                    state[held + 1] = now
                }
                return 0
            }
        }
        state[fired] = now
        ReversalRun.clear(&state, at: base)
        return 1
    }

    /// The orientation, and the strength that it found.
    static func orientation(
        _ node: Instruction, _ columns: inout MutableSpan<Double>, _ stride: Int, _ state: inout MutableSpan<Double>,
        _ times: Span<Int64>, _ before: Int64
    ) {
        let (a, b, c) = (Int(node.a) &* stride, Int(node.b) &* stride, Int(node.c) &* stride)
        let (to, ticks) = (Int(node.destination) &* stride, Int(max(0, node.d)) &* stride)
        var previous = before
        for look in 0..<times.count {
            let time = times[look]
            // SAFETY: as in `run`.
            let sample = SIMD3(
                columns[unchecked: a &+ look], columns[unchecked: b &+ look], columns[unchecked: c &+ look])
            columns[unchecked: to &+ look] =
                (sample.x + sample.y + sample.z).isNaN
                ? .nan
                : CalmOrientation.take(
                    &state, sample, node, ticks: columns[unchecked: ticks &+ look], now: Double(time),
                    elapsed: previous >= 0 ? Double(time - previous) : 0)
            previous = time
            guard node.strength >= 0 else { continue }
            let found = state[Int(node.state)]
            columns[unchecked: Int(node.strength) &* stride &+ look] = found.isNaN ? 0 : found
        }
    }

    /// The tilted shake: over `p`, more than `q` since the last, angle over `r`, filter weight `s`.
    private static func tilted(
        _ node: Instruction, _ x: Double, _ y: Double, _ state: inout MutableSpan<Double>, _ base: Int, _ now: Double
    ) -> Double {
        func filter() {
            state[base] = node.s * x + (1 - node.s) * state[base]
            state[base + 1] = node.s * y + (1 - node.s) * state[base + 1]
        }
        filter()
        guard x.magnitude >= node.p || y.magnitude >= node.p, !(now - state[base + 2] <= node.q) else { return 0 }
        // The article's code filters again here, with the same sample; its angle depends on it.
        filter()
        guard Mathematics.arctangent(state[base + 1], state[base]).magnitude > node.r else { return 0 }
        state[base + 2] = now
        return 1
    }
}
