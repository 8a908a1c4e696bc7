import DBus
import DaemonSupport
import Protocol

/// What of an app's detector was held by activity, as the broker tells it: hits that were none in the rhythm of steps.
struct HeldHit {
    let app: String
    let detector: String
    let count: UInt64
    /// When the last of them was.
    let last: UInt64

    /// Those of an app; none when the broker does not say.
    static func all(of app: String, from broker: Service) -> [HeldHit] {
        guard !app.isEmpty, let answer = try? broker.whyNot(app) else { return [] }
        return answer.rows(VerdictKey.detectors).compactMap { detector in
            guard detector.count(VerdictKey.heldByActivity) > 0 else { return nil }
            return HeldHit(
                app: app, detector: detector.text(VerdictKey.detector),
                count: detector.count(VerdictKey.heldByActivity), last: detector.count(VerdictKey.lastHeld))
        }
    }

    /// As people read it.
    var line: String {
        "besides, \(escapedLine(self.detector)) was held by activity \(self.count == 1 ? "once" : "\(self.count) times"), "
            + "the last time at \(Moment(boottime: self.last).text)"
    }
}
