/// What a node of a formula computes. Truths are the numbers 1 and 0.
enum Operation: UInt8, Sendable {
    /// A channel of the sample; `a` is the index of its name.
    case channel
    /// The number `p`.
    case constant
    case add, subtract, multiply, divide, negate, absolute, minimum, maximum
    /// a + p·b, which the engine makes of two nodes.
    case addMultiple
    /// The length of (a, b).
    case hypotenuse
    /// The length of (a, b, c).
    case norm
    /// The largest magnitude of a, b and c.
    case largest
    case squareRoot, arctangent, arccosine
    /// 1 when q·a > p; q is 1 or -1.
    case greater
    case both, either
    /// Low pass with time constant `p` µs, starting at `q`, or at the first value when that is not a number.
    case smooth
    /// Low pass where each look's value has the weight `p`, starting at `q`.
    case smoothByLook
    /// The change since the previous look, whose value starts at `q`, or 0 when that is not a number.
    case delta
    /// The change since the previous look, by second.
    case rate
    /// Over the last `p` µs.
    case mean, rms, peak, range
    /// The share of the looks of the last `p` µs at which `a` was true; 0 before that time has passed.
    case fraction
    /// How often `a` became true in the last `p` µs.
    case count
    /// True when `a` has been true for `p` µs.
    case held
    /// True when `b` is and `a` was at an earlier look at most `p` µs ago.
    case sequence
    /// The reversals of (a, b, c) with lobes over `p` in the last `q` µs.
    case reversals
    /// The shake of the catalogue: `q` lobes over `p` within `r` µs, with a rest of `s` µs, that are what the history `d` demands; `t` is how
    /// many times the usual strength exceeds a rhythm clearly.
    case shake
    /// The tilted shake of the catalogue: over `p`, with a rest of `q` µs, the angle over `r`, the filter's weight `s`.
    case tilted
    /// Another axis points up: gravity is followed with time constant `p` µs, and the axis has been it for `q` µs in which the
    /// length of (a, b, c) stayed within `r` of its mean, and is not in a motion stronger than `s`, nor in the rhythm of the
    /// history `d`, if there is one. With `t` above 0 only the edges of a screen count, that high of 1 above the horizon.
    case orientation
    /// A hinge's angle `a` comes into `p` to `q` degrees for `s` µs, or leaves it by more than `r`, as looks show in which the
    /// confidence `b` is `t` or more.
    case posture
    /// How many ticks the history of (a, b, c) has seen: a `RhythmHistory`.
    case history
    /// What the device is doing by the history `a`: the number of a `MotionActivity`.
    case activity
    /// The filter of the catalogue that follows the speed: at (a, b) in degrees with speed `c`; `p` is its smoothing.
    ///
    /// Of this and the next three the value is the raw note of a hit, 0 without one, and they remember through gaps.
    case adaptive
    /// (a, b) lies `p` m or more from where it last hit.
    case displacement
    /// (a, b), to within `c` m, stays within `p` m for `q` µs, or leaves again.
    case visit
    /// (a, b), to within `c` m, enters or leaves the circle of `r` m around (p, q).
    case fence
    /// Motions between calm moments of (a, b, c): 1 more than where the one that ended is remembered, or 0.
    case segment
    /// The motion that ended, as node `a`, a segment, tells, is the node's `gesture` with a score of `p`; a rest of `q` µs.
    case gesture
    /// The strength that node `a`, a reversals, shake, orientation, posture or gesture, or one of the four that note, found.
    case strength
    /// The most that `b` was in the last unbroken run of looks at which `a` was true; the least when `q` is -1. Before any, `b`.
    case recall
}

/// A node: an operation on earlier nodes of the same formula. An unused operand is -1.
struct FormulaNode: Hashable, Sendable {
    var operation: Operation
    var a: Int32 = -1
    var b: Int32 = -1
    var c: Int32 = -1
    var d: Int32 = -1
    var p = 0.0
    var q = 0.0
    /// Further constants of the catalogue's own functions: the window and the rest of a shake, in µs.
    var r = 0.0
    var s = 0.0
    var t = 0.0
    /// One more of an orientation. Of what rests by itself: when others like it hit that it does not rest with; 0: it was there before.
    var u = 0.0
    /// What a motion is compared with.
    var gesture: TaughtGesture?

    /// The same with its operands at the places they have elsewhere. The operand of a channel is the channel, and stays.
    func over(_ places: [Int32]) -> FormulaNode {
        guard self.operation != .channel else { return self }
        var node = self
        if node.a >= 0 { node.a = places[Int(node.a)] }
        if node.b >= 0 { node.b = places[Int(node.b)] }
        if node.c >= 0 { node.c = places[Int(node.c)] }
        if node.d >= 0 { node.d = places[Int(node.d)] }
        return node
    }

