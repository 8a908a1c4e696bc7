import Arbitration
import Glibc
import Motion

/// A directory whose files are listed, and which of them count.
struct ListedDirectory: Equatable, Sendable {
    enum Contents: Equatable, Sendable {
        /// All files.
        case files
        /// All files, for the one user whose broker this is.
        case userFiles
        /// All files that a bridge brought from outside.
        case outsideFiles
        /// Those that are named after an app, or after an id below its own.
        case named(String)
        /// Where Flatpak has a directory for each app, in which those of the app stand.
        case flatpaks
    }

    var path: String
    var contents: Contents
    /// What no link on the way to its files may lead out of; `nil`: links may lead anywhere.
    var root: String?
    /// Others than its reader write its files: nothing that stands in them is repeated.
    var isForeign: Bool

    init(_ path: String, _ contents: Contents = .files, within root: String? = nil, isForeign: Bool = false) {
        self.path = path
        self.contents = contents
        self.root = root
        self.isForeign = isForeign
    }

    /// Whether nothing that stands in its place is a mistake.
    var isUsers: Bool { self.contents != .files && self.contents != .outsideFiles }
    /// Whether Flatpaks bring its files: those are what links are held in an installation for.
    var isFlatpaks: Bool { self.root != nil }
    /// Whose its files are.
    var layer: PolicyLayer { self.contents == .outsideFiles ? .outside : self.isUsers ? .user : .system }

    /// What is told of what was found in its files: of others' files only where it stands.
    func told(_ findings: [Finding]) -> [Finding] {
        guard self.isForeign else { return findings }
        return findings.map {
            Finding($0.check, at: $0.place, $0.check.title, advice: "'jostle policy check --app-files DIR' says more")
        }
    }

    func counts(_ name: String) -> Bool {
        guard name.hasSuffix(Self.ending), !name.hasPrefix(".") else { return false }
        guard case .named(let app) = self.contents else { return true }
        return name == app + Self.ending || name.hasPrefix(app + ".")
    }

    /// Where the files of one app may stand, that which counts first.
    func files(of app: AppID) -> [DirectoryListing.File] {
        let name = "\(app.name)\(Self.ending)"
        guard self.contents == .flatpaks else { return [DirectoryListing.File(name: name, directory: self)] }
        var (ids, id) = ([String](), app.name[...])
        while AppID.isValid(String(id)), let dot = id.lastIndex(of: ".") {
            ids.append(String(id))
            id = id[..<dot]
        }
        return ids.map { DirectoryListing.File(name: name, directory: self.flatpak($0)) }
    }

    /// Where the files of an app of Flatpak's stand: it exports no such files, and so they are read where it unpacks them. What
    /// stands there the app's author says: a link of his must not make us read what its user keeps elsewhere.
    func flatpak(_ app: String) -> ListedDirectory {
        let root = "\(self.path)/\(app)"
        return ListedDirectory(
            "\(root)/current/active/files/share/jostle/apps.d", .named(app), within: root, isForeign: true)
    }

    /// What is said of the directory of a Flatpak that has too many files for any of them to count.
    var crowd: [Finding] {
        guard case .named = self.contents else { return [] }
        let listing = DirectoryListing([self], atMost: (PolicyLimits.appFiles, "app-files"), mustExist: false)
        while listing.step() {}
        return listing.findings
    }

    /// Why it cannot be listed; `nil`: it can.
    var obstacle: Finding? {
        let (descriptor, code) = ConfinedFile.open(self.path, within: self.root, O_RDONLY | O_DIRECTORY)
        guard descriptor < 0 else {
            close(descriptor)
            return nil
        }
        return Finding(unreadable: self.path, "the directory cannot be read", code)
    }

    /// Where one user's apps are, a later directory before an earlier one: what Flatpak installed for all and for the user, what
    /// is shared, and what is the user's own.
    static func ofUser(_ environment: (String) -> String?) -> [ListedDirectory] {
        let own = BaseDirectory.data.path(environment)
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
            guard !AppSource.system.contains(path) else { continue }
            // What Flatpak exports are links to what apps have.
            let installation = root.hasSuffix(Self.exports) ? String(root.dropLast(Self.exports.utf8.count)) : nil
            found.append(
                ListedDirectory(path, .userFiles, within: installation, isForeign: directory != own))
        }
        return found
    }

    private static let exports = "/exports/share"

    private static let ending = ".conf"
}
