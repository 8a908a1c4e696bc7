import DBus
import DaemonSupport
import JostleClient
import Loop

/// Why a command ends without having done what it was asked to: one line for people, a code for scripts.
struct CommandFailure: Swift.Error {
    var code: ExitCode
    var message: String
    /// Lines below the message that show what it is about. A line break within one of them is somebody else's, as in the message.
    var excerpt: [String] = []

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }

    static func usage(_ message: String, showing excerpt: [String] = []) -> CommandFailure {
        var failure = CommandFailure(.usage, message)
        failure.excerpt = excerpt
        return failure
    }

    /// A service that is there and says nothing.
    init(silent service: String) {
        self.init(.noService, "\(service) does not answer: it is stopped, busy or just gone")
    }

    init(_ error: BusError, service: String) {
        switch error.name {
        case _ where error.isServiceMissing:
            self.init(.noService, "\(service) is not running")
        case _ where error.isBusMissing:
            self.init(.noService, error.message)
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.LimitsExceeded",
            "org.freedesktop.DBus.Error.NotSupported", "org.jostle.Error.IdentityMismatch":
            self.init(.refused, error.message)
        case "org.jostle.Error.InvalidConfiguration", "org.freedesktop.DBus.Error.InvalidArgs",
            "org.freedesktop.DBus.Error.BadAddress":
            self.init(.usage, error.message)
        case "org.jostle.Error.NotFound", "org.jostle.Error.LaunchFailed":
            self.init(.no, error.message)
        default:
            self.init(.no, "\(error)")
        }
    }

    init(_ error: JostleError) {
        let code: ExitCode =
            switch error.kind {
            case .noService: .noService
            case .refused: .refused
            case .invalid: .usage
            case .failed: .no
            }
        self.init(code, "\(error)")
    }
}

extension EventLoop {
    /// Runs until a condition holds.
    func wait(until isDone: () -> Bool) throws(CommandFailure) {
        do throws(SystemError) {
            try self.run(until: isDone)
        } catch {
            throw CommandFailure(.no, "\(error)")
        }
    }
}
