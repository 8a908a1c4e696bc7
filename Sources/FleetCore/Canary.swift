package import Motion

/// Whether something new that some devices try goes to all, or to none.
///
/// What each of them counted before is what it is held against: a device in a station is used more than one in a museum. The others tell
/// whether it is a busy hour, for that is so for all of them. A value, so that it can be told what happens.
package struct Canary: Sendable {
    package enum Decision: Equatable, Sendable {
        case wait(String)
        /// All have it, and are watched for so long yet.
        case watch(TimeSpan)
        case goOn
        case stop(String)
    }

    package struct Terms: Equatable, Sendable {
        /// For how long all canaries have to be well, counted from when the last one had it.
        package var watch = TimeSpan.seconds(60)
        /// How long it may take until all have it.
        package var patience = TimeSpan.seconds(300)
        /// How long a canary may be away.
        package var absence = TimeSpan.seconds(30)

        package init() {}
    }

    /// So many times what is usual is not yet a jump.
    package static let factor = 2.0
    /// What is not known of a device for so long is not taken for its habit.
    private static let leastSpan = TimeSpan.seconds(60)

    private struct Device: Sendable {
        var report: DesiredReport?
        var awaySince: Timestamp?
        var counts: CanaryCounts?
    }

    package let version: UInt64
    private let terms: Terms
    private let canaries: [String]
    /// The same, to be found among thousands.
    private let chosen: Set<String>
    private var devices: [String: Device] = [:]
    private let began: Timestamp
    /// When that was by the clock that devices tell times by, in µs since 1970.
    private let wall: Int64
    /// Since when all canaries have it.
    private var allSince: Timestamp?

    /// Begins when it is about to be said to the canaries: what is read of a device first is what was before.
    ///
    /// - Parameters:
    ///   - canaries: those that try it.
    ///   - others: those of the group that do not, yet.
    package init(
        _ version: UInt64, canaries: [String], others: [String], terms: Terms = Terms(), at now: Timestamp, wall: Int64
    ) {
        self.version = version
        self.terms = terms
        self.canaries = canaries.sorted()
        self.chosen = Set(canaries)
        (self.began, self.wall) = (now, wall)
        for name in canaries + others { self.devices[name] = Device(awaySince: now) }
    }

    // MARK: Who tries it

    /// Of so many devices so many per cent, at least one.
    package static func count(of devices: Int, share: Double) -> Int {
        devices == 0 ? 0 : min(devices, max(1, Int((Double(devices) * share / 100).rounded(.up))))
    }

    /// Chooses devices, others for another version, so that not always the same ones pay for it.
    package static func choose(_ count: Int, of devices: [String], for version: UInt64) -> [String] {
        func rank(_ name: String) -> UInt64 {
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in Array("\(version) \(name)".utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            // Names that differ in their last letter alone would rank alike.
            hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
            return hash ^ hash >> 33
        }
        let ranked = Set(devices).map { (rank($0), $0) }.sorted { $0 < $1 }
        return ranked.prefix(count).map(\.1).sorted()
    }

    // MARK: What happens

    package mutating func presence(of device: String, isOnline: Bool, at now: Timestamp) {
        guard var known = self.devices[device] else { return }
        known.awaySince = isOnline ? nil : known.awaySince ?? now
        self.devices[device] = known
    }

    package mutating func reported(_ report: DesiredReport, by device: String, at now: Timestamp) {
        self.devices[device]?.report = report
        let all = self.canaries.allSatisfy { self.has($0) }
        self.allSince = all ? self.allSince ?? now : nil
    }

    /// Takes what a device counts of its apps.
    package mutating func counted(_ apps: [String: DeviceBook.Counts], by device: String) {
        guard var known = self.devices[device] else { return }
        if known.counts == nil {
            known.counts = CanaryCounts(apps, wall: self.wall, leastSpan: Self.leastSpan)
        } else {
            known.counts?.read(apps)
        }
        self.devices[device] = known
    }

    /// A canary has it when it is in force and confirmed there.
    private func has(_ device: String) -> Bool {
        guard let report = self.devices[device]?.report else { return false }
        return report.outcome == .applied && report.version == self.version
    }

    package func decision(at now: Timestamp) -> Decision {
        for name in self.canaries {
            guard let device = self.devices[name] else { continue }
            if let report = device.report, report.version == self.version,
                report.outcome == .refused || report.outcome == .rolledBack
            {
                let why = report.problem.map { ": \($0)" } ?? ""
                return .stop("\(name): \(report.outcome.rawValue)\(why)")
            }
            if let report = device.report, report.version > self.version {
                return .stop("\(name): somebody wants version \(report.version) meanwhile")
            }
            if let since = device.awaySince, now - since >= self.terms.absence {
                return .stop("\(name): not there for \(Int((now - since).seconds)) s")
            }
        }
        if let jump = self.jump(of: .denied, at: now) ?? self.jump(of: .hits, at: now) { return .stop(jump) }
        guard let allSince else {
            guard now - self.began < self.terms.patience else {
                let missing = self.canaries.filter { !self.has($0) }
                return .stop("not in force everywhere in time: \(missing.joined(separator: ", "))")
            }
            let count = self.canaries.filter { self.has($0) }.count
            return .wait("\(count) of \(self.canaries.count) canaries have it")
        }
        let end = allSince + self.terms.watch
        return now < end ? .watch(end - now) : .goOn
    }

    // MARK: Jumps

    /// What the canaries count more of than they did, by more than chance and more than the hour.
    private func jump(of what: CanaryCounts.Kind, at now: Timestamp) -> String? {
        let span = now - self.began
        let canaries = self.canaries.compactMap { self.devices[$0]?.counts }
        let seen = canaries.reduce(0.0) { $0 + Double($1.seen(what)) }
        let usual = canaries.reduce(0.0) { $0 + $1.usual(what, in: span) }
        let others = self.devices.filter { !self.chosen.contains($0.key) && $0.value.awaySince == nil }
        let growth = Self.growth(
            others.compactMap { $0.value.counts }.map { counts in
                let usual = counts.usual(what, in: span)
                return usual > 0 ? Double(counts.seen(what)) / usual : 1
            })
        let bound = Self.bound(usual: usual * growth)
        guard seen > bound else { return nil }
        return "\(what.rawValue) jumped: \(Self.text(seen)) in \(Int(span.seconds)) s on the canaries, where "
            + "\(Self.text(bound)) would be much"
    }

    /// How many times what is usual is counted in this hour, by what each of the others counts: a busy hour is one for all, and a quiet one
    /// does not make more suspicious. It is the median, so that no one device makes it, and of one alone no more is believed than ten times.
    private static func growth(_ others: [Double]) -> Double {
        guard !others.isEmpty else { return 1 }
        let median = others.sorted()[(others.count - 1) / 2]
        return max(1, others.count == 1 ? min(median, 10) : median)
    }

    /// A count for people; a device may say any.
    private static func text(_ count: Double) -> String { "\(Int(min(count, 1e15)))" }

    /// How much is not yet a jump: three standard deviations of a count above so many times what is usual, and three more, for a few
    /// events say nothing.
    package static func bound(usual: Double) -> Double {
        let most = usual * self.factor
        return most + 3 * most.squareRoot() + 3
    }
}

/// What a device counts of its apps while something new is tried, and what it did before.
struct CanaryCounts: Sendable {
    enum Kind: String, Sendable {
        case denied
        case hits
    }

    /// Of an app what was read last.
    private var last: [String: DeviceBook.Counts]
    private var hits: UInt64 = 0
    private var denied: UInt64 = 0
    /// So many in a second before.
    private let rates: (hits: Double, denied: Double)

    /// - Parameter leastSpan: one event more than there was could have come in the time that the device is known, which counts as at
    ///   least this.
    init(_ apps: [String: DeviceBook.Counts], wall: Int64, leastSpan: TimeSpan) {
        self.last = apps
        var rates = (hits: 0.0, denied: 0.0)
        var longest = leastSpan.seconds
        for counts in apps.values {
            // A device whose clock is wrong, or that does not say since when, has no past.
            guard let since = counts.since, since < wall else { continue }
            let span = (Double(wall) - Double(since)) / 1_000_000
            longest = max(longest, span)
            rates.hits += Double(counts.hits &- min(counts.hits, counts.hitsThen)) / span
            rates.denied += Double(counts.denied &- min(counts.denied, counts.deniedThen)) / span
        }
        self.rates = (rates.hits + 1 / longest, rates.denied + 1 / longest)
    }

    mutating func read(_ apps: [String: DeviceBook.Counts]) {
        for (name, counts) in apps {
            // An app that came anew counts from nothing.
            let old = self.last[name].flatMap { $0.isContinued(by: counts) ? $0 : nil }
            // A device may say anything, and is not to end who listens.
            self.hits &+= counts.hits - (old?.hits ?? min(counts.hits, counts.hitsThen))
            self.denied &+= counts.denied - (old?.denied ?? min(counts.denied, counts.deniedThen))
            self.last[name] = counts
        }
    }

    func seen(_ kind: Kind) -> UInt64 { kind == .hits ? self.hits : self.denied }

    func usual(_ kind: Kind, in span: TimeSpan) -> Double {
        max(0, span.seconds) * (kind == .hits ? self.rates.hits : self.rates.denied)
    }
}

extension DeviceBook.Counts {
    /// Whether another reading is of the same life of the app.
    fileprivate func isContinued(by later: DeviceBook.Counts) -> Bool {
        self.since == later.since && self.hits <= later.hits && self.denied <= later.denied
    }
}
