import Glibc
import TestSupport
import Testing

/// The programs the benchmark compares with do what they claim, on both buses.
@Suite(.serialized) struct BaselineTests {
    private static let program = "jostle-baseline"
    private static let peer = Programs.source("Tests/Scripts/bus-peer.py")

    /// The whole road: every sample published comes out as one event.
    @Test(arguments: PrivateBus.Implementation.allCases, [1, 7])
    func everySampleBecomesAnEvent(on implementation: PrivateBus.Implementation, batch: Int) throws {
        try PrivateBus.with(on: implementation) { bus in
            let app = try start("subscribe", "--count", "500", on: bus)
            let unique = try app.waitForLine { $0.hasPrefix(":") }
            let sensor = try start("publish", "--rate", "2000", "--count", "500", "--batch", "\(batch)", on: bus)
            try bus.waitForName("org.jostle.Sensors1")
            let relay = try start("relay", "--to", unique, on: bus)

            let received = try figures(of: app)
            #expect(received["events"] == 500 && received["lost"] == 0 && received["refused"] == 0)
            let quantiles = ["min_us", "p50_us", "p90_us", "p99_us", "max_us"].compactMap { received[$0] }
            #expect(quantiles.count == 5 && quantiles == quantiles.sorted())
            #expect(try figures(of: sensor)["published"] == 500)
            #expect(try app.waitForEnd() == .exited(0))
            #expect(try sensor.waitForEnd() == .exited(0))
            let relayed = try terminated(relay)
            #expect(relayed["samples"] == 500 && relayed["lost"] == 0 && relayed["events"] == 500)
        }
    }

    @Test func onlyTheOwnerOfTheNameIsBelieved() throws {
        try PrivateBus.with { bus in
            // The relay follows the sensor, and a stranger sends it samples as well.
            let sensor = try start("publish", "--rate", "1000", "--count", "100000", on: bus)
            try bus.waitForName("org.jostle.Sensors1")
            let app = try start("subscribe", "--count", "100000", "--timeout", "100", on: bus)
            let unique = try app.waitForLine { $0.hasPrefix(":") }
            let relay = try start("relay", "--to", unique, on: bus)
            try bus.waitForName("org.jostle.Baseline.Relay")
            let forged = try bus.busctl([
                "--destination=org.jostle.Baseline.Relay", "emit", "/org/jostle/Sensors1/accelerometer",
                "org.jostle.Sensors1.Sensor", "Samples", "(tatad)", "1", "1", "1", "3", "9", "9", "9",
            ])
            #expect(forged.status == 0, "\(forged.stderr)")
            try settle("org.jostle.Baseline.Relay", on: bus)
            let relayed = try terminated(relay)
            #expect(relayed["refused"] == 1)
            _ = try sensor.terminate()
            _ = try app.terminate()
        }
    }

