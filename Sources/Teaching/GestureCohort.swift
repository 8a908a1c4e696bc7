import Detection

/// Motions of a hand that nobody taught, made from a seed: what a threshold is held against.
///
/// They are strokes, returns, arcs, swings and runs of strokes, along the axes more often than not, of all lengths and
/// strengths, and with the turns of the device that go along with them. No recording is in them, so they may go wherever the
/// program goes. Each is found in a stream by what finds motions in the engine.
package enum GestureCohort {
    package static let seed: UInt64 = 1
    package static let count = 500

    /// The shapes of the motions, always the same.
    package static let shapes: [[Double]] = {
        var chance = Chance(seed: seed)
        var shapes: [[Double]] = []
        while shapes.count < count {
            if let found = MotionFinder.found(HandMotion(&chance)) { shapes.append(found.shape) }
        }
        return shapes
    }()
}
