import Arbitration
import FocusCore
import Motion
import Processes

/// A window, what its process shows, and desktop files: what comes of them is an app's id or nobody's, and a sandbox's own app
/// for who is in one.
enum WindowTarget {
    private static let packed = AppID("org.example.Packed")

    /// - Parameter bytes: What the window says, a line each; its control groups; the program's name; what Flatpak wrote,
    ///   a dash for nothing; and desktop files. A part that is missing is not there.
    static func run(_ bytes: [UInt8]) -> String? {
        let parts = bytes.split(separator: FuzzTarget.separator, maxSplits: 7, omittingEmptySubsequences: false)
            .map { Array($0) }
        func part(_ index: Int) -> [UInt8]? { index < parts.count ? parts[index] : nil }
        let lines = (part(0) ?? []).split(separator: 0x0A, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        func line(_ index: Int) -> String? { index < lines.count ? lines[index] : nil }
        let claims = WindowClaims(appID: line(0), instance: line(1), windowClass: line(2), gtkAppID: line(3))

        var files = DesktopFiles()
        for (number, file) in parts.dropFirst(4).enumerated() {
            files.add(number == 0 ? "org.example.App.desktop" : "app\(number).desktop", file)
            guard case .entry(let entry) = DesktopEntry.read("x", file) else { continue }
            for name in [entry.startupClass, entry.program, entry.flatpak, entry.snap].compactMap({ $0 })
            where name.isEmpty || name.utf8.count > WindowClaims.longestName {
                return "a name of \(name.utf8.count) bytes"
            }
        }
        var namer = AppNamer()
        namer.take(files)
        namer.take([
            AppNamer.KnownApp(id: AppID("org.example.Known"), windows: [NamePattern("app1"), NamePattern("a*b")]),
            AppNamer.KnownApp(id: Self.packed, windows: [NamePattern("app2"), NamePattern("*a*")], isOfFlatpak: true),
        ])
        let sandbox = part(3).flatMap { $0 == [UInt8(ascii: "-")] ? nil : $0 }
        let process = part(1).map { WindowProcess(groups: $0, sandboxFile: sandbox, command: part(2) ?? []) }
        let named = namer.app(of: claims, process: process)
        if let id = named.id, !AppID.isValid(id.name) { return "'\(id)' is no app's id" }
        if let process, case .flatpak(let app) = process.sandbox, let id = named.id?.name, id != app,
            !id.hasPrefix(app + ".")
        {
            return "who is in the sandbox of '\(app)' is taken for \(id)"
        }
        if process != nil, named == .app(Self.packed, by: .alias) {
            return "a Flatpak's file names a window outside of it"
        }
        return part(1).flatMap(self.unit)
    }

    /// A unit is of the app that it is for, and of no other.
    private static func unit(_ groups: [UInt8]) -> String? {
        guard let unit = UnitName(ofGroups: groups) else { return nil }
        switch unit.purpose {
        case .app(let id), .flatpak(let id): return unit.isOf(AppID(id)) ? nil : "\(unit.text) is not of \(id)"
        case .snap, nil: return unit.isOf(AppID("org.example.App")) ? "\(unit.text) is of an app" : nil
        }
    }
}
