import CLinux
import Glibc

/// A program that runs as a child of this process, told of on a loop.
///
/// It starts with a clean signal state (nothing blocked, everything at its default), whatever this process blocks or
/// ignores, and inherits only the three standard descriptors. Its end is learned from a pidfd, never from SIGCHLD, so
/// that nothing else in the process can take it away. The loop keeps this object until then.
///
/// Deliberately not `Sendable`: it belongs to its loop's thread.
package final class ChildProcess {
    /// Where one of the child's standard descriptors leads.
    package enum Stream: Hashable, Sendable {
        /// To where our own leads.
        case inherit
        /// To `/dev/null`.
        case null
        /// To us: `takeInput()`, `takeOutput()`, `takeErrorOutput()`.
        case pipe
        /// To an open descriptor of ours, which stays ours.
        case descriptor(Int32)
    }

    /// What to run, and how.
    package struct Command: Sendable {
        /// A path; a name without a slash is looked for in `PATH`.
        package var program: String
        /// What follows the program's name.
        package var arguments: [String]
        /// `NAME=value` lines; `nil`: our own environment.
        package var environment: [String]?
        package var input = Stream.inherit
        package var output = Stream.inherit
        package var errorOutput = Stream.inherit
        /// Whether the child leads a process group of its own, out of reach of the terminal's Ctrl-C.
        package var hasOwnGroup = false

        package init(_ program: String, _ arguments: [String] = [], environment: [String]? = nil) {
            self.program = program
            self.arguments = arguments
            self.environment = environment
        }
    }

    /// How a child has ended.
    package enum Ending: Hashable, Sendable {
        /// By itself, with this exit code; -1 when something else in this process has taken the code away.
        case exited(Int32)
        /// By this signal.
        case killed(Int32)
    }

    /// The child's process id. Meaningless once it has ended.
    package let pid: Int32
    /// How the child ended; `nil` while it runs.
    package private(set) var ending: Ending?

    private let hasOwnGroup: Bool
    private let descriptor: OwnedDescriptor
    private var onEnd: ((Ending) -> Void)?
    private var input: OwnedDescriptor?
    private var output: OwnedDescriptor?
    private var errorOutput: OwnedDescriptor?

    /// Starts a program and runs `onEnd` when it has ended. Fails when the program cannot be executed.
    ///
    /// The corresponding C function is `posix_spawnp`.
    package init(
        _ command: Command, on loop: EventLoop, onEnd: @escaping (Ending) -> Void = { _ in }
    ) throws(SystemError) {
        var input = try Connection(command.input, isInput: true)
        var output = try Connection(command.output, isInput: false)
        var errorOutput = try Connection(command.errorOutput, isInput: false)
        self.pid = try Self.spawn(command, [input.source, output.source, errorOutput.source])
        // Nobody else reaps it, so the number cannot have passed to another process yet.
        let raw = CLinux_pidfd_open(self.pid)
        guard raw >= 0 else {
            let error = SystemError.last("pidfd_open")
            Self.discard(self.pid)
            throw error
        }
        self.descriptor = OwnedDescriptor(adopting: raw)
        self.hasOwnGroup = command.hasOwnGroup
        self.onEnd = onEnd
        self.input = input.ours.take()
        self.output = output.ours.take()
        self.errorOutput = errorOutput.ours.take()
        do {
            try self.watch(on: loop)
        } catch {
            Self.discard(self.pid)
            throw error
        }
    }

    /// Our end of the child's standard input, non-blocking, for the caller to own. `nil` if it is no pipe or was taken.
    package func takeInput() -> OwnedDescriptor? { self.input.take() }

    /// Our end of the child's standard output.
    package func takeOutput() -> OwnedDescriptor? { self.output.take() }

    /// Our end of the child's standard error.
    package func takeErrorOutput() -> OwnedDescriptor? { self.errorOutput.take() }

    /// Sends a signal to the child. Does nothing when it has ended; can reach nothing but this child.
    ///
    /// The corresponding C function is `pidfd_send_signal`.
    package func send(_ signal: Int32) throws(SystemError) {
        let raw = self.descriptor.raw
        do {
            try systemCall("pidfd_send_signal") { CLinux_pidfd_send_signal(raw, signal) }
        } catch {
            guard error.code == ESRCH else { throw error }
        }
    }

    /// Sends a signal to the child's whole group, if it leads its own; otherwise to the child alone.
    ///
    /// The corresponding C function is `kill`.
    package func sendToGroup(_ signal: Int32) throws(SystemError) {
        guard self.hasOwnGroup else { return try self.send(signal) }
        // A child that was not reaped keeps its number, and so its group's, from being used again.
        guard self.ending == nil else { return }
        let group = -self.pid
        try systemCall("kill") { kill(group, signal) }
    }

    /// Asks the child to end.
    package func terminate() throws(SystemError) {
        try self.send(SIGTERM)
    }

    private func watch(on loop: EventLoop) throws(SystemError) {
        var registration: EventLoop.Registration?
        // The closure holds this object until the child has ended.
        registration = try loop.watch(self.descriptor.raw, for: .read) { [unowned loop] _ in
            guard let ending = self.reap() else { return }
            if let registration { loop.cancel(registration) }
            self.ending = ending
            self.onEnd.take()?(ending)
        }
    }

    /// Collects the child's exit status, or `nil` when it still runs.
    private func reap() -> Ending? {
        var wasKilled: Int32 = 0
        var status: Int32 = 0
        // SAFETY: the pointers are valid for the call.
        let result = unsafe CLinux_pidfd_reap(self.descriptor.raw, &wasKilled, &status)
        switch result {
        case 0: return nil
        case 1: return wasKilled != 0 ? .killed(status) : .exited(status)
        default:
            // ECHILD: something else in this process waits for children that are not its own.
            return .exited(-1)
        }
    }

    /// Ends a child that cannot be watched.
    private static func discard(_ pid: Int32) {
        kill(pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
    }

    private static func spawn(_ command: Command, _ sources: [Int32]) throws(SystemError) -> Int32 {
        let arguments = try CStringArray([command.program] + command.arguments)
        let environment: CStringArray? =
            if let lines = command.environment { try CStringArray(lines) } else { nil }
        var pid: pid_t = 0
        let code = withExtendedLifetime((arguments, environment)) {
            // SAFETY: everything pointed to outlives the call, which keeps none of it.
            unsafe CLinux_spawn(
                &pid, arguments.first, arguments.pointer, environment?.pointer, sources, command.hasOwnGroup ? 1 : 0)
        }
        guard code == 0 else { throw SystemError(code: code, function: "posix_spawn") }
        return pid
    }

    /// One standard descriptor of a child to be: what it is made from, and what has to stay open for that.
    private struct Connection: ~Copyable {
        /// The descriptor to copy; -1: leave the child's as it is.
        let source: Int32
        var ours: OwnedDescriptor?
        private let theirs: OwnedDescriptor?

        init(_ stream: Stream, isInput: Bool) throws(SystemError) {
            switch stream {
            case .inherit:
                self.source = -1
                self.ours = nil
                self.theirs = nil
            case .descriptor(let raw):
                self.source = raw
                self.ours = nil
                self.theirs = nil
            case .null:
                let null = try OwnedDescriptor(opening: "/dev/null", O_RDWR)
                self.source = null.raw
                self.ours = nil
                self.theirs = consume null
            case .pipe:
                // The child expects descriptors that wait. Each end has a setting of its own.
                let pipe = try Pipe(isBlocking: true)
                if isInput {
                    try pipe.writer.setBlocking(false)
                    self.source = pipe.reader.raw
                    self.ours = consume pipe.writer
                    self.theirs = consume pipe.reader
                } else {
                    try pipe.reader.setBlocking(false)
                    self.source = pipe.writer.raw
                    self.ours = consume pipe.reader
                    self.theirs = consume pipe.writer
                }
            }
        }
    }
}

@available(*, unavailable)
extension ChildProcess: Sendable {}

/// Strings as C wants an argument vector: a NULL-terminated array of NUL-terminated copies.
@safe
private final class CStringArray {
    let pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    /// Refuses strings that a NUL inside would cut short.
    init(_ strings: [String]) throws(SystemError) {
        for string in strings where string.utf8.contains(0) {
            throw SystemError(code: EINVAL, function: "posix_spawn")
        }
        self.count = strings.count
        // SAFETY: allocated for exactly the strings and the final NULL, all of which are set here.
        unsafe self.pointer = .allocate(capacity: strings.count + 1)
        for index in strings.indices { unsafe (self.pointer + index).initialize(to: strdup(strings[index])) }
        unsafe (self.pointer + strings.count).initialize(to: nil)
    }

    var first: UnsafeMutablePointer<CChar>? { unsafe self.pointer[0] }

    deinit {
        // SAFETY: the strings came from strdup, and nobody has kept a pointer.
        for index in 0..<self.count { unsafe free(self.pointer[index]) }
        unsafe self.pointer.deallocate()
    }
}
