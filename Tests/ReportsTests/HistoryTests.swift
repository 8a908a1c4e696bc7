import Foundation
import TestSupport
import Testing

/// What a broker notes of the device, of apps and of sensors, with real processes on a bus of their own; and the page of it.
@Suite(.serialized) struct HistoryTests {
    private static let app = "org.example.Torch"

    /// A bus with a reader and a broker on it.
    private final class Scene {
        let bus: PrivateBus
        let broker: BackgroundProgram
        private let reader: BackgroundProgram
        var state: String { "\(self.bus.directory)/state" }

        init() throws {
            self.bus = try PrivateBus()
            self.reader = try BackgroundProgram(
                "jostle-sensord", ["--bus", self.bus.address, "--source", "synth:seed=1; noise=0.05g; gravity=z"])
            try Self.waitUntilServing(self.reader)
            self.broker = try BackgroundProgram(
                "jostle-brokerd",
                ["--bus", self.bus.address, "--state-dir", "\(self.bus.directory)/state"])
            try Self.waitUntilServing(self.broker)
        }

        deinit {
            for program in [self.broker, self.reader] { _ = try? program.terminate() }
            self.bus.stop()
        }

        private static func waitUntilServing(_ program: BackgroundProgram) throws {
            _ = try program.waitForLine(on: .errors) { $0.contains("serving the") }
        }

        func start(_ words: String...) throws -> BackgroundProgram {
            try BackgroundProgram("jostle", words + ["--bus", self.bus.address])
        }

        func jostle(_ words: String...) throws {
            let result = try Tool.run([Programs.path(of: "jostle")] + words + ["--bus", self.bus.address])
            try #require(result.status == 0, "\(result)")
        }

        /// What was noted of a kind, in its order; nothing while the journal has not been made.
        func noted(_ kind: String) throws -> [String] {
            let fields = ["app", "value", "rate", "count"].map { "coalesce(nullif(\($0), ''), '-')" }
            let result = try Tool.rows(
                of: "\(self.state)/journal.db",
                "SELECT \(fields.joined(separator: ", ")) FROM change WHERE kind = '\(kind)' ORDER BY id")
            if result.stderr.contains("no such table") || result.stderr.contains("unable to open") { return [] }
            try #require(result.status == 0, "\(result.stderr)")
            return result.stdout.split(separator: "\n").map(String.init)
        }

        func until(_ what: String, _ isSo: () throws -> Bool) throws {
            let deadline = ContinuousClock.now + .seconds(20)
            while try !isSo() {
                guard ContinuousClock.now < deadline else { throw Failure("\(what): not within 20 s") }
                usleep(5_000)
            }
        }
    }

    @Test func whatIsTheCaseIsNotedWhenItChanges() throws {
        let scene = try Scene()
        let app = try scene.start("watch", "--json", "shake.magnitude,threshold=0.5g,rest=0s", "--app", Self.app)
        _ = try app.waitForLine { $0.hasPrefix("{\"detector\":") }
        try scene.until("what it asks for") { try !scene.noted("asks").isEmpty }
        #expect(try scene.noted("asks") == ["\(Self.app) accelerometer 10.0 10.0"])
        #expect(try scene.noted("sensor") == ["- accelerometer 10.0 -"])
        // The same again is no news.
        for word in ["lock", "lock", "unlock", "pause", "resume"] { try scene.jostle(word) }
        let front = try scene.start("foreground", "org.example.Other")
        try scene.until("another in front") { try scene.noted("foreground").last == "- org.example.Other - -" }
        try scene.until("it is not") { try scene.noted("state").last == "\(Self.app) suspended - -" }
        _ = try front.terminate()
        _ = try app.terminate()
        try scene.until("it is gone") { try scene.noted("state").last == "\(Self.app) gone - -" }
        _ = try scene.broker.terminate()
        #expect(try scene.noted("lock") == ["- unlocked - -", "- locked - -", "- unlocked - -"])
        #expect(try scene.noted("motion") == ["- on - -", "- off - -", "- on - -"])
        #expect(try scene.noted("asks").last == "\(Self.app) accelerometer 0.0 0.0")
        #expect(try scene.noted("sensor").last == "- accelerometer 0.0 -")
        #expect(try scene.noted("end") == ["- - - -"])

        let page = "\(scene.bus.directory)/day.html"
        let made = try Tool.run([
            Programs.path(of: "jostle"), "report", "--since", "1h", "--state-dir", scene.state, "-o", page,
        ])
        try #require(made.status == 0, "\(made)")
        let asked = try Tool.run([
            "python3", Programs.source("Tests/Scripts/report-numbers.py"), page, "\(scene.state)/journal.db",
        ])
        #expect(asked.status == 0 && asked.stdout.hasPrefix("11 tables, "), "\(asked.stdout)\(asked.stderr)")
        #expect(try String(contentsOfFile: page, encoding: .utf8).contains(Self.app))
    }

    /// What a killed broker had noted last does not go on because nobody notes anything more.
    @Test func whatAKilledBrokerNotedHasAnEnd() throws {
        let scene = try Scene()
        let app = try scene.start("watch", "--json", "shake.magnitude,threshold=0.5g,rest=0s", "--app", Self.app)
        _ = try app.waitForLine { $0.hasPrefix("{\"detector\":") }
        for kind in ["sensor", "asks"] { try scene.until(kind) { try !scene.noted(kind).isEmpty } }
        try scene.broker.signal(SIGKILL)
        _ = try scene.broker.waitForEnd()
        usleep(3_000_000)
        let page = "\(scene.bus.directory)/day.html"
        let made = try Tool.run([
            Programs.path(of: "jostle"), "report", "--since", "1h", "--state-dir", scene.state, "-o", page,
        ])
        try #require(made.status == 0, "\(made)")
        let figure = """
            import html,re,sys
            text=re.sub(r"\\s+"," ",html.unescape(re.sub(r"<[^>]+>"," ",open(sys.argv[1],encoding="utf-8").read())))
            ran=re.search(r"the busiest sensor ran ([0-9.]+) (\\w+)",text)
            print("goes on" if ran and ran[2]!="ms" and float(ran[1])>=3 else "ended")
            """
        #expect(try Tool.run(["python3", "-c", figure, page]).stdout == "ended\n")
        let asked = try Tool.run([
            "python3", Programs.source("Tests/Scripts/report-numbers.py"), page, "\(scene.state)/journal.db",
        ])
        #expect(asked.status == 0, "\(asked.stdout)\(asked.stderr)")
        _ = try app.terminate()
    }
}
