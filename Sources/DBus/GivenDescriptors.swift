/// The latest answers that brought a descriptor.
///
/// Which connection takes descriptors only the bus knows. dbus-daemon does not hand on an answer that brings one to a
/// connection that takes none, and tells us alone; so we have to know whom to tell.
struct GivenDescriptors {
    struct Answer {
        fileprivate let serial: UInt32
        /// The serial of the call.
        let call: UInt32
        let caller: String
    }

    private var answers: [Answer] = []

    /// A caller may have as many calls under way.
    private static let most = CallLimits.outstanding

    mutating func add(_ serial: UInt32, answering call: UInt32, of caller: String) {
        if self.answers.count >= Self.most { self.answers.removeFirst() }
        self.answers.append(Answer(serial: serial, call: call, caller: caller))
    }

    mutating func remove(_ serial: UInt32) -> Answer? {
        guard let index = self.answers.firstIndex(where: { $0.serial == serial }) else { return nil }
        return self.answers.remove(at: index)
    }
}
