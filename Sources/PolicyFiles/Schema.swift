import Arbitration
import Motion

/// All sections and keys of policy files.
enum Schema {
    /// A section, for people: what its header takes and which keys it has.
    struct Section: Sendable {
        var name: String
        /// What follows the name in the header.
        var argument: String
        var help: String
        var keys: [(name: String, type: ValueType, standard: String, help: String, isForUsers: Bool, names: NameKind?)]
    }

    static let sections: [Section] = [
        Section(name: "Policy", argument: "", help: "What holds where no rule does.", keys: Self.described(policy)),
        Section(
            name: "Group", argument: "NAME", help: "Apps that compete for the same motion.", keys: Self.described(group)
        ),
        Section(
            name: "Class", argument: "NAME", help: "A kind of session, and how it gets on with others.",
            keys: Self.described(sessionClass)),
        Section(
            name: "Interaction", argument: "HOLDER REQUESTER",
            help:
                "What comes of a session of the class REQUESTER that begins while one of HOLDER goes on, where that is not to "
                + "follow from the classes.",
            keys: Self.described(interaction)),
        Section(
            name: "App", argument: "ID or *",
            help: "What an app may do, or every app (`*`), as far as its own section does not set a key anew.",
            keys: Self.described(app)),
        Section(
            name: "Rule", argument: "NAME",
            help:
                "Who gets events, and on which terms. The first rule that matches decides, the highest Priority first.",
            keys: Self.described(rule)),
    ]

    /// What the reader asks about a key, without going through the table.
    struct KeyFacts: Sendable {
        var type: ValueType
        var isForUsers: Bool
        /// Of a list of names, of which kind they are.
        var names: NameKind?
    }

    /// By section, then by key.
    static let keyFacts: [String: [String: KeyFacts]] = Dictionary(
        uniqueKeysWithValues: sections.map { section in
            (
                section.name,
                Dictionary(
                    uniqueKeysWithValues: section.keys.map {
                        ($0.name, KeyFacts(type: $0.type, isForUsers: $0.isForUsers, names: $0.names))
                    })
            )
        })
    static let arguments: [String: String] = Dictionary(uniqueKeysWithValues: sections.map { ($0.name, $0.argument) })

    static let policyKeys = byName(policy)
    static let groupKeys = byName(group)
    static let classKeys = byName(sessionClass)
    static let interactionKeys = byName(interaction)
    static let appKeys = byName(app)
    static let ruleKeys = byName(rule)

    private static func byName<Target>(_ keys: [Key<Target>]) -> [String: Key<Target>] {
        Dictionary(uniqueKeysWithValues: keys.map { ($0.name, $0) })
    }

    private static func described<Target>(
        _ keys: [Key<Target>]
    ) -> [(name: String, type: ValueType, standard: String, help: String, isForUsers: Bool, names: NameKind?)] {
        keys.map { ($0.name, $0.type, $0.standard, $0.help, $0.isForUsers, $0.names) }
    }

    private static let spans: ClosedRange<TimeSpan> = .zero...Limits.longestSpan
    private static let windows: ClosedRange<TimeSpan> = .zero ... .seconds(10)
    private static let strengths = -Limits.strength...Limits.strength

    // MARK: [Policy]

    static let policy: [Key<PolicyDraft>] = [
        Key("Default", .word, "deny", "allow or deny, for what no rule matches.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.otherwise = try Values.word(words, "effect")
        }
    ]

    // MARK: [Group]

