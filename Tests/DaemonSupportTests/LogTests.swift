import Glibc
import Loop
import Testing

@testable import DaemonSupport

@Suite(.timeLimit(.minutes(1))) struct LogTests {
    @Test func linesCarryTheirLevelWhenNoTerminalReadsThem() throws {
        let pipe = try Pipe()
        let log = Log(program: "jostle-brokerd", level: .debug, to: pipe.writer.raw)
        log.error("a")
        log.warning("b")
        log.notice("c")
        log.info("d")
        log.debug("e")
        #expect(drain(pipe.reader.raw) == "<3>a\n<4>b\n<5>c\n<6>d\n<7>e\n")
    }

    @Test func linesCarryTheProgramWhenATerminalReadsThem() throws {
        let terminal = OwnedDescriptor(adopting: try systemCall("open") { open("/dev/ptmx", O_RDWR | O_NOCTTY) })
        // Unlock the other side and open it: TIOCSPTLCK, TIOCGPTPEER.
        var isLocked: Int32 = 0
        try systemCall("ioctl") { ioctl(terminal.raw, 0x4004_5431, &isLocked) }
        let peer = try systemCall("ioctl") { ioctl(terminal.raw, 0x5441, O_RDWR | O_NOCTTY) }
        let screen = OwnedDescriptor(adopting: peer)
        try terminal.setBlocking(false)
        Log(program: "jostle-brokerd", to: screen.raw).error("broken")
        #expect(drain(terminal.raw) == "jostle-brokerd: broken\r\n")
    }

    @Test func messageOfALevelThatIsOffIsNotEvenMade() throws {
        let pipe = try Pipe()
        let log = Log(program: "p", level: .warning, style: .plain, to: pipe.writer.raw)
        func never() -> String {
            Issue.record("made though nobody wants it")
            return ""
        }
        log.notice(never())
        log.info(never())
        log.debug(never())
        log.warning("kept")
        log.level = .debug
        log.debug("asked for")
        #expect(drain(pipe.reader.raw) == "p: kept\np: asked for\n")
    }

    @Test(arguments: [
        ("two\nlines", #"two\nlines"#), ("a\r\tb", #"a\r\tb"#), ("\u{1B}[31mred", #"\x1b[31mred"#), ("\u{0}", #"\x00"#),
        ("\u{7F}\u{85}", #"\x7f\x85"#), ("\u{202E}txt", #"\u{202e}txt"#), ("\u{2028}", #"\u{2028}"#),
        ("ünï 🎉 cödé", "ünï 🎉 cödé"), ("", ""),
    ])
    func textOfAPeerCannotForgeALine(_ text: String, _ shown: String) throws {
        let pipe = try Pipe()
        Log(program: "p", style: .plain, to: pipe.writer.raw).error(text)
        #expect(drain(pipe.reader.raw) == "p: \(shown)\n")
    }

    @Test(arguments: ["x", "é", "🎉", "\u{1}"])
    func lineFitsAPipeInOnePiece(_ piece: String) throws {
        let pipe = try Pipe()
        Log(program: "p", style: .plain, to: pipe.writer.raw).error(String(repeating: piece, count: 10_000))
        let line = drain(pipe.reader.raw)
        #expect(line.utf8.count <= 4_096)
        #expect(line.utf8.count > 4_080)
        #expect(line.hasSuffix("…\n"))
    }

    @Test func floodingPlaceIsHeldBackAndSummedUp() throws {
        let pipe = try Pipe()
        var now: Int64 = 0
        let log = Log(program: "p", style: .plain, to: pipe.writer.raw, burst: 2, interval: 100) { now }
        var made = 0
        func flood() {
            for _ in 0..<5 {
                log.warning(
                    {
                        made += 1
                        return "flood \(made)"
                    }())
            }
        }
        flood()
        log.warning("another place")
        #expect(drain(pipe.reader.raw) == "p: flood 1\np: flood 2\np: another place\n")
        #expect(made == 2)
        now = 100
        flood()
        #expect(drain(pipe.reader.raw) == "p: suppressed 3 more like: flood 2\np: flood 3\np: flood 4\n")
        log.flush()
        #expect(drain(pipe.reader.raw) == "p: suppressed 3 more like: flood 4\n")
        log.flush()
        #expect(drain(pipe.reader.raw) == "")
    }

    @Test func debugMessagesAreNeverHeldBack() throws {
        let pipe = try Pipe()
        let log = Log(program: "p", level: .debug, style: .plain, to: pipe.writer.raw, burst: 1) { 0 }
        for _ in 0..<5 { log.debug("x") }
        #expect(drain(pipe.reader.raw) == String(repeating: "p: x\n", count: 5))
    }

    @Test func loopSumsUpWithoutAnotherMessage() throws {
        let pipe = try Pipe()
        let loop = try EventLoop()
        var now = Clock.monotonic.now()
        let log = Log(program: "p", style: .plain, to: pipe.writer.raw, burst: 1, interval: 1_000) { now }
        log.summarize(on: loop)
        #expect(try !loop.runOnce(timeout: 0))
        for _ in 0..<3 { log.info("x") }
        now += 1_000
        #expect(try loop.runOnce(timeout: nil))
        #expect(drain(pipe.reader.raw) == "p: x\np: suppressed 2 more like: x\n")
        // And then it rests: no wake-up is left behind.
        #expect(try !loop.runOnce(timeout: 5_000))
    }

    @Test func linesThatNobodyTakesAreCounted() throws {
        let pipe = try Pipe()
        let log = Log(program: "p", style: .plain, to: pipe.writer.raw)
        let filling = [UInt8](repeating: 10, count: 4_096)
        while write(pipe.writer.raw, filling, filling.count) > 0 {}
        log.error("first")
        log.error("second")
        _ = drain(pipe.reader.raw)
        log.error("third")
        #expect(drain(pipe.reader.raw) == "p: lost 2 lines that standard error did not take\np: third\n")
    }

    /// A pipe or a pair of stream sockets: who writes to it would wait, who reads would not.
    private struct Line: ~Copyable {
        let reader: OwnedDescriptor
        let writer: OwnedDescriptor

        init(isSocket: Bool) throws {
            var ends: [Int32] = [-1, -1]
            try systemCall(isSocket ? "socketpair" : "pipe") {
                isSocket ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)
            }
            let (reader, writer) = (ends[0], ends[1])
            try systemCall("fcntl") { fcntl(reader, F_SETFL, O_NONBLOCK) }
            self.reader = OwnedDescriptor(adopting: reader)
            self.writer = OwnedDescriptor(adopting: writer)
        }
    }

    @Test(arguments: [false, true]) func nobodyWhoDoesNotReadIsWaitedFor(isSocket: Bool) throws {
        let line = try Line(isSocket: isSocket)
        let log = Log(program: "p", level: .debug, style: .plain, to: line.writer.raw)
        let text = String(repeating: "x", count: 1_000)
        // More than either takes.
        let all = 4_000
        for _ in 0..<all { log.debug(text) }
        let taken = drain(line.reader.raw).split(separator: "\n")
        #expect(!taken.isEmpty && taken.count < all)
        #expect(taken.allSatisfy { $0 == "p: \(text)" })
        log.debug("next")
        #expect(
            drain(line.reader.raw)
                == "p: lost \(all - taken.count) lines that standard error did not take\np: next\n")
    }

    /// A stream that has little room takes a long line in part.
    @Test func aLineThatWasTakenInPartIsNotGoneOnWith() throws {
        let line = try Line(isSocket: true)
        var room: Int32 = 1
        let raw = line.writer.raw
        try systemCall("setsockopt") {
            setsockopt(raw, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        }
        let log = Log(program: "p", level: .debug, style: .plain, to: raw)
        let text = String(repeating: "x", count: 4_000)
        for _ in 0..<50 {
            log.debug("short")
            log.debug(text)
        }
        var taken = drain(line.reader.raw)
        log.debug("next")
        taken += drain(line.reader.raw)
        #expect(taken.split(separator: "\n").allSatisfy { $0.hasPrefix("p: ") })
        #expect(taken.hasSuffix(" lines that standard error did not take\np: next\n"))
    }

    @Test func closedStandardErrorIsSurvived() async {
        await #expect(processExitsWith: .exitCode(7)) {
            signal(SIGPIPE, SIG_IGN)
            let log = Log(program: "p")
            close(STDERR_FILENO)
            log.error("into the void")
            Glibc.exit(7)
        }
    }

    @Test func lineWrittenBeforeACrashIsThere() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Log(program: "p", style: .leveled).error("last words")
            abort()
        }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("<3>last words\n"))
    }

    @Test func namesOfLevelsAreThoseOfLogControl() {
        #expect(LogLevel.allCases.map(\.name) == ["err", "warning", "notice", "info", "debug"])
        for level in LogLevel.allCases { #expect(LogLevel(name: level.name) == level) }
        #expect(LogLevel(name: "emerg") == .error)
        #expect(LogLevel(name: "loud") == nil)
        #expect(LogLevel.error < .debug)
    }
}

