import Motion

/// The directory of the two files, and how each of them was left.
struct StoreDirectory: ~Copyable {
    private let path: String
    /// How long to leave at least between two times that a file is looked over.
    private let pause: TimeSpan
    private var held: HeldDirectory?
    /// The files that were open, and why they are not any more.
    private var left: [String: StoreError.Code] = [:]

    init(_ path: String, pause: TimeSpan) {
        self.path = path
        self.pause = pause
    }

    func path(of name: String) -> String { "\(self.path)/\(name)" }

    /// Readable when somebody did something there; `nil` while nobody could tell us.
    var descriptor: Int32? {
        switch self.held {
        case .some(let held): held.descriptor
        case nil: nil
        }
    }

    /// When to look again, even if nothing happens.
    var deadline: Int64? {
        switch self.held {
        case .some(let held): held.deadline
        case nil: nil
        }
    }

    // MARK: The lock

    var isHeld: Bool { self.held != nil }

    /// Takes the directory; `busy` is called when somebody else has it, and may leave it until `deadline`.
    mutating func hold(until deadline: Int64, busy: () -> Void) throws(StoreError) {
        self.held = try HeldDirectory(self.path, until: deadline, busy: busy)
    }

    mutating func letGo() { self.held = nil }

    /// Fetches what was done to the files since the last time. Lets go of a directory that is lost, or another broker's.
    mutating func look() throws(StoreError) -> DirectoryWatch.Changes {
        do throws(StoreError) {
            return try self.held?.look() ?? DirectoryWatch.Changes()
        } catch {
            // What cannot be seen now is ours all the same, as long as it is open.
            if error.code == .lost || error.code == .taken { self.held = nil }
            throw error
        }
    }

    // MARK: The files

    /// Whether this file was open before, or left.
    func wasOpen(_ name: String) -> Bool { self.left[name] != nil }

    /// Opens a file, or makes it. A broken one is set aside, and `setAside` says so.
    mutating func open(
        _ name: String, _ kind: StoreFile.Kind, setAside: inout String?
    ) throws(StoreError) -> StoreFile {
        let file = try StoreFile.open(
            self.path(of: name), kind, left: self.left[name], pause: self.pause, in: &self.held, setAside: &setAside)
        self.left[name] = .unavailable
        return file
    }

    /// Notes why a file is not open any more.
    mutating func leave(_ name: String, _ code: StoreError.Code) { self.left[name] = code }
}
