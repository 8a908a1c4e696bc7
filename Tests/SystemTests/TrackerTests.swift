import Foundation
import Motion
import TestSupport
import Testing

@testable import Traces
@testable import jostle

/// What a tracker gets of a journey, and whether the demo would notice if it were not so.
@Suite struct TrackerTests {
    private typealias Leg = SyntheticDrive.Leg

    private func met(_ story: TrackerStory) -> [TrackerStory.Requirement: Bool] {
        Dictionary(uniqueKeysWithValues: story.judgements.map { ($0.requirement, $0.isMet) })
    }

    @Test(arguments: Array(UInt64(1)...12))
    func theJourneyMeetsAllRequirements(_ seed: UInt64) throws {
        let block = SyntheticDrive(seed: seed).block
        for smoothing in [0, 0.25] {
            let story = try TrackerStory(block, smoothing: smoothing)
            #expect(story.judgements.allSatisfy { $0.isMet && $0.finding != nil }, "\(story.judgements), seed \(seed)")
            #expect(story.savings > 0.8 && story.savings < 0.99, "seed \(seed)")
        }
        #expect(try TrackerStory(block, smoothing: 0.25).settings < TrackerStory(block).settings / 3)
    }

    /// Without the right it is silent once another app is in front, and says so.
    @Test func withoutTheRightNothingComesInTheBackground() throws {
        let block = SyntheticDrive().block
        let (granted, refused) = (try TrackerStory(block), try TrackerStory(block, isGranted: false))
        #expect(refused.reports.allSatisfy { $0.time - Timestamp.zero < TrackerStory.leaves })
        #expect(refused.reports.count + refused.denied == granted.reports.count)
        #expect(granted.denied == 0)
    }

    /// One that crawls in the speeds where the article's rule reports each fix.
    @Test func aCrawlIsReportedEachSecondAndSmoothedItIsNot() throws {
        let block = SyntheticDrive(seed: 1, legs: [Leg("crawl", speed: 4.45, .seconds(300))]).block
        let (story, smooth) = (try TrackerStory(block), try TrackerStory(block, smoothing: 0.25))
        #expect(story.reports.count > 100 && smooth.reports.count < 40)
    }

    @Test func whatAJourneyHasNoneOfIsNotJudged() throws {
        let still = try TrackerStory(SyntheticDrive(legs: [Leg("rest", speed: 0, .seconds(900))]).block)
        #expect(still.judgements.map { $0.finding == nil } == [true, true, false, false])
        #expect(still.reports.count == 1)
        let ride = try TrackerStory(SyntheticDrive(legs: [Leg("road", speed: 25, .seconds(900))]).block)
        #expect(ride.judgements.map { $0.finding == nil } == [false, true, true, false])
    }

    /// Journeys on which the rule does not do what is asked of it: the demo must say so.
    @Test func whatGoesWrongIsNoticed() throws {
        // A receiver that says it stands while it moves.
        var lying = SampleBlock(channels: 5)
        let road = SyntheticDrive(legs: [Leg("road", speed: 25, .seconds(600))]).block
        for row in 0..<road.count {
            let values = road.values[row * 5..<row * 5 + 5]
            lying.append(
                Timestamp(microseconds: road.times[row]), [values[row * 5], values[row * 5 + 1], 0.1, 0, 5])
        }
        #expect(self.met(try TrackerStory(lying))[.silence] == false)
        // One that circles, and so is never far from where it last reported.
        var circling = SampleBlock(channels: 5)
        let centre = try #require(Position(latitude: 10, longitude: 10))
        for second in 0..<600 {
            let (sine, cosine) = Mathematics.sineAndCosine(Double(second) * 0.5)
            let place = centre.moved(north: 20 * sine, east: 20 * cosine)
            circling.append(
                Timestamp(microseconds: Int64(second) * 1_000_000), [place.latitude, place.longitude, 10, 0, 5])
        }
        #expect(self.met(try TrackerStory(circling))[.byTime] == false)
        // One whose speed jitters about the edge of slow, so that the filter is set again and again.
        var jittering = SampleBlock(channels: 5)
        for second in 0..<600 {
            let place = centre.moved(north: Double(second) * 2.9, east: 0)
            jittering.append(
                Timestamp(microseconds: Int64(second) * 1_000_000),
                [place.latitude, place.longitude, second % 100 == 99 ? 3.4 : 2.9, 0, 5])
        }
        #expect(try TrackerStory(jittering).changes.count == 11)
    }

    /// Whatever is missing of being started again fails the demo, and so does what the broker does not know.
    @Test func whatIsMissingOfARelaunchIsNoticed() {
        typealias Relaunch = TrackerStory.Relaunch
        let good = Relaunch(reason: "location", reports: 1, recordedReason: "location", recordedResult: "done")
        let judged = TrackerStory.judgement(of: good)
        #expect(judged.isMet && judged.finding == "its next report started it again, launch reason 'location'")
        for bad in [
            Relaunch(), Relaunch(reason: "location", reports: 0, recordedReason: "location", recordedResult: "done"),
            Relaunch(reason: "push", reports: 1, recordedReason: "push", recordedResult: "done"),
            Relaunch(reason: "location", reports: 1, recordedReason: "", recordedResult: ""),
            Relaunch(reason: "location", reports: 1, recordedReason: "location", recordedResult: "silent"),
        ] { #expect(!TrackerStory.judgement(of: bad).isMet, "\(bad)") }
        // A journey that has too little for it is not judged.
        #expect(TrackerStory.judgement(of: nil).isMet && TrackerStory.judgement(of: nil).finding == nil)
    }

    /// What is played begins with a report that another one follows soon.
    @Test(arguments: Array(UInt64(1)...12))
    func theExcerptIsShort(_ seed: UInt64) throws {
        let story = try TrackerStory(SyntheticDrive(seed: seed).block)
        let excerpt = try #require(story.excerpt)
        let next = try #require(story.reports.first { $0.time > excerpt.start })
        #expect(story.reports.contains { $0.time == excerpt.start })
        #expect((next.time - excerpt.start).seconds / excerpt.speed <= 2, "seed \(seed)")
        let still = try TrackerStory(SyntheticDrive(legs: [Leg("rest", speed: 0, .seconds(900))]).block)
        #expect(still.excerpt == nil)
    }
}

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
