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
        /// In whose share it counts.
        fileprivate var payer: UInt32
    }

    private var answers: [Answer] = []
    private var shares = UserShares(limit: Self.most, reserve: 0)

    /// A caller may have so many calls under way, and the share of the first user holds all of them.
    static let most = 4 * CallLimits.outstanding
    /// Stands for those whose user is not known.
    private static let unknown = UInt32.max

    mutating func add(_ serial: UInt32, answering call: UInt32, of caller: String, _ user: UInt32?) {
        let payer = user ?? Self.unknown
        while !self.shares.take(1, for: payer) {
            guard let index = self.first(toGoFor: payer) else { return }
            self.remove(at: index)
        }
        self.answers.append(Answer(serial: serial, call: call, caller: caller, payer: payer))
    }

    /// The oldest answer of a user; if there is none, of whoever has most.
    private func first(toGoFor payer: UInt32) -> Int? {
        if let own = self.answers.firstIndex(where: { $0.payer == payer }) { return own }
        let heaviest = self.answers.map(\.payer).max {
            (self.shares.held(by: $0), $0) < (self.shares.held(by: $1), $1)
        }
        return self.answers.firstIndex { $0.payer == heaviest }
    }

    @discardableResult
    private mutating func remove(at index: Int) -> Answer {
        let answer = self.answers.remove(at: index)
        self.shares.giveBack(1, for: answer.payer)
        return answer
    }

    mutating func remove(_ serial: UInt32) -> Answer? {
        self.answers.firstIndex { $0.serial == serial }.map { self.remove(at: $0) }
    }

    func has(_ caller: String) -> Bool { self.answers.contains { $0.caller == caller } }

    /// Whose a caller is: what he was given counts in that user's share from now on.
    mutating func setUser(_ user: UInt32, of caller: String) {
        let own = self.answers.filter { $0.caller == caller }
        guard own.contains(where: { $0.payer != user }) else { return }
        self.forget(caller)
        for answer in own { self.add(answer.serial, answering: answer.call, of: caller, user) }
    }

    /// A caller left.
    mutating func forget(_ caller: String) {
        for index in self.answers.indices.reversed() where self.answers[index].caller == caller {
            self.remove(at: index)
        }
    }
}
