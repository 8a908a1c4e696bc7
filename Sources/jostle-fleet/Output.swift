import DaemonSupport
import Glibc
import Loop

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
