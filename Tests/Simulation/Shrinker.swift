/// Finds the shortest life that still fails: takes out ever smaller parts of it, and then single steps, until none can go.
package struct Shrinker {
    /// How many lives are tried at most.
    private static let most = 3_000

    private let fails: (Life) -> Bool
    private var tried = 0

    /// - Parameter fails: whether a life is as wrong as the one that was found.
    package init(_ fails: @escaping (Life) -> Bool) { self.fails = fails }

    package mutating func shrink(_ life: Life) -> Life {
        var life = life
        var size = max(1, life.steps.count / 2)
        while true {
            let before = life.steps.count
            self.takeOut(size, of: &life)
            if self.tried >= Self.most { return life }
            if size > 1 {
                size /= 2
            } else if life.steps.count == before {
                return self.lower(life)
            }
        }
    }

    private mutating func takeOut(_ size: Int, of life: inout Life) {
        // From the end, where what goes changes nothing of what came before.
        var end = life.steps.count
        while end > 0, self.tried < Self.most {
            let start = max(0, end - size)
            var shorter = life
            shorter.steps.removeSubrange(start..<end)
            if self.isStillWrong(shorter) { life = shorter }
            end = start
        }
    }

    /// Makes the numbers of steps smaller, where they do not matter.
    private mutating func lower(_ life: Life) -> Life {
        var life = life
        for index in life.steps.indices {
            let step = life.steps[index]
            for smaller in [Step(step.kind, step.a, 1), Step(step.kind, step.a, 0)]
            where step.b.magnitude > smaller.b.magnitude && self.tried < Self.most {
                var simpler = life
                simpler.steps[index] = smaller
                if self.isStillWrong(simpler) { life = simpler }
            }
        }
        return life
    }

    private mutating func isStillWrong(_ life: Life) -> Bool {
        self.tried += 1
        return self.fails(life)
    }
}
