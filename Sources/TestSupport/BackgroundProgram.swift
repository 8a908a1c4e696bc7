import Glibc

/// A program that runs beside a test, and ends with it at the latest.
///
/// Not `Sendable`: one test, one thread.
package final class BackgroundProgram {
    /// Which of a program's outputs.
    package enum Stream: Sendable {
        case output
        case errors
    }

    private struct Reader: Hashable {
        let stream: Stream
        let name: String
    }

    package let name: String
    private let process: TetheredProcess
    /// How far each of the readers of a stream has read.
    private var read: [Reader: Int] = [:]

    /// Starts an executable of this build.
    ///
    /// - Parameter tool: a command that becomes the program, with its arguments.
    package init(
        _ name: String, _ arguments: [String] = [], environment: [String: String] = [:], under tool: [String] = []
    ) throws(Failure) {
        self.name = name
        self.process = try TetheredProcess(
            tool + [Programs.path(of: name)] + arguments, environment: environment)
    }

    /// Starts a tool that is found in `PATH`, such as `gdbus monitor`.
    package init(tool arguments: [String], environment: [String: String] = [:]) throws(Failure) {
        self.name = arguments.first ?? ""
        self.process = try TetheredProcess(Tool.resolved(arguments), environment: environment)
    }

    /// The program's own pid: what `/proc` and the bus know it by.
    package var pid: Int32 { self.process.pid }

    /// How it ended, as far as was seen in some wait.
    package var end: ProgramEnd? { self.process.end }

    /// All output so far seen.
    package var output: String { self.process.output.text }
    package var errors: String { self.process.errors.text }

    /// Waits for a line that fits, and returns it. Each line is looked at once.
    ///
    /// - Parameter reader: Looks at each line for itself, whatever others have looked at: for lines that come in no order.
    package func waitForLine(
        on stream: Stream = .output, by reader: String = "", timeout: Duration = .seconds(20),
        where fits: (String) -> Bool
    ) throws(Failure) -> String {
        var found: String?
        let reader = Reader(stream: stream, name: reader)
        _ = try self.process.wait(timeout) {
            while found == nil, let line = self.nextLine(for: reader) {
                if fits(line) { found = line }
            }
            return found != nil
        }
        guard let found else { throw self.failure("without the line", timeout) }
        return found
    }

    /// Waits until the program has said a line. What it says before that is still there for `waitForLine`: a script that ends its
    /// steps may have heard by then what the test asks for next.
    package func waitUntilSaid(_ line: String, timeout: Duration = .seconds(20)) throws(Failure) {
        var read = self.read[Reader(stream: .output, name: "")] ?? 0
        var isSaid = false
        _ = try self.process.wait(timeout) {
            while !isSaid, let next = self.process.output.nextLine(from: &read) { isSaid = next == line }
            return isSaid
        }
        if !isSaid { throw self.failure("without '\(line)'", timeout) }
    }

    package func signal(_ number: Int32) throws(Failure) { try self.process.signal(number) }

    /// Waits for the program to end by itself, and reads its output to the end.
    package func waitForEnd(timeout: Duration = .seconds(20)) throws(Failure) -> ProgramEnd {
        let end = try self.process.waitForEnd(timeout)
        try self.process.waitForSilence(timeout)
        return end
    }

    /// Asks the program to end, and kills it when it has not after five seconds.
    package func terminate() throws(Failure) -> ProgramEnd {
        self.process.release()
        return try self.waitForEnd()
    }

    private func failure(_ what: String, _ timeout: Duration) -> Failure {
        let why = self.end.map { "ended (\($0))" } ?? "went on for \(timeout)"
        return Failure("\(self.name) \(why) \(what); stdout: \(self.output) stderr: \(self.errors)")
    }

    private func nextLine(for reader: Reader) -> String? {
        switch reader.stream {
        case .output: self.process.output.nextLine(from: &self.read[reader, default: 0])
        case .errors: self.process.errors.nextLine(from: &self.read[reader, default: 0])
        }
    }
}
