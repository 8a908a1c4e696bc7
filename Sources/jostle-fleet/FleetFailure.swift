import DaemonSupport

/// Why a command ends without having done what it was asked to.
struct FleetFailure: Swift.Error {
    var code: ExitCode
    var message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