@Suite struct LogLimiterTests {
    private let here = LogLimiter.Site(file: "a", line: 1)

    @Test func placesDoNotShareTheirLimit() {
        var limiter = LogLimiter(burst: 1, interval: 10)
        let there = LogLimiter.Site(file: "a", line: 2)
        _ = limiter.note("x", .error, by: self.here, at: 0)
        let admitted = [
            limiter.admits(self.here, at: 9), limiter.admits(there, at: 9), limiter.admits(self.here, at: 10),
        ]
        #expect(admitted == [false, true, true])
        #expect(limiter.nextDeadline == 10)
    }

    @Test func excessIsToldOnceAndOldestFirst() {
        var limiter = LogLimiter(burst: 1, interval: 10)
        for (line, start) in [(1, 5), (2, 0), (3, 3)] as [(Int, Int64)] {
            let site = LogLimiter.Site(file: "a", line: line)
            _ = limiter.note("\(line)", .info, by: site, at: start)
            if line != 3 { _ = limiter.admits(site, at: start + 1) }
        }
        #expect(limiter.nextDeadline == 10)
        let early = limiter.takeExcess(at: 9)
        #expect(early == [])
        let due = limiter.takeExcess(at: 15)
        #expect(due == [.init(level: .info, like: "2", count: 1), .init(level: .info, like: "1", count: 1)])
        let late = limiter.takeExcess(at: nil)
        #expect(late == [])
        #expect(limiter.nextDeadline == nil)
    }
}
