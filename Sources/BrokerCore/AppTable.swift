import Arbitration
import Motion

/// Keeps something for each app, by its number.
///
/// Here, and not where numbers are: a change in its place costs an allocation where it is not inlined.
struct AppTable<Value> {
    private var rows: [Value?] = []

    init() {}

    /// What is kept for an app; `nil`: nothing. Changed in its place.
    subscript(app: AppHandle) -> Value? {
        get { app.index < self.rows.count ? self.rows[Int(app.index)] : nil }
        @inline(__always)
        _modify {
            if app.index >= self.rows.count { self.grow(to: app) }
            yield &self.rows[Int(app.index)]
        }
    }

    private mutating func grow(to app: AppHandle) {
        while self.rows.count <= Int(app.index) { self.rows.append(nil) }
    }

    func has(_ app: AppHandle) -> Bool { app.index < self.rows.count && self.rows[Int(app.index)] != nil }

    var isEmpty: Bool { !self.rows.contains { $0 != nil } }

    /// The numbers of all for whom something is kept, in order.
    var handles: [AppHandle] {
        self.rows.indices.lazy.filter { self.rows[$0] != nil }.map { AppHandle(UInt32(truncatingIfNeeded: $0)) }
    }

    /// The first app whose row fits.
    func first(where fits: (Value) -> Bool) -> AppHandle? {
        self.rows.firstIndex { $0.map(fits) ?? false }.map { AppHandle(UInt32(truncatingIfNeeded: $0)) }
    }

    /// Gives back the room of those who have gone.
    mutating func shrink() {
        while let last = self.rows.last, last == nil { self.rows.removeLast() }
        self.rows.shrink()
    }
}

extension AppTable: Sendable where Value: Sendable {}
