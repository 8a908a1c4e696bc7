import Motion

extension DetectorCompiler {
    /// The condition of a native function, whose result is a truth and whose strength is what hits carry.
    static func native(
        _ function: NativeFunction, _ values: [Double], _ pace: Pace, _ scope: ConditionScope,
        _ options: RequestOptions
    ) throws(DetectorProblem) -> ConditionParser.Result {
        let gesture = function == .gesture ? try self.gesture(options) : nil
        do {
            var builder = FormulaBuilder(channels: scope.channels)
            // Of a location, latitude and longitude as samples carry them.
            let x = try builder.channel(0, scope.kind).node
            let y = try builder.channel(1, scope.kind).node
            let rest = Double(pace.rest.microseconds)
            let node: Int32
            let measured: Measured
            switch function {
            case .shake:
                let z = try builder.channel(2, scope.kind).node
                var shake = FormulaNode(
                    operation: .shake, a: x, b: y, c: z, p: values[0], q: values[1], r: values[2] * 1_000_000, s: rest)
                if values[3] > 0 {
                    shake.d = try builder.node(.history, x, y, z)
                    shake.t = values[3]
                }
                node = try builder.node(shake)
                measured = Measured(
                    node: try builder.node(.strength, node), sign: 1, kind: scope.kind, threshold: values[0])
            case .tilted:
                node = try builder.node(
                    FormulaNode(operation: .tilted, a: x, b: y, p: values[0], q: rest, r: values[1], s: 0.1))
                let larger = try builder.node(
                    .maximum, builder.node(.absolute, x), builder.node(.absolute, y))
                measured = Measured(node: larger, sign: 1, kind: scope.kind, threshold: values[0])
            case .orientation:
                let z = try builder.channel(2, scope.kind).node
                var turn = FormulaNode(
                    operation: .orientation, a: x, b: y, c: z, p: values[0] * 1_000_000, q: values[1] * 1_000_000,
                    r: values[2], s: values[3])
                turn.u = values[4] * 1_000_000
                if values[5] > 0 { turn.d = try builder.node(.history, x, y, z) }
                // Of a screen also how high an edge must point.
                if values.count > 6 { turn.t = Mathematics.sineAndCosine(values[6]).sine }
                node = try builder.node(turn)
                // The number of the axis that points up.
                measured = Measured(node: try builder.node(.strength, node), sign: 1, kind: .number)
            case .posture:
                // Of a hinge the angle and how far it is to be trusted, in degrees and percent as samples carry them.
                // What a person wrote in degrees is that again.
                let degrees = values.map { ($0 * 180 / .pi * 1_000_000).rounded() / 1_000_000 }
                var posture = FormulaNode(
                    operation: .posture, a: x, b: y, p: degrees[0], q: degrees[1], r: degrees[2],
                    s: values[3] * 1_000_000)
                posture.t = values[4] * 100
                node = try builder.node(posture)
                // Whether it begins or ends.
                measured = Measured(node: try builder.node(.strength, node), sign: 1, kind: .number)
            case .activity:
                let z = try builder.channel(2, scope.kind).node
                let activity = try builder.node(.activity, builder.node(.history, x, y, z))
                let change = try builder.node(.absolute, builder.node(.delta, activity, q: .nan))
                node = try builder.node(.greater, change, p: 0.5, q: 1)
                // The number of the activity that begins.
                measured = Measured(node: activity, sign: 1, kind: .number)
            case .adaptive:
                node = try builder.node(.adaptive, x, y, builder.channel(2, scope.kind).node, p: values[0])
                measured = Measured(node: try builder.node(.strength, node), sign: 1, kind: Kind(.length))
            case .distance:
                node = try builder.node(.displacement, x, y, p: values[0])
                measured = Measured(
                    node: try builder.node(.strength, node), sign: 1, kind: Kind(.length), threshold: values[0])
            case .visit:
                node = try builder.node(
                    .visit, x, y, builder.channel(4, scope.kind).node, p: values[0], q: values[1] * 1_000_000)
                measured = Measured(node: try builder.node(.strength, node), sign: 1, kind: Kind(.time))
            case .geofence:
                let accuracy = try builder.channel(4, scope.kind).node
                node = try builder.node(
                    FormulaNode(
                        operation: .fence, a: x, b: y, c: accuracy, p: values[0], q: values[1], r: values[2]))
                measured = Measured(
                    node: try builder.node(.strength, node), sign: 1, kind: Kind(.length), threshold: values[2])
            case .gesture:
                let z = try builder.channel(2, scope.kind).node
                let segment = try builder.node(.segment, x, y, z)
                node = try builder.node(
                    FormulaNode(operation: .gesture, a: segment, p: values[0], q: rest, gesture: gesture))
                measured = Measured(
                    node: try builder.node(.strength, node), sign: 1, kind: .number, threshold: values[0])
            }
            let truth = try builder.truth(of: node, measured: [measured])
            return try ConditionParser.Result(&builder, truth)
        } catch {
            throw options.problem(error, key: "preset")
        }
    }

    /// The gesture that a request brings.
    private static func gesture(_ options: RequestOptions) throws(DetectorProblem) -> TaughtGesture {
        let key = CompiledDetector.gestureKey
        guard let text = try options.text(key) else {
            throw options.problem(key, "'gesture' needs 'gesture', the content of what 'jostle teach' saved")
        }
        GestureBackground.prepare()
        do throws(GestureText.Problem) {
            return try GestureText.read(text)
        } catch {
            throw options.problem(key, "\(error)")
        }
    }
}
