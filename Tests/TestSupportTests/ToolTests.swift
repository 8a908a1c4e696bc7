import TestSupport
import Testing

/// What the tests of this module take for "at once": long enough for a busy machine, and never waited out.
let soon = Duration.seconds(30)

@Suite struct ToolTests {
    @Test func statusAndBothOutputsComeBack() throws {
        let result = try Tool.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        #expect(result == Tool.Result(status: 3, stdout: "out\n", stderr: "err\n"))
    }

    @Test func aSignalIsSeenAsAShellShowsIt() throws {
        #expect(try Tool.run(["sh", "-c", "kill -9 $$"]).status == 128 + 9)
    }

    @Test func theEnvironmentIsOursWithAdditions() throws {
        let result = try Tool.run(
            ["sh", "-c", "echo \"$JOSTLE_ADDED $LC_ALL ${PATH:+path}\""], environment: ["JOSTLE_ADDED": "yes"])
        #expect(result.stdout == "yes C path\n")
    }

    @Test func moreThanAPipeHoldsIsRead() throws {
        let result = try Tool.run(["head", "-c", "3000000", "/dev/zero"])
        #expect(result.stdout.utf8.count == 3_000_000)
    }

    @Test func aMissingToolIsNamed() throws {
        #expect(throws: Failure("cannot start /no/such/tool: No such file or directory")) {
            try Tool.run(["/no/such/tool"])
        }
    }

    @Test func whoDoesNotEndInTimeIsEnded() throws {
        #expect(throws: Failure.self) { try Tool.run(["sleep", "1000"], timeout: .milliseconds(50)) }
    }

    @Test func signalsAreAsInAFreshProcess() throws {
        // The tether ignores SIGPIPE and blocks others; neither may reach the program. The C library keeps two real-time
        // signals to itself, so only the first 31 are looked at.
        let result = try Tool.run(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])
        let masks = result.stdout.split(separator: "\n").map {
            UInt64($0.suffix(16), radix: 16).map { $0 & 0x7FFF_FFFF }
        }
        #expect(masks == [0, 0])
    }

    @Test func onlyStandardDescriptorsAreInherited() throws {
        // The fourth is the directory that ls reads.
        let result = try Tool.run(["ls", "/proc/self/fd"])
        #expect(result.stdout == "0\n1\n2\n3\n")
    }
}
