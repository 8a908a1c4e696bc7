import DaemonSupport
import Glibc
import Loop

/// Where output goes, and what may be done there: colours and width on a terminal, plain lines in a pipe.
struct Terminal {
    let isInteractive: Bool
    /// It can do nothing but print.
    let isDumb: Bool
    /// It can show what is not ASCII, Braille among it.
    let isUnicode: Bool
    let hasColor: Bool
    let width: Int
    let output = Output()

    enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    init() {
        self.isInteractive = StandardStream.output.isTerminal
        self.isDumb = environmentValue("TERM") == "dumb"
        self.hasColor = self.isInteractive && !self.isDumb && environmentValue("NO_COLOR") == nil
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environmentValue($0) }.first { !$0.isEmpty }
        self.isUnicode = Self.isUnicode(locale: locale ?? "", terminal: environmentValue("TERM") ?? "")
        self.width = Self.size.width
    }

    /// One whose abilities are known.
    init(isInteractive: Bool, hasColor: Bool = false) {
        self.isInteractive = isInteractive
        self.isDumb = false
        self.isUnicode = true
        self.hasColor = hasColor
        self.width = 80
    }

    /// A locale may name a variant behind its encoding. The kernel's own terminal has a font of 512 characters.
    static func isUnicode(locale: String, terminal: String) -> Bool {
        let encoding = locale.split(separator: ".").dropFirst().first?.prefix { $0 != "@" }.lowercased()
        return ["utf-8", "utf8"].contains(encoding) && terminal != "linux"
    }

    /// More than anybody looks at: a terminal may claim to be larger, and a picture would cost accordingly.
    private static let largest = (width: 1_000, height: 300)

    /// Columns and lines, as they are now.
    static var size: (width: Int, height: Int) { self.size(of: STDOUT_FILENO) }

    /// The columns of the terminal behind a descriptor.
    static func width(of descriptor: Int32) -> Int { self.size(of: descriptor).width }

    private static func size(of descriptor: Int32) -> (width: Int, height: Int) {
        var size = winsize()
        // SAFETY: the kernel fills in the structure.
        let isKnown = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
        guard isKnown else { return (80, 24) }
        return (min(Int(size.ws_col), self.largest.width), min(Int(size.ws_row), self.largest.height))
    }

    /// Stands for the beginning of a sequence until the line is written.
    ///
    /// Names, reasons and the like come from others and stand in the same lines. These characters of nobody's are others in
    /// each run, and several: a long list of names could hold each single one.
    private static let mark = (0..<4).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0xF0000...0xFFFFD)) }
    private static let markText = String(String.UnicodeScalarView(mark))

    func styled(_ text: String, _ style: Style) -> String {
        self.hasColor ? "\(Self.markText)\(style.rawValue)m\(text)\(Self.markText)0m" : text
    }

    /// A line as the terminal gets it: nothing in it does anything but our own styles.
    func shown(_ line: String) -> String {
        let line = escapedLine(line)
        guard self.hasColor else { return line }
        // Not by characters: what a name ends with may make one with a mark.
        let parts = Array(line.unicodeScalars).split(separator: Self.mark, omittingEmptySubsequences: false)
        return parts.map { String(String.UnicodeScalarView($0)) }.joined(separator: "\u{1B}[")
    }

    /// Writes a line and does not keep it back: whoever reads the pipe sees it now.
    ///
    /// - Returns: false when nobody reads any more.
    @discardableResult
    func print(_ line: String = "") -> Bool { self.output.write(self.shown(line) + "\n") }
}

/// Standard output, and what became of it.
final class Output {
    private var failure: SystemError?
    /// What stands in the line where the output may go on.
    weak var progress: Progress?

    /// - Returns: false when this or anything before it could not be written: all that follows is in vain.
    func write(_ text: String) -> Bool {
        guard self.failure == nil else { return false }
        self.progress?.hide()
        do throws(SystemError) {
            // A terminal that stands still goes on at Ctrl-C, and is to be given back as it was. One that never goes on, as behind a
            // line that is dead, keeps nobody from being ended by others.
            try StandardStream.output.write(
                text, unless: StandardStream.output.isTerminal ? isTerminated : isToldToEnd)
            return true
        } catch {
            self.failure = error
            return false
        }
    }

    /// Throws when something could not be written; not when whoever read has gone, who wants no more.
    func check() throws(CommandFailure) {
        guard let failure, failure.code != EPIPE else { return }
        throw CommandFailure(.no, "cannot write the output: \(failure)")
    }
}

/// Says something to people, beside the output.
///
/// - Parameter excerpt: lines below it.
func complain(_ message: String, showing excerpt: [String] = []) {
    let lines = ["jostle: \(message)"] + excerpt
    try? StandardStream.errors.write(lines.map { escapedLine($0) + "\n" }.joined(), unless: isToldToEnd)
}

extension Columns {
    /// The rows with the header as a terminal shows it.
    func lines(_ terminal: Terminal) -> [String] {
        var lines = self.lines
        lines[0] = terminal.styled(lines[0], .bold)
        return lines
    }
}

/// A number with a few digits, for people: `2.81`, `0.052`.
func rounded(_ value: Double, _ digits: Int = 2) -> String {
    guard value.isFinite, value.magnitude < 1e15 else { return "\(value)" }
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    // In whole numbers: a large quotient is rounded up, to more than there is.
    let scaled = UInt64((value.magnitude * scale).rounded())
    let (whole, remainder) = scaled.quotientAndRemainder(dividingBy: UInt64(scale))
    let rest = "\(remainder)"
    let sign = value < 0 && scaled > 0 ? "-" : ""
    return digits == 0
        ? "\(sign)\(whole)" : "\(sign)\(whole)." + String(repeating: "0", count: digits - rest.count) + rest
}
