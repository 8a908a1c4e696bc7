import Arbitration
import CInih
import Glibc
import Motion

/// Reads the lines of a policy file with libinih.
///
/// libinih tells keys, values and comments apart. It would cut section names after 49 bytes and knows no columns, so we
/// hand it the lines ourselves, with a number for a section's name, and keep what the line was. A file is read a few lines
/// at a time, so that nobody waits for a long one.
struct IniParser {
    /// A line's bytes, without its line feed.
    static let mostLineBytes = Int(CInih_lineBytes) - 2

    private static let configured: Void = CInih_configure()

    /// So many lines and bytes are read in a step.
    private static let stepLines = 64
    private static let stepBytes = 8_192

    private let name: String
    private var rest: ArraySlice<UInt8>
    private var line: ArraySlice<UInt8> = []
    private var lineNumber = 0
    private var sections = 0
    private var lines: [PolicyLine] = []
    private(set) var findings = FindingList()
    /// What is left of the step, and whether libinih is still to be told in which section it is.
    private var left = (lines: 0, bytes: 0)
    private var isResuming = false

    /// - Parameters:
    ///   - most: The longest file there may be.
    ///   - limit: The name of that limit.
    init(_ file: PolicyFile, atMost most: Int, _ limit: String) {
        _ = Self.configured
        self.name = file.name
        self.rest = file.bytes[...]
        if file.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { self.rest = file.bytes.dropFirst(3) }
        guard file.bytes.count > most else { return }
        self.find(.tooMuch, 1, PolicyLimits.excess("the file is too long", limit, most), "split it")
        self.rest = []
    }

    /// Reads on, and hands over what the next lines are; `nil` at the end of the file.
    ///
    /// Lines that are wrong become findings; the others are read all the same.
    mutating func next() -> [PolicyLine]? {
        guard !self.rest.isEmpty else { return nil }
        self.left = (Self.stepLines, Self.stepBytes)
        self.isResuming = self.sections > 0
        let before = self.findings.all.count
        // SAFETY: both callbacks get the address of `self`, which lives and is not touched otherwise for the call.
        let status = unsafe withUnsafeMutablePointer(to: &self) { state in
            unsafe CInih_parse(
                { buffer, size, state in
                    // SAFETY: libinih hands a buffer of `size` bytes, and our own state.
                    unsafe state?.assumingMemoryBound(to: IniParser.self).pointee.read(into: buffer, Int(size))
                },
                { state, section, name, value in
                    guard let state = unsafe state, let name = unsafe name, let section = unsafe section else {
                        return 0
                    }
                    // SAFETY: NUL-terminated strings that live for the call; a missing value is NULL.
                    unsafe state.assumingMemoryBound(to: IniParser.self).pointee.take(
                        String(cString: section), String(cString: name), unsafe value.map { unsafe String(cString: $0) }
                    )
                    return 1
                }, state)
        }
        if status != 0, self.findings.all.count == before {
            self.find(.syntax, 1, "a line cannot be read", "write [SECTION] or KEY=VALUE")
        }
        defer { self.lines.removeAll(keepingCapacity: true) }
        return self.lines
    }

    private mutating func find(_ check: Check, _ column: Int, _ message: String, _ advice: String) {
        let place = Place(file: self.name, line: max(1, self.lineNumber), column: column)
        self.findings.append(Finding(check, at: place, message, advice: advice))
    }

    // MARK: Lines in

    /// Hands libinih the next line, or what stands for it; `nil` at the end.
    private mutating func read(into buffer: UnsafeMutablePointer<CChar>?, _ size: Int) -> UnsafeMutablePointer<CChar>? {
        guard let buffer = unsafe buffer else { return nil }
        if self.isResuming {
            self.isResuming = false
            return unsafe Self.put(self.sectionLine, into: buffer, size)
        }
        guard !self.rest.isEmpty, self.left.lines > 0, self.left.bytes > 0 else { return nil }
        let end = Self.endOfLine(self.rest)
        self.line = self.rest[self.rest.startIndex..<end]
        self.rest = self.rest[min(end + 1, self.rest.endIndex)...]
        self.lineNumber += 1
        if self.line.last == 0x0D { self.line.removeLast() }
        self.left = (self.left.lines - 1, self.left.bytes - self.line.count)
        return unsafe Self.put(self.checkedLine(), into: buffer, size)
    }

    /// Where the first line ends. A line may be as long as the file.
    private static func endOfLine(_ bytes: ArraySlice<UInt8>) -> Int {
        // SAFETY: the search stays within the bytes, and what it finds is one of them.
        let offset = unsafe bytes.withUnsafeBytes { all -> Int? in
            guard let start = all.baseAddress, let end = unsafe memchr(start, 0x0A, all.count) else { return nil }
            return unsafe UnsafeRawPointer(end) - start
        }
        return offset.map { bytes.startIndex + $0 } ?? bytes.endIndex
    }

