import TestSupport
import Testing

/// A terminal of 80 columns and 24 lines, in tmux, that runs a command until the test ends.
final class TmuxScreen {
    private let socket: String
    /// In the foreground, because what a test starts ends with it.
    private let server: BackgroundProgram

    /// - Parameter colors: false: the command is told that nobody wants them.
    init(_ stage: Stage, _ command: String, colors: Bool = true) throws {
        self.socket = "\(stage.bus.directory)/tmux"
        let environment = ["LC_ALL": "C.UTF-8", "TERM": "screen"].merging(colors ? [:] : ["NO_COLOR": "1"]) { $1 }
        self.server = try BackgroundProgram(
            tool: ["tmux", "-u", "-D", "-S", self.socket, "-f", "/dev/null"], environment: environment)
        let settings = stage.environment.merging(environment) { $1 }.map { "\($0.key)='\($0.value)'" }
        let line = "env -u NO_COLOR \(settings.sorted().joined(separator: " ")) \(command); cat"
        try stage.until("the terminal is there") {
            try self.tmux("new-session", "-d", "-x", "80", "-y", "24", line).status == 0
        }
    }

    deinit { _ = try? self.server.terminate() }

    @discardableResult
    func tmux(_ arguments: String...) throws -> Tool.Result {
        try Tool.run(["tmux", "-N", "-u", "-S", self.socket] + arguments)
    }

    func press(_ keys: String...) throws {
        try Tool.run(["tmux", "-N", "-u", "-S", self.socket, "send-keys"] + keys).mustSucceed()
    }

    func capture(_ options: String...) throws -> [String] {
        try Tool.run(["tmux", "-N", "-u", "-S", self.socket, "capture-pane", "-p"] + options).stdout
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}

extension Tool.Result {
    fileprivate func mustSucceed() throws { try #require(self.status == 0, "\(self)") }
}
