/// Processes of which one may be in front, where a shell answers for each whether it is, and others name them.
///
/// Anybody may name any number of them. So there is room for few, the latest of what is named, and the process that the shell itself
/// said last to be in front keeps its place whatever is named: it is asked after in each round.
package struct FrontCandidates: Sendable {
    /// The most processes that are asked after.
    package static let most = 16

    /// Whom the shell confirmed last.
    private var front: UInt32?
    /// The others, the latest last.
    private var others: [UInt32] = []

    package init() {}

    /// Whom to ask after.
    package var all: [UInt32] { (self.front.map { [$0] } ?? []) + self.others }

    /// These were named, by whomever.
    package mutating func add(_ processes: [UInt64]) {
        for process in processes.prefix(Self.most) {
            guard let process = UInt32(exactly: process), process > 0, process != self.front else { continue }
            self.put(process)
        }
    }

    /// The shell said that this one is in front. Who was before may be again soon.
    package mutating func confirm(_ process: UInt32) {
        guard process != self.front else { return }
        let old = self.front
        self.front = process
        self.others.removeAll { $0 == process }
        if let old { self.put(old) }
    }

    private mutating func put(_ process: UInt32) {
        self.others.removeAll { $0 == process }
        self.others.append(process)
        // One place is that of who is in front, also before anybody is.
        self.others.removeFirst(max(0, self.others.count - (Self.most - 1)))
    }
}
