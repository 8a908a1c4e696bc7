package import Arbitration
package import Motion

/// A verdict as it is kept: with what says later whose it is.
package struct VerdictRecord: Equatable, Sendable {
    package var verdict: Verdict
    /// The user of the app.
    package var user: UInt32
    /// Which registration of an app it was, counted from 1 at the start of the broker. A client without a name has no
    /// other sign.
    package var registration: UInt64
    /// What became of its event since.
    package var aftermath: Aftermath
    /// Where it comes from when it is not kept in memory any more.
    package var origin: Origin?

    /// What stands beside a verdict on the disk.
    package struct Origin: Equatable, Sendable {
        /// When it was made, in µs of the wall clock.
        package var wall: Int64
        /// The files of the policy that decided; none: the built-in policy did.
        package var policyFiles: [String]
        /// The broker that made it is gone.
        package var isPast: Bool

        package init(wall: Int64, policyFiles: [String], isPast: Bool) {
            self.wall = wall
            self.policyFiles = policyFiles
            self.isPast = isPast
        }
    }

    package init(
        verdict: consuming Verdict, user: UInt32, registration: UInt64, aftermath: Aftermath = Aftermath(),
        origin: Origin? = nil
    ) {
        self.verdict = verdict
        self.user = user
        self.registration = registration
        self.aftermath = aftermath
        self.origin = origin
    }

    /// What it takes to keep it, about.
    var bytes: Int {
        var bytes = MemoryLayout<VerdictRecord?>.stride
        bytes += self.verdict.id.name.utf8.count + self.verdict.detector.utf8.count + self.verdict.preset.utf8.count
        // The candidates share it.
        if let contest = self.verdict.contest { bytes += Self.contestBytes / max(1, contest.candidates) }
        // Others may share it; those of other apps may be gone before.
        bytes += self.verdict.testimony?.bytes ?? 0
        return bytes
    }

    private static let contestBytes = 512

    func isVisible(to viewer: Viewer) -> Bool { viewer.sees(self.verdict.id, of: self.user, self.registration) }
}

extension [VerdictRecord] {
    /// The same with those of the same epoch that were read elsewhere: what is in both is there once. What is here alone may not
    /// have come there, nor may its end.
    ///
    /// Thousands of apps may have a part in one epoch, so that each is held against those of its own app and no others.
    package func joined(by stored: [VerdictRecord]) -> [VerdictRecord] {
        var known: [AppID: [Int]] = [:]
        for index in self.indices { known[self[index].verdict.id, default: []].append(index) }
        return self
            + stored.filter { stored in
                !(known[stored.verdict.id] ?? []).contains { self[$0].verdict.isOfOneDecision(with: stored.verdict) }
            }
    }
}

extension Verdict {
    /// Whether they are the same but for what became of the event since.
    fileprivate func isOfOneDecision(with other: Verdict) -> Bool {
        guard self.reason.isOpen, other.reason.isOpen else { return self == other }
        var copy = other
        copy.reason = self.reason
        return self == copy
    }
}

/// An app that a question is about.
package struct AppReference: Sendable {
    package var id: AppID
    /// The user it belongs to; `nil`: whichever.
    package var user: UInt32?
    /// Its registration, if it is here at present.
    package var registration: UInt64?

    package init(_ id: AppID, user: UInt32? = nil, registration: UInt64? = nil) {
        self.id = id
        self.user = user
        self.registration = registration
    }

    /// Also before it registered anew, unless it has no name to be known by.
    func isMeant(by record: VerdictRecord) -> Bool {
        self.isMeant(record.verdict.id, record.user, record.registration)
    }

    func isMeant(_ id: AppID, _ user: UInt32, _ registration: UInt64) -> Bool {
        if registration == self.registration { return true }
        return !id.isAnonymous && id == self.id && (self.user.map { $0 == user } ?? true)
    }
}

/// Who asks, as far as it decides what they may see.
package enum Viewer: Sendable {
    /// A registered app: it sees itself, and of others only that they are there.
    case app(AppReference)
    /// A program that is no app here: it sees the apps of its user, and root sees all.
    case user(UInt32)

    /// Whose it is, if that is known.
    package var user: UInt32? {
        switch self {
        case .app(let app): app.user
        case .user(let user): user
        }
    }

    /// Whether nothing is kept from it.
    package var seesAll: Bool { if case .user(0) = self { true } else { false } }

    /// Whether it may see what concerns an app of a user, as it was registered then.
    func sees(_ id: AppID, of user: UInt32, _ registration: UInt64) -> Bool {
        switch self {
        case .app(let app): app.isMeant(id, user, registration)
        case .user(0): true
        case .user(let own): own == user
        }
    }
}

/// Which verdicts are asked for.
package struct VerdictQuery: Sendable {
    package enum Event: Equatable, Sendable {
        /// The newest.
        case last
        case epoch(UInt64)
        /// An app's own number of an event.
        case sequence(UInt64)
    }

    package var event: Event
    /// Only this app's.
    package var app: AppReference?
    package var viewer: Viewer

    package init(_ event: Event, of app: AppReference? = nil, for viewer: Viewer) {
        self.event = event
        self.app = app
        self.viewer = viewer
    }

    /// Whether a verdict is of an app that is meant and that may be seen.
    package func concerns(_ record: VerdictRecord) -> Bool {
        record.isVisible(to: self.viewer) && (self.app.map { $0.isMeant(by: record) } ?? true)
    }
}
