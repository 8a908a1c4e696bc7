package import Motion

/// Everything that can happen to the arbiter, as values.
///
/// There is no other way in, so that whoever records these has recorded all: the same inputs at the same times, with the
/// same answers to `LastTrue`, give the same actions.
package enum ArbiterInput: Sendable {
    /// An app came, or exists without being on the bus. The handle must be free.
    case app(AppHandle, AppID, AppEntrance)
    /// An app that exists came to the bus, or is known better than before.
    case back(AppHandle, AppEntrance)
    /// An app left the bus and goes on existing, with its detectors.
    case away(AppHandle)
    /// A single app is said to be in a state, whatever else is the case; `nil`: no more.
    case told(AppHandle, AppState?)
    /// What is said of the foreground, and by whom, which decides nothing.
    case foreground(ForegroundReport, FocusTestimony? = nil)
    /// These apps cannot run now, whatever is seen of them; each with who said so first, which decides nothing.
    case frozen([AppID: FocusTestimony])
    /// The players of these apps play. It counts for those whose app file says so.
    case playing(Set<AppID>)
    /// The system goes to sleep, or is back. Budgets stand still in between.
    case sleep(Bool)
    /// An app asks for an assertion. The answer is an action.
    case beginAssertion(AppHandle, AssertionRequest)
    case endAssertion(AppHandle, AssertionID)
    /// An app begins to work in a mode. The answer is an action.
    ///
    /// Without a session, an audio activity has the one of the policy's default class.
    case beginActivity(AppHandle, ActivityID, BackgroundMode, SessionRequest? = nil)
    case endActivity(AppHandle, ActivityID)
    /// A task of an app begins, which keeps it going, or ends.
    case task(AppHandle, TaskStep)
    /// An app left. What it used of its quota is kept for when it comes back.
    case leave(AppHandle)
    /// A detector is at work for an app, from now on or in place of the one with the same handle. What that hit and is not decided
    /// stays, if it has the same name.
    case detector(DetectorID, AppHandle, DetectorFacts)
    /// A detector is gone, with its hits that are not decided.
    case removeDetector(DetectorID)
    /// The sensor of a detector came or went.
    case available(DetectorID, Bool)
    /// Something about the device has changed.
    case device(DeviceFacts)
    /// Hits, in the order of their times. Those of another sensor may come later with earlier times.
    case hits([Hit])
    /// Sample time passes: there are no more hits up to here.
    case motion(Timestamp)
    /// Sample time goes on from here, which is earlier: what ran ahead of the clock is over.
    case rewind(Timestamp)
    /// What has come is still to be read, answers among it, so that nobody counts as silent; or all of it was read.
    case patience(Bool)
    /// An app answers an event. An epoch that it does not own, or not any more, changes nothing.
    case answer(AppHandle, epoch: UInt64, Answer)
    /// Something is due to an app that it is to be launched for. What hits lead to is known without this.
    case launch(LaunchRequest)
    /// There is word on a launch, by its number.
    case launched(AppID, UInt64, LaunchResult)
    /// Another policy is in force.
    /// What was prepared for it need not be looked up. It is large and rare: in place it would make each input as large.
    indirect case policy(Policy, prepared: PolicySuccession? = nil)
}
