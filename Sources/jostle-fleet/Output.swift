import DaemonSupport
import Glibc
import Loop

/// Says something to people, beside the output.
func complain(_ message: String) { try? writeAll(escapedLine("\(Main.name): \(message)") + "\n", to: STDERR_FILENO) }

/// Writes a line to standard output at once. What others named in it does nothing to a terminal.
func say(_ line: String = "") throws(FleetFailure) { try write(escapedLine(line) + "\n") }

/// Writes to standard output what is no line.
private func write(_ text: String) throws(FleetFailure) {
    // Whoever has gone wants no more.
    if try !isWritten(text) { ExitCode.done.exit() }
}

/// The same, for who does something else than to tell it. Returns false where nobody reads it any more.
func isWritten(_ text: String) throws(FleetFailure) -> Bool {
    do throws(SystemError) {
        try writeAll(text, to: STDOUT_FILENO)
        return true
    } catch {
        guard error.code == EPIPE else { throw FleetFailure(.no, "cannot write the output: \(error)") }
        return false
    }
}

/// Whether somebody looks at the output as it comes, on a terminal that can do more than print.
func isOutputTerminal() -> Bool { isatty(STDOUT_FILENO) == 1 && environmentValue("TERM") ?? "dumb" != "dumb" }
