import Arbitration
import Glibc

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
    /// What each file and directory was when it was read, and whose it is.
    private var stamps: [(path: String, stamp: FileStamp?, layer: PolicyLayer)] = []
    /// At work in its place: a second copy would be made anew with each step.
    private var reader: PolicyReader?
    private var reading: PolicyReading?
    /// The layers that were left out, each with the errors for which it was.
    private var leftOut: [PolicyLayer: [Finding]] = [:]

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

    /// Goes on to the end, for a thread that may wait.
    package func run() { Self.run(self.step) }

    static func run(_ step: () -> Progress) {
        while true {
            switch step() {
            case .more: continue
            case .wait(let pause): usleep(useconds_t(pause))
            case .done: return
            }
        }
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

    /// Whoever is not the administrator takes away with an error what is their own, and nothing of what the device itself says.
    private func compiled(_ reading: PolicyReading?) {
        guard let errors = reading?.errors, let layer = self.layer(in: errors) else { return self.reading = reading }
        let own = Set(self.files.lazy.filter { $0.layer == layer }.map(\.name))
        let theirs = errors.filter { own.contains($0.place.file) }
        self.leaveOut(layer, for: theirs.isEmpty ? errors : theirs)
        self.reader = PolicyReader(self.files)
        self.stage = .compiling
    }

    /// The layer to leave out for errors; `nil` where there are none, or nothing but the system's files.
    private func layer(in errors: [Finding]) -> PolicyLayer? {
        guard !errors.isEmpty else { return nil }
        let others = self.files.filter { $0.layer != .system }
        let layers = Dictionary(others.map { ($0.name, $0.layer) }) { first, _ in first }
        if let layer = errors.lazy.compactMap({ layers[$0.place.file] }).first { return layer }
        // Those of users are read first, and may leave the system's no room.
        return others.contains { $0.layer == .user } ? .user : others.first?.layer
    }

    private func leaveOut(_ layer: PolicyLayer, for errors: [Finding]) {
        self.leftOut[layer, default: []] += errors
        self.bytes -= self.files.reduce(0) { $0 + ($1.layer == layer ? $1.bytes.count : 0) }
        self.files.removeAll { $0.layer == layer }
    }

    /// Whether the files themselves are not all read yet.
    var isReading: Bool {
        switch self.stage {
        case .listing, .reading, .verifying, .pausing: true
        case .compiling, .done: false
        }
    }

    /// The files that were read, and what is wrong with others.
    var found: (files: [PolicyFile], findings: [Finding]) {
        (self.files, self.findings + self.leftOut.values.joined())
    }

    /// What came of it: what stands in the files, and the files.
    package func finish() -> (reading: PolicyReading, files: [PolicyFile]) {
        var reading = self.reading ?? PolicyReader.read([])
        self.reading = nil
        let found = self.findings + reading.findings
        // What is wrong without a layer, too, is not for what that one was left out.
        let leftOut = self.leftOut.mapValues { errors in errors.filter { !found.contains($0) } }
        reading.ownErrors = leftOut[.user] ?? []
        let told = leftOut.compactMap { layer, errors in
            errors.first.map {
                Finding(.leftOut, at: $0.place, "\(layer.whose) left out: \($0.message)", advice: $0.advice)
            }
        }
        reading.findings = (found + told).inReadingOrder()
        if !reading.errors.isEmpty { reading.policy = nil }
        return (reading, self.files)
    }

    /// What the files were from which it came.
    package var state: PolicyFilesState {
        PolicyFilesState(stamps: self.stamps.map { ($0.path, $0.stamp) }, began: self.began)
    }

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
        let layer = self.sets[set].layer
        guard let reading, let what else {
            guard let next = listing.next() else {
                self.take(listing.findings, of: layer)
                return self.end(listing, set)
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
            self.stamps.append((what.path, stamp, layer))
            self.bytes += bytes.count
            self.files.append(PolicyFile(name: shown, layer: layer, bytes: bytes))
        case .masked: break
        case .moved:
            // What it is now is known not to be what was read.
            self.stamps.append((what.path, nil, layer))
        case .failed(let finding, _):
            self.stamps.append((what.path, FileStamp(path: what.path), layer))
            self.take([finding], of: layer)
            if self.leftOut[layer] != nil { return self.end(listing, set) }
        }
        guard self.bytes > PolicyLimits.bytes else {
            self.stage = .reading(listing, set, nil, nil)
            return
        }
        let excess = Finding(
            .tooMuch, at: Place(file: shown, line: 1),
            PolicyLimits.excess("the files are too long together", "policy-bytes", PolicyLimits.bytes),
            advice: "say it with fewer")
        self.take([excess], of: layer)
        if self.leftOut[layer] != nil { return self.end(listing, set) }
        self.reading = PolicyReader.read([])
    }

    /// Is done with a set: all of it is read, or the rest does not count.
    private func end(_ listing: DirectoryListing, _ set: Int) {
        self.stamps += listing.stamps.map { ($0.path, $0.stamp, self.sets[set].layer) }
        self.begin(set + 1)
    }

    private func take(_ findings: [Finding], of layer: PolicyLayer) {
        let errors = findings.filter { $0.severity == .error }
        guard layer != .system, !errors.isEmpty else { return self.findings += findings }
        self.leaveOut(layer, for: errors)
    }

    // MARK: Whether they held still

    private func verify(from start: Int) -> Progress {
        let end = min(start + Self.stepStamps, self.stamps.count)
        for (path, stamp, layer) in self.stamps[start..<end] {
            let isYoung = self.waits && stamp?.isYoung(at: self.began) ?? false
            guard isYoung || FileStamp(path: path) != stamp else { continue }
            guard self.attempts == Self.mostAttempts else { return self.again() }
            self.take([Finding(restless: path, times: self.attempts)], of: layer)
            // Nothing comes of it.
            if layer == .system { return .more }
        }
        self.stage = .verifying(end)
        guard end == self.stamps.count else { return .more }
        self.reader = PolicyReader(self.files)
        self.stage = .compiling
        return .more
    }

    /// Reads all of it again, after a pause that becomes longer.
    private func again() -> Progress {
        let pause = min(Self.longestPause, FileStamp.settling << Int64(self.attempts - 1))
        self.attempts += 1
        self.files = self.single
        self.findings = []
        self.leftOut = [:]
        self.bytes = 0
        self.stamps = []
        self.stage = .pausing
        return self.waits ? .wait(pause) : .more
    }
}

extension PolicyLayer {
    /// Whose its files are, as the beginning of a sentence.
    fileprivate var whose: String {
        switch self {
        case .system: "the system's files are"
        case .user: "the user's own files are"
        case .outside: "what comes from outside is"
        }
    }
}

@available(*, unavailable)
extension PolicyLoading: Sendable {}
