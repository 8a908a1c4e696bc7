import Motion

/// The functions of the language.
enum ConditionFunction: String, CaseIterable {
    case abs, min, max, hypot, norm, atan2, sqrt, vector, angle
    case lowpass, highpass, delta, rate
    case mean, rms, peak, range
    case fraction, count, held, reversals

    /// How it is called, for messages.
    var usage: String {
        switch self {
        case .abs, .sqrt, .rate: "\(self.rawValue)(value)"
        case .min, .max: "\(self.rawValue)(value, value, …)"
        case .hypot, .atan2: "\(self.rawValue)(value, value)"
        case .norm: "norm(x, y, z) or norm(vector)"
        case .vector: "vector(x, y, z)"
        case .angle: "angle(vector, vector)"
        case .lowpass, .highpass:
            "\(self.rawValue)(value, time) or \(self.rawValue)(value, weight: number, from: value)"
        case .delta: "delta(value) or delta(value, from: value)"
        case .mean, .rms, .peak, .range: "\(self.rawValue)(value, time)"
        case .fraction, .count, .held: "\(self.rawValue)(condition, time)"
        case .reversals: "reversals(x, y, z, over: value, within: time)"
        }
    }

    /// The names of its named arguments.
    var labels: [String] {
        switch self {
        case .lowpass, .highpass: ["weight", "from"]
        case .delta: ["from"]
        case .reversals: ["over", "within"]
        case .abs, .min, .max, .hypot, .norm, .atan2, .sqrt, .vector, .angle, .rate, .mean, .rms, .peak, .range,
            .fraction, .count, .held:
            []
        }
    }
}

/// The arguments of a call, checked one at a time.
private struct Arguments {
    struct Argument {
        var term: ConditionParser.Term
        var offset: Int
        var text: String
    }

    let function: ConditionFunction
    let offset: Int
    var positional: [Argument] = []
    var named: [String: Argument] = [:]

    func wrongCount() -> ConditionProblem {
        ConditionProblem(self.offset, "'\(self.function.rawValue)' is called as \(self.function.usage)")
    }

    func expect(_ counts: ClosedRange<Int>) throws(ConditionProblem) {
        guard counts.contains(self.positional.count) else { throw self.wrongCount() }
    }

    func scalar(_ argument: Argument) throws(ConditionProblem) -> Scalar {
        if case .scalar(let scalar) = argument.term { return scalar }
        throw ConditionProblem(
            argument.offset,
            "'\(self.function.rawValue)' takes a number here; `\(argument.text)` is \(argument.term.described)")
    }

    func vector(_ argument: Argument) throws(ConditionProblem) -> Vector {
        if case .vector(let vector) = argument.term { return vector }
        throw ConditionProblem(
            argument.offset,
            "'\(self.function.rawValue)' takes a vector such as 'gravity' or 'vector(x, y, z)'; "
                + "`\(argument.text)` is \(argument.term.described)")
    }

    func truth(_ argument: Argument) throws(ConditionProblem) -> Truth {
        if case .truth(let truth) = argument.term { return truth }
        throw ConditionProblem(
            argument.offset,
            "'\(self.function.rawValue)' takes a condition such as 'x > 1g'; `\(argument.text)` is "
                + argument.term.described)
    }

    /// A constant of one kind.
    func constant(_ argument: Argument, _ kind: Kind) throws(ConditionProblem) -> Double {
        let scalar = try self.scalar(argument)
        guard let value = scalar.constant, scalar.kind == kind else {
            let found = scalar.constant == nil ? "not a constant" : scalar.kind.described
            throw ConditionProblem(
                argument.offset,
                "'\(self.function.rawValue)' needs \(kind.described) that is constant; `\(argument.text)` is \(found)")
        }
        return value
    }

    /// A constant time, in µs.
    func time(_ argument: Argument) throws(ConditionProblem) -> Double {
        try ConditionParser.microseconds(try self.constant(argument, Kind(.time)), at: argument.offset)
    }

    /// Numbers that all measure the same.
    func alike(_ range: Range<Int>) throws(ConditionProblem) -> [Scalar] {
        var scalars: [Scalar] = []
        for index in range {
            let argument = self.positional[index]
            let scalar = try self.scalar(argument)
            if let first = scalars.first, first.kind != scalar.kind {
                throw ConditionProblem(
                    argument.offset,
                    "`\(self.function.rawValue)` takes values of one kind; `\(self.positional[range.lowerBound].text)` is "
                        + "\(first.kind.described), `\(argument.text)` \(scalar.kind.described)")
            }
            scalars.append(scalar)
        }
        return scalars
    }

    /// One vector, or three numbers that all measure the same.
    func vectorOrThree() throws(ConditionProblem) -> Vector {
        if self.positional.count == 1 { return try self.vector(self.positional[0]) }
        try self.expect(3...3)
        let scalars = try self.alike(0..<3)
        return Vector(x: scalars[0].node, y: scalars[1].node, z: scalars[2].node, kind: scalars[0].kind)
    }
}