    static let group: [Key<GroupConfiguration>] = [
        Key(
            "Mode", .word, "broadcast",
            "Who gets the event: everybody (broadcast), the best (exclusive), the best first, who may pass it on "
                + "(ordered), or whoever's session may be heard (mixable)."
        ) { (target, words) throws(ValueProblem) in
            target.mode = try Values.word(words, "mode")
        },
        Key(
            "Select", .words, "strength",
            "What candidates are compared by, the first that differs: strength, "
                + "specificity, intensity, state, recent, round-robin. Who registered first decides the rest."
        ) {
            (target, words) throws(ValueProblem) in
            target.select = try Values.list(words, "key to select by")
        },
        Key("CommitWindow", .time, "0", "How long after its first hit a motion is decided at the latest.") {
            (target, words) throws(ValueProblem) in
            target.commitWindow = try Values.span(words, Self.windows)
        },
        Key("EagerCommit", .flag, "yes", "Decide as soon as waiting cannot change the answer.") {
            (target, words) throws(ValueProblem) in
            target.commitsEagerly = try Values.flag(words)
        },
        Key("Quiet", .time, "1s", "A motion is over when no condition has been true for so long.") {
            (target, words) throws(ValueProblem) in
            target.quiet = try Values.span(words, .milliseconds(10) ... .seconds(10))
        },
        Key(
            "Cooldown", .time, "0",
            "No new motion of the group for so long after the first event that an app got of one."
        ) { (target, words) throws(ValueProblem) in
            target.cooldown = try Values.span(words, Self.spans)
        },
        Key("Sticky", .flag, "no", "The winner keeps the group for the lease.") {
            (target, words) throws(ValueProblem) in
            target.isSticky = try Values.flag(words)
        },
        Key(
            "Lease", .time, "",
            "How long the winner keeps a sticky group after the first event of its last motion, or its answer to that. "
                + "Without it: as long as it lives."
        ) { (target, words) throws(ValueProblem) in
            target.lease = try Values.span(words, .milliseconds(1)...Limits.longestSpan)
        },
        Key("Hysteresis", .number, "0", "By how much Strength must exceed the holder's to take a sticky group from it.")
        {
            (target, words) throws(ValueProblem) in
            target.hysteresis = try Values.number(words, 0...Limits.strength)
        },
        Key("AckTimeout", .time, "400ms", "How long each app of an ordered group has to answer.") {
            (target, words) throws(ValueProblem) in
            target.ackTimeout = try Values.span(words, .milliseconds(1) ... .seconds(60))
        },
        Key("OrderBudget", .time, "1200ms", "How long a whole order may take.") {
            (target, words) throws(ValueProblem) in
            target.orderBudget = try Values.span(words, .milliseconds(1) ... .seconds(600))
        },
        Key("Aging", .aging, "none", "So much Strength more for so many denials in a row, up to a limit.") {
            (target, words) throws(ValueProblem) in
            target.aging = try Values.aging(words)
        },
    ]

    // MARK: [App]

