/// How much a message matters, with syslog's numbers: the smaller, the more.
package enum LogLevel: Int, Comparable, Sendable, CaseIterable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// The name that `org.freedesktop.LogControl1` and `--log-level` use.
    package var name: String {
        switch self {
        case .error: "err"
        case .warning: "warning"
        case .notice: "notice"
        case .info: "info"
        case .debug: "debug"
        }
    }

    /// The level of a name. Those above `err` mean `err`: errors are never silenced.
    package init?(name: String) {
        switch name {
        case "emerg", "alert", "crit", "err", "error": self = .error
        case "warning": self = .warning
        case "notice": self = .notice
        case "info": self = .info
        case "debug": self = .debug
        default: return nil
        }
    }

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}
