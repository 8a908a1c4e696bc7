/// Where desktop files are looked for.
package enum DesktopPlaces {
    /// The folders, that which counts first before the others: the user's, those of the system, and where Flatpak and snapd put
    /// theirs, which a service of the session is often not told of.
    ///
    /// - Parameter environment: Looks a variable up. One that is no absolute path counts as unset.
    package static func folders(_ environment: (String) -> String?) -> [String] {
        func path(_ variable: String) -> String? { environment(variable).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let own = path("XDG_DATA_HOME") ?? path("HOME").map { "\($0)/.local/share" }
        let given = environment("XDG_DATA_DIRS") ?? ""
        let shared = (given.isEmpty ? "/usr/local/share:/usr/share" : given).split(separator: ":")
            .filter { $0.hasPrefix("/") }.prefix(Self.most)
        var folders: [String] = []
        for directory in [own].compactMap({ $0 }) + shared.map({ String($0) })
            + [own.map { "\($0)/flatpak/exports/share" }].compactMap({ $0 })
            + ["/var/lib/flatpak/exports/share", "/var/lib/snapd/desktop"]
        {
            var root = directory[...]
            while root.hasSuffix("/") { root.removeLast() }
            let folder = "\(root)/applications"
            if !folders.contains(folder) { folders.append(folder) }
        }
        return folders
    }

    /// Of which Flatpak a name is that one brought: an app's id has three parts at least, and all that it brings begins with it.
    static func flatpak(ofName name: String) -> String {
        name.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: ".")
    }

    /// Folders of `XDG_DATA_DIRS` that are looked at.
    private static let most = 64

    /// Folders in folders that are looked at, below each of these.
    package static let deepest = 3
    /// And how many, with each of these.
    package static let mostFolders = 512

    /// Where Flatpak tells of what it changed, whose links in the folder stay the same.
    package static func installation(ofFolder folder: String) -> String? {
        let ending = "/exports/share/applications"
        return folder.hasSuffix(ending) ? String(folder.dropLast(ending.count)) : nil
    }
}
