package import Motion

/// Decides when it is true that an app left the front.
///
/// Panels and menus take the keyboard for a moment, and between two windows it is nobody's: that is not passed on. An app that comes to
/// the front is believed at once.
package struct FrontCalm: Sendable {
    /// How long nothing known must be in front before that is believed.
    package static let patience = TimeSpan.milliseconds(100)

    /// What is believed to be in front.
    package private(set) var rows: [AppRow] = []
    /// Since when there was nothing known instead.
    private var since: Timestamp?

    package init() {}

    /// When to look again, if nothing changes.
    package var deadline: Timestamp? { self.since.map { $0 + Self.patience } }

    /// Looks at what is in front now.
    package mutating func see(_ seen: [AppRow], at now: Timestamp) {
        let known = seen.filter { $0.app != nil }
        // A window that nobody knows is of interest only while there is no other.
        let wanted = known.isEmpty ? Array(seen.prefix(1)) : known
        if wanted == self.rows {
            self.since = nil
        } else if !known.isEmpty || !self.rows.contains(where: { $0.app != nil }) {
            self.believe(wanted)
        } else if let since, now >= since + Self.patience {
            self.believe(wanted)
        } else if self.since == nil {
            self.since = now
        }
    }

    private mutating func believe(_ rows: [AppRow]) {
        self.rows = rows
        self.since = nil
    }
}
