import Glibc
package import Loop

/// What a program tells its keeper: one line per message, on standard error.
///
/// Each line is written as it is made, so that none is lost when the process dies. To a terminal it reads
/// `jostle-brokerd: message`; to anything else it carries the level as systemd reads it: `<4>message`. Where the journal
/// reads standard error, the message goes to it with fields, and as a line only when it does not take that. Control characters
/// are escaped, so that no peer's text can forge a line or reach the terminal. A message of a level that is off is not
/// even made. A place that floods is held back and summed up. Nobody who does not read is waited for: what is not taken is left
/// out, and counted.
///
/// Deliberately not `Sendable`: it belongs to the loop's thread.
package final class Log {
    /// How lines begin.
    package enum Style: Sendable {
        /// By what the descriptor leads to.
        case automatic
        /// `program: message`, for a program that people call.
        case plain
        /// `<4>message`, for a service manager.
        case leveled
    }

    /// The least important level that is still written.
    package var level: LogLevel

    private let program: String
    private let descriptor: Int32
    private let isLeveled: Bool
    private let isSocket: Bool
    /// `nil`: the journal does not read what we write.
    private let journal: JournalSocket?
    private let now: () -> Int64
    private var limiter: LogLimiter
    private var lost = 0
    /// The last line was taken in part: what comes next begins a line of its own.
    private var isTorn = false
    private var summary: Summary?

    /// What the journal is told of a message besides its text.
    private struct Context {
        var event: LogEvent?
        var about: [LogField: String] = [:]
        var site: LogLimiter.Site?
    }

    private struct Summary {
        let loop: EventLoop
        let timer: EventLoop.TimerID
        var isScheduled = false
    }

    /// Longest line in bytes: what a pipe takes in one piece.
    private static let longestLine = 4_096

    /// Makes a log on a descriptor that it borrows. `now` tells microseconds that never go back.
    package convenience init(
        program: String, level: LogLevel = .info, style: Style = .automatic, to descriptor: Int32 = STDERR_FILENO,
        burst: Int = 20, interval: Int64 = 10_000_000, now: @escaping () -> Int64 = Clock.monotonic.now
    ) {
        let isAutomatic = if case .automatic = style { true } else { false }
        self.init(
            program: program, level: level, style: style, to: descriptor,
            journal: isAutomatic ? JournalSocket(behind: descriptor) : nil, burst: burst, interval: interval, now: now)
    }

    init(
        program: String, level: LogLevel, style: Style, to descriptor: Int32, journal: JournalSocket?, burst: Int = 20,
        interval: Int64 = 10_000_000, now: @escaping () -> Int64 = Clock.monotonic.now
    ) {
        self.program = program
        self.level = level
        self.descriptor = descriptor
        self.journal = journal
        self.isLeveled =
            switch style {
            case .automatic: isatty(descriptor) == 0
            case .plain: false
            case .leveled: true
            }
        var status = stat()
        // SAFETY: the status is ours, and a descriptor that is closed is an error like any other.
        self.isSocket = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        self.now = now
        self.limiter = LogLimiter(burst: burst, interval: interval)
    }

    /// Something does not work and somebody should see to it.
    ///
    /// - Parameters:
    ///   - event: what an administrator finds it by.
    ///   - about: what that is about.
    package func error(
        _ message: @autoclosure () -> String, as event: LogEvent? = nil,
        about: @autoclosure () -> [LogField: String] = [:], file: String = #fileID, line: Int = #line
    ) {
        self.log(.error, message, event, about, LogLimiter.Site(file: file, line: line))
    }

    /// Something is odd, and we go on.
    ///
    /// - Parameters:
    ///   - event: what an administrator finds it by.
    ///   - about: what that is about.
    package func warning(
        _ message: @autoclosure () -> String, as event: LogEvent? = nil,
        about: @autoclosure () -> [LogField: String] = [:], file: String = #fileID, line: Int = #line
    ) {
        self.log(.warning, message, event, about, LogLimiter.Site(file: file, line: line))
    }

    /// Something normal that a keeper wants to know.
    ///
    /// - Parameters:
    ///   - event: what an administrator finds it by.
    ///   - about: what that is about.
    package func notice(
        _ message: @autoclosure () -> String, as event: LogEvent? = nil,
        about: @autoclosure () -> [LogField: String] = [:], file: String = #fileID, line: Int = #line
    ) {
        self.log(.notice, message, event, about, LogLimiter.Site(file: file, line: line))
    }

    /// Something normal.
    package func info(_ message: @autoclosure () -> String, file: String = #fileID, line: Int = #line) {
        self.log(.info, message, nil, { [:] }, LogLimiter.Site(file: file, line: line))
    }

    /// Something for whoever looks for a fault. Never held back: it was asked for.
    package func debug(_ message: @autoclosure () -> String, file: String = #fileID, line: Int = #line) {
        self.log(.debug, message, nil, { [:] }, LogLimiter.Site(file: file, line: line))
    }

    /// Has the loop sum up what was held back once its interval is over. Without, the next message or `flush()` does.
    package func summarize(on loop: EventLoop) {
        if let old = self.summary { old.loop.cancel(old.timer) }
        let timer = loop.schedule(at: .max) { [weak self] in self?.writeSummaries() }
        self.summary = Summary(loop: loop, timer: timer)
    }

    /// Sums up at once what was held back; for the end of the program.
    package func flush() {
        for excess in self.limiter.takeExcess(at: nil) { self.write(excess) }
    }

    deinit {
        if let summary { summary.loop.cancel(summary.timer) }
    }

    private func log(
        _ level: LogLevel, _ message: () -> String, _ event: LogEvent?, _ about: () -> [LogField: String],
        _ site: LogLimiter.Site
    ) {
        guard level <= self.level else { return }
        guard level < .debug else { return self.write(.debug, message(), Context(site: site)) }
        let now = self.now()
        guard self.limiter.admits(site, at: now) else { return self.scheduleSummary() }
        let text = message()
        if let excess = self.limiter.note(text, level, by: site, at: now) { self.write(excess) }
        self.write(level, text, Context(event: event, about: self.journal == nil ? [:] : about(), site: site))
    }

    private func scheduleSummary() {
        guard let summary, !summary.isScheduled, let deadline = self.limiter.nextDeadline else { return }
        summary.loop.reschedule(summary.timer, at: deadline)
        self.summary?.isScheduled = true
    }

    private func writeSummaries() {
        self.summary?.isScheduled = false
        for excess in self.limiter.takeExcess(at: self.now()) { self.write(excess) }
        self.scheduleSummary()
    }

    private func write(_ excess: LogLimiter.Excess) {
        self.write(excess.level, "suppressed \(excess.count) more like: \(excess.like)")
    }

    private func write(_ level: LogLevel, _ message: String, _ context: Context = Context()) {
        if let journal, journal.send(self.fields(level, message, context)) { return }
        if self.lost > 0 {
            guard self.put(.warning, "lost \(self.lost) lines that standard error did not take") else {
                self.lost += 1
                return
            }
            self.lost = 0
        }
        if !self.put(level, message) { self.lost += 1 }
    }

    /// A message as the journal keeps it; what it knows by itself, such as our unit, is not told.
    private func fields(_ level: LogLevel, _ message: String, _ context: Context) -> [JournalSocket.Field] {
        var fields: [JournalSocket.Field] = [
            .init(name: "MESSAGE", value: message), .init(name: "PRIORITY", value: String(level.rawValue)),
            .init(name: "SYSLOG_IDENTIFIER", value: self.program),
        ]
        if let event = context.event { fields.append(.init(name: "MESSAGE_ID", value: event.rawValue)) }
        fields += context.about.sorted { $0.key < $1.key }.map { .init(name: $0.key.rawValue, value: $0.value) }
        if let site = context.site {
            fields.append(.init(name: "CODE_FILE", value: site.file))
            fields.append(.init(name: "CODE_LINE", value: String(site.line)))
        }
        return fields
    }

    /// Writes one line; false when the descriptor did not take it whole.
    private func put(_ level: LogLevel, _ message: String) -> Bool {
        var line: [UInt8] = self.isTorn ? [UInt8(ascii: "\n")] : []
        line += self.isLeveled ? Array("<\(level.rawValue)>".utf8) : Array("\(self.program): ".utf8)
        appendEscaped(message, to: &line, limit: Self.longestLine - 1)
        line.append(UInt8(ascii: "\n"))
        var written = 0
        while written < line.count, let count = self.offer(line[written...]) { written += count }
        if written > 0 { self.isTorn = line[written - 1] != UInt8(ascii: "\n") }
        return written == line.count
    }

    /// Lets the descriptor take what it has room for; `nil` when it takes nothing.
    ///
    /// A reader that stands still must not make us stand still too: it gets time once, and again when it has taken a line.
    /// Others may share standard error with us, so that it stays blocking where it is. A socket can be told for one call not to
    /// wait. Of anything else `poll` says whether there is room; of a pipe that means for `longestLine` bytes.
    private func offer(_ bytes: ArraySlice<UInt8>) -> Int? {
        let patience: Int32 = self.lost > 0 ? 0 : 50
        // A socket that has room counts as full for `poll` long before it is.
        var asksFirst = !self.isSocket
        while true {
            if asksFirst, (try? waitUntilWritable(self.descriptor, milliseconds: patience)) != true { return nil }
            asksFirst = true
            // Not through `systemCall`: a closed standard error is our caller's doing and must not end us.
            // SAFETY: the bytes live for the call, and are as many as is said.
            let count = unsafe bytes.withUnsafeBytes { bytes in
                if self.isSocket {
                    unsafe Glibc.send(
                        self.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                } else {
                    unsafe Glibc.write(self.descriptor, bytes.baseAddress, bytes.count)
                }
            }
            if count >= 0 { return count }
            guard errno == EAGAIN || errno == EINTR else { return nil }
        }
    }
}

@available(*, unavailable)
extension Log: Sendable {}
