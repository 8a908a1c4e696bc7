import Arbitration
import Glibc

/// Lists the files of directories, a few at a time, and then names them in their order.
///
/// A file of the same name in a later directory replaces the earlier one. Not `Sendable`: it holds a directory open.
@safe final class DirectoryListing {
    struct File {
        var path: String
        /// Its name without the directory.
        var name: String
    }

    private var directories: ArraySlice<(offset: Int, element: String)>
    private let all: [String]
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
    /// What the directories were when they were listed.
    private(set) var stamps: [(path: String, stamp: FileStamp?)] = []

    /// So many names are read in a step.
    private static let run = 256

    init(_ directories: [String], atMost most: (files: Int, limit: String), mustExist: Bool) {
        self.all = directories
        self.directories = Array(directories.enumerated())[...]
        self.most = most
        self.mustExist = mustExist
    }

    // SAFETY: the stream is closed once.
    deinit { if let stream = unsafe self.stream { unsafe closedir(stream) } }

    /// Goes on for a moment; false when all names are known.
    func step() -> Bool {
        guard let (number, directory) = self.directories.first else { return false }
        if unsafe self.stream == nil {
            self.stamps.append((directory, FileStamp(path: directory)))
            // SAFETY: the path is NUL-terminated for the call.
            unsafe self.stream = opendir(directory)
            if unsafe self.stream == nil {
                let code = errno
                if code != ENOENT || self.mustExist {
                    self.findings.append(Finding(unreadable: directory, "the directory cannot be read", code))
                }
                self.directories.removeFirst()
                return true
            }
        }
        guard let stream = unsafe self.stream else { return true }
        var names: [String] = []
        for _ in 0..<Self.run {
            // SAFETY: an entry is used before the next one is read.
            guard let entry = unsafe readdir(stream) else {
                unsafe closedir(stream)
                unsafe self.stream = nil
                self.directories.removeFirst()
                break
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard name.hasSuffix(".conf"), !name.hasPrefix(".") else { continue }
            if self.places.updateValue(number, forKey: name) == nil { names.append(name) }
        }
        if !names.isEmpty { self.runs.append(names.sorted(by: Self.isBefore)[...]) }
        guard self.places.count > self.most.files else { return true }
        self.findings.append(
            Finding(
                .tooMuch, at: Place(file: directory, line: 1),
                PolicyLimits.excess("there are too many files", self.most.limit, self.most.files),
                advice: "put several into one"))
        self.directories = []
        self.runs = []
        return false
    }

    /// The next file; `nil` when there are no more.
    func next() -> File? {
        var first: Int?
        for index in self.runs.indices {
            guard let name = self.runs[index].first else { continue }
            if first.flatMap({ self.runs[$0].first }).map({ Self.isBefore(name, $0) }) ?? true { first = index }
        }
        guard let first, let name = self.runs[first].popFirst(), let place = self.places[name] else { return nil }
        return File(path: "\(self.all[place])/\(name)", name: name)
    }

    private static func isBefore(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}

@available(*, unavailable)
extension DirectoryListing: Sendable {}
