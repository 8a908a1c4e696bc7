import Glibc

/// How a program of ours ends, for the scripts that call it.
package enum ExitCode: Int32, Sendable, CaseIterable {
    /// It did what was asked, or the answer is yes.
    case done = 0
    /// The answer is no, or it did not work out.
    case no = 1
    /// The command line, or a file named on it, is wrong.
    case usage = 2
    /// Nobody answers on the bus.
    case noService = 3
    /// Whoever answers does not allow it.
    case refused = 4

    /// Ends the process with this code.
    package func exit() -> Never {
        Glibc.exit(self.rawValue)
    }
}
