import Detection
import Motion
import Replay
import Testing
import Traces

/// Traces that the tests make themselves.
enum Made {
    /// The bytes of a trace with this motion.
    static func trace(_ script: String, seconds: Int, rate: Double = 50, label: String? = nil) throws -> [UInt8] {
        let motion = try SyntheticMotion(script: script)
        var block = SampleBlock(channels: 3)
        motion.record(0..<Int64(Double(seconds) * rate), rate: rate, into: &block)
        let notes = label.map { [TraceHeader.Note(key: "label", value: $0)] } ?? []
        let sensor = TraceSensor(name: "accelerometer", channels: ["x", "y", "z"], unit: "g")
        var writer = try TraceWriter(TraceHeader(sensors: [sensor], notes: notes))
        for index in 0..<block.count {
            try writer.append(
                Timestamp(microseconds: block.times[index]), block.values.span.extracting(3 * index..<3 * index + 3))
        }
        writer.finish()
        return writer.bytes
    }

    static func planar(_ name: String, _ threshold: Double) -> DetectorRequest {
        DetectorRequest(name: name, options: ["preset": .text("shake.planar"), "threshold": .number(threshold)])
    }
}

/// Replays a trace in chunks of a size.
func replay(
    _ bytes: [UInt8], _ requests: [DetectorRequest], chunk: Int = 4_096, lead: TimeSpan = .zero
) throws -> (replay: TraceReplay, hits: [TraceReplay.NamedHit]) {
    var replay = TraceReplay(requests, lead: lead)
    var hits: [TraceReplay.NamedHit] = []
    var start = 0
    while start < bytes.count {
        let end = min(bytes.count, start + chunk)
        try replay.feed(bytes.span.extracting(start..<end)) { hits.append($0) }
        start = end
    }
    try replay.finish { hits.append($0) }
    return (replay, hits)
}

@Suite struct TraceReplayTests {
    private static let story =
        "seed=3; noise=0.02g; rest 2s; shake peak=2.8g for=1.2s; rest 3s; shake peak=4.5g for=1.2s; rest 2s"

    @Test func theDocumentedCase() throws {
        let bytes = try Made.trace(Self.story, seconds: 10, label: "shake twice")
        let (result, hits) = try replay(bytes, [Made.planar("app", 2.3), Made.planar("player", 3.5)])
        #expect(hits.map(\.detector) == ["app", "app", "player"])
        #expect(result.tallies.map(\.hits) == [2, 1])
        #expect(result.samples == 500)
        #expect(abs(result.hours - 9.98 / 3_600) < 1e-9)
        #expect(ThresholdSweep.Kind(label: result.label) == .positive)
    }

    /// Of a clip only what is around its moments is to be found, whatever else is in it.
    @Test func onlyWhatIsInTheSpansIsTallied() throws {
        let bytes = try Made.trace(Self.story, seconds: 10)
        func found(_ milliseconds: ClosedRange<Int64>...) throws -> [Bool] {
            func time(_ milliseconds: Int64) -> Timestamp { Timestamp(microseconds: milliseconds * 1_000) }
            let spans = milliseconds.map { time($0.lowerBound)...time($0.upperBound) }
            var replay = TraceReplay([Made.planar("app", 2.3), Made.planar("player", 3.5)], in: spans)
            try replay.feed(bytes.span) { _ in }
            try replay.finish { _ in }
            return replay.tallies.map { $0.hits > 0 }
        }
        #expect(try found(0...1_500) == [false, false])
        #expect(try found(1_700...3_500) == [true, false])
        #expect(try found(6_000...7_500) == [true, true])
        #expect(try found(0...1_500, 6_000...7_500) == [true, true])
        // What was hit before rests when another shake comes, and would be hit by it, too.
        #expect(try found(2_500...3_500) == [true, false])
    }

