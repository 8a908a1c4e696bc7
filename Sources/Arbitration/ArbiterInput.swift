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
    /// What is said of the foreground.
    case foreground(ForegroundReport)
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
    /// A detector is at work for an app, from now on or in place of the one with the same handle.
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
    /// An app answers an event. An epoch that it does not own, or not any more, changes nothing.
    case answer(AppHandle, epoch: UInt64, Answer)
    /// Something is due to an app that it is to be launched for. What hits lead to is known without this.
    case launch(LaunchRequest)
    /// There is word on a launch, by its number.
    case launched(AppID, UInt64, LaunchResult)
    /// Another policy is in force.
    /// What was prepared for it need not be looked up.
    case policy(Policy, prepared: PolicySuccession? = nil)
}

extension Arbiter {
    /// Takes an input and decides what follows from it.
    ///
    /// - Parameters:
    ///   - arrival: When the input came. Never decreases.
    ///   - lastTrue: Asked when an episode would end: a condition that is still true keeps it open.
    package mutating func take(
        _ input: ArbiterInput, at arrival: Timestamp, lastTrue: LastTrue = { _ in nil },
        into actions: inout [ArbiterAction]
    ) {
        self.arrive(arrival, into: &actions)
        switch input {
        case .app(let app, let id, let entrance): self.add(app, id, entrance, into: &actions)
        case .back(let app, let entrance): self.admit(app, entrance, into: &actions)
        case .away(let app): self.dismiss(app, into: &actions)
        case .told(let app, let state): self.tell(app, state, into: &actions)
        case .foreground(let report): self.report(report, into: &actions)
        case .sleep(let begins): self.sleep(begins)
        case .beginAssertion(let app, let request): self.begin(request, of: app, into: &actions)
        case .endAssertion(let app, let id): self.live(app, into: &actions) { $0.end(id, at: $2, $1) }
        case .beginActivity(let app, let id, let mode, let session):
            self.begin(id, mode, session, of: app, into: &actions)
        case .endActivity(let app, let id): self.live(app, into: &actions) { $0.end(id, at: $2, $1) }
        case .task(let app, let step): self.live(app, into: &actions) { $0.task(step, at: $2, $1) }
        case .leave(let app): self.remove(app, into: &actions)
        case .detector(let detector, let app, let facts): self.add(detector, to: app, facts, at: arrival)
        case .removeDetector(let detector): self.remove(detector, into: &actions)
        case .available(let detector, let isAvailable): self.setAvailable(detector, isAvailable, into: &actions)
        case .device(let device): self.update(device, into: &actions)
        case .hits(let hits): self.hits(hits, lastTrue, into: &actions)
        case .motion(let time): self.runMotion(to: time, lastTrue, into: &actions)
        case .rewind(let time): self.rewind(to: time, into: &actions)
        case .answer(let app, let epoch, let answer): self.answer(app, epoch, answer, into: &actions)
        case .launch(let request): self.wish(request)
        case .launched(let app, let number, let result): self.launched(app, number, result, into: &actions)
        case .policy(let policy, let prepared): self.swap(policy, prepared, into: &actions)
        }
        self.runLaunches(into: &actions)
    }
}
