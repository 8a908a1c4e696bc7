package import Arbitration
package import Motion

/// What the administrator says of a bridge: where it goes, what it tells, and what may be changed from outside.
///
/// Without a word it tells nothing but that it is there, and takes nothing.
package struct BridgeConfiguration: Equatable, Sendable {
    package var server = Server()
    /// The id of the device; `nil`: the name of the host.
    package var device: String?
    /// The groups whose wishes count for it.
    package var groups: [String] = []
    package var format = PayloadFormat.json
    /// So many messages are on their way at most.
    package var window = 100
    /// How long what is live may be late.
    package var expiry = TimeSpan.seconds(60)
    /// How much is sent again to a server that remembers nothing.
    package var resend = TimeSpan.seconds(600)
    /// The consumer whose word alone moves the cursor.
    package var acknowledge: String?
    /// Detectors of the bridge's own.
    package var detectors: [DetectorRequest] = []
    package var publish = Publish()
    package var allow = Allow()

    package init() {}

    /// A file: where it is, or as which credential of the unit it comes.
    package enum Place: Hashable, Sendable {
        case path(String)
        case credential(String)

        /// Where the file is; `nil`: it is a credential, and there are none.
        ///
        /// - Parameter credentials: The directory of the unit's.
        package func path(in credentials: String?) -> String? {
            switch self {
            case .path(let path): path
            case .credential(let name): credentials.map { "\($0)/\(name)" }
            }
        }
    }

    package struct Server: Equatable, Sendable {
        package var host = ""
        package var port: UInt16?
        package var isSecure = true
        package var authorities: Place?
        package var certificate: Place?
        package var key: Place?
        package var user: String?
        /// Where the password is: it never stands in the configuration.
        package var password: Place?
        package var keepAlive = TimeSpan.seconds(60)
        /// How long the server keeps our session.
        package var session = TimeSpan.seconds(86_400)

        package var effectivePort: UInt16 { self.port ?? (self.isSecure ? 8883 : 1883) }

        /// What the file of a password holds, but for the end of the line; `nil`: that is no text.
        package static func password(in bytes: [UInt8]) -> String? {
            let end = bytes.lastIndex { $0 != 0x0A && $0 != 0x0D }.map { $0 + 1 } ?? 0
            // To the library a NUL would be its end.
            return bytes.contains(0) ? nil : String(validating: bytes[..<end], as: UTF8.self)
        }
    }

    /// What is told besides the bridge's own detectors; `nil`: nothing.
    package struct Publish: Equatable, Sendable {
        /// Apps whose events.
        package var events: NameList?
        /// Apps whose verdicts, and of so many one.
        package var verdicts: NameList?
        package var verdictsOneIn = 1
        /// Apps whose states.
        package var apps: NameList?
        package var sensors = false
        /// How often what is counted; `nil`: never.
        package var counters: TimeSpan?
        /// The prefix below which a home is told of the device.
        package var home: String?
    }

    /// What may be done from outside.
    package struct Allow: Equatable, Sendable {
        package enum Request: String, CaseIterable, Sendable {
            case status
            case explain
            case whyNot = "why-not"
            case whatIf = "what-if"
        }

        package enum Change: String, CaseIterable, Sendable {
            case policy
            case apps
            case detectors
            case pause
        }

        package var requests: [Request] = []
        package var changes: [Change] = []
        /// What must have signed what is wanted.
        package var signedBy: Place?
        /// When what was not confirmed goes back.
        package var confirmWithin = TimeSpan.seconds(300)

        package var isAnything: Bool { !self.requests.isEmpty || !self.changes.isEmpty }
    }
}
