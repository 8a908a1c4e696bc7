import Arbitration
import Loop
import Motion
import Testing

@testable import PolicyFiles

/// Long policies, in every shape: what is large costs as much as it is long.
@Suite struct LargePolicyTests {
    private static let count = 12_000

    /// What this thread has computed for something, in seconds.
    private func spent(_ body: () throws -> Void) rethrows -> Double {
        let begin = Clock.threadTime()
        try body()
        return Double(Clock.threadTime() - begin) / 1e6
    }

    /// A list as lines that are not too long.
    private static func list(_ key: String, _ names: [String]) -> String {
        var text = ""
        for start in stride(from: 0, to: names.count, by: 80) {
            text += "\(key)=" + names[start..<min(start + 80, names.count)].joined(separator: " ") + "\n"
        }
        return text
    }

    private static func names(_ count: Int, _ prefix: String = "org.example.App") -> [String] {
        (0..<count).map { "\(prefix)\($0)" }
    }

    private static func shapes(_ count: Int) -> [(name: String, text: String)] {
        let names = Self.names(count)
        let negated = names.map { "!\($0)" }
        let half = Array(names.prefix(count / 2))
        let rules = stride(from: 0, to: count, by: 100).map { start in
            "[Rule r\(start)]\nThen=allow\n" + Self.list("WhenApp", Array(names[start..<min(start + 100, count)]))
        }.joined()
        return [
            ("one list", "[Rule r]\nThen=allow\n" + Self.list("WhenApp", names)),
            ("presets", "[Rule r]\nThen=allow\n" + Self.list("WhenPreset", names)),
            ("negated", "[Rule r]\nThen=allow\nWhenApp=org.*\n" + Self.list("WhenApp", negated)),
            (
                "against each other",
                "[Rule a]\nThen=deny\nWhenState=dead\n" + Self.list("WhenApp", half) + "[Rule b]\nThen=allow\n"
                    + Self.list("WhenApp", half)
            ),
            (
                "exceptions of the rule before",
                "[Rule a]\nThen=deny\nWhenState=dead\nWhenApp=org.*\n"
                    + Self.list("WhenApp", Array(negated.prefix(count / 2)))
                    + "[Rule b]\nThen=allow\n" + Self.list("WhenApp", half)
            ),
            (
                "repeated",
                "[Rule r]\nThen=allow\n" + Self.list("WhenApp", Array(repeating: "org.example.App", count: count))
            ),
            ("sections", names.map { "[App \($0)]\nGrants=audio\n" }.joined()),
            ("many rules", rules),
            (
                "groups",
                "[Group g]\n"
                    + (0..<count / 3).map { "[Rule r\($0)]\nThen=allow\nWhenApp=a.b\($0)\nGroup=g\n" }.joined()
            ),
        ]
    }

    /// Four times as many cost about four times as much; what is quadratic, sixteen times. And none takes minutes.
    @Test(.timeLimit(.minutes(5)), arguments: shapes(count).indices)
    func aCheckCostsAsMuchAsThePolicyIsLong(_ index: Int) throws {
        let (name, large) = Self.shapes(Self.count)[index]
        let small = Self.shapes(Self.count / 4)[index].text
        func check(_ text: String) throws {
            let reading = read(text)
            #expect(reading.errors.isEmpty, "\(name): \(reading.errors.first.map { "\($0)" } ?? "")")
            let findings = PolicyLinter.check(reading)
            #expect(!findings.contains { $0.check == .undecided }, "\(name)")
        }
        let little = try self.spent { try check(small) }
        let much = try self.spent { try check(large) }
        print("\(name): \(little) s, \(much) s")
        #expect(much < 9 * little + 0.15, "\(name)")
    }

    /// A MiB of thirty thousand names: half a second in programs that ship (`jostle-bench --only policy`), and more here.
    @Test func aMebibyteOfNamesIsSoonChecked() {
        let text =
            "[Rule r]\nThen=allow\n" + Self.list("WhenApp", Self.names(30_000, "org.example.of-many-names.Nobody"))
        #expect(text.utf8.count >= 1 << 20)
        let spent = self.spent {
            let reading = read(text)
            #expect(reading.errors.isEmpty)
            #expect(!PolicyLinter.check(reading).contains { $0.check == .undecided })
        }
        #expect(spent < 20)
    }

