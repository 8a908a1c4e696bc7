/// A closed list of words that a policy file may use, each with a small number.
package protocol Word: RawRepresentable<UInt8>, CaseIterable, Hashable, Sendable {
    /// The word as it is written.
    var name: String { get }
}

/// Some of the words of a list.
package struct WordSet<Element: Word>: Hashable, Sendable {
    package private(set) var bits: UInt16

    package init(bits: UInt16) {
        self.bits = bits
    }

    package init(_ elements: some Sequence<Element>) {
        self.bits = 0
        for element in elements { self.insert(element) }
    }

    package static var none: Self { Self(bits: 0) }
    /// The numbers of words count from 0, without a gap.
    package static var all: Self { Self(bits: UInt16(truncatingIfNeeded: 1 << Element.allCases.count) &- 1) }

    package var isEmpty: Bool { self.bits == 0 }
    package var isAll: Bool { self == .all }
    /// In the order of the list.
    package var elements: [Element] { Element.allCases.filter { self.contains($0) } }

    package func contains(_ element: Element) -> Bool { self.bits & (1 << UInt16(element.rawValue)) != 0 }
    package mutating func insert(_ element: Element) { self.bits |= 1 << UInt16(element.rawValue) }
    package func union(_ other: Self) -> Self { Self(bits: self.bits | other.bits) }
    package func intersection(_ other: Self) -> Self { Self(bits: self.bits & other.bits) }
    package func subtracting(_ other: Self) -> Self { Self(bits: self.bits & ~other.bits) }
    package func isDisjoint(with other: Self) -> Bool { self.bits & other.bits == 0 }
}

/// Where an app stands. The order is the one in which `Select=state` prefers.
package enum AppState: UInt8, Word {
    case foreground, inactive, background, suspended, dead

    package var name: String {
        switch self {
        case .foreground: "foreground"
        case .inactive: "inactive"
        case .background: "background"
        case .suspended: "suspended"
        case .dead: "dead"
        }
    }

    /// A suspended or dead app cannot take an event; it can be woken, or the event can be stored for it.
    package var canReceive: Bool { self != .suspended && self != .dead }
}

/// What background work is for. A grant is the permission to do it, an activity is doing it.
package enum BackgroundMode: UInt8, Word {
    case audio, location, bluetooth, fetch, processing, voip, push

    package var name: String {
        switch self {
        case .audio: "audio"
        case .location: "location"
        case .bluetooth: "bluetooth"
        case .fetch: "fetch"
        case .processing: "processing"
        case .voip: "voip"
        case .push: "push"
        }
    }
}

/// How it is proven that a client is the app it says it is, weakest first.
package enum IdentityProof: UInt8, Word, Comparable {
    /// Only the user is known: a client without a name.
    case uid
    /// It owns the well-known name.
    case name
    /// It runs in the service unit of the app.
    case unit
    /// It runs in the Flatpak sandbox of the app.
    case flatpak

    package var name: String {
        switch self {
        case .uid: "uid"
        case .name: "name"
        case .unit: "unit"
        case .flatpak: "flatpak"
        }
    }

    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
