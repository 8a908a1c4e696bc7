package import Arbitration
package import Motion

/// Finds out which app a window is of.
///
/// An app is known by a bus name. What windows say is often another name, and always what their program chose: it is as good a
/// proof as owning a bus name is, and no better. What is said of sandboxes outweighs it. Where several apps could be meant,
/// none is named.
package struct AppNamer: Sendable {
    private var files = DesktopFiles()
    private var known: Set<String> = []
    /// Whose a process is that is an app of the broker's; `nil`: several apps'.
    private var processes: [UInt32: AppID?] = [:]
    private var aliases = WindowAliases()
    /// What Flatpaks' app files say, which is of windows in their sandboxes.
    private var flatpaksAliases = WindowAliases()

    package init() {}

    /// An app that the broker has, by its app file or registered.
    package struct KnownApp: Equatable, Sendable {
        package var id: AppID
        /// `Windows` of its app file.
        package var windows: [NamePattern]
        /// Whether a Flatpak brought that file.
        package var isOfFlatpak: Bool
        /// The process that made its connection, while there is one.
        package var process: UInt32?

        package init(
            id: AppID, windows: [NamePattern] = [], isOfFlatpak: Bool = false, process: UInt32? = nil
        ) {
            self.id = id
            self.windows = windows
            self.isOfFlatpak = isOfFlatpak
            self.process = process
        }
    }

    /// Names of windows that a Flatpak may have. It brings app files for as many ids as it likes, and each window is
    /// compared with all.
    static let mostOfFlatpak = 64

    /// Goes by these desktop files from now on.
    package mutating func take(_ files: DesktopFiles) { self.files = files }

    /// Goes by these apps from now on.
    package mutating func take(_ apps: [KnownApp]) {
        self.known = Set(apps.map(\.id.name))
        self.aliases = WindowAliases()
        self.flatpaksAliases = WindowAliases()
        self.processes = [:]
        var ofFlatpaks: [String: Int] = [:]
        for app in apps {
            if app.isOfFlatpak {
                let flatpak = DesktopPlaces.flatpak(ofName: app.id.name)
                let windows = app.windows.prefix(Self.mostOfFlatpak - ofFlatpaks[flatpak, default: 0])
                ofFlatpaks[flatpak, default: 0] += windows.count
                self.flatpaksAliases.add(windows, of: app.id)
            } else {
                self.aliases.add(app.windows, of: app.id)
            }
            guard let process = app.process else { continue }
            let other = self.processes[process]
            self.processes[process] = .some(other == nil || other == app.id ? app.id : nil)
        }
    }

    /// The app of a window; `nil` of its process: it is not known.
    package func app(of claims: WindowClaims, process: WindowProcess? = nil) -> NamedApp {
        // Whoever talks to the broker as an app is that app.
        if let number = claims.process, let app = self.processes[number] ?? nil { return .app(app, by: .process) }
        // The instance tells windows of one program apart that have a class in common.
        var names: [String] = []
        for name in [claims.appID, claims.gtkAppID, claims.instance, claims.windowClass] {
            if let name, !names.contains(name) { names.append(name) }
        }
        switch process?.sandbox {
        case .flatpak(let id): return self.inFlatpak(id, names)
        case .snap(let name, let app): return self.inSnap("\(name)_\(app)")
        case .unknown: return .unknown(hint: "its sandbox does not say which app runs in it, or its process hides it")
        case nil: break
        }
        if let app = self.exact(names, process) { return app }
        let isPossible: (DesktopEntry) -> Bool = { entry in process == nil || entry.isOfHost }
        // Who carries a window from elsewhere says nothing of whose it is.
        let unit = claims.isElsewhere ? nil : process.flatMap { self.app(ofUnit: $0) }
        switch self.files.match(names, where: isPossible) {
        // What it says is believed before its unit, which it may have of the terminal or editor that started it.
        case .one(let entry, let way):
            return self.settle(entry.id, by: way, names, alsoOfFlatpaks: entry.flatpak != nil)
        case .several(let entries):
            if let unit, entries.contains(where: { $0.id == unit }) { return self.settle(unit, by: .unit, names) }
            let alias = self.alias(names, alsoOfFlatpaks: entries.allSatisfy { $0.flatpak != nil })
            if alias.id != nil { return alias }
            return .unknown(
                hint: "several desktop files may be meant: \(Self.list(entries.map(\.id))); \(Self.advice(names[0]))")
        case .none:
            // Whose process is known is in no Flatpak here.
            let alias = self.alias(names, alsoOfFlatpaks: process == nil)
            if alias.id != nil { return alias }
            guard let unit else { return alias }
            return self.settle(unit, by: .unit, names)
        }
    }

    // MARK: Ways

    /// The app whose id the window says.
    private func exact(_ names: [String], _ process: WindowProcess?) -> NamedApp? {
        let ids = names.filter { name in
            guard AppID.isValid(name) else { return false }
            guard let entry = self.files[name] else { return self.known.contains(name) }
            // One of a sandbox is not outside of it.
            return process == nil || entry.isOfHost
        }
        guard let id = ids.first else { return nil }
        guard ids.count == 1 else {
            return .unknown(hint: "it says that it is of several apps: \(Self.list(ids))")
        }
        return .app(AppID(id), by: .exact)
    }

    /// Who runs in a sandbox is its app, or one below it that the window says and the broker knows.
    private func inFlatpak(_ id: String, _ names: [String]) -> NamedApp {
        guard AppID.isValid(id) else { return .unknown(hint: "its sandbox says no app's id") }
        if names.contains(id) { return .app(AppID(id), by: .exact) }
        let below = names.filter { $0.hasPrefix(id + ".") && AppID.isValid($0) && self.known.contains($0) }
        return below.count == 1 ? .app(AppID(below[0]), by: .exact) : .app(AppID(id), by: .sandbox)
    }

    /// Snaps have no bus names: an app says in its file which is its own. What windows of snaps say of themselves does not count.
    private func inSnap(_ id: String) -> NamedApp { self.alias([id]) }

    /// The app that a process' unit is for, if it is that app's process: what a terminal, an editor or a file manager starts is
    /// in its unit, too.
    private func app(ofUnit process: WindowProcess) -> String? {
        guard let id = process.unit else { return nil }
        guard let entry = self.files[id] else { return self.known.contains(id) ? id : nil }
        return entry.isOfHost && entry.program.map { process.runs($0) } == true ? id : nil
    }

    /// The app of a desktop file: its own id, if that is a bus name, or the app that says it is its own.
    private func settle(
        _ id: String, by way: NamedApp.Way, _ names: [String], alsoOfFlatpaks: Bool = false
    ) -> NamedApp {
        if AppID.isValid(id) { return .app(AppID(id), by: way) }
        return self.alias([id] + names, alsoOfFlatpaks: alsoOfFlatpaks)
    }

    /// The app whose file says that the window is its own.
    ///
    /// - Parameter alsoOfFlatpaks: Whether it may be a Flatpak's, for all that is known. Where one of the host names it, it is not.
    private func alias(_ names: [String], alsoOfFlatpaks: Bool = false) -> NamedApp {
        var apps = self.aliases.apps(of: names)
        if apps.isEmpty, alsoOfFlatpaks { apps = self.flatpaksAliases.apps(of: names) }
        if apps.count == 1 { return .app(apps[0], by: .alias) }
        if let name = names.first, apps.isEmpty { return .unknown(hint: Self.advice(name)) }
        if apps.isEmpty {
            return .unknown(
                hint: "it says nothing by which it can be known; let its app be started as app-APPID-1.scope")
        }
        return .unknown(hint: "several app files say that it is theirs: \(Self.list(apps.map(\.name)))")
    }

    // MARK: Hints

    /// What to write where, so that a window is known.
    private static func advice(_ name: String) -> String {
        // In a list a blank begins the next name.
        let pattern = name.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "*")
        return "write Windows=\(pattern) into [App] of the app's file, /etc/jostle/apps.d/APPID.conf or "
            + "~/.local/share/jostle/apps.d/APPID.conf"
    }

    /// A few of many.
    private static func list(_ ids: [String]) -> String {
        ids.prefix(4).joined(separator: ", ") + (ids.count > 4 ? " and \(ids.count - 4) more" : "")
    }
}
