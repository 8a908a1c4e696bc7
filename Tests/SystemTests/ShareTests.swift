import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Of what there is for all, one user leaves enough to others. Only root can play several.
    @Suite(.serialized, .enabled(if: geteuid() == 0)) struct Shares {
        private static let root = "call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
        private static let limit = "error org.freedesktop.DBus.Error.LimitsExceeded: "

        /// On a bus with the rules of a system bus. One user takes the detectors that it may have, over several connections.
        @Test func aUserThatTookItsShareLeavesTheOthersTheirs() throws {
            let stage = try Stage(source: nil, broker: false, policed: true)
            try stage.startReader(Stage.rest)
            try stage.startBroker()
            #expect(
                try stage.property("Limits", at: Stage.Object.broker).contains("\"detectors-per-user\" 4096 "))
            // Of the same condition, so that it is not another limit that is met.
            let detector = "['d%d'%i,{'when':V('s','z > 9g')}]"
            func add(_ peer: String, _ count: Int) -> [String] {
                ["\(peer) \(Self.root) Register sa{sv} ['',{}]"]
                    + stride(from: 0, to: count, by: 64).map { first in
                        "\(peer) call org.jostle.Broker1 self org.jostle.Broker1.App AddDetectors a(sa{sv}) "
                            + "[[\(detector) for i in range(\(first),\(min(count, first + 64)))]]"
                    }
            }
            let hog = try stage.startScript(
                as: Stage.nobody, add("p", 2_048) + add("q", 2_048) + add("r", 1))
            _ = try hog.waitForLine(timeout: .seconds(60)) { $0 == "staying" }
            let lines = hog.output.split(separator: "\n").map(String.init).dropLast()
            try #require(lines.count == 68)
            #expect(lines.dropLast().allSatisfy { $0.dropFirst(2).hasPrefix("ok ") })
            let last = try #require(lines.last)
            #expect(last.hasPrefix("r \(Self.limit)") && last.contains("detectors-per-user"), "\(last.prefix(300))")

            // Another user and root register, and get what they ask for; the first is refused still.
            for (user, isRefused) in [(Stage.somebody, false), ([], false), (Stage.nobody, true)] {
                let answers = try stage.script(as: user, add("p", 1))
                #expect(answers[0].hasPrefix("p ok "))
                #expect(answers[1].hasPrefix(isRefused ? "p \(Self.limit)" : "p ok "), "\(answers[1].prefix(300))")
            }
            // What it had is there for it again.
            _ = try hog.terminate()
            try stage.until("its detectors are gone") {
                try stage.script(as: Stage.nobody, add("p", 1_000)).last?.hasPrefix("p ok ") == true
            }
        }

        @Test func aUserThatTookItsStreamsLeavesTheOthersTheirs() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            // Half of the descriptors are for streams, and of these half but a sixteenth for one user.
            try stage.startReader(Stage.rest, under: ["prlimit", "--nofile=128:128"])
            let limits = try stage.property("Limits", at: Stage.Object.sensors)
            #expect(
                limits.contains("\"all-streams\" 64 ") && limits.contains("\"all-streams-per-user\" 30 "), "\(limits)")
            func open(_ peer: String, _ count: Int) -> [String] {
                let call = "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor"
                return Array(repeating: "\(peer) \(call) OpenStream a{sv} [{'rate':V('d',1.0)}]", count: count)
            }
            let hog = try stage.startScript(as: Stage.nobody, open("p", 15) + open("q", 15) + open("r", 1))
            _ = try hog.waitForLine { $0 == "staying" }
            let lines = hog.output.split(separator: "\n").map(String.init).dropLast()
            try #require(lines.count == 31)
            #expect(lines.dropLast().allSatisfy { $0.dropFirst(2).hasPrefix("ok ") })
            #expect(lines.last?.hasPrefix("r \(Self.limit)all-streams: your user has 30 of 64") == true, "\(lines)")

            for (user, isRefused) in [(Stage.somebody, false), ([], false), (Stage.nobody, true)] {
                let answer = try #require(try stage.script(as: user, open("p", 1)).first)
                #expect(answer.hasPrefix(isRefused ? "p \(Self.limit)all-streams" : "p ok "), "\(answer)")
            }
            _ = try hog.terminate()
            try stage.until("its streams are given back") {
                try stage.script(as: Stage.nobody, open("p", 1)).first?.hasPrefix("p ok ") == true
            }
        }
    }
}
