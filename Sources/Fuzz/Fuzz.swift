import Arbitration
import DBus
import Detection
import Glibc
import Motion
import Traces

/// What is fed with bytes that nobody chose. `FUZZ_TARGET` says which.
private enum Target: String, CaseIterable {
    /// Trace files, cut into chunks.
    case trace
    /// Scripts of made motion.
    case script
    /// Whole D-Bus messages, as a peer could send them.
    case message
    /// Detector options and conditions.
    case detector
    /// Verdicts as a disk may give them back.
    case verdict

    /// Chosen once, at the first input.
    static let chosen: Target = {
        // SAFETY: the environment does not change.
        let name = unsafe getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
        guard let target = Target(rawValue: name) else {
            fatalError("FUZZ_TARGET must be one of \(Target.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return target
    }()
}

/// The fuzzer's entry: whatever the bytes are, this returns.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    // SAFETY: the fuzzer lends `size` bytes for the time of the call.
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    switch Target.chosen {
    case .trace: fuzzTrace(bytes)
    case .script: fuzzScript(bytes)
    case .message: Message.readAnything(bytes)
    case .detector: fuzzDetector(bytes)
    case .verdict: fuzzVerdict(bytes)
    }
    return 0
}

private func fuzzTrace(_ bytes: [UInt8]) {
    var reader = TraceReader()
    // The first byte says how the rest is cut.
    let chunk = max(1, Int(bytes.first ?? 64))
    var start = min(1, bytes.count)
    do {
        while start < bytes.count {
            let end = min(bytes.count, start + chunk)
            try reader.feed(bytes.span.extracting(start..<end))
            reader.removeRows()
            start = end
        }
        try reader.finish()
    } catch {
        _ = "\(error)"
    }
}

private func fuzzScript(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do {
        var motion = try SyntheticMotion(script: text)
        for step in 0..<50 { _ = motion.sample(at: TimeSpan(microseconds: Int64(step) * 77_777)) }
        try motion.inject(text, at: .seconds(1))
        _ = motion.sample(at: .seconds(2))
    } catch {
        _ = "\(error)"
    }
}

/// Lines of `key=value`; `when` and `preset` among the keys.
private func fuzzDetector(_ bytes: [UInt8]) {
    var options: [String: OptionValue] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n").prefix(32) {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? String(parts[1]) : ""
        options[String(parts[0])] = UInt64(value).map { .count($0) } ?? .text(value)
    }
    let request = DetectorRequest(name: "fuzz", options: options)
    do {
        let detector = try DetectorCompiler.compile(request, for: nil)
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        engine.add(detector, as: DetectorID(0), at: .zero)
        var hits: [Hit] = []
        var block = SampleBlock(channels: 3)
        for step in 0..<100 {
            let value = Double((step &* 7919) % 100) / 20 - 2.5
            block.append(Timestamp(microseconds: Int64(step) * 33_333), [value, -value, 1])
        }
        engine.process(times: block.times.span, values: block.values.span, hits: &hits)
    } catch {
        _ = "\(error)"
    }
}

/// The sum over the bytes is put right, or no input would come any further.
private func fuzzVerdict(_ bytes: [UInt8]) {
    let sum = Verdict.sum(over: bytes[...])
    let head = [Verdict.encodingVersion] + (0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
    do {
        let verdict = try Verdict(encoded: head + bytes)
        _ = Explanation(verdict).description
        _ = Explanation(verdict.withoutOthers).description
    } catch {
        _ = "\(error)"
    }
}
