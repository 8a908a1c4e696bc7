/// Processes of which one may be in front, where a shell answers for each whether it is, and others name them.
///
/// Anybody may name any number of them. So there is room for few, the latest of those that were asked after already. Who was not yet
/// keeps its place until then, whatever is named behind it; and the process that the shell itself said last to be in front keeps it for
/// good: it is asked after in each round.
package struct FrontCandidates: Sendable {
    /// The most processes that are asked after.
    package static let most = 16

    /// Whom the shell confirmed last.
    private var front: UInt32?
    /// The others, the latest last.
    private var others: [Other] = []

    private struct Other {
        let process: UInt32
        /// The shell was asked since it was named last.
        var isAsked: Bool
    }

    package init() {}

    /// Whom to ask after.
    package var all: [UInt32] { (self.front.map { [$0] } ?? []) + self.others.map(\.process) }

    /// Begins a round in which all are asked after. Who is named while it is under way is to be asked after again.
    package mutating func beginRound() -> [UInt32] {
        for index in self.others.indices { self.others[index].isAsked = true }
        return self.all
    }

    /// These were named, by whomever.
    package mutating func add(_ processes: [UInt64]) {
        for process in processes.prefix(Self.most) {
            guard let process = UInt32(exactly: process), process > 0, process != self.front else { continue }
            self.put(Other(process: process, isAsked: false))
        }
    }

    /// The shell said that this one is in front. Who was before may be again soon.
    package mutating func confirm(_ process: UInt32) {
        guard process != self.front else { return }
        let old = self.front
        self.front = process
        self.others.removeAll { $0.process == process }
        if let old { self.put(Other(process: old, isAsked: true)) }
    }

    private mutating func put(_ other: Other) {
        self.others.removeAll { $0.process == other.process }
        self.others.append(other)
        // One place is that of who is in front, also before anybody is.
        guard self.others.count > Self.most - 1 else { return }
        // Where nobody was asked after yet, the one that comes is left out.
        self.others.remove(at: self.others.firstIndex(where: \.isAsked) ?? self.others.count - 1)
    }
}
