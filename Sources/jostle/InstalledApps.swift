import Arbitration
import DBus
import DaemonSupport
import Glibc
import Loop
import Motion
import PolicyFiles
import Protocol

/// The apps there are: those that the broker knows, with their detectors, those that the bus can start, and of those that a
/// policy names the ones with a desktop file.
struct InstalledApps {
    private let service: Service

    /// - Parameter service: the broker.
    init(of service: Service) { self.service = service }

    /// - Parameter policy: whose apps are looked for.
    func find(for policy: Policy) throws(CommandFailure) -> [PolicyLinter.InstalledApp] {
        let startable = try self.startable()
        var apps: [AppID: PolicyLinter.InstalledApp] = [:]
        for name in startable { apps[AppID(name)] = PolicyLinter.InstalledApp(AppID(name)) }
        for id in policy.namedApps where apps[id] == nil && Self.hasDesktopFile(id) {
            apps[id] = PolicyLinter.InstalledApp(id, canBeStarted: false)
        }
        for (row, own) in try self.registered() {
            let id = AppID(row.app)
            apps[id] = PolicyLinter.InstalledApp(
                id, detectors: own.structures("Detectors").compactMap(Self.facts),
                canBeStarted: startable.contains(id.name), file: own.text("AppFile"),
                windows: row.windows.map { NamePattern($0) }, isOfFlatpak: row.isOfFlatpak)
        }
        return apps.values.sorted { $0.id < $1.id }
    }

    /// The names that the bus starts when somebody calls them.
    private func startable() throws(CommandFailure) -> Set<String> {
        let bus = CallTarget(
            "org.freedesktop.DBus", ObjectPath(literal: "/org/freedesktop/DBus"), "org.freedesktop.DBus")
        do throws(BusError) {
            let answer = try self.service.connection.callAndWait(bus, "ListActivatableNames")
            let names: [String] = try answer.read(reply: [String].self)
            return Set(names)
        } catch {
            throw CommandFailure(error, service: "the bus")
        }
    }

    /// What the broker knows of apps with a name: their rows, and their properties.
    private func registered() throws(CommandFailure) -> [(ListedApp, [String: Value])] {
        var apps: [(ListedApp, [String: Value])] = []
        for row in try self.service.listApps() where !row.app.hasPrefix(":") {
            // Of one that has just left there is nothing to be said.
            let own = try self.service.unlessRefused { () throws(CommandFailure) in
                try self.service.app(row.object)
            }
            if let own { apps.append((row, own)) }
        }
        return apps
    }

    private static func facts(_ fields: [Value]) -> DetectorFacts? {
        guard fields.count == 2, case .string(let name) = fields[0] else { return nil }
        let options = fields[1].asOptions
        let threshold: Double? = if case .double(let value) = options["threshold"] { value } else { nil }
        return DetectorFacts(name: name, preset: options.text("preset"), threshold: threshold)
    }

    /// Whether the app is installed for people to start, be it as a package or as a Flatpak.
    private static func hasDesktopFile(_ id: AppID) -> Bool {
        guard !id.name.contains("/") else { return false }
        let home = environmentValue("HOME") ?? ""
        let own = environmentValue("XDG_DATA_HOME") ?? "\(home)/.local/share"
        let shared = environmentValue("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share:/var/lib/flatpak/exports/share"
        let directories = [own] + shared.split(separator: ":").map(String.init)
        return directories.contains { directory in
            // SAFETY: the path is NUL-terminated for the call.
            unsafe access("\(directory)/applications/\(id.name).desktop", F_OK) == 0
        }
    }
}
