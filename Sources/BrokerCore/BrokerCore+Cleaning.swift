import Arbitration
import Detection
package import Motion

/// Detectors of an app that left: they make no hits any more, and are still in the engines of their sensors.
struct Leftovers {
    let app: AppID
    let user: UInt32
    /// Last come, first gone.
    var detectors: [InstalledDetector]
}

/// What is left to do when many have gone: it may wait, and is done a little at a time.
extension BrokerCore {
    /// So many detectors of an app go with it. More are left behind.
    static let cleanedAtOnce = 64
    /// Memory is given back when so many apps and detectors have gone.
    private static let manyGone = 256
    /// Lists of what follows keep no more room than this for the next time.
    static let spareActions = 1_024

    /// What is to be seen to after an input.
    package struct Due {
        /// When `tick` must be called, should no other input come before.
        package let tick: Timestamp?
        /// `clean` has something to do.
        package let isCleaning: Bool
        /// So much has gone that memory should be given back.
        package let isShrinking: Bool
        /// There may be something to write down.
        package let isRecording: Bool
    }

    /// Asked after every input. Mutating so that the core is looked at where it is: to ask it otherwise, another module would
    /// copy it whole.
    package mutating func due() -> Due {
        Due(
            tick: self.nextTick, isCleaning: self.isCleaningDue, isShrinking: self.isShrinkingDue,
            isRecording: self.isRecording)
    }

    var isCleaningDue: Bool { !self.leftovers.isEmpty }
    var isShrinkingDue: Bool { self.gone >= Self.manyGone && self.leftovers.isEmpty }

    /// Takes some detectors of apps that left from their engines.
    package mutating func clean(_ actions: inout [BrokerAction]) {
        guard !self.leftovers.isEmpty else { return }
        let some = Array(self.leftovers[0].detectors.suffix(Self.cleanedAtOnce).reversed())
        self.leftovers[0].detectors.removeLast(some.count)
        if self.leftovers[0].detectors.isEmpty { self.leftovers.removeFirst() }
        self.forget(some[...])
        self.leftoversChanged()
        if self.leftovers.isEmpty { self.steer(&actions) }
    }

    /// Takes all that an app left behind from the engines.
    mutating func clean(_ app: AppID, _ user: UInt32) {
        for index in self.leftovers.indices.reversed()
        where self.leftovers[index].app == app && self.leftovers[index].user == user {
            self.forget(self.leftovers.remove(at: index).detectors[...])
        }
        self.leftoversChanged()
    }

    private mutating func leftoversChanged() { if self.leftovers.isEmpty { self.sensing.hasNoOrphans() } }

    /// Forgets detectors of an app that goes: what they cost counts no more.
    mutating func forget(_ detectors: ArraySlice<InstalledDetector>) {
        for detector in detectors {
            self.sensing.count(detector.effective, of: detector.payer, isGone: true)
            self.sensing.book(detector.sensor, detector.payer)
            self.drop(detector)
        }
    }

    /// Leaves the rest of an app's detectors for later. Nothing that they see is of use to anybody from now on.
    mutating func leaveBehind(_ detectors: [InstalledDetector], _ app: App) {
        for detector in detectors { self.sensing.orphan(detector.id) }
        self.leftovers.append(Leftovers(app: app.id, user: app.user, detectors: detectors.reversed()))
    }

    /// Gives back memory that was needed for those who have gone.
    package mutating func shrink() {
        self.gone = 0
        self.apps.shrink()
        self.sensing.shrink()
        self.mailboxes.shrink()
        self.mail.shrink()
        self.arbiter.shrink()
    }
}
