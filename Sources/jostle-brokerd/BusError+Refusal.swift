import Arbitration
import Background
import BrokerCore
import DBus
import Motion
import Protocol

extension BusError {
    /// Why the core does not do what a caller asks for.
    init(_ refusal: Refusal) {
        switch refusal {
        case .unknownClient: self = .notFound("register first")
        case .limit(let name, let value, let message), .noRoom(let name, let value, let message):
            self = .limitsExceeded("\(message): \(name) is \(value)")
        case .badWindows(let message): self = .invalidConfiguration(message)
        case .muteTooLong(let limit):
            self = .limitsExceeded("motion can be silenced for at most \(limit.microseconds) us: mute")
        case .badDetector(let message): self = .invalidConfiguration(message)
        case .unknownDetector(let name): self = .notFound("there is no detector '\(printable(name))'")
        case .duplicateDetector(let name):
            self = .invalidConfiguration("the detector name '\(printable(name))' stands twice in one call")
        case .life(let refusal): self.init(refusal)
        case .task(let refusal): self.init(refusal)
        case .unknownApp(let app): self = .notFound("there is no app '\(printable(app.name))'")
        case .wakeQuota(let app, let wait):
            self = .launchFailed("\(app) was launched as often as its WakeQuota allows: again in \(wait.inWords)")
        }
    }

    /// Why an app may not begin what it wants to.
    init(_ refusal: LifeRefusal) {
        switch refusal {
        case .unknown: self = .notFound("register first")
        case .anonymous: self = .accessDenied("a client without a name has nothing in the background")
        case .away(let state): self = .accessDenied("the app is \(state.name); only a running app can begin anything")
        case .repeated: self = .failed("the number is taken")
        case .tooMany(let limit): self = .limitsExceeded("too many at a time: held-per-app is \(limit)")
        case .budget(let budget):
            self = .limitsExceeded(
                "the time in the background is used up until the app is in the foreground again: "
                    + "AssertionBudget is \(budget.text)")
        case .hourly(let limit, _):
            self = .limitsExceeded("too many assertions in an hour: AssertionsPerHour is \(limit)")
        case .undeclared(let mode):
            self = .accessDenied(
                "the app file does not ask for \(mode.name): Modes in apps.d/APPID.conf; one with an error says "
                    + "nothing")
        case .ungranted(let mode):
            self = .accessDenied("policy does not grant \(mode.name): Grants in its [App] section")
        case .unknownClass(let name): self = .invalidConfiguration("policy has no class '\(printable(name))'")
        // Whose session it is, is none of its business.
        case .rejected(let meeting):
            self = .accessDenied("another session leaves no place for it: \(Explanation.cell(meeting.cell))")
        }
    }

    /// Why a task is not taken, or not run.
    init(_ refusal: TaskRefusal) {
        switch refusal {
        case .anonymous: self = .accessDenied("a client without a name has nothing in the background")
        case .undeclared(let identifier):
            self = .accessDenied(
                "the app file does not name the task '\(printable(identifier))': Tasks in apps.d/APPID.conf; one with an "
                    + "error says nothing")
        case .undeclaredMode(let mode): self.init(LifeRefusal.undeclared(mode))
        case .ungranted(let mode): self.init(LifeRefusal.ungranted(mode))
        case .tooMany(let kind):
            self = .limitsExceeded("too many \(kind.name) tasks wait: \(kind.name)-tasks is \(kind.mostPending)")
        case .full(let limit): self = .limitsExceeded("too many tasks wait: tasks is \(limit)")
        case .shareUsed(let limit):
            self = .limitsExceeded(
                "too many tasks wait; your user's share of tasks is used up: tasks-per-user is \(limit)")
        case .unknown(let identifier): self = .notFound("no task '\(printable(identifier))' waits")
        case .nothingRuns: self = .notFound("no task is under way")
        case .terminated:
            self = .accessDenied("the user ended the app: it runs no task until the user opens it again")
        }
    }
}
