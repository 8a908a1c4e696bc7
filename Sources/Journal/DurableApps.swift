package import Motion

/// Knows what apps registered for good, whether the disk says late what it had of that or at once.
///
/// Until it does, what apps register and remove is noted beside; then both are joined, and from then on this is all there is.
package struct DurableApps: Sendable {
    package private(set) var all: [AppID: DurableApp] = [:]
    /// What was forgotten before the disk said what it had; `nil`: it has said so.
    private var forgotten: Set<AppID>? = []
    /// What apps removed before that.
    private var withdrawn: [AppID: Set<String>] = [:]

    package init() {}

    package subscript(id: AppID) -> DurableApp? { self.all[id] }

    /// Has what an app registered for good be this from now on; `nil`: nothing. Returns whether that is a change.
    package mutating func set(_ id: AppID, to app: DurableApp?) -> Bool {
        guard self.all[id] != app else { return false }
        self.all[id] = app
        if app == nil { self.forgotten?.insert(id) }
        return true
    }

    /// Of each app so many names of what it removed are noted. Who has removed more has nothing left of before.
    package static let mostWithdrawn = 8_192

    /// Notes that an app removed these. Returns what is to be left of it, if it registered anything for good.
    package mutating func withdraw(_ names: [String], from id: AppID) -> DurableApp? {
        guard var app = self.all[id] else { return nil }
        self.note(names, of: id)
        let gone = Set(names)
        app.detectors.removeAll { gone.contains($0.name) }
        return app
    }

    private mutating func note(_ names: [String], of id: AppID) {
        guard let forgotten = self.forgotten, !forgotten.contains(id) else { return }
        self.withdrawn[id, default: []].formUnion(names)
        guard (self.withdrawn[id]?.count ?? 0) > Self.mostWithdrawn else { return }
        self.withdrawn[id] = nil
        self.forgotten?.insert(id)
    }

    /// Takes in what was registered for good before us. Returns those of which something came before: what is to be set of them.
    package mutating func restore(_ apps: [DurableApp]) -> [DurableApp] {
        var joined: [DurableApp] = []
        self.all.reserveCapacity(apps.count)
        for app in apps where self.forgotten?.contains(app.id) != true {
            if let later = self.all[app.id] {
                joined.append(app.joined(by: later, without: self.withdrawn[app.id] ?? []))
            } else {
                self.all[app.id] = app
            }
        }
        self.forgotten = nil
        self.withdrawn = [:]
        return joined
    }
}
