import Glibc
import Loop
import Testing

@Suite(.timeLimit(.minutes(1))) struct ChildProcessTests {
    /// Runs a shell script to its end and tells how it ended and what it wrote.
    private func run(
        _ script: String, change: (inout ChildProcess.Command) -> Void = { _ in }
    ) throws -> (ChildProcess.Ending?, String) {
        let loop = try EventLoop()
        var command = ChildProcess.Command("/bin/sh", ["-c", script])
        command.output = .pipe
        change(&command)
        let child = try ChildProcess(command, on: loop) { _ in loop.stop() }
        try loop.run()
        guard let output = child.takeOutput() else { return (child.ending, "") }
        return (child.ending, String(decoding: drain(output.raw), as: UTF8.self))
    }

    @Test(arguments: [0, 1, 42, 255] as [Int32])
    func exitCodeArrives(_ code: Int32) throws {
        #expect(try self.run("exit \(code)").0 == .exited(code))
    }

    @Test func deathBySignalArrives() throws {
        #expect(try self.run("kill -9 $$").0 == .killed(SIGKILL))
    }

    @Test func outputIsOurs() throws {
        let (ending, text) = try self.run("echo out; echo err >&2") { $0.errorOutput = .null }
        #expect(ending == .exited(0))
        #expect(text == "out\n")
    }

    @Test func inputAndBothOutputsCanBePipes() throws {
        let loop = try EventLoop()
        var command = ChildProcess.Command("/bin/sh", ["-c", "cat; echo bad >&2"])
        command.input = .pipe
        command.output = .pipe
        command.errorOutput = .pipe
        let child = try ChildProcess(command, on: loop) { _ in loop.stop() }
        func close(_ descriptor: consuming OwnedDescriptor) {}
        if let input = child.takeInput() {
            #expect(write(input.raw, "hello", 5) == 5)
            close(input)
        }
        if child.takeInput() != nil { Issue.record("taken twice") }
        try loop.run()
        if let output = child.takeOutput() { #expect(drain(output.raw) == Array("hello".utf8)) }
        if let errors = child.takeErrorOutput() { #expect(drain(errors.raw) == Array("bad\n".utf8)) }
    }

    @Test func argumentsAndEnvironmentArriveUnchanged() throws {
        let (_, text) = try self.run("") {
            $0.arguments = ["-c", "printf '%s|' \"$@\" \"$A\" \"$HOME\"", "sh", "", "a b", "ä\n", "$x"]
            $0.environment = ["A=1 2", "B="]
        }
        #expect(text == "|a b|ä\n|$x|1 2||")
    }

    @Test func programIsLookedForInPath() throws {
        let (ending, text) = try self.run("") {
            $0.program = "echo"
            $0.arguments = ["found"]
        }
        #expect(ending == .exited(0))
        #expect(text == "found\n")
    }

    @Test func unknownProgramAndNulInsideAreRefused() throws {
        let loop = try EventLoop()
        #expect(throws: SystemError(code: ENOENT, function: "posix_spawn")) {
            _ = try ChildProcess(.init("/nowhere/at/all"), on: loop)
        }
        #expect(throws: SystemError(code: EINVAL, function: "posix_spawn")) {
            _ = try ChildProcess(.init("/bin/true", ["a\0b"]), on: loop)
        }
        #expect(try !loop.runOnce(timeout: 0))
    }

    @Test func signalStateIsClean() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            try loop.onSignals([SIGTERM, SIGINT]) { _ in }
            signal(SIGPIPE, SIG_IGN)
            // With this the kernel would throw the exit code away.
            signal(SIGCHLD, SIG_IGN)
            var command = ChildProcess.Command("/bin/grep", ["-E", "^Sig(Blk|Ign)", "/proc/self/status"])
            command.output = .pipe
            let child = try ChildProcess(command, on: loop) { _ in loop.stop() }
            try loop.run()
            guard child.ending == .exited(0), let output = child.takeOutput() else { exit(1) }
            let lines = String(decoding: drain(output.raw), as: UTF8.self)
            let masks = lines.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0, radix: 16) }
            // glibc has every child ignore its own signals 32 and 33.
            exit(masks.count == 2 && masks[0] == 0 && masks[1] & ~0x1_8000_0000 == 0 ? 0 : 2)
        }
    }

    @Test func onlyTheThreeDescriptorsAreInherited() throws {
        let pipe = try Pipe()
        let (_, text) = try self.run("ls /proc/self/fd") { $0.input = .null }
        // 3 is the directory that ls reads.
        #expect(text == "0\n1\n2\n3\n")
        _ = pipe
    }

    @Test func standardDescriptorsCanTradePlaces() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let first = try Pipe()
            let second = try Pipe()
            dup2(first.writer.raw, 1)
            dup2(second.writer.raw, 2)
            var command = ChildProcess.Command("/bin/sh", ["-c", "echo out; echo err >&2"])
            command.output = .descriptor(2)
            command.errorOutput = .descriptor(1)
            _ = try ChildProcess(command, on: loop) { _ in loop.stop() }
            try loop.run()
            let good = drain(first.reader.raw) == Array("err\n".utf8) && drain(second.reader.raw) == Array("out\n".utf8)
            exit(good ? 0 : 1)
        }
    }

    @Test func terminateEndsTheChildAndThenDoesNothing() throws {
        let loop = try EventLoop()
        let child = try ChildProcess(.init("/bin/sleep", ["1000"]), on: loop) { _ in loop.stop() }
        try child.terminate()
        try loop.run()
        #expect(child.ending == .killed(SIGTERM))
        try child.terminate()
        try child.sendToGroup(SIGKILL)
    }

    @Test func groupIsEndedAsAWhole() throws {
        let loop = try EventLoop()
        // The grandchild holds the pipe open: its end of file says that the grandchild too is gone.
        var command = ChildProcess.Command("/bin/sh", ["-c", "sleep 1000 & echo ready; wait"])
        command.output = .pipe
        command.hasOwnGroup = true
        let child = try ChildProcess(command, on: loop)
        guard let output = child.takeOutput() else { throw SystemError(code: ENOENT, function: "takeOutput") }
        let reader = output.raw
        var text: [UInt8] = []
        let watch = try loop.watch(reader, for: .read) { readiness in
            text += drain(reader)
            if readiness.contains(.hangUp) { return loop.stop() }
            #expect(throws: Never.self) { try child.sendToGroup(SIGKILL) }
        }
        try loop.run()
        #expect(text == Array("ready\n".utf8))
        loop.cancel(watch)
        while child.ending == nil { try loop.runOnce(timeout: nil) }
        #expect(child.ending == .killed(SIGKILL))
    }

    @Test func droppedChildIsStillCollected() throws {
        let loop = try EventLoop()
        weak var witness: ChildProcess?
        var endings: [ChildProcess.Ending] = []
        do {
            let child = try ChildProcess(.init("/bin/sh", ["-c", "exit 3"]), on: loop) {
                endings.append($0)
                loop.stop()
            }
            witness = child
        }
        #expect(witness != nil)
        try loop.run()
        #expect(endings == [.exited(3)])
        #expect(witness == nil)
    }
}