extension ConditionParser {
    /// A time as µs, checked against `DetectionLimits.span`.
    static func microseconds(_ seconds: Double, at offset: Int) throws(ConditionProblem) -> Double {
        let limits = DetectionLimits.span
        guard let span = TimeSpan(seconds: seconds), limits.contains(span) else {
            throw ConditionProblem(
                offset, "a time here is from \(limits.lowerBound.readable) to \(limits.upperBound.readable)")
        }
        return Double(span.microseconds)
    }

    /// A constant time that stands here, in µs.
    mutating func duration() throws(ConditionProblem) -> Double {
        let offset = self.token.offset
        guard case .number(let quantity) = self.token.content, quantity.dimension == .time else {
            if case .name(let name) = self.token.content, let constant = self.scope.constants[name],
                constant.dimension == .time
            {
                try self.advance()
                return try Self.microseconds(constant.value, at: offset)
            }
            throw self.unexpected("expected a time such as '500ms'")
        }
        try self.advance()
        return try Self.microseconds(quantity.value, at: offset)
    }

    /// A call; the token is its opening parenthesis.
    mutating func call(_ name: String, at offset: Int) throws(ConditionProblem) -> Term {
        guard let function = ConditionFunction(rawValue: name) else {
            let near = Suggestion.nearest(to: name, among: ConditionFunction.allCases.map(\.rawValue))
            throw ConditionProblem(
                offset, "unknown function '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        try self.advance()
        var arguments = Arguments(function: function, offset: offset)
        while self.token.content != .symbol(")") {
            guard arguments.positional.count + arguments.named.count < 8 else { throw arguments.wrongCount() }
            try self.argument(&arguments)
            guard try self.take(",") else { break }
        }
        guard try self.take(")") else { throw self.unexpected("expected ',' or ')'") }
        self.builder.place = offset
        return try self.apply(arguments)
    }

    private mutating func argument(_ arguments: inout Arguments) throws(ConditionProblem) {
        var label: (name: String, offset: Int)?
        // A label is a name with a colon behind it, and no expression begins so.
        if case .name(let name) = self.token.content, !self.isKnown(name) {
            let offset = self.token.offset
            if arguments.function.labels.contains(name) {
                try self.advance()
                guard try self.take(":") else { throw self.unexpected("expected ':' behind '\(name)'") }
                label = (name, offset)
            }
        }
        let start = self.token.offset
        let term = try self.sequence()
        if self.token.content == .symbol(":") {
            throw ConditionProblem(
                start, "unknown argument; '\(arguments.function.rawValue)' is called as \(arguments.function.usage)")
        }
        let argument = Arguments.Argument(term: term, offset: start, text: self.text(start, self.lastEnd))
        if let label {
            guard arguments.named.updateValue(argument, forKey: label.name) == nil else {
                throw ConditionProblem(label.offset, "'\(label.name)' is given twice")
            }
        } else {
            guard arguments.named.isEmpty else {
                throw ConditionProblem(start, "named arguments stand last: \(arguments.function.usage)")
            }
            arguments.positional.append(argument)
        }
    }

    private func isKnown(_ name: String) -> Bool {
        self.scope.constants[name] != nil || self.scope.channels.contains(name)
    }

    private mutating func apply(_ arguments: Arguments) throws(ConditionProblem) -> Term {
        let function = arguments.function
        switch function {
        case .abs:
            try arguments.expect(1...1)
            let value = try arguments.scalar(arguments.positional[0])
            if let constant = value.constant {
                return .scalar(try self.builder.constant(constant.magnitude, value.kind))
            }
            return .scalar(Scalar(node: try self.builder.node(.absolute, value.node), kind: value.kind))
        case .min, .max:
            try arguments.expect(2...8)
            let values = try arguments.alike(0..<arguments.positional.count)
            var node = values[0].node
            for value in values.dropFirst() {
                node =
                    function == .max
                    ? try self.builder.maximum(node, value.node) : try self.builder.node(.minimum, node, value.node)
            }
            return .scalar(Scalar(node: node, kind: values[0].kind))
        case .hypot:
            try arguments.expect(2...2)
            let values = try arguments.alike(0..<2)
            let node = try self.builder.node(.hypotenuse, values[0].node, values[1].node)
            return .scalar(Scalar(node: node, kind: values[0].kind))
        case .norm:
            let vector = try arguments.vectorOrThree()
            return .scalar(
                Scalar(node: try self.builder.node(.norm, vector.x, vector.y, vector.z), kind: vector.kind))
        case .atan2:
            try arguments.expect(2...2)
            let values = try arguments.alike(0..<2)
            let node = try self.builder.node(.arctangent, values[0].node, values[1].node)
            return .scalar(Scalar(node: node, kind: Kind(.angle)))
        case .sqrt:
            try arguments.expect(1...1)
            let value = try arguments.scalar(arguments.positional[0])
            guard let kind = value.kind.root else {
                throw ConditionProblem(
                    arguments.offset,
                    "'sqrt' needs a square; `\(arguments.positional[0].text)` is \(value.kind.described)")
            }
            return .scalar(Scalar(node: try self.builder.node(.squareRoot, value.node), kind: kind))
        case .vector:
            try arguments.expect(3...3)
            return .vector(try arguments.vectorOrThree())
        case .angle:
            try arguments.expect(2...2)
            let (a, b) = (
                try arguments.vector(arguments.positional[0]), try arguments.vector(arguments.positional[1])
            )
            guard a.kind == b.kind else {
                throw ConditionProblem(
                    arguments.positional[1].offset,
                    "'angle' takes vectors of one kind; `\(arguments.positional[0].text)` holds \(a.kind.described), "
                        + "`\(arguments.positional[1].text)` \(b.kind.described)")
            }
            return .scalar(try self.builder.angle(a, b))
        case .lowpass, .highpass, .delta, .rate:
            return try self.filter(arguments)
        case .mean, .rms, .peak, .range:
            try arguments.expect(2...2)
            let value = try arguments.scalar(arguments.positional[0])
            let span = try arguments.time(arguments.positional[1])
            let operation: Operation =
                switch function {
                case .mean: .mean
                case .rms: .rms
                case .peak: .peak
                default: .range
                }
            return .scalar(Scalar(node: try self.builder.node(operation, value.node, p: span), kind: value.kind))
        case .fraction, .count, .held:
            try arguments.expect(2...2)
            let truth = try arguments.truth(arguments.positional[0])
            let span = try arguments.time(arguments.positional[1])
            let inner = try self.builder.node(of: truth)
            guard function != .held else {
                let node = try self.builder.node(.held, inner, p: span)
                return .truth(try self.builder.truth(of: node, measured: truth.measured))
            }
            let node = try self.builder.node(function == .count ? .count : .fraction, inner, p: span)
            return .scalar(Scalar(node: node, kind: .number, measured: truth.measured))
        case .reversals:
            guard let over = arguments.named["over"], let within = arguments.named["within"] else {
                throw arguments.wrongCount()
            }
            let vector = try arguments.vectorOrThree()
            let threshold = try arguments.constant(over, vector.kind)
            guard threshold >= 0 else { throw ConditionProblem(over.offset, "'over' is 0 or more") }
            let span = try arguments.time(within)
            let node = try self.builder.node(.reversals, vector.x, vector.y, vector.z, p: threshold, q: span)
            let strength = try self.builder.node(.strength, node)
            return .scalar(
                Scalar(
                    node: node, kind: .number,
                    measured: [Measured(node: strength, sign: 1, kind: vector.kind, threshold: threshold)]))
        }
    }

    /// `lowpass`, `highpass`, `delta` and `rate`, of a number or of each part of a vector.
    private mutating func filter(_ arguments: Arguments) throws(ConditionProblem) -> Term {
        try arguments.expect(1...2)
        let value = arguments.positional[0]
        let kind: Kind
        switch value.term {
        case .scalar(let scalar): kind = scalar.kind
        case .vector(let vector): kind = vector.kind
        case .truth: throw arguments.wrongCount()
        }
        let from = try arguments.named["from"].map { (argument) throws(ConditionProblem) in
            try arguments.constant(argument, kind)
        }
        var span: Double?
        if arguments.positional.count == 2 { span = try arguments.time(arguments.positional[1]) }
        let function = arguments.function
        let step: FormulaNode
        switch function {
        case .delta, .rate:
            guard span == nil else { throw arguments.wrongCount() }
            step = FormulaNode(operation: function == .delta ? .delta : .rate, q: from ?? .nan)
        default:
            if let weight = arguments.named["weight"] {
                guard span == nil else {
                    throw ConditionProblem(weight.offset, "give a time constant or a 'weight', not both")
                }
                let share = try arguments.constant(weight, .number)
                guard share > 0, share <= 1 else {
                    throw ConditionProblem(weight.offset, "'weight', the new value's, is above 0 and at most 1")
                }
                guard self.scope.isPaced else {
                    throw ConditionProblem(
                        weight.offset, "'weight' counts by look and needs the option 'every'; or give a time constant")
                }
                step = FormulaNode(operation: .smoothByLook, p: share, q: from ?? .nan)
            } else if let span {
                step = FormulaNode(operation: .smooth, p: span, q: from ?? .nan)
            } else {
                throw arguments.wrongCount()
            }
        }
        let resultKind =
            function == .rate ? kind.combined(with: Kind(.time), by: -1) : kind
        guard let resultKind else {
            throw ConditionProblem(arguments.offset, "the powers of units grow beyond \(Kind.highest)")
        }
        func apply(_ builder: inout FormulaBuilder, _ node: Int32) throws(ConditionProblem) -> Int32 {
            var own = step
            own.a = node
            let filtered = try builder.node(own)
            return function == .highpass ? try builder.node(.subtract, node, filtered) : filtered
        }
        switch value.term {
        case .scalar(let scalar):
            return .scalar(Scalar(node: try apply(&self.builder, scalar.node), kind: resultKind))
        case .vector(let vector):
            var result = try self.builder.map(vector, apply)
            result.kind = resultKind
            return .vector(result)
        case .truth:
            throw arguments.wrongCount()
        }
    }
}
