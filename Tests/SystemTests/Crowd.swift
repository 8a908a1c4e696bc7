import TestSupport
import Testing

/// Many who are there beside a good app, as `test-attacker` makes them; they do nothing more until something happens.
struct Crowd: Sendable {
    let kind: Kind
    let count: Int
    /// Of each.
    var detectors = 1
    /// In thousandths of g: those of an app begin here, one after the other.
    var threshold = Crowd.unreached
    /// Root's, on a bus where attackers are another user.
    var isRoots = false

    enum Kind: String, Sendable {
        case apps
        case claimants
    }

    /// What happens to it while others are measured.
    enum Event: String, Sendable {
        /// All leave in one moment.
        case leaves
        /// All detectors are hit at once.
        case isHit
    }

    /// What nobody shakes as hard as.
    static let unreached = 50_000
    /// Of many apps that a system bus lets one user connect, these are as many as leave room for who measures.
    static let ofOneUser = 200

    static func apps(
        _ count: Int, detectors: Int = 1, threshold: Int = Crowd.unreached, isRoots: Bool = false
    ) -> Crowd {
        Crowd(kind: .apps, count: count, detectors: detectors, threshold: threshold, isRoots: isRoots)
    }

    static func claimants(_ count: Int) -> Crowd { Crowd(kind: .claimants, count: count) }

    /// The app of it that came first. Those of another user have no names, which a system bus gives to whom it knows.
    var firstApp: String { "org.example.\(self.name)0" }

    private var name: String { self.isRoots ? "Roots" : "Crowd" }

    /// Starts it, and returns when all are there. Who ends the program has them leave.
    func start(on address: String, _ options: [String]) throws -> BackgroundProgram {
        let program = try BackgroundProgram(
            "test-attacker",
            [
                "crowd", self.kind.rawValue, "--bus", address, "--connections", "\(self.count)",
                "--detectors", "\(self.detectors)", "--threshold", "\(self.threshold)", "--rest", "86400000000",
            ] + (self.isRoots || options.isEmpty ? ["--app", self.name] : options))
        _ = try program.waitForLine(timeout: .seconds(120)) { $0 == "there" }
        return program
    }
}

/// What happens to a crowd, and whom that could delay.
struct CrowdAttack: Sendable, CustomTestStringConvertible {
    let event: Crowd.Event
    let crowds: [Crowd]
    var otherUser = false

    var testDescription: String {
        let total = self.crowds.reduce(0) { $0 + $1.count }
        let detectors = self.crowds.reduce(0) { $0 + $1.count * $1.detectors }
        return "\(total) apps with \(detectors) detectors, \(self.event)\(self.otherUser ? ", of another user" : "")"
    }

    /// A shake of 5 g reaches those of one app that are a thousandth of a thousandth of g apart.
    private static let reached = 3_000

    static let few = [
        CrowdAttack(event: .leaves, crowds: [.apps(150, detectors: 2)]),
        CrowdAttack(event: .isHit, crowds: [.apps(2, detectors: 256, threshold: reached)]),
    ]

    /// As many detectors as one user may have, and apps enough to delay others.
    static let many = [
        CrowdAttack(event: .leaves, crowds: [.apps(2_000, detectors: 2)]),
        CrowdAttack(event: .leaves, crowds: [.apps(Crowd.ofOneUser, detectors: 20)], otherUser: true),
        CrowdAttack(event: .isHit, crowds: [.apps(2, detectors: 2_048, threshold: reached)]),
        CrowdAttack(
            event: .isHit,
            crowds: [
                .apps(1, detectors: 64, threshold: reached, isRoots: true),
                .apps(2, detectors: 2_000, threshold: reached),
            ], otherUser: true),
    ]

    static let all = few + (FloodBars.asked == nil ? [] : many)
}
