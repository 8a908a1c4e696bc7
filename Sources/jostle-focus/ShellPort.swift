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
        interface,
        methods: [
            Method("Window", in: ["window", "app_id", "class", "instance", "pid", "state"]) {
                (
                    port, call, window: String, appID: String, windowClass: String, instance: String, process: String,
                    state: String
                ) throws(BusError) in
                let shell = try port.shell(of: call)
                guard let state = WindowState(rawValue: state) else {
                    throw .invalidArguments("Window: state is front, visible or hidden")
                }
                let claims = WindowClaims(
                    appID: appID, instance: instance, windowClass: windowClass, process: UInt32(process))
                shell.put(window, claims, state)
            },
            Method("Closed", in: ["window"]) { (port, call, window: String) throws(BusError) in
                try port.shell(of: call).close(window)
            },
            Method("Said") { (port, call) throws(BusError) in try port.shell(of: call).said() },
            Method("Left") { (port, call) throws(BusError) in try port.shell(of: call).left() },
        ],
        signals: [SignalDescription("Wanted", [])])

    private func shell(of call: MethodCall) throws(BusError) -> ShellSource {
        guard let shell = self.shells.first(where: { $0.isFrom(call.sender) }) else {
            throw .accessDenied("windows are told by the desktop's shell")
        }
        return shell
    }
}
