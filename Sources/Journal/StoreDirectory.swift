import Motion

/// The directory of the two files, and how each of them was left.
struct StoreDirectory: ~Copyable {
    private let path: String
    /// How long to leave at least between two times that a file is looked over.
    private let pause: TimeSpan
    private var held: HeldDirectory?
    private var histories: [String: FileHistory] = [:]

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

    private mutating func history(of name: String) -> FileHistory {
        if let known = self.histories[name] { return known }
        let history = FileHistory(of: self.path(of: name))
        self.histories[name] = history
        return history
    }

    /// Whether this file was open before.
    func wasOpen(_ name: String) -> Bool { self.histories[name]?.wasOpen ?? false }

    /// Opens a file, or makes it. A broken one is set aside, and `setAside` says so, also where that did not help.
    mutating func open(
        _ name: String, _ kind: StoreFile.Kind, setAside: inout String?
    ) throws(StoreError) -> StoreFile {
        let history = self.history(of: name)
        let file = try StoreFile.open(history, kind, pause: self.pause, in: &self.held, setAside: &setAside)
        history.opened()
        return file
    }

    /// Reads a file that cannot be opened, because nothing can be written there.
    mutating func read<R>(
        _ name: String, _ kind: StoreFile.Kind, _ body: (borrowing Database) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try StoreFile.read(self.history(of: name), kind, body)
    }

    /// Notes why a file is not open any more, or could not be opened.
    mutating func leave(_ name: String, _ code: StoreError.Code) { self.history(of: name).left(code) }

    /// Sets a file aside that is open no more. Returns what to tell people.
    mutating func setAside(_ name: String, _ reason: StoreError) throws(StoreError) -> String {
        let told = try StoreFile.setAside(self.path(of: name), reason)
        self.history(of: name).beginAnew()
        return told
    }
}
