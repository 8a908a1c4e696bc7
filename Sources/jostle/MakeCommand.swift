import DaemonSupport
import Glibc
import Loop
import Motion
import Traces

/// `jostle make`: writes the motion of a script into a trace, in virtual time.
struct MakeCommand {
    private static let rate = TypedOption.quantity(
        "rate", "HZ", "samples a second, up to the script's own rate (default: 50)", .frequency,
        expected: "a rate, such as 50Hz")
    private static let length = TypedOption.time(
        "for", "TIME", "so much of the motion (default: all of it, once)", expected: "a time, such as 10s")
    private static let seed = TypedOption<UInt64>(
        "seed", "N", "what is left to chance follows from it (default: the script's, or 1)",
        expected: "a whole number up to \(UInt64.max)"
    ) { UInt64($0) }

    static let syntax = CommandSyntax(
        "make",
        "write made motion into a trace, without a bus and without waiting: the same script and seed give the same file",
        reaching: .nobody, options: [rate, length, seed, CommonOption.label],
        arguments: [
            CommandArgument("SCRIPT", "the motion, as 'jostle-sensord --source synth:SCRIPT' takes it"),
            CommandArgument("FILE", "the trace to write; '-' is standard output", naming: .file),
        ]
    ) { try MakeCommand($0.arguments).run() }

    private let script: String
    private let motion: SyntheticMotion
    private let rate: Double
    private let length: TimeSpan
    private let path: String
    private let label: String?

    /// Samples between two writes.
    private static let part: Int64 = 4_096

    private init(_ arguments: Arguments) throws(UsageProblem) {
        let given = arguments.positionals[0]
        var script = given.hasPrefix("synth:") ? String(given.dropFirst(6)) : given
        // What is wrong with the script has its place there.
        var motion = try Self.motion(script)
        if let seed = try arguments.value(of: Self.seed) {
            script = "seed=\(seed)" + (script.isEmpty ? "" : "; \(script)")
            motion = try Self.motion(script)
        }
        let rate = try arguments.value(of: Self.rate) ?? 50
        let fastest = motion.rates.last ?? 0
        guard (SensorLimits.rates.lowerBound...fastest).contains(rate) else {
            throw UsageProblem(
                "make: rate \(rate) Hz is outside \(SensorLimits.rates.lowerBound) to \(fastest) Hz, the script's 'rate='"
            )
        }
        guard let length = try arguments.value(of: Self.length) ?? motion.length else {
            throw UsageProblem("make: this motion has no end: say --for")
        }
        (self.script, self.motion, self.rate, self.length) = (script, motion, rate, length)
        (self.path, self.label) = (arguments.positionals[1], try arguments.value(of: CommonOption.label))
    }

    private static func motion(_ script: String) throws(UsageProblem) -> SyntheticMotion {
        do throws(SyntheticMotion.Problem) {
            return try SyntheticMotion(script: script)
        } catch {
            throw UsageProblem("make: the script:\(error)")
        }
    }

    private func run() throws(CommandFailure) {
        // A note is one line.
        let source = "synth:" + self.script.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        var writer = try TraceWriter(of: self.motion.sensor, source: source, label: self.label)
        let file = try OutputFile(self.path)
        var (rows, next) = (0, Int64(0))
        var block = SampleBlock(channels: self.motion.sensor.channels.count)
        do throws(SystemError) {
            while SyntheticMotion.offset(ofSample: next, rate: self.rate) < self.length {
                var end = next
                while end < next + Self.part, SyntheticMotion.offset(ofSample: end, rate: self.rate) < self.length {
                    end += 1
                }
                self.motion.record(next..<end, rate: self.rate, into: &block)
                for row in 0..<block.count {
                    let values = block.values.span.extracting(row * block.channels..<(row + 1) * block.channels)
                    if (try? writer.append(Timestamp(microseconds: block.times[row]), values)) != nil { rows += 1 }
                }
                block.removeAll()
                next = end
                try file.write(writer.bytes)
                writer.removeBytes()
            }
        } catch {
            // A reader that has enough is no failure.
            if error.code != EPIPE { throw CommandFailure(.no, "\(self.path): \(error)") }
        }
        try file.takeName()
        complain("\(rows) samples of \(self.length.text) in \(self.path == "-" ? "standard output" : self.path)")
    }
}
