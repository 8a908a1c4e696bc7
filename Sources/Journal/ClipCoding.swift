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
        var bytes: [UInt8] = [self.version, UInt8(clamping: width)]
        bytes.reserveCapacity(16 + count * (width + 2))
        self.write(UInt64(count), to: &bytes)
        var (last, pace): (Int64, Int64) = (0, 0)
        for time in times.prefix(count) {
            // Of samples that come at one pace only the noise is left.
            let step = time &- last
            self.write(signed: step &- pace, to: &bytes)
            (last, pace) = (time, step)
        }
        for channel in 0..<width {
            var most = 0.0
            for row in 0..<count { most = max(most, values[row * width + channel].magnitude) }
            if !most.isFinite { most = 0 }
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: most.bitPattern >> UInt64(shift)))
            }
            guard most > 0 else { continue }
            var last: Int64 = 0
            for row in 0..<count {
                // Divided first: of very small and very large ones the product would be too much.
                let number = Int64((values[row * width + channel] / most * self.steps).rounded())
                self.write(signed: number - last, to: &bytes)
                last = number
            }
        }
        return bytes
    }

    /// The samples that were encoded, or `nil`: the bytes are none of ours.
    package static func decode(_ bytes: [UInt8], width: Int) -> SampleBlock? {
        var rest = bytes[...]
        guard rest.popFirst() == self.version, let own = rest.popFirst(), Int(own) == width,
            (1...SensorLimits.channels).contains(width), let counted = self.read(&rest),
            counted <= UInt64(MotionClip.mostSamples)
        else { return nil }
        let count = Int(counted)
        var times: [Int64] = []
        var (last, pace): (Int64, Int64) = (0, 0)
        for row in 0..<count {
            guard let change = self.readSigned(&rest) else { return nil }
            let step = pace.addingReportingOverflow(change)
            let time = last.addingReportingOverflow(step.partialValue)
            guard !step.overflow, !time.overflow, row == 0 || step.partialValue > 0,
                (0...Self.latest).contains(time.partialValue)
            else { return nil }
            (last, pace) = (time.partialValue, step.partialValue)
            times.append(last)
        }
        var values = [Double](repeating: 0, count: count * width)
        for channel in 0..<width {
            guard rest.count >= 8 else { return nil }
            var bits: UInt64 = 0
            for shift in stride(from: 0, to: 64, by: 8) { bits |= UInt64(rest.removeFirst()) << UInt64(shift) }
            let most = Double(bitPattern: bits)
            guard most.isFinite, most >= 0 else { return nil }
            guard most > 0 else { continue }
            var number: Int64 = 0
            for row in 0..<count {
                guard let change = self.readSigned(&rest), change.magnitude <= 65_534 else { return nil }
                number += change
                guard number.magnitude <= 32_767 else { return nil }
                values[row * width + channel] = Double(number) / self.steps * most
            }
        }
        guard rest.isEmpty else { return nil }
        return SampleBlock(channels: width, times: times, values: values)
    }

    // MARK: Numbers of few bytes

    private static func write(_ number: UInt64, to bytes: inout [UInt8]) {
        var left = number
        while left >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        bytes.append(UInt8(left))
    }

    /// Small ones have few bytes on either side of zero.
    private static func write(signed number: Int64, to bytes: inout [UInt8]) {
        self.write(UInt64(bitPattern: number << 1 ^ number >> 63), to: &bytes)
    }

    private static func read(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            // Of the tenth byte only the first bit has room.
            guard shift < 63 || byte <= 1 else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }

    private static func readSigned(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
        self.read(&bytes).map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
    }
}
