/// Which sensor name a device gets, and gets again after it was unplugged.
///
/// A name is never taken back: claims are made by name, and wait for the device. The first of a kind has the kind's name.
/// One that sits in another part than the display has the part's name behind it (`accelerometer-base`), whether it
/// comes first or not; further ones are numbered (`accelerometer-2`).
package struct SensorRoster: Sendable {
    /// What is known of a device that is to have a name.
    package struct Candidate: Hashable, Sendable {
        package var kind: SensorKind
        /// The name of its driver or model.
        package var driver: String
        /// Where it sits; empty when unknown.
        package var placement: String

        package init(kind: SensorKind, driver: String, placement: String) {
            self.kind = kind
            self.driver = driver
            self.placement = placement
        }
    }

    private struct Entry {
        let name: String
        var candidate: Candidate
        var isPresent: Bool
    }

    private var entries: [Entry] = []

    package init() {}

    /// Reserves a name that something else than a device has.
    package mutating func reserve(_ name: String) {
        let kind = SensorKind.accelerometer
        let nobody = Candidate(kind: kind, driver: "", placement: "\0")
        self.entries.append(Entry(name: name, candidate: nobody, isPresent: true))
    }

    /// The name for a device that came. `isNew`: nobody had it before.
    package mutating func appeared(_ candidate: Candidate) -> (name: String, isNew: Bool) {
        let free = self.entries.indices.filter {
            !self.entries[$0].isPresent && self.entries[$0].candidate.kind == candidate.kind
                && Self.suffix(self.entries[$0].candidate) == Self.suffix(candidate)
        }
        if let index = free.first(where: { self.entries[$0].candidate.driver == candidate.driver }) ?? free.first {
            self.entries[index].isPresent = true
            self.entries[index].candidate = candidate
            return (self.entries[index].name, false)
        }
        let base = candidate.kind.rawValue + Self.suffix(candidate)
        var name = base
        var number = 1
        while self.entries.contains(where: { $0.name == name }) {
            number += 1
            name = "\(base)-\(number)"
        }
        self.entries.append(Entry(name: name, candidate: candidate, isPresent: true))
        return (name, true)
    }

    package mutating func vanished(_ name: String) {
        guard let index = self.entries.firstIndex(where: { $0.name == name }) else { return }
        self.entries[index].isPresent = false
    }

    private static func suffix(_ candidate: Candidate) -> String {
        switch candidate.placement {
        case "", "display": ""
        case let other: "-" + String(String.UnicodeScalarView(other.unicodeScalars.map(self.plain)))
        }
    }

    /// A placement comes from a label that anybody may have written: letters and digits are all a name needs.
    private static func plain(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar {
        case "a"..."z", "0"..."9": scalar
        case "A"..."Z": Unicode.Scalar(UInt8(truncatingIfNeeded: scalar.value) | 0x20)
        default: "-"
        }
    }
}
