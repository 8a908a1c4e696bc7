import Detection
import Motion
import Replay
import TestSupport
import Traces

/// How many samples a second of processor time can be replayed: from memory, and from the text of a trace.
enum ReplayBenchmark {
    private static let samples = 200_000

    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let motion = MadeMotion(looks: self.samples, shaken: true)
        var one = BenchEngine()
        one.add(try self.preset("shake"), as: 0)
        var all = BenchEngine()
        for (index, preset) in PresetCatalogue.all.filter({ $0.sensor == "accelerometer" }).enumerated() {
            all.add(try self.preset(preset.name), as: UInt32(index))
        }
        let text = try self.text(of: motion)
        var (ones, alls, rows): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<plan.rounds {
            ones.append(1_000 / motion.nanosecondsPerLook(&one))
            alls.append(1_000 / motion.nanosecondsPerLook(&all))
            rows.append(try self.replay(text))
        }
        func figure(_ name: String, _ values: [Double], _ least: Double) {
            report(Figure(name: "replay.\(name)", unit: "M/s", value: values.median, budget: .value(.atLeast, least)))
        }
        figure("one-preset", ones, 5)
        figure("all-presets", alls, 1)
        figure("text", rows, 1)
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
