import Motion

/// What a value measures, as powers of what sensors measure; products and quotients keep it exact.
struct Kind: Hashable, Sendable {
    var acceleration: Int8 = 0
    var time: Int8 = 0
    var angle: Int8 = 0
    var length: Int8 = 0
    var illuminance: Int8 = 0

    static let number = Kind()
    /// Powers beyond this mean nothing that a sensor measures.
    static let highest: Int8 = 8

    init(acceleration: Int8 = 0, time: Int8 = 0, angle: Int8 = 0, length: Int8 = 0, illuminance: Int8 = 0) {
        self.acceleration = acceleration
        self.time = time
        self.angle = angle
        self.length = length
        self.illuminance = illuminance
    }

    init(_ dimension: Dimension) {
        switch dimension {
        case .none, .share: self.init()
        case .acceleration: self.init(acceleration: 1)
        case .time: self.init(time: 1)
        case .angle: self.init(angle: 1)
        case .length: self.init(length: 1)
        case .speed: self.init(time: -1, length: 1)
        case .frequency: self.init(time: -1)
        case .illuminance: self.init(illuminance: 1)
        case .angularVelocity: self.init(time: -1, angle: 1)
        }
    }

    private var powers: [Int8] { [self.acceleration, self.time, self.angle, self.length, self.illuminance] }

    private init?(powers: [Int]) {
        guard powers.allSatisfy({ abs($0) <= Int(Self.highest) }) else { return nil }
        self.init(
            acceleration: Int8(powers[0]), time: Int8(powers[1]), angle: Int8(powers[2]), length: Int8(powers[3]),
            illuminance: Int8(powers[4]))
    }

    /// The kind of a product (`by` 1) or quotient (`by` -1); `nil` when a power goes beyond `highest`.
    func combined(with other: Kind, by sign: Int) -> Kind? {
        Kind(powers: zip(self.powers, other.powers).map { Int($0) + sign * Int($1) })
    }

    /// The kind of a square root; `nil` when there is none.
    var root: Kind? {
        guard self.powers.allSatisfy({ $0 % 2 == 0 }) else { return nil }
        return Kind(powers: self.powers.map { Int($0) / 2 })
    }

    /// What people call it; `none` also for what has no name.
    var dimension: Dimension { self.named ?? .none }

    private var named: Dimension? { Dimension.allCases.first { $0 != .share && Kind($0) == self } }

    /// `an acceleration`, `a number`, `a value in g/s`.
    var described: String {
        if let named = self.named { return article(named.rawValue) }
        let names = ["g", "s", "rad", "m", "lx"]
        func product(_ wanted: (Int8) -> Bool) -> String {
            zip(names, self.powers).filter { wanted($0.1) }
                .map { abs($0.1) == 1 ? $0.0 : "\($0.0)^\(abs($0.1))" }.joined(separator: "·")
        }
        let (over, under) = (product { $0 > 0 }, product { $0 < 0 })
        return "a value in " + (over.isEmpty ? "1" : over) + (under.isEmpty ? "" : "/" + under)
    }
}
