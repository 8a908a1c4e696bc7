import Arbitration
import Glibc
import Motion

/// Lists the files of directories, a few at a time, and then names them in their order.
///
/// A file of the same name in a later directory replaces the earlier one. Not `Sendable`: it holds a directory open.
@safe final class DirectoryListing {
    struct File {
        /// Its name without the directory.
        let name: String
        let directory: ListedDirectory
        var path: String { "\(self.directory.path)/\(self.name)" }
    }

    /// Those that are left, the one at work first.
    private var directories: ArraySlice<ListedDirectory>
    /// Those that are there, in the order in which they were opened.
    private var opened: [ListedDirectory] = []
    /// The apps of a directory of Flatpak's, as far as they are listed.
    private var flatpaks: [String] = []
    /// What stands in the directory of one of them, as far as it is listed.
    private var ofFlatpak: [String] = []
    private let most: (files: Int, limit: String)
    /// One that is not there is empty, unless somebody asked for it.
    private let mustExist: Bool
    // SAFETY: open for as long as it is not nil, and closed by whoever makes it nil.
    private var stream: OpaquePointer?
    /// By name, the number of the last directory that has it.
    private var places: [String: Int] = [:]
    /// Names in order, each in one of these: sorting all of them at once would take long.
    private var runs: [ArraySlice<String>] = []
    private(set) var findings: [Finding] = []
    /// Those of which it is not known what all stands in them, without those of Flatpaks: their authors could have any be so for good.
    private(set) var unlisted: [String] = []
    /// What the directories were when they were listed.
    private(set) var stamps: [(path: String, stamp: FileStamp?)] = []

    /// So many names are read in a step.
    private static let run = 256
    /// Names that are in no run yet. One run for each directory would be very many.
    private var names: [String] = []

    init(_ directories: [ListedDirectory], atMost most: (files: Int, limit: String), mustExist: Bool) {
        self.directories = directories[...]
        self.most = most
        self.mustExist = mustExist
    }

    // SAFETY: the stream is closed once.
    deinit { if let stream = unsafe self.stream { unsafe closedir(stream) } }

    /// Goes on for a moment; false when all names are known.
    func step() -> Bool {
        guard let directory = self.directories.first else {
            self.endRun()
            return false
        }
        if unsafe self.stream == nil {
            self.stamps.append((directory.path, FileStamp(path: directory.path)))
            let (descriptor, refusal) = ConfinedFile.open(
                directory.path, within: directory.root, O_RDONLY | O_DIRECTORY)
            var code = refusal
            if descriptor >= 0 {
                // SAFETY: from now on the descriptor is the stream's, if there is one.
                unsafe self.stream = fdopendir(descriptor)
                if unsafe self.stream == nil {
                    code = errno
                    close(descriptor)
                }
            }
            if unsafe self.stream == nil {
                let isMissing = code == ENOENT || (code == ENOTDIR && directory.contents != .files)
                if !isMissing, !directory.isFlatpaks { self.unlisted.append(directory.path) }
                if !isMissing || (self.mustExist && directory.contents != .outsideFiles) {
                    self.findings.append(Finding(unreadable: directory.path, "the directory cannot be read", code))
                }
                self.directories.removeFirst()
                return true
            }
            self.opened.append(directory)
        }
        guard let stream = unsafe self.stream else { return true }
        for _ in 0..<Self.run {
            // Nothing else tells a failure from the end.
            errno = 0
            // SAFETY: an entry is used before the next one is read.
            guard let entry = unsafe readdir(stream) else {
                let code = errno
                if code != 0 {
                    self.findings.append(
                        Finding(unreadable: directory.path, "the directory cannot be read to its end", code))
                    if !directory.isFlatpaks { self.unlisted.append(directory.path) }
                }
                for name in self.ofFlatpak where directory.counts(name) { self.note(name) }
                self.leave()
                // In order, so that what an app says of an id below its own gives way to the app of that id.
                self.directories = self.flatpaks.sorted().map { directory.flatpak($0) } + self.directories
                self.flatpaks = []
                break
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            switch directory.contents {
            case .flatpaks: if AppID.isValid(name) { self.flatpaks.append(name) }
            case .named:
                if name != ".", name != ".." { self.ofFlatpak.append(name) }
                guard self.ofFlatpak.count > PolicyLimits.flatpakFiles else { continue }
                self.findings.append(
                    Finding(
                        .tooMuch, at: Place(file: directory.path, line: 1),
                        PolicyLimits.excess(
                            "a Flatpak has too many files, of which none counts", "flatpak-app-files",
                            PolicyLimits.flatpakFiles),
                        advice: "put several into one"))
                self.leave()
                return true
            case .files, .userFiles, .outsideFiles: if directory.counts(name) { self.note(name) }
            }
        }
        if self.names.count >= Self.run { self.endRun() }
        guard self.places.count + self.flatpaks.count > self.most.files else { return true }
        self.findings.append(
            Finding(
                .tooMuch, at: Place(file: directory.path, line: 1),
                PolicyLimits.excess("there are too many files", self.most.limit, self.most.files),
                advice: "put several into one"))
        // A user's directories stand before the system's, whose files are not a user's to take away.
        self.directories = self.directories.drop {
            directory.isUsers ? $0.isUsers : directory.contents == .files || $0.contents != .files
        }
        self.places = [:]
        self.flatpaks = []
        (self.names, self.runs) = ([], [])
        if let stream = unsafe self.stream { unsafe closedir(stream) }
        unsafe self.stream = nil
        return !self.directories.isEmpty
    }

    /// A file counts, whatever earlier directory has one of its name.
    private func note(_ name: String) {
        if self.places.updateValue(self.opened.count - 1, forKey: name) == nil { self.names.append(name) }
    }

    /// Is done with the directory at work.
    private func leave() {
        if let stream = unsafe self.stream { unsafe closedir(stream) }
        unsafe self.stream = nil
        self.ofFlatpak = []
        self.directories.removeFirst()
    }

    private func endRun() {
        if !self.names.isEmpty { self.runs.append(self.names.sorted(by: Self.isBefore)[...]) }
        self.names = []
    }

    /// The next file; `nil` when there are no more.
    func next() -> File? {
        var first: Int?
        for index in self.runs.indices {
            guard let name = self.runs[index].first else { continue }
            if first.flatMap({ self.runs[$0].first }).map({ Self.isBefore(name, $0) }) ?? true { first = index }
        }
        guard let first, let name = self.runs[first].popFirst(), let place = self.places[name] else { return nil }
        return File(name: name, directory: self.opened[place])
    }

    private static func isBefore(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}

@available(*, unavailable)
extension DirectoryListing: Sendable {}