    /// A lead moves the grid: looks, and so hits, fall on other samples, and their times are still the trace's.
    @Test func aLeadMovesTheGrid() throws {
        let bytes = try Made.trace(Self.story, seconds: 10)
        let plain = try replay(bytes, [Made.planar("app", 2.3)]).hits.map(\.time.microseconds)
        let moved = try replay(bytes, [Made.planar("app", 2.3)], lead: .milliseconds(50)).hits.map(\.time.microseconds)
        #expect(plain.map { $0 % 100_000 } == [0, 0])
        #expect(moved.map { $0 % 100_000 } == [60_000, 60_000])
    }

    /// The header says what the sensor could show.
    @Test(arguments: ["4", "39.3"]) func samplesAtTheLimitAreTold(_ range: String) throws {
        let unit = range == "4" ? "g" : "m/s2"
        let scale = range == "4" ? 1 : 9.80665
        let head = "# jostle trace 1\n# sensor: accelerometer\n# unit: \(unit)\n# range: \(range)\nt,x,y,z\n"
        let rows = "0,\(3 * scale),0,0\n2000000,\(4 * scale),0,0\n4000000,\(3 * scale),0,0\n"
        let hits = try replay(Array((head + rows).utf8), [Made.planar("app", 2.3)]).hits
        #expect(hits.map(\.isClipped) == [false, true, false])
    }

    /// A clock that starts at registration starts with the trace, whatever its times are counted from.
    @Test(arguments: [0, 3_600_000_000]) func registrationIsTheFirstSample(_ start: Int) throws {
        let head = "# jostle trace 1\n# sensor: accelerometer\nt,x,y,z\n"
        let rows = (0..<10).map { "\(start + $0 * 200_000),3,0,0\n" }.joined()
        let request = DetectorRequest(name: "axis", options: ["preset": .text("shake.axis")])
        let hits = try replay(Array((head + rows).utf8), [request]).hits
        #expect(hits.map(\.time.microseconds) == [Int64(start) + 1_000_000])
    }

    /// How the bytes are cut makes no difference.
    @Test(arguments: [1, 7, 100, 65_536]) func chunksDoNotMatter(_ chunk: Int) throws {
        let bytes = try Made.trace(Self.story, seconds: 10)
        let whole = try replay(bytes, [Made.planar("app", 2.3)], chunk: bytes.count).hits
        #expect(try replay(bytes, [Made.planar("app", 2.3)], chunk: chunk).hits == whole)
        #expect(whole.count == 2)
    }

    @Test func aBrokenTraceTellsWhereAndKeepsTheHitsBefore() throws {
        var bytes = try Made.trace(Self.story, seconds: 10)
        bytes += Array("11000000,oops,0,1\n".utf8)
        var result = TraceReplay([Made.planar("app", 2.3)])
        var hits = 0
        #expect(throws: TraceReplay.Problem.self) {
            try result.feed(bytes.span) { _ in hits += 1 }
        }
        #expect(hits == 2)
    }

    /// Each detector hears its own sensor of a trace that has several, in the order of time however the bytes are cut.
    @Test(arguments: [1, 60, 4_096]) func sensorsShareATrace(_ chunk: Int) throws {
        let head =
            "# jostle trace 1\n# accelerometer.unit: m/s2\nt,accelerometer.x,accelerometer.y,accelerometer.z,light.lux\n"
        let rows =
            "0,0,0,9.8,200\n100000,40,0,9.8,\n200000,,,,5\n1000000,0,0,9.8,200\n1900000,40,0,9.8,200\n2800000,0,0,9.8,3\n"
            + "2900000,0,0,40,9\n3000000,40,0,9.8,\n"
        let dark = DetectorRequest(name: "dark", options: ["when": .text("lux < 10lx"), "sensor": .text("light")])
        let (result, hits) = try replay(Array((head + rows).utf8), [dark, Made.planar("app", 2.3)], chunk: chunk)
        #expect(
            hits.map { "\($0.detector) \($0.time.microseconds)" } == [
                "app 100000", "dark 200000", "app 1900000", "dark 2800000", "app 3000000",
            ])
        #expect(result.samples == 7 + 6)
    }

    @Test func aTraceWithoutTheSensorSaysSo() {
        let bytes = Array("# jostle trace 1\n# sensor: light\nt,lux\n0,1\n".utf8)
        #expect {
            _ = try replay(bytes, [Made.planar("app", 2.3)])
        } throws: { error in
            "\(error)" == "the detectors listen to accelerometer, the trace has light"
        }
    }

    @Test func aBadDetectorSaysSo() throws {
        let bytes = try Made.trace("", seconds: 1)
        let bad = DetectorRequest(name: "bad", options: ["preset": .text("shake.planr")])
        #expect {
            _ = try replay(bytes, [bad])
        } throws: { error in
            "\(error)".contains("did you mean 'shake.planar'?")
        }
    }
}