    @Test func onlyShakesBecomeEvents() throws {
        try PrivateBus.with { bus in
            let clients = try (0..<3).map { _ in
                try start(
                    "fanout-client", "--mode", "raw", "--threshold", "2.3", "--from", "org.example.Sensors", on: bus)
            }
            // Nobody is there to claim from.
            for client in clients { #expect(try client.waitForEnd() == .exited(1)) }

            let sensor = try start(
                "publish", "--rate", "2000", "--count", "400", "--active-every", "20", "--claimants", "3",
                "--name", "org.example.Sensors", on: bus)
            try bus.waitForName("org.example.Sensors")
            let apps = try (0..<3).map { _ in
                try start(
                    "fanout-client", "--mode", "raw", "--threshold", "2.3", "--from", "org.example.Sensors", on: bus)
            }
            let names = try apps.map { app in try app.waitForLine { $0.hasPrefix(":") } }
            #expect(try figures(of: sensor)["published"] == 400)
            for (app, name) in zip(apps, names) {
                try settle(name, on: bus)
                let counted = try terminated(app)
                #expect(counted["samples"] == 400 && counted["events"] == 20 && counted["refused"] == 0)
            }
        }
    }

    @Test func theSensorLooksLikeOne() throws {
        try PrivateBus.with { bus in
            let sensor = try start("publish", "--rate", "100", "--count", "1", "--batch", "5", on: bus)
            try bus.waitForName("org.jostle.Sensors1")
            let object = ["org.jostle.Sensors1", "/org/jostle/Sensors1/accelerometer"]
            let introspected = try bus.busctl(["introspect"] + object + ["org.jostle.Sensors1.Sensor"])
            #expect(introspected.stdout.contains(".Claim "))
            #expect(introspected.stdout.contains(".Channels "))
            let all = try bus.busctl(
                ["call"] + object + ["org.freedesktop.DBus.Properties", "GetAll", "s", "org.jostle.Sensors1.Sensor"])
            #expect(
                all.stdout
                    == "a{sv} 4 \"Channels\" as 3 \"x\" \"y\" \"z\" \"Unit\" s \"g\" \"Range\" d 16 \"Rates\" ad 1 100\n"
            )
            let wrong = try bus.busctl(["call"] + object + ["org.jostle.Sensors1.Sensor", "Claim", "s", "fast"])
            #expect(wrong.stderr == "Call failed: Claim takes a{sv}\n")
            let claimed = try bus.busctl(["call"] + object + ["org.jostle.Sensors1.Sensor", "Claim", "a{sv}", "0"])
            #expect(claimed.stdout == "a{sv} 2 \"rate\" d 100 \"batch-latency\" t 40000\n")
            #expect(try figures(of: sensor)["published"] == 1)
        }
    }

    /// It stands in for jostle-sensord, so jostle-brokerd must take it for one.
    @Test func theBrokerClaimsFromIt() throws {
        try PrivateBus.with { bus in
            let sensor = try start("publish", "--rate", "50", "--count", "20", on: bus)
            try bus.waitForName("org.jostle.Sensors1")
            let broker = try BackgroundProgram("jostle-brokerd", ["--bus", bus.address, "--no-journal"])
            try bus.waitForName("org.jostle.Broker1")
            let app = try start(
                "subscribe", "--broker", "--app", "org.example.A", "--count", "20", "--when", "hypot(x, y) > 1g",
                "--rest", "0", on: bus)
            _ = try app.waitForLine { $0.hasPrefix(":") }
            #expect(try figures(of: sensor)["published"] == 20)
            let received = try figures(of: app)
            #expect(received["events"] == 20 && received["lost"] == 0 && received["refused"] == 0)
            _ = try broker.terminate()
        }
    }

    @Test func aClaimSaysWhatItWants() throws {
        try PrivateBus.with { bus in
            let reader = try BackgroundProgram("jostle-sensord", ["--bus", bus.address, "--source", "synth:"])
            try bus.waitForName("org.jostle.Sensors1")
            let client = try start(
                "fanout-client", "--mode", "raw", "--rate", "100", "--latency", "50000", "--threshold", "9", on: bus)
            let name = try client.waitForLine { $0.hasPrefix(":") }
            let claimants = try bus.busctl([
                "get-property", "org.jostle.Sensors1", "/org/jostle/Sensors1/accelerometer",
                "org.jostle.Sensors1.Sensor", "Claimants",
            ])
            #expect(claimants.stdout.hasPrefix("a(sdttta{sv}) 1 \"\(name)\" 100 50000 "), "\(claimants)")
            _ = try terminated(client)
            _ = try reader.terminate()
        }
    }

