/// Finds the valid word a person probably meant.
package enum Suggestion {
    /// Words longer than this are nobody's typo, and comparing them would cost a peer nothing and us a lot.
    private static let longest = 64

    /// The word of `words` nearest to `word`, or `nil` when none is near enough to be a likely typo.
    package static func nearest(to word: String, among words: some Sequence<String>) -> String? {
        guard word.utf8.count <= self.longest else { return nil }
        let typed = Array(word.utf8)
        var best: (distance: Int, word: String)?
        for candidate in words where candidate.utf8.count <= self.longest {
            let candidateBytes = Array(candidate.utf8)
            // Names of one maker begin alike: what is behind the last dot they share says whether one is meant for the other.
            let shared = self.sharedParts(typed, candidateBytes)
            let distance = self.distance(Array(typed[shared...]), Array(candidateBytes[shared...]))
            let longer = max(typed.count, candidateBytes.count) - shared
            // A word of which no letter is right is another word: `z` does not mean `%`.
            guard distance <= max(1, longer / 3), distance < longer else { continue }
            if let known = best, (known.distance, known.word) <= (distance, candidate) { continue }
            best = (distance, candidate)
        }
        return best?.word
    }

    /// What a message about an unknown word ends with: the word that was probably meant, or else all that are known.
    ///
    /// - Parameter none: what is said when nothing is known.
    package static func advice(on word: String, among words: [String], orElse none: String = "") -> String {
        if let near = self.nearest(to: word, among: words) { return ", did you mean '\(near)'?" }
        return words.isEmpty ? none : "; known are \(words.joined(separator: ", "))"
    }

    /// How many bytes two names have in common, up to and with the last dot among them.
    private static func sharedParts(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var shared = 0
        for index in 0..<min(a.count, b.count) {
            guard a[index] == b[index] else { break }
            if a[index] == UInt8(ascii: ".") { shared = index + 1 }
        }
        return shared
    }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment), ASCII case ignored.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        func lower(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        var current = last
        for i in 0..<a.count {
            current[0] = i + 1
            for j in 0..<b.count {
                let same = lower(a[i]) == lower(b[j])
                var cost = min(last[j + 1] + 1, current[j] + 1, last[j] + (same ? 0 : 1))
                if i > 0, j > 0, lower(a[i]) == lower(b[j - 1]), lower(a[i - 1]) == lower(b[j]) {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                current[j + 1] = cost
            }
            (beforeLast, last, current) = (last, current, beforeLast)
        }
        return last[b.count]
    }
}

/// `text` for a message: at most 48 characters, control characters replaced, so that no input can forge a log line.
package func printable(_ text: some StringProtocol) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
        if count == 48 {
            result += "…"
            break
        }
        let isPlain =
            scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value) && !(0x2028...0x202E).contains(scalar.value)
        result.unicodeScalars.append(isPlain ? scalar : "\u{FFFD}")
        count += 1
    }
    return result
}
