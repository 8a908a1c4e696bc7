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

    /// When a program ends so, where nothing else is said of it.
    var meaning: String {
        switch self {
        case .done: "it did what was asked, or the answer is yes"
        case .no: "the answer is no, or it did not work out"
        case .usage: "the command line, or a file named on it, is wrong"
        case .noService: "nobody answers on the bus"
        case .refused: "whoever answers does not allow it"
        }
    }
}

/// A way in which a program or command ends, and its line in the help.
package struct ExitStatus: Hashable, Sendable {
    package let code: ExitCode
    package let meaning: String

    /// - Parameter meaning: when it ends so; `nil`: as all programs of ours do.
    package init(_ code: ExitCode, _ meaning: String? = nil) {
        self.code = code
        self.meaning = meaning ?? code.meaning
    }

    /// Those of what serves a bus.
    package static let daemon = [ExitCode.done, .no, .usage, .noService].map { ExitStatus($0) }
}
