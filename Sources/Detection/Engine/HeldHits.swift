package import Motion

/// Hits that were held by activity: none in the rhythm that they came in.
package struct HeldHits: Equatable, Sendable {
    package var count: UInt64 = 0
    /// When the last of them was; `nil` when there was none.
    package var last: Timestamp?

    package init(count: UInt64 = 0, last: Timestamp? = nil) {
        self.count = count
        self.last = last
    }

    /// Those of both.
    package static func + (a: HeldHits, b: HeldHits) -> HeldHits {
        HeldHits(count: a.count + b.count, last: [a.last, b.last].compactMap { $0 }.max())
    }
}
