import Motion

/// What a formula's nodes can be without running it: at rest, and at most.
enum SteadyState {
    /// The values that the nodes settle at when the channels stay as they are.
    static func values(of formula: Formula, channels: [Double]) -> [Double] {
        var values: [Double] = []
        values.reserveCapacity(formula.nodes.count)
        for node in formula.nodes {
            func a() -> Double { node.a >= 0 ? values[Int(node.a)] : .nan }
            func b() -> Double { node.b >= 0 ? values[Int(node.b)] : .nan }
            func c() -> Double { node.c >= 0 ? values[Int(node.c)] : .nan }
            let value: Double
            switch node.operation {
            case .channel: value = Int(node.a) < channels.count ? channels[Int(node.a)] : .nan
            case .constant: value = node.p
            case .add: value = a() + b()
            case .addMultiple: value = a() + node.p * b()
            case .subtract: value = a() - b()
            case .multiply: value = a() * b()
            case .divide: value = a() / b()
            case .negate: value = -a()
            case .absolute, .rms, .peak: value = a().magnitude
            case .minimum: value = min(a(), b())
            case .maximum, .either: value = max(a(), b())
            case .hypotenuse: value = (a() * a() + b() * b()).squareRoot()
            case .norm: value = (a() * a() + b() * b() + c() * c()).squareRoot()
            case .largest: value = max(a().magnitude, b().magnitude, c().magnitude)
            case .squareRoot: value = a().squareRoot()
            case .arctangent: value = Mathematics.arctangent(a(), b())
            case .arccosine: value = a().isNaN ? .nan : Mathematics.arccosine(a())
            case .greater: value = node.q * a() > node.p ? 1 : 0
            case .both: value = a() * b()
            case .smooth, .smoothByLook, .mean, .fraction, .held: value = a()
            case .activity: value = Double(MotionActivity.still.rawValue)
            case .history, .delta, .rate, .range, .count, .sequence, .reversals, .shake, .tilted, .orientation,
                .posture, .adaptive,
                .displacement,
                .visit, .fence, .segment, .gesture, .strength, .recall:
                value = 0
            }
            values.append(value)
        }
        return values
    }

    /// What the nodes can be at all when each channel stays within ±`range`.
    static func bounds(of formula: Formula, range: Double, hasGravity: Bool) -> [ClosedRange<Double>] {
        var bounds: [ClosedRange<Double>] = []
        bounds.reserveCapacity(formula.nodes.count)
        let unknown = -Double.infinity...Double.infinity
        func most(_ bound: ClosedRange<Double>) -> Double {
            max(bound.lowerBound.magnitude, bound.upperBound.magnitude)
        }
        func ordered(_ values: Double...) -> ClosedRange<Double> {
            guard let low = values.min(), let high = values.max(), low <= high else { return unknown }
            return low...high
        }
        for node in formula.nodes {
            let a = node.operation != .channel && node.a >= 0 ? bounds[Int(node.a)] : unknown
            let b = node.b >= 0 ? bounds[Int(node.b)] : unknown
            let c = node.c >= 0 ? bounds[Int(node.c)] : unknown
            let bound: ClosedRange<Double>
            switch node.operation {
            case .channel: bound = -range...range
            case .constant: bound = ordered(node.p)
            case .add: bound = ordered(a.lowerBound + b.lowerBound, a.upperBound + b.upperBound)
            case .subtract: bound = ordered(a.lowerBound - b.upperBound, a.upperBound - b.lowerBound)
            case .multiply:
                bound = ordered(
                    a.lowerBound * b.lowerBound, a.lowerBound * b.upperBound, a.upperBound * b.lowerBound,
                    a.upperBound * b.upperBound)
            case .negate: bound = ordered(-a.upperBound, -a.lowerBound)
            case .absolute, .rms, .peak: bound = 0...most(a)
            case .minimum: bound = ordered(min(a.lowerBound, b.lowerBound), min(a.upperBound, b.upperBound))
            case .maximum: bound = ordered(max(a.lowerBound, b.lowerBound), max(a.upperBound, b.upperBound))
            case .hypotenuse: bound = 0...(most(a) * most(a) + most(b) * most(b)).squareRoot()
            case .norm: bound = 0...(most(a) * most(a) + most(b) * most(b) + most(c) * most(c)).squareRoot()
            case .largest: bound = 0...max(most(a), most(b), most(c))
            case .squareRoot: bound = 0...max(0, a.upperBound).squareRoot()
            case .arctangent: bound = -Double.pi...Double.pi
            case .arccosine: bound = 0...Double.pi
            case .smooth, .smoothByLook, .mean: bound = a
            case .range: bound = 0...max(0, a.upperBound - a.lowerBound)
            case .delta:
                let width = max(0, a.upperBound - a.lowerBound)
                let source = node.a >= 0 ? formula.nodes[Int(node.a)] : node
                if source.operation == .smoothByLook, hasGravity {
                    // A slow filter stays near gravity, so a step is at most the weight of a jump from there.
                    let step = source.p * (most(a) + 1)
                    bound = -step...step
                } else {
                    bound = -width...width
                }
            case .fraction, .greater, .both, .either, .held, .sequence, .shake, .tilted, .orientation, .posture,
                .gesture:
                bound = 0...1
            case .count, .history: bound = 0...Double.infinity
            case .adaptive, .displacement, .visit, .fence, .segment: bound = unknown
            case .reversals: bound = 0...Double(ReversalRun.ring)
            case .activity: bound = 0...Double(MotionActivity.allCases.count - 1)
            case .strength: bound = 0...Double.infinity
            case .recall: bound = b
            case .divide, .rate, .addMultiple: bound = unknown
            }
            bounds.append(bound.lowerBound.isNaN || bound.upperBound.isNaN ? unknown : bound)
        }
        return bounds
    }
}
