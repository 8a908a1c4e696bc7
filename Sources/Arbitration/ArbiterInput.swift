package import Motion

/// Everything that can happen to the arbiter, as values.
///
/// There is no other way in, so that whoever records these has recorded all: the same inputs at the same times, with the
/// same answers to `LastTrue`, give the same actions.
package enum ArbiterInput: Sendable {
    /// An app came. The handle must be free.
    case app(AppHandle, AppID, AppFacts)
    /// Something about an app has changed.
    case facts(AppHandle, AppFacts)
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
    /// Hits, in the order of their times, all there are up to the last time.
    case hits([Hit])
    /// Sample time passes: there are no more hits up to here.
    case motion(Timestamp)
    /// An app answers an event. An epoch that it does not own, or not any more, changes nothing.
    case answer(AppHandle, epoch: UInt64, Answer)
    /// Another policy is in force.
    case policy(Policy)
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
        case .app(let app, let id, let facts): self.add(app, id, facts)
        case .facts(let app, let facts): self.update(app, facts, into: &actions)
        case .leave(let app): self.remove(app, into: &actions)
        case .detector(let detector, let app, let facts): self.add(detector, to: app, facts, at: arrival)
        case .removeDetector(let detector): self.remove(detector, into: &actions)
        case .available(let detector, let isAvailable): self.setAvailable(detector, isAvailable, into: &actions)
        case .device(let device): self.update(device, into: &actions)
        case .hits(let hits): self.hits(hits, lastTrue, into: &actions)
        case .motion(let time): self.runMotion(to: time, lastTrue, into: &actions)
        case .answer(let app, let epoch, let answer): self.answer(app, epoch, answer, into: &actions)
        case .policy(let policy): self.swap(policy, into: &actions)
        }
    }
}
