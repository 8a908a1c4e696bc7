import Glibc

/// A statement whose parameters mostly are what they were the last time: SQLite keeps them, and is told what is another.
struct SteadyStatement: ~Copyable {
    private let statement: Statement
    private let known: Known

    private enum Parameter {
        case unknown
        case nothing
        case number(Int64)
        case text(String)

        /// Whether it is the same to SQLite, which goes by bytes, where Swift takes texts that look alike for equal.
        func isSame(_ other: Parameter) -> Bool {
            switch (self, other) {
            case (.nothing, .nothing): true
            case (.number(let number), .number(let other)): number == other
            case (.text(let text), .text(let other)): Self.hasSameBytes(text, other)
            default: false
            }
        }

        /// Compared in one go: byte by byte costs as much as SQLite takes to be told.
        private static func hasSameBytes(_ text: String, _ other: String) -> Bool {
            var (text, other) = (text, other)
            return text.withUTF8 { bytes in
                other.withUTF8 { others in
                    guard bytes.count == others.count else { return false }
                    guard let start = bytes.baseAddress, let otherStart = others.baseAddress else { return true }
                    // SAFETY: both have so many bytes.
                    return unsafe memcmp(start, otherStart, bytes.count) == 0
                }
            }
        }
    }

    private final class Known {
        /// Unchecked, because the check costs more than what is kept here saves.
        @exclusivity(unchecked) var parameters: [Parameter]

        init(_ count: Int) { unsafe self.parameters = Array(repeating: .unknown, count: count + 1) }
    }

    init(_ statement: consuming Statement, parameters: Int) {
        self.statement = statement
        self.known = Known(parameters)
    }

    /// - Parameter bind: Tells SQLite. What fails is not known.
    private borrowing func bind(
        _ index: Int32, _ parameter: Parameter, _ bind: () throws(StoreError) -> Void
    ) throws(StoreError) {
        // SAFETY: a statement belongs to one thread, and `bind` does not come back here.
        if unsafe self.known.parameters[Int(index)].isSame(parameter) { return }
        unsafe self.known.parameters[Int(index)] = .unknown
        try bind()
        unsafe self.known.parameters[Int(index)] = parameter
    }

    borrowing func bind(_ index: Int32, _ number: Int64) throws(StoreError) {
        try self.bind(index, .number(number)) { () throws(StoreError) in try self.statement.bind(index, number) }
    }

    borrowing func bind(_ index: Int32, _ number: UInt64) throws(StoreError) {
        try self.bind(index, Int64(clamping: number))
    }

    borrowing func bind(_ index: Int32, _ flag: Bool) throws(StoreError) { try self.bind(index, Int64(flag ? 1 : 0)) }

    borrowing func bind(_ index: Int32, _ text: String?) throws(StoreError) {
        try self.bind(index, text.map { .text($0) } ?? .nothing) { () throws(StoreError) in
            try self.statement.bind(index, text)
        }
    }

    /// What is another each time.
    borrowing func bind(_ index: Int32, _ number: Double) throws(StoreError) { try self.statement.bind(index, number) }

    borrowing func bind(_ index: Int32, _ bytes: [UInt8]) throws(StoreError) { try self.statement.bind(index, bytes) }

    borrowing func run() throws(StoreError) { try self.statement.run() }
}