    static let app: [Key<AppSettings>] = [
        Key(
            "Grants", .words, "",
            "Modes in which it may work in the background: audio, location, bluetooth, fetch, "
                + "processing, voip, push."
        ) { (target, words) throws(ValueProblem) in
            target.grants = WordSet(try Values.list(words, "mode"))
        },
        Key("Quota", .quota, "", "Events in a time, and how many of them at once.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.quota = try Values.quota(words)
        },
        Key("Cooldown", .time, "0", "The shortest time between two events.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.cooldown = try Values.span(words, Self.spans)
        },
        Key("QueueBytes", .bytes, "256KiB", "How much may be kept for it until it takes it.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.queueBytes = try Values.bytes(words, 0...(64 * 1_024 * 1_024))
        },
        Key(
            "Grace", .time, "0", "How long it may go on in the background with nothing to keep it going.",
            isForUsers: true
        ) {
            (target, words) throws(ValueProblem) in
            target.grace = try Values.span(words, Self.spans)
        },
        Key(
            "AssertionBudget", .time, "31s",
            "How long assertions may keep it going, counted from when it left the foreground.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.assertionBudget = try Values.span(words, Self.spans)
        },
        Key(
            "AssertionsPerHour", .number, "", "How many assertions it may begin in an hour. Without it: any number.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.assertionsPerHour = try Values.number(words, 0...1_000_000)
        },
        Key("Renewal", .flag, "no", "Whether an assertion that is begun in the background has a budget of its own.") {
            (target, words) throws(ValueProblem) in
            target.allowsRenewal = try Values.flag(words)
        },
        Key(
            "WakeQuota", .quota, "", "How often events and pushes may wake it, and how many times at once.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.wakeQuota = try Values.quota(words)
        },
        Key(
            "WakeTimeout", .time, "10s",
            "How long it may take to come up and to answer, or to register for a task, when it is launched.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.wakeTimeout = try Values.span(words, .milliseconds(100) ... .seconds(120))
        },
        Key("MayPush", .flag, "no", "Whether it may have other apps launched that are granted push.") {
            (target, words) throws(ValueProblem) in
            target.mayPush = try Values.flag(words)
        },
        Key(
            "MayReportForeground", .flag, "no",
            "Whether it may say which app is in the foreground, also from a sandbox."
        ) {
            (target, words) throws(ValueProblem) in
            target.mayReportForeground = try Values.flag(words)
        },
        Key(
            "RefreshInterval", .time, "15min", "No refresh task is begun sooner after it was submitted.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.refreshInterval = try Values.span(words, Self.spans)
        },
        Key("RefreshTime", .time, "30s", "How long a refresh task may take.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.refreshTime = try Values.span(words, .milliseconds(100) ... .seconds(86_400))
        },
        Key("ProcessingTime", .time, "5min", "How long a processing task may take.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.processingTime = try Values.span(words, .milliseconds(100) ... .seconds(86_400))
        },
        Key("TaskWindow", .time, "1min", "How long a task that may begin is put off, so that several begin together.") {
            (target, words) throws(ValueProblem) in
            target.taskWindow = try Values.span(words, Self.spans)
        },
        Key(
            "Discretion", .time, "6h",
            "How long a task that is left to the broker's discretion waits for a moment at which the device is idle and "
                + "not on its battery."
        ) { (target, words) throws(ValueProblem) in
            target.discretion = try Values.span(words, Self.spans)
        },
        Key(
            "FastestRate", .rate, "200Hz",
            "The fastest rate at which it may read samples itself, past the broker; of all apps (`*`) also a user's "
                + "broker with a reader on the system bus.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.sensing.fastestRate = try Values.rate(words, SensorLimits.rateForAll...SensorLimits.rates.upperBound)
        },
        Key(
            "Thresholds", .words, "",
            "What its detectors have to pass instead of the threshold that they ask for, by their name or preset."
        ) { (target, words) throws(ValueProblem) in
            target.sensing.thresholds = try Values.thresholds(words)
        },
        Key(
            "Clips", .flag, "yes",
            "Whether the motion around what its detectors hit, or nearly, may be kept by a broker with `--clips`.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.sensing.keepsClips = try Values.flag(words)
        },
    ]

    /// Makes limits of `settings` that a user set smaller. Keys that are not for users are never among them.
    static func tighten(_ settings: inout AppSettings, to own: AppSettings, _ key: String) {
        func smaller(_ a: Quota?, _ b: Quota?) -> Quota? {
            guard let a, let b else { return a ?? b }
            return a.tightened(to: b)
        }
        switch key {
        case "Quota": settings.quota = smaller(settings.quota, own.quota)
        case "WakeQuota": settings.wakeQuota = smaller(settings.wakeQuota, own.wakeQuota)
        case "WakeTimeout": settings.wakeTimeout = min(settings.wakeTimeout, own.wakeTimeout)
        case "Cooldown": settings.cooldown = max(settings.cooldown, own.cooldown)
        case "QueueBytes": settings.queueBytes = min(settings.queueBytes, own.queueBytes)
        case "RefreshInterval": settings.refreshInterval = max(settings.refreshInterval, own.refreshInterval)
        case "RefreshTime": settings.refreshTime = min(settings.refreshTime, own.refreshTime)
        case "ProcessingTime": settings.processingTime = min(settings.processingTime, own.processingTime)
        case "Grace": settings.grace = min(settings.grace, own.grace)
        case "AssertionBudget": settings.assertionBudget = min(settings.assertionBudget, own.assertionBudget)
        case "AssertionsPerHour":
            settings.assertionsPerHour = min(settings.assertionsPerHour ?? .max, own.assertionsPerHour ?? .max)
        case "Clips": settings.sensing.keepsClips = settings.sensing.keepsClips && own.sensing.keepsClips
        case "FastestRate": settings.sensing.fastestRate = min(settings.sensing.fastestRate, own.sensing.fastestRate)
        default: break
        }
    }
}
