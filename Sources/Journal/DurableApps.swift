import Arbitration
package import Motion

/// Knows what apps registered for good, whether the disk says late what it had of that or at once.
///
/// Until it does, what apps register and remove is noted beside; then both are joined, and from then on this is all there is.
package struct DurableApps: Sendable {
    package private(set) var all: [AppID: DurableApp] = [:]
    /// Whose apps were forgotten before the disk said what it had; `nil`: it has said so. Of others with these names the disk may
    /// have something all the same.
    private var forgotten: [AppID: IdentityBinding]? = [:]
    /// What apps removed before that.
    private var withdrawn: [AppID: Set<String>] = [:]

    package init() {}

    package subscript(id: AppID) -> DurableApp? { self.all[id] }

    /// Has what an app registered for good be this from now on; `nil`: nothing. Returns whether that is a change.
    package mutating func set(_ id: AppID, to app: DurableApp?) -> Bool {
        let old = self.all[id]
        guard old != app else { return false }
        self.all[id] = app
        if app == nil, let old { self.forget(old) }
        return true
    }

    /// Of each app so many names of what it removed are noted. Who has removed more has nothing left of before.
    package static let mostWithdrawn = 8_192

    /// Notes that an app removed these. Returns what is to be left of it, if it registered anything for good.
    package mutating func withdraw(_ names: [String], from id: AppID) -> DurableApp? {
        guard var app = self.all[id] else { return nil }
        self.note(names, of: app)
        let gone = Set(names)
        app.detectors.removeAll { gone.contains($0.name) }
        return app
    }

    private mutating func forget(_ app: DurableApp) {
        self.withdrawn[app.id] = nil
        self.forgotten?[app.id] = app.binding
    }

    private mutating func note(_ names: [String], of app: DurableApp) {
        guard let forgotten = self.forgotten, forgotten[app.id] != app.binding else { return }
        self.withdrawn[app.id, default: []].formUnion(names)
        if (self.withdrawn[app.id]?.count ?? 0) > Self.mostWithdrawn { self.forget(app) }
    }

    /// Takes in what was registered for good before us. Returns what is to be set: of whom something came before, and of whom
    /// somebody else had it forgotten who had the name.
    package mutating func restore(_ apps: [DurableApp]) -> [DurableApp] {
        var changed: [DurableApp] = []
        self.all.reserveCapacity(apps.count)
        for app in apps {
            let forgetter = self.forgotten?[app.id]
            if let forgetter, app.binding.mismatch(of: forgetter) == nil { continue }
            if let later = self.all[app.id] {
                changed.append(app.joined(by: later, without: self.withdrawn[app.id] ?? []))
            } else if forgetter != nil {
                changed.append(app)
            } else {
                self.all[app.id] = app
            }
        }
        self.forgotten = nil
        self.withdrawn = [:]
        return changed
    }
}
