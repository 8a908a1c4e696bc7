import Foundation
import TestSupport
import Testing

extension Surroundings {
    /// A track as a source: from a file through both daemons to an app.
    @Suite(.serialized) struct Tracks {
        @Test func aTrackBecomesEventsThatSayWhatHappened() throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "tracks-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            // Out through a circle, and back through it: 400 m at 20 m/s each way, a fix a second.
            let points = (0..<41).map { second in
                let metres = Double(20 - abs(second - 20)) * 20
                return "<trkpt lat=\"\(46 + metres / 111_150)\" lon=\"14\">"
                    + "<time>2026-11-22T06:30:\(second < 10 ? "0" : "")\(second)Z</time><speed>20</speed></trkpt>"
            }
            let file = directory.appending(path: "way.gpx")
            try "<gpx><trk><trkseg>\(points.joined())</trkseg></trk></gpx>".write(
                to: file, atomically: true, encoding: .utf8)

            let stage = try Stage(source: "trace:\(file.path)?speed=20")
            let sensors = try stage.jostle("sensors", "--json").stdout
            #expect(sensors.contains("\"sensor\":\"location\"") && sensors.contains("\"unit\":\"deg,deg,m/s,deg,m\""))
            let app = try stage.start(
                "watch", "location.adaptive,name=track",
                "geofence,name=there,latitude=46.0018deg,longitude=14,radius=100m",
                "--app", "org.example.Tracker", "--json")
            _ = try app.waitForLine { $0.contains("\"watching\":\"there\"") && $0.contains("\"radius\":100.0") }
            let enter = try app.waitForLine { $0.contains("\"transition\":\"enter\"") }
            #expect(enter.contains("\"detector\":\"there\"") && enter.contains("\"distance_m\":"))
            let report = try app.waitForLine { $0.contains("\"filter_m\":200.0") }
            #expect(report.contains("\"detector\":\"track\"") && report.contains("\"simulated\":true"))
            _ = try app.waitForLine { $0.contains("\"transition\":\"leave\"") }
            // People see the details on the bus.
            let last = try stage.property("LastEvent", at: Stage.Object.app("org.example.Tracker"))
            #expect(last.contains("\"distance\" d "))
            #expect(try app.terminate() == .exited(0))
        }

        /// The circle is one for both apps; the second one has not heard what the first was told.
        @Test func whoRegistersInsideAGeofenceIsToldThatItEntered() throws {
            let stage = try Stage(source: nil, broker: false)
            let text =
                "# jostle trace 1\nt,location.latitude,location.longitude,location.speed,location.course,location.accuracy\n"
                + (0..<3_600).map { "\($0 * 1_000_000),46.0,14.0,0,0,5\n" }.joined()
            let file = "\(stage.bus.directory)/there.csv"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            try stage.startReader("trace:\(file)?speed=20")
            try stage.startBroker()
            let place = "geofence,name=there,latitude=46,longitude=14,radius=100m"
            let first = try stage.watch(place, "--app", "org.example.First")
            let enter = try first.nextEvent()
            #expect(field("transition", of: enter) == "\"enter\"", "\(enter)")
            for app in ["org.example.Second", "org.example.Third"] {
                let later = try stage.watch(place, "--app", app)
                let event = try later.nextEvent()
                #expect(field("transition", of: event) == "\"enter\"", "\(event)")
                #expect(try #require(number("t_us", of: event)) > #require(number("t_us", of: enter)))
            }
            #expect(try stage.count("Hits", at: Stage.Object.app("org.example.First")) == 1)
        }

        @Test func whatIsWrongWithATrackIsToldWithItsPlace() throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "tracks-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let file = directory.appending(path: "way.gpx")
            try "<gpx>\n<trkpt lat='1'/>".write(to: file, atomically: true, encoding: .utf8)
            let replay = try Tool.run([
                Programs.path(of: "jostle"), "replay", "--detector", "location.distance", file.path,
            ])
            #expect(replay.status == 2)
            #expect(replay.stderr.contains("way.gpx:2:16: expected the point's 'lon' in degrees"), "\(replay)")
            let reader = try BackgroundProgram("jostle-sensord", ["--source", "trace:\(file.path)"])
            #expect(try reader.waitForEnd() == .exited(2))
            #expect(reader.errors.contains("2:16: expected the point's 'lon' in degrees"))
        }
    }
}
