import Loop
import Motion
import TestSupport
import Testing

@testable import Detection
import Randomness

@Suite struct ConditionParserTests {
    @Test(arguments: [
        "hypot(x, y) > 2.3g", "max(abs(x), abs(y), abs(z)) > 2.45g", "fraction(norm(x, y, z) > 1.33g, 500ms) >= 75%",
        "reversals(x, y, z, over: 1.5g, within: 1.2s) >= 3", "norm(user) > 1g and not held(norm(user) < 0.2g, 2s)",
        "x/y > 2", "x * x + y * y > 4g * 1g", "sqrt(x * x + y * y) > 9.80665m/s2", "rate(x) > 5g/1s",
        "angle(gravity, vector(x, y, z)) >= 20deg", "2g < norm(user)", "x > -1g", "x > - 1g", "-x > 1g",
        "norm(x,y,z)<0.4g then norm(x,y,z)>2g within 1s", "((((x)))) > 1g", "not not x > 1g", "1g - 500mg < x",
        "atan2(y, x) > 70deg or (z > 0g and x < 0g)", "\tx\n> 1g ", "count(x > 1g, 2s) >= 3 and peak(x, 100ms) < 3g",
    ])
    func reads(_ text: String) throws {
        _ = try detector(text)
    }

    @Test(
        arguments: [
            ("hypot(x, 1s) > 1g", 10, "`hypot` takes values of one kind; `x` is an acceleration, `1s` a time"),
            ("x > 1s", 5, "'>' compares values of one kind; `x` is an acceleration, `1s` is a time"),
            ("x > 1", 5, "'>' compares values of one kind; `x` is an acceleration, `1` is a number"),
            ("x + 1 > 1g", 5, "'+' takes values of one kind; `x` is an acceleration, `1` is a number"),
            ("x * y > 1g", 9, "'>' compares values of one kind; `x * y` is a value in g^2, `1g` is an acceleration"),
            ("x / 1s > 1g", 10, "'>' compares values of one kind; `x / 1s` is a value in g/s, `1g` is an acceleration"),
            ("sqrt(x) > 1g", 1, "'sqrt' needs a square; `x` is an acceleration"),
            ("x > 2.3q", 8, "unknown unit 'q'"),
            ("x > 2g hz", 8, "expected the end or 'and', 'or', 'then', found 'hz'"),
            ("w > 1g", 1, "unknown name 'w'; known are x, y, z, gravity, user"),
            ("orange > 1g", 1, "unknown name 'orange'; known are x, y, z, gravity, user"),
            ("hypo(x, y) > 1g", 1, "unknown function 'hypo', did you mean 'hypot'?"),
            ("hypot > 1g", 1, "'hypot' is a function: write 'hypot(…)'"),
            ("hypot(x) > 1g", 1, "'hypot' is called as hypot(value, value)"),
            ("x", 1, "expected a condition such as 'norm(x, y, z) > 2g'; `x` is an acceleration"),
            ("x > 1g and y", 12, "expected a condition such as 'norm(x, y, z) > 2g'; `y` is an acceleration"),
            ("", 1, "expected a value, found the end"),
            ("x > ", 5, "expected a value, found the end"),
            ("(x > 1g", 8, "expected ')', found the end"),
            ("x > 1g)", 7, "expected the end or 'and', 'or', 'then', found ')'"),
            ("x == 1g", 3, "there is no '==': compare with > >= < <=, negate with 'not'"),
            ("x > 1g && y > 1g", 8, "there is no '&': write 'and'"),
            (
                "1g < x < 2g", 8,
                "comparisons do not chain: write 'a < b and b < c'; expected 'and', 'or' or the end, found '<'"
            ),
            ("1g > 2g", 4, "both sides are constants: the condition must depend on the sensor"),
            ("held(x, 1s)", 6, "'held' takes a condition such as 'x > 1g'; `x` is an acceleration"),
            ("held(x > 1g, 1g)", 14, "'held' needs a time that is constant; `1g` is an acceleration"),
            ("mean(x, y) > 1g", 9, "'mean' needs a time that is constant; `y` is not a constant"),
            ("mean(x, 2h) > 1g", 9, "a time here is from 1ms to 600s"),
            (
                "lowpass(x, weight: 0.1) > 1g", 20,
                "'weight' counts by look and needs the option 'every'; or give a time constant"
            ),
            ("lowpass(x, 1s, weight: 0.1) > 1g", 24, "give a time constant or a 'weight', not both"),
            ("norm(user, x, y) > 1g", 6, "'norm' takes a number here; `user` is a vector"),
            ("norm(x) > 1g", 6, "'norm' takes a vector such as 'gravity' or 'vector(x, y, z)'; `x` is an acceleration"),
            ("x > 1g then y > 1g", 19, "expected 'within' and a time, found the end"),
            ("x > 1g then y > 1g within 5", 27, "expected a time such as '500ms', found '5'"),
            ("reversals(x, y, z) > 2", 1, "'reversals' is called as reversals(x, y, z, over: value, within: time)"),
            ("reversals(x, y, z, above: 1g, within: 1s) > 2", 20, "unknown name 'above'"),
            ("x > 1e999g", 5, "the number '1e999' is too large"),
            ("x > 1g # 2", 8, "unexpected character '#'"),
            ("ü > 1g", 1, "unexpected character 'ü'"),
            ("x > 1g ü", 8, "unexpected character 'ü'"),
        ] as [(String, Int, String)])
    func saysWhatIsWrongAndWhere(_ text: String, _ column: Int, _ message: String) {
        #expect(throws: (any Error).self) { try detector(text) }
        do {
            _ = try detector(text)
        } catch {
            #expect(error.column == column)
            #expect(error.key == "when")
            #expect(error.message.hasPrefix(message), "\(error.message)")
        }
    }

