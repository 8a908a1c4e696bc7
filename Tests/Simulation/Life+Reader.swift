import Randomness

extension Life {
    static func beginOfReader(_ random: inout SeededRandom) -> [Step] {
        var steps = [Step(.up)]
        for device in ReaderSetup.hardware.indices where random.chance(0.2) { steps.append(Step(.plug, device, 0)) }
        for listener in 0..<ReaderSetup.listeners where random.chance(0.8) {
            steps += [Step(.join, listener)] + Self.claim(listener, &random)
        }
        return steps
    }

    private static func claim(_ listener: Int, _ random: inout SeededRandom) -> [Step] {
        let number = Int.random(in: 0..<3 * (ReaderSetup.requests + 8), using: &random)
        return [Step(random.chance(0.5) ? .claim : .open, listener, number)]
    }

    /// Something happens to the reader, or to what is around it.
    static func nextOfReader(_ random: inout SeededRandom) -> [Step] {
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        let listener = number(0...ReaderSetup.listeners - 1)
        let device = number(0...ReaderSetup.hardware.count - 1)
        let hear = [Step(.heed, listener, number(1...9)), Step(.verdict, number(0...9))]
        switch number(0...99) {
        case 0..<32: return [Step(.measure, device, number(1...30))]
        case 32..<44: return Self.claim(listener, &random) + hear
        case 44: return (0..<number(2...40)).flatMap { _ in Self.claim(listener, &random) } + hear
        case 45..<62: return [Step(.drain, listener, number(1...20))] + hear
        case 62..<67: return [Step(.release, listener, number(0...6))] + hear
        case 67..<71: return [Step(.flush, listener, number(0...6))] + hear + [Step(.drain, listener, 100)]
        case 71..<76: return [Step(.part, listener, number(0...1))] + hear + [Step(.join, listener)]
        case 76: return [Step(.part, listener, number(0...1))]
        case 77: return [Step(.join, listener)]
        case 78..<82: return [Step(.plug, device, 0), Step(.plug, number(0...2), 1)]
        case 82: return [Step(.plug, device, number(0...1))]
        case 83..<86: return [Step(.ail, device, number(1...7)), Step(.measure, device, number(1...9))]
        case 86..<88: return [Step(.ail, device, 0)]
        case 88: return [Step(.down), Step(.up)]
        case 89: return [Step(.down)]
        case 90: return [Step(.up)]
        case 91, 92: return [Step(.front, number(0...7))]
        case 93: return [Step(.front, 7), Step(.verdict, 30)]
        case 94: return [Step(.polkit, number(0...3))]
        case 95: return [Step(.polkit, 0)]
        case 96: return [Step(.crowd, listener, number(1...30))] + (random.chance(0.5) ? hear : [])
        case 97: return [Step(.own, device, number(-1...ReaderSetup.requests))]
        default: return [Step(.verdict, number(1...30))]
        }
    }
}
