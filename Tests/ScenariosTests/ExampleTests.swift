import Arbitration
import Glibc
import Motion
import PolicyFiles
import Scenarios
import Testing

/// The repository, as seen from this file.
private let root = String(#filePath.dropLast("Tests/ScenariosTests/ExampleTests.swift".count))
private let examples = root + "policies/examples"

struct Unreadable: Error { var path: String }

func contents(of path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw Unreadable(path: path) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
    return String(decoding: bytes, as: UTF8.self)
}

private func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw Unreadable(path: path) }
    fputs(text, file)
    fclose(file)
}

/// The folders of the examples, found by their numbers.
private let names: [String] = {
    guard let stream = opendir(examples) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name.first?.isNumber == true { names.append(name) }
    }
    return names.sorted()
}()

/// Every worked example decides what its log says. To write the logs anew: JOSTLE_WRITE_EXAMPLES=1.
@Suite struct ExampleTests {
    private func policy(_ name: String) throws -> Policy {
        let (files, findings) = PolicyDirectories.load(system: ["\(examples)/\(name)"], naming: .fileName)
        let reading = PolicyReader.read(files)
        #expect(findings + reading.findings == [])
        return try #require(reading.policy)
    }

    @Test func thereAreExamples() {
        #expect(names.count >= 8)
    }

    /// No hit is forgotten, and events are those that the log has.
    @Test(arguments: names)
    func everyHitHasItsFate(_ name: String) throws {
        let scenario = try Scenario(parsing: contents(of: "\(examples)/\(name)/scenario"))
        let outcome = try ScenarioRunner.run(scenario, policy: self.policy(name))
        let hits = scenario.steps.filter { if case .hit = $0.event { true } else { false } }.count
        #expect(outcome.fates.count == hits)
        #expect(outcome.fates.allSatisfy { $0.reason != nil && $0.verdict?.id == $0.app })
        #expect(outcome.fates.filter(\.isDelivered).count == outcome.entries.filter { $0.kind == .deliver }.count)
        let comparison = try PolicyComparison(of: scenario, from: self.policy(name), to: self.policy(name))
        #expect(comparison.differences.isEmpty && comparison.hits == hits)
    }

    /// What the verdicts tell of a life is enough to come to the same verdicts again.
    @Test(arguments: names)
    func verdictsLeadBackToThemselves(_ name: String) throws {
        let policy = try self.policy(name)
        let outcome = try ScenarioRunner.run(
            Scenario(parsing: contents(of: "\(examples)/\(name)/scenario")), policy: policy)
        let times = outcome.entries.filter { $0.kind == .verdict }.map(\.time)
        try #require(times.count == outcome.verdicts.count)
        let past = zip(outcome.verdicts, times).map { PastVerdict($0, hit: $0.time - .zero, made: $1) }
            .filter(\.tellsAll)
        let (scenario, hits) = Scenario.leading(to: past)
        let again = ScenarioRunner.run(scenario, policy: policy)
        func words(_ verdicts: [Verdict]) -> [String] {
            verdicts.map { "\($0.time.microseconds) \($0.id) \($0.detector) \($0.reason.name) \($0.rule?.name ?? "-")" }
        }
        #expect(words(again.verdicts).sorted() == words(past.map(\.verdict)).sorted(), "\(scenario)")
        #expect(hits.count == again.fates.count)
        let comparison = PolicyComparison(of: past, from: nil, to: policy)
        #expect(comparison.differences.isEmpty && comparison.hits == hits.count)
        // As text it is a scenario like any other.
        #expect(try Scenario(parsing: "\(scenario)") == scenario)
    }

    @Test(arguments: names)
    func decidesWhatItsLogSays(_ name: String) throws {
        let scenario = try Scenario(parsing: contents(of: "\(examples)/\(name)/scenario"))
        let outcome = try ScenarioRunner.run(scenario, policy: self.policy(name))
        let path = "\(examples)/\(name)/expected.log"
        if getenv("JOSTLE_WRITE_EXAMPLES") != nil { try write(outcome.log, to: path) }
        #expect(try outcome.log == contents(of: path), "\(name)")
        #expect(!outcome.verdicts.isEmpty)
    }

