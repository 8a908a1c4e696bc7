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
    /// Keys in the order in which they came, each with its words, or its one value. So few that looking through is fastest.
    private var values: [(key: String, words: [PlacedText])] = []

    init(kind: String, argument: PlacedText?, layer: PolicyLayer, place: Place) {
        self.kind = kind
        self.argument = argument
        self.layer = layer
        self.place = place
    }

    /// What stands between its brackets.
    var name: String { self.argument.map { "\(self.kind) \($0.text)" } ?? self.kind }
    var keys: [String] { self.values.map(\.key) }

    /// The words of a list, or one value; `nil` when the key is not set.
    subscript(_ key: String) -> [PlacedText]? { self.values.first { $0.key == key }?.words }

    /// Where a key's value stands first, or the section when the key is not set.
    func place(of key: String) -> Place { self[key]?.first?.place ?? self.place }

    /// Takes in one more line for a key. An empty value takes back what was set before.
    mutating func assign(_ key: String, _ value: PlacedText, isList: Bool) {
        guard !value.text.isEmpty else {
            self.values.removeAll { $0.key == key }
            return
        }
        let words = isList ? value.words : [value]
        guard let index = self.values.firstIndex(where: { $0.key == key }) else {
            self.values.append((key, words))
            return
        }
        if isList { self.values[index].words += words } else { self.values[index].words = words }
    }
}
