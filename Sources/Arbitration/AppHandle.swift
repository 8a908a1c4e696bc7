import Motion

/// The number of an app, dense, so that it can index a table. Whoever takes apps in numbers them, and gives numbers that became
/// free out again.
package struct AppHandle: Hashable, Comparable, Sendable {
    package let index: UInt32

    package init(_ index: UInt32) { self.index = index }

    package static func < (a: AppHandle, b: AppHandle) -> Bool { a.index < b.index }
}

/// Keeps something for each app, by its number.
package struct AppTable<Value> {
    private var rows: [Value?] = []

    package init() {}

    /// What is kept for an app; `nil`: nothing. Changed in its place.
    package subscript(app: AppHandle) -> Value? {
        get { app.index < self.rows.count ? self.rows[Int(app.index)] : nil }
        _modify {
            if app.index < self.rows.count {
                yield &self.rows[Int(app.index)]
            } else {
                var row: Value?
                yield &row
                if let row { self.put(row, app) }
            }
        }
    }

    private mutating func put(_ row: Value, _ app: AppHandle) {
        while self.rows.count <= Int(app.index) { self.rows.append(nil) }
        self.rows[Int(app.index)] = row
    }

    package func has(_ app: AppHandle) -> Bool { app.index < self.rows.count && self.rows[Int(app.index)] != nil }

    package var isEmpty: Bool { !self.rows.contains { $0 != nil } }

    /// The numbers of all for whom something is kept, in order.
    package var handles: [AppHandle] {
        self.rows.indices.lazy.filter { self.rows[$0] != nil }.map { AppHandle(UInt32(truncatingIfNeeded: $0)) }
    }

    /// The first app whose row fits.
    package func first(where fits: (Value) -> Bool) -> AppHandle? {
        self.rows.firstIndex { $0.map(fits) ?? false }.map { AppHandle(UInt32(truncatingIfNeeded: $0)) }
    }

    /// Gives back the room of those who have gone.
    package mutating func shrink() {
        while let last = self.rows.last, last == nil { self.rows.removeLast() }
        self.rows.shrink()
    }
}

extension AppTable: Sendable where Value: Sendable {}
