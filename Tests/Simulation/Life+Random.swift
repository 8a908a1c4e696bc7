import Randomness

extension Life {
    /// Draws a life from a seed: always the same one.
    package init(seed: UInt64, length: Int = 210) {
        var random = SeededRandom(seed: seed)
        let habits = (0..<Setup.clients).map { _ in Habit.allCases.randomElement(using: &random) ?? .careful }
        var steps = Setup.files.indices.filter { _ in random.chance(0.8) }.map { Step(.file, $0, 1) }
        steps += [Step(.begin), Step(.policy, Int.random(in: 0..<Setup.policies, using: &random))]
        for client in 0..<Setup.clients where client < Setup.firstLaunched || random.chance(0.3) {
            steps.append(Step(.start, client))
        }
        steps += [Step(.news), Step(.round), Step(.round)]
        // What happens to the reader is drawn for itself, so that it changes nothing of what happens to the broker.
        var other = SeededRandom(seed: seed ^ 0x7265_6164_6572)
        let begin = Self.beginOfReader(&other)
        // And what is registered for good.
        var third = SeededRandom(seed: seed ^ 0x6475_7261_626c)
        // And when the broker is killed between two changes that go to the disk, or is without a bus.
        var fourth = SeededRandom(seed: seed ^ 0x6375_74)
        var others = begin.count
        steps += begin
        while steps.count < length + others {
            steps += Self.next(habits, &random)
            if third.chance(0.02) {
                let more = Self.lasting(&third)
                others += more.count
                steps += more
            }
            if fourth.chance(0.006) {
                let more = fourth.chance(0.3) ? Self.withoutBus(&fourth) : Self.cutting(&fourth)
                others += more.count
                steps += more
            }
            guard other.chance(0.7) else { continue }
            let more = other.chance(0.015) ? Self.rarity(&other) : Self.nextOfReader(&other)
            others += more.count
            steps += more
        }
        self.init(seed: seed, steps: steps)
    }

    /// What a client is like.
    private enum Habit: CaseIterable {
        case careful, slow, dead, restless, hostile

        /// What it does when it has a turn.
        func turn(of client: Int, _ random: inout SeededRandom) -> [Step] {
            let few = Int.random(in: 1...6, using: &random)
            switch self {
            case .careful: return [Step(.work, client, 100), Step(.hear, client, 100)]
            case .slow:
                return random.chance(0.4)
                    ? [Step(.read, client, few), Step(.answer, client, Int.random(in: 0...1, using: &random))]
                    : [Step(.work, client, 1), Step(.hear, client, 1)]
            case .dead: return [Step(.hear, client, 100)]
            case .restless:
                return random.chance(0.3)
                    ? [Step(.quit, client), Step(.start, client), Step(.hear, client, few)]
                    : [Step(.work, client, few), Step(.hear, client, few)]
            case .hostile:
                let lie = Step(.lie, client, Int.random(in: -3...3, using: &random))
                let kinds: [Step.Kind] = [.subscribe, .listen, .forget, .read]
                return [
                    lie, Step(kinds.randomElement(using: &random) ?? .read, client, few), Step(.hear, client, few),
                ]
            }
        }
    }

