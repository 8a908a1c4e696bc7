import Motion
import Testing
import Traces
import Randomness

@Suite struct ScriptTests {
    @Test(arguments: [
        "", " ; ;; ", "rest 2s", "rest for=2s", "seed=18446744073709551615", "walk 10s pace=1.8Hz strength=600mg",
        "shake", "shake peak=3g", "shake 500ms peak=27m/s2 axis=-x freq=4Hz", "gap 1min;rest 1s;loop",
        "seed=7; rate=100; noise=0.02g; gravity=z; rest 2s; walk 10s pace=1.8Hz strength=0.6g; "
            + "shake peak=2.8g axis=x freq=3Hz for=1s; rest 2s; loop", "\trest\n2s\r\n;rest 1h", "noise=0g",
        "circle; circle 900ms strength=0.6g turns=-2 axis=x",
    ])
    func accepts(_ script: String) throws {
        _ = try SyntheticMotion(script: script)
    }

    /// A script, the column where it is wrong, and what the message says.
    static let bad: [(String, Int, String)] = [
        ("shke", 1, "unknown statement 'shke', did you mean 'shake'?"),
        ("rest 2s; wlak 3s", 10, "unknown statement 'wlak', did you mean 'walk'?"),
        (
            "dance 2s", 1,
            "unknown statement 'dance', expected rest, walk, run, shake, circle, gap, loop, seed, rate, noise or gravity"
        ),
        ("sed=7", 1, "unknown setting 'sed', did you mean 'seed'?"),
        ("=7", 1, "unknown setting '', expected seed, rate, noise or gravity"),
        ("seed=-1", 6, "expected a whole number up to 18446744073709551615, found '-1'"),
        ("seed=1.5", 6, "expected a whole number up to 18446744073709551615, found '1.5'"),
        (
            "seed=18446744073709551616", 6,
            "expected a whole number up to 18446744073709551615, found '18446744073709551616'"
        ),
        ("seed=", 6, "expected a whole number up to 18446744073709551615, found ''"),
        ("seed=1; seed=2", 9, "'seed' stands here twice"),
        ("seed=1 noise=1g", 8, "expected ';', found 'noise=1g'"),
        ("rest 1s; seed=1", 10, "'seed' must stand before the first motion"),
        ("rate=0", 6, "expected 0.01 to 10000.0 Hz, found '0'"),
        ("rate=3g", 6, "expected a frequency such as 100Hz, found '3g'"),
        ("noise=-1g", 7, "expected 0.0 to 4.0 g, found '-1g'"),
        ("noise=1", 7, "expected an acceleration such as 0.02g, found '1'"),
        ("noise=1e999g", 7, "the number '1e999' is too large"),
        ("gravity=w", 9, "expected x, y, z, -x, -y, -z or three numbers such as 0.1,0.9,0, found 'w'"),
        ("gravity=0,0,0", 9, "'0,0,0' points nowhere"),
        ("gravity=0,a,0", 11, "expected a number, found 'a'"),
        ("gravity=0,1g,0", 11, "expected a number such as 0.5, found '1g'"),
        ("rest", 5, "expected how long 'rest' lasts, such as 'rest 2s'"),
        ("rest 2", 6, "expected a time such as 1s, found '2'"),
        ("shake freq=3hz", 13, "unknown unit 'hz', did you mean 'Hz'?"),
        ("rest 0s", 6, "expected 0.001 to 86400.0 s, found '0s'"),
        ("rest 25h", 6, "expected 0.001 to 86400.0 s, found '25h'"),
        ("rest 2s 3s", 9, "expected KEY=VALUE, found '3s'"),
        ("rest 2s for=3s", 9, "'for' stands here twice"),
        ("rest 2s peak=2g", 9, "unknown argument of 'rest' 'peak', expected for"),
        ("shake paek=2g", 7, "unknown argument of 'shake' 'paek', did you mean 'peak'?"),
        ("shake peak=0g", 12, "expected more than 0 to 16.0 g, found '0g'"),
        ("shake peak=17g", 12, "expected more than 0 to 16.0 g, found '17g'"),
        ("shake peak=nan", 12, "expected a number, found 'nan'"),
        ("shake peak=2s", 12, "expected an acceleration such as 2.8g, found '2s'"),
        ("shake freq=3g", 12, "expected a frequency such as 3Hz, found '3g'"),
        ("circle turns=0.1", 14, "expected a quarter turn at least, found '0.1'"),
        ("circle freq=3Hz", 8, "unknown argument of 'circle' 'freq', expected for, strength, turns or axis"),
        ("walk 2s pace=9Hz", 14, "expected 0.1 to 5.0 Hz, found '9Hz'"),
        ("loop", 1, "there is no motion to loop"),
        ("rest 1s; loop; rest 2s", 16, "'loop' must stand last"),
        ("rest 1s; loop 2", 15, "expected ';', found '2'"),
        (
            "\u{1B}[31m", 1,
            "unknown statement '\u{FFFD}[31m', expected rest, walk, run, shake, circle, gap, loop, seed, rate, noise or gravity"
        ),
    ]

