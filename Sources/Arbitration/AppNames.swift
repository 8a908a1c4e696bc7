package import Motion

/// Keeps the numbers of the apps of each name, so that of thousands nobody is looked at who has another one.
package struct AppNames: Sendable {
    private var handles: [AppID: [AppHandle]] = [:]

    package init() {}

    /// The apps of a name, in the order of their numbers.
    package subscript(id: AppID) -> [AppHandle] { self.handles[id] ?? [] }

    /// Takes in an app that is not there yet.
    package mutating func insert(_ app: AppHandle, _ id: AppID) {
        let place = self[id].firstIndex { $0 > app } ?? self[id].count
        self.handles[id, default: []].insert(app, at: place)
    }

    package mutating func remove(_ app: AppHandle, _ id: AppID) {
        self.handles[id]?.removeAll { $0 == app }
        if self.handles[id]?.isEmpty == true { self.handles[id] = nil }
    }

    /// Gives back the room of those who have gone.
    package mutating func shrink() { self.handles.shrink() }
}