@Suite struct ThresholdSweepTests {
    private static func planar() throws -> ThresholdSweep.Subject {
        let preset = try #require(PresetCatalogue.named("shake.planar"))
        return .preset(preset.name, parameter: try #require(preset.parameters.first { $0.name == "threshold" }))
    }

    /// A name in a condition stands for the number, as a whole word and wherever it stands.
    @Test func aConditionHasANumberInPlaceOfAName() {
        let sweep = ThresholdSweep(
            .condition("x>level and y1 < level*2-levels", name: "level", .acceleration), over: -1...1, steps: 3,
            phases: 1)
        #expect(
            sweep.requests.map { $0.options["when"] }
                == [-1.0, 0.0, 1.0].map {
                    .text("x>(\($0)g) and y1 < (\($0)g)*2-levels")
                })
    }

    /// Of a condition with `<` the smallest number is the strictest.
    @Test func whatFallsBelowIsTunedFromTheOtherEnd() throws {
        var sweep = ThresholdSweep(
            .condition("norm(x, y, z) < level", name: "level", .acceleration), over: 0.05...1.5, steps: 30, phases: 1)
        // A walk takes a part of the weight away; a fall takes all of it.
        let walk = try Made.trace("walk strength=0.3g 20s", seconds: 20)
        let fall = try Made.trace("rest 1s; shake axis=-z peak=0.95g freq=0.5Hz for=2s; rest 1s", seconds: 4)
        sweep.count(try replay(walk, sweep.requests).replay, as: .negative, of: "trace")
        sweep.count(try replay(fall, sweep.requests).replay, as: .positive, of: "trace")
        let advice = try #require(sweep.advice(target: 0))
        #expect(advice.meetsTarget && advice.point.recall == 1, "\(advice)")
        // All that find it and nothing else do equally well: the middle of them is taken.
        let level = sweep.curve.filter { $0.recall == 1 && $0.falsePerHour == 0 }.map(\.threshold)
        let (low, high) = (try #require(level.first), try #require(level.last))
        #expect(high == advice.highest && low < high, "\(advice)")
        #expect((advice.point.threshold - (low + high) / 2).magnitude < 0.051, "\(advice)")
        #expect(sweep.doubt?.hasPrefix("only 0.3 min of negative traces") == true, "\(sweep.doubt ?? "")")
    }

    @Test func whatIsWholeStaysWhole() throws {
        let preset = try #require(PresetCatalogue.named("shake"))
        let count = try #require(preset.parameters.first { $0.name == "count" })
        let sweep = ThresholdSweep(.preset("shake", parameter: count), over: 2...5, steps: 60, phases: 1)
        #expect(sweep.thresholds == [2, 3, 4, 5])
    }

    private func sweep(target: Double) throws -> ThresholdSweep {
        var sweep = ThresholdSweep(try Self.planar(), over: 1...5, steps: 41, phases: 3)
        let shakes = try (1...6).map {
            try Made.trace("seed=\($0); rest 1s; shake peak=\(2.5 + Double($0) / 4)g for=1.2s; rest 1s", seconds: 4)
        }
        // Knocks of 2 g are what must not be taken for a shake.
        let knocks = try Made.trace("seed=9; rest 5s; shake peak=2g for=0.6s; rest 20s; loop", seconds: 600)
        for phase in 0..<sweep.phases {
            let lead = sweep.lead(in: phase, every: .milliseconds(100))
            for (index, trace) in shakes.enumerated() {
                let run = try replay(trace, sweep.requests, lead: lead).replay
                sweep.count(run, as: .positive, of: "<shake \(index)>")
            }
            sweep.count(try replay(knocks, sweep.requests, lead: lead).replay, as: .negative, of: "knocks")
        }
        return sweep
    }

    /// Of those that find all and disturb nobody it is the default.
    @Test func advisesWhatDisturbsNobodyAndFindsMost() throws {
        let sweep = try self.sweep(target: 1)
        let advice = try #require(sweep.advice(target: 1))
        #expect(advice.meetsTarget)
        #expect((1.95...2.25).contains(advice.lowest))
        #expect(advice.point.threshold == 2.3)
        #expect(sweep.doubt == nil)
        #expect(
            SweepReport.sentence(advice, target: 1, unit: "g").hasPrefix(
                "Use 2.3 g: finds 100 % of the positive traces, 0 false hits an hour. From "))
        #expect(advice.point.recall == 1)
        #expect(advice.point.falsePerHour == 0)
        #expect(advice.highest > 2.5)
        let curve = sweep.curve
        #expect(curve.first.flatMap(\.falsePerHour).map { $0 > 100 } == true)
        #expect(curve.last?.recall == 0)
    }

