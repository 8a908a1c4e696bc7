import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// What shells put at the cursor.
    @Suite(.serialized) struct Completion {
        private static let app = "org.example.Player"
        /// How app ids begin of which none has a file in a directory of this machine.
        private static let none = "org.example.none."

        private func ask(_ words: [String], environment: [String: String]) throws -> Tool.Result {
            let files = ["XDG_DATA_HOME": "/dev/null", "XDG_DATA_DIRS": "/dev/null"]
            // Far less than any answer may take: nobody is waited for.
            return try Tool.run(
                [Programs.path(of: "jostle"), "--complete"] + words,
                environment: files.merging(environment) { $1 }, timeout: .seconds(10))
        }

        /// Asks until there is an answer: on a busy machine the program's own deadline may end it first.
        private func complete(_ stage: Stage, _ words: [String], data: String = "/dev/null") throws -> String {
            try self.complete(words, environment: stage.environment.merging(["XDG_DATA_HOME": data]) { $1 })
        }

        private func complete(_ words: [String], environment: [String: String]) throws -> String {
            let deadline = ContinuousClock.now + .seconds(60)
            var result: Tool.Result
            repeat {
                result = try self.ask(words, environment: environment)
            } while result.status == 128 + SIGALRM && ContinuousClock.now < deadline
            #expect(result.status == 0 && result.stderr.isEmpty, "\(words): \(result)")
            return result.stdout
        }

        /// A home of data in which an app has a file.
        private func data(_ stage: Stage) throws -> String {
            let path = "\(stage.bus.directory)/data"
            let made = try Tool.run([
                "sh", "-ec", "mkdir -p \"$1/jostle/apps.d\"; : > \"$1/jostle/apps.d/$2.conf\"", "sh", path, Self.app,
            ])
            try #require(made.status == 0, "\(made)")
            return path
        }

        @Test func namesAreThoseThatAreThere() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar", "--app", "org.example.App")
            let data = try self.data(stage)
            // A machine that is busy may be late, and then there are fewer.
            try stage.until("both apps are offered") {
                // The machine may have more of them.
                let answer = try self.complete(stage, ["app", "org.example."], data: data)
                return answer.hasPrefix("word\norg.example.App\tforeground\n")
                    && answer.contains("\n\(Self.app)\tinstalled\n")
            }
            try stage.until("the sensors are offered") {
                try self.complete(stage, ["shake", "--sensor", "acc"]).hasPrefix("word\naccelerometer\tsynth")
            }
            #expect(try app.terminate() == .exited(0))
        }

        @Test func whoDoesNotAnswerIsNotWaitedFor() throws {
            let stage = try Stage(source: nil)
            let data = try self.data(stage)
            let broker = try #require(stage.broker)
            try broker.stop()
            defer { try? broker.signal(SIGCONT) }
            #expect(try self.complete(stage, ["app", Self.app], data: data) == "word\n\(Self.app)\tinstalled\n")
            #expect(try self.complete(stage, ["task", "run", Self.app, ""]) == "word\n")
            // Nor is a bus, or a list without an end.
            #expect(Glibc.kill(stage.bus.pid, SIGSTOP) == 0)
            defer { _ = Glibc.kill(stage.bus.pid, SIGCONT) }
            #expect(try self.complete(stage, ["app", Self.app], data: data) == "word\n\(Self.app)\tinstalled\n")
            #expect(try self.complete(stage, ["scope", ""]) == "word\n")
        }

        @Test func aBusWithoutRoomIsNotWaitedFor() throws {
            try PrivateBus.with { bus in
                let script = """
                    import signal, socket, sys
                    def there():
                        return socket.socket(socket.AF_UNIX)
                    server = there()
                    server.bind(sys.argv[1])
                    server.listen(0)
                    clients = []
                    try:
                        while True:
                            clients.append(there())
                            clients[-1].setblocking(False)
                            clients[-1].connect(sys.argv[1])
                    except BlockingIOError:
                        print("full", flush=True)
                    signal.pause()
                    """
                let path = "\(bus.directory)/full"
                let server = try BackgroundProgram(tool: ["python3", "-c", script, path])
                _ = try server.waitForLine { $0 == "full" }
                #expect(try self.complete(["--bus", "unix:path=\(path)", "scope", ""], environment: [:]) == "word\n")
                _ = try server.terminate()
            }
        }

        /// Where no answer is waited for, but the kernel: a home whose server is gone.
        @Test func theDeadlineEndsWhatWaitsElsewhere() throws {
            try PrivateBus.with { bus in
                let fault = "\(bus.directory)/fault"
                let file = try #require(fopen(fault, "w"))
                // It hangs.
                fputs("a", file)
                try #require(fclose(file) == 0)
                let result = try self.ask(
                    ["app", ""],
                    environment: [
                        "LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": fault,
                        "DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_DATA_HOME": "\(bus.directory)/home.conf",
                    ])
                #expect(result == Tool.Result(status: 128 + SIGALRM, stdout: "", stderr: ""))
            }
        }

        @Test func nothingIsStartedForTheQuestion() throws {
            let file = "/tmp/jostle-started-\(getpid())"
            defer { unlink(file) }
            let services = ["org.jostle.Broker1", "org.jostle.Sensors1", "org.example.Last"].map {
                PrivateBus.Service(name: $0, command: "/bin/sh -c 'echo \($0) >> \(file)'")
            }
            let stage = try Stage(source: nil, broker: false, services: services)
            for words in [["app", Self.none], ["scope", ""], ["task", "run", "a", ""]] {
                #expect(try self.complete(stage, words) == "word\n")
            }
            _ = try stage.busctl("--expect-reply=no", "call", "org.example.Last", "/", "org.example.Last", "Start")
            try stage.until("the last one was started") { try Tool.run(["cat", file]).stdout.contains("Last") }
            #expect(try Tool.run(["cat", file]).stdout == "org.example.Last\n")
        }

        /// libdbus may be told to start a program that is the bus.
        @Test(arguments: ["--bus", "--sensor-bus"]) func noBusIsStartedForTheQuestion(_ option: String) throws {
            try PrivateBus.with { bus in
                let file = "\(bus.directory)/started"
                for address in [
                    "unixexec:path=touch,argv1=\(file)", "unix:path=/dev/null;unixexec:path=touch,argv1=\(file)",
                ] {
                    let word = option == "--bus" ? ["task", "run", "a", ""] : ["shake", "--sensor", ""]
                    let answer = try self.complete(
                        [option, address] + word, environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
                    #expect(answer == "word\n")
                    #expect(access(file, F_OK) != 0, "\(address)")
                }
            }
        }

        /// Whoever has the broker's name may list what it likes.
        @Test(arguments: [("sync", "word\nsync\tsync\n"), ("$(reboot)", "word\n"), ("a b", "word\n")])
        func aStrangersNameIsAWordOrNone(_ name: String, _ answer: String) throws {
            let stage = try Stage(source: nil, broker: false)
            let double = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/broker-double.py"), stage.address, "0", name,
            ])
            try stage.until("it has the name") {
                try stage.busctl("status", "org.jostle.Broker1").status == 0
            }
            try stage.until("the answer comes") {
                try self.complete(stage, ["task", "run", name, ""]) == answer
            }
            // A list that never ends.
            #expect(try self.complete(stage, ["app", Self.none]) == "word\n")
            _ = try double.terminate()
        }

        private static let lines: [(typed: String, words: [String])] = [
            ("jostle wat", ["watch"]), ("jostle --bus=sy", ["--bus=system"]), ("jostle --bus sy", ["--bus", "system"]),
            ("jostle policy ch", ["policy", "check"]), ("jostle watch shake.plan", ["watch", "shake.planar"]),
            ("jostle watch shake.planar,thr", ["watch", "shake.planar,threshold="]),
            ("jostle watch shake.planar,threshold=", ["watch", "shake.planar,threshold=2.3g"]),
            ("jostle watch shake,sensitivity=p", ["watch", "shake,sensitivity=pocket"]),
            ("jostle app org.ex", ["app", app]), ("jostle app 'org.ex", ["app", app]),
            ("jostle push --app=org.ex", ["push", "--app=\(app)"]),
            ("jostle state a \"fore", ["state", "a", "foreground"]),
            ("jostle \"state\" a fore", ["state", "a", "foreground"]),
            ("jostle 'policy' ch", ["policy", "check"]),
            ("jostle replay a", ["replay", "a b.csv"]), ("jostle replay 'a b", ["replay", "a b.csv"]),
            ("jostle replay it", ["replay", "it's $(touch ran) \"so\".csv"]),
            ("jostle policy check --app-files=some", ["policy", "check", "--app-files=some dir"]),
            ("jostle policy check --app-files some", ["policy", "check", "--app-files", "some dir"]),
            ("jostle watch --when '$(touch ran)' --cou", ["watch", "--when", "$(touch ran)", "--count"]),
            ("jostle --bus \"unix:path=/a b\" watc", ["--bus", "unix:path=/a b", "watch"]),
            ("jostle on shake -- readlin", ["on", "shake", "--", "readlink"]), ("jostle nothing x", ["nothing", "x"]),
            ("jostle-brokerd --log-level deb", ["--log-level", "debug"]), ("./jostle wat", ["watch"]),
        ]

        /// The shells themselves, on a terminal: what a line is once it was completed, word by word.
        @Test(arguments: ["bash", "zsh", "fish"]) func aShellCompletesWhatIsTyped(_ shell: String) throws {
            let script = """
                directory=$(mktemp -d)
                trap 'rm -rf "$directory"' EXIT
                cd "$directory"
                mkdir -p data/jostle/apps.d 'some dir'
                : > "data/jostle/apps.d/$1.conf"
                : > 'data/jostle/apps.d/org.exam$(touch ran).Odd.conf'
                : > 'a b.csv'
                : > "it's \\$(touch ran) \\"so\\".csv"
                cat > jostle << 'END'
                #!/bin/sh
                test "$1" != --complete || exec touch ran
                printf '%s\\0' "$@" > "$WORDS.new"; mv "$WORDS.new" "$WORDS"
                END
                chmod +x jostle
                XDG_DATA_HOME=$PWD/data XDG_DATA_DIRS=$PWD/data /usr/bin/python3 "$2" "$3" "$4" "${@:5}"
                test ! -e ran
                """
            let result = try Tool.run(
                [
                    "bash", "-ec", script, "bash",
                    Self.app, Programs.source("Tests/Scripts/complete-line.py"), shell, Programs.directory,
                ] + Self.lines.map(\.typed),
                environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"], timeout: .seconds(120))
            #expect(result.status == 0, "\(result)")
            let lines = result.stdout.split(separator: "\n").map(String.init)
            #expect(lines.count == Self.lines.count, "\(result)")
            for (line, wanted) in zip(lines, Self.lines) {
                // Some end a directory with a slash.
                #expect(line.replacing("some dir/", with: "some dir") == Self.json(wanted.words), "\(wanted.typed)")
            }
        }

        private static func json(_ words: [String]) -> String {
            "[" + words.map { "\"\($0.replacing("\"", with: "\\\""))\"" }.joined(separator: ", ") + "]"
        }
    }
}
