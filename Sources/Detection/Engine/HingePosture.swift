import Motion

/// Whether a hinge's angle lies in a range, told when it has for a while, as far as the angle is to be trusted.
///
/// It ends only further out than it begins, so that a hand that holds a display at the border does not switch to and fro. What is
/// not trusted changes nothing. Layout of its numbers: what was told last, since when it is the other way round, and whether
/// the angle is in the range, which a gap does not change.
enum HingePosture {
    static let size = 3

    /// Takes an angle in degrees; returns 1 when the range begins or ends, which the strength tells apart: 1 and 2.
    static func take(
        _ state: inout MutableSpan<Double>, at base: Int, angle: Double, confidence: Double, _ node: Instruction,
        now: Double
    ) -> Double {
        let wasIn = state[base + 2] == 1
        let margin = wasIn ? node.r : 0
        let isIn = angle >= node.p - margin && angle <= node.q + margin
        guard confidence >= node.t, isIn != wasIn else {
            state[base + 1] = .nan
            return 0
        }
        if state[base + 1].isNaN { state[base + 1] = now }
        guard now - state[base + 1] >= node.s else { return 0 }
        state[base] = isIn ? 1 : 2
        state[base + 1] = .nan
        state[base + 2] = isIn ? 1 : 0
        return 1
    }
}
