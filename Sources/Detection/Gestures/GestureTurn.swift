/// The small turn that brings a motion nearest to an example: nobody holds a device twice alike.
///
/// A turn of the hand turns the run and the direction of gravity alike, so it is fitted to both, by least squares as far as
/// it is small: to the velocities of the same moments, and to gravity. It costs a little, and has an end: who holds a
/// device quite otherwise means something else.
struct GestureTurn {
    /// How much gravity counts in the fit, beside what it counts in a distance.
    private static let gravity = 2.0
    /// What a turn of one radian costs, in squares of a distance. It keeps the fit from turning about what says nothing.
    private static let stiffness = 0.05
    /// The largest turn, as the tangent of half of it, twice: 28 degrees.
    static let most = 0.5

    /// Its axis, as long as the tangent of half its angle.
    private let half: SIMD3<Double>
    private let scale: Double
    /// What is added to the square of the distance: for the turn, and for what it leaves between the directions of gravity.
    let square: Double

    /// The turn of the shape at `place` to another one.
    init(_ numbers: Span<Double>, _ place: Int, _ others: Span<Double>, _ other: Int) {
        let (held, meant) = (
            Self.vector(numbers, place + GestureShape.gravity), Self.vector(others, other + GestureShape.gravity)
        )
        var squares = SIMD3<Double>.zero
        var products = SIMD3<Double>.zero
        var turning = SIMD3<Double>.zero
        for step in 0..<GestureShape.steps {
            let run = Self.vector(numbers, place + step * GestureShape.width)
            squares += run * run
            products += Self.neighbours(run)
            turning += Self.across(run, Self.vector(others, other + step * GestureShape.width))
        }
        let share = 1 / Double(GestureShape.steps)
        squares = squares * share + held * held * Self.gravity
        products = products * share + Self.neighbours(held) * Self.gravity
        turning = turning * share + Self.across(held, meant) * Self.gravity

        // The sum of |v|² - v vᵀ, by its rows: where v points, it may turn as it likes.
        let trace = squares.sum() + Self.stiffness
        let first = SIMD3(trace - squares.x, -products.z, -products.y)
        let second = SIMD3(-products.z, trace - squares.y, -products.x)
        let third = SIMD3(-products.y, -products.x, trace - squares.z)
        let (a, b, c) = (Self.across(second, third), Self.across(third, first), Self.across(first, second))
        var turn = (a * turning.x + b * turning.y + c * turning.z) / (first * a).sum()
        let length = (turn * turn).sum().squareRoot()
        if length > Self.most { turn *= Self.most / length }
        self.half = turn / 2
        self.scale = 2 / (1 + (self.half * self.half).sum())
        let left = Self.turned(held, self.half, self.scale) - meant
        self.square = Self.stiffness * (turn * turn).sum() + (left * left).sum()
    }

    /// A vector of the motion after the turn.
    func turned(_ vector: SIMD3<Double>) -> SIMD3<Double> { Self.turned(vector, self.half, self.scale) }

    private static func turned(_ vector: SIMD3<Double>, _ half: SIMD3<Double>, _ scale: Double) -> SIMD3<Double> {
        let across = self.across(half, vector)
        return vector + (across + self.across(half, across)) * scale
    }

    /// The products of each two components: y z, z x and x y.
    private static func neighbours(_ a: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(a.y * a.z, a.z * a.x, a.x * a.y)
    }

    private static func across(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
    }

    private static func vector(_ numbers: Span<Double>, _ place: Int) -> SIMD3<Double> {
        SIMD3(numbers[place], numbers[place + 1], numbers[place + 2])
    }
}
