import Glibc

/// A statement whose parameters mostly are what they were the last time: SQLite keeps them, and is told what is another.
struct SteadyStatement: ~Copyable {
    private let statement: Statement
    private let known: Known

    /// What SQLite was told of each parameter. Looked at where it stands: to take it out costs more than what is saved by it.
    private final class Known {
        enum Kind {
            case unknown
            case nothing
            case number
            case text
        }

        // Unchecked, because the check costs more than what is kept here saves.
        @exclusivity(unchecked) private var kinds: [Kind]
        @exclusivity(unchecked) private var numbers: [Int64]
        @exclusivity(unchecked) private var texts: [String]

        init(_ count: Int) {
            unsafe self.kinds = Array(repeating: .unknown, count: count + 1)
            unsafe self.numbers = Array(repeating: 0, count: count + 1)
            unsafe self.texts = Array(repeating: "", count: count + 1)
        }

        // SAFETY: a statement belongs to one thread, and nothing of this calls anybody who might come back here.

        func isNothing(_ index: Int) -> Bool { unsafe self.kinds[index] == .nothing }

        func has(_ number: Int64, _ index: Int) -> Bool {
            unsafe self.kinds[index] == .number && self.numbers[index] == number
        }

        /// Whether it is the same to SQLite, which goes by bytes, where Swift takes texts that look alike for equal. Compared in one
        /// go: byte by byte costs as much as SQLite takes to be told.
        func has(_ text: String, _ index: Int) -> Bool {
            guard unsafe self.kinds[index] == .text else { return false }
            return unsafe self.texts[index].utf8.withContiguousStorageIfAvailable { bytes in
                unsafe text.utf8.withContiguousStorageIfAvailable { others in
                    guard bytes.count == others.count else { return false }
                    guard let start = bytes.baseAddress, let otherStart = others.baseAddress else { return true }
                    // SAFETY: both have so many bytes.
                    return unsafe memcmp(start, otherStart, bytes.count) == 0
                } ?? false
            } ?? false
        }

        func forget(_ index: Int) { unsafe self.kinds[index] = .unknown }

        func noteNothing(_ index: Int) { unsafe self.kinds[index] = .nothing }

        func note(_ number: Int64, _ index: Int) {
            unsafe self.kinds[index] = .number
            unsafe self.numbers[index] = number
        }

        func note(_ text: String, _ index: Int) {
            unsafe self.kinds[index] = .text
            unsafe self.texts[index] = text
        }
    }

    init(_ statement: consuming Statement, parameters: Int) {
        self.statement = statement
        self.known = Known(parameters)
    }

    // Each tells SQLite what it does not know. What fails is not known.

    borrowing func bind(_ index: Int32, _ number: Int64) throws(StoreError) {
        if self.known.has(number, Int(index)) { return }
        self.known.forget(Int(index))
        try self.statement.bind(index, number)
        self.known.note(number, Int(index))
    }

    borrowing func bind(_ index: Int32, _ number: UInt64) throws(StoreError) {
        try self.bind(index, Int64(clamping: number))
    }

    borrowing func bind(_ index: Int32, _ flag: Bool) throws(StoreError) { try self.bind(index, Int64(flag ? 1 : 0)) }

    borrowing func bind(_ index: Int32, _ text: String?) throws(StoreError) {
        if let text {
            if self.known.has(text, Int(index)) { return }
            self.known.forget(Int(index))
            try self.statement.bind(index, text)
            self.known.note(text, Int(index))
        } else {
            if self.known.isNothing(Int(index)) { return }
            self.known.forget(Int(index))
            try self.statement.bind(index, text)
            self.known.noteNothing(Int(index))
        }
    }

    /// What is another each time.
    borrowing func bind(_ index: Int32, _ number: Double) throws(StoreError) { try self.statement.bind(index, number) }

    borrowing func bind(_ index: Int32, _ bytes: [UInt8]) throws(StoreError) { try self.statement.bind(index, bytes) }

    borrowing func run() throws(StoreError) { try self.statement.run() }
}
