import DaemonSupport
import Glibc
import Loop

/// Why a command ends without having done what it was asked to.
struct FleetFailure: Swift.Error {
    var code: ExitCode
    var message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// Says something to people, beside the output.
func complain(_ message: String) { try? writeAll(escapedLine("\(Main.name): \(message)") + "\n", to: STDERR_FILENO) }

/// Writes a line to standard output at once. What others named in it does nothing to a terminal.
func say(_ line: String = "") throws(FleetFailure) { try write(escapedLine(line) + "\n") }

/// Writes to standard output what is no line.
func write(_ text: String) throws(FleetFailure) {
    do throws(SystemError) {
        try writeAll(text, to: STDOUT_FILENO)
    } catch {
        // Whoever has gone wants no more.
        if error.code == EPIPE { ExitCode.done.exit() }
        throw FleetFailure(.no, "cannot write the output: \(error)")
    }
}

/// Whether somebody looks at the output as it comes, on a terminal that can do more than print.
func isOutputTerminal() -> Bool { isatty(STDOUT_FILENO) == 1 && environmentValue("TERM") ?? "dumb" != "dumb" }

/// Rows with aligned columns.
struct Columns {
    private var rows: [[String]]

    init(_ header: [String]) { self.rows = [header] }

    mutating func add(_ row: [String]) { self.rows.append(row.map(escapedLine)) }

    var lines: [String] {
        let count = self.rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in self.rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        return self.rows.map { row in
            var line = row.enumerated().map { $1 + String(repeating: " ", count: widths[$0] - $1.count) }.joined(
                separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
