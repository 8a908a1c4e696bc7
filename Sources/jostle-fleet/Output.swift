import DaemonSupport
import Glibc
import Loop

/// Whether somebody has told us to end, also where we go on to put something in order: from then on nobody is waited for who does not
/// read.
func isToldToEnd() -> Bool { EndRequest.hasCome(by: [SIGINT, SIGTERM, SIGHUP]) }

/// Says something to people, beside the output.
func complain(_ message: String) {
    try? StandardStream.errors.write(escapedLine("\(Main.name): \(message)") + "\n", unless: isToldToEnd)
}

/// Writes a line to standard output at once. What others named in it does nothing to a terminal.
func say(_ line: String = "") throws(FleetFailure) { try write(escapedLine(line) + "\n") }

/// Writes to standard output what is no line.
private func write(_ text: String) throws(FleetFailure) {
    guard try !isWritten(text, unless: isToldToEnd) else { return }
    if isToldToEnd() { throw FleetFailure(.no, "stopped before the end") }
    // Whoever has gone wants no more.
    ExitCode.done.exit()
}

/// The same, for who does something else than to tell it. Returns false where nobody reads it any more.
///
/// - Parameter isVain: asked now and then while whoever reads stands still. When it says so it is as if nobody read.
func isWritten(_ text: String, unless isVain: () -> Bool) throws(FleetFailure) -> Bool {
    do throws(SystemError) {
        try StandardStream.output.write(text, unless: isVain)
        return true
    } catch {
        guard error.code == EPIPE else { throw FleetFailure(.no, "cannot write the output: \(error)") }
        return false
    }
}

/// Whether somebody looks at the output as it comes, on a terminal that can do more than print.
func isOutputTerminal() -> Bool { StandardStream.output.isTerminal && environmentValue("TERM") ?? "dumb" != "dumb" }
