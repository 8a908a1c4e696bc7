import Arbitration
import Background
import Detection
package import Motion

/// How much the broker holds for its clients. What `Limits` shows, and what `LimitsExceeded` names.
///
/// Of a limit for all, each user has a share; a part is left for root, and for what the system installs, which counts as root's.
package struct BrokerLimits: Equatable, Sendable {
    package var apps: Int = 16_384
    package var detectors: Int = 32_768
    package var detectorsPerApp: Int = DetectorBatch.mostOfApp
    package var detectorsPerCall: Int = DetectorBatch.detectors
    /// Bytes of the conditions of all detectors, and of those in one call.
    package var conditionBytes: Int = 8_388_608
    package var conditionBytesPerCall: Int = DetectorBatch.conditionBytes
    /// Detectors of one app that outlive it.
    package var durableDetectors: Int = 256
    package var detectorNameBytes: Int = 128
    package var optionsPerDetector: Int = 32
    package var optionBytes: Int = 16_384
    /// Distinct operations of the conditions, which each look executes: of one app, and of all on one sensor.
    package var operationsPerApp: Int = 2_048
    package var operationsPerSensor: Int = 32_768
    /// Distinct filters, windows and other memories of the conditions.
    package var statefulPerApp: Int = 512
    package var statefulPerSensor: Int = 8_192

    /// Apps that left the bus and for which events are kept.
    package var absentApps: Int = 256
    /// Bytes that are kept for them, as their queues count.
    package var keptBytes: Int = 16_777_216

    /// Longest time for which motion is silenced at once, in µs.
    package var mute: Int64 = 10_000_000

    /// Verdicts that are kept to be explained, and the memory they may take.
    package var verdicts: Int = 4_096
    package var verdictBytes: Int = 2_097_152
    /// Verdicts in one answer, or detectors of which each is judged.
    package var answerRows: Int = 32
    /// Apps, detectors or tasks in one list; the next page begins behind its last row.
    package var listRows: Int = 64

    /// Assertions of one app at a time, and activities.
    package var heldPerApp: Int { AppLife.mostHeld }
    package var assertionNameBytes: Int = 128
    /// The longest time ahead for which an app is told that an assertion ends.
    package var warning = TimeSpan.seconds(3_600)

    /// Calls that wait until one app is launched.
    package var pushesPerApp: Int = 16

    package init() {}

    /// Divides a limit for all among users: one half is root's, and of the rest each has a share.
    package func shares(of limit: Int) -> UserShares { UserShares(limit: limit, reserve: limit / 2) }

    /// Why a call is refused that brings too many detectors.
    package var tooManyInOneCall: Refusal {
        .limit(
            name: "detectors-per-call", value: UInt64(self.detectorsPerCall), message: "too many detectors in one call")
    }

    /// Why a call is refused that has an app have, or names, more detectors than one can have.
    package var tooManyOfOneApp: Refusal {
        .limit(
            name: "detectors-per-app", value: UInt64(self.detectorsPerApp), message: "too many detectors of one app")
    }

    /// Shares of detectors, of which most are installed as a rule.
    package var detectorShares: UserShares {
        UserShares(limit: self.detectors, reserve: self.detectors - self.detectors / 4)
    }

    /// Names as the bus shows them.
    package var table: [String: UInt64] {
        let own: [String: UInt64] = [
            "absent-apps": UInt64(self.absentApps),
            "absent-apps-per-user": UInt64(self.shares(of: self.absentApps).share),
            "kept-bytes": UInt64(self.keptBytes),
            "kept-bytes-per-user": UInt64(self.shares(of: self.keptBytes).share),
            "apps": UInt64(self.apps),
            "apps-per-user": UInt64(self.shares(of: self.apps).share),
            "detectors": UInt64(self.detectors),
            "detectors-per-user": UInt64(self.detectorShares.share),
            "condition-bytes": UInt64(self.conditionBytes),
            "condition-bytes-per-user": UInt64(self.shares(of: self.conditionBytes).share),
            "condition-bytes-per-call": UInt64(self.conditionBytesPerCall),
            "sensors": UInt64(SensorPlaces.shares.limit),
            "sensors-per-user": UInt64(SensorPlaces.shares.share),
            "operations-per-sensor-per-user": UInt64(self.shares(of: self.operationsPerSensor).share),
            "stateful-per-sensor-per-user": UInt64(self.shares(of: self.statefulPerSensor).share),
            "paces-per-user": UInt64(self.shares(of: DetectionLimits.paces).share),
            "detectors-per-app": UInt64(self.detectorsPerApp),
            "detectors-per-call": UInt64(self.detectorsPerCall),
            "detector-name-bytes": UInt64(self.detectorNameBytes),
            "options-per-detector": UInt64(self.optionsPerDetector),
            "durable-detectors": UInt64(self.durableDetectors),
            "option-bytes": UInt64(self.optionBytes),
            "operations-per-app": UInt64(self.operationsPerApp),
            "operations-per-sensor": UInt64(self.operationsPerSensor),
            "stateful-per-app": UInt64(self.statefulPerApp),
            "stateful-per-sensor": UInt64(self.statefulPerSensor),
            "hits-per-second": UInt64(HitBook.perSecond.ofApp),
            "hits-per-second-per-user": UInt64(HitBook.perSecond.ofUser),
            "near-miss-detectors": UInt64(ClipWatch.mostNear),
            "near-miss-detectors-per-user": UInt64(self.shares(of: ClipWatch.mostNear).share),
            "mute": UInt64(self.mute),
            "verdicts": UInt64(self.verdicts),
            "verdict-bytes": UInt64(self.verdictBytes),
            "answer-rows": UInt64(self.answerRows),
            "list-rows": UInt64(self.listRows),
            "held-per-app": UInt64(self.heldPerApp),
            "assertion-name-bytes": UInt64(self.assertionNameBytes),
            "focus-sources": UInt64(FocusSources.shares.limit),
            "apps-per-source": UInt64(FocusSources.mostListed),
            "focus-sources-per-user": UInt64(FocusSources.shares.share),
            "focus-name-bytes": UInt64(FocusSources.nameBytes),
            "windows-per-source": UInt64(FocusSources.mostWindows),
            "pushes-per-app": UInt64(self.pushesPerApp),
            "warning": UInt64(self.warning.microseconds),
            "cold-starts": UInt64(Launches.mostColdStarts),
            "tasks": UInt64(Tasks.mostPending),
            "tasks-per-user": UInt64(Tasks.shares.share),
            "sessions": UInt64(Sessions.most),
            "sessions-per-user": UInt64(Sessions.shares.share),
            "refresh-tasks": UInt64(TaskKind.refresh.mostPending),
            "processing-tasks": UInt64(TaskKind.processing.mostPending),
        ]
        return own.merging(DetectionLimits.table) { own, _ in own }
    }
}
