import Arbitration

/// `[Policy]` while it is read.
struct PolicyDraft: Equatable, Sendable {
    var otherwise = Effect.deny
}

/// `[Rule]` while it is read.
struct RuleDraft: Equatable, Sendable {
    var name: String
    var place: Place
    var priority = 0
    var conditions = Conditions()
    var effect: Effect?
    var note = ""
    var group: String?
    var strength = 0
    var sessionClass: String?
    var terms = DeliveryTerms()
}

/// A section as all files together make it.
struct MergedSection: Sendable {
    let kind: String
    let argument: PlacedText?
    let layer: PolicyLayer
    /// Where it stands first.
    let place: Place
    /// The file that it was last found in, by its number, and where.
    var latest: (file: Int, line: Int)
    /// Keys in the order in which they came. So few that looking through is fastest.
    private var values: [Entry] = []

    /// A key's words, or its one value.
    private struct Entry: Sendable {
        var key: String
        var words: [PlacedText]
        /// What the words mean, of a list of names: it may be very long, so it grows with them.
        var names: NameList?
        /// The first thing that is wrong with them.
        var problem: ValueProblem?
    }

    init(kind: String, argument: PlacedText?, layer: PolicyLayer, place: Place, file: Int = 0) {
        self.kind = kind
        self.argument = argument
        self.layer = layer
        self.place = place
        self.latest = (file, place.line)
    }

    /// What stands between its brackets.
    var name: String { self.argument.map { "\(self.kind) \($0.text)" } ?? self.kind }
    var keys: [String] { self.values.map(\.key) }

    /// The words of a list, or one value; `nil` when the key is not set.
    subscript(_ key: String) -> [PlacedText]? { self.values.first { $0.key == key }?.words }

    /// What the words of a list of names mean.
    func names(_ key: String) -> NameList { self.values.first { $0.key == key }?.names ?? NameList() }

    /// What is wrong with the words as such.
    func problem(_ key: String) -> ValueProblem? { self.values.first { $0.key == key }?.problem }

    /// Where a key's value stands first, or the section when the key is not set.
    func place(of key: String) -> Place { self[key]?.first?.place ?? self.place }

    /// Takes in one more line for a key. An empty value takes back what was set before.
    ///
    /// - Returns: how many words it has.
    @discardableResult
    mutating func assign(_ key: String, _ value: PlacedText, isList: Bool, names kind: NameKind? = nil) -> Int {
        guard !value.text.isEmpty else {
            self.values.removeAll { $0.key == key }
            return 0
        }
        let words = isList ? value.words : [value]
        var index = self.values.firstIndex { $0.key == key }
        if index == nil {
            self.values.append(Entry(key: key, words: [], names: kind.map { _ in NameList() }))
            index = self.values.count - 1
        } else if !isList, let index {
            self.values[index].words = []
        }
        guard let index else { return 0 }
        let limit = kind == nil ? PolicyLimits.words : PolicyLimits.names
        for word in words where self.values[index].problem == nil {
            guard self.values[index].words.count < limit else {
                self.values[index].problem = ValueProblem(
                    check: .tooMuch, place: word.place,
                    message: PolicyLimits.excess(
                        "the list is too long", kind == nil ? "policy-words" : "policy-names", limit),
                    advice: "make two rules of it, or write names with '*'")
                break
            }
            self.values[index].words.append(word)
            guard let kind else { continue }
            do throws(ValueProblem) {
                try self.values[index].names?.add(word, of: kind)
            } catch {
                self.values[index].problem = error
            }
        }
        return words.count
    }
}

extension NameList {
    /// Adds a name, with stars or not, as it stands in a list.
    mutating func add(_ word: PlacedText, of kind: NameKind) throws(ValueProblem) {
        let (pattern, isNegated) = try Values.pattern(word, of: kind)
        if isNegated { self.except.append(pattern) } else { self.any.append(pattern) }
        guard !pattern.isLiteral, self.any.globCount + self.except.globCount > PolicyLimits.globs else { return }
        throw ValueProblem(
            check: .tooMuch, place: word.place,
            message: PolicyLimits.excess("too many names have a '*'", "policy-globs", PolicyLimits.globs),
            advice: "make two rules of it")
    }
}
