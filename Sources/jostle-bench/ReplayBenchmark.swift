import Detection
import Motion
import Replay
import TestSupport
import Traces

/// How many samples a second of processor time can be replayed: from memory, and from the text of a trace; beside plain
/// thresholds on the same samples, and beside reading the same numbers.
enum ReplayBenchmark {
    private static let samples = 200_000

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let motion = MadeMotion(looks: self.samples, shaken: true)
        var one = BenchEngine()
        one.add(try self.preset("shake"), as: 0)
        var all = BenchEngine()
        let presets = PresetCatalogue.all.filter { $0.sensor == "accelerometer" && $0.content == nil }
        for (index, preset) in presets.enumerated() {
            all.add(try self.preset(preset.name), as: UInt32(index))
        }
        let text = try self.text(of: motion)
        var (ones, alls, rows) = (Pairs(), Pairs(), Pairs())
        for _ in 0..<plan.rounds {
            ones.add(ours: 1_000 / motion.nanosecondsPerLook(&one), baseline: 1_000 / self.plainLook(1, motion))
            alls.add(
                ours: 1_000 / motion.nanosecondsPerLook(&all), baseline: 1_000 / self.plainLook(presets.count, motion))
            rows.add(ours: try self.replay(text), baseline: self.plainRows(text))
        }
        report(ones.figure("replay.one-preset", "M/s", within: .atLeast(1)))
        report(alls.figure("replay.all-presets", "M/s", within: .atLeast(0.4)))
        report(rows.figure("replay.text", "M/s", within: .atLeast(1)))
    }

    /// Nanoseconds that a sample costs so many objects with a threshold each.
    private static func plainLook(_ count: Int, _ motion: MadeMotion) -> Double {
        let objects = Crowd(count: count, features: 1).objects()
        return motion.nanosecondsPerLook(motion.count) { time, sample in
            for object in objects where object.look(time, sample) { blackHole(object) }
        }
    }

    /// Millions of rows a second whose numbers are read, and no more.
    private static func plainRows(_ text: [UInt8]) -> Double {
        let began = ProcessorClock.now()
        blackHole(PlainReading.numbers(of: text))
        return Double(self.samples) * 1_000 / (ProcessorClock.now() - began)
    }

    private static func preset(_ name: String) throws(Failure) -> CompiledDetector {
        try compile(DetectorRequest(name: name, options: ["preset": .text(name)]))
    }

    /// A trace as `jostle record` writes it.
    private static func text(of motion: MadeMotion) throws(Failure) -> [UInt8] {
        let sensor = TraceSensor(name: "accelerometer", channels: ["x", "y", "z"], unit: "g")
        do throws(TraceWriter.Problem) {
            var writer = try TraceWriter(TraceHeader(sensors: [sensor]))
            for (index, sample) in motion.samples.enumerated() {
                let row = [sample.x, sample.y, sample.z]
                try writer.append(Timestamp(microseconds: Int64(index) * 10_000), row.span)
            }
            return writer.bytes
        } catch {
            throw Failure("\(error)")
        }
    }

    /// Millions of rows read and looked at in a second.
    private static func replay(_ text: [UInt8]) throws(Failure) -> Double {
        var replay = TraceReplay([DetectorRequest(name: "shake", options: ["preset": .text("shake")])])
        let began = ProcessorClock.now()
        do throws(TraceReplay.Problem) {
            for start in stride(from: 0, to: text.count, by: 256 << 10) {
                try replay.feed(text.span.extracting(start..<min(text.count, start + 256 << 10))) { _ in }
            }
            try replay.finish { _ in }
        } catch {
            throw Failure("\(error)")
        }
        let seconds = (ProcessorClock.now() - began) / 1e9
        guard replay.samples == self.samples, replay.tallies[0].hits > 0 else {
            throw Failure("a replay of \(self.samples) samples looked at \(replay.samples)")
        }
        return Double(replay.samples) / 1e6 / seconds
    }
}
