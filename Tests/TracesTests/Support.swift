import Motion
import Traces

/// SplitMix64: the same numbers from the same seed everywhere.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// What a reader made of a trace, up to its first error.
struct ReadTrace: Equatable {
    var header: TraceHeader?
    var blocks: [SampleBlock] = []
    var problem: TraceProblem?
}

/// Reads a trace in chunks that `size` chooses, emptying the reader after each.
func read(_ bytes: [UInt8], chunks size: (Int) -> Int = { $0 }) -> ReadTrace {
    var reader = TraceReader()
    var result = ReadTrace()
    func take() {
        for (index, block) in reader.blocks.enumerated() {
            if index == result.blocks.count { result.blocks.append(SampleBlock(channels: block.channels)) }
            for row in 0..<block.count {
                result.blocks[index].append(
                    Timestamp(microseconds: block.times[row]), block.values, at: row * block.channels)
            }
        }
        reader.removeRows()
    }
    do throws(TraceProblem) {
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + max(1, size(bytes.count - start)))
            try reader.feed(bytes.span.extracting(start..<end))
            take()
            start = end
        }
        try reader.finish()
    } catch {
        result.problem = error
    }
    // What was read before an error is good.
    take()
    result.header = reader.header
    return result
}

func read(_ text: String) -> ReadTrace { read(Array(text.utf8)) }

/// A trace of an accelerometer with these rows.
func accelerometer(_ rows: String) -> ReadTrace {
    read("# jostle trace 1\n# sensor: accelerometer\n# unit: g\nt,x,y,z\n" + rows)
}