    @Test func anAppRegistersAsTheBrokerWants() throws {
        try PrivateBus.with { bus in
            let broker = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/broker-double.py"), bus.address, "40"])
            try bus.waitForName("org.jostle.Broker1")
            let app = try start(
                "subscribe", "--broker", "--app", "org.example.A", "--count", "40", "--every", "9", on: bus)
            #expect(try broker.waitForLine(where: { _ in true }) == "org.example.A")
            #expect(
                try broker.waitForLine(where: { _ in true }) == """
                    shake {"every": ["t", 9], "preset": ["s", "shake.planar"], "rest": ["t", 1], "threshold": ["d", 1.0]}
                    """)
            let received = try figures(of: app)
            #expect(received["events"] == 40 && received["lost"] == 1)

            let other = try start(
                "fanout-client", "--mode", "event", "--app", "org.example.B", "--threshold", "2", on: bus)
            _ = try other.waitForLine { $0.hasPrefix(":") }
            #expect(try broker.waitForLine(where: { $0.hasPrefix("org.") }) == "org.example.B")
            _ = try broker.waitForLine { $0 == "sent" }
            try settle("org.example.B", on: bus)
            let counted = try terminated(other)
            #expect(counted["events"] == 40)
        }
    }

    @Test func aDaemonOwnsItsNameUntilTheEnd() throws {
        try PrivateBus.with { bus in
            let daemon = try start("daemon", "--name", "org.example.Daemon", on: bus)
            try bus.waitForName("org.example.Daemon")
            #expect(try daemon.terminate() == .exited(0))
            #expect(daemon.output.isEmpty && daemon.errors.isEmpty)
        }
    }

    @Test func aDaemonKeepsANumberBeforeItOwnsItsName() throws {
        try PrivateBus.with { bus in
            let path = "\(bus.directory)/number"
            let daemon = try start("daemon", "--name", "org.example.Daemon", "--keep", path, on: bus)
            try bus.waitForName("org.example.Daemon")
            #expect(try Tool.run(["stat", "-c", "%s", path]).stdout == "8\n")
            #expect(try daemon.terminate() == .exited(0))
        }
        let result = try Tool.run([
            Programs.path(of: Self.program), "daemon", "--bus", "unix:path=/nowhere", "--name", "org.example.A",
            "--keep", "/nowhere/number",
        ])
        #expect(result.status == 1 && result.stderr.contains("/nowhere/number"))
    }

    @Test func aBaselineLoadsNoSwift() throws {
        let libraries = try Tool.run(["ldd", Programs.path(of: Self.program)])
        #expect(libraries.stdout.contains("libdbus-1.so.3"))
        #expect(!libraries.stdout.contains("libswift") && !libraries.stdout.contains("libstdc++"))
    }

    @Test(arguments: [
        ["relay", "--bus", "unix:path=/nowhere"],
        ["publish", "--bus", "unix:path=/nowhere", "--rate", "0", "--count", "1"],
        ["daemon", "--bus", "unix:path=/nowhere", "--name", "org.example.A"],
        ["subscribe", "--bus", "unix:path=/nowhere", "--count", "0"],
    ])
    func whatCannotBeDoneIsRefused(_ arguments: [String]) throws {
        let result = try Tool.run([Programs.path(of: Self.program)] + arguments)
        #expect(result.status == 1 && result.stderr.hasPrefix("jostle-baseline: "))
    }

    @Test(arguments: [
        [], ["fly", "--bus", "x"], ["daemon"], ["daemon", "--bus"], ["relay", "--bus", "x", "--threshold", "nan"],
        ["publish", "--bus", "x", "--count", "-1"], ["publish", "--bus", "x", "--rate", "1x"],
    ])
    func wrongUsageIsExplained(_ arguments: [String]) throws {
        let result = try Tool.run([Programs.path(of: Self.program)] + arguments)
        #expect(result.status == 2 && result.stderr.contains("usage: jostle-baseline COMMAND"))
    }

    private func start(_ command: String, _ options: String..., on bus: PrivateBus) throws -> BackgroundProgram {
        try BackgroundProgram(Self.program, [command, "--bus", bus.address] + options)
    }

    /// Returns when a program has handled all that was sent to it before: the bus, and the program, work in order.
    private func settle(_ name: String, on bus: PrivateBus) throws {
        let pong = try bus.busctl(["call", name, "/", "org.freedesktop.DBus.Peer", "Ping"])
        #expect(pong.status == 0, "\(pong.stderr)")
    }

    /// What the program prints at its end.
    private func figures(of program: BackgroundProgram) throws -> Figures {
        try #require(Figures(try program.waitForLine { $0.hasPrefix("{") }))
    }

    private func terminated(_ program: BackgroundProgram) throws -> Figures {
        #expect(try program.terminate() == .exited(0))
        return try figures(of: program)
    }
}
