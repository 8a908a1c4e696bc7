/// Ends the process when something that our own code guarantees does not hold.
///
/// Unlike `precondition`, the message survives in release builds. Never to be used on what comes from outside.
/// Public and inlinable because it stands on every line of the hot path: as a call, with its two closures, it was the
/// costliest function of ours there.
@inlinable
@inline(__always)
public func invariant(
    _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String,
    file: StaticString = #fileID, line: UInt = #line
) {
    if !condition() { fatalError(message(), file: file, line: line) }
}

/// Ends the process at a place that our own code guarantees is never reached.
package func invariantFailure(_ message: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    fatalError(message, file: file, line: line)
}
