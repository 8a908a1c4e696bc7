import Motion

/// Writes values the way `Values` reads them.
enum Shown {
    static func span(_ span: TimeSpan) -> String {
        let count = span.microseconds
        let units: [(String, Int64)] = [("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000)]
        for (unit, size) in units where count % size == 0 && count >= size { return "\(count / size)\(unit)" }
        return count == 0 ? "0" : "\(count)us"
    }

    static func bytes(_ count: Int) -> String {
        for (unit, size) in [("MiB", 1_024 * 1_024), ("KiB", 1_024)] where count % size == 0 && count >= size {
            return "\(count / size)\(unit)"
        }
        return "\(count)"
    }
}
