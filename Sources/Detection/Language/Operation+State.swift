extension Operation {
    /// How many numbers the operation remembers.
    var stateSize: Int {
        switch self {
        case .smooth: 3
        case .smoothByLook, .delta, .rate, .held, .sequence: 1
        case .mean, .rms: SlicedWindow.size(fields: 2)
        case .peak: SlicedWindow.size(fields: 1)
        case .range: SlicedWindow.size(fields: 2)
        case .fraction: SlicedWindow.size(fields: 2) + 1
        case .count: SlicedWindow.size(fields: 1) + 1
        case .reversals: ReversalRun.size
        // Hits that its rhythm held back, when the last of them was, the rhythm, and the last hit.
        case .shake: ReversalRun.size + 3 + RhythmWatch.size
        case .tilted: 3
        case .orientation: CalmOrientation.size + RhythmWatch.size
        case .posture: HingePosture.size
        case .history: RhythmHistory.size
        case .activity: RhythmWatch.size
        case .adaptive, .visit: 5
        case .recall: 2
        case .displacement: 3
        case .fence: 2
        case .segment: MotionSegmenter.size
        case .gesture: GestureMatch.size
        case .channel, .constant, .add, .addMultiple, .subtract, .multiply, .divide, .negate, .absolute, .minimum,
            .maximum,
            .hypotenuse, .norm, .largest, .squareRoot, .arctangent, .arccosine, .greater, .both, .either, .strength:
            0
        }
    }

    /// True for what costs something at each look; the values of the others are simply there.
    var isExecuted: Bool { self != .channel && self != .constant && self != .strength }

    /// True when the value is always 1 or 0.
    var isTruth: Bool {
        switch self {
        case .greater, .both, .either, .held, .sequence, .shake, .tilted, .orientation, .posture, .gesture: true
        case .channel, .constant, .add, .addMultiple, .subtract, .multiply, .divide, .negate, .absolute, .minimum,
            .maximum,
            .hypotenuse, .norm, .largest, .squareRoot, .arctangent, .arccosine, .smooth, .smoothByLook, .delta, .rate,
            .mean, .rms, .peak, .range, .fraction, .count, .reversals, .history, .activity, .adaptive, .displacement,
            .visit,
            .fence, .segment,
            .strength, .recall:
            false
        }
    }

    /// True for what notes what happened, and says how much for each look by itself.
    var isNoting: Bool { self == .adaptive || self == .displacement || self == .visit || self == .fence }

    /// Where what it remembers begins with the strength that it found.
    var strengthPlace: Int {
        self.isNoting || self == .orientation || self == .posture || self == .gesture ? 0 : ReversalRun.strength
    }
}

extension FormulaNode {
    /// How many numbers it remembers, with those that it is given at the beginning.
    var stateSize: Int { self.operation.stateSize + (self.gesture?.table.count ?? 0) }

    /// The things that it remembers, as limits count them: of a gesture each example.
    var memories: Int {
        if let gesture { return gesture.examples.count }
        return self.operation.stateSize > 0 ? 1 : 0
    }
}
