/// How a program ended.
package enum ProgramEnd: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)

    /// The number a shell would show: the exit status, or 128 and the signal.
    package var status: Int32 {
        switch self {
        case .exited(let status): status
        case .killed(let signal): 128 &+ signal
        }
    }
}
