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
    var terms = DeliveryTerms()
}

/// A section as all files together make it.
struct MergedSection: Sendable {
    let kind: String
    let argument: PlacedText?
    let layer: PolicyLayer
    /// Where it stands first.
    let place: Place
    /// Keys in the order in which they came, each with its words, or its one value.
    private(set) var keys: [String] = []
    private var values: [String: [PlacedText]] = [:]

    init(kind: String, argument: PlacedText?, layer: PolicyLayer, place: Place) {
        self.kind = kind
        self.argument = argument
        self.layer = layer
        self.place = place
    }

    /// The words of a list, or one value; `nil` when the key is not set.
    subscript(_ key: String) -> [PlacedText]? { self.values[key] }

    /// Where a key's value stands first, or the section when the key is not set.
    func place(of key: String) -> Place { self.values[key]?.first?.place ?? self.place }

    /// Takes in one more line for a key. An empty value takes back what was set before.
    mutating func assign(_ key: String, _ value: PlacedText, isList: Bool) {
        guard !value.text.isEmpty else {
            self.values[key] = nil
            self.keys.removeAll { $0 == key }
            return
        }
        if self.values[key] == nil { self.keys.append(key) }
        if isList {
            self.values[key, default: []] += value.words
        } else {
            self.values[key] = [value]
        }
    }
}
