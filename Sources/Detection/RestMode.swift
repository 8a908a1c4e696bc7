/// How a rest is counted.
package enum RestMode: String, Sendable, CaseIterable {
    /// A true look fires when the last hit is at least one rest ago.
    case leading
    /// A true look fires when the last true look is at least one rest ago, so each true look starts the rest anew.
    case restarting
    /// Every true look fires.
    case none
}
