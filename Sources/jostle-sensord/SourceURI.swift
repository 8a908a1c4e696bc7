import DeviceCore
import Devices
import Loop
import Motion
import Traces

/// Where to take samples from, as `--source` says it.
///
/// `auto`, `iio:NAME`, `evdev:NODE`, `gpsd[:HOST[:PORT]]`, `synth:SCRIPT` or `trace:FILE[?speed=4&loop]`.
enum SourceURI {
    struct Problem: Swift.Error {
        var message: String
    }

    /// What a URI names.
    enum Meaning {
        /// Sensors that are there from the start to the end.
        case sources([any SampleSource])
        /// Sensors that are measured, and come and go.
        case devices(DeviceSelection)
    }

    private static let schemes = ["auto", "iio", "evdev", "gpsd", "synth", "trace"]

    static func open(
        _ text: String, on loop: EventLoop, remark: @escaping (_ message: String) -> Void
    ) throws(Problem) -> Meaning {
        if text == "auto" { return .devices(.all) }
        if text == "gpsd" { return try self.gpsd("", on: loop, remark) }
        guard let colon = text.firstIndex(of: ":") else {
            throw Problem(
                message:
                    "expected auto, iio:NAME, evdev:NODE, gpsd, synth:SCRIPT or trace:FILE, got '\(printable(text))'")
        }
        let rest = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "synth": return .sources([try self.synth(rest, on: loop)])
        case "trace": return .sources(try self.trace(rest, on: loop))
        case "gpsd": return try self.gpsd(rest, on: loop, remark)
        case "iio":
            guard !rest.isEmpty else { throw Problem(message: "iio: needs a name, such as iio:bmc150_accel") }
            return .devices(.iio(rest))
        case "evdev":
            guard rest.hasPrefix("/dev/") else {
                throw Problem(message: "evdev: needs a node, such as evdev:/dev/input/event3")
            }
            return .devices(.evdev(rest))
        case "auto":
            throw Problem(message: "auto takes nothing behind it, got '\(printable(text))'")
        case let scheme:
            let near = Suggestion.nearest(to: String(scheme), among: self.schemes)
            throw Problem(
                message: "unknown kind of source '\(printable(scheme))'"
                    + (near.map { ", did you mean '\($0)'?" } ?? ": expected \(self.schemes.joined(separator: ", "))"))
        }
    }

    private static func gpsd(
        _ text: String, on loop: EventLoop, _ remark: @escaping (_ message: String) -> Void
    ) throws(Problem) -> Meaning {
        guard let address = GpsdAddress(text) else {
            throw Problem(
                message:
                    "gpsd: expected an address in numbers, such as gpsd:192.168.1.20:2947, got '\(printable(text))'")
        }
        return .sources([DeviceSource.gpsd(at: address, on: loop, remark: remark)])
    }

    private static func synth(_ script: String, on loop: EventLoop) throws(Problem) -> any SampleSource {
        do throws(SyntheticMotion.Problem) {
            return SynthSource(try SyntheticMotion(script: script), on: loop)
        } catch {
            throw Problem(message: "synth:\(error)")
        }
    }

    private static func trace(_ text: String, on loop: EventLoop) throws(Problem) -> [any SampleSource] {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = String(parts[0])
        // Nobody hears a signal who waits there, and what was read once is gone.
        guard path != "-" else { throw Problem(message: "trace:-: standard input cannot be played; expected a file") }
        var speed = 1.0
        var loops = false
        for option in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            if option == "loop" {
                loops = true
            } else if option.hasPrefix("speed="), let value = Double(option.dropFirst(6)),
                (0.01...1_000).contains(value)
            {
                speed = value
            } else {
                throw Problem(
                    message: "trace: expected 'speed=' 0.01 to 1000 or 'loop' after '?', got '\(printable(option))'")
            }
        }
        let clock = PlaybackClock(speed: speed)
        return try self.survey(path).map { sensor in
            TraceSource(path, sensor: sensor, by: clock, loops: loops, on: loop)
        }
    }

    /// Reads the beginning of a trace to learn which sensors it has and how fast they were read.
    private static func survey(_ path: String) throws(Problem) -> [SensorDescription] {
        var reader = TraceReader()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        do {
            let file = try InputFile(path)
            // Enough rows for a rate, but not a long file whole.
            while reader.rows < 256 {
                let count = try file.read(into: &buffer)
                guard count > 0 else {
                    try reader.finish()
                    break
                }
                try reader.feed(buffer.span.extracting(0..<count))
            }
        } catch {
            throw Problem(message: "trace:\(path): \(error)")
        }
        guard let header = reader.header, reader.rows > 0 else { throw Problem(message: "trace:\(path): no samples") }
        return header.sensors.indices.map { index in
            let sensor = header.sensors[index]
            return SensorDescription(
                name: sensor.name, channels: sensor.channels, unit: sensor.unit, range: sensor.range,
                // Fixes come when they come.
                rates: SensorDescription.kind(of: sensor.name) == SensorDescription.location
                    ? [] : self.rate(of: reader.blocks[index].times).map { [$0] } ?? [],
                source: "trace:\(path)", isSimulated: true)
        }
    }

    /// The usual step between samples, as a rate.
    private static func rate(of times: [Int64]) -> Double? {
        let steps = zip(times.dropFirst(), times).map { $0 - $1 }.filter { $0 > 0 }.sorted()
        guard !steps.isEmpty else { return nil }
        let rate = 1_000_000 / Double(steps[steps.count / 2])
        return SensorLimits.rates.contains(rate) ? (rate * 1_000).rounded() / 1_000 : nil
    }
}
