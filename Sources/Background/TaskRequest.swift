package import Arbitration
package import Motion

/// Whose tasks they are: an app of one user, whether it runs or not.
package struct TaskOwner: Hashable, Comparable, Sendable {
    package var app: AppID
    package var user: UInt32

    package init(_ app: AppID, user: UInt32) {
        self.app = app
        self.user = user
    }

    package static func < (a: Self, b: Self) -> Bool { (a.app, a.user) < (b.app, b.user) }
}

/// What a task can wait for besides its time.
package enum TaskNeed: UInt8, Word {
    /// Nobody uses the device.
    case idle
    /// It does not run on its battery.
    case power

    package var name: String {
        switch self {
        case .idle: "idle"
        case .power: "power"
        }
    }
}

/// Background work as an app asks for it. Times are of the wall clock: they outlive boots.
package struct TaskRequest: Equatable, Sendable {
    /// One of those in its app file.
    package var identifier: String
    package var kind: TaskKind
    package var earliest: Timestamp
    /// Not before so long after it is submitted.
    package var delay: TimeSpan
    /// Until when it may be put off to run together with others; `nil`: as long as policy says.
    package var latest: Timestamp?
    package var needs: WordSet<TaskNeed>
    /// Left to the discretion of the broker: it waits for a moment at which it disturbs nobody.
    package var isDiscretionary: Bool

    package init(
        _ identifier: String, _ kind: TaskKind, earliest: Timestamp = .zero, delay: TimeSpan = .zero,
        latest: Timestamp? = nil, needs: WordSet<TaskNeed> = .none, isDiscretionary: Bool = false
    ) {
        self.identifier = identifier
        self.kind = kind
        self.earliest = earliest
        self.delay = delay
        self.latest = latest
        self.needs = needs
        self.isDiscretionary = isDiscretionary
    }
}

/// From when on a task may be begun, as it was submitted. The wall clock may have been ahead then.
package struct TaskWait: Equatable, Sendable {
    /// When it was submitted; should the wall clock have been set back to before that, when it was.
    package private(set) var since: Timestamp
    package let delay: TimeSpan
    /// The time of the wall clock that was asked for.
    package let time: Timestamp

    package init(until time: Timestamp, _ delay: TimeSpan, since: Timestamp) {
        self.time = time
        self.delay = delay
        self.since = since
    }

    var ends: Timestamp { max(self.time, self.since + self.delay) }

    /// Has it wait from now on, unless the wall clock says that it does already.
    mutating func begin(by wall: Timestamp) { self.since = min(self.since, wall) }
}

/// A task as it is kept, also on the disk.
package struct TaskRecord: Equatable, Sendable {
    package var owner: TaskOwner
    /// With the times that are in force.
    package var request: TaskRequest
    /// How often it was begun, the time that is under way included.
    package var attempt: UInt32
    /// Rises with each change: who puts it on the disk says which one is there.
    package var revision: UInt64
    /// What its earliest time comes from; `nil`: it was submitted to a broker that did not keep that.
    package var wait: TaskWait?

    package init(_ owner: TaskOwner, _ request: TaskRequest, attempt: UInt32 = 0, revision: UInt64 = 0) {
        self.owner = owner
        self.request = request
        self.attempt = attempt
        self.revision = revision
    }

    /// Has it wait by what the wall clock says now. Returns whether that is another time.
    mutating func wait(by wall: Timestamp) -> Bool {
        self.wait?.begin(by: wall)
        guard let ends = self.wait?.ends, ends != self.request.earliest else { return false }
        self.request.earliest = ends
        return true
    }
}

/// Both times that tasks go by: the wall clock until they begin, and from then on one that stands still in the system's sleep.
package struct TaskMoment: Equatable, Sendable {
    package var wall: Timestamp
    package var awake: AwakeTime

    package init(wall: Timestamp, awake: AwakeTime) {
        self.wall = wall
        self.awake = awake
    }
}
