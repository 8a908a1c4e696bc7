import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Policy files that are read anew all the time, and that are written to all the time.
    @Suite(.serialized) struct Reloads {
        private static let first = "org.example.First"
        private static let second = "org.example.Second"

        // MARK: Time

        /// A MiB of names, and rules that let everybody else have events.
        private static let large: String = {
            var text = "[Policy]\nDefault=allow\n[Rule many]\nThen=deny\n"
            for line in 0..<600 {
                let names = (0..<50).map { "org.example.of-many-names.Nobody\(line * 50 + $0)" }
                text += "WhenApp=" + names.joined(separator: " ") + "\n"
            }
            return text
        }()

        private static let appFile =
            "[App]\nUsage=Tests\nModes=push\n[Detector d]\npreset=shake.planar\nthreshold=15g\n"

        /// However much there is to read, events do not wait for it.
        ///
        /// In the ordinary suite only what does not depend on the machine is asked; `JOSTLE_ATTACK_SECONDS` asks for all.
        @Test func aReloadDelaysNoEvent() throws {
            try #require(Self.large.utf8.count >= 1 << 20)
            let stage = try Stage(broker: false)
            let apps = (0..<500).map { ("org.example.Installed\($0)", Self.appFile) }
            try stage.startBroker(
                policy: Self.large, apps: Dictionary(uniqueKeysWithValues: apps), "--state-dir", stage.state)
            let broker = try #require(stage.broker)
            let seconds = FloodBars(otherUser: false).seconds
            func measure(_ meanwhile: () throws -> Void) throws -> (ours: Figures, plain: Figures) {
                let good = try stage.reader(of: "norm(x, y, z) > 0.5g", every: 20_000, Self.first)
                let relay = try Relay(on: stage)
                try meanwhile()
                let ours = try #require(Figures(try stage.figures(of: good)))
                #expect(ours["lost"] == 0 && ours["refused"] == 0)
                #expect((ours["events"] ?? 0) >= 45 * seconds, "\(ours)")
                return (ours, try relay.figures())
            }
            let quiet = try measure { _ = try Tool.run(["sleep", "\(seconds)"]) }
            let before = try stage.count("PolicyGeneration", at: Stage.Object.broker)
            let busy = try measure {
                func reload(for duration: Duration) throws {
                    let end = ContinuousClock.now + duration
                    while ContinuousClock.now < end {
                        // One that comes while the files are read has them read once more.
                        try broker.signal(SIGHUP)
                        usleep(5_000)
                    }
                }
                try reload(for: .seconds(seconds))
                // How long one takes is up to the machine; that it ends under all those signals is not.
                try stage.until("two are in force") {
                    try reload(for: .milliseconds(100))
                    return try stage.count("PolicyGeneration", at: Stage.Object.broker) > before + 1
                }
            }
            // What a plain relay does at the same time is what the machine has to do with it.
            let more = FloodBars.asked == nil ? 1_000_000 : 10_000
            let usual = max(try #require(quiet.ours["p99_us"]), try #require(busy.plain["p99_us"]))
            #expect(
                try #require(busy.ours["p99_us"]) <= usual + more,
                "\(busy.ours), without reloads \(quiet.ours), a relay meanwhile \(busy.plain)")
        }

        // MARK: Writers

        /// One of two policies of the same length: each lets one app have events, and half of each lets both or none.
        private static func policy(_ number: Int) -> String {
            func rule(_ app: String, _ isAllowed: Bool) -> String {
                "[Rule \(app)]\nWhenApp=\(app)\nThen=\(isAllowed ? "allow" : "deny ")\n"
            }
            let padding = String(repeating: "# \(String(repeating: "-", count: 61))\n", count: 2_000)
            return rule(Self.first, number == 0) + padding + rule(Self.second, number == 1)
        }

        /// Writes two texts to a file in turn, in place and a page at a time, never half of one for long, until it is told.
        private static let writer = """
            import os, random, signal, sys, time
            path, pause, told = sys.argv[1], float(sys.argv[2]), []
            texts = [open(other, "rb").read() for other in sys.argv[3:]]
            file, number, chance = os.open(path, os.O_WRONLY), 0, random.Random(1)
            signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
            print("writing", flush=True)
            while not told:
                number += 1
                text = texts[number % 2]
                for start in range(0, len(text), 4096):
                    os.pwrite(file, text[start:start + 4096], start)
                time.sleep(chance.random() * pause)
            print("written", number, flush=True)
            """

        /// Whoever writes to a file without ever pausing, or with pauses in which it is read, does not get a mixture in force.
        @Test(arguments: [0, 0.2]) func whatIsInForceWasWrittenAsAWhole(_ pause: Double) throws {
            let stage = try Stage(broker: false)
            let texts = (0..<2).map(Self.policy)
            try #require(texts[0].utf8.count == texts[1].utf8.count)
            let sources = try stage.directory("texts", ["0": texts[0], "1": texts[1]])
            try stage.startBroker(policy: texts[0], "--state-dir", stage.state)
            let file = "\(stage.bus.directory)/policy/10-test.conf"
            let detector = "\(Stage.always),every=10ms"
            let apps = try [Self.first, Self.second].map { try stage.watch(detector, "--app", $0) }
            let broker = try #require(stage.broker)
            let writer = try BackgroundProgram(
                tool: [
                    "python3", "-c", Self.writer, file, "\(pause)", "\(sources)/0.conf", "\(sources)/1.conf",
                ])
            _ = try writer.waitForLine { $0 == "writing" }
            // It is really dangerous: whoever just reads it finds what nobody wrote.
            var mixtures = 0
            func reload(for duration: Duration) throws {
                let end = ContinuousClock.now + duration
                while ContinuousClock.now < end {
                    try broker.signal(SIGHUP)
                    if !texts.contains(try String(contentsOfFile: file, encoding: .utf8)) { mixtures += 1 }
                    usleep(1_000)
                }
            }
            try reload(for: .seconds(3))
            // How often either runs is up to the machine.
            try stage.until(pause > 0 ? "one is read in a pause" : "a mixture is read") {
                try reload(for: .milliseconds(100))
                return pause > 0 ? try stage.count("PolicyGeneration", at: Stage.Object.broker) > 1 : mixtures > 0
            }
            #expect(try writer.terminate() == .exited(0))
            let reload = [
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "Reload", "a{sv}", "0",
            ]
            #expect(try stage.busctl(reload).status == 0, "once it holds still, it is read")
            let generation = try stage.count("PolicyGeneration", at: Stage.Object.broker)
            #expect(generation > (pause == 0 ? 1 : 2))
            try stage.until("it decides") {
                try stage.sql("journal.db", "SELECT count(*) FROM verdict WHERE generation = \(generation)") != "0\n"
            }
            #expect(try broker.terminate() == .exited(0))
            for app in apps { #expect(app.end == nil) }
            // For each policy: which apps had events, and which were denied some.
            let rows = try stage.sql(
                "journal.db",
                """
                SELECT generation || '|' || coalesce(group_concat(DISTINCT CASE WHEN delivered THEN app END), '')
                    || '|' || coalesce(group_concat(DISTINCT CASE WHEN reason = 'S2.denied' THEN app END), '')
                FROM verdict GROUP BY generation
                """
            ).split(separator: "\n").map(String.init)
            #expect(!rows.isEmpty)
            for row in rows {
                let parts = row.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
                try #require(parts.count == 3, "\(row)")
                let (served, denied) = (parts[1], parts[2])
                #expect(!(served.contains(Self.first) && served.contains(Self.second)), "both: \(row)")
                #expect(!(denied.contains(Self.first) && denied.contains(Self.second)), "none: \(row)")
                #expect(served != denied, "\(row)")
            }
        }
    }
}
