import Foundation
import Motion
import TestSupport
import Testing

@testable import Traces
@testable import jostle

/// What a tracker gets of a journey, and whether the demo would notice if it were not so.
@Suite struct TrackerStoryTests {
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
