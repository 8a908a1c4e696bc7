/// An app's id: the well-known bus name it owns or is activated by. Empty for a client without a name.
package struct AppID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let name: String

    /// The id as it stands. Whether the caller owns the name is the bus's word, not this type's.
    package init(_ name: String) {
        self.name = name
    }

    package var isAnonymous: Bool { self.name.isEmpty }
    package var description: String { self.name }

    package static func < (a: AppID, b: AppID) -> Bool { a.name < b.name }
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
