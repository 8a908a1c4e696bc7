package import Arbitration
package import Detection
package import Motion

/// How things stand for an app: what would happen to its detectors now, since when it got nothing, and why.
package struct WhyNot {
    package let app: App
    /// What became of it since it is here.
    package let tally: AppTally
    /// Events that it was too slow for.
    package let dropped: UInt64
    /// What rules see of it.
    package let facts: AppFacts
    package let now: Timestamp
    /// Motion says nothing before this time.
    package let mutedUntil: Timestamp
    /// Before when it is not launched again because that failed; `nil`: it may be.
    package let restsUntil: Timestamp?
    package let isBeingLaunched: Bool
    /// The last event that a launch failed for under an earlier broker, if the journal tells of one.
    package var pastFailure: PastFailure?
    /// As many as an answer holds, once `look` has looked at them.
    package private(set) var detectors: [DetectorOutlook] = []
    /// Those that are still to be looked at.
    private var rest: ArraySlice<InstalledDetector>
    /// How many there are.
    package private(set) var detectorCount: Int
    private let handle: AppHandle

    /// - Parameters:
    ///   - app: Whom it is about. There is no answer about an app that is not there.
    ///   - detector: Only this one.
    package init?(_ handle: AppHandle, of core: borrowing Broker, detector: String? = nil, at now: Timestamp) {
        guard let app = core.registry[handle], let tally = core.tally(of: handle),
            let facts = core.arbiter.facts(of: handle)
        else { return nil }
        let chosen = detector.map { name in app.detectors[name].map { [$0] } ?? [] }
        let shown = chosen ?? app.detectors.values.first(core.limits.answerRows) { $0.request.name < $1.request.name }
        self.handle = handle
        self.app = app
        self.tally = tally
        self.dropped = core.mailboxes[handle]?.dropped ?? 0
        self.facts = facts
        self.now = now
        self.mutedUntil = core.sensing.mutedUntil
        self.restsUntil = core.arbiter.launches.restsUntil(app.id, of: app.user).flatMap { $0 > now ? $0 : nil }
        self.isBeingLaunched = core.arbiter.launches.launch(of: app.id, for: app.user) != nil
        self.rest = shown[...]
        self.detectorCount = chosen?.count ?? app.detectors.count
    }

    /// Looks at the next detector, if there is one more. Returns false when its app is not there any more, or another user's.
    ///
    /// Each is heard by a copy of all that decides, with all apps that compete, so that others have their turns in between.
    ///
    /// - Parameter peak: How strong the motion would be; `nil`: just enough for the detector.
    package mutating func look(
        in core: borrowing Broker, peak: Double? = nil, for viewer: Viewer, at now: Timestamp
    ) -> Bool {
        guard let app = core.registry[self.handle], app.registration == self.app.registration,
            app.reader == self.app.reader
        else { return false }
        guard let next = self.rest.popFirst() else { return true }
        // It may have been taken away since, and its number be that of a detector of another's app.
        guard let installed = app.detectors[next.request.name] else {
            self.detectorCount -= 1
            return true
        }
        let sensing = core.sensing
        let prospect = core.arbiter.rehearse(
            installed.id, peak: peak ?? installed.effective.leastPeak, at: now,
            lastTrue: { sensing.memory.lastTrue($0) })
        self.detectors.append(
            DetectorOutlook(
                installed, obstacle: sensing.obstacle(to: installed.sensor),
                held: sensing.heldHits(of: installed.id, on: installed.sensor), at: now,
                .init(prospect, of: app, for: viewer, core)))
        return true
    }

    /// All that the answer holds was looked at.
    package var isComplete: Bool { self.rest.isEmpty }

    /// A launch that failed before the broker was started.
    package struct PastFailure: Equatable, Sendable {
        package let epoch: UInt64
        package let failures: UInt32
        /// Why the last of them did.
        package let failure: LaunchFailure
        /// When the verdict was made, in µs of the wall clock, and how long ago that is.
        package let wall: Int64
        package let age: TimeSpan

        /// `nil` when no launch failed for it, or one did not in the end.
        ///
        /// - Parameter now: the time by the wall clock.
        package init?(_ record: VerdictRecord, at now: Int64) {
            guard let origin = record.origin, origin.isPast, let failure = record.aftermath.failure,
                !record.verdict.isReceived
            else { return nil }
            self.epoch = record.verdict.epoch
            self.failures = record.aftermath.failures
            self.failure = failure
            self.wall = origin.wall
            // A disk may have changed any bit of it.
            self.age = max(.zero, Timestamp(microseconds: now) - Timestamp(microseconds: origin.wall))
        }
    }

    /// Since when it got nothing: the last event that it had, or its registration.
    package var silentSince: Timestamp { self.tally.lastHad?.time ?? self.app.registered }

    /// For how long it got nothing.
    package var silence: TimeSpan { max(.zero, self.now - self.silentSince) }
}

/// What would happen to a detector now.
package struct DetectorOutlook {
    package enum Prospect {
        /// If it fired, this would be the verdict.
        case verdict(Verdict)
        /// If it fired, its app would get one more event of this epoch, which is not over.
        case more(epoch: UInt64)
        /// If it fired, that would count to the motion of this epoch, in which its app has its part, and come to nothing.
        /// With the verdict there, if there is one by now.
        case counted(epoch: UInt64, Reason, Verdict?)
        /// That cannot be told.
        case unknown

        /// What the arbiter foresees for an app's detector, as a viewer may see it.
        init(_ prospect: Arbiter.Prospect?, of app: App, for viewer: Viewer, _ core: borrowing Broker) {
            let records = core.records
            switch prospect {
            case nil: self = .unknown
            case .verdict(let verdict):
                let record = VerdictRecord(verdict: verdict, user: app.reader, registration: app.registration)
                self = .verdict(records.show(record, to: viewer, core.registry))
            case .more(let epoch): self = .more(epoch: epoch)
            case .counted(let epoch, let reason):
                let own = records.find(app.reference, epoch: epoch)
                self = .counted(epoch: epoch, reason, own.map { records.show($0, to: viewer, core.registry) })
            }
        }
    }

    package let name: String
    /// Empty for a condition of its own.
    package let preset: String
    package let threshold: Double?
    /// What it hits is less than that.
    package let asksForLittle: Bool
    package let dimension: Dimension
    /// Why it cannot fire at all; `nil` when it can.
    package let obstacle: String?
    package let sensor: String
    /// Hits that were none in the rhythm that they came in, and so came to nobody.
    package let held: HeldHits
    /// How long ago the last of them was.
    package let heldAgo: TimeSpan?
    package let prospect: Prospect

    init(
        _ installed: InstalledDetector, obstacle: String?, held: HeldHits, at now: Timestamp, _ prospect: Prospect
    ) {
        self.name = installed.request.name
        self.preset = installed.effective.preset ?? ""
        self.threshold = installed.effective.threshold
        self.asksForLittle = installed.effective.asksForLittle
        self.dimension = installed.effective.dimension
        self.obstacle = obstacle
        self.sensor = installed.sensor
        self.held = held
        self.heldAgo = held.last.map { max(.zero, now - $0) }
        self.prospect = prospect
    }

    package var isAvailable: Bool { self.obstacle == nil }

    /// Whether its app would get an event.
    package var isHeard: Bool {
        guard self.isAvailable else { return false }
        switch self.prospect {
        case .verdict(let verdict): return verdict.isDelivered
        case .more: return true
        case .counted, .unknown: return false
        }
    }
}
