import Motion

/// The motions of a script one after another, and what they push the sensor with at any time.
struct MotionScore: Sendable {
    enum Kind: Sendable {
        case rest
        /// Nothing is read.
        case gap
        /// Steps per second; what a heel strike adds, in g.
        case walk(pace: Double, strength: Double)
        /// Steps per second; what a step pushes with, in g. The device is at a wrist, whose arm swings once in two steps.
        case run(pace: Double, strength: Double)
        /// What is added at each end of a swing, in g; where to; swings to and fro per second.
        case shake(peak: Double, axis: SIMD3<Double>, frequency: Double)
        /// What pulls towards the middle, in g; how often it goes round, the sign its sense; what it goes round.
        case circle(strength: Double, turns: Double, axis: SIMD3<Double>)
    }

    private struct Part {
        var kind: Kind
        var start: Int64
        var end: Int64
    }

    /// How long a motion takes to come to its strength, in s, and to lose it.
    private static let ramp = 0.1
    /// How much steps differ: each has between 1 − this and 1 + this of the strength.
    private static let unevenness = 0.15
    /// The strength in g from which on a walk pushes no harder to the sides: else it would shake the body in flight.
    private static let lean = 4.0

    private var parts: [Part] = []
    var loops = false

    /// How long all takes once, in µs.
    var length: Int64 { self.parts.last?.end ?? 0 }

    /// Adds a motion at the end. `length` is positive and, with all before, far from overflow: scripts are short.
    mutating func append(_ kind: Kind, _ length: TimeSpan) {
        let start = self.length
        self.parts.append(Part(kind: kind, start: start, end: start + length.microseconds))
    }

    /// How hard a step is beside others, which differ a little.
    private static func weight(ofStep steps: Double, in part: Int, _ settings: MotionSettings) -> Double {
        let salt = settings.seed &+ UInt64(part) &* 0xD1B5_4A32_D192_ED03
        let chance = Waveform.chance(salt, UInt64(steps.rounded(.down)), 3)
        return 1 + self.unevenness * (2 * chance - 1)
    }

    /// What is added to gravity at a time, `nil` in a gap.
    func push(at offset: TimeSpan, _ settings: MotionSettings) -> SIMD3<Double>? {
        guard let (index, time) = self.find(offset.microseconds) else { return .zero }
        let part = self.parts[index]
        let length = Double(part.end - part.start) / 1_000_000
        switch part.kind {
        case .rest:
            return .zero
        case .gap:
            return nil
        case .shake(let peak, let axis, let frequency):
            let envelope = Waveform.envelope(at: time, of: length, ramp: Self.ramp)
            return axis * (peak * envelope * Waveform.swing(turns: time * frequency))
        case .circle(let strength, let turns, let axis):
            // The hand speeds up and slows down, which a pull along the way comes from.
            let part = time / length
            let way = part * part * (3 - 2 * part)
            let speed = 6 * part * (1 - part)
            let push = (6 - 12 * part) / (2 * Double.pi * turns.magnitude)
            let (angle, sense) = (way * turns, turns < 0 ? -1.0 : 1.0)
            let frame = MotionFrame(up: axis)
            let inward = frame.forward * Waveform.sine(turns: angle + 0.25) + frame.side * Waveform.sine(turns: angle)
            let along = frame.side * Waveform.sine(turns: angle + 0.25) - frame.forward * Waveform.sine(turns: angle)
            return (along * (push * sense) - inward * (speed * speed)) * strength
        case .walk(let pace, let strength):
            let steps = time * pace
            let envelope = Waveform.envelope(at: time, of: length, ramp: Self.ramp)
            let swing = strength * envelope * Self.weight(ofStep: steps, in: index, settings)
            // A foot pushes and never pulls: in flight the sensor reads 0, however hard the step was.
            let vertical = max(-1, swing * Waveform.step(phase: steps - steps.rounded(.down)))
            // Forward and back with each step, to the sides with each pair of steps; both continuous from step to step.
            let forward = 0.2 * min(swing, Self.lean) * Waveform.sine(turns: steps)
            let side = 0.12 * min(strength, Self.lean) * envelope * Waveform.sine(turns: steps / 2)
            let frame = settings.frame
            return frame.up * vertical + frame.forward * forward + frame.side * side
        case .run(let pace, let strength):
            let steps = time * pace
            let envelope = Waveform.envelope(at: time, of: length, ramp: Self.ramp)
            let push = max(0, Waveform.sine(turns: steps))
            let uneven = Self.weight(ofStep: steps, in: index, settings)
            // Between two steps little holds the runner; the arm turns round with each of them, as a shaken hand does.
            let vertical = strength * uneven * push * push - 0.3
            let arm = 0.9 * strength * Waveform.sine(turns: steps / 2 + 0.05)
            let side = 0.11 * strength * Waveform.sine(turns: steps / 2)
            let frame = settings.frame
            return (frame.up * vertical + frame.forward * arm + frame.side * side) * envelope
        }
    }

    /// The part that plays at a time, and for how long it has, in s; `nil` before the beginning and after the end.
    private func find(_ offset: Int64) -> (index: Int, time: Double)? {
        guard offset >= 0, self.length > 0, self.loops || offset < self.length else { return nil }
        let time = offset % self.length
        var low = 0
        var high = self.parts.count - 1
        while low < high {
            let middle = (low + high) / 2
            if time < self.parts[middle].end { high = middle } else { low = middle + 1 }
        }
        return (low, Double(time - self.parts[low].start) / 1_000_000)
    }
}
