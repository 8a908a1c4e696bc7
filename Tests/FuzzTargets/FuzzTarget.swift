import Arbitration
import DBus
import Detection
import Journal
import Motion
import PolicyFiles
import Protocol
import Scenarios
import Traces

/// What reads bytes that others wrote, each as one function of bytes. The fuzzer and the tests feed them.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Trace files, cut into chunks.
    case trace
    /// Tracks of others, GPX and NMEA, cut into chunks.
    case track
    /// Scripts of made motion.
    case script
    /// Whole D-Bus messages, as a peer could send them.
    case message
    /// Detector options and conditions, as text.
    case detector
    /// Conditions that mostly read: bytes steer a grammar.
    case program
    /// Policy files, the user's behind a separator.
    case policy
    /// Scenarios, with a policy before the separator or without.
    case scenario
    /// Verdicts as a disk may give them back.
    case verdict
    /// What a device's driver says of it, and a buffer's bytes.
    case device
    /// What windows say of themselves, what their processes show, and desktop files.
    case window
    /// What an X server says, cut into pieces.
    case x11
    /// Where control groups are mounted, and of which a process is.
    case groups
    /// An app's file of background work.
    case app
    /// Packets of a stream of samples.
    case stream
    /// Taught gestures.
    case gesture
    /// Lines of gpsd, cut into pieces.
    case gpsd
    /// The motion of clips as a disk may give it back.
    case clip
    /// Values of a server's messages, in both forms.
    case value
    /// What is wanted of a device, signed or not.
    case desired
    /// Questions to a device, where their answers are to go, and what `jostle` answers.
    case request
    /// A bridge's configuration.
    case bridge

    /// Stands between two parts of an input.
    package static let separator: UInt8 = 0x1D

    /// Reads the bytes. Whatever they are, this returns: what is wrong with us, or nothing.
    package func run(_ bytes: [UInt8]) -> String? {
        switch self {
        case .trace: Self.trace(bytes)
        case .track: return Self.track(bytes)
        case .script: Self.script(bytes)
        case .message:
            Message.readAnything(bytes)
            return nil
        case .detector: Self.detector(bytes)
        case .program: return ProgramTarget.run(bytes)
        case .policy: return Self.policy(bytes)
        case .scenario: return Self.scenario(bytes)
        case .verdict: return Self.verdict(bytes)
        case .device: return DeviceTarget.run(bytes)
        case .window: return WindowTarget.run(bytes)
        case .x11: return X11Target.run(bytes)
        case .groups: return GroupTarget.run(bytes)
        case .app: return Self.app(bytes)
        case .stream: return Self.stream(bytes)
        case .gesture: return GestureTarget.run(bytes)
        case .gpsd: return GpsdTarget.run(bytes)
        case .clip: return Self.clip(bytes)
        case .value: return FleetTarget.value(bytes)
        case .desired: return FleetTarget.desired(bytes)
        case .request: return FleetTarget.request(bytes)
        case .bridge: return FleetTarget.configuration(bytes)
        }
        return nil
    }

    /// What is read is motion that can be, and is written as what reads the same.
    private static func clip(_ bytes: [UInt8]) -> String? {
        let width = Int(bytes.first ?? 1)
        guard let block = ClipCoding.decode(Array(bytes.dropFirst()), width: width) else { return nil }
        guard block.count <= MotionClip.mostSamples, block.values.allSatisfy(\.isFinite) else {
            return "motion that cannot be"
        }
        guard zip(block.times, block.times.dropFirst()).allSatisfy({ $0 < $1 }) else { return "times that do not rise" }
        let again = ClipCoding.encode(times: block.times, values: block.values, width: width)
        guard let read = ClipCoding.decode(again, width: width), read.times == block.times else {
            return "what was read cannot be written"
        }
        return nil
    }

    private static func trace(_ bytes: [UInt8]) {
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

    /// What is read of a track is a place on earth, at times that rise, whatever was written.
    private static func track(_ bytes: [UInt8]) -> String? {
        var reader = TraceReader()
        let chunk = max(1, Int(bytes.first ?? 64))
        var start = min(1, bytes.count)
        var last: Int64 = -1
        while start < bytes.count {
            let end = min(bytes.count, start + chunk)
            guard (try? reader.feed(bytes.span.extracting(start..<end))) != nil else { return nil }
            // A trace of ours may hold anything.
            if [UInt8(ascii: "<"), UInt8(ascii: "$")].contains(bytes[1]), let block = reader.blocks.first {
                for row in 0..<block.count {
                    guard block.times[row] > last else { return "times that do not rise" }
                    last = block.times[row]
                    let values = block.values[row * 5..<row * 5 + 5]
                    guard values.allSatisfy(\.isFinite) else { return "a value that is no number" }
                    guard values[row * 5].magnitude <= 90, values[row * 5 + 1].magnitude <= 180 else {
                        return "a place that is not on earth"
                    }
                }
            }
            reader.removeRows()
            start = end
        }
        _ = try? reader.finish()
        return nil
    }

    private static func script(_ bytes: [UInt8]) {
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
    private static func detector(_ bytes: [UInt8]) {
        var options: [String: OptionValue] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n").prefix(32) {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1]) : ""
            options[String(parts[0])] = UInt64(value).map { .count($0) } ?? .text(value)
        }
        do {
            let detector = try DetectorCompiler.compile(DetectorRequest(name: "fuzz", options: options), for: nil)
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

    /// The parts before and behind the separator.
    private static func halves(_ bytes: [UInt8]) -> (first: [UInt8], second: [UInt8])? {
        guard let index = bytes.firstIndex(of: self.separator) else { return nil }
        return (Array(bytes[..<index]), Array(bytes[(index + 1)...]))
    }

    private static func policy(_ bytes: [UInt8]) -> String? {
        var files = [PolicyFile(name: "system.conf", bytes: bytes)]
        if let (system, user) = self.halves(bytes) {
            files = [
                PolicyFile(name: "system.conf", bytes: system),
                PolicyFile(name: "user.conf", layer: .user, bytes: user),
            ]
        }
        let reading = PolicyReader.read(files)
        let findings = PolicyLinter.check(reading)
        _ = findings.map { "\($0)" }
        // Of users' sections, the text says whose they are only to people.
        guard reading.policy != nil, files.count == 1 else { return nil }
        let shown = PolicyText.show(reading)
        let again = PolicyReader.read([PolicyFile(name: "shown.conf", shown)])
        return again.policy == nil ? "what is shown does not read: \(again.errors.first.map { "\($0)" } ?? "")" : nil
    }

    private static func scenario(_ bytes: [UInt8]) -> String? {
        let (policyBytes, scenarioBytes) = self.halves(bytes) ?? ([], bytes)
        let reading = PolicyReader.read([PolicyFile(name: "policy.conf", bytes: policyBytes)])
        guard let scenario = try? Scenario(parsing: String(decoding: scenarioBytes, as: UTF8.self)) else { return nil }
        _ = ScenarioRunner.run(scenario, policy: reading.policy ?? .builtIn)
        let again = try? Scenario(parsing: scenario.description)
        return again == scenario ? nil : "what is written does not read as the same scenario"
    }

    /// The sum over the bytes is put right, or no input would come any further.
    private static func verdict(_ bytes: [UInt8]) -> String? {
        let sum = Verdict.sum(over: bytes[...])
        let head = [Verdict.encodingVersion] + (0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
        guard let verdict = try? Verdict(encoded: head + bytes) else { return nil }
        _ = Explanation(verdict).description
        _ = Explanation(verdict.withoutOthers).description
        return nil
    }

    /// A file that is read has what its app may have, and no more.
    private static func app(_ bytes: [UInt8]) -> String? {
        let (file, findings) = AppFileReader.read(PolicyFile(name: "org.example.App.conf", bytes: bytes))
        _ = findings.map { "\($0)" }
        guard let file else { return findings.isEmpty ? "nothing is read, and nobody says why" : nil }
        guard file.id == AppID("org.example.App") else { return "the file of \(file.id)" }
        guard Set(file.detectors.map(\.name)).count == file.detectors.count else { return "two detectors of a name" }
        guard file.detectors.count <= DetectorBatch.detectors else { return "\(file.detectors.count) detectors" }
        return nil
    }

    /// A packet that is read is written as it was. The first byte says how many channels there are.
    private static func stream(_ bytes: [UInt8]) -> String? {
        let channels = Int(bytes.first ?? 0) % (SensorLimits.channels + 1)
        let content = bytes.dropFirst().prefix(StreamCodec.packetBytes)
        var packet = StreamPacket()
        for (index, byte) in content.enumerated() {
            if index % 8 == 0 { packet.words[index / 8] = 0 }
            packet.words[index / 8] |= UInt64(byte) << (index % 8 * 8)
        }
        guard let header = packet.decode(bytes: content.count, channels: channels) else { return nil }
        var again: [UInt64] = []
        packet.lend { times, values in
            if header.kind == .samples {
                StreamCodec.write(first: header.sequence, times: times, values: values, into: &again)
            } else {
                StreamCodec.write(header, into: &again)
            }
        }
        return again == Array(packet.words.prefix(content.count / 8)) ? nil : "\(header) is written otherwise"
    }
}
