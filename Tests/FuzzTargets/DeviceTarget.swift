import DeviceCore
import Motion

/// What a driver may write into attributes and buffers: lines, and behind the separator what a buffer holds.
enum DeviceTarget {
    static func run(_ bytes: [UInt8]) -> String? {
        let end = bytes.firstIndex(of: FuzzTarget.separator) ?? bytes.endIndex
        // The kernel writes a page at most.
        let lines = String(decoding: bytes[..<end].prefix(4_096), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for line in lines {
            if let problem = self.read(line) { return "\(problem): \(line.prefix(80))" }
        }
        return self.scan(Array(bytes[end...].dropFirst()), lines.compactMap { ScanFormat($0) })
    }

    /// One line as each kind of attribute.
    private static func read(_ line: String) -> String? {
        if let number = AttributeText.number(line) {
            guard number.isFinite else { return "a number that is not finite" }
            let again = AttributeText.number(AttributeText.decimal(number))
            guard let again, abs(again - min(max(number, 0), 1e9)) <= 1e-6 else { return "a rate reads as another" }
            if let scale = ChannelScale(scale: number, factor: 1), !scale.value(0x1p40).isFinite {
                return "a scale makes readings that are not finite"
            }
        }
        let rates = AttributeText.rates(line)
        guard rates.allSatisfy({ SensorLimits.rates.contains($0) }),
            zip(rates, rates.dropFirst()).allSatisfy({ $0 < $1 })
        else { return "rates that do not rise, or are none" }
        if let matrix = MountMatrix(line) {
            var values = [1.0, -2, 3]
            matrix.turn(&values)
            guard values.allSatisfy(\.isFinite) else { return "a matrix that turns into nothing" }
        }
        let bytes = Array(line.utf8)
        if let brightness = AttributeText.brightness(bytes.span), !(brightness >= 0) { return "less than dark" }
        if let bits = InputBits(line), bits.has(32) { return "more bits than are told" }
        _ = Placement.word(label: line, location: nil)
        return nil
    }

    /// Whole scans of the channels whose formats were read, with a stamp in the last.
    private static func scan(_ bytes: [UInt8], _ formats: [ScanFormat]) -> String? {
        let elements = formats.prefix(SensorLimits.channels).enumerated().map {
            ScanLayout.Element(index: $0, format: $1)
        }
        guard let layout = ScanLayout(elements), let last = elements.last?.format else { return nil }
        var clock = SampleClock(bits: last.bits)
        var told = Timestamp(microseconds: .min)
        for scan in 0..<min(bytes.count / layout.size, 1_000) {
            var stamp: Int64 = 0
            for (element, offset) in zip(elements, layout.offsets) {
                let raw = element.format.raw(bytes.span, at: scan * layout.size + offset)
                if let largest = element.format.largest, Double(raw).magnitude > largest + 1 {
                    return "a reading beyond its format"
                }
                stamp = raw
            }
            let now = Timestamp(microseconds: Int64(scan) * 10_000 + 5_000_000_000)
            let time = clock.time(
                of: stamp, after: 0, SampleClock.Arrival(now: now, period: .milliseconds(10), held: .zero))
            guard time > told, time <= now + SampleClock.tolerance else {
                return "times that do not rise, or are ahead"
            }
            told = time
        }
        return nil
    }
}
