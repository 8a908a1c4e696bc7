import Glibc
import Motion

/// Who stands behind a connection, or what it hears while that cannot be said.
package typealias CallerAnswer = Result<CallerIdentity, BusError>

/// Who stands behind a connection, as far as that says what it may ask for.
package struct CallerIdentity: Equatable, Sendable {
    package let user: UInt32
    /// The sandbox that it runs in; `nil`: in none, or nobody looks for sandboxes.
    package let sandbox: Sandbox?

    package enum Sandbox: Equatable, Sendable {
        /// That of an app, by its id.
        case app(String)
        /// One that does not say whose it is, or a process that does not show whether it runs in one.
        case unknown
    }

    package init(user: UInt32, sandbox: Sandbox? = nil) {
        self.user = user
        self.sandbox = sandbox
    }

    /// Whether it is root, and in no sandbox.
    package var isRoot: Bool { self.user == UserShares.root && self.sandbox == nil }

    /// Whether it is our own user or root, and in no sandbox: who is in one is not the user whose app it is.
    package var isTrusted: Bool { (self.user == UserShares.root || self.user == getuid()) && self.sandbox == nil }

    /// In whose share counts what it takes otherwise than as an app: who is in a sandbox uses up nothing of its user's.
    package var payer: UInt32 { self.sandbox == nil ? self.user : UserShares.unknown }
}
