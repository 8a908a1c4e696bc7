/// The options of a detector, by key.
///
/// A detector has few, and there may be very many detectors: in the order of the keys they take half the room of a dictionary.
package struct DetectorOptions: Equatable, Sendable {
    private var entries: [Entry] = []

    private struct Entry: Equatable, Sendable {
        var key: String
        var value: OptionValue
    }

    package init(_ options: some Sequence<(key: String, value: OptionValue)>) {
        self.entries = options.map { Entry(key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
    }

    package var count: Int { self.entries.count }
    /// In order.
    package var keys: [String] { self.entries.map(\.key) }

    package subscript(_ key: String) -> OptionValue? {
        get { self.entries.first { $0.key == key }?.value }
        set {
            let place = self.entries.firstIndex { $0.key >= key } ?? self.entries.count
            let isKnown = place < self.entries.count && self.entries[place].key == key
            switch (newValue, isKnown) {
            case (let value?, true): self.entries[place].value = value
            case (let value?, false): self.entries.insert(Entry(key: key, value: value), at: place)
            case (nil, true): self.entries.remove(at: place)
            case (nil, false): break
            }
        }
    }
}

extension DetectorOptions: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral options: (String, OptionValue)...) {
        self.init(options.map { (key: $0.0, value: $0.1) })
    }
}

extension DetectorOptions: Sequence {
    package func makeIterator() -> AnyIterator<(key: String, value: OptionValue)> {
        var rest = self.entries[...]
        return AnyIterator { rest.popFirst().map { ($0.key, $0.value) } }
    }
}