    private static func next(_ habits: [Habit], _ random: inout SeededRandom) -> [Step] {
        let client = Int.random(in: 0..<Setup.clients, using: &random)
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        switch number(0...120) {
        case 0..<22:
            let many = random.chance(0.1)
            return [Step(.shake, number(18...50), many ? number(10...60) : number(1...3))]
        case 22..<36: return [Step(.pass, random.chance(0.1) ? number(1_000...70_000) : number(0...900))]
        case 36..<64: return habits[client].turn(of: client, &random)
        case 64..<70: return [Step(.write), Step(.news)]
        case 70..<72: return [Step(.write)]
        case 72: return [Step(.news)]
        case 73..<76: return [Step(.round)]
        case 76..<79: return [Step(.start, client), Step(.hear, client, number(1...3))]
        case 79: return [Step(.quit, client)]
        case 80: return Self.sights(&random)
        case 81..<84: return [Step(.state, client, number(0...4))]
        case 84..<87: return [Step(.policy, number(0...Setup.policies - 1))]
        case 87: return [Step(.kill)] + (random.chance(0.5) ? [Step(.pass, number(0...3_000))] : []) + [Step(.begin)]
        case 88: return [Step(.tear, max(0, number(-2...2))), Step(.begin), Step(.news)]
        case 89: return [Step(.begin), Step(.news), Step(.round)]
        case 90: return [Step(.disk, number(0...2))]
        case 91: return [Step(.disk, 0)]
        case 92: return [Step(.stall, number(1...5_000))]
        case 93: return [Step(.sleep, number(1...100_000))]
        case 94: return [Step(.jump, number(-90_000...90_000))]
        case 95: return [Step(.sensor, number(0...1)), Step(.sensor, 1)]
        case 96: return [Step(.listen, client, number(0...3)), Step(.forget, client, number(0...3))]
        case 97: return [Step(.subscribe, client, number(0...1)), Step(.hear, client, 2)]
        case 100..<109: return Self.launches(&random)
        case 115..<121: return Self.tasks(&random)
        case 109: return [Step(.file, number(0...1), number(0...2))]
        case 110: return [Step(.push, number(Setup.firstLaunched...Setup.clients - 1))]
        case 111..<114:
            let launched = number(Setup.firstLaunched...Setup.clients - 1)
            return [Step(.quit, launched), Step(.hear, launched, 100)]
        case 98: return random.chance(0.2) ? [Step(.wipe)] : [Step(.pause, 1), Step(.pass, 200), Step(.pause, 0)]
        default: return [Step(.hear, client, number(1...9)), Step(.answer, client, number(0...2))]
        }
    }

    /// Who is in front, or cannot run.
    private static func sights(_ random: inout SeededRandom) -> [Step] {
        switch Int.random(in: 0...5, using: &random) {
        case 0..<3: [Step(.seen, Int.random(in: -1..<1 << (2 * Setup.clients), using: &random))]
        case 3: [Step(.frozen, Int.random(in: 0..<1 << Setup.clients, using: &random))]
        case 4: [Step(.frozen), Step(.seen, -1)]
        default: [Step(.lock, Int.random(in: 0...1, using: &random))]
        }
    }

    /// Background work of an app that may have some.
    private static func tasks(_ random: inout SeededRandom) -> [Step] {
        let client = Int.random(in: Setup.firstLaunched..<Setup.clients, using: &random)
        let hear = Step(.hear, client, 100)
        switch Int.random(in: 0...11, using: &random) {
        case 0..<5:
            return [Step(.submit, client, Int.random(in: 0...15, using: &random)), hear, Step(.write), Step(.news)]
        case 5, 6: return [Step(.write), Step(.news), Step(.read, client, 100), Step(.finish, client, 0), hear]
        case 7: return [Step(.finish, client, Int.random(in: 0...1, using: &random)), hear]
        case 8: return [Step(.cancel, client, Int.random(in: 0...3, using: &random)), hear]
        case 9: return [Step(.end, client)]
        case 10: return [Step(.force, client), Step(.write), Step(.news)]
        default: return [Step(.device, Int.random(in: 0...3, using: &random))]
        }
    }

    /// An app wants what it registers to last, changes that, and is there or not when the broker is not.
    private static func lasting(_ random: inout SeededRandom) -> [Step] {
        let client = Setup.clients - 1
        let number = Int.random(in: 0...3, using: &random)
        let come = [Step(.start, client), Step(.hear, client, 100)]
        switch Int.random(in: 0...7, using: &random) {
        case 0..<3:
            let hear = Step(.hear, client, 100)
            return come + [Step(.last, client, 1), hear, Step(.read, client, 100), hear]
        case 3: return [Step(.listen, client, number), Step(.hear, client, 100)]
        case 4: return [Step(.forget, client, number), Step(.hear, client, 100)]
        case 5:
            let go = [Step(.quit, client), Step(.hear, client, 100)]
            return go + [Step(.tear, 0), Step(.begin), Step(.news)] + come
        case 6: return [Step(.file, 1, 0), Step(.pass, 100), Step(.file, 1, Int.random(in: 1...2, using: &random))]
        default: return [Step(.last, client, Int.random(in: 0...2, using: &random))]
        }
    }

