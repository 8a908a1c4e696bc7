import Arbitration
import Motion

/// Keeps something for each app, by its number.
struct AppTable<Value> {
    /// The first is nobody's, and stays empty: it stands for whoever has none.
    private var rows: [Value?] = [nil]

    private func place(of app: AppHandle) -> Int { app.index &+ 1 < self.rows.count ? Int(app.index) &+ 1 : 0 }

    /// What is kept for an app; `nil`: nothing.
    subscript(app: AppHandle) -> Value? { self.rows[self.place(of: app)] }

    /// Changes what is kept for an app in its place, if there is anything. What is to be kept is put there by `put`.
    @inline(__always)
    mutating func update<Result>(_ app: AppHandle, _ body: (inout Value?) -> Result) -> Result {
        body(&self.rows[self.place(of: app)])
    }

    mutating func put(_ value: Value, for app: AppHandle) {
        while self.rows.count <= Int(app.index) + 1 { self.rows.append(nil) }
        self.rows[Int(app.index) + 1] = value
    }

    mutating func remove(_ app: AppHandle) { self.rows[self.place(of: app)] = nil }

    func has(_ app: AppHandle) -> Bool { self.rows[self.place(of: app)] != nil }

    var isEmpty: Bool { !self.rows.contains { $0 != nil } }

    /// The numbers of all for whom something is kept, in order.
    var handles: [AppHandle] {
        self.rows.indices.lazy.filter { self.rows[$0] != nil }.map { AppHandle(UInt32(truncatingIfNeeded: $0 - 1)) }
    }

    /// Gives back the room of those who have gone.
    mutating func shrink() {
        while self.rows.count > 1, let last = self.rows.last, last == nil { self.rows.removeLast() }
        self.rows.shrink()
    }
}

extension AppTable: Sendable where Value: Sendable {}
