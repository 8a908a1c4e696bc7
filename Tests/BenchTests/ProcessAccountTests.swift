import Glibc
import TestSupport
import Testing

@testable import jostle_bench

@Suite struct ProcessAccountTests {
    private static let rollup = """
        55c1000-7ffd000 ---p 00000000 00:00 0                          [rollup]
        Rss:                1688 kB
        Pss:                 213 kB
        Pss_Dirty:           112 kB
        Shared_Clean:       1532 kB
        Private_Clean:        44 kB
        Private_Dirty:       112 kB
        """

    @Test func memoryIsReadByName() throws {
        let memory = try #require(ProcessAccount.Memory(Self.rollup))
        #expect(memory.resident == 1_688 && memory.proportional == 213 && memory.own == 156)
        #expect(ProcessAccount.Memory("") == nil)
        #expect(ProcessAccount.Memory(Self.rollup.split(separator: "\n").dropLast().joined(separator: "\n")) == nil)
    }

    /// A program of which it is known what it does: it sleeps ten times.
    @Test func theKernelKnowsWhatAProcessDid() throws {
        let code = "import time; [time.sleep(0.01) for _ in range(10)]; print('slept', flush=True); time.sleep(60)"
        let idle = try BackgroundProgram(tool: ["python3", "-c", code])
        _ = try idle.waitForLine { $0 == "slept" }
        #expect(try ProcessAccount.waits(of: idle.pid) >= 10)
        #expect(try ProcessAccount.cpuTime(of: idle.pid) > 0)
        #expect(try ProcessAccount.memory(of: idle.pid).resident > 1_000)
        _ = try idle.terminate()
        #expect(throws: Failure.self) { try ProcessAccount.cpuTime(of: 0) }
    }
}
