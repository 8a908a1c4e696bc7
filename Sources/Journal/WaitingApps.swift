import Motion

/// Changes of durable apps that wait for the writer.
///
/// What was said of apps before the disk spoke is joined with what it had. Until then none of it is written: it would take the place of
/// what it is to be joined with, and be all that there is after a kill.
struct WaitingApps: Sendable {
    private var changes = DurableChanges()
    private var areJoined = false

    var isEmpty: Bool { self.changes.isEmpty }
    /// There are some to be written now.
    var areReady: Bool { self.areJoined && !self.changes.isEmpty }

    mutating func set(_ id: AppID, to app: DurableApp?, number: UInt64) {
        self.changes.set(id, to: app, number: number)
    }

    /// What was there before us is in them, from now on.
    mutating func join() { self.areJoined = true }

    /// Hands the changes over, on top of those that the writer has.
    mutating func take(into taken: inout DurableChanges) {
        guard self.areReady else { return }
        taken.merge(self.changes)
        self.changes = DurableChanges()
    }
}
