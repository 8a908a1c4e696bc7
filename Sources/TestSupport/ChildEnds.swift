import CTestSupport
import Glibc

/// The descriptors a child is started with: its ends of the pipes, and the numbers it knows them by.
struct ChildEnds {
    private var ends: [(descriptor: Int32, number: Int32)] = []
    /// Our ends, until a child runs that has theirs: closed when none comes.
    private var ours: [Int32] = []

    /// Makes a pipe that the child writes, and returns our end of it.
    mutating func addPipe(as number: Int32) throws(Failure) -> Int32 {
        var pair: [Int32] = [-1, -1]
        // SAFETY: the array holds the two descriptors that the call writes.
        guard unsafe CTestSupport_pipe(&pair) == 0 else { throw .system("pipe2") }
        // Room for a test's output, so that a program nobody reads from for a while does not stop. A wish, no need.
        CTestSupport_enlarge_pipe(pair[0], 1 << 20)
        return try self.add(ours: pair[0], theirs: pair[1], as: number)
    }

    /// Makes the connection that the child watches. A socket, for writing to a pipe nobody reads would raise SIGPIPE.
    mutating func addLifeline(as number: Int32) throws(Failure) -> Int32 {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        // SAFETY: the array holds the two descriptors that the call writes.
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw .system("socketpair") }
        return try self.add(ours: pair[0], theirs: pair[1], as: number)
    }

    private mutating func add(ours our: Int32, theirs: Int32, as number: Int32) throws(Failure) -> Int32 {
        self.ours.append(our)
        // Above every number the child uses, so that no redirection overwrites the source of a later one.
        let moved = fcntl(theirs, F_DUPFD_CLOEXEC, 16)
        let error = errno
        _ = Glibc.close(theirs)
        guard moved >= 0 else { throw .system("fcntl", error) }
        self.ends.append((moved, number))
        return our
    }

    /// Starts the program with standard input empty, no signal blocked or ignored, and only these descriptors.
    mutating func spawn(_ arguments: [String], environment: [String: String]) throws(Failure) -> pid_t {
        // SAFETY: C structures that live until the end of this function; each is initialised before it is used.
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        var none = sigset_t()
        var all = sigset_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for end in self.ends { _ = unsafe posix_spawn_file_actions_adddup2(&actions, end.descriptor, end.number) }
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var pid: pid_t = 0
        // SAFETY: both arrays of strings are terminated and outlive the call.
        let error = unsafe withCStrings(arguments) { argv in
            unsafe withCStrings(Programs.environment(adding: environment)) { envp in
                unsafe posix_spawn(&pid, arguments[0], &actions, &attributes, argv, envp)
            }
        }
        guard error == 0 else { throw .system("cannot start \(arguments[0])", error) }
        self.ours = []
        return pid
    }

    mutating func close() {
        for end in self.ends { _ = Glibc.close(end.descriptor) }
        for descriptor in self.ours { _ = Glibc.close(descriptor) }
        (self.ends, self.ours) = ([], [])
    }
}

/// The array of C strings, ended by a null pointer, that `exec` wants.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers = unsafe strings.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    // SAFETY: every pointer came from strdup, and is freed once, after the last use.
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe body(pointers)
}
