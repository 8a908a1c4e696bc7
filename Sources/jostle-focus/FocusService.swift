import DBus
import DaemonSupport
import FocusCore
import Motion
import Protocol

/// `org.jostle.Focus1`: who asks is told which windows there are and which apps they were taken for.
final class FocusService {
    private let sources: [any FocusSource]
    private unowned let bus: Connection

    /// The most windows in one answer.
    static let listRows = 64

    init(_ sources: [any FocusSource], on bus: Connection) {
        self.sources = sources
        self.bus = bus
        let shells = ShellPort(sources.compactMap { $0 as? ShellSource })
        bus.export(ExportedObject(Path.focus, [(Self.table, self), (ShellPort.table, shells)]))
    }

    private static let table = Interface<FocusService>(
        InterfaceName.focus, notes: .jostle,
        methods: [
            Method(later: "ListWindows", in: ["options"], out: ["windows"], as: [ListedWindow.Wire].self) {
                (service: FocusService, call: MethodCall, options: [String: Value]) throws(BusError) in
                let reader = try OptionReader(options, of: "list", known: [ListOptions.after])
                service.list(after: try reader.count(ListOptions.after) ?? 0, call)
            }
        ],
        properties: [
            Property("Sources", .constant) { (service: FocusService) in service.sources.map(\.name) },
            Property("Version", .constant) { (_: FocusService) in Version.text },
        ])

    /// Answers with one page of the windows. They are of all apps of the user, and who is in a sandbox is not the user.
    private func list(after: UInt64, _ call: MethodCall) {
        self.bus.identity(of: call.sender) { [weak self] answer in
            do throws(BusError) {
                guard try answer.get().sandbox == nil else {
                    throw .accessDenied("windows are shown to their user and root, and you are in a sandbox")
                }
                if let self { call.reply(self.list(after: after).map(\.wire)) }
            } catch {
                call.fail(error)
            }
        }
    }

    /// One page of the windows of all sources, source by source.
    private func list(after: UInt64) -> [ListedWindow] {
        var rows: [ListedWindow] = []
        let start = Int(after >> Self.sourceShift)
        for (index, source) in self.sources.enumerated() where index >= start {
            let known = index == start ? after & (1 << Self.sourceShift - 1) : 0
            for window in source.desk.list(after: known).prefix(Self.listRows - rows.count) {
                rows.append(Self.row(window, of: source.name, UInt64(index) << Self.sourceShift | window.number))
            }
        }
        return rows
    }

    private static let sourceShift: UInt64 = 48

    private static func row(_ window: Desk.Listed, of source: String, _ number: UInt64) -> ListedWindow {
        let (app, way, hint) =
            switch window.app {
            case .app(let id, let way): (id.name, way.rawValue, "")
            case .unknown(let hint): ("", "", hint)
            }
        let claims = window.claims
        return ListedWindow(
            number, source: source, window: window.id, state: window.state.rawValue, appID: claims.appID ?? "",
            instance: claims.instance ?? "", windowClass: claims.windowClass ?? "", gtkAppID: claims.gtkAppID ?? "",
            process: claims.process, app: app, knownBy: way, hint: hint)
    }
}
