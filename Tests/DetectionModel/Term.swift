/// A condition as a tree. Truths are 1 and 0; what is undefined is not a number.
package indirect enum Term: Hashable, Sendable {
    case channel(Int)
    case constant(Double)
    /// An operation on terms, with the constants that belong to it.
    case call(Operation, [Term], [Double] = [])

    package enum Operation: Hashable, Sendable {
        case add, subtract, multiply, divide, negate, absolute, minimum, maximum, squareRoot, norm, arctangent, angle
        case greater, greaterOrEqual, less, lessOrEqual, and, or, not
        /// Time constant in µs, and the start if there is one.
        case smooth
        /// Weight of the new look, and the start if there is one.
        case smoothByLook
        /// The start, if there is one.
        case delta
        case rate
        /// Length in µs.
        case mean, rms, peak, range, fraction, count, held
        /// Of two conditions; the time between them in µs.
        case sequence
        /// Of three numbers; the threshold and the time in µs.
        case reversals
        /// The strength of the same reversals.
        case strength
        /// Of a condition and a number: the most that the number was in the condition's last run of true looks. The constant is 1, or
        /// -1 for the least.
        case recall
    }
}

/// A condition as text and as tree, with the number that its hits carry.
package struct Program: Sendable {
    package var text: String
    /// `nil` when the text was spoilt on purpose, and need not compile.
    package var term: Term?
    package var measured: [Measured]
}

/// A number that hits may carry: of several, the one that is largest in proportion to its scale.
package struct Measured: Sendable {
    package var term: Term
    /// 1 when the largest value is the peak, -1 when the smallest is.
    package var sign: Double
    package var scale: Double
}
