package import Motion

/// The motion of an accelerometer, made from a seed and a script instead of measured.
///
/// It is a function of time alone: a device at another rate reads the same motion, and the same script and seed give the
/// same values on every machine. Times are offsets from the start of the device. The script's language is described in
/// `docs/traces.md`:
///
///     seed=7; noise=0.02g; rest 2s; walk 10s pace=1.8Hz strength=0.6g; shake peak=2.8g; loop
///
/// `inject` adds motion to what the script does, from a point in time on.
package struct SyntheticMotion: Sendable {
    /// What is wrong with a script.
    package struct Problem: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// In bytes, from 1.
        package var column: Int
        package var message: String
        /// The name of the limit that was crossed, if it was one: `motions` or `motion-bytes`.
        package var limit: String?

        package init(column: Int, message: String, limit: String? = nil) {
            self.column = column
            self.message = message
            self.limit = limit
        }

        package var description: String { "\(self.column): \(self.message)" }
    }

    /// What a script can be at most.
    package enum Limits {
        /// Bytes in a script.
        package static let script = 4_096
        /// Injected scripts that have not ended.
        package static let injected = 64
        /// The range of the sensor, in g; readings beyond it stop there, as a real sensor's do.
        package static let range = 16.0
    }

    /// A script that was injected, and when.
    private struct Injection {
        var start: TimeSpan
        var score: MotionScore
    }

    /// The rates the device can run at.
    package var rates: [Double] { self.settings.rates }
    package var seed: UInt64 { self.settings.seed }

    /// How long the script's motions take, once; `nil` where they have no end of their own, or there are none.
    package var length: TimeSpan? {
        self.score.loops || self.score.length == 0 ? nil : TimeSpan(microseconds: self.score.length)
    }

    let settings: MotionSettings
    private let score: MotionScore
    private var injections: [Injection] = []

    /// Makes the motion of a script; the empty script is rest without end.
    package init(script: String = "") throws(Problem) {
        var parser = try ScriptParser(script, allowsSettings: true)
        self.score = try parser.parse()
        self.settings = parser.settings
    }

    /// The device as `jostle-sensord` shows it.
    package var sensor: SensorDescription {
        SensorDescription(
            name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: Limits.range, rates: self.rates,
            source: "synth", isSimulated: true)
    }

    /// The time of a sample of a device that runs at `rate` from its start, rounded once and without drift.
    package static func offset(ofSample index: Int64, rate: Double) -> TimeSpan {
        TimeSpan(seconds: Double(index) / rate) ?? TimeSpan(microseconds: .max)
    }

    /// The reading at a time, in g with gravity, or `nil` in a gap.
    package func sample(at offset: TimeSpan) -> SIMD3<Double>? {
        var sum = self.settings.frame.up
        guard let base = self.score.push(at: offset, self.settings) else { return nil }
        sum += base
        for injection in self.injections where injection.start <= offset {
            let since = TimeSpan(microseconds: offset.microseconds.subtractingClamped(injection.start.microseconds))
            guard let added = injection.score.push(at: since, self.settings) else { return nil }
            sum += added
        }
        if self.settings.noise > 0 {
            let index = UInt64(bitPattern: offset.microseconds)
            for axis in 0..<3 {
                let chance = Waveform.chance(self.settings.seed, index, UInt64(axis))
                sum[axis] += self.settings.noise * (2 * chance - 1)
            }
        }
        return sum.clamped(
            lowerBound: SIMD3(repeating: -Limits.range), upperBound: SIMD3(repeating: Limits.range))
    }

    /// Adds the motions of a script to those that are under way, beginning at `offset`.
    ///
    /// Settings and `loop` are refused here. What has ended by then is forgotten, so the past must not be read again.
    package mutating func inject(_ statements: String, at offset: TimeSpan) throws(Problem) {
        var parser = try ScriptParser(statements, allowsSettings: false)
        let score = try parser.parse()
        self.injections.removeAll {
            offset.microseconds.subtractingClamped($0.start.microseconds) >= $0.score.length
        }
        guard self.injections.count < Limits.injected else {
            throw Problem(
                column: 1, message: "\(Limits.injected) injected motions are under way already", limit: "motions")
        }
        self.injections.append(Injection(start: offset, score: score))
    }

    /// Appends the samples of `indices` at `rate` to a block, as a device would read them that started at `start`.
    package func record(
        _ indices: Range<Int64>, rate: Double, from start: Timestamp = .zero, into block: inout SampleBlock
    ) {
        precondition(block.channels == 3)
        var row = [0.0, 0, 0]
        for index in indices {
            let offset = Self.offset(ofSample: index, rate: rate)
            guard let sample = self.sample(at: offset) else { continue }
            for axis in 0..<3 { row[axis] = sample[axis] }
            block.append(start + offset, row)
        }
    }
}

/// What a script sets before its first motion.
struct MotionSettings: Sendable {
    var seed: UInt64 = 1
    /// How far a reading may be off, each axis for itself, in g.
    var noise = 0.0
    var rates = Self.rates(upTo: 400)
    var frame = MotionFrame(up: SIMD3(0, 0, 1))

    /// The usual rates below the fastest one, and that.
    static func rates(upTo fastest: Double) -> [Double] {
        [10.0, 25, 50, 100, 200, 400].filter { $0 < fastest } + [fastest]
    }
}

/// How the body lies: where up is, and two directions across.
struct MotionFrame: Sendable {
    /// What the sensor reads at rest: 1 g, upwards.
    let up: SIMD3<Double>
    let forward: SIMD3<Double>
    let side: SIMD3<Double>

    /// Makes a frame from a direction of length 1.
    init(up: SIMD3<Double>) {
        self.up = up
        // The axis that up leans on least, made upright to it.
        var axis = 0
        for other in 1..<3 where up[other].magnitude < up[axis].magnitude { axis = other }
        var across = SIMD3<Double>(repeating: 0)
        across[axis] = 1
        across -= up * up[axis]
        across /= (across * across).sum().squareRoot()
        self.forward = across
        self.side = SIMD3(
            up.y * across.z - up.z * across.y, up.z * across.x - up.x * across.z, up.x * across.y - up.y * across.x)
    }
}

extension Int64 {
    func subtractingClamped(_ other: Int64) -> Int64 {
        let (value, overflow) = self.subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : value
    }
}
