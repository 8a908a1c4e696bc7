import CTestSupport
import Glibc
import TestSupport
import Testing

private let owner = Programs.source("Tests/Scripts/own-name.py")

@Suite(.serialized) struct PrivateBusTests {
    @Test(arguments: PrivateBus.Implementation.allCases)
    func aToolCanTalkToIt(on implementation: PrivateBus.Implementation) throws {
        try PrivateBus.with(on: implementation) { bus in
            let list = try bus.busctl(["list", "--no-legend"])
            #expect(list.status == 0)
            #expect(list.stdout.contains("org.freedesktop.DBus "))
            // The environment leads the tools to the same bus.
            let names = try bus.run([
                "gdbus", "call", "--session", "-d", "org.freedesktop.DBus", "-o", "/org/freedesktop/DBus",
                "-m", "org.freedesktop.DBus.ListNames",
            ])
            #expect(names.stdout.hasPrefix("(['org.freedesktop.DBus', ':1."))
        }
    }

    @Test(arguments: PrivateBus.Implementation.allCases)
    func namesAreWaitedForBothWays(on implementation: PrivateBus.Implementation) throws {
        try PrivateBus.with(on: implementation) { bus in
            let program = try BackgroundProgram(tool: ["python3", owner, "org.example.Owner", bus.address])
            try bus.waitForName("org.example.Owner")
            let status = try bus.busctl(["status", "org.example.Owner"])
            #expect(status.stdout.contains("PID=\(program.pid)\n"))
            _ = try program.terminate()
            try bus.waitForNameLost("org.example.Owner")
        }
    }

    @Test func waitingForANameThatNeverComesEnds() throws {
        try PrivateBus.with { bus in
            #expect(throws: Failure.self) { try bus.waitForName("org.example.Nobody", timeout: .milliseconds(200)) }
        }
    }

    @Test(arguments: PrivateBus.Implementation.allCases)
    func namesAreActivatedAndEndWithTheBus(on implementation: PrivateBus.Implementation) throws {
        let pid = try PrivateBus.with(
            services: [
                .init(name: "org.example.Late", command: "/usr/bin/python3 \(owner) org.example.Late"),
                .init(name: "org.example.Broken", command: "/bin/false"),
            ], on: implementation
        ) { bus in
            let ping = ["/", "org.freedesktop.DBus.Peer", "Ping"]
            #expect(try bus.busctl(["call", "org.example.Broken"] + ping).status == 1)
            #expect(try bus.busctl(["call", "org.example.Late"] + ping).status == 0)
            let status = try bus.busctl(["status", "org.example.Late"]).stdout
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("PID=") })
            let pid = try #require(Int32(line.dropFirst(4)))
            #expect(kill(pid, 0) == 0)
            return pid
        }
        #expect(kill(pid, 0) == -1 && errno == ESRCH)
    }

    @Test(arguments: PrivateBus.Implementation.allCases)
    func nothingIsLeft(of implementation: PrivateBus.Implementation) throws {
        let bus = try PrivateBus(on: implementation)
        let (pid, directory) = (bus.pid, bus.directory)
        #expect(kill(pid, 0) == 0 && access(directory, F_OK) == 0)
        bus.stop()
        #expect(kill(pid, 0) == -1 && errno == ESRCH)
        #expect(access(directory, F_OK) == -1 && errno == ENOENT)
    }

    @Test func aBusThatCannotStartSaysWhyAndLeavesNothing() throws {
        #expect(throws: Failure.self) { try PrivateBus(additions: "<nonsense/>") }
    }

    @Test(arguments: PrivateBus.Implementation.allCases)
    func twoHundredClientsConnect(to implementation: PrivateBus.Implementation) throws {
        let many = """
            import asyncio, sys
            from dbus_fast.aio import MessageBus
            async def main():
                return await asyncio.gather(*[MessageBus(bus_address=sys.argv[1]).connect() for _ in range(200)])
            print(len(asyncio.run(main())))
            """
        try PrivateBus.with(on: implementation) { bus in
            let result = try bus.run(["python3", "-c", many, bus.address])
            #expect(result.stdout == "200\n", "\(result.stderr)")
        }
    }

    @Test func aSystemBusDeniesByDefault() throws {
        try PrivateBus.with(.system(policies: [])) { bus in
            let request = [
                "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName", "su", "org.example.A", "0",
            ]
            let denied = try bus.busctl(request)
            #expect(denied.status == 1)
            #expect(denied.stderr == "Call failed: Access denied\n")
        }
        try PrivateBus.with(.session, on: .dbusDaemon) { bus in
            let request = [
                "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName", "su", "org.example.A", "0",
            ]
            let allowed = try bus.busctl(request)
            #expect(allowed.stdout == "u 1\n")
        }
    }

    @Test func aCrashLeavesNothing() async throws {
        let result = try #require(
            await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
                let bus = try PrivateBus()
                let stat = try Tool.run(["cut", "-d ", "-f4", "/proc/\(bus.pid)/stat"]).stdout
                print("left \(bus.directory) \(bus.pid) \(stat)")
                fflush(nil)
                kill(getpid(), SIGKILL)
            })
        let output = String(decoding: result.standardOutputContent, as: UTF8.self)
        let words = try #require(output.split(separator: "\n").first { $0.hasPrefix("left ") }).split(separator: " ")
        let (directory, bus, tether) = (String(words[1]), try #require(Int32(words[2])), try #require(Int32(words[3])))
        #expect(CTestSupport_wait_for_pid(bus, 30_000) == 0)
        #expect(CTestSupport_wait_for_pid(tether, 30_000) == 0)
        #expect(access(directory, F_OK) == -1 && errno == ENOENT)
    }
}
