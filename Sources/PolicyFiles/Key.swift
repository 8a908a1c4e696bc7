import Arbitration
import Motion

/// A key of a section: how it is read, what holds without it, and what it is for.
///
/// The parser, the linter, `policy show` and the documentation all go by this one table.
struct Key<Target: Sendable>: Sendable {
    let name: String
    let type: ValueType
    /// What holds without it, as it would be written; empty when nothing does.
    let standard: String
    let help: String
    /// Whether a user's own files may have it: those make limits smaller and no more.
    let isForUsers: Bool
    let set: @Sendable (inout Target, [PlacedText]) throws(ValueProblem) -> Void
    /// For a list of names, of which kind they are.
    let names: NameKind?
    /// For a list of names, which were read when they came.
    let setNames: (@Sendable (inout Target, NameList) -> Void)?

    /// A list of names, with stars or not.
    init(
        names name: String, of kind: NameKind, _ help: String, set: @escaping @Sendable (inout Target, NameList) -> Void
    ) {
        self.name = name
        self.type = .names
        self.standard = ""
        self.help = help
        self.isForUsers = true
        self.set = { (target, words) throws(ValueProblem) in
            var names = NameList()
            for word in words { try names.add(word, of: kind) }
            set(&target, names)
        }
        self.names = kind
        self.setNames = set
    }

    init(
        _ name: String, _ type: ValueType, _ standard: String, _ help: String, isForUsers: Bool = false,
        set: @escaping @Sendable (inout Target, [PlacedText]) throws(ValueProblem) -> Void
    ) {
        self.name = name
        self.type = type
        self.standard = standard
        self.help = help
        self.isForUsers = isForUsers
        self.set = set
        self.names = nil
        self.setNames = nil
    }
}

/// What kind of value a key takes.
enum ValueType: String, Sendable, CaseIterable {
    case flag = "yes or no"
    case word = "one word"
    case words = "words"
    case text = "text"
    case name = "name"
    case names = "names"
    case number = "whole number"
    case time = "time"
    case bytes = "bytes"
    case rate = "rate"
    case quota = "quota"
    case aging = "aging"
    case ducking = "ducking"
    case ranges = "ranges"
    case hours = "hours"
    case power = "power"
    case file = "file"

    /// The units that its numbers may have; empty where there are none.
    var units: String {
        switch self {
        case .time: "us, ms, s, min, h"
        case .bytes: "KiB, MiB"
        case .rate: "Hz"
        case .quota: "events / time"
        case .aging: "strength / denials"
        case .ranges: "those of what is measured: g, m/s2, deg, …"
        case .hours: "local time"
        case .power: "%"
        case .ducking: "%, events / time"
        case .flag, .word, .words, .text, .name, .names, .number, .file: ""
        }
    }

    /// A list goes on where the same key stands again; an empty value begins it anew.
    var isList: Bool {
        switch self {
        case .words, .names, .ranges, .hours, .power: true
        case .flag, .word, .text, .name, .number, .time, .bytes, .rate, .quota, .aging, .ducking, .file: false
        }
    }
}

/// What was wrong with a value.
struct ValueProblem: Swift.Error {
    var check = Check.badValue
    var place: Place
    var message: String
    var advice: String

    var finding: Finding { Finding(self.check, at: self.place, self.message, advice: self.advice) }
}
