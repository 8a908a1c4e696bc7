import Arbitration
package import Detection
package import Motion

/// The motion of a clip in few bytes, and back: steps of numbers of 16 bits, each channel with a scale of its own.
///
/// A channel is off by no more than a 65 534th of the largest value that it has in the clip.
package enum ClipCoding {
    private static let version: UInt8 = 1
    private static let steps = 32_767.0
    /// No sample is later, in µs: sums of times stay numbers.
    package static let latest: Int64 = 1 << 60

    package static func encode(_ clip: MotionClip) -> [UInt8] {
        self.encode(times: clip.times, values: clip.values, width: clip.channels.count)
    }

    package static func encode(times: [Int64], values: [Double], width: Int) -> [UInt8] {
        let count = width > 0 ? min(times.count, values.count / width) : 0
        var writer = ByteWriter()
        writer.write(raw: [self.version, UInt8(clamping: width)])
        writer.write(UInt64(count))
        var (last, pace): (Int64, Int64) = (0, 0)
        for time in times.prefix(count) {
            // Of samples that come at one pace only the noise is left.
            let step = time &- last
            writer.write(step &- pace)
            (last, pace) = (time, step)
        }
        for channel in 0..<width {
            var most = 0.0
            for row in 0..<count { most = max(most, values[row * width + channel].magnitude) }
            if !most.isFinite { most = 0 }
            writer.write(most)
            guard most > 0 else { continue }
            var last: Int64 = 0
            for row in 0..<count {
                // Divided first: of very small and very large ones the product would be too much.
                let number = Int64((values[row * width + channel] / most * self.steps).rounded())
                writer.write(number - last)
                last = number
            }
        }
        return writer.bytes
    }

    /// The samples that were encoded, or `nil`: the bytes are none of ours.
    package static func decode(_ bytes: [UInt8], width: Int) -> SampleBlock? {
        guard bytes.count >= 2, bytes[0] == self.version, Int(bytes[1]) == width,
            (1...SensorLimits.channels).contains(width)
        else { return nil }
        var reader = ByteReader(bytes[2...])
        guard let block = try? self.block(from: &reader, width: width), reader.isAtEnd else { return nil }
        return block
    }

    private static func block(
        from reader: inout ByteReader, width: Int
    ) throws(RecordProblem) -> SampleBlock? {
        let counted = try reader.number()
        guard counted <= UInt64(MotionClip.mostSamples) else { throw .corrupt }
        let count = Int(counted)
        var times: [Int64] = []
        var (last, pace): (Int64, Int64) = (0, 0)
        for row in 0..<count {
            let step = pace.addingReportingOverflow(try reader.signed())
            let time = last.addingReportingOverflow(step.partialValue)
            guard !step.overflow, !time.overflow, row == 0 || step.partialValue > 0,
                (0...Self.latest).contains(time.partialValue)
            else { throw .corrupt }
            (last, pace) = (time.partialValue, step.partialValue)
            times.append(last)
        }
        var values = [Double](repeating: 0, count: count * width)
        for channel in 0..<width {
            let most = try reader.double()
            guard most.isFinite, most >= 0 else { throw .corrupt }
            guard most > 0 else { continue }
            var number: Int64 = 0
            for row in 0..<count {
                let change = try reader.signed()
                guard change.magnitude <= 65_534 else { throw .corrupt }
                number += change
                guard number.magnitude <= 32_767 else { throw .corrupt }
                values[row * width + channel] = Double(number) / self.steps * most
            }
        }
        return SampleBlock(channels: width, times: times, values: values)
    }
}
