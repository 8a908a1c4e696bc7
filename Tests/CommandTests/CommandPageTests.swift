import Arbitration
import Foundation
import Motion
import PolicyFiles
import Scenarios
import TestSupport
import Testing

@testable import jostle

/// Pages that commands write beside their output.
@Suite struct CommandPageTests {
    private static let scenario = """
        # jostle scenario 1
        0s app org.example.A
        0s detector org.example.A <i>a</i> threshold=1.2g rest=1s
        0s app org.example.B
        0s detector org.example.B b threshold=2.7g rest=1s
        1s hit org.example.A <i>a</i> 2.9g
        1.1s hit org.example.B b 4g
        5s hit org.example.A <i>a</i> 1.5g
        """

    private func isSelfContained(_ html: String) -> Bool {
        html.hasPrefix("<!DOCTYPE html>") && !html.contains("<script") && !html.contains("http:")
            && !html.contains("https:")
    }

    /// Each command writes one, prints what it prints without, and replaces what was there.
    @Test func commandsWritePagesBesideTheirOutput() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "jostle-pages-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        func jostle(_ arguments: [String]) throws -> Tool.Result {
            try Tool.run([Programs.path(of: "jostle")] + arguments)
        }
        let (trace, walk) = ("\(directory)/shake.csv", "\(directory)/<walk>.csv")
        #expect(try jostle(["make", "rest 1s; shake peak=4g; rest 1s", trace, "--label", "shake x"]).status == 0)
        #expect(try jostle(["make", "rest 9s", walk, "--label", "not-shake x"]).status == 0)
        let example = Programs.source("policies/examples/02-most-specific")
        for (command, words) in [
            (
                ["replay", trace, walk, "--detector", "shake.planar,threshold=2.3g,name=<b>p</b>"],
                ["&lt;b&gt;p&lt;/b&gt; over 2.3 g", "&lt;walk&gt;.csv", " looks, 1 hit<"]
            ),
            (
                ["tune", "--preset", "shake.planar", "--phases", "1", trace, walk],
                ["threshold (g)", "&lt;walk&gt;.csv"]
            ),
            (
                ["scenario", "\(example)/scenario", "--policy", example],
                ["org.example.Hard got it: 2 candidates, by specificity", "S4.outranked", "policy.conf:14"]
            ),
            (
                ["policy", "coverage", Programs.source("policies")],
                ["any other app", "system.shake", "background, an assertion"]
            ),
        ] {
            let page = "\(directory)/page.html"
            try "what was there".write(toFile: page, atomically: false, encoding: .utf8)
            let plain = try jostle(command)
            let result = try jostle(command + ["--report", page])
            #expect(
                result.status == 0 && result.stdout == plain.stdout && !plain.stdout.isEmpty, "\(command): \(result)")
            let html = try String(contentsOfFile: page, encoding: .utf8)
            #expect(self.isSelfContained(html) && html.hasSuffix("</html>\n"), "\(command)")
            for word in words { #expect(html.contains(word), "\(command): \(word)") }
            let lost = try jostle(command + ["--report", "\(directory)/none/page.html"])
            #expect(lost.status == 1 && lost.stderr.contains("cannot write"), "\(lost)")
        }
    }

    @Test func aScenarioShowsWhoWasInWhoWonAndWhy() throws {
        var group = GroupConfiguration(name: "shake", place: Place(file: "p.conf", line: 1))
        group.mode = .exclusive
        group.select = [.specificity]
        group.commitWindow = .milliseconds(350)
        let rule = Rule(name: "all", place: Place(file: "p.conf", line: 7), effect: .allow, group: "shake")
        let policy = Policy(groups: [group], rules: [rule])
        let outcome = ScenarioRunner.run(try Scenario(parsing: Self.scenario), policy: policy)
        #expect(outcome.verdicts.count == 3)
        let html = ScenarioReport(outcome, of: "<day>").html
        #expect(self.isSelfContained(html) && html.contains("&lt;day&gt;") && !html.contains("<i>"))
        #expect(html.contains("&lt;i&gt;a&lt;/i&gt;"))
        #expect(html.ranges(of: "<h3>Epoch ").count == 2)
    }

    /// Nothing at all is a page, too.
    @Test func anEmptyScenarioIsAPage() throws {
        let outcome = ScenarioRunner.run(try Scenario(parsing: "# jostle scenario 1\n"), policy: .builtIn)
        #expect(ScenarioReport(outcome, of: "none").html.contains("Nothing was decided."))
    }
}
