import Motion

/// The catalogue's functions of where the device is. Each begins what it remembers with the strength of its last hit.
extension Evaluation {
    /// A look of one of them. Where there is no such place on earth, nothing happens.
    static func note(
        _ node: Instruction, _ latitude: Double, _ longitude: Double, _ c: Double, _ state: inout MutableSpan<Double>,
        _ base: Int, _ now: Double
    ) -> HitNote {
        guard let position = Position(latitude: latitude, longitude: longitude) else { return .none }
        switch node.operation {
        case .adaptive: return self.adaptive(node, position, speed: c, &state, base)
        case .displacement:
            let last = Position(latitude: state[base + 1], longitude: state[base + 2])
            let distance = last?.distance(to: position)
            guard distance.map({ $0 >= node.p }) ?? true else { return .none }
            self.report(position, distance ?? 0, &state, base)
            return HitNote(.moved)
        case .visit: return self.visit(node, position, accuracy: c, &state, base, now)
        default: return self.fence(node, position, accuracy: c, &state, base)
        }
    }

    private static func report(
        _ position: Position, _ distance: Double, _ state: inout MutableSpan<Double>, _ base: Int
    ) {
        state[base] = distance
        state[base + 1] = position.latitude
        state[base + 2] = position.longitude
    }

    /// The filter in force stands behind the last report, and then whether it was set at the last fix.
    private static func adaptive(
        _ node: Instruction, _ position: Position, speed: Double, _ state: inout MutableSpan<Double>, _ base: Int
    ) -> HitNote {
        var filter = AdaptiveFilter(smoothing: node.p, metres: state[base + 3])
        let isDue = state[base + 4] == 1
        state[base + 4] = filter.adjust(to: speed) ? 1 : 0
        state[base + 3] = filter.metres
        let last = Position(latitude: state[base + 1], longitude: state[base + 2])
        let distance = last?.distance(to: position)
        guard isDue || distance.map({ $0 >= filter.metres }) ?? true else { return .none }
        self.report(position, distance ?? 0, &state, base)
        return HitNote(.movedThrough(filter: Int(max(0, min(filter.metres, 100_000)))))
    }

    /// A stay: where it began or may begin, since when, and whether it has.
    private static func visit(
        _ node: Instruction, _ position: Position, accuracy: Double, _ state: inout MutableSpan<Double>, _ base: Int,
        _ now: Double
    ) -> HitNote {
        let centre = Position(latitude: state[base + 1], longitude: state[base + 2])
        let isThere = state[base + 4] == 1
        let stay = (now - state[base + 3]) / 1_000_000
        guard let centre, centre.distance(to: position) <= node.p + accuracy else {
            self.report(position, isThere ? stay : 0, &state, base)
            state[base + 3] = now
            state[base + 4] = 0
            return isThere ? HitNote(.departed) : .none
        }
        guard !isThere, now - state[base + 3] >= node.q else { return .none }
        state[base] = stay
        state[base + 4] = 1
        return HitNote(.arrived)
    }

    /// A circle. What the accuracy leaves open changes nothing, so that who stands at its edge does not come and go.
    private static func fence(
        _ node: Instruction, _ position: Position, accuracy: Double, _ state: inout MutableSpan<Double>, _ base: Int
    ) -> HitNote {
        guard let centre = Position(latitude: node.p, longitude: node.q) else { return .none }
        let distance = centre.distance(to: position)
        let wasInside = state[base + 1] == 1
        // A circle smaller than the accuracy must be possible to enter, too.
        guard wasInside ? distance > node.r + accuracy : distance < node.r - min(accuracy, node.r / 2) else {
            return .none
        }
        state[base] = distance
        state[base + 1] = wasInside ? 0 : 1
        return HitNote(wasInside ? .left : .entered)
    }
}

/// A distance filter that an app sets by its speed, as the article's does.
package struct AdaptiveFilter: Hashable, Sendable {
    /// How far the filter may be off before it is set, as a share of it; 0: the article's rule.
    package let smoothing: Double
    /// The distance after which a fix is reported.
    package private(set) var metres: Double

    /// The filter that it begins with, and of whoever is slow.
    package static let least = 50.0

    /// - Parameter metres: not a number: the one it begins with.
    package init(smoothing: Double = 0, metres: Double = .nan) {
        self.smoothing = smoothing
        self.metres = metres.isNaN ? Self.least : metres
    }

    /// Follows the speed at a fix. True when the filter was set, also to what it was.
    package mutating func adjust(to speed: Double) -> Bool {
        guard self.smoothing == 0 else {
            let wanted = max(Self.least, (min(max(speed, 0), 10_000) + 0.5).rounded(.down) * 10)
            guard (wanted - self.metres).magnitude > self.smoothing * self.metres else { return false }
            self.metres = wanted
            return true
        }
        guard speed >= 3 else {
            guard (self.metres - Self.least).magnitude > 0.1 else { return false }
            self.metres = Self.least
            return true
        }
        let set = self.metres / 10
        guard (set - speed).magnitude / set > 0.1 || set < 0 else { return false }
        self.metres = (min(speed, 10_000) + 0.5).rounded(.down) * 10
        return true
    }
}
