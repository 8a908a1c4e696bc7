import Glibc
import JostleClient

/// Keeps in a file what we are done with, a line for each event, over our death.
struct Notes {
    private let file: Int32
    /// The epochs of what was noted before we were started.
    let done: Set<UInt64>
    /// The newest of them.
    let last: MotionEvent.Name?

    /// Opens a file, which is made where there is none.
    init(_ path: String) throws {
        // SAFETY: a string becomes a terminated one for the length of the call.
        self.file = unsafe open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard self.file >= 0 else { throw NoNotes() }
        var names: [MotionEvent.Name] = []
        for line in Self.text(of: self.file).split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { UInt64($0) }
            if numbers.count == 2 { names.append(MotionEvent.Name(sequence: numbers[0], epoch: numbers[1])) }
        }
        // What was sent again came behind what is newer.
        (self.done, self.last) = (Set(names.map(\.epoch)), names.max { $0.epoch < $1.epoch })
    }

    /// A line is written as a whole, or we were killed before it: then its event comes again.
    func add(_ name: MotionEvent.Name) {
        let line = Array("\(name.sequence) \(name.epoch)\n".utf8)
        // SAFETY: the array lives for the call, and its length is given.
        let count = unsafe write(self.file, line, line.count)
        if count != line.count { Witness.end("cannot write notes") }
    }

    private static func text(of file: Int32) -> String {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            // SAFETY: the array has the size that is passed along.
            let count = unsafe read(file, &part, part.count)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += part[..<count]
        }
    }

    private struct NoNotes: Error, CustomStringConvertible {
        let description = "cannot open the file for notes"
    }
}