    /// The time in µs for which what it remembers matters, where it is given as a time.
    var span: Double? {
        switch self.operation {
        case .smooth, .mean, .rms, .peak, .range, .fraction, .count, .held, .sequence, .orientation: self.p
        case .reversals: self.q
        case .shake: self.r
        case .segment: MotionSegmenter.span
        case .channel, .constant, .add, .addMultiple, .subtract, .multiply, .divide, .negate, .absolute, .minimum,
            .maximum,
            .hypotenuse, .norm, .largest, .squareRoot, .arctangent, .arccosine, .greater, .both, .either, .smoothByLook,
            .delta, .rate, .tilted, .history, .activity, .adaptive, .displacement, .visit, .fence, .gesture,
            .posture, .strength, .recall:
            nil
        }
    }

    /// The rest in µs of what rests by itself, which remembers behind all else when it hit last.
    var rest: Double? {
        switch self.operation {
        case .shake: self.s
        case .tilted, .gesture: self.q
        case .channel, .constant, .add, .addMultiple, .subtract, .multiply, .divide, .negate, .absolute, .minimum,
            .maximum,
            .hypotenuse, .norm, .largest, .squareRoot, .arctangent, .arccosine, .greater, .both, .either, .smooth,
            .smoothByLook, .delta, .rate, .mean, .rms, .peak, .range, .fraction, .count, .held, .sequence, .reversals,
            .orientation, .posture, .history, .activity, .adaptive, .displacement, .visit, .fence, .segment, .strength,
            .recall:
            nil
        }
    }

    /// Compares the bits, so that a constant that is not a number equals itself.
    static func == (a: FormulaNode, b: FormulaNode) -> Bool {
        a.operation == b.operation && a.a == b.a && a.b == b.b && a.c == b.c && a.d == b.d
            && a.p.bitPattern == b.p.bitPattern
            && a.q.bitPattern == b.q.bitPattern && a.r.bitPattern == b.r.bitPattern
            && a.s.bitPattern == b.s.bitPattern && a.t.bitPattern == b.t.bitPattern
            && a.u.bitPattern == b.u.bitPattern
            && a.gesture == b.gesture
    }

    /// Takes in all that is compared: whoever brings conditions could make many that are alike in the rest.
    func hash(into hasher: inout Hasher) {
        hasher.combine(self.operation)
        hasher.combine(self.a)
        hasher.combine(self.b)
        hasher.combine(self.c)
        hasher.combine(self.d)
        hasher.combine(self.p.bitPattern)
        hasher.combine(self.q.bitPattern)
        hasher.combine(self.r.bitPattern)
        hasher.combine(self.s.bitPattern)
        hasher.combine(self.t.bitPattern)
        hasher.combine(self.u.bitPattern)
        if let gesture { hasher.combine(gesture) }
    }
}

/// The numbers that a detector's condition compares, operands before users. Equal formulas exist once in the engine.
struct Formula: Hashable, Sendable {
    /// The names of the channels that nodes refer to.
    var channels: [String]
    var nodes: [FormulaNode]
    /// The node whose extreme a hit carries.
    var quantity: Int32
    /// 1 when larger is more, -1 when smaller is (free fall).
    var quantitySign: Double
    /// Further nodes whose extreme a hit may carry instead, as `Condition.scales` weighs them. Larger is more in all of them.
    var rivals: [Int32]
    /// Compared nodes that can be undefined.
    var partial: [Int32]

    /// How long a sample bears on the nodes, in µs: a window of a window remembers for both.
    var memory: Double {
        var memories: [Double] = []
        for node in self.nodes {
            let operands = node.operation == .channel ? [] : [node.a, node.b, node.c]
            let longest = operands.map { $0 >= 0 ? memories[Int($0)] : 0 }.max() ?? 0
            memories.append(longest + (node.span ?? 0))
        }
        return memories.max() ?? 0
    }
}

/// sign·node > key, which every comparison with a constant becomes, exactly.
struct Atom: Hashable, Sendable {
    var node: Int32
    var sign: Double
    var key: Double
}

/// A detector's condition over its formula.
struct Condition: Hashable, Sendable {
    /// Marks in `code`; smaller numbers are indices into `atoms`.
    static let and: Int32 = -1
    static let or: Int32 = -2
    /// The code of one comparison.
    static let single: [Int32] = [0]

    var formula: Formula
    var atoms: [Atom]
    /// The atoms joined by `and` and `or`, in postfix order.
    var code: [Int32]
    /// With rivals, the threshold of the quantity and of each rival: the largest in proportion to its own is the peak.
    var scales: [Double] = []

    /// True for one comparison of the very quantity that hits carry: the case that costs nothing while quiet.
    var isDirect: Bool {
        self.atoms.count == 1 && self.atoms[0].node == self.formula.quantity
            && self.atoms[0].sign == self.formula.quantitySign && self.formula.rivals.isEmpty
    }
}
