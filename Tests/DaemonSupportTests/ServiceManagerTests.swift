import Glibc
import Loop
import Testing

@testable import DaemonSupport

@Suite(.timeLimit(.minutes(1))) struct ServiceManagerTests {
    private let log = Log(program: "p")

    @Test(arguments: [false, true])
    func managerIsTold(isAbstract: Bool) throws {
        let listener = try Listener(isAbstract: isAbstract)
        let environment = ["NOTIFY_SOCKET": listener.address]
        let manager = ServiceManager(log: self.log, environment: { environment[$0] })
        #expect(manager.isPresent)
        manager.ready()
        #expect(listener.receive() == "READY=1")
        manager.ready("2 apps\nREADY=0")
        #expect(listener.receive() == #"READY=1"# + "\n" + #"STATUS=2 apps\nREADY=0"#)
        manager.status("fine\u{1B}")
        #expect(listener.receive() == #"STATUS=fine\x1b"#)
        manager.stopping()
        #expect(listener.receive() == "STOPPING=1")
        let before = Clock.monotonic.now()
        manager.reloading()
        let lines = listener.receive()?.split(separator: "\n") ?? []
        #expect(lines.count == 2)
        #expect(lines.first == "RELOADING=1")
        let stamp = try #require(lines.last.flatMap { Int64($0.dropFirst("MONOTONIC_USEC=".count)) })
        #expect((before...Clock.monotonic.now()).contains(stamp))
        #expect(listener.receive() == nil)
    }

    @Test func withoutAManagerNothingHappens() throws {
        let loop = try EventLoop()
        let manager = ServiceManager(log: self.log, environment: { _ in nil })
        #expect(!manager.isPresent)
        manager.ready()
        manager.startWatchdog(on: loop)
        #expect(try !loop.runOnce(timeout: 2_000))
    }

    @Test(arguments: [
        "", "@", "/", "relative", "vsock:2:1", String(repeating: "/x", count: 60),
        "@" + String(repeating: "x", count: 108),
        "/a\u{0}b",
    ])
    func addressThatIsNoneIsReportedAndCountsAsNone(_ address: String) throws {
        let pipe = try Pipe()
        let log = Log(program: "p", style: .plain, to: pipe.writer.raw)
        let manager = ServiceManager(log: log, environment: { $0 == "NOTIFY_SOCKET" ? address : nil })
        manager.ready()
        #expect(!manager.isPresent)
        #expect(drain(pipe.reader.raw).hasPrefix("p: NOTIFY_SOCKET="))
    }

    @Test func longestAddressesFit() throws {
        #expect(UnixAddress("/" + String(repeating: "x", count: 106)) != nil)
        #expect(UnixAddress("/" + String(repeating: "x", count: 107)) == nil)
        #expect(UnixAddress("@" + String(repeating: "x", count: 107)) != nil)
        #expect(UnixAddress("@" + String(repeating: "x", count: 108)) == nil)
    }

    @Test func managerThatIsGoneIsReported() throws {
        let pipe = try Pipe()
        let log = Log(program: "p", style: .plain, to: pipe.writer.raw)
        let manager = ServiceManager(
            log: log, environment: { $0 == "NOTIFY_SOCKET" ? "@jostle-nobody-\(getpid())" : nil })
        manager.stopping()
        #expect(
            drain(pipe.reader.raw)
                == "p: cannot tell the service manager 'STOPPING=1': sendto: Connection refused (111)\n")
    }

    @Test func watchdogIsPingedAtHalfItsInterval() throws {
        let listener = try Listener(isAbstract: true)
        let loop = try EventLoop()
        let environment = [
            "NOTIFY_SOCKET": listener.address, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": String(getpid()),
        ]
        let manager = ServiceManager(log: self.log, environment: { environment[$0] })
        let start = Clock.monotonic.now()
        manager.startWatchdog(on: loop)
        for ping in 1...3 as ClosedRange<Int64> {
            #expect(try loop.runOnce(timeout: nil))
            #expect(listener.receive() == "WATCHDOG=1")
            #expect(Clock.monotonic.now() - start >= ping * 10_000)
        }
        #expect(loop.rounds == 3)
    }

    @Test(arguments: [(5_000, ""), (5_001, "p: stood still for 5 ms; the service manager ends us after 20 ms\n")])
    func pingThatIsNearlyTooLateIsReported(late: Int64, _ report: String) throws {
        let listener = try Listener(isAbstract: true)
        let pipe = try Pipe()
        let loop = try EventLoop()
        let environment = ["NOTIFY_SOCKET": listener.address, "WATCHDOG_USEC": "20000"]
        var now: Int64 = 0
        let manager = ServiceManager(
            log: Log(program: "p", style: .plain, to: pipe.writer.raw), environment: { environment[$0] }, now: { now })
        manager.startWatchdog(on: loop)
        now = 10_000 + late
        #expect(try loop.runOnce(timeout: nil))
        #expect(listener.receive() == "WATCHDOG=1")
        // The next is in time again, counted from this one.
        now += 10_000
        #expect(try loop.runOnce(timeout: nil))
        #expect(listener.receive() == "WATCHDOG=1")
        #expect(drain(pipe.reader.raw) == report)
    }

    @Test func aManagerThatDoesNotReadIsNotWaitedFor() throws {
        let listener = try Listener(isAbstract: true)
        let pipe = try Pipe()
        let loop = try EventLoop()
        let environment = ["NOTIFY_SOCKET": listener.address, "WATCHDOG_USEC": "20000"]
        let manager = ServiceManager(
            log: Log(program: "p", style: .plain, to: pipe.writer.raw), environment: { environment[$0] })
        manager.ready()
        var said = ""
        while said.isEmpty {
            manager.status("fine")
            said = drain(pipe.reader.raw)
        }
        let why = "sendto: Resource temporarily unavailable (11)"
        #expect(said == "p: cannot tell the service manager 'STATUS=fine': \(why)\n")
        // That it is ready the manager was told before.
        manager.ready()
        manager.stopping()
        manager.startWatchdog(on: loop)
        #expect(try loop.runOnce(timeout: nil))
        #expect(listener.receive() == "READY=1")
        var next: String?
        repeat { next = listener.receive() } while next == "STATUS=fine"
        #expect(next == nil)
        // It is told that we live before the next ping would be due.
        loop.once(at: Clock.monotonic.now() + 5_000) {}
        #expect(try loop.runOnce(timeout: nil))
        #expect(listener.receive() == "WATCHDOG=1")
    }

    @Test(arguments: [
        ["WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "1000", "WATCHDOG_PID": "x"],
        ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "-5"], ["WATCHDOG_USEC": "99999999999999999999"],
        ["WATCHDOG_USEC": "soon"], [:],
    ])
    func watchdogOfAnotherOrNoneMakesNoWakeUps(_ variables: [String: String]) throws {
        let listener = try Listener(isAbstract: true)
        let loop = try EventLoop()
        let address = listener.address
        let manager = ServiceManager(
            log: self.log, environment: { $0 == "NOTIFY_SOCKET" ? address : variables[$0] }, pid: 77)
        manager.startWatchdog(on: loop)
        #expect(try !loop.runOnce(timeout: 3_000))
        #expect(listener.receive() == nil)
    }
}

