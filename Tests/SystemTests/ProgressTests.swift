import Foundation
import TestSupport
import Testing

@testable import jostle

/// What is said of how far something is, and when.
@Suite struct ProgressLineTests {
    private static let second: Int64 = 1_000_000

    @Test func whatIsShortSaysNothing() {
        var line = ProgressLine("replay", of: 100, at: 5 * Self.second)
        for step in 0..<10 {
            #expect(line.advance(to: Int64(step) * 10, at: 5 * Self.second + Int64(step) * 99_999) == nil)
        }
    }

    @Test func itSaysHowFarAndHowLong() {
        var line = ProgressLine("replay", of: 200, at: 0)
        #expect(line.advance(to: 50, at: Self.second) == "replay: 25 %, about 3 s left")
        // No eye reads faster.
        #expect(line.advance(to: 60, at: Self.second + 100_000) == nil)
        #expect(line.advance(to: 100, at: 2 * Self.second) == "replay: 50 %, about 2 s left")
        // It goes back for nothing, and beyond the end neither.
        #expect(line.advance(to: 1, at: 3 * Self.second) == "replay: 50 %, about 3 s left")
        #expect(line.advance(to: 900, at: 4 * Self.second) == "replay: 100 %, about 0 s left")
    }

    @Test(arguments: [(Int64(256), 3, "about 9 s left"), (16, 10, "about 11 min left"), (16, 1_000, "about 18 h left")])
    func guessesAreAsPreciseAsGuessesAre(_ done: Int64, _ seconds: Int64, _ text: String) {
        var line = ProgressLine("tune", of: 1_024, at: 0)
        #expect(line.advance(to: done, at: seconds * Self.second)?.hasSuffix(text) == true)
    }

    @Test func ofNothingDoneNothingIsKnown() {
        var line = ProgressLine("whatif", of: 1_000, at: 0)
        #expect(line.advance(to: 1, at: 7 * Self.second) == "whatif: 0 %")
        // Nothing to do is all done.
        var empty = ProgressLine("whatif", of: 0, at: 0)
        #expect(empty.advance(to: 0, at: 2 * Self.second) == "whatif: 0 %")
    }
}

extension EndToEnd {
    /// How far a command is: on a terminal, for as long as it works, and nowhere else.
    @Suite(.serialized) struct Progresses {
        @Test func aLineComesAndGoesOnATerminalOnly() throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "jostle-far-\(UUID().uuidString)")
                .path
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let (jostle, trace) = (Programs.path(of: "jostle"), "\(directory)/shakes.csv")
            let script = "rest 5s; shake peak=4g; rest 20s; loop"
            #expect(try Tool.run([jostle, "make", script, trace, "--for", "600s"]).status == 0)
            let code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
            // As much of it as takes long enough to be told, whatever the machine.
            var files = [trace]
            var (command, shown, took): ([String], String, Duration) = ([], "", .zero)
            while took < .seconds(4), files.count < 5_000 {
                files += files
                command = [jostle, "replay", "--detector", "shake.planar,threshold=2.3g"] + files
                let began = ContinuousClock.now
                let result = try Tool.run(
                    ["env", "NO_COLOR=1", "TERM=xterm", "/usr/bin/python3", "-c", code] + command)
                took = ContinuousClock.now - began
                #expect(result.status == 0)
                shown = result.stdout
            }
            let told = shown.matches(of: /\r(replay: \d+ %[^\r\u{1B}]*)\u{1B}\[K/)
            #expect(told.count > 2 && told.count < 100, "\(took): \(shown.debugDescription.prefix(2_000))")
            // Taken away, it leaves what a pipe gets; and nothing of it stands there at the end.
            let rest = shown.replacing(/\r(replay: [^\r\u{1B}]*)?\u{1B}\[K/, with: "").replacing("\r\n", with: "\n")
            let plain = try Tool.run(command)
            #expect(plain.status == 0 && !plain.stderr.contains("%") && !plain.stderr.contains("\u{1B}"))
            let lines = rest.split(separator: "\n").filter { !$0.hasPrefix("jostle: ") }
            #expect(lines == plain.stdout.split(separator: "\n"))
        }
    }
}
