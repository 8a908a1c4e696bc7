import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// jostle top on a terminal and in a pipe, with a broker that counts.
    @Suite(.serialized) struct Top {
        private static let app = "org.example.App"
        private static let deaf = "org.example.Deaf"
        private static let policy = """
            [Policy]
            Default=allow
            [Rule none]
            WhenApp=\(deaf)
            Then=deny

            """

        private func stage() throws -> (stage: Stage, programs: [BackgroundProgram]) {
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: Self.policy)
            let app = try stage.watch(Stage.always, "--app", Self.app)
            let deaf = try stage.watch("\(Stage.always),every=200ms", "--app", Self.deaf)
            _ = try app.nextEvent()
            try stage.until("the deaf one is refused") {
                try stage.count("Denied", at: Stage.Object.app(Self.deaf)) > 0
            }
            return (stage, [app, deaf])
        }

        @Test(arguments: [true, false])
        func drawsInATerminal(colors: Bool) throws {
            let (stage, programs) = try self.stage()
            let screen = try TmuxScreen(
                stage, "\(Programs.path(of: "jostle")) top --every 250ms", colors: colors)
            func line(_ what: String, _ isMeant: (String) -> Bool) throws {
                try stage.until(what) { try screen.capture().contains(where: isMeant) }
            }
            try line("hits are counted") {
                $0.hasPrefix("> org.example.App ") && $0.contains("foreground") && !$0.contains(" - ")
            }
            try line("refusals are counted") {
                $0.hasPrefix("2 apps ") && !$0.contains("refused 0/s") && !$0.contains("refused -/s")
            }
            let first = try screen.capture()
            #expect(first.contains { $0.hasPrefix("accelerometer ") && $0.contains(" Hz, ") }, "\(first)")
            #expect(first.contains { $0.hasPrefix("q quit  up/down choose  e explain") }, "\(first)")
            #expect(first.allSatisfy { $0.count < 80 } && first.count <= 25)
            #expect(try screen.capture("-e").joined().contains("\u{1B}[3") == colors)
            // The last verdict of the one that is chosen, and back.
            try screen.press("Down")
            try line("it is chosen") { $0.hasPrefix("> org.example.Deaf ") }
            try screen.press("e")
            try line("the verdict is explained") { $0.contains("rule") && $0.contains("none") }
            #expect(try screen.capture()[0] == "the last verdict of \(Self.deaf)")
            try screen.press("Escape")
            try line("the list is back") { $0.hasPrefix("> org.example.Deaf ") }
            try screen.press("/", "A", "p", "p", "Enter")
            try line("only one is left") { $0.contains("filter: App (escape ends it)") }
            #expect(try !screen.capture().contains { $0.contains("org.example.Deaf") })
            // Smaller, while it runs: the end of names says most.
            try screen.tmux("resize-window", "-x", "40", "-y", "10")
            try line("it is drawn anew") { $0.hasPrefix("> ") && $0.contains(".App ") && $0.count < 40 }
            try screen.tmux("resize-window", "-x", "80", "-y", "24")
            // The broker goes, and comes again.
            _ = try stage.broker?.terminate()
            try line("that is said") { $0.contains("is not running") }
            try stage.startBroker(policy: Self.policy)
            try stage.until("it is there again") {
                let lines = try screen.capture()
                return lines.contains { $0.contains("  hits ") } && !lines.contains { $0.contains("is not running") }
            }
            // What was there before comes back, and the terminal shows what is typed.
            try screen.press(colors ? "q" : "C-c")
            try line("the screen is given back") { _ in true }
            try stage.until("the screen is given back") {
                try !screen.capture().contains { $0.contains("org.example") }
            }
            try screen.press("typed")
            try line("it is seen") { $0.contains("typed") }
            _ = programs
        }

        /// Behind `ssh -t`, and in a window that shows nothing else, there is no shell that could have it go on.
        @Test(arguments: ["top", "scope"])
        func whereNobodyCouldHaveItGoOnItIsNotStopped(_ command: String) throws {
            let stage = try Stage()
            let code = """
                import os, pty, sys
                pid, terminal = pty.fork()
                if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
                seen = b""
                def until(mark, count):
                    global seen
                    while seen.count(mark) < count: seen += os.read(terminal, 65536)
                until(b"\\x1b[J", 1)
                os.write(terminal, b"\\x1a")
                until(b"\\x1b[?1049h", 2)
                os.write(terminal, b"q")
                try:
                    while os.read(terminal, 65536): pass
                except OSError: pass
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                """
            let result = try stage.run(
                ["env", "TERM=xterm", "timeout", "20", "/usr/bin/python3", "-c", code, Programs.path(of: "jostle")]
                    + [command])
            #expect(result.status == 0, "\(result)")
        }

        /// A script that gives it so much time has it in the background, where it is stopped before it draws anything.
        @Test(arguments: ["top", "scope"], ["TERM", "INT"])
        func whoIsStoppedInTheBackgroundCanBeEnded(_ command: String, _ signal: String) throws {
            let stage = try Stage()
            let code = """
                import os, pty, sys
                pid, terminal = pty.fork()
                if pid == 0: os.execv("/bin/sh", ["sh", "-c", 'timeout -k 9 -s \(signal) 1 "$@"; exit $?', "sh"] + sys.argv[1:])
                try:
                    while os.read(terminal, 65536): pass
                except OSError: pass
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                """
            let result = try stage.run(
                ["env", "TERM=xterm", "timeout", "20", "/usr/bin/python3", "-c", code, Programs.path(of: "jostle")]
                    + [command])
            // 137, had it to be killed.
            #expect(result.status == 124, "\(result)")
        }

        /// What ends a program that does not look at Ctrl-C, too, leaves the terminal as it was.
        @Test(arguments: ["top", "scope"])
        func whoIsEndedByTheTerminalGivesItBack(_ command: String) throws {
            let stage = try Stage()
            let code = """
                import os, pty, resource, signal, sys
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                pid, terminal = pty.fork()
                if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
                seen = b""
                while b"\\x1b[J" not in seen: seen += os.read(terminal, 65536)
                os.write(terminal, b"\\x1c")
                try:
                    while some := os.read(terminal, 65536): seen += some
                except OSError: pass
                assert seen.endswith(b"\\x1b[?1049l"), seen[-100:]
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGQUIT
                """
            let result = try stage.run(
                ["env", "TERM=xterm", "timeout", "20", "/usr/bin/python3", "-c", code, Programs.path(of: "jostle")]
                    + [command])
            #expect(result.status == 0, "\(result)")
        }

        @Test func writesTextAndLinesForScripts() throws {
            let (stage, programs) = try self.stage()
            let once = try stage.jostle("top", "--once", "--every", "500ms", "--sort", "app")
            #expect(once.status == 0 && once.stderr.isEmpty && !once.stdout.contains("\u{1B}"), "\(once)")
            let lines = once.stdout.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(lines[0].hasPrefix("2 apps  hits ") && lines[1].hasPrefix("accelerometer "), "\(lines)")
            #expect(lines[3].hasPrefix("APP ") && lines[3].hasSuffix("LAST REFUSAL"), "\(lines)")
            #expect(lines[4].hasPrefix(Self.app) && lines[5].hasPrefix(Self.deaf), "\(lines)")
            #expect(lines[5].contains("S2."), "\(lines)")
            let filtered = try stage.jostle("top", "--once", "--every", "200ms", "--json", "--filter", "deaf")
            #expect(try kinds(of: filtered.stdout, from: "top") == [0], "\(filtered)")
            #expect(filtered.stdout.contains(Self.deaf) && !filtered.stdout.contains(Self.app), "\(filtered)")
            let stream = try stage.start("top", "--json", "--every", "200ms", "--for", "30s")
            for _ in 0..<3 { _ = try stream.waitForLine { $0.hasPrefix("{\"t_us\":") } }
            _ = programs
        }
    }
}
