import Foundation
import Loop
import TestSupport
import Testing

/// A real consumer of some topics, which notes when each event came and when it happened: `mosquitto_sub`, so that what is measured is not
/// how fast a test reads.
final class PlainSubscriber {
    struct Arrival {
        /// Both in µs of the wall clock.
        let came: Int64
        let happened: Int64
    }

    private let path: String
    private let program: BackgroundProgram
    /// What the wall clock is ahead of the clock of samples.
    private let ahead: Int64

    init(_ server: MQTTServer, to topic: String, in directory: String) throws {
        self.path = "\(directory)/heard-\(topic.filter(\.isLetter))"
        self.ahead = Clock.wallClock() - Clock.boottime.now()
        // What it says is more than anybody should read beside it.
        self.program = try BackgroundProgram(tool: [
            "sh", "-c", "exec mosquitto_sub \"$@\" > '\(self.path)'", "sh", "-V", "5", "-h", "localhost", "-p",
            "\(server.port)", "-q", "1", "-t", topic, "-F", "%U %p",
        ])
    }

    /// How much of it came so far and was written.
    func count() throws -> Int { Int(try Tool.run(["wc", "-l", self.path]).stdout.prefix { $0.isNumber }) ?? 0 }

    /// That.
    func arrivals() throws -> [Arrival] {
        let text = try String(contentsOfFile: self.path, encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: true).compactMap { line in
            guard let space = line.firstIndex(of: " "), let seconds = Double(line[..<space]),
                let key = line.range(of: "\"time_us\":"),
                let time = Int64(line[key.upperBound...].prefix { $0.isNumber })
            else { return nil }
            return Arrival(came: Int64(seconds * 1_000_000), happened: time + self.ahead)
        }
    }

    func end() throws { _ = try self.program.terminate() }
}
