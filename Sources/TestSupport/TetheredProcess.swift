import Glibc

/// A child process that cannot outlive this one, with its output.
///
/// Between the two stands `test-tether`: when the lifeline it reads from ends, because it was closed or because this
/// process crashed, it ends the program and whatever the program started. Not `Sendable`: one test, one thread.
final class TetheredProcess {
    /// The program's pid, or 0 for a tether without a program.
    private(set) var pid: pid_t = 0
    private(set) var end: ProgramEnd?
    private(set) var output: OutputPipe
    private(set) var errors: OutputPipe

    private let name: String
    private let tether: pid_t
    private var lifeline: Int32
    private var report: OutputPipe
    private var reported = 0
    private var startFailure: Failure?

    /// Starts a program and returns when it runs.
    ///
    /// - Parameters:
    ///   - arguments: The program, looked up in `PATH` unless it has a slash, and its arguments. Empty: no program.
    ///   - environment: Variables to add to ours.
    ///   - directory: A directory to remove after the end, however it comes.
    init(
        _ arguments: [String], environment: [String: String] = [:], removing directory: String? = nil
    ) throws(Failure) {
        var ends = ChildEnds()
        defer { ends.close() }
        let lifeline = try ends.addLifeline(as: 3)
        let report = try ends.addPipe(as: 4)
        let output = try ends.addPipe(as: 1)
        let errors = try ends.addPipe(as: 2)
        var command = [Programs.path(of: "test-tether")]
        if let directory { command += ["--remove", directory] }
        // Before any property is set: until then deinit will not run, and has nothing to release.
        self.tether = try ends.spawn(command + arguments, environment: environment)
        self.lifeline = lifeline
        self.report = OutputPipe(report)
        self.output = OutputPipe(output)
        self.errors = OutputPipe(errors)
        self.name = arguments.first ?? "test-tether"
        guard !arguments.isEmpty else { return }
        let started = try self.wait(.seconds(30)) { self.pid != 0 || self.startFailure != nil || self.report.isClosed }
        if let startFailure { throw startFailure }
        guard started, self.pid != 0 else { throw Failure("\(self.name) did not start: \(self.errors.text)") }
    }

    deinit {
        self.release()
        _ = close(self.report.descriptor)
        _ = close(self.output.descriptor)
        _ = close(self.errors.descriptor)
    }

    /// Sends a signal to the program. Nothing happens if it has ended: the tether knows, so no other pid is ever hit.
    func signal(_ number: Int32) throws(Failure) {
        guard self.lifeline >= 0 else { return }
        var byte = UInt8(clamping: number)
        // SAFETY: one byte, which lives until the call returns.
        let sent = unsafe send(self.lifeline, &byte, 1, Int32(MSG_NOSIGNAL))
        guard sent == 1 || errno == EPIPE else { throw .system("signal \(number) to \(self.name)") }
    }

    /// Reads what arrives until `isDone`, the end of everything, or the timeout. Returns the last word of `isDone`.
    func wait(_ timeout: Duration, until isDone: () -> Bool) throws(Failure) -> Bool {
        let deadline = Deadline(after: timeout)
        while true {
            if isDone() { return true }
            if self.report.isClosed, self.output.isClosed, self.errors.isClosed { return false }
            if deadline.isOver { return false }
            try self.readOnce(deadline)
        }
    }

    /// Waits for the program to end.
    func waitForEnd(_ timeout: Duration) throws(Failure) -> ProgramEnd {
        _ = try self.wait(timeout) { self.end != nil }
        guard let end else { throw Failure("\(self.name) did not end within \(timeout)") }
        return end
    }

    /// Waits until every descendant is gone and all output was read.
    func waitForSilence(_ timeout: Duration) throws(Failure) {
        let isSilent = { self.report.isClosed && self.output.isClosed && self.errors.isClosed }
        guard try self.wait(timeout, until: isSilent) else {
            throw Failure("\(self.name) or what it started did not end within \(timeout)")
        }
    }

    /// Ends the program, and whatever it started, and returns when all of it is gone.
    func release() {
        guard self.lifeline >= 0 else { return }
        _ = close(self.lifeline)
        self.lifeline = -1
        // The tether kills after five seconds; only a program in an uninterruptible call could take longer.
        _ = try? self.wait(.seconds(30)) { self.report.isClosed }
        var status: Int32 = 0
        // SAFETY: the status lives until the call returns.
        while unsafe waitpid(self.tether, &status, 0) < 0, errno == EINTR {}
    }

    private func readOnce(_ deadline: Deadline) throws(Failure) {
        var polled = [self.report, self.output, self.errors].map { pipe in
            pollfd(fd: pipe.isClosed ? -1 : pipe.descriptor, events: Int16(POLLIN), revents: 0)
        }
        // SAFETY: the array holds the three elements that the call is told of.
        let count = unsafe poll(&polled, 3, deadline.pollTimeout)
        guard count >= 0 || errno == EINTR else { throw .system("poll") }
        guard count > 0 else { return }
        // Output first: what was written before the end is there when the end is seen.
        if polled[1].revents != 0 { try self.output.read() }
        if polled[2].revents != 0 { try self.errors.read() }
        if polled[0].revents != 0 {
            try self.report.read()
            self.parseReport()
        }
    }

    private func parseReport() {
        while let line = self.report.nextLine(from: &self.reported) {
            let words = line.split(separator: " ")
            guard words.count == 2, let number = Int32(words[1]) else { continue }
            switch words[0] {
            case "pid": self.pid = number
            case "failed": self.startFailure = .system("cannot start \(self.name)", number)
            case "exited": self.end = .exited(number)
            case "killed": self.end = .killed(signal: number)
            default: break
            }
        }
    }
}

/// The reading end of a pipe and all that came out of it.
struct OutputPipe {
    let descriptor: Int32
    private(set) var isClosed = false
    private(set) var bytes: [UInt8] = []

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// Reads what is there. To be called when `poll` says that it will not wait.
    mutating func read() throws(Failure) {
        let count: Int
        // SAFETY: the buffer has the size that is passed along.
        (self.bytes, count) = unsafe withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
            let count = unsafe Glibc.read(self.descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else { return (self.bytes, count) }
            return unsafe (self.bytes + buffer.prefix(count), count)
        }
        if count == 0 { self.isClosed = true }
        if count < 0, errno != EINTR, errno != EAGAIN { throw .system("read") }
    }

    /// The next whole line after `offset`, which moves on; `nil` until there is one.
    func nextLine(from offset: inout Int) -> String? {
        guard let end = self.bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { offset = end + 1 }
        return String(decoding: self.bytes[offset..<end], as: UTF8.self)
    }
}
