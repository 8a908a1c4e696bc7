package import Motion

/// What is in force for a detector as one text, from which it can be made again.
package enum DetectorText {
    /// Stands between two options.
    static let separator: Character = "\u{1E}"

    package static func write(_ detector: CompiledDetector) -> String {
        var parts: [String] = []
        for (key, value) in detector.effective {
            // A preset brings its condition and its rest, and takes no other.
            if detector.preset != nil, key == "when" || key == "rest-mode" { continue }
            let text =
                switch value {
                case .text(let text): text
                case .number(let number): "\(number)"
                case .count(let count): "\(count)us"
                case .whole(let count): "\(count)"
                case .flag(let flag): flag ? "yes" : "no"
                }
            parts.append("\(key)=\(text)")
        }
        return parts.joined(separator: String(self.separator))
    }

    /// What was to be had, of a detector of this name.
    package static func read(_ text: String, name: String) -> DetectorRequest {
        var options = DetectorOptions([])
        for part in text.split(separator: self.separator) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            options[String(pair[0])] = .text(String(pair[1]))
        }
        return DetectorRequest(name: name, options: options)
    }
}
