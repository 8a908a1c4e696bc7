import Motion
import Traces

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