    /// What the linter has to say about an example is meant to be so.
    @Test(arguments: names)
    func isLintClean(_ name: String) throws {
        let (files, _) = PolicyDirectories.load(system: ["\(examples)/\(name)"], naming: .fileName)
        let findings = PolicyLinter.check(PolicyReader.read(files))
        let meant: [String: Set<Check>] = [
            // The foreground outranks others by far, and is meant to.
            "05-quota-cooldown-battery": [.starvation], "06-sticky-workout": [.starvation],
            // The right to know places is all it takes to be woken for them.
            "07-locked-suspended-dead": [.weakIdentity],
            // Who is stronger by far is to have it whenever it can be started, whoever it is.
            "12-next-in-line": [.starvation, .weakIdentity],
            // It goes beside what is installed, and any app of that name may lock the session: who can is the session's user.
            "13-snatched": [.endsBuiltIn, .weakIdentity, .unlimited],
        ]
        #expect(Set(findings.map(\.check)) == meant[name] ?? [], "\(findings)")
    }

    @Test func theShippedPolicyIsLintClean() {
        let (files, _) = PolicyDirectories.load(system: [root + "policies"], naming: .fileName)
        #expect(PolicyLinter.check(PolicyReader.read(files)) == [])
    }

    @Test(arguments: names)
    func aScenarioWrittenIsTheOneRead(_ name: String) throws {
        let scenario = try Scenario(parsing: contents(of: "\(examples)/\(name)/scenario"))
        #expect(try Scenario(parsing: "\(scenario)") == scenario)
    }

    /// The file that is installed and what holds without any are the same rules.
    @Test func theShippedPolicyIsTheBuiltInOne() throws {
        let (files, findings) = PolicyDirectories.load(system: [root + "policies"], naming: .fileName)
        #expect(findings == [])
        #expect(files.map(\.name) == ["10-default.conf"])
        let policy = try #require(PolicyReader.read(files).policy)
        #expect(policy.otherwise == Policy.builtIn.otherwise)
        #expect(policy.rules.count == Policy.builtIn.rules.count)
        #expect(zip(policy.rules, Policy.builtIn.rules).allSatisfy { $0.says(sameAs: $1) })
        #expect(policy.matrix.says(sameAs: Policy.builtIn.matrix))
        #expect(policy.apps == Policy.builtIn.apps)
        #expect(policy.everyApp == Policy.builtIn.everyApp)
    }

    @Test func theDocumentationHasAllThatCanHappen() throws {
        let text = try contents(of: root + "docs/policy.md")
        for verb in Scenario.verbs + Scenario.verbsOfRecordings {
            #expect(text.contains("`\(verb) ") || text.contains("`\(verb)`"), "\(verb)")
        }
    }

    /// The tables of docs/policy.md are those of the code.
    @Test func theDocumentationHasAllKeysAndChecks() throws {
        let path = root + "docs/policy.md"
        for (name, table) in [("keys", PolicyText.keyTable()), ("checks", PolicyText.checkTable())] {
            let text = try contents(of: path)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            let start = try #require(lines.firstIndex(of: "<!-- \(name) -->"))
            let end = try #require(lines.firstIndex(of: "<!-- /\(name) -->"))
            let wanted = table.split(separator: "\n", omittingEmptySubsequences: false)
            if getenv("JOSTLE_WRITE_EXAMPLES") != nil {
                let all = lines[...start] + wanted + lines[end...]
                try write(all.joined(separator: "\n"), to: path)
            } else {
                #expect(lines[(start + 1)..<end] == wanted[...], "JOSTLE_WRITE_EXAMPLES=1 writes it anew")
            }
        }
    }
}
