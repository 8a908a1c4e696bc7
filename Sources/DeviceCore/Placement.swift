/// Where a sensor sits, in one word, from what the kernel's `label` or udev's `ACCEL_LOCATION` says.
package enum Placement {
    /// `accel-display` → `display`, `accel-base` → `base`; another label as it is; empty when nothing is said.
    package static func word(label: String?, location: String?) -> String {
        for text in [location, label] {
            guard let text = text.map(self.trimmed), !text.isEmpty else { continue }
            for prefix in ["accel-", "gyro-", "proximity-"] where text.hasPrefix(prefix) {
                return String(text.dropFirst(prefix.count).prefix(32))
            }
            return String(text.prefix(32))
        }
        return ""
    }

    private static func trimmed(_ text: String) -> Substring {
        var text = Substring(text)
        while let first = text.first, first.isWhitespace || first == "\0" { text.removeFirst() }
        while let last = text.last, last.isWhitespace || last == "\0" { text.removeLast() }
        return text
    }
}
