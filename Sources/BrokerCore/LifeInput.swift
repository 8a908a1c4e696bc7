package import Arbitration
package import Motion

/// What is said of apps and of the device, and what apps say of their own life.
package enum LifeInput: Sendable {
    /// Which apps are said to be in front or seen, and by whom.
    case foreground(ForegroundReport, FocusTestimony? = nil)
    /// Which apps cannot run now, and who said so first.
    case frozen([AppID: FocusTestimony])
    /// Whose players play.
    case playing(Set<AppID>)
    /// What state a single app is said to be in, whatever else is the case; `nil`: no more.
    case told(AppHandle, AppState?)
    case locked(Bool)
    /// The local time, as a minute of the week, whichever way it got there.
    case clock(minuteOfWeek: Int)
    /// The system goes to sleep, or is back.
    case sleep(Bool)
    case beginAssertion(AppHandle, AssertionRequest)
    case endAssertion(AppHandle, AssertionID)
    case beginActivity(AppHandle, ActivityID, BackgroundMode, SessionRequest? = nil)
    case endActivity(AppHandle, ActivityID)

    /// The app that must be here for it.
    var app: AppHandle? {
        switch self {
        case .told(let app, _), .beginAssertion(let app, _), .beginActivity(let app, _, _, _): app
        case .foreground, .frozen, .playing, .locked, .clock, .sleep, .endAssertion, .endActivity: nil
        }
    }

    /// What the arbiter is told; `nil`: that is no news.
    ///
    /// - Parameter device: What is known of the device.
    func input(knowing device: DeviceFacts) -> ArbiterInput? {
        var device = device
        switch self {
        case .foreground(let report, let testimony): return .foreground(report, testimony)
        case .frozen(let apps): return .frozen(apps)
        case .playing(let apps): return .playing(apps)
        case .told(let app, let state): return .told(app, state)
        case .sleep(let begins): return .sleep(begins)
        case .beginAssertion(let app, let request): return .beginAssertion(app, request)
        case .endAssertion(let app, let id): return .endAssertion(app, id)
        case .beginActivity(let app, let id, let mode, let session): return .beginActivity(app, id, mode, session)
        case .endActivity(let app, let id): return .endActivity(app, id)
        case .locked(let isLocked): device.isLocked = isLocked
        case .clock(let minute):
            if device.minuteOfWeek == minute { return nil }
            device.minuteOfWeek = minute
        }
        return .device(device)
    }
}
