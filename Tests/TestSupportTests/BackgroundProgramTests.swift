import CTestSupport
import Glibc
import TestSupport
import Testing

@Suite struct BackgroundProgramTests {
    @Test func linesAreWaitedForOnEitherStream() throws {
        let program = try BackgroundProgram(tool: ["sh", "-c", "echo one; echo two; echo three >&2; exec sleep 1000"])
        #expect(try program.waitForLine(where: { $0.hasPrefix("t") }) == "two")
        #expect(try program.waitForLine(on: .errors, where: { _ in true }) == "three")
        #expect(try program.terminate() == .killed(signal: SIGTERM))
        #expect(program.output == "one\ntwo\n")
    }

    @Test func aLineIsLookedAtOnce() throws {
        let program = try BackgroundProgram(tool: ["sh", "-c", "echo same; echo same; echo last"])
        #expect(try program.waitForLine(where: { $0 == "same" }) == "same")
        #expect(try program.waitForLine(where: { $0 == "same" }) == "same")
        #expect(throws: Failure.self) { try program.waitForLine(where: { $0 == "same" }) }
    }

    @Test func whatIsSaidBeforeIsStillThere() throws {
        let program = try BackgroundProgram(tool: ["sh", "-c", "echo first; echo then; exec sleep 1000"])
        try program.waitUntilSaid("then")
        #expect(try program.waitForLine(where: { $0 == "first" }) == "first")
        #expect(throws: Failure.self) { try program.waitUntilSaid("never", timeout: soon) }
        #expect(try program.waitForLine(where: { _ in true }) == "then")
    }

    @Test func waitingEndsWithTheProgram() throws {
        let program = try BackgroundProgram(tool: ["sh", "-c", "exit 5"])
        #expect(throws: Failure.self) { try program.waitForLine(timeout: soon, where: { _ in true }) }
        #expect(program.end == .exited(5))
    }

    @Test func signalsReachTheProgram() throws {
        let program = try BackgroundProgram(tool: [
            "sh", "-c", "trap 'echo got; exit 4' USR1; echo up; while :; do sleep 1000 & wait; done",
        ])
        _ = try program.waitForLine { $0 == "up" }
        try program.signal(SIGUSR1)
        #expect(try program.waitForLine(where: { _ in true }) == "got")
        #expect(try program.waitForEnd() == .exited(4))
    }

    @Test func aSignalToAProgramThatEndedGoesNowhere() throws {
        let program = try BackgroundProgram(tool: ["true"])
        #expect(try program.waitForEnd() == .exited(0))
        try program.signal(SIGTERM)
        #expect(try program.terminate() == .exited(0))
    }

    @Test func thePidIsTheProgramsOwn() throws {
        let program = try BackgroundProgram(tool: ["sh", "-c", "echo $$; exec sleep 1000"])
        #expect(try program.waitForLine(where: { _ in true }) == "\(program.pid)")
    }

    @Test func whatItStartedEndsWithIt() throws {
        let program = try BackgroundProgram(tool: ["sh", "-c", "setsid sleep 1000 & echo $!; exec sleep 1000"])
        let child = try #require(Int32(try program.waitForLine { _ in true }))
        #expect(kill(child, 0) == 0)
        _ = try program.terminate()
        #expect(kill(child, 0) == -1 && errno == ESRCH)
    }

    @Test func aProgramIsEndedWithItsObject() throws {
        var program: BackgroundProgram? = try BackgroundProgram(tool: ["sleep", "1000"])
        let pid = try #require(program?.pid)
        #expect(kill(pid, 0) == 0)
        program = nil
        #expect(kill(pid, 0) == -1 && errno == ESRCH)
    }
}
