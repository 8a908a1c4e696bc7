/// Runs the tools that people use: `busctl`, `gdbus`, `dbus-send`, `python3`.
package enum Tool {
    /// What a tool said, and how it ended.
    package struct Result: Equatable, Sendable {
        /// The exit status; 128 and the number of the signal that killed it.
        package var status: Int32
        package var stdout: String
        package var stderr: String

        package init(status: Int32, stdout: String, stderr: String) {
            self.status = status
            self.stdout = stdout
            self.stderr = stderr
        }
    }

    /// Runs a tool to its end.
    ///
    /// `python3` is the system's, whatever stands first in `PATH`: only that one sees the packages of the distribution.
    package static func run(
        _ arguments: [String], environment: [String: String] = [:], timeout: Duration = .seconds(30)
    ) throws(Failure) -> Result {
        let process = try TetheredProcess(self.resolved(arguments), environment: environment)
        let end = try process.waitForEnd(timeout)
        try process.waitForSilence(timeout)
        return Result(status: end.status, stdout: process.output.text, stderr: process.errors.text)
    }

    /// What another program reads in a file of SQLite: a row a line.
    package static func rows(
        of file: String, _ query: String, separator: String = " "
    ) throws(Failure) -> Result {
        try self.run([Programs.path(of: "test-rows"), file, query, separator])
    }

    static func resolved(_ arguments: [String]) -> [String] {
        arguments.first == "python3" ? ["/usr/bin/python3"] + arguments.dropFirst() : arguments
    }
}
