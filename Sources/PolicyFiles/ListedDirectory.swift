import Arbitration
import Motion

/// A directory whose files are listed, and which of them count.
struct ListedDirectory: Equatable, Sendable {
    enum Contents: Equatable, Sendable {
        /// All files.
        case files
        /// All files, for the one user whose broker this is.
        case userFiles
        /// Those that are named after an app, or after an id below its own.
        case named(String)
        /// Where Flatpak has a directory for each app, in which those of the app stand.
        case flatpaks
    }

    var path: String
    var contents: Contents

    init(_ path: String, _ contents: Contents = .files) {
        self.path = path
        self.contents = contents
    }

    /// Whether nothing that stands in its place is a mistake.
    var isUsers: Bool { self.contents != .files }

    func counts(_ name: String) -> Bool {
        guard name.hasSuffix(Self.ending), !name.hasPrefix(".") else { return false }
        guard case .named(let app) = self.contents else { return true }
        return name == app + Self.ending || name.hasPrefix(app + ".")
    }

    /// Where the files of one app may stand, that which counts first.
    func paths(of app: AppID) -> [String] {
        guard self.contents == .flatpaks else { return ["\(self.path)/\(app.name)\(Self.ending)"] }
        var (ids, id) = ([String](), app.name[...])
        while AppID.isValid(String(id)), let dot = id.lastIndex(of: ".") {
            ids.append(String(id))
            id = id[..<dot]
        }
        return ids.map { "\(self.flatpak($0).path)/\(app.name)\(Self.ending)" }
    }

    /// Where the files of an app of Flatpak's stand: it exports no such files, and so they are read where it unpacks them.
    func flatpak(_ app: String) -> ListedDirectory {
        ListedDirectory("\(self.path)/\(app)/current/active/files/share/jostle/apps.d", .named(app))
    }

    /// Where one user's apps are, a later directory before an earlier one: what Flatpak installed for all and for the user, what
    /// is shared, and what is the user's own.
    static func ofUser(_ environment: (String) -> String?) -> [ListedDirectory] {
        // The variables are to be ignored when they hold no absolute path.
        func path(_ variable: String) -> String? { environment(variable).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let own = path("XDG_DATA_HOME") ?? path("HOME").map { "\($0)/.local/share" }
        let given = environment("XDG_DATA_DIRS") ?? ""
        let shared = (given.isEmpty ? "/usr/local/share:/usr/share" : given).split(separator: ":").filter {
            $0.hasPrefix("/")
        }
        var found = [ListedDirectory("/var/lib/flatpak/app", .flatpaks)]
        if let own { found.append(ListedDirectory("\(own)/flatpak/app", .flatpaks)) }
        for directory in shared.reversed().map(String.init) + (own.map { [$0] } ?? []) {
            var root = directory[...]
            while root.hasSuffix("/") { root.removeLast() }
            let path = "\(root)/jostle/apps.d"
            if !AppSource.system.contains(path) { found.append(ListedDirectory(path, .userFiles)) }
        }
        return found
    }

    private static let ending = ".conf"
}
