import Detection
import Motion
import Teaching
import Testing
import Traces

/// What is learned of examples, and what is refused.
@Suite struct GestureTeacherTests {
    /// The motion of a script between two seconds of rest.
    private static func lesson(_ script: String, seed: Int = 1) throws -> GestureTeacher.Lesson {
        let made = try SyntheticMotion(script: "seed=\(seed); noise=0.02g; rest 1s; \(script); rest 1s")
        let length = try #require(made.length)
        var finder = MotionFinder()
        var found: [MotionFinder.Found] = []
        for time in stride(from: 0, to: length.microseconds, by: 20_000) {
            let sample = try #require(made.sample(at: TimeSpan(microseconds: time)))
            if let one = finder.take(sample, at: time) { found.append(one) }
        }
        return GestureTeacher.Lesson(source: script, motion: try #require(GestureTeacher.example(in: found)))
    }

    private static func circles() throws -> [GestureTeacher.Lesson] {
        [
            try self.lesson("circle 900ms strength=0.6g", seed: 1),
            try self.lesson("circle 1100ms strength=0.5g", seed: 2),
            try self.lesson("circle 800ms strength=0.8g", seed: 3),
        ]
    }

    @Test func aCircleIsLearned() throws {
        let lessons = try Self.circles()
        let gesture = try GestureTeacher.teach("circle", lessons)
        #expect(gesture.name == "circle")
        #expect(gesture.examples == lessons.map(\.motion.example))
        #expect(lessons.allSatisfy { gesture.score(of: $0.motion.shape) > 0.6 })
        let again = try Self.lesson("circle 1300ms strength=0.4g", seed: 9)
        #expect(gesture.score(of: again.motion.shape) >= 0.5)
        for other in [
            "circle 900ms strength=0.6g turns=-1", "circle 900ms axis=x", "shake 500ms peak=3g freq=6Hz axis=z",
        ] {
            #expect(gesture.score(of: try Self.lesson(other).motion.shape) < 0.44, "\(other)")
        }
        // As the file has it.
        #expect(try GestureText.read(GestureText.write(gesture)) == gesture)
    }

    /// The limit takes as many of the motions that nobody taught as is wanted, and of others like them not many more.
    @Test func theLimitHolds() throws {
        let gesture = try GestureTeacher.teach("circle", Self.circles())
        let shapes = GestureCohort.shapes
        #expect(shapes.count == GestureCohort.count)
        #expect(shapes.allSatisfy { $0.allSatisfy(\.isFinite) })
        let taken = Double(shapes.count { gesture.score(of: $0) > 0.5 }) / Double(shapes.count)
        #expect(taken <= GestureTeacher.share)
        #expect(taken > GestureTeacher.share - 0.02)
        let some = Array(shapes.prefix(60))
        #expect(gesture.nearest(9, of: some) == Array(some.map { gesture.distance(of: $0) }.sorted().prefix(9)))
        var chance = Chance(seed: 20)
        var finder = MotionFinder()
        var (others, found, time) = (0, 0, Int64(0))
        while others < 150 {
            let motion = HandMotion(&chance)
            for index in -30..<motion.cells.count + 30 {
                time += HandMotion.cell
                guard let one = finder.take(motion.cells[max(0, min(motion.cells.count - 1, index))], at: time)
                else { continue }
                others += 1
                if gesture.score(of: one.shape) >= 0.5 { found += 1 }
            }
        }
        #expect(Double(found) / Double(others) < 0.15, "\(found) of \(others)")
    }

    @Test func theOddOneIsNamed() throws {
        let odd = try Self.lesson("shake 500ms peak=3g freq=6Hz axis=z")
        for place in 0...3 {
            var lessons = try Self.circles()
            lessons.insert(odd, at: place)
            let problem = #expect(throws: GestureTeacher.Problem.self) { try GestureTeacher.teach("o", lessons) }
            guard case .odd(let source, let distance, let others) = problem else {
                Issue.record("\(String(describing: problem))")
                continue
            }
            #expect(source == odd.source)
            #expect(distance > others)
            #expect(problem?.description.hasPrefix("\(odd.source) does not resemble the others") == true)
            #expect(try GestureTeacher.teach("o", lessons, anyway: true).examples.count == 4)
        }
        #expect(GestureTeacher.doubtful(try Self.circles()).isEmpty)
        #expect(GestureTeacher.doubtful(try Self.circles() + [odd]).map(\.source) == [odd.source])
    }

    @Test func thereMustBeEnoughAndNotTooMany() throws {
        let circles = try Self.circles()
        #expect(throws: GestureTeacher.Problem.tooFew(0)) { try GestureTeacher.teach("o", []) }
        #expect(throws: GestureTeacher.Problem.tooFew(1)) { try GestureTeacher.teach("o", Array(circles[..<1])) }
        #expect(throws: GestureTeacher.Problem.tooMany(9)) {
            try GestureTeacher.teach("o", circles + circles + circles)
        }
    }

    /// In two hours of made motion, half of it of hands, few are taken for a circle; the bound says how little that proves.
    @Test func hoursWithoutItAreQuiet() throws {
        let count = try EverydayMotion.count(GestureTeacher.teach("circle", Self.circles()))
        #expect(count.hours > 1.9 && count.hours < 2.5)
        #expect(count.hits <= 20, "\(count)")
        #expect(count.boundPerHour > count.perHour)
    }

    @Test(arguments: [(0, 2.996), (1, 4.744), (3, 7.754), (10, 16.962), (11, 18.207), (100, 118.1)])
    func theBoundIsPoissons(_ hits: Int, _ bound: Double) {
        let count = EverydayMotion.Count(hits: hits, hours: 2)
        #expect(abs(count.boundPerHour * 2 / bound - 1) < 0.01, "\(count.boundPerHour * 2)")
        #expect(count.perHour == Double(hits) / 2)
        #expect(EverydayMotion.Count(hits: hits, hours: 0).boundPerHour == .infinity)
    }
}
