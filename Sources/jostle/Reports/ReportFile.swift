import DaemonSupport
import Loop

/// Pages that commands write beside their output.
enum ReportFile {
    static let option = CommandOption.value(
        "report", "FILE", "besides, show it as a page that needs nothing else", naming: .file)

    /// Writes a page. A file that is there is replaced.
    static func write(_ html: String, to path: String) throws(CommandFailure) {
        let file = try OutputFile(path)
        do throws(SystemError) {
            try file.write(Array(html.utf8))
        } catch {
            throw CommandFailure(.no, "\(path): \(error)")
        }
    }
}