    @Test func aScriptBeyondTheLimitNamesIt() {
        let problem = SyntheticMotion.Problem(
            column: 4_097, message: "the script is longer than 4096 bytes", limit: "motion-bytes")
        #expect(throws: problem) { try SyntheticMotion(script: String(repeating: " ", count: 4_097)) }
    }

    @Test(arguments: bad)
    func aBadScriptIsAnErrorWithItsPlace(_ script: String, _ column: Int, _ message: String) {
        #expect(throws: SyntheticMotion.Problem(column: column, message: message)) {
            try SyntheticMotion(script: script)
        }
    }

    @Test(arguments: [
        ("", 1, "expected a motion: rest, walk, run, shake, circle or gap"),
        ("seed=1", 1, "'seed' can stand only in the script the device starts with"),
        ("shake; loop", 8, "'loop' can stand only in the script the device starts with"),
        ("shkae", 1, "unknown motion 'shkae', did you mean 'shake'?"),
        ("shake peak=17g", 12, "expected more than 0 to 16.0 g, found '17g'"),
    ])
    func aBadInjectionChangesNothing(_ script: String, _ column: Int, _ message: String) throws {
        var motion = try SyntheticMotion()
        #expect(throws: SyntheticMotion.Problem(column: column, message: message)) {
            try motion.inject(script, at: .zero)
        }
        #expect(motion.sample(at: .milliseconds(417)) == SIMD3(0, 0, 1))
    }

    @Test(arguments: someSeeds(1...20))
    func randomScriptsNeverCrash(_ seed: UInt64) {
        print("Script seed \(seed)")
        var generator = SeededRandom(seed: seed)
        let words = [
            "rest", "walk", "run", "shake", "gap", "loop", "seed", "rate", "noise", "gravity", "for", "peak", "axis",
            "freq",
            "pace", "strength", "=", "=", "=", ";", ";", ";", " ", " ", "2s", "1g", "3Hz", "0", "-1", "1e308", "1e-308",
            "86400s", "x", "-z", "1,2,3", "0,0,1e-300", "10", "é", "\u{0}", ",", "µ", "nan", "0.001s", "16g", "inf",
        ]
        var accepted = 0
        for _ in 0..<2_000 {
            let script = (0..<Int.random(in: 1...14, using: &generator))
                .map { _ in words.randomElement(using: &generator, or: "") }.joined()
            do throws(SyntheticMotion.Problem) {
                let motion = try SyntheticMotion(script: script)
                accepted += 1
                for time in [Int64.min, -1, 0, 1, 999_999, 1_234_567, 86_400_000_001, .max] {
                    guard let sample = motion.sample(at: TimeSpan(microseconds: time)) else { continue }
                    for axis in 0..<3 { #expect(abs(sample[axis]) <= 16, "\(script)") }
                }
            } catch {
                #expect((1...script.utf8.count + 1).contains(error.column), "\(script): \(error)")
            }
        }
        #expect(accepted > 0)
    }
}
