import Foundation
import TestSupport
import Testing

/// `jostle report` over journals as brokers leave them: the numbers are those of the journal, and the page is one.
@Suite(.serialized) struct ReportTests {
    /// A directory with a journal in it, and the page made of it.
    private final class Desk {
        let path: String

        init() throws {
            var template = Array("/tmp/jostle-report-XXXXXX".utf8CString)
            try #require(mkdtemp(&template) != nil)
            self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }

        var page: String { "\(self.path)/day.html" }

        /// Makes a journal of a version, the last of which is a moment old.
        func make(_ version: Int, verdicts: Int, days: Double = 1, near: Int = 0) throws {
            let now = Int64(Date().timeIntervalSince1970) * 1_000_000
            let made = try Tool.run([
                "python3", Programs.source("Tests/Scripts/make-journal.py"),
                Programs.source("Tests/StoredFiles/journal-\(version).sql"), self.path, "\(verdicts)", "\(now)",
                "\(days)", "1", "\(near)",
            ])
            try #require(made.status == 0, "\(made.stderr)")
        }

        func report(_ words: String...) throws -> Tool.Result {
            try Tool.run(
                [Programs.path(of: "jostle"), "report", "--state-dir", self.path, "-o", self.page] + words,
                timeout: .seconds(120))
        }

        func html() throws -> String { try String(contentsOfFile: self.page, encoding: .utf8) }

        /// What the journal says to the questions in the page.
        func asked() throws -> Tool.Result {
            try Tool.run([
                "python3", Programs.source("Tests/Scripts/report-numbers.py"), self.page, "\(self.path)/journal.db",
            ])
        }
    }

    @Test(arguments: ["24h", "7h", "100min", "3s"])
    func everyNumberIsWhatItsQuestionGives(_ since: String) throws {
        let desk = try Desk()
        try desk.make(6, verdicts: 3_000)
        let made = try desk.report("--since", since)
        try #require(made.status == 0 && made.stdout == "written to \(desk.page)\n", "\(made)")
        let asked = try desk.asked()
        #expect(asked.status == 0 && asked.stdout.hasPrefix("11 tables, "), "\(asked.stdout)\(asked.stderr)")
    }

    @Test func thePageIsOneFileWithoutScriptOrNetwork() throws {
        let desk = try Desk()
        try desk.make(6, verdicts: 2_000)
        _ = try desk.report()
        let html = try desk.html()
        #expect(html.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">") && html.hasSuffix("</html>\n"))
        for foreign in ["<script", "<img", "<iframe", "http://", "https://", "src=", "url(", "@import", "onclick"] {
            // A name that means harm is text.
            #expect(
                !html.replacingOccurrences(of: "&lt;/script&gt;&lt;img src=x", with: "").contains(foreign), "\(foreign)"
            )
        }
        #expect(html.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"))
        #expect(html.contains("org.example.\u{FFFD}evil&quot;&#39;&amp;"))
        #expect(html.contains("default-src &#39;none&#39;"))
        // Each picture has its words, and each table its caption.
        let pictures = html.components(separatedBy: "<svg ").dropFirst()
        #expect(pictures.count > 20 && pictures.allSatisfy { $0.prefix(400).contains("role=\"img\" aria-label=\"") })
        #expect(html.components(separatedBy: "<table").count == html.components(separatedBy: "<caption>").count)
        // The newest thousand can be opened, and what is older is counted with the command that explains it.
        #expect(html.components(separatedBy: "<span class=\"when\">").count == 1_001)
        #expect(html.contains("S2 rule") && html.contains("<code>jostle explain 17"))
        let mode = try FileManager.default.attributesOfItem(atPath: desk.page)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    /// What nearly was a hit can all be opened to what it was, however much of it there is, and the page stays one that can be opened.
    @Test(arguments: [0, 90, 1_100]) func allThatNearlyWasAHitCanBeOpened(_ near: Int) throws {
        let desk = try Desk()
        try desk.make(6, verdicts: 3_000, near: near)
        // Beyond the oldest of it.
        let made = try desk.report("--since", "25h")
        try #require(made.status == 0 && made.stderr.isEmpty, "\(made)")
        let asked = try desk.asked()
        #expect(
            asked.status == 0 && asked.stdout.hasPrefix("\(near > 0 ? 13 : 11) tables, "),
            "\(asked.stdout)\(asked.stderr)")
        let html = try desk.html()
        let alone = html.components(separatedBy: ", so that nothing was decided and nobody was refused\n  ").count - 1
        let together = html.components(separatedBy: "<pre>No hit of ").dropFirst().flatMap { group in
            (group.components(separatedBy: "</pre>").first ?? "").components(separatedBy: "\n").dropFirst(3)
        }
        let clips = together.compactMap { line in
            line.range(of: "  ").flatMap { _ in line.components(separatedBy: "  ").last.flatMap { Int($0) } }
        }
        #expect(
            alone + clips.count == near && Set(clips).count == clips.count, "\(alone) alone, \(clips.count) together")
        // How many have room alone depends on the hour: the pictures before them have more marks at one than at another.
        #expect(near > 1_000 ? alone > 10 && html.utf8.count > 950_000 : clips.isEmpty, "\(alone) alone")
        #expect(html.components(separatedBy: "The motion of clip ").count > min(near, 10))
        #expect(html.utf8.count < 1_000_000, "\(html.utf8.count) bytes")
    }

    /// A journal of before knows of events and verdicts only.
    @Test func whatAnOlderJournalHasNotIsSaid() throws {
        let desk = try Desk()
        try desk.make(5, verdicts: 1_000)
        let made = try desk.report()
        try #require(made.status == 0, "\(made)")
        let html = try desk.html()
        #expect(html.contains("What the device did, the states of apps and how sensors ran: not recorded."))
        let asked = try desk.asked()
        #expect(asked.status == 0 && asked.stdout.hasPrefix("6 tables, "), "\(asked.stdout)\(asked.stderr)")
    }

    @Test func aJournalWithNothingInItMakesAPage() throws {
        let desk = try Desk()
        try desk.make(6, verdicts: 0)
        #expect(try desk.report("--since", "1min").status == 0)
        let asked = try desk.asked()
        #expect(asked.status == 0, "\(asked.stdout)\(asked.stderr)")
        #expect(try desk.html().contains("Nothing was decided in this time"))
    }

    @Test func whatCannotBeIsSaid() throws {
        let desk = try Desk()
        let none = try desk.report()
        #expect(none.status == 1 && none.stderr.contains("there is no journal"), "\(none)")
        try desk.make(6, verdicts: 1)
        let opened = try Tool.run([
            Programs.path(of: "jostle"), "report", "--state-dir", desk.path, "-o", "-", "--open",
        ])
        #expect(opened.status == 2 && opened.stderr.contains("give another one than '-'"), "\(opened)")
        let bus = try desk.report("--bus", "system")
        #expect(bus.status == 2 && bus.stderr.contains("--bus has no effect beside --state-dir"), "\(bus)")
        let piped = try Tool.run([Programs.path(of: "jostle"), "report", "--state-dir", desk.path, "-o", "-"])
        #expect(piped.status == 0 && piped.stdout.hasPrefix("<!DOCTYPE html>"))
    }
}
