import Detection
import Motion
import Randomness
import Replay
import Testing
import Traces

/// What is gathered of a trace to be drawn, and the page of it.
@Suite struct ReplayReportTests {
    /// A condition that is true at each look, and hit each time.
    private func always(every: TimeSpan?) -> DetectorRequest {
        var options: DetectorOptions = ["when": .text("norm(x, y, z) > -1g"), "rest": .text("0s")]
        if let every { options["every"] = .text("\(every.microseconds / 1_000)ms") }
        return DetectorRequest(name: every.map { "every \($0)" } ?? "each sample", options: options)
    }

    private func drawn(
        _ text: String, _ requests: [DetectorRequest], chunk: Int = 1 << 16
    ) throws -> (replay: TraceReplay, hits: ReplayReport.Hits) {
        var replay = TraceReplay(requests, isDrawn: true)
        var hits = ReplayReport.Hits()
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: chunk) {
            try replay.feed(bytes.span.extracting(start..<min(bytes.count, start + chunk))) { hits.add($0) }
        }
        try replay.finish { hits.add($0) }
        return (replay, hits)
    }

    /// Looks are counted as the engine looks: where each look is a hit, there are as many.
    @Test(arguments: someSeeds(UInt64(1)...40))
    func looksAreThoseOfTheEngine(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var text = "# jostle trace 1\n# sensor: accelerometer\nt,x,y,z\n"
        var time: Int64 = Int64.random(in: 0...5_000_000, using: &random)
        for _ in 0..<600 {
            text += "\(time),0,0,\(Double.random(in: 0...4, using: &random))\n"
            // Steps of all kinds, and gaps.
            time +=
                Int.random(in: 0..<50, using: &random) == 0
                ? Int64.random(in: 900_000...5_000_000, using: &random) : Int64.random(in: 1...90_000, using: &random)
        }
        let steps: [Int64?] = [nil, 7, 20, 50, 100, 333]
        let requests = steps.map { step in self.always(every: step.map { TimeSpan(microseconds: $0 * 1_000) }) }
        let (replay, _) = try self.drawn(text, requests, chunk: Int.random(in: 1...4_096, using: &random))
        let signal = try #require(replay.signals.first)
        #expect(replay.signals.count == 1 && signal.samples == replay.samples)
        #expect(signal.watchers.map(\.looks) == replay.tallies.map(\.hits), "seed \(seed)")
        for watcher in signal.watchers { #expect(watcher.looksOfParts.reduce(0, +) == watcher.looks) }
    }

    /// However long, it is gathered in few parts, and none of it is lost.
    @Test func partsAreJoinedAndKeepTheExtremes() throws {
        var text = "# jostle trace 1\n# sensor: accelerometer\nt,x,y,z\n"
        for row in 0..<200_000 { text += "\(row * 20_000),0,0,\(row == 123_456 ? 7 : row == 5 ? -0.5 : 1)\n" }
        let (replay, _) = try self.drawn(text, [self.always(every: .milliseconds(100))])
        let signal = try #require(replay.signals.first)
        #expect(signal.parts.count <= 1_024 && signal.parts.count > 500)
        #expect(signal.parts.map(\.high).max() == 7 && signal.parts.map(\.low).min() == 0.5)
        let peak = try #require(signal.parts.first { $0.high == 7 })
        #expect((peak.first...peak.last).contains(123_456 * 20_000))
        #expect(signal.start == 0 && signal.end == 199_999 * 20_000)
    }

    @Test func thePageShowsThresholdsLooksHitsAndHolds() throws {
        let trace = try Made.trace("rest 2s; shake peak=4g; rest 3s", seconds: 6, label: "shake <hard>")
        let (replay, hits) = try self.drawn(
            String(decoding: trace, as: UTF8.self), [Made.planar("<b>planar</b>", 2.3), Made.planar("deaf", 9)])
        #expect(replay.tallies.map(\.hits) == [1, 0])
        var report = ReplayReport(traces: 1)
        report.add("a\"<script>.csv", replay, hits)
        let html = report.html
        #expect(html.hasPrefix("<!DOCTYPE html>") && !html.contains("<script") && !html.contains("<b>planar"))
        #expect(!html.contains("http:") && !html.contains("https:") && html.contains("shake &lt;hard&gt;"))
        #expect(html.contains("&lt;b&gt;planar&lt;/b&gt; over 2.3 g") && html.contains("deaf over 9 g"))
        #expect(html.contains("60 looks, 1 hit<") && html.contains("60 looks, 0 hits"))
        #expect(html.ranges(of: ">a look<").count == 120)
        #expect(html.ranges(of: ">holds 1 s from 2").count == 1)
        #expect(html.contains("time since the trace began (s)") && html.contains("norm(x, y, z) (g)"))
        // A row of the table for the hit, with its share of the threshold.
        #expect(html.ranges(of: "<tr><th scope=\"row\">2.").count == 1)
    }

    /// What a rhythm holds back is drawn where it was, and counted.
    @Test func thePageShowsWhatWasHeldByActivity() throws {
        let trace = String(decoding: try Made.trace("rest 4s; run 20s; rest 2s", seconds: 26), as: UTF8.self)
        let shake = DetectorRequest(name: "undo", options: ["preset": .text("shake")])
        let (replay, hits) = try self.drawn(trace, [shake, Made.planar("planar", 2.3)])
        let held = replay.tallies[0].held
        #expect(replay.tallies[0].hits == 0 && held > 5 && held <= 20)
        let watcher = try #require(replay.signals.first?.watchers.first)
        #expect(watcher.held.count == Int(held))
        #expect(watcher.held.allSatisfy { (5_000_000...24_500_000).contains($0.microseconds) })
        #expect(zip(watcher.held, watcher.held.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
        // It changes nothing that it is drawn, however the bytes come.
        var plain = TraceReplay([shake, Made.planar("planar", 2.3)])
        try plain.feed(Array(trace.utf8).span) { _ in }
        try plain.finish { _ in }
        #expect(plain.tallies == replay.tallies && plain.tallies[1].hits > 0)
        var report = ReplayReport(traces: 1)
        report.add("run.csv", replay, hits)
        let html = report.html
        #expect(html.contains("looks, 0 hits, \(held) held by activity"))
        #expect(html.ranges(of: "held by activity at ").count >= Int(held))
        #expect(html.contains("held by activity: no hit in the rhythm of steps"))
    }

    /// A trace in which nothing is, and one of two sensors.
    @Test func whatIsEmptyIsAPage() throws {
        let (replay, hits) = try self.drawn(
            "# jostle trace 1\n# sensor: accelerometer\nt,x,y,z\n", [self.always(every: nil)])
        var report = ReplayReport(traces: 1)
        report.add("empty.csv", replay, hits)
        #expect(report.html.contains("no hit"))
    }
}