    /// A vector is three channels one behind the other, of whatever names others end a sensor's channels with.
    @Test(
        arguments: [
            (["a_x"], false), (["a_x", "a_y"], false), (["a_x", "a_y", "b_z"], false), (["a_x", "a_z", "a_y"], false),
            (["b", "a_x", "a_y", "a_z"], true),
        ] as [([String], Bool)])
    func aVectorHasThreeChannels(_ channels: [String], _ isVector: Bool) throws {
        let sensor = SensorDescription(
            name: "thing", channels: channels, unit: "g", rates: [100], source: "test", isSimulated: true)
        func request(_ condition: String) -> DetectorRequest {
            DetectorRequest(name: "d", options: ["when": .text(condition), "sensor": .text("thing")])
        }
        _ = try DetectorCompiler.compile(request("a_x > 1g"), for: sensor)
        var problem: String?
        do {
            _ = try DetectorCompiler.compile(request("norm(a) > 1g"), for: sensor)
        } catch {
            problem = error.message
        }
        let expected = isVector ? nil : "unknown name 'a'; known are \(channels.joined(separator: ", "))"
        #expect(problem == expected)
    }

    @Test(arguments: HostileConditions.refused)
    func hostileProgramsMeetALimit(_ limit: String, _ text: String) {
        do {
            _ = try detector(text)
            Issue.record("not refused: \(limit)")
        } catch {
            #expect(error.code == .limitExceeded(limit), "\(error)")
        }
    }

    /// What is counted are the comparisons that stand there, not what joins or negates them.
    @Test(arguments: [("or", ""), ("and", ""), ("or", "not ")])
    func comparisonsAreCountedAsTheyStand(_ word: String, _ sign: String) throws {
        func condition(_ count: Int) -> String {
            sign + "(" + (1...count).map { "x > \($0)mg" }.joined(separator: " \(word) ") + ")"
        }
        #expect(throws: Never.self) { try detector(condition(128)) }
        do {
            _ = try detector(condition(129))
            Issue.record("not refused")
        } catch {
            #expect(error.code == .limitExceeded("condition-comparisons"))
            #expect(error.message.contains("compares more than 128 times"), "\(error.message)")
        }
    }

    /// The bar is 5 ms; a build without optimisation has five times as long.
    @Test(arguments: HostileConditions.all)
    func anyProgramIsAnsweredSoon(_ text: String) {
        let sensor = SensorDescription(
            name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 4, rates: [50], source: "test",
            isSimulated: true)
        let began = Clock.threadTime()
        _ = try? DetectorCompiler.compile(
            DetectorRequest(name: "d", options: ["when": .text(text), "every": .text("10ms")]), for: sensor)
        let seconds = Double(Clock.threadTime() - began) / 1e6
        #expect(seconds < 0.025, "\(seconds) s for \(text.prefix(40))")
    }

    /// No text traps the compiler, and what compiles runs.
    @Test(arguments: Array(UInt64(1)...20))
    func anyTextIsAnsweredWithoutATrap(seed: UInt64) {
        let words =
            [
                "x", "y", "z", "user", "gravity", "(", ")", ",", ":", "+", "-", "*", "/", ">", ">=", "<", "<=", "and",
                "or",
                "not", "then", "within", "1g", "2s", "75%", "3", "0", "1e300g", "70deg", "over", "weight", "from",
                "\u{0}",
                "é", ".", "1.", "m/s2",
            ] + ConditionFunction.allCases.map(\.rawValue)
        let sound = [
            "norm(user) > 1g and not held(norm(user) < 0.2g, 2s)", "fraction(norm(x, y, z) > 1.33g, 500ms) >= 75%",
            "x/y > 2 or sqrt(x*x - y*y) > 1g", "angle(gravity, user) > 20deg then rate(x) > 5g/1s within 1s",
        ]
        var random = SeededRandom(seed: seed)
        let block = Motions.accelerometer(seed: seed, .init(rate: 50, seconds: 2))
        for _ in 0..<300 {
            var text: String
            if random.chance(0.5) {
                text = (0..<Int.random(in: 1...12, using: &random)).map { _ in words.randomElement(using: &random) ?? ""
                }
                .joined(separator: random.chance(0.5) ? " " : "")
            } else {
                var parts = (sound.randomElement(using: &random) ?? "").split(separator: " ").map(String.init)
                parts[Int.random(in: 0..<parts.count, using: &random)] = words.randomElement(using: &random) ?? ""
                text = parts.joined(separator: " ")
            }
            guard let detector = try? detector(text) else { continue }
            var engine = DetectionEngine([detector])
            let hits = engine.run(block)
            #expect(hits.allSatisfy { !$0.peak.isNaN }, "seed \(seed): \(text)")
        }
    }
}
