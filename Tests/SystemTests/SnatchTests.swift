import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// The session is locked when the device is torn from a hand and carried off: the worked example of docs/detectors.md.
    @Suite(.serialized) struct Snatched {
        private static let app = "org.example.Lock"
        private static let example = Programs.source("docs/examples/snatched")

        /// The parts of the example as they would be installed, and a logind that notes what it is asked. `jostle make` makes
        /// the motion.
        private func run(_ motion: String, _ body: (Stage, () throws -> Int) throws -> Void) throws {
            let app = "/usr/bin/python3 \(Self.example)/lock.py \(Self.app)"
            let address = "DBUS_SESSION_BUS_ADDRESS=$DBUS_STARTER_ADDRESS DBUS_SYSTEM_BUS_ADDRESS=$DBUS_STARTER_ADDRESS"
            let python = "PYTHONPATH=\(Programs.source("Sources/python"))"
            let service = PrivateBus.Service(
                name: Self.app, command: "/bin/sh -c \"\(address) \(python) exec \(app)\"")
            let stage = try Stage(source: nil, broker: false, services: [service])
            let log = "\(stage.home)/logind.log"
            let login = try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", "--template", "logind", "--logfile", log],
                environment: ["DBUS_SYSTEM_BUS_ADDRESS": stage.address])
            try stage.bus.waitForName("org.freedesktop.login1")
            // logind calls the session that the caller sees `auto`, too.
            let session = try stage.busctl(
                "call", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.DBus.Mock", "AddSession",
                "ssusb", "auto", "seat0", "\(getuid())", "me", "true")
            try #require(session.status == 0, "\(session)")
            let trace = "\(stage.home)/motion.csv"
            let made = try stage.jostle("make", motion, trace, "--rate", "50Hz", "--seed", "3")
            try #require(made.status == 0, "\(made)")
            let apps = "\(stage.home)/apps"
            try #require(mkdir(apps, 0o755) == 0)
            let copied = try stage.run(["cp", "\(Self.example)/\(Self.app).conf", apps])
            try #require(copied.status == 0, "\(copied)")
            try stage.startBroker("--policy", Programs.source("policies/examples/13-snatched"), "--apps", apps)
            try stage.startReader("trace:\(trace)")
            try body(stage) {
                // A line for each call: when it was, and its name.
                let calls = try Tool.run(["grep", "-cE", "^[0-9.]+ Lock ?$", log])
                return Int(calls.stdout.dropLast()) ?? 0
            }
            _ = try login.terminate()
        }

        @Test func theSessionIsLockedOnce() throws {
            // Two jerks, and two runs: the rest of the detector makes one of them.
            try self.run("noise=0.02g; rest 5s; shake 200ms peak=4g freq=5Hz; run 8s") { stage, locks in
                #expect(try stage.jostle("app", Self.app).stdout.contains("dead"))
                try stage.until("the session is locked") { try locks() == 1 }
                try stage.until("its answer is there") {
                    try stage.jostle("explain", "last", "--app", Self.app, "--json").stdout.contains("S5.acknowledged")
                }
                #expect(try stage.jostle("app", Self.app, "--json").stdout.contains("\"result\":\"done\""))
                #expect(try locks() == 1)
            }
        }

        /// Who shakes the device, or walks and then runs, locks nothing: there is no hit by the end of the motion.
        @Test func whoRunsByHimselfLocksNothing() throws {
            let motion = "noise=0.02g; rest 5s; shake 1s peak=4g; rest 5s; walk 10s; run 8s"
            let jostle = Programs.path(of: "jostle")
            let trace = try Tool.run([jostle, "make", motion, "-", "--rate", "50Hz", "--seed", "3"])
            try #require(trace.status == 0, "\(trace.stderr)")
            let file = try PrivateBus(files: ["motion.csv": trace.stdout])
            defer { file.stop() }
            let condition = try Tool.run(["sed", "-n", "s/^when=//p", "\(Self.example)/\(Self.app).conf"]).stdout
            let replay = try Tool.run([
                jostle, "replay", "\(file.directory)/motion.csv", "--when", String(condition.dropLast()), "--every",
                "50ms", "--rest", "1min", "--json",
            ])
            #expect(replay.status == 0 && replay.stdout.contains("\"hits\":0,"), "\(replay)")
        }
    }
}
