import Motion

/// The catalogue's functions of where the device is. Each begins what it remembers with the strength of the last look.
extension Evaluation {
    /// A look of one of them: what happened, or else how things stand. Where there is no such place on earth, nothing happens.
    static func note(
        _ node: Instruction, _ latitude: Double, _ longitude: Double, _ c: Double, _ state: inout MutableSpan<Double>,
        _ base: Int, _ now: Double
    ) -> Double {
        if let position = Position(latitude: latitude, longitude: longitude) {
            let note = self.change(node, position, c, &state, base, now)
            if note != .none { return note.asChange }
        }
        return self.standing(node, state, base).asStanding
    }

    private static func change(
        _ node: Instruction, _ position: Position, _ c: Double, _ state: inout MutableSpan<Double>, _ base: Int,
        _ now: Double
    ) -> HitNote {
        switch node.operation {
        case .adaptive: return self.adaptive(node, position, speed: c, &state, base)
        case .displacement:
            let last = Position(latitude: state[base + 1], longitude: state[base + 2])
            let distance = last?.distance(to: position)
            state[base] = 0
            guard distance.map({ $0 >= node.p }) ?? true else { return .none }
            self.report(position, distance ?? 0, &state, base)
            return HitNote(.moved)
        case .visit: return self.visit(node, position, accuracy: c, &state, base, now)
        default: return self.fence(node, position, accuracy: c, &state, base)
        }
    }

    /// What one that begins only now would be told: that we are inside, or stay; of distances, where they begin.
    private static func standing(_ node: Instruction, _ state: borrowing MutableSpan<Double>, _ base: Int) -> HitNote {
        switch node.operation {
        case .adaptive: state[base + 1].isNaN ? .none : self.moved(through: state[base + 3])
        case .displacement: state[base + 1].isNaN ? .none : HitNote(.moved)
        case .visit: state[base + 4] == 1 ? HitNote(.arrived) : .none
        default: state[base + 1] == 1 ? HitNote(.entered) : .none
        }
    }

    private static func moved(through filter: Double) -> HitNote {
        HitNote(.movedThrough(filter: Int(max(0, min(filter, 100_000)))))
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
        state[base] = 0
        guard isDue || distance.map({ $0 >= filter.metres }) ?? true else { return .none }
        self.report(position, distance ?? 0, &state, base)
        return self.moved(through: filter.metres)
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
        guard isThere || now - state[base + 3] >= node.q else { return .none }
        state[base] = stay
        guard !isThere else { return .none }
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
        state[base] = distance
        // A circle smaller than the accuracy must be possible to enter, too.
        guard wasInside ? distance > node.r + accuracy : distance < node.r - min(accuracy, node.r / 2) else {
            return .none
        }
        state[base + 1] = wasInside ? 0 : 1
        return HitNote(wasInside ? .left : .entered)
    }
}

/// What a look says, as a number: above 0 what happened, below 0 how things stand though nothing did.
extension HitNote {
    fileprivate var asChange: Double { Double(self.rawValue) }
    fileprivate var asStanding: Double { 0 - Double(self.rawValue) }

    /// What happened at a look.
    init(change value: Double) { self.init(rawValue: value > 0 && value < 65_536 ? UInt16(value) : 0) }

    /// What somebody is told who joins at a look: what began, now or before, and has not ended.
    init(joining value: Double) {
        let note = HitNote(change: value.magnitude)
        switch note.meaning {
        case .entered, .arrived, .moved, .movedThrough: self = note
        case .nothing, .left, .departed: self = .none
        }
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