    @Test func saysWhenNothingServes() throws {
        var sweep = ThresholdSweep(try Self.planar(), over: 1...2, steps: 5, phases: 1)
        let walk = try Made.trace("shake peak=4g for=2s; rest 3s; loop", seconds: 60)
        sweep.count(try replay(walk, sweep.requests).replay, as: .negative, of: "trace")
        let advice = try #require(sweep.advice(target: 1))
        #expect(!advice.meetsTarget)
        #expect(SweepReport.sentence(advice, target: 1, unit: "g").hasPrefix("No threshold"))
        let shake = try Made.trace("rest 1s; shake peak=4g for=2s; rest 3s", seconds: 6)
        var blind = try ThresholdSweep(Self.planar(), over: 0.2...1, steps: 9, phases: 1)
        blind.count(try replay(shake, blind.requests).replay, as: .positive, of: "trace")
        // Without the default among them, and nothing that disturbs: the middle of what was tried.
        #expect((try #require(blind.advice(target: 1)).point.threshold - 0.6).magnitude < 0.01)
        #expect(blind.doubt?.hasPrefix("no negative trace") == true)
    }

    /// What stands behind a point is the recordings that it misses and those that disturb it.
    @Test func theReportShowsWhatStandsBehindEachPoint() throws {
        let sweep = try self.sweep(target: 1)
        #expect(sweep.recordings.map(\.runs) == Array(repeating: 3, count: 7))
        #expect(
            zip(sweep.recordings.map { $0.hits.reduce(0, +) }, sweep.recordings).allSatisfy { $0 > 0 && $1.hours > 0 })
        #expect(
            sweep.curve.indices.allSatisfy { index in
                sweep.curve[index].found == sweep.recordings.prefix(6).reduce(0) { $0 + $1.runsHit[index] }
                    && sweep.curve[index].falseHits == sweep.recordings[6].hits[index]
            })
        var report = SweepReport(title: "<tuning>", target: 1)
        report.add(sweep)
        let html = report.html
        #expect(html.hasPrefix("<!DOCTYPE html>") && html.contains("&lt;tuning&gt;") && !html.contains("<shake"))
        #expect(!html.contains("http:") && !html.contains("https:") && !html.contains("<script"))
        #expect(html.contains("threshold (g)") && html.contains("chosen: 2.3 g"))
        // Two curves, a strip for each recording and one for the scale, and a row for each value.
        #expect(html.ranges(of: "<figure class=\"plot\"").count == 2)
        #expect(html.ranges(of: "<div class=\"strip\"").count == 7)
        #expect(html.ranges(of: "<tr><td class=\"n\"").count == 41)
        #expect(html.contains("&lt;shake 0&gt;") && html.contains("knocks"))
    }

    @Test(arguments: [
        ("shake gentle", ThresholdSweep.Kind.positive), ("not-shake walk", .negative), ("walk", nil), ("", nil),
    ])
    func labels(_ label: String, _ kind: ThresholdSweep.Kind?) {
        #expect(ThresholdSweep.Kind(label: label) == kind)
    }
}
