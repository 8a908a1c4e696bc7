/// What an operator's program knows of devices, from the messages that a server keeps and brings.
package struct DeviceBook: Sendable {
    package struct Device: Equatable, Sendable {
        package var isOnline = false
        package var groups: [String] = []
        package var detectors: [String] = []
        package var requests: [String] = []
        package var desired: [String] = []
        package var softwareVersion: String?
        package var report: DesiredReport?
        /// What is counted of its apps.
        package var apps: [String: Counts] = [:]
        /// What is wanted of it alone.
        package var wanted: DesiredState?

        package var denied: UInt64 { self.apps.values.reduce(0) { $0 &+ $1.denied } }
        package var hits: UInt64 { self.apps.values.reduce(0) { $0 &+ $1.hits } }
    }

    package struct Counts: Equatable, Sendable {
        package var hits: UInt64
        package var denied: UInt64
        /// Since when the bridge follows it, in µs since 1970, and what was counted until then.
        package var since: Int64?
        package var hitsThen: UInt64
        package var deniedThen: UInt64

        package init(
            hits: UInt64, denied: UInt64, since: Int64? = nil, hitsThen: UInt64 = 0, deniedThen: UInt64 = 0
        ) {
            (self.hits, self.denied, self.since) = (hits, denied, since)
            (self.hitsThen, self.deniedThen) = (hitsThen, deniedThen)
        }

        init(_ value: DataValue) {
            self.init(
                hits: value["hits"]?.count ?? 0, denied: value["denied"]?.count ?? 0, since: value["since_us"]?.integer,
                hitsThen: value["hits_then"]?.count ?? 0, deniedThen: value["denied_then"]?.count ?? 0)
        }
    }

    /// What of a device a message changed.
    package enum Change: Equatable, Sendable {
        case presence(String)
        case birth(String)
        case report(String)
        case counts(String)
        /// What is wanted of it, or of a group.
        case wanted(DesiredScope)
        case previous(group: String)
    }

    package private(set) var devices: [String: Device] = [:]
    package private(set) var groups: [String: DesiredState] = [:]
    /// What was wanted of groups before.
    package private(set) var previous: [String: DesiredState] = [:]

    package init() {}

    /// The topics that say all of this.
    package static let topics =
        ["presence", "birth", "reported", "desired"].map { "\(FleetTopics.root)/+/\($0)" } + [
            "\(FleetTopics.root)/+/apps/+/state", "\(FleetTopics.root)/+/previous",
        ]

    /// Where it is kept what was wanted of a group before.
    package static func previousTopic(of group: String) -> String { "\(FleetTopics.root)/@\(group)/previous" }

    /// For whom that is: no device is called so. What an operator signed to remember it is nothing that is wanted of a device.
    package static func previousAddressee(of group: String) -> String { "\(DesiredScope.group(group)) previous" }

    /// More than this nobody steers with one program.
    package static let most = 100_000
    private static let mostApps = 256
    /// Bytes of an app in a topic: no id is longer, each byte written as `%XX`.
    private static let longestApp = 3 * 255

    /// Takes a message; `nil`: it says nothing of this.
    ///
    /// - Parameter isSigned: whether our own key signed some bytes. What is wanted and was not signed by it, for just these, is then
    ///   nothing: or a server could have us sign what it made up, as what was before. `nil`: there is no key.
    package mutating func take(
        topic: String, _ payload: [UInt8], contentType: String?, isSigned: ((SignedBundle) -> Bool)? = nil
    ) -> Change? {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let root = FleetTopics.root.split(separator: "/").map(String.init)
        guard levels.count >= root.count + 2, Array(levels.prefix(root.count)) == root else { return nil }
        let name = levels[root.count]
        let rest = Array(levels.dropFirst(root.count + 1))
        let value = payload.isEmpty ? nil : try? PayloadFormat.read(payload, contentType: contentType)
        if name.hasPrefix("@") {
            let group = String(name.dropFirst())
            guard FleetTopics.isName(group) else { return nil }
            switch rest {
            case ["desired"]:
                self.groups[group] = value.flatMap { Self.state($0, for: "\(DesiredScope.group(group))", isSigned) }
                return .wanted(.group(group))
            case ["previous"]:
                self.previous[group] = value.flatMap {
                    Self.state($0, for: Self.previousAddressee(of: group), isSigned)
                }
                return .previous(group: group)
            default: return nil
            }
        }
        guard FleetTopics.isName(name), self.devices[name] != nil || self.devices.count < Self.most else { return nil }
        var device = self.devices[name] ?? Device()
        defer { self.devices[name] = device }
        switch rest {
        case ["presence"]:
            device.isOnline = value?["online"]?.bool ?? false
            return .presence(name)
        case ["birth"]:
            func texts(_ key: String) -> [String] { value?[key]?.list?.compactMap(\.text) ?? [] }
            (device.groups, device.requests, device.desired) = (texts("groups"), texts("requests"), texts("desired"))
            device.detectors = value?["detectors"]?.list?.compactMap { $0["name"]?.text } ?? []
            device.softwareVersion = value?["version"]?.text
            return .birth(name)
        case ["reported"]:
            device.report = value.flatMap { DesiredReport($0) }
            return .report(name)
        case ["desired"]:
            device.wanted = value.flatMap { Self.state($0, for: "\(DesiredScope.device(name))", isSigned) }
            return .wanted(.device(name))
        case let levels where levels.count == 3 && levels[0] == "apps" && levels[2] == "state":
            guard levels[1].utf8.count <= Self.longestApp else { return nil }
            guard device.apps[levels[1]] != nil || device.apps.count < Self.mostApps else { return nil }
            device.apps[levels[1]] = value.map { Counts($0) }
            return .counts(name)
        default: return nil
        }
    }

    /// A state as it is wanted, signed or not: an operator looks at it, and a device checks it.
    private static func state(
        _ value: DataValue, for addressee: String, _ isSigned: ((SignedBundle) -> Bool)?
    ) -> DesiredState? {
        guard let bundle = try? SignedBundle.read(value) else {
            return isSigned == nil ? try? DesiredState(value) : nil
        }
        let state = (try? JSONCoding.read(bundle.bytes)).flatMap { try? DesiredState($0) }
        guard let isSigned else { return state }
        return isSigned(bundle) && state?.addressee == addressee ? state : nil
    }

    package func devices(in group: String) -> [String] {
        self.devices.filter { $0.value.groups.contains(group) }.keys.sorted()
    }

    /// Whether anything of a group is known: who is in it, or what is or was wanted of it.
    package func knows(group: String) -> Bool {
        self.groups[group] != nil || self.previous[group] != nil || !self.devices(in: group).isEmpty
    }

    /// What a device has from outside, as far as the server still says it: of all that was wanted of it and of its groups, and of these
    /// before, the newest of each kind, but nothing newer than what it reports to be in force; `nil`: the server does not say it any more.
    package func inForce(on name: String) -> DesiredState? {
        guard let device = self.devices[name] else { return DesiredState.none }
        let wanted = device.groups.compactMap { self.groups[$0] } + [device.wanted].compactMap { $0 }
        // Where nothing was before it has a version that may be that of something.
        let before = device.groups.compactMap { self.previous[$0] }
            .filter { state in !wanted.contains { $0.version == state.version } }
        let all = (wanted + before).filter { state in device.report.map { state.version <= $0.inForce } ?? true }
            .sorted { $0.version < $1.version }
        if let report = device.report, report.inForce != all.last?.version ?? 0 { return nil }
        return all.reduce(DesiredState.none) { $1.over($0) }
    }

    /// So far above what is wanted of groups that of single devices may have come by itself.
    private static let lead: UInt64 = 1 << 20

    /// A version that is above all that are known; `nil`: devices read none that is. One more is left then, to take it back.
    ///
    /// Of what stands in the name of a single device only half of all numbers is believed, and a little beyond what is wanted of groups: or
    /// one of them could use them up for all.
    package var nextVersion: UInt64? {
        let known = (Array(self.groups.values) + Array(self.previous.values)).map(\.version).max() ?? 0
        let most = max(DesiredLimits.version / 2, known + Self.lead)
        let said = self.devices.values.flatMap { device in
            [device.report?.version, device.report?.inForce, device.wanted?.version].compactMap { $0 }
        }
        let next = max(known, said.filter { $0 <= most }.max() ?? 0) + 1
        return next < DesiredLimits.version ? next : nil
    }
}

extension DesiredState {
    /// What undoes this: each kind of thing that it names as it was before, and gone where there was none.
    package func undone(by old: DesiredState?, version: UInt64) -> DesiredState {
        DesiredState(
            version: version, policy: self.policy == nil ? nil : old?.policy ?? [],
            apps: self.apps == nil ? nil : old?.apps ?? [],
            thresholds: self.thresholds == nil ? nil : old?.thresholds ?? [],
            isPaused: self.isPaused == nil ? nil : old?.isPaused ?? false)
    }
}