    private static func put(
        _ line: ArraySlice<UInt8>, into buffer: UnsafeMutablePointer<CChar>, _ size: Int
    ) -> UnsafeMutablePointer<CChar> {
        var index = 0
        for byte in line.prefix(size - 2) {
            // SAFETY: at most size - 2 bytes, then two more.
            unsafe buffer[index] = CChar(bitPattern: byte)
            index += 1
        }
        unsafe buffer[index] = 0x0A
        unsafe buffer[index + 1] = 0
        return unsafe buffer
    }

    /// What libinih sees of the section that lines belong to.
    private var sectionLine: ArraySlice<UInt8> { Array("[\(self.sections - 1)]".utf8)[...] }

    /// The line as libinih may see it: nothing of one that is wrong, a number instead of a section's name.
    private mutating func checkedLine() -> ArraySlice<UInt8> {
        let line = self.line
        guard line.count <= Self.mostLineBytes else {
            self.find(
                .syntax, Self.mostLineBytes + 1, "the line is longer than \(Self.mostLineBytes) bytes",
                "give the key again on a line of its own: lists go on where they stopped")
            return []
        }
        var isPlain = true
        for byte in line where byte < 0x20 || byte >= 0x7F { isPlain = false }
        if !isPlain, let bad = line.firstIndex(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) {
            self.find(
                .syntax, bad - line.startIndex + 1, "the line has a control character in it", "remove the character")
            return []
        }
        if !isPlain {
            let text = String(decoding: line, as: UTF8.self)
            guard text.utf8.elementsEqual(line) else {
                self.find(.syntax, 1, "the line is not UTF-8", "save the file as UTF-8")
                return []
            }
            // A package may bring the file, and everybody would wait for what compares the texts in it.
            guard text.isStreamSafe else {
                self.find(.syntax, 1, "the line has more than 30 combining marks in a row", "remove some")
                return []
            }
        }
        guard let start = line.firstIndex(where: { $0 != 0x20 && $0 != 0x09 }), line[start] == UInt8(ascii: "[") else {
            return line
        }
        return self.openSection(start) ? self.sectionLine : []
    }

    private mutating func openSection(_ start: Int) -> Bool {
        let line = self.line
        guard let end = line[start...].firstIndex(of: UInt8(ascii: "]")) else {
            self.find(.syntax, line.count + 1, "the section has no ']'", "end it with ']'")
            return false
        }
        if let junk = line[(end + 1)...].firstIndex(where: { $0 != 0x20 && $0 != 0x09 }) {
            self.find(
                .syntax, junk - line.startIndex + 1, "there is text behind the section", "put it on a line of its own")
        }
        let place = Place(file: self.name, line: self.lineNumber, column: start - line.startIndex + 1)
        let inner = PlacedText(
            text: String(decoding: line[(start + 1)..<end], as: UTF8.self),
            place: Place(file: place.file, line: place.line, column: place.column + 1))
        self.sections += 1
        self.lines.append(.section(inner.words, place))
        return true
    }

    // MARK: Pairs out

    /// Takes a pair from libinih and finds the place of both in the line.
    private mutating func take(_ section: String, _ name: String, _ value: String?) {
        let line = self.line
        let start = line.firstIndex { $0 != 0x20 && $0 != 0x09 } ?? line.startIndex
        let column = start - line.startIndex + 1
        guard let value else {
            self.find(.syntax, column, "'\(printable(name))' has no value", "write KEY=VALUE, or begin the line with #")
            return
        }
        let separator = line[start...].firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }
        guard let separator, line[separator] == UInt8(ascii: "=") else {
            self.find(.syntax, column + name.utf8.count, "expected '=' behind '\(printable(name))'", "write KEY=VALUE")
            return
        }
        guard !name.isEmpty else {
            self.find(.syntax, column, "there is no key before '='", "write KEY=VALUE")
            return
        }
        guard !section.isEmpty else {
            self.find(.syntax, column, "'\(printable(name))' stands before any section", "put it below its [SECTION]")
            return
        }
        let valueStart = line[(separator + 1)...].firstIndex { $0 != 0x20 && $0 != 0x09 } ?? line.endIndex
        func place(_ index: Int) -> Place {
            Place(file: self.name, line: self.lineNumber, column: index - line.startIndex + 1)
        }
        self.lines.append(
            .assignment(
                Assignment(
                    key: PlacedText(text: name, place: place(start)),
                    value: PlacedText(text: value, place: place(valueStart)))))
    }
}
