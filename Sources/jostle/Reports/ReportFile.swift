import DaemonSupport

/// Pages that commands write beside their output.
enum ReportFile {
    static let option = CommandOption.value(
        "report", "FILE", "besides, show it as a page that needs nothing else", naming: .file)

    /// Where the page of a command goes; `nil`: none is asked for.
    ///
    /// - Parameter inputs: The files that the command reads.
    static func path(_ arguments: Arguments, beside inputs: [String]) throws(UsageProblem) -> String? {
        guard let path = arguments.value(of: self.option) else { return nil }
        let command = arguments.command.joined(separator: " ")
        if path == "-", arguments.has(CommonOption.json) {
            throw UsageProblem("\(command): --json is for machines: give another file than '-' with --report")
        }
        try OutputFile.check(path, isNoneOf: inputs, of: command)
        return path
    }

    /// Writes a page. A file that is there is replaced.
    static func write(_ html: String, to path: String) throws(CommandFailure) {
        try OutputFile.write(Array(html.utf8), to: path)
    }
}
