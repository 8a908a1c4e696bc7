import DBus
import FocusCore
import Protocol

/// `org.jostle.Focus1.Shell`: where what runs in a desktop's shell tells of its windows. All arguments are strings, because what KWin
/// makes of numbers differs between its versions.
final class ShellPort {
    private let shells: [ShellSource]

    static let interface: StaticString = "org.jostle.Focus1.Shell"

    init(_ shells: [ShellSource]) { self.shells = shells }

    static let table = Interface<ShellPort>(
        interface, notes: .jostle,
        methods: [
            Method("Window", in: ["window", "app_id", "window_class", "instance", "pid", "state", "options"]) {
                (
                    port, call, window: String, appID: String, windowClass: String, instance: String, process: String,
                    state: String, options: [String: Value]
                ) throws(BusError) in
                let shell = try port.shell(of: call, options)
                guard let state = WindowState(rawValue: state) else {
                    throw .invalidArguments("Window: state is front, visible or hidden")
                }
                let claims = WindowClaims(
                    appID: appID, instance: instance, windowClass: windowClass, process: UInt32(process))
                shell.put(window, claims, state)
            },
            Method("Closed", in: ["window", "options"]) {
                (port, call, window: String, options: [String: Value]) throws(BusError) in
                try port.shell(of: call, options).close(window)
            },
            Method("Said", in: ["options"]) { (port, call, options: [String: Value]) throws(BusError) in
                try port.shell(of: call, options).said()
            },
            Method("Left", in: ["options"]) { (port, call, options: [String: Value]) throws(BusError) in
                try port.shell(of: call, options).left()
            },
        ],
        signals: [SignalDescription("Wanted", ["details"], [String: Value].self)])

    /// - Parameter options: None is known yet.
    private func shell(of call: MethodCall, _ options: [String: Value]) throws(BusError) -> ShellSource {
        guard let shell = self.shells.first(where: { $0.isFrom(call.sender) }) else {
            throw .accessDenied("windows are told by the desktop's shell")
        }
        _ = try OptionReader(options, of: "shell", known: [])
        return shell
    }
}
