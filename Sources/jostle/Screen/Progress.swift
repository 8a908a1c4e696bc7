import DaemonSupport
import Glibc
import Loop

/// How far something is that takes longer than a moment: what is to be said of it, and when.
///
/// A value: what is done and the time go in, text comes out. What is over within a second says nothing.
struct ProgressLine {
    private let title: String
    private let total: Int64
    private let began: Int64
    private(set) var done: Int64 = 0
    /// When something was said last.
    private var told: Int64?

    private static let patience: Int64 = 1_000_000
    /// No eye reads faster.
    private static let pause: Int64 = 200_000

    /// - Parameters:
    ///   - title: what is done, in a word or two.
    ///   - total: how much there is of it, in whatever is counted.
    ///   - began: when it began, in µs.
    init(_ title: String, of total: Int64, at began: Int64) {
        (self.title, self.total, self.began) = (title, max(1, total), began)
    }

    /// So much is done.
    ///
    /// - Returns: what to say now; `nil`: nothing yet, or nothing new.
    mutating func advance(to done: Int64, at now: Int64) -> String? {
        self.done = min(max(self.done, done), self.total)
        guard now - self.began >= Self.patience, self.told.map({ now - $0 >= Self.pause }) ?? true else { return nil }
        self.told = now
        // What is left takes as long as what is done did; of nothing done nothing is known.
        let share = Double(self.done) / Double(self.total)
        let percent = Int((share * 100).rounded(.down))
        guard share > 0.005 else { return "\(self.title): \(percent) %" }
        let left = Double(now - self.began) / share * (1 - share)
        return "\(self.title): \(percent) %, about \(Self.time(left)) left"
    }

    /// Microseconds, as precise as a guess is.
    private static func time(_ microseconds: Double) -> String {
        let seconds = Int((microseconds / 1_000_000).rounded(.up))
        switch seconds {
        case ..<100: return "\(seconds) s"
        case ..<6_000: return "\((seconds + 59) / 60) min"
        default: return "\((seconds + 3_599) / 3_600) h"
        }
    }
}

/// Says how far a command is, on a terminal only: a line beside the output, which is gone when the work is done.
///
/// Not `Sendable`: it belongs to the command. Whoever begins it ends it, however the work ends. What is written meanwhile by the
/// same command goes first through `hide`, as `Output` sees to it.
final class Progress {
    private var line: ProgressLine
    /// Whether anybody would see it.
    let isWanted: Bool
    private var isSeen = false
    private let output: Output

    /// - Parameter total: `nil` when nobody knows where it ends: then nothing is said.
    init(_ title: String, of total: Int64?, _ terminal: Terminal) {
        self.line = ProgressLine(title, of: total ?? 1, at: Clock.monotonic.now())
        self.isWanted = total != nil && StandardStream.errors.isTerminal && !terminal.isDumb
        self.output = terminal.output
        if self.isWanted { self.output.progress = self }
    }

    /// So much more is done.
    func advance(by step: Int) { self.advance(to: self.line.done + Int64(step)) }

    /// So much is done in all.
    func advance(to done: Int64) {
        guard self.isWanted, let text = self.line.advance(to: done, at: Clock.monotonic.now()) else { return }
        self.isSeen = true
        // No longer than the line, or it could not be taken back.
        let shown = escapedLine(text).prefix(Terminal.width(of: STDERR_FILENO) - 1)
        try? StandardStream.errors.write("\r\(shown)\u{1B}[K", unless: isToldToEnd)
    }

    /// Takes the line away, until there is more to say.
    func hide() {
        guard self.isSeen else { return }
        self.isSeen = false
        try? StandardStream.errors.write("\r\u{1B}[K", unless: isToldToEnd)
    }

    /// The work is over.
    func end() {
        self.hide()
        if self.output.progress === self { self.output.progress = nil }
    }

    /// How many bytes there are in files that people named; `nil` when one of them says nothing of its end.
    static func bytes(of paths: [String]) -> Int64? {
        var sizes: [Int64] = []
        for path in paths {
            guard path != "-", let status = fileStatus(path), status.st_mode & S_IFMT == S_IFREG else { return nil }
            sizes.append(Int64(status.st_size))
        }
        return self.total(sizes)
    }

    /// How much there is of several parts that are done so often. More than can be counted is as good as the most that can: a file says any
    /// size of itself, as one that is nearly all hole does.
    static func total(_ parts: [Int64], times: Int = 1) -> Int64 {
        var sum: Int64 = 0
        for part in parts {
            let (next, isBeyond) = sum.addingReportingOverflow(max(0, part))
            sum = isBeyond ? .max : next
        }
        let (total, isBeyond) = sum.multipliedReportingOverflow(by: Int64(max(0, times)))
        return isBeyond ? .max : total
    }
}
