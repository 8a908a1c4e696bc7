/// Writes values the way `Values` reads them.
enum Shown {
    static func bytes(_ count: Int) -> String {
        for (unit, size) in [("MiB", 1_024 * 1_024), ("KiB", 1_024)] where count % size == 0 && count >= size {
            return "\(count / size)\(unit)"
        }
        return "\(count)"
    }
}
