import Detection
import Journal
import Motion
import Randomness
import Testing

/// The motion of a clip in few bytes.
@Suite struct ClipCodingTests {
    @Test(arguments: someSeeds(UInt64(1)...60)) func motionComesBack(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (width, count) = (Int.random(in: 1...6, using: &random), Int.random(in: 0...600, using: &random))
        let scale = [1e-300, 1e-6, 1, 16, 1e9, 1e300].randomElement(using: &random)!
        var times: [Int64] = []
        var time = Int64.random(in: 0...(1 << 50), using: &random)
        for _ in 0..<count {
            time += Bool.random(using: &random) ? 20_000 : Int64.random(in: 1...4_000_000, using: &random)
            times.append(time)
        }
        let values = (0..<count * width).map { _ in Double.random(in: -scale...scale, using: &random) }
        let bytes = ClipCoding.encode(times: times, values: values, width: width)
        let block = try #require(ClipCoding.decode(bytes, width: width), "seed \(seed)")
        #expect(block.times == times && block.values.count == values.count)
        for channel in 0..<width {
            let own = stride(from: channel, to: values.count, by: width)
            let most = own.map { values[$0].magnitude }.max() ?? 0
            for index in own { #expect(abs(block.values[index] - values[index]) <= most / 65_533, "seed \(seed)") }
        }
        // Less of it is none, and so is more, or another width.
        for _ in 0..<8 {
            #expect(
                ClipCoding.decode(Array(bytes.dropLast(Int.random(in: 1...bytes.count, using: &random))), width: width)
                    == nil)
        }
        #expect(ClipCoding.decode(bytes + [0], width: width) == nil)
        #expect(ClipCoding.decode(bytes, width: width + 1) == nil)
    }

    /// Three seconds of an accelerometer at 50 Hz take no more than a tenth of what they would as text.
    @Test func itIsSmall() {
        var random = SeededRandom(seed: 7)
        let times = (0..<150).map { Int64($0) * 20_000 }
        let values = (0..<450).map { _ in Double.random(in: -0.05...0.05, using: &random) + 1 }
        #expect(ClipCoding.encode(times: times, values: values, width: 3).count < 1_300)
    }

    @Test(arguments: someSeeds(UInt64(1)...40)) func anyBytesAreReadOrRefused(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bytes = ClipCoding.encode(times: [1, 20_000, 40_000], values: [1, 2, 3, 4, 5, 6], width: 2)
        for _ in 0..<200 {
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            guard let block = ClipCoding.decode(bytes, width: 2) else { continue }
            #expect(block.values.allSatisfy(\.isFinite) && block.count <= MotionClip.mostSamples)
            #expect(zip(block.times, block.times.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
        }
    }
}
