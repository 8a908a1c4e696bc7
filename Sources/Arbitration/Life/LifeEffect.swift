package import Motion

/// What follows for an app from what happened to it, in order.
package enum LifeEffect: Equatable, Sendable {
    case changed(StateChange)
    /// An assertion ends soon, after `remaining`.
    case expiring(AssertionID, name: String, remaining: TimeSpan)
    /// An assertion ended without the app having ended it.
    case assertionEnded(AssertionID, name: String, AssertionEnd)
    /// An activity ended without the app having ended it.
    case activityEnded(ActivityID, BackgroundMode)
    /// Its player has it at work now, or no more.
    case player(isAtPlay: Bool)

    /// That an app came or left is no news to anybody.
    var isOwnDoing: Bool {
        switch self {
        case .changed(let change): change.cause == .came || change.cause == .left
        case .expiring, .assertionEnded, .activityEnded, .player: false
        }
    }
}

/// An app went from one state into another.
package struct StateChange: Equatable, Sendable {
    package var from: AppState
    package var to: AppState
    package var cause: StateCause

    package init(from: AppState, to: AppState, _ cause: StateCause) {
        self.from = from
        self.to = to
        self.cause = cause
    }
}

/// Why an app is in its state.
package enum StateCause: String, Sendable {
    /// It came to the bus.
    case came
    /// It left the bus.
    case left
    /// Somebody said so of this app.
    case told
    /// What was said of the foreground changed.
    case foreground
    /// The screen was locked or unlocked.
    case lock
    /// Nothing kept it going any more, and its grace was over.
    case grace
    /// It did not end an assertion or a task in time.
    case overrun
    /// A task of its begins.
    case task
    /// It is launched for something.
    case launched
    /// It cannot run, or can again.
    case frozen
    /// Its player plays.
    case player
}

/// What happens to the task of an app, as far as its life goes.
package enum TaskStep: String, CaseIterable, Sendable {
    case begin
    case end
    /// Its time was over, and the app said nothing.
    case overrun
}

/// Why an assertion ended.
package enum AssertionEnd: String, Sendable {
    /// Its budget was used up: the app did not end it in time.
    case overrun
    /// The app came back to the foreground.
    case foreground
    /// The app was suspended.
    case suspended
}

/// Why an app may not begin an assertion or activity.
package enum LifeRefusal: Equatable, Sendable {
    /// There is no such app.
    case unknown
    /// A client without a name has nothing in the background.
    case anonymous
    /// A suspended or dead app does nothing.
    case away(AppState)
    /// The number is taken.
    case repeated
    /// It holds as many at a time as an app may.
    case tooMany(limit: Int)
    /// The budget of this stay in the background is used up.
    case budget(TimeSpan)
    /// It began as many in an hour as policy allows; it may again at `next`.
    case hourly(limit: Int, next: Timestamp)
    /// The app file does not ask for the mode.
    case undeclared(BackgroundMode)
    /// Policy does not grant the mode.
    case ungranted(BackgroundMode)
    /// Policy has no such class.
    case unknownClass(String)
    /// A session that goes on leaves no place for it.
    case rejected(SessionMeeting)

    /// One word, for logs.
    package var name: String {
        switch self {
        case .unknown: "unknown"
        case .anonymous: "anonymous"
        case .away(let state): state.name
        case .repeated: "repeated"
        case .tooMany: "too-many"
        case .budget: "budget"
        case .hourly: "hourly"
        case .undeclared: "undeclared"
        case .ungranted: "ungranted"
        case .unknownClass: "unknown-class"
        case .rejected: "rejected"
        }
    }
}
