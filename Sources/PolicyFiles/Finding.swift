package import Arbitration

/// How much a finding matters.
package enum Severity: String, Comparable, Sendable {
    /// The policy is refused as a whole.
    case error
    /// The policy works, and probably not as meant.
    case warning
    /// Worth knowing.
    case info

    private var rank: Int {
        switch self {
        case .error: 0
        case .warning: 1
        case .info: 2
        }
    }

    package static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }
}

/// Everything that can be found in policy files. The letter of the id is the severity.
package enum Check: String, CaseIterable, Sendable {
    case unreadable = "E000"
    case unknownWord = "E001"
    case duplicate = "E002"
    case badValue = "E003"
    case undefined = "E004"
    case notForOutside = "E005"
    case notForUsers = "E006"
    case incomplete = "E007"
    case syntax = "E008"
    case tooMuch = "E009"
    case shadowed = "E010"
    case impossible = "E014"
    case contradiction = "E033"
    case orderArithmetic = "E034"
    case wakeForAnybody = "E040"
    case notAnAppID = "E055"
    case noUsage = "E056"
    case notInstalled = "W005"
    case noSuchPreset = "W006"
    case redundant = "W011"
    case orderDependent = "W013"
    case withoutEffect = "W015"
    case leftOut = "W016"
    case undecidedRank = "W020"
    case starvation = "W030"
    case dominated = "W031"
    case sticky = "W032"
    case agingTooSmall = "W033"
    case longWindow = "W035"
    case lostByDesign = "W041"
    case staleGesture = "W042"
    case notStartable = "W043"
    case weakIdentity = "W050"
    case unlimited = "W051"
    case sharedWindow = "W057"
    case playerWithoutAudio = "W058"
    case unencrypted = "W052"
    case unsigned = "W053"
    case neverDelivered = "W060"
    case endsBuiltIn = "W063"
    case clockChange = "W070"
    case exception = "I012"
    case coverage = "I061"
    case undecided = "I062"

    package var severity: Severity {
        switch self.rawValue.first {
        case "E": .error
        case "W": .warning
        default: .info
        }
    }

    /// What the check looks for, in a few words.
    package var title: String {
        switch self {
        case .unreadable: "a file cannot be read"
        case .unknownWord: "an unknown section, key or word"
        case .duplicate: "a section or key stands twice in one file"
        case .badValue: "a value is not what its key takes"
        case .undefined: "a group or class is named that is not there"
        case .notForOutside: "more than files from outside may say"
        case .notForUsers: "more than a user's own files may say"
        case .incomplete: "a rule says neither allow nor deny"
        case .syntax: "a line is neither a section nor a key with its value"
        case .tooMuch: "more than files may hold"
        case .shadowed: "rules before it match all that a rule matches, and say something else"
        case .impossible: "conditions that can never hold"
        case .contradiction: "cells that contradict the flags of classes, or delay each other"
        case .orderArithmetic: "an order that has no time to come to its end"
        case .wakeForAnybody: "any app that asks would be woken"
        case .notAnAppID: "an app file whose name is no app id"
        case .noUsage: "an app file that asks for more and does not say what for"
        case .notInstalled: "a rule or app section for an app that is not installed"
        case .noSuchPreset: "a rule for a preset that there is not"
        case .redundant: "a rule that changes nothing"
        case .orderDependent: "two rules contradict each other, and only their order decides"
        case .leftOut: "files of a user, or from outside, that are left out for an error in them"
        case .withoutEffect: "a key that does nothing where it stands"
        case .undecidedRank: "candidates that only their registration order tells apart"
        case .starvation: "an app may never get its turn"
        case .dominated: "an app whose motions always belong to another"
        case .sticky: "a sticky group that nobody can get away from its holder"
        case .agingTooSmall: "aging that bounds no waiting"
        case .longWindow: "people notice how long the group waits"
        case .lostByDesign: "events for apps that are not there to take them"
        case .staleGesture: "a gesture that is delivered long after it was made"
        case .notStartable: "an app that is to be woken and that nothing starts"
        case .weakIdentity: "a strong rule for whoever takes a name first"
        case .unlimited: "apps without a quota"
        case .sharedWindow: "a window that several app files say is theirs"
        case .playerWithoutAudio: "an app file with Mpris and without the mode audio"
        case .unencrypted: "a bridge that says its password to anybody who listens"
        case .unsigned: "a bridge that takes what is wanted from whoever the server lets"
        case .neverDelivered: "a detector that no rule ever delivers for"
        case .endsBuiltIn: "the built-in policy ends, and an app in the foreground that is not named hears nothing"
        case .clockChange: "a time that begins or ends while clocks change"
        case .exception: "a rule that is the exception of a wider one only because it stands first"
        case .coverage: "what an installed app hears"
        case .undecided: "a rule that was too much work to check"
        }
    }
}

/// One thing found: what, where, and the way out.
package struct Finding: Equatable, Sendable, CustomStringConvertible {
    package var check: Check
    package var place: Place
    /// One sentence, without the stop.
    package var message: String
    /// What to do about it, as a command to the reader.
    package var advice: String

    package init(_ check: Check, at place: Place, _ message: String, advice: String) {
        self.check = check
        self.place = place
        self.message = message
        self.advice = advice
    }

    package var severity: Severity { self.check.severity }

    package var description: String {
        "\(self.place): \(self.severity.rawValue) \(self.check.rawValue): \(self.message); \(self.advice)"
    }
}

/// Findings as they come. Nobody reads thousands of them: the last one says that there are more.
struct FindingList: Sendable {
    private(set) var all: [Finding] = []

    var isFull: Bool { self.all.count > PolicyLimits.findings }

    mutating func append(_ finding: Finding) {
        guard self.all.count <= PolicyLimits.findings else { return }
        guard self.all.count == PolicyLimits.findings else { return self.all.append(finding) }
        self.all.append(
            Finding(
                .tooMuch, at: finding.place,
                PolicyLimits.excess("more is wrong than is told", "policy-findings", PolicyLimits.findings),
                advice: "mend the rest first"))
    }

    /// Adds that there is more of something than may be.
    mutating func exceed(_ what: String, _ name: String, _ limit: Int, at place: Place) {
        self.append(Finding(.tooMuch, at: place, PolicyLimits.excess(what, name, limit), advice: "say it with fewer"))
    }
}

extension Sequence<Finding> {
    /// In the order of a reader: by file, line and column, then by id.
    package func inReadingOrder() -> [Finding] {
        self.sorted { a, b in
            (a.place, a.check.rawValue, a.message) < (b.place, b.check.rawValue, b.message)
        }
    }
}
