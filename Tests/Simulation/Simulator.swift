/// Plays lives, and says what is wrong with them.
package enum Simulator {
    /// What a life that went wrong shows.
    package struct Failure: Equatable, Sendable {
        package let life: Life
        /// After how many of its steps; all of them: in the end.
        package let step: Int
        package let finding: String
    }

    /// Plays a life.
    package static func play(_ life: Life, into sum: inout Sum) -> Failure? {
        var world = World(Setup(seed: life.seed))
        for (index, step) in life.steps.enumerated() {
            world.take(step)
            if let finding = world.finding { return Failure(life: life, step: index + 1, finding: finding) }
        }
        world.finish()
        if let finding = world.finding { return Failure(life: life, step: life.steps.count, finding: finding) }
        sum += Sum(of: life, world)
        return nil
    }

    package static func play(_ life: Life) -> Failure? {
        var sum = Sum()
        return self.play(life, into: &sum)
    }

    /// Makes the life of a failure as short as it can be and still fail; with what is wrong with that.
    package static func shrink(_ failure: Failure) -> Failure {
        var life = failure.life
        life.steps = Array(life.steps.prefix(failure.step))
        let kind = self.kind(failure.finding)
        var shrinker = Shrinker { life in self.play(life).map { self.kind($0.finding) == kind } ?? false }
        return self.play(shrinker.shrink(life)) ?? failure
    }

    /// What is wrong without the names and numbers in it, so that one fault is not shrunk into another.
    private static func kind(_ finding: String) -> String {
        let words = finding.split(separator: " ")
        return words.filter { word in word.allSatisfy { $0.isLetter && $0.isLowercase } }.prefix(6).joined(
            separator: " ")
    }
}

extension Simulator.Failure {
    /// The failure as a file that can be replayed.
    package var text: String {
        let lines = self.finding.split(separator: "\n").map { "# \($0)\n" }.joined()
        return "\(lines)# after step \(self.step) of \(self.life.steps.count)\n\(self.life.text)"
    }
}