    /// Nobody can be asked for a program, for a while.
    private static func withoutBus(_ random: inout SeededRandom) -> [Step] {
        let client = Int.random(in: Setup.firstLaunched..<Setup.clients, using: &random)
        let wait = Step(.pass, Int.random(in: 0...2_500, using: &random))
        let rise = Step(.rise, client)
        return [Step(.program, client, 4), rise, wait, rise, wait, Step(.program, client, 0), rise]
    }

    /// The broker is killed between two changes; half of the time when somebody comes for what was nobody's.
    private static func cutting(_ random: inout SeededRandom) -> [Step] {
        let cut = Step(.cut, Int.random(in: 1...6, using: &random))
        let client = Setup.firstLaunched + Int.random(in: 0...1, using: &random)
        guard random.chance(0.5) else { return [cut] }
        let both = Setup.firstLaunched...Setup.firstLaunched + 1
        let go = both.flatMap { [Step(.quit, $0), Step(.hear, $0, 100)] }
        let anew = [Step(.disk, 0), Step(.kill), Step(.begin), Step(.news)]
        let motion = [Step(.shake, 40, 2), Step(.pass, 500), Step(.shake, 45, 2), Step(.pass, 500)]
        let keep = [Step(.write), Step(.news)]
        return go + anew + motion + keep + [cut, Step(.start, client), Step(.hear, client, 100)] + keep
    }

    /// What hardly ever comes about by itself: one thing behind the other, each at its time.
    private static func rarity(_ random: inout SeededRandom) -> [Step] {
        let client = Int.random(in: Setup.firstLaunched..<Setup.clients, using: &random)
        let hear = Step(.hear, client, 100)
        let come = [Step(.start, client), hear, Step(.read, client, 1), hear]
        let keep = [Step(.write), Step(.news)]
        switch Int.random(in: 0...2, using: &random) {
        case 0:
            // It does not read, and leaves when the broker is late with what is its.
            let shakes = [Step(.shake, 40, Int.random(in: 3...40, using: &random)), Step(.shake, 50, 6)]
            let stall = Step(.stall, Int.random(in: 400...4_000, using: &random))
            return come + shakes + [Step(.pass, 500)] + shakes + [stall, Step(.quit, client), hear] + come
        case 1:
            // Its task is begun, and it says nothing of it any more.
            let submit = Step(.submit, client, 2 * Int.random(in: 0...1, using: &random))
            let begin = [Step(.force, client), Step(.pass, 50)] + keep + [Step(.read, client, 100)]
            return come + [submit, hear] + keep + begin + [Step(.pass, 9_000)]
        default:
            // Whatever is begun of its task, the broker does not live to see the end of it.
            let submit = Step(.submit, client, 0)
            let begin = [Step(.force, client), Step(.pass, 50), Step(.tear, 0), Step(.begin)] + keep
            let again = come + begin
            return come + [submit, hear] + keep + begin + again + again + again
        }
    }

    /// A program that is launched does something.
    private static func launches(_ random: inout SeededRandom) -> [Step] {
        let client = Int.random(in: Setup.firstLaunched..<Setup.clients, using: &random)
        let rise = Step(.rise, client)
        switch Int.random(in: 0...9, using: &random) {
        case 0..<3: return [rise]
        case 3..<6: return [rise, Step(.hear, client, 100), Step(.work, client, 100), Step(.hear, client, 100)]
        case 6: return [rise, Step(.hear, client, Int.random(in: 1...2, using: &random)), Step(.quit, client)]
        case 7: return [Step(.program, client, Int.random(in: 0...3, using: &random)), rise]
        case 8: return [Step(.program, client, 0)]
        default: return [Step(.state, client, 3)]
        }
    }
}
