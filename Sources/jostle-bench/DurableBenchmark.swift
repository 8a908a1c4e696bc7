import Arbitration
import DBus
import Glibc
import Journal
import Loop
import Motion
import TestSupport

/// What it costs that apps registered for good: a restart with many of them, and what they hold while nothing happens.
enum DurableBenchmark {
    private static let apps = 10_000
    private static let detectorsPerApp = 3

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let stage = try Stage()
        defer { stage.end() }
        let files = "\(stage.bus.directory)/apps.d"
        try self.writeFiles(files)
        try self.fill(stage.stateDirectory)
        var times = Pairs()
        for _ in 0..<plan.longRounds {
            let (broker, time) = try self.restart(stage, files)
            times.add(ours: time, baseline: try self.readFiles(files))
            _ = try broker.terminate()
        }
        report(times.figure("durable.restart", "ms", within: .atMost(25)))

        let (broker, _) = try self.restart(stage, files)
        // What the start left to do is done this much later.
        pass(seconds: 2)
        let least = try stage.leastDaemon()
        let waits = try [broker, least].map { program throws(Failure) in try ProcessAccount.waits(of: program.pid) }
        pass(seconds: plan.idle)
        let woken = try ProcessAccount.waits(of: broker.pid) - waits[0]
        let leastWoken = try ProcessAccount.waits(of: least.pid) - waits[1]
        report(Figure("durable.idle", "wake-ups", woken, beside: leastWoken, within: .atMost(1)))
        // 64 MiB where the least daemon holds 2.7.
        report(
            try ProcessAccount.memory(of: broker.pid).figure(
                "durable", beside: try ProcessAccount.memory(of: least.pid), within: .atMost(23.5)))
    }

    /// Milliseconds that it takes to read the same files, and nothing of what they say.
    private static func readFiles(_ directory: String) throws(Failure) -> Double {
        let began = Clock.monotonic.now()
        var words = 0
        for index in 0..<Self.apps {
            words += PlainReading.words(of: try contents(of: "\(directory)/\(self.name(index)).conf"))
        }
        guard words > Self.apps else { throw Failure("there is nothing in the files") }
        return Double(Clock.monotonic.now() - began) / 1_000
    }

    private static func name(_ index: Int) -> String { "org.example.App\(index)" }

    /// A file for each app, as its package would bring it.
    private static func writeFiles(_ directory: String) throws(Failure) {
        // SAFETY: the path is NUL-terminated for the call.
        guard unsafe mkdir(directory, 0o700) == 0 else { throw Failure("cannot make \(directory)") }
        for index in 0..<Self.apps {
            // SAFETY: path, mode and text are NUL-terminated for the calls, and the stream is open until it is closed.
            guard let file = unsafe fopen("\(directory)/\(self.name(index)).conf", "w") else {
                throw Failure("cannot write an app file")
            }
            unsafe fputs("[App]\nUsage=Does something when you shake the device\nModes=audio\n", file)
            unsafe fclose(file)
        }
    }

    /// Puts the registrations on the disk, as a broker would.
    private static func fill(_ directory: String) throws(Failure) {
        let run = StoreRun(started: Clock.wallClock(), boot: "bench", version: "bench")
        let store = Store(in: directory, run: run) {}
        store.appsAreJoined()
        for index in 0..<Self.apps {
            let detectors = (0..<Self.detectorsPerApp).map { detector in
                DetectorRequest(
                    name: "shake-\(detector)",
                    options: [
                        "preset": .text("shake.planar"),
                        "threshold": .number(1.2 + Double((index * Self.detectorsPerApp + detector) % 6_800) / 1_000),
                    ])
            }
            let id = AppID(self.name(index))
            _ = store.set(
                id,
                to: DurableApp(
                    id, IdentityBinding(user: getuid(), proof: .name),
                    usage: "Does something when you shake the device",
                    modes: WordSet([.audio]), detectors: detectors))
        }
        store.close(within: .seconds(60))
    }

    /// Milliseconds from the start until the broker shows the detectors of the last app.
    private static func restart(
        _ stage: Stage, _ files: String
    ) throws(Failure) -> (broker: BackgroundProgram, time: Double) {
        let began = Clock.monotonic.now()
        let broker = try stage.broker(["--apps", files, "--log-level", "err"])
        do {
            let loop = try EventLoop()
            let connection = Connection(to: .address(stage.bus.address), on: loop)
            try connection.openAndWait()
            let last = "/org/jostle/Broker1/apps/org_2eexample_2eApp\(Self.apps - 1)"
            guard let path = ObjectPath(last) else { throw Failure("\(last) is no path") }
            let target = CallTarget("org.jostle.Broker1", path, "org.freedesktop.DBus.Properties")
            while true {
                let answer = try? connection.callAndWait(target, "Get", "org.jostle.Broker1.App", "Detectors")
                    .read(reply: Value.self)
                if case .array(_, let rows) = answer, rows.count == Self.detectorsPerApp { break }
                guard Clock.monotonic.now() - began < 60_000_000 else {
                    throw Failure("the last app has no detectors")
                }
            }
            connection.close()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(error)")
        }
        return (broker, Double(Clock.monotonic.now() - began) / 1_000)
    }
}
