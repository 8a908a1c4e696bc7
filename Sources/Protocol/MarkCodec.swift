package import DBus

/// The body of `Gap`: `(tta{sv})` = the first and the last number that the app does not get, and why.
package enum GapCodec {
    package typealias Wire = Structure<UInt64, UInt64, [String: Value]>

    package static let signature: StaticString = "(tta{sv})"

    private enum Key {
        static let dropped = "dropped"
        static let expired = "expired"
        static let removed = "removed"
    }

    /// A gap as it travels.
    package struct Body: Equatable, Sendable {
        package var first: UInt64
        package var last: UInt64
        package var dropped: UInt64
        package var expired: UInt64
        package var removed: UInt64

        package init(first: UInt64, last: UInt64, dropped: UInt64, expired: UInt64, removed: UInt64) {
            self.first = first
            self.last = last
            self.dropped = dropped
            self.expired = expired
            self.removed = removed
        }
    }

    package static func write(_ gap: Body, to writer: inout WireWriter) {
        writer.structure { body in
            body.uint64(gap.first)
            body.uint64(gap.last)
            body.array(of: "{sv}") { details in
                if gap.dropped > 0 { details.entry(Key.dropped, gap.dropped) }
                if gap.expired > 0 { details.entry(Key.expired, gap.expired) }
                if gap.removed > 0 { details.entry(Key.removed, gap.removed) }
            }
        }
    }

    /// The gap of a message, or `nil` when it is not what it should be.
    package static func read(_ message: borrowing Message) -> Body? {
        guard message.hasSignature(self.signature), let wire = try? message.read(Wire.self),
            wire.fields.0 <= wire.fields.1
        else { return nil }
        func count(_ key: String) -> UInt64 {
            if case .uint64(let count) = wire.fields.2[key] { count } else { 0 }
        }
        return Body(
            first: wire.fields.0, last: wire.fields.1, dropped: count(Key.dropped), expired: count(Key.expired),
            removed: count(Key.removed))
    }
}

/// The body of `CaughtUp`: `(ta{sv})` = the number of the last event that was kept, and nothing else yet.
package enum CaughtUpCodec {
    package typealias Wire = Structure<UInt64, [String: Value]>

    package static let signature: StaticString = "(ta{sv})"

    package static func write(_ last: UInt64, to writer: inout WireWriter) {
        writer.structure { body in
            body.uint64(last)
            body.array(of: "{sv}") { _ in }
        }
    }

    /// The number of a message, or `nil` when it is not what it should be.
    package static func read(_ message: borrowing Message) -> UInt64? {
        guard message.hasSignature(self.signature) else { return nil }
        return (try? message.read(Wire.self))?.fields.0
    }
}

/// What `Subscribe` takes and answers.
package enum SubscribeOptions {
    /// The sequence and epoch of the last event that the app is done with.
    package static let since = "since"
    package static let known = [Self.since]
    /// In the answer: how many events are kept.
    package static let kept = "kept"

    package static func options(since event: (sequence: UInt64, epoch: UInt64)?) -> [String: Value] {
        guard let event else { return [:] }
        return [Self.since: .structure([.uint64(event.sequence), .uint64(event.epoch)])]
    }
}
