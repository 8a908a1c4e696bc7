import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// What users hold of what there is for all shows while they hold it. Only root can play several.
    @Suite(.serialized, .enabled(if: geteuid() == 0)) struct Usage {
        private static let (nobody, somebody): (UInt32, UInt32) = (65_534, 1)

        /// A line of `jostle status --limits --json`.
        private struct Row: Decodable, Hashable {
            var limit: String
            var service: String
            var interface: String?
            var sensor: String?
            var user: UInt32?
            var held: Int
            var share: Int?
            var most: Int
        }

        /// What somebody sees; `[]`: root, of whom the daemons are, too.
        private func rows(_ stage: Stage, as user: [String] = []) throws -> [Row] {
            try #require(chmod(stage.bus.directory, 0o755) == 0)
            let result = try Tool.run(
                user + [Programs.path(of: "jostle"), "--bus", stage.address, "status", "--limits", "--json"])
            try #require(result.status == 0 && result.stderr.isEmpty, "\(result)")
            #expect(try kinds(of: result.stdout, from: "status") == [3])
            return try result.stdout.split(separator: "\n").map {
                try JSONDecoder().decode(Row.self, from: Data($0.utf8))
            }
        }

        /// What root sees of who is there: of descriptors that were given the latest are remembered, whoever had them.
        private func present(_ stage: Stage) throws -> [Row] {
            try self.rows(stage).filter { $0.limit != "descriptor-answers" }
        }

        private func held(_ limit: String, by user: UInt32?, _ rows: [Row]) -> Int {
            rows.filter { $0.limit == limit && $0.user == user }.reduce(0) { $0 + $1.held }
        }

        private static func register(_ peer: String, _ name: String) -> String {
            "\(peer) call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv} ['\(name)',{}]"
        }

        private static func sensor(_ peer: String, _ member: String) -> String {
            "\(peer) call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor \(member) a{sv} "
                + "[{'rate':V('d',10.0)}]"
        }

        private static func addDetectors(_ peer: String, to object: String, _ conditions: [String]) -> String {
            let rows = conditions.enumerated().map { "('d\($0)',{'when':V('s','\($1)')})" }.joined(separator: ",")
            return "\(peer) call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetectors a(sa{sv}) [[\(rows)]]"
        }

        @Test func eachUserSeesWhatIsHis() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            try stage.startReader(Stage.rest)
            try stage.startBroker()
            let before = try self.rows(stage)
            #expect(!before.isEmpty && before.allSatisfy { $0.user == nil && $0.held == 0 }, "\(before)")

            let app = "org.example.A"
            let object = Stage.Object.app(app)
            let assert = "A call org.jostle.Broker1 \(object) org.jostle.Broker1.App BeginAssertion sa{sv} ['a',{}]"
            let conditions = ["norm(x, y, z) > 5g", "y > 5g", "z > 5g"]
            let first = try stage.startScript(
                as: Stage.nobody,
                [
                    "A own \(app)", Self.register("A", app), Self.addDetectors("A", to: object, conditions), assert,
                    assert, Self.sensor("A", "Claim"), Self.sensor("A", "OpenStream"), Self.sensor("A", "OpenStream"),
                    Self.register("B", ""),
                ])
            let second = try stage.startScript(
                as: Stage.somebody,
                [
                    Self.register("C", ""), Self.addDetectors("C", to: "self", ["x > 50g"]), Self.sensor("C", "Claim"),
                    "C call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Watch a{sv} [{}]",
                ])
            for script in [first, second] {
                try script.waitUntilSaid("staying")
                #expect(!script.output.contains(" error "), "\(script.output)")
            }

            let expected: [(limit: String, nobody: Int, somebody: Int)] = [
                ("apps", 2, 1), ("detectors", 3, 1), ("condition-bytes", 30, 7), ("paces", 1, 1), ("held", 2, 0),
                ("watchers", 0, 1), ("claimants", 3, 1), ("messages-per-second", 30, 10), ("all-streams", 2, 0),
                ("tasks", 0, 0), ("sessions", 0, 0), ("focus-sources", 0, 0), ("absent-apps", 0, 0),
                ("journal-questions", 0, 0),
            ]
            let all = try self.rows(stage)
            for (limit, nobody, somebody) in expected {
                #expect(self.held(limit, by: Self.nobody, all) == nobody, "\(limit)")
                #expect(self.held(limit, by: Self.somebody, all) == somebody, "\(limit)")
                #expect(self.held(limit, by: nil, all) == nobody + somebody, "\(limit)")
            }
            #expect(self.held("operations-per-sensor", by: Self.nobody, all) > 0)
            // Half of what the other leaves of the half that is not root's.
            let apps = all.first { $0.limit == "apps" && $0.user == Self.nobody }
            #expect(apps?.share == (8_192 - 1) / 2 && apps?.most == 16_384, "\(apps as Any)")

            // Each sees his own, and how much it is in all.
            let counted = Set(expected.map(\.limit))
            for (user, uid) in [(Stage.nobody, Self.nobody), (Stage.somebody, Self.somebody)] {
                let own = try self.rows(stage, as: user)
                #expect(own.allSatisfy { $0.user == nil || $0.user == uid }, "\(own)")
                let seen = own.filter { counted.contains($0.limit) }
                let his = all.filter { counted.contains($0.limit) && ($0.user == nil || $0.user == uid) }
                #expect(seen == his)
            }
            let table = try stage.jostle("status", "--limits").stdout.split(separator: "\n").map {
                $0.split(separator: " ").map(String.init)
            }
            #expect(table.first == ["LIMIT", "OF", "USER", "HELD", "MAY", "HOLD"])
            #expect(table.contains(["apps", "broker", "\(Self.nobody)", "2", "4095"]), "\(table)")
            #expect(table.contains(["claimants", "accelerometer", "all", "4", "1024"]), "\(table)")

            // Nothing is left of who leaves.
            _ = try first.terminate()
            try stage.until("the first is gone") { try !self.present(stage).contains { $0.user == Self.nobody } }
            #expect(self.held("apps", by: Self.somebody, try self.rows(stage)) == 1)
            _ = try second.terminate()
            try stage.until("both are gone") { try self.present(stage).allSatisfy { $0.user == nil && $0.held == 0 } }
        }

        /// A list has 64 rows at most, and goes on behind the last.
        @Test func theListComesInPages() throws {
            let stage = try Stage(source: nil)
            let conditions = (0..<30).map { number in
                "('d\(number)',{'when':V('s','x>1g'),'sensor':V('s','accelerometer-\(number)')})"
            }
            let app = try stage.startScript(
                Self.register("A", ""),
                "A call org.jostle.Broker1 self org.jostle.Broker1.App AddDetectors a(sa{sv}) "
                    + "[[\(conditions.joined(separator: ","))]]")
            try app.waitUntilSaid("staying")
            #expect(!app.output.contains(" error "), "\(app.output)")
            let page = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "ListUsage", "a{sv}", "0")
            #expect(page.stdout.hasPrefix("aa{sv} 64 "), "\(page)")
            // The reader that is not there is said not to be.
            let result = try stage.jostle("status", "--limits", "--json")
            #expect(result.status == 0 && result.stderr.contains("org.jostle.Sensors1"), "\(result)")
            let paces = result.stdout.split(separator: "\n").filter { $0.hasPrefix("{\"limit\":\"paces\"") }
            #expect(paces.count == 60 && Set(paces).count == 60)
            #expect(paces.allSatisfy { $0.contains("\"held\":1,") })
        }
    }
}
