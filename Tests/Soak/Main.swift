import Glibc
import Simulation

/// Plays lives from one seed to another, or replays one from a file.
///
/// What was played is noted in a book, a line for each thousand lives: who begins again goes on behind it, and several may
/// play different seeds beside each other.
@main struct Soak {
    /// Lives between two lines of the book.
    private static let chunk: UInt64 = 1_000

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 2, arguments[0] == "--replay" { self.replay(arguments[1]) }
        guard (2...3).contains(arguments.count), let first = UInt64(arguments[0]), let end = UInt64(arguments[1]),
            first < end
        else {
            self.end("usage: soak FIRST-SEED END-SEED [BOOK]\n       soak --replay FILE", 2)
        }
        self.play(first, end, book: arguments.count == 3 ? arguments[2] : nil)
    }

    private static func play(_ first: UInt64, _ end: UInt64, book: String?) {
        let played = book.map { self.played($0) } ?? []
        let begin = ContinuousClock.now
        var (sum, seed) = (Simulator.Sum(), first)
        while seed < end {
            let next = min(end, seed + self.chunk)
            if !played.contains(where: { $0.seeds == seed..<next }) {
                let part = self.play(seed..<next)
                sum += part
                if let book { self.append(Simulator.Played(seed..<next, part).line + "\n", to: book) }
            }
            seed = next
        }
        let time = (ContinuousClock.now - begin).components
        let seconds = Double(time.seconds) + Double(time.attoseconds) / 1e18
        let rate = Int(Double(sum[.lives]) / max(seconds, 1e-6))
        print("\(sum[.lives]) lives in \(Int(seconds)) s, \(rate) a second")
        guard let book else { return print(sum.words) }
        var all = Simulator.Sum()
        for played in self.played(book) { all += played.sum }
        print("in all: \(all.words)")
    }

    private static func play(_ seeds: Range<UInt64>) -> Simulator.Sum {
        var sum = Simulator.Sum()
        for seed in seeds {
            guard let failure = Simulator.play(Life(seed: seed), into: &sum) else { continue }
            print("seed \(seed): \(failure.finding)")
            self.end(Simulator.shrink(failure).text, 1)
        }
        return sum
    }

    private static func replay(_ path: String) -> Never {
        guard let text = self.read(path), let life = Life(text) else { self.end("\(path) is no life", 2) }
        guard let failure = Simulator.play(life) else { self.end("goes well: \(life.steps.count) steps", 0) }
        self.end("after step \(failure.step): \(failure.finding)", 1)
    }

    // MARK: Files

    private static func played(_ book: String) -> [Simulator.Played] {
        (self.read(book) ?? "").split(separator: "\n").compactMap { Simulator.Played($0) }
    }

    private static func read(_ path: String) -> String? {
        guard let file = unsafe fopen(path, "r") else { return nil }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        // SAFETY: the file is open until we return.
        while case let byte = unsafe fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ line: String, to path: String) {
        // SAFETY: the file is open until it is closed, which writes the line.
        guard let file = unsafe fopen(path, "a"), unsafe fputs(line, file) >= 0, unsafe fclose(file) == 0 else {
            self.end("cannot write \(path)", 2)
        }
    }

    private static func end(_ words: String, _ code: Int32) -> Never {
        print(words)
        exit(code)
    }
}
