package import DBus

/// What an app is told besides the events for which it is launched.
package enum LaunchOptions {
    private static let missing = "missing"

    /// - Parameter missing: how many events before the last of these the app does not get.
    package static func options(missing: UInt64) -> [String: Value] {
        missing == 0 ? [:] : [Self.missing: .uint64(missing)]
    }

    package static func missing(in options: [String: Value]) -> UInt64 {
        if case .uint64(let count) = options[Self.missing] { count } else { 0 }
    }
}
