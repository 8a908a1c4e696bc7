import DaemonSupport
import Foundation
import Glibc
import TestSupport
import Testing

@testable import jostle

/// Files that commands write: whole or not at all, to their owner alone where they are private, and never over what is read.
@Suite struct OutputFileTests {
    /// A directory of a test's own, gone with it.
    private final class Place {
        let path: String

        init() throws {
            var template = Array("/tmp/jostle-output-XXXXXX".utf8CString)
            try #require(mkdtemp(&template) != nil)
            self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }

        func file(_ name: String) -> String { "\(self.path)/\(name)" }
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: self.path).sorted() }
        func text(_ name: String) throws -> String { try String(contentsOfFile: self.file(name), encoding: .utf8) }

        func write(_ text: String, _ name: String, mode: mode_t = 0o644) throws {
            try text.write(toFile: self.file(name), atomically: false, encoding: .utf8)
            try #require(chmod(self.file(name), mode) == 0)
        }

        /// What kind of file has a name, and who may do what with it; of a link its own.
        func mode(_ name: String) throws -> mode_t {
            var status = stat()
            try #require(lstat(self.file(name), &status) == 0)
            return status.st_mode
        }
    }

    private func jostle(_ arguments: [String]) throws -> Tool.Result {
        try Tool.run([Programs.path(of: "jostle")] + arguments)
    }

    @Test func whatIsNotCompleteReplacesNothing() throws {
        let place = try Place()
        try place.write("old", "x.csv")
        for name in ["x.csv", "y.csv"] {
            let file = try OutputFile(place.file(name))
            try file.write(Array("new".utf8))
            #expect(try place.text("x.csv") == "old")
        }
        #expect(try place.names() == ["x.csv"] && place.text("x.csv") == "old")
    }

    /// A recording has its name from its beginning.
    @Test func whatHasItsNameGrowsThere() throws {
        let place = try Place()
        try place.write("old", "x.csv")
        let file = try OutputFile(place.file("x.csv"))
        try file.takeName()
        for text in ["a", "ab"] {
            try file.write(Array("\(text.last ?? " ")".utf8))
            #expect(try place.text("x.csv") == text)
        }
        #expect(try place.names() == ["x.csv"])
    }

    @Test func aDiskWithoutRoomLeavesWhatIsThere() throws {
        let place = try Place()
        try place.write("old", "x.csv")
        let result = try Tool.run([
            "sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh", Programs.path(of: "jostle"), "make",
            "rest 10min", place.file("x.csv"),
        ])
        #expect(result.status == 1 && result.stderr.contains("File too large"), "\(result)")
        #expect(try place.names() == ["x.csv"] && place.text("x.csv") == "old")
    }

    /// As where there is no room for another file. Here it is the name of the new one that has none: it is longer than that of the
    /// one that is there, and with it the path is longer than paths may be.
    @Test func whereNoneCanBeMadeBesideWhatIsThereStays() throws {
        let place = try Place()
        var names: [String] = []
        while place.path.utf8.count + (names.count + 1) * 201 + 10 < Int(PATH_MAX) {
            names.append(String(repeating: "d", count: 200))
        }
        let room = Int(PATH_MAX) - 10 - place.path.utf8.count - names.count * 201
        if room > 1 { names.append(String(repeating: "e", count: room - 1)) }
        let directory = names.joined(separator: "/")
        try FileManager.default.createDirectory(atPath: place.file(directory), withIntermediateDirectories: true)
        try place.write("old", "\(directory)/x.csv")
        let failure = #expect(throws: CommandFailure.self) {
            try OutputFile.write(Array("new".utf8), to: place.file("\(directory)/x.csv"))
        }
        #expect(failure?.code == .no)
        #expect(try place.text("\(directory)/x.csv") == "old")
    }

    /// A directory that lets nothing new be made, as one of others' does: what is there is written in its place.
    @Test func whereNoneMayBeMadeBesideWhatIsThereIsWritten() throws {
        let place = try Place()
        try place.write("old", "x.csv", mode: 0o666)
        try #require(chmod(place.path, 0o555) == 0)
        // Root may write everywhere, unless it gives that up.
        let tool = geteuid() == 0 ? ["setpriv", "--bounding-set=-dac_override", "--"] : []
        let made = try Tool.run(tool + [Programs.path(of: "jostle"), "make", "rest 1s", place.file("x.csv")])
        try #require(chmod(place.path, 0o755) == 0)
        #expect(made.status == 0, "\(made)")
        #expect(try place.names() == ["x.csv"] && place.text("x.csv").hasPrefix("#"))
    }

    @Test func whatIsPrivateIsItsOwnersAlone() throws {
        let place = try Place()
        try place.write("old", "open", mode: 0o666)
        try place.write("another's", "target", mode: 0o666)
        try #require(symlink("target", place.file("link")) == 0)
        for name in ["open", "link", "new"] {
            try OutputFile.write(Array("page".utf8), to: place.file(name), isPrivate: true)
            #expect(try place.text(name) == "page" && place.mode(name) == S_IFREG | 0o600)
        }
        #expect(try place.text("target") == "another's")
    }

    /// What others may not read they may not read when it is written anew.
    @Test func whatWasClosedToOthersStaysSo() throws {
        let place = try Place()
        try place.write("old", "x.csv", mode: 0o600)
        try OutputFile.write(Array("new".utf8), to: place.file("x.csv"))
        #expect(try place.text("x.csv") == "new" && place.mode("x.csv") == S_IFREG | 0o600)
    }

    @Test func pipesAndDevicesAreWrittenTo() throws {
        let place = try Place()
        let pipe = place.file("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let end = open(pipe, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        try #require(end >= 0)
        defer { close(end) }
        try OutputFile.write(Array("new".utf8), to: pipe)
        var bytes = [UInt8](repeating: 0, count: 8)
        let count = read(end, &bytes, bytes.count)
        #expect(count == 3 && bytes.prefix(3).elementsEqual("new".utf8))
        #expect(try place.mode("pipe") == S_IFIFO | 0o600 && place.names() == ["pipe"])
        let failure = #expect(throws: CommandFailure.self) {
            try OutputFile.write(Array("new".utf8), to: "/dev/full")
        }
        #expect(failure?.code == .no)
    }

    @Test func whatIsReadIsNotWrittenTo() throws {
        let place = try Place()
        let trace = place.file("x.csv")
        try #require(try self.jostle(["make", "rest 2s", trace, "--label", "not-shake x"]).status == 0)
        let before = try place.text("x.csv")
        try #require(link(trace, place.file("same.csv")) == 0)
        try place.write("no journal", "journal.db")
        for command in [
            ["replay", trace, "--detector", "shake", "--report", trace],
            ["replay", trace, "--detector", "shake", "--report", place.file("same.csv")],
            ["tune", trace, "--report", trace],
            ["tune", "--negative", trace, "--report", trace],
            ["teach", "flip", "--example", trace, "--save", trace],
            ["scenario", trace, "--report", trace],
            ["policy", "coverage", trace, "--report", trace],
            ["report", "--state-dir", place.path, "--output", place.file("journal.db")],
        ] {
            let result = try self.jostle(command)
            #expect(result.status == 2 && result.stderr.contains("is read, and cannot be written to"), "\(result)")
        }
        #expect(try place.text("x.csv") == before && place.text("journal.db") == "no journal")
        #expect(try place.names() == ["journal.db", "same.csv", "x.csv"])
    }

    // MARK: Standard output

    @Test func aPageDoesNotStandBetweenLinesForMachines() throws {
        let result = try self.jostle(["policy", "coverage", Programs.source("policies"), "--json", "--report", "-"])
        #expect(result.status == 2 && result.stdout.isEmpty && result.stderr.contains("--json"), "\(result)")
    }

    /// Who closes the pipe has read enough of a page, too.
    @Test func whoReadsNoMoreOfAPageIsToldNothing() throws {
        let result = try Tool.run([
            "bash", "-c", "exec > >(exec true); wait $!; exec \"$@\"", "sh", Programs.path(of: "jostle"), "policy",
            "coverage", Programs.source("policies"), "--report", "-",
        ])
        #expect(result.status == 0 && result.stderr.isEmpty, "\(result)")
    }

    @Test(arguments: ["a\nb", " a", "a\t", "a\u{7F}"]) func aLabelIsALine(_ label: String) throws {
        let place = try Place()
        let result = try self.jostle(["make", "rest 1s", place.file("x.csv"), "--label", label])
        #expect(result.status == 2 && result.stderr.contains("option '--label' needs a line of text"), "\(result)")
        #expect(try place.names().isEmpty)
    }
}
