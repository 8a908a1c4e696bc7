import TestSupport
import Testing

extension EndToEnd {
    /// `AddDetector` is `AddDetectors` with one row: the same checks and limits, and the same answer.
    @Suite(.serialized) struct OneDetector {
        private static let register = "p call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register"

        private static func one(_ name: String, _ options: String, from peer: String = "p") -> String {
            "\(peer) call org.jostle.Broker1 self org.jostle.Broker1.App AddDetector sa{sv} [\(name),{\(options)}]"
        }

        private static func batch(_ name: String, _ options: String) -> String {
            "p call org.jostle.Broker1 self org.jostle.Broker1.App AddDetectors a(sa{sv}) [[[\(name),{\(options)}]]]"
        }

        @Test func isAddDetectorsWithOneRow() throws {
            let stage = try Stage()
            let cases = [
                ("'shake'", "'preset':V('s','shake.planar'),'threshold':V('d',3.5)"),
                ("'shake'", "'preset':V('s','shake.planer')"),
                ("'shake'", "'preset':V('s','shake.planar'),'threshold':V('s','2.3m')"),
                ("'shake'", "'preset':V('aas',[['x']])"),
                ("''", "'preset':V('s','shake.planar')"),
                ("'x'*2**16", "'preset':V('s','shake.planar')"),
                ("'x'", "'when':V('s','hypot(x, y) > ')"),
                ("'x'", "'when':V('s','x > 1g'+' and x > 1g'*2**10)"),
            ]
            let answers = try stage.script(
                ["\(Self.register) sa{sv} ['',{}]"] + cases.flatMap { [Self.one($0, $1), Self.batch($0, $1)] })
            try #require(answers.count == 1 + 2 * cases.count, "\(answers)")
            #expect(answers[1].hasPrefix("p ok [{") && answers[1].contains("\"threshold\": 3.5"), "\(answers[1])")
            // A row is a name and its options; the name is known already.
            #expect(answers[2] == answers[1].replacing("p ok [{", with: "p ok [[[\"shake\", {") + "]]", "\(answers[2])")
            for index in stride(from: 3, to: answers.count, by: 2) {
                #expect(answers[index].hasPrefix("p error "), "\(answers[index])")
                #expect(answers[index] == answers[index + 1])
            }
        }

        @Test func isForTheAppAlone() throws {
            let stage = try Stage()
            let object = Stage.Object.app("org.example.App")
            let answers = try stage.script(
                "p own org.example.App", "\(Self.register) sa{sv} ['org.example.App',{}]",
                "other call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetector sa{sv} "
                    + "['x',{'preset':V('s','shake')}]",
                "p call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetector a{sv} [{}]",
                "p call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetector sa{sv} "
                    + "['x',{'preset':V('s','shake')}]",
                "p call org.jostle.Broker1 \(object) org.freedesktop.DBus.Properties Get ss "
                    + "['org.jostle.Broker1.App','DetectorCount']")
            try #require(answers.count == 5, "\(answers)")
            #expect(answers[1].contains("AccessDenied: only the app itself can change its detectors"))
            #expect(answers[2].contains("AddDetector takes 'sa{sv}', got 'a{sv}'"))
            #expect(answers[3].hasPrefix("p ok "))
            #expect(answers[4] == "p ok [1]")
        }
    }
}
