/// Topics on which the state of something was told, of which a server keeps the last: when the thing is gone it is to be taken away there.
///
/// What an earlier life told is known from the disk. What is not told again within a while after there is a server is gone, too, for
/// nobody else says so.
package struct ToldStates: Equatable, Sendable {
    private enum Told: Equatable, Sendable {
        case there
        case gone
        /// By an earlier life, and not in this one.
        case before
    }

    private var told: [String: Told] = [:]
    /// Whatever is still there was told again.
    private var isSettled = false

    /// So many topics are remembered at most.
    package static let most = 1_024

    /// - Parameters:
    ///   - text: What `text` was in an earlier life.
    ///   - device: Whose topics count.
    package init(_ text: String, of device: String) {
        let base = "\(FleetTopics.root)/\(device)/"
        for line in text.split(separator: "\n").prefix(Self.most) where line.hasPrefix(base) {
            self.told[String(line)] = .before
        }
    }

    /// A state is told, or that there is none any more. Returns whether `text` is another one now.
    package mutating func tell(_ topic: String, isThere: Bool) -> Bool {
        if self.told[topic] == nil, self.told.count >= Self.most { self.told = self.told.filter { $0.value == .there } }
        let old = self.told[topic]
        guard old != nil || self.told.count < Self.most else { return false }
        self.told[topic] = isThere ? .there : .gone
        return old == nil || (old == .before && self.isSettled)
    }

    /// Something that an earlier life told may be told again, or be gone.
    package var waits: Bool { !self.isSettled && self.told.values.contains(.before) }

    /// There has been a server for so long that whatever is still there was told again.
    package mutating func settle() { self.isSettled = true }

    /// Of what the server may still keep a state that is there no more.
    package var gone: [String] {
        self.told.filter { $0.value == .gone || ($0.value == .before && self.isSettled) }.keys.sorted()
    }

    /// What is to be known in the next life: a topic a line.
    package var text: String {
        self.told.filter { $0.value != .before || !self.isSettled }.keys.sorted().map { "\($0)\n" }.joined()
    }
}
