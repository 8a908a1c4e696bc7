import Arbitration
package import Motion

/// Where app files are.
package struct AppSource: Sendable {
    /// Where apps install theirs: the distribution's directory, then that of what was built on the machine, then the
    /// administrator's.
    package static let system = [
        "/usr/share/jostle/apps.d", "/usr/local/share/jostle/apps.d", "/etc/jostle/apps.d",
    ]

    /// A later one overrides an earlier one: nothing of a user's takes the place of what the system has.
    private let directories: [ListedDirectory]
    /// Whether somebody asked for them.
    private let areGiven: Bool

    /// - Parameters:
    ///   - directories: those that were asked for; none: the system's, and the user's.
    ///   - outside: where a bridge keeps those that come from outside; they override a user's, and none of the system's.
    ///   - system: the system's.
    ///   - environment: where the user's are looked up; `nil`: there is no one user.
    package init(
        _ directories: [String], outside: String? = nil, system: [String] = Self.system,
        user environment: ((String) -> String?)? = nil
    ) {
        self.areGiven = !directories.isEmpty
        let user = self.areGiven ? [] : environment.map { ListedDirectory.ofUser($0) } ?? []
        self.directories =
            user + (outside.map { [ListedDirectory($0, .outsideFiles)] } ?? [])
            + (self.areGiven ? directories : system).map { ListedDirectory($0) }
    }

    /// The file of one app; `nil` when it has none, or one with an error in it.
    ///
    /// - Returns: besides, what is wrong with it, and in which directories that come before nobody could look for it.
    package func read(_ app: AppID) -> (file: AppFile?, findings: [Finding], unlisted: [String]) {
        guard AppID.isValid(app.name) else { return (nil, [], []) }
        // What is wrong with directories of which no file counts.
        var obstacles: [Finding] = []
        var unlisted: [String] = []
        for (directory, file) in self.places(of: app) {
            let path = file.path
            var attempts = 1
            while true {
                let reading = FileReading(path, shown: path, atMost: AppLoading.most, within: file.directory.root)
                var outcome = reading.step()
                while outcome == nil { outcome = reading.step() }
                switch outcome {
                case .bytes(let bytes, _):
                    // None of its files counts, and so what another directory has of that name does.
                    let crowd = file.directory.crowd
                    guard crowd.isEmpty else {
                        obstacles += crowd
                        break
                    }
                    let (app, found) = AppFileReader.read(
                        PolicyFile(name: path, layer: file.directory.layer, bytes: bytes),
                        ofFlatpak: file.directory.isFlatpaks)
                    return (app, file.directory.told(found), unlisted)
                case .failed(_, missing: true): break
                case .failed(let finding, missing: false):
                    // As where all are read.
                    guard let obstacle = file.directory.obstacle else { return (nil, [finding], unlisted) }
                    obstacles.append(obstacle)
                    // It may be one of a Flatpak's own, which says nothing of where all of them are.
                    let isListed = file.directory != directory && directory.obstacle == nil
                    if !isListed, !directory.isFlatpaks { unlisted.append(directory.path) }
                case .masked, nil: return (nil, [], unlisted)
                case .moved where attempts == AppLoading.mostAttempts:
                    return (nil, [Finding(restless: path, times: attempts)], unlisted)
                case .moved:
                    attempts += 1
                    continue
                }
                break
            }
        }
        return (nil, obstacles, unlisted)
    }

    /// Where the file of one app may stand, and the directory that this is of; that which counts first.
    private func places(of app: AppID) -> [(directory: ListedDirectory, file: DirectoryListing.File)] {
        self.directories.reversed().flatMap { directory in
            directory.files(of: app).map { (directory: directory, file: $0) }
        }
    }

    /// The apps that have a file, whatever it says.
    package func ids() -> [AppID] {
        let listing = DirectoryListing(
            self.directories, atMost: (PolicyLimits.appFiles, "app-files"), mustExist: false)
        while listing.step() {}
        var ids: [AppID] = []
        while let file = listing.next() {
            let id = String(file.name.dropLast(".conf".count))
            if AppID.isValid(id) { ids.append(AppID(id)) }
        }
        return ids
    }

    /// What all files say, by app, and what is wrong with them.
    package struct Reading: Sendable {
        package var files: [AppFile] = []
        package var findings: [Finding] = []
        /// The apps whose files have an error in them, or cannot be read.
        package var broken: [AppID] = []
        /// The apps whose files do not hold still: nothing is known of what they say.
        package var restless: [AppID] = []
        /// Directories of which it is not known what all stands in them.
        package var unlisted: [String] = []
    }

    /// Reads all files, one after the other: there may be very many.
    package func readAll() -> Reading {
        let loading = AppLoading(self.directories, mustExist: self.areGiven, waits: false)
        loading.run()
        return loading.finish()
    }

    /// The same, a little at a time, and no file before it holds still.
    package func loadAll() -> AppLoading {
        AppLoading(self.directories, mustExist: self.areGiven, waits: true)
    }
}