    @Test(.timeLimit(.minutes(5))) func coverageOfManyNamesIsOneTable() throws {
        let text = "[Rule r]\nThen=allow\n" + Self.list("WhenApp", Self.names(10_000))
        let coverage = PolicyCoverage(of: try #require(read(text).policy), presets: ["shake"])
        #expect(coverage.tables.map(\.apps.count) == [10_000, 1])
    }

    /// However long a list, one step of reading it is short, and what comes of it is the same.
    @Test func aLargePolicyIsReadInManySteps() throws {
        let text = "[Rule r]\nThen=allow\n" + Self.list("WhenApp", Self.names(Self.count))
        var reader = PolicyReader([PolicyFile(name: "a.conf", text)])
        var steps = 0
        while reader.step() { steps += 1 }
        let policy = try #require(reader.finish().policy)
        #expect(steps > text.utf8.count / 16_384)
        #expect(policy.rules.first?.conditions.apps == read(text).policy?.rules.first?.conditions.apps)
        #expect(policy.rulesTried(for: AppID("org.example.App\(Self.count - 1)"), preset: "x").count == 1)
        #expect(policy.rulesTried(for: AppID("org.example.Other"), preset: "x").isEmpty)
    }

    /// A line goes on in the section that the step before was in.
    @Test func aSectionGoesOnOverSteps() throws {
        var text = "[Policy]\nDefault=allow\n[Rule r]\nThen=deny\n"
        for index in 0..<1_000 { text += "# \(index)\n\nWhenApp=a.b\(index)\n" }
        let reading = read(text)
        #expect(reading.findings == [])
        #expect(reading.policy?.rules.first?.conditions.apps.any.count == 1_000)
        #expect(found(read(text + "Thn=allow\n")) == ["E001 3005:1"])
    }

    // MARK: Limits

    @Test func whatIsTooMuchIsRefusedWithTheLimit() {
        func refusal(_ text: String) -> String { read(text).errors.first.map { "\($0)" } ?? "" }
        let rule = "[Rule r]\nThen=allow\n"
        #expect(refusal(rule + Self.list("WhenApp", Self.names(65_537))).contains("policy-names is 65536"))
        #expect(refusal(rule + Self.list("WhenApp", Self.names(65_536))) == "")
        let globs = (0..<65).map { "a\($0)*" }
        #expect(refusal(rule + Self.list("WhenApp", globs)).contains("policy-globs is 64"))
        #expect(refusal(rule + Self.list("WhenApp", Array(globs.dropLast()))) == "")
        let hours = Array(repeating: "08:00-09:00", count: 129)
        #expect(refusal(rule + Self.list("WhenTime", hours)).contains("policy-words is 128"))
        #expect(refusal(rule + Self.list("WhenTime", hours.dropLast())) == "")
        #expect(refusal((0...32).map { "[Class c\($0)]\n" }.joined()).contains("policy-classes is 32"))
        #expect(refusal((0...1_024).map { "[Group g\($0)]\n" }.joined()).contains("policy-groups is 1024"))
    }

    /// Somebody who has thousands of lines to mend is told of the first, at once.
    @Test(arguments: ["Then=allow\n", "Thn=allow\n", "[Rule a\n", "[Role]\n"])
    func whatIsWrongThousandsOfTimesIsToldOften(_ line: String) {
        let errors = read("[Rule a]\nThen=allow\n" + String(repeating: line, count: 50_000)).errors
        #expect(errors.count == 257)
        #expect(errors.contains { $0.message.contains("policy-findings is 256") })
    }

    @Test func oneLineOfAMebibyteIsTooLong() {
        #expect(found(read("[Rule a]\nThen=" + String(repeating: "a ", count: 1 << 19))).contains("E008 2:4095"))
    }

    // MARK: Names

    /// Looking up and looking through agree, whatever the list.
    @Test func namesAreFoundAmongManyAsAmongFew() {
        var list = NamePatterns()
        for index in 0..<100 {
            let pattern = NamePattern(index % 10 == 0 ? "org.glob\(index).*" : "org.example.App\(index)")
            let before = list
            list.append(pattern)
            #expect(!before.matches(index % 10 == 0 ? "org.glob\(index).x" : pattern.text))
        }
        #expect(list.globCount == 10 && !list.areLiteral && list.count == 100)
        for name in [
            "org.example.App1", "org.example.App99", "org.glob90.x", "org.glob0.", "org.example.App10", "org.glob1.x",
        ] {
            #expect(list.matches(name) == list.contains { $0.matches(name) }, "\(name)")
        }
    }
}
