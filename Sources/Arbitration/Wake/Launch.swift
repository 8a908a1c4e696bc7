package import Motion

/// Why an app is launched, as it is told.
package enum LaunchReason: Hashable, Sendable, CustomStringConvertible {
    /// Motion, by what kind of detector found it: `shake`, `location`, …
    case motion(String)
    /// Another program asked for it.
    case push
    /// A task of the app is due.
    case task(String)

    /// The word that the app is told.
    package var word: String {
        switch self {
        case .motion(let kind): kind
        case .push: "push"
        case .task: "task"
        }
    }

    /// The reason as one word: a task is named.
    package var description: String {
        if case .task(let name) = self { "task:\(name)" } else { self.word }
    }

    package init(_ text: String) {
        if text == "push" {
            self = .push
        } else if text.hasPrefix("task:") {
            self = .task(String(text.dropFirst("task:".count)))
        } else {
            self = .motion(text)
        }
    }

    /// Whether nobody waits for what it is launched for: what something has happened for goes first.
    var isPatient: Bool {
        switch self {
        case .motion, .push: false
        case .task: true
        }
    }

    /// Whether one launch serves both: all motion is carried together.
    func isServed(with other: LaunchReason) -> Bool {
        switch (self, other) {
        case (.motion, .motion), (.push, .push): true
        case (.task(let a), .task(let b)): a == b
        case (.motion, _), (.push, _), (.task, _): false
        }
    }
}

/// A wish that an app be launched.
package struct LaunchRequest: Equatable, Sendable {
    package var app: AppID
    package var reason: LaunchReason
    /// The strongest goes first; what nobody waits for after all others.
    package var strength: Int
    /// From this arrival time on it is of no use any more.
    package var ends: Timestamp
    /// Whose app it is to be; `nil`: nobody's in particular.
    package var user: UInt32?

    package init(
        _ app: AppID, _ reason: LaunchReason, strength: Int = 0, ends: Timestamp, of user: UInt32? = nil
    ) {
        self.user = user
        self.app = app
        self.reason = reason
        self.strength = strength
        self.ends = ends
    }
}

/// Whether an app is one that is meant, of those with its name: who means nobody's in particular means anybody's, and who means
/// somebody's does not mean nobody's.
func isMeant(appOf owner: UInt32?, by user: UInt32?) -> Bool { user == nil || user == owner }

/// One call that starts or resumes an app.
package struct Launch: Equatable, Sendable {
    /// Rises with each launch, so that a late word on an earlier one counts for nothing.
    package var number: UInt64
    package var app: AppID
    package var reason: LaunchReason
    /// The app was not there: it has to be started first.
    package var isCold: Bool
    /// How long the app may take to come up and to answer.
    package var timeout: TimeSpan
    /// Whose app it is to be; `nil`: nobody's in particular.
    package var user: UInt32?
}

/// What became of a launch.
package enum LaunchResult: Equatable, Sendable {
    /// The app answered.
    case done
    case failed(LaunchFailure)
    /// There was nothing left to launch it for.
    case needless
    /// Nobody could be asked for it, as there was no bus: it is tried again, and says nothing of the app.
    case postponed

    package var name: String {
        switch self {
        case .done: "done"
        case .failed(let failure): failure.name
        case .needless: "needless"
        case .postponed: "postponed"
        }
    }

    package static let all: [LaunchResult] =
        [.done, .needless, .postponed] + LaunchFailure.allCases.map { LaunchResult.failed($0) }
    package static func named(_ name: String) -> LaunchResult? { self.all.first { $0.name == name } }
}

/// Why an app could not be launched.
package enum LaunchFailure: UInt8, Word {
    /// The bus knows nobody who could be started under this name.
    case unknown
    /// It was started, and did not come up.
    case notStarted
    /// It did not answer in time.
    case silent
    /// It went away without an answer.
    case left
    /// It answered with an error.
    case refused

    package var name: String {
        switch self {
        case .unknown: "unknown"
        case .notStarted: "not-started"
        case .silent: "silent"
        case .left: "left"
        case .refused: "refused"
        }
    }
}

/// What follows for launches, in order.
package enum LaunchEffect: Equatable, Sendable {
    /// Call the app; the bus starts it if need be.
    case begin(Launch)
    /// A launch is over; after a failure the app is not called before `again`.
    case ended(Launch, LaunchResult, again: Timestamp?)
    /// A wish came to nothing: after this failure, or because its turn never came.
    case gaveUp(LaunchRequest, LaunchFailure?)
}
