import Motion

/// Reads app files, a little at a time, each until it holds still.
///
/// Not `Sendable`: it holds files open.
package final class AppLoading {
    private enum Stage {
        case listing(DirectoryListing)
        /// Between two files.
        case choosing
        case reading(FileReading, DirectoryListing.File)
        case compiling(AppFileReader, DirectoryListing.File)
        case done
    }

    private let listing: DirectoryListing
    private let waits: Bool
    private var stage: Stage
    private var attempts = 1
    private var began = FileStamp.now()
    /// Those that were listed have been read, or put off.
    private var isListRead = false
    /// Files to read once more, in this attempt and in the next.
    private var again: ArraySlice<DirectoryListing.File> = []
    private var later: [DirectoryListing.File] = []
    private var result = AppSource.Reading()
    private var found = FindingList()

    static let most = (bytes: PolicyLimits.appFileBytes, limit: "app-file-bytes")
    /// How often a file is read that does not hold still.
    static let mostAttempts = 8
    private static let longestPause: Int64 = 400_000

    init(_ directories: [ListedDirectory], mustExist: Bool, waits: Bool) {
        self.listing = DirectoryListing(
            directories, atMost: (PolicyLimits.appFiles, "app-files"), mustExist: mustExist)
        self.waits = waits
        self.stage = .listing(self.listing)
    }

    /// Goes on to the end, for a thread that may wait.
    package func run() { PolicyLoading.run(self.step) }

    /// Goes on for a moment.
    package func step() -> PolicyLoading.Progress {
        // Taken out, so that nothing is copied that is at work.
        let stage = self.stage
        self.stage = .done
        switch stage {
        case .listing(let listing): self.stage = listing.step() ? stage : .choosing
        case .choosing: return self.choose()
        case .reading(let reading, let file): self.read(reading, file)
        case .compiling(var reader, let listed):
            if reader.step() {
                self.stage = .compiling(reader, listed)
            } else {
                let (file, findings) = reader.finish()
                for finding in listed.directory.told(findings) { self.found.append(finding) }
                if let file { self.result.files.append(file) } else { self.result.broken.append(listed.app) }
                self.stage = .choosing
            }
        case .done: return .done
        }
        return .more
    }

    /// What came of it, once: whoever has it can be rid of it a little at a time.
    package func finish() -> AppSource.Reading {
        var result = AppSource.Reading()
        swap(&result, &self.result)
        result.findings = (self.listing.findings + self.found.all).inReadingOrder()
        result.unlisted = self.listing.unlisted
        if self.attempts > 1 { result.files.sort { $0.id < $1.id } }
        return result
    }

    private func choose() -> PolicyLoading.Progress {
        let listed = self.isListRead ? nil : self.listing.next()
        if listed == nil { self.isListRead = true }
        if let next = listed ?? self.again.popFirst() {
            let reading = FileReading(
                next.path, shown: next.path, atMost: Self.most, within: next.directory.root)
            self.stage = .reading(reading, next)
            return .more
        }
        guard !self.later.isEmpty else { return .done }
        guard self.attempts < Self.mostAttempts else {
            for file in self.later {
                self.found.append(Finding(restless: file.path, times: self.attempts))
                self.result.restless.append(file.app)
            }
            return .done
        }
        let pause = min(Self.longestPause, FileStamp.settling << Int64(self.attempts - 1))
        self.attempts += 1
        self.again = self.later[...]
        self.later = []
        self.stage = .choosing
        self.began = FileStamp.now() + (self.waits ? pause : 0)
        return self.waits ? .wait(pause) : .more
    }

    private func read(_ reading: FileReading, _ file: DirectoryListing.File) {
        switch reading.step() {
        case nil:
            self.stage = .reading(reading, file)
            return
        case .bytes(let bytes, let stamp):
            if FileStamp(path: file.path) == stamp, !self.waits || !stamp.isYoung(at: self.began) {
                let source = PolicyFile(name: file.path, layer: file.directory.layer, bytes: bytes)
                self.stage = .compiling(AppFileReader(source, ofFlatpak: file.directory.isFlatpaks), file)
                return
            }
            self.later.append(file)
        case .moved: self.later.append(file)
        case .masked: break
        // It was there when the directory was listed, and was taken away while it was waited for.
        case .failed(_, missing: true) where self.attempts > 1: break
        case .failed(let finding, _):
            self.found.append(finding)
            self.result.broken.append(file.app)
        }
        self.stage = .choosing
    }
}

extension DirectoryListing.File {
    /// Whose app file it is.
    fileprivate var app: AppID { AppID(String(self.name.dropLast(".conf".utf8.count))) }
}

@available(*, unavailable)
extension AppLoading: Sendable {}
