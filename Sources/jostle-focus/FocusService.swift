import DBus
import DaemonSupport
import FocusCore
import Motion
import Protocol

/// `org.jostle.Focus1`: who asks is told which windows there are and which apps they were taken for.
final class FocusService {
    private let sources: [any FocusSource]

    /// The most windows in one answer.
    static let listRows = 64

    init(_ sources: [any FocusSource], on bus: Connection) {
        self.sources = sources
        let shells = ShellPort(sources.compactMap { $0 as? ShellSource })
        bus.export(ExportedObject(Path.focus, [(Self.table, self), (ShellPort.table, shells)]))
    }

    private static let table = Interface<FocusService>(
        InterfaceName.focus, notes: .jostle,
        methods: [
            Method("ListWindows", in: ["options"], out: ["windows"]) {
                (service, _, options: [String: Value]) throws(BusError) -> [ListedWindow.Wire] in
                let reader = try OptionReader(options, of: "list", known: [ListOptions.after])
                return service.list(after: try reader.count(ListOptions.after) ?? 0).map(\.wire)
            }
        ],
        properties: [
            Property("Sources", .constant) { (service: FocusService) in service.sources.map(\.name) },
            Property("Version", .constant) { (_: FocusService) in Version.text },
        ])

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
