/// An app's id: the well-known bus name it owns or is activated by. The name is empty for a client without one.
package struct AppID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let name: String
    /// Tells clients without a name apart in logs; 0 where nobody has to.
    package let number: UInt32

    /// The id as it stands. Whether the caller owns the name is the bus's word, not this type's.
    package init(_ name: String) {
        self.name = name
        self.number = 0
    }

    private init(number: UInt32) {
        self.name = ""
        self.number = number
    }

    /// One of the clients without a name. No bus name looks like its description.
    package static func anonymous(_ number: UInt32) -> AppID { AppID(number: number) }

    package var isAnonymous: Bool { self.name.isEmpty }
    package var description: String { self.number == 0 ? self.name : "-\(self.number)" }

    /// A description as people see it: the number of a client without a name says nothing to somebody who does not know that.
    package static func shown(_ description: String) -> String {
        switch description.utf8.first {
        case nil: "(no name)"
        case UInt8(ascii: "-"): "\(description) (no name)"
        default: description
        }
    }

    /// Whether a text is a well-known bus name, as the specification has them.
    package static func isValid(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count >= 2, text.utf8.count <= 255 else { return false }
        return parts.allSatisfy { part in
            guard let first = part.first, !(0x30...0x39).contains(first) else { return false }
            return part.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2D || byte == 0x5F
            }
        }
    }

    package static func < (a: AppID, b: AppID) -> Bool { (a.name, a.number) < (b.name, b.number) }
}

/// The handle of a detector inside the engine: dense, so that it can index an array.
@frozen
public struct DetectorID: Hashable, Comparable, Sendable {
    /// The index.
    public let index: UInt32

    /// Makes a handle from its index.
    @inlinable
    public init(_ index: UInt32) { self.index = index }

    /// Made earlier.
    @inlinable
    public static func < (a: DetectorID, b: DetectorID) -> Bool { a.index < b.index }
}
