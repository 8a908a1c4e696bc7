import Arbitration

/// Reads policy files, a little at a time, until they hold still, and makes a policy of them.
///
/// Files that are changed while they are read may say together what nobody ever wrote. So what the kernel says of each before
/// and after has to be the same, and where there is time to wait, the last change has to be some time ago. Not `Sendable`: it
/// holds files open.
package final class PolicyLoading {
    package enum Progress: Equatable {
        case more
        /// Nothing can be done for so long, in µs.
        case wait(Int64)
        case done

        /// After how many µs the next step can be done; `nil` when there is none.
        package var pause: Int64? {
            switch self {
            case .more: 0
            case .wait(let pause): pause
            case .done: nil
            }
        }
    }

    private enum Stage {
        case listing(DirectoryListing, Int)
        case reading(DirectoryListing, Int, FileReading?, DirectoryListing.File?)
        case verifying(Int)
        case compiling
        /// Until it is read once more.
        case pausing
        case done
    }

    private let sets: [PolicySource.Files]
    private let single: [PolicyFile]
    private let naming: PolicyDirectories.Naming
    private let waits: Bool
    private var stage: Stage
    private var attempts = 1
    private var began = FileStamp.now()
    private var files: [PolicyFile]
    private var findings: [Finding] = []
    private var bytes = 0
    /// What each file and directory was when it was read.
    private var stamps: [(path: String, stamp: FileStamp?)] = []
    /// At work in its place: a second copy would be made anew with each step.
    private var reader: PolicyReader?
    private var reading: PolicyReading?
    /// The first error of what comes from outside, for which all of that was left out.
    private var leftOut: Finding?

    /// How often files are read that do not hold still.
    private static let mostAttempts = 8
    /// The longest pause between two attempts, in µs.
    private static let longestPause: Int64 = 400_000
    /// So many files are looked at again in a step.
    private static let stepStamps = 32

    /// - Parameter waits: Whether there is time to wait until the last change is some time ago.
    init(_ sets: [PolicySource.Files], single: [PolicyFile], naming: PolicyDirectories.Naming, waits: Bool) {
        self.sets = sets
        self.single = single
        self.naming = naming
        self.waits = waits
        self.files = single
        self.stage = .done
        self.begin(0)
    }

    /// Goes on for a moment.
    package func step() -> Progress {
        // Taken out, so that nothing is copied that is at work.
        let stage = self.stage
        self.stage = .done
        switch stage {
        case .listing(let listing, let set):
            self.stage = listing.step() ? stage : .reading(listing, set, nil, nil)
        case .reading(let listing, let set, let file, let what): self.read(listing, set, file, what)
        case .verifying(let index): return self.verify(from: index)
        case .compiling:
            if self.reader?.step() == true {
                self.stage = .compiling
            } else {
                self.compiled(self.reader.take()?.finish())
            }
        case .pausing:
            self.began = FileStamp.now()
            self.begin(0)
        case .done: return .done
        }
        return .more
    }

    /// What comes from outside with an error takes itself away, and nothing of what the device itself says.
    private func compiled(_ reading: PolicyReading?) {
        guard let error = reading?.errors.first, self.files.contains(where: { $0.layer == .outside }) else {
            return self.reading = reading
        }
        self.leaveOutsideOut(error)
        self.reader = PolicyReader(self.files)
        self.stage = .compiling
    }

    private func leaveOutsideOut(_ error: Finding) {
        self.files.removeAll { $0.layer == .outside }
        self.leftOut = Finding(
            .leftOut, at: error.place, "what comes from outside is left out: \(error.message)", advice: error.advice)
    }

    /// Whether the files themselves are not all read yet.
    var isReading: Bool {
        switch self.stage {
        case .listing, .reading, .verifying, .pausing: true
        case .compiling, .done: false
        }
    }

    /// The files that were read, and what is wrong with others.
    var found: (files: [PolicyFile], findings: [Finding]) { (self.files, self.findings) }

    /// What came of it: what stands in the files, and the files.
    package func finish() -> (reading: PolicyReading, files: [PolicyFile]) {
        var reading = self.reading ?? PolicyReader.read([])
        self.reading = nil
        reading.findings = (self.findings + reading.findings + (self.leftOut.map { [$0] } ?? [])).inReadingOrder()
        if !reading.errors.isEmpty { reading.policy = nil }
        return (reading, self.files)
    }

    /// What the files were from which it came.
    package var state: PolicyFilesState { PolicyFilesState(stamps: self.stamps, began: self.began) }

    // MARK: Reading

    private func begin(_ set: Int) {
        guard set < self.sets.count else {
            self.stage = .verifying(0)
            return
        }
        let contents: ListedDirectory.Contents = self.sets[set].layer == .outside ? .outsideFiles : .files
        let listing = DirectoryListing(
            self.sets[set].directories.map { ListedDirectory($0, contents) },
            atMost: (PolicyLimits.files, "policy-files"),
            mustExist: self.sets[set].mustExist)
        self.stage = .listing(listing, set)
    }

    private func read(
        _ listing: DirectoryListing, _ set: Int, _ reading: FileReading?, _ what: DirectoryListing.File?
    ) {
        guard let reading, let what else {
            guard let next = listing.next() else {
                self.take(listing.findings, of: set)
                self.stamps += listing.stamps
                return self.begin(set + 1)
            }
            let shown = self.naming == .path ? next.path : next.name
            let file = FileReading(next.path, shown: shown, atMost: (PolicyLimits.fileBytes, "policy-file-bytes"))
            self.stage = .reading(listing, set, file, next)
            return
        }
        let shown = self.naming == .path ? what.path : what.name
        switch reading.step() {
        case nil:
            self.stage = .reading(listing, set, reading, what)
            return
        case .bytes(let bytes, let stamp):
            self.stamps.append((what.path, stamp))
            self.bytes += bytes.count
            self.files.append(PolicyFile(name: shown, layer: self.sets[set].layer, bytes: bytes))
        case .masked: break
        case .moved:
            // What it is now is known not to be what was read.
            self.stamps.append((what.path, nil))
        case .failed(let finding, _):
            self.stamps.append((what.path, FileStamp(path: what.path)))
            self.take([finding], of: set)
        }
        guard self.bytes > PolicyLimits.bytes else {
            self.stage = .reading(listing, set, nil, nil)
            return
        }
        let excess = Finding(
            .tooMuch, at: Place(file: shown, line: 1),
            PolicyLimits.excess("the files are too long together", "policy-bytes", PolicyLimits.bytes),
            advice: "say it with fewer")
        self.take([excess], of: set)
        if self.sets[set].layer == .outside { return self.begin(set + 1) }
        self.reading = PolicyReader.read([])
    }

    private func take(_ findings: [Finding], of set: Int) {
        guard self.sets[set].layer == .outside, let error = findings.first(where: { $0.severity == .error }) else {
            return self.findings += findings
        }
        self.leaveOutsideOut(error)
    }

    // MARK: Whether they held still

    private func verify(from start: Int) -> Progress {
        let end = min(start + Self.stepStamps, self.stamps.count)
        for (path, stamp) in self.stamps[start..<end] {
            if FileStamp(path: path) != stamp { return self.again(path) }
            if self.waits, let stamp, stamp.isYoung(at: self.began) { return self.again(path) }
        }
        self.stage = .verifying(end)
        guard end == self.stamps.count else { return .more }
        // What was read behind an error of what comes from outside is left out, too.
        if self.leftOut != nil { self.files.removeAll { $0.layer == .outside } }
        self.reader = PolicyReader(self.files)
        self.stage = .compiling
        return .more
    }

    /// Reads all of it again, after a pause that becomes longer.
    private func again(_ path: String) -> Progress {
        guard self.attempts < Self.mostAttempts else {
            self.findings.append(Finding(restless: path, times: self.attempts))
            return .more
        }
        let pause = min(Self.longestPause, FileStamp.settling << Int64(self.attempts - 1))
        self.attempts += 1
        self.files = self.single
        self.findings = []
        self.leftOut = nil
        self.bytes = 0
        self.stamps = []
        self.stage = .pausing
        return self.waits ? .wait(pause) : .more
    }
}

@available(*, unavailable)
extension PolicyLoading: Sendable {}
