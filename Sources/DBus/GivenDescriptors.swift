import Motion

/// The latest answers that brought a descriptor.
///
/// Which connection takes descriptors only the bus knows. dbus-daemon does not hand on an answer that brings one to a
/// connection that takes none, and tells us alone; so we have to know whom to tell. Of each user the latest are known, however
/// many others have.
struct GivenDescriptors {
    struct Answer {
        fileprivate let serial: UInt32
        /// The serial of the call.
        let call: UInt32
        let caller: String
    }

    private var answers = LatestOfUsers<Answer>(Self.shares)

    /// A caller may have so many calls under way, and the share of the first user holds all of them.
    static let most = 4 * CallLimits.outstanding
    static let shares = UserShares(limit: Self.most, reserve: 0)

    var usage: LimitUsage { LimitUsage("descriptor-answers", self.answers.shares) }

    mutating func add(_ serial: UInt32, answering call: UInt32, of caller: String, _ user: UInt32?) {
        self.answers.add(Answer(serial: serial, call: call, caller: caller), of: user)
    }

    mutating func remove(_ serial: UInt32) -> Answer? { self.answers.takeFirst { $0.serial == serial } }

    func has(_ caller: String) -> Bool { self.answers.elements.contains { $0.caller == caller } }

    /// Whose a caller is: what he was given counts in that user's share from now on.
    mutating func setUser(_ user: UInt32, of caller: String) { self.answers.setUser(user) { $0.caller == caller } }

    /// A caller left.
    mutating func forget(_ caller: String) { _ = self.answers.takeAll { $0.caller == caller } }
}
