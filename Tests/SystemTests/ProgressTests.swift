import Foundation
import TestSupport
import Testing

extension Surroundings {
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
            var (command, shown): ([String], String) = ([], "")
            var told: [Substring] = []
            while told.count <= 2, files.count < 5_000 {
                files += files
                command = [jostle, "replay", "--detector", "shake.planar,threshold=2.3g"] + files
                let result = try Tool.run(
                    ["env", "NO_COLOR=1", "TERM=xterm", "/usr/bin/python3", "-c", code] + command)
                #expect(result.status == 0)
                shown = result.stdout
                told = shown.matches(of: /\r(replay: \d+ %[^\r\u{1B}]*)\u{1B}\[K/).map(\.1)
            }
            #expect(told.count > 2 && told.count < 100, "\(files.count): \(shown.debugDescription.prefix(2_000))")
            // Taken away, it leaves what a pipe gets; and nothing of it stands there at the end.
            let rest = shown.replacing(/\r(replay: [^\r\u{1B}]*)?\u{1B}\[K/, with: "").replacing("\r\n", with: "\n")
            let plain = try Tool.run(command)
            #expect(plain.status == 0 && !plain.stderr.contains("%") && !plain.stderr.contains("\u{1B}"))
            let lines = rest.split(separator: "\n").filter { !$0.hasPrefix("jostle: ") }
            #expect(lines == plain.stdout.split(separator: "\n"))
        }

        /// Runs a command on a terminal. Returns what it showed.
        private func onTerminal(_ command: [String]) throws -> String {
            let code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
            let result = try Tool.run(
                ["env", "NO_COLOR=1", "TERM=xterm", "/usr/bin/python3", "-c", code] + command, timeout: .seconds(120))
            try #require(result.status == 0, "\(command): \(result)")
            return result.stdout
        }

        /// What goes through a journal says how far it is, too.
        @Test func soDoesWhatGoesThroughAJournal() throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "jostle-far-\(UUID().uuidString)")
                .path
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let jostle = Programs.path(of: "jostle")
            let now = Int64(Date().timeIntervalSince1970) * 1_000_000
            for (title, words) in [
                ("report", ["report", "--since", "25h", "-o", "\(directory)/day.html"]),
                ("whatif", ["whatif", "--since", "25h", "--detector", "shake.planar,threshold=2g"]),
                ("clips", ["clips", "list", "--since", "25h"]),
                ("tune", ["tune", "--since", "25h", "--from-clips", "--preset", "shake.planar"]),
            ] {
                // As many clips as take long enough to be told, whatever the machine.
                var (near, shown) = (100, "")
                var told: [Substring] = []
                while told.isEmpty, near < 60_000 {
                    let made = try Tool.run([
                        "python3", Programs.source("Tests/Scripts/make-journal.py"),
                        Programs.source("Tests/StoredFiles/journal-6.sql"), "\(directory)/\(title)-\(near)", "1000",
                        "\(now)", "1", "1", "\(near)",
                    ])
                    try #require(made.status == 0, "\(made.stderr)")
                    shown = try self.onTerminal([jostle] + words + ["--state-dir", "\(directory)/\(title)-\(near)"])
                    told = shown.split(separator: "\r").filter { $0.hasPrefix("\(title): ") && $0.contains(" %") }
                    near *= 4
                }
                #expect(!told.isEmpty && told.count < 200, "\(title), \(near): \(shown.debugDescription.prefix(2_000))")
                // It goes before something else stands there.
                #expect(told.allSatisfy { $0.hasSuffix("\u{1B}[K") }, "\(title): \(told)")
            }
        }

        /// A file says any size of itself, as one that is nearly all hole does: that is no more than how far a command is.
        @Test func aFileMayBeOfAnySize() throws {
            // In memory, where a file may be as large as one can be.
            let file = "/dev/shm/jostle-hole-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: file) }
            let made = try Tool.run(["truncate", "-s", "8000000000000000000", file])
            try #require(made.status == 0, "\(made.stderr)")
            for command in [["tune", file], ["replay", "--detector", "shake", file, file]] {
                let result = try Tool.run([Programs.path(of: "jostle")] + command)
                #expect(result.status == 2, "\(command): \(result)")
                #expect(
                    result.stderr == "jostle: \(file):1:16385: the line is longer than 16384 bytes\n",
                    "\(command): \(result)")
            }
        }

        /// So does what runs in a machine of its own.
        @Test func soDoesWhatRunsInAMachine() throws {
            let script = Programs.source("Tests/VM/progress.py")
            // What comes next is fed when something was said of what came first.
            let code = """
                import os, pty, sys
                mouth, feed = os.pipe()
                pid, end = pty.fork()
                if pid == 0:
                    os.dup2(mouth, 0)
                    os.close(feed)
                    os.execv(sys.argv[1], sys.argv[1:])
                os.write(feed, b"    1.0  one\\n")
                shown, isFed = b"", False
                try:
                    while piece := os.read(end, 65_536):
                        shown += piece
                        if b"%" in shown and not isFed:
                            isFed = True
                            os.write(feed, b"    2.5  two\\nno step\\n    3.0  three\\n")
                            os.close(feed)
                except OSError:
                    pass
                os.write(1, shown)
                """
            let result = try Tool.run(["env", "TERM=xterm", "/usr/bin/python3", "-c", code, script, "machine", "6"])
            let shown = result.stdout
            #expect(
                shown.contains("    1.0  one\r\n\rmachine: 17 %, about ")
                    && shown.contains("\r\u{1B}[K    2.5  two\r\nno step\r\n    3.0  three\r\n\rmachine: 50 %, about "),
                "\(shown.debugDescription)")
            #expect(shown.hasSuffix("\r\u{1B}[K"), "\(shown.debugDescription)")
            let piped = try Tool.run(["sh", "-c", "printf '    1.0  one\\n  two\\n' | '\(script)' machine 6"])
            #expect(piped.stdout == "    1.0  one\n  two\n" && piped.stderr.isEmpty, "\(piped)")
        }
    }
}