@Suite(.timeLimit(.minutes(1))) struct StartupTests {
    @Test func daemonsSignalsWaitForItsLoop() async {
        await #expect(processExitsWith: .success) {
            try Startup.prepareDaemon()
            for signal in Startup.signals { raise(signal) }
            raise(SIGPIPE)
            let loop = try EventLoop()
            var seen: Set<Int32> = []
            try loop.onSignals(Startup.signals) { seen.insert($0) }
            try loop.runOnce(timeout: nil)
            Glibc.exit(seen == [SIGTERM, SIGINT, SIGHUP] ? 0 : 1)
        }
    }

    @Test func missingStandardDescriptorsAreFilled() async {
        await #expect(processExitsWith: .success) {
            close(STDIN_FILENO)
            close(STDERR_FILENO)
            Startup.prepareProgram()
            let pipe = try Pipe()
            // Another thread of the test runner may have taken a number first, which is as good.
            let areOpen = fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDERR_FILENO, F_GETFD) >= 0
            Glibc.exit(areOpen && pipe.reader.raw > STDERR_FILENO ? 0 : 1)
        }
    }

    @Test func wholeTextIsWrittenThroughANarrowPipe() throws {
        let loop = try EventLoop()
        // Something has to read while we write.
        var command = ChildProcess.Command("wc", ["-c"])
        command.input = .pipe
        command.output = .pipe
        let child = try ChildProcess(command, on: loop) { _ in loop.stop() }
        if let writer = child.takeInput() {
            try writeAll(String(repeating: "0123456789", count: 50_000), to: writer.raw)
        }
        try loop.run()
        if let output = child.takeOutput() { #expect(drain(output.raw) == "500000\n") }
    }
}
