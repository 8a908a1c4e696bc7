import Arbitration
import Detection
import Motion

/// Samples of one sensor may come later than those of another, and groups have apps that listen to both.
///
/// A group is decided when its window closes, so whoever comes later than a deadline waits until all sensors that could have
/// something to say before it have said so, or have had the time to. Hits before any deadline wait for nothing.
extension BrokerCore {
    /// More hits than this do not wait for a slower sensor.
    private static let mostWaiting = 4_096

    /// The sample time up to which all sensors have said what they had to say, `stream` with its last sample.
    mutating func horizon(of stream: Int, at arrival: Timestamp) -> Timestamp? {
        guard let time = self.streams[stream].engine.time else { return nil }
        return min(time, self.horizon(besides: stream, at: arrival))
    }

    /// The same for all sensors but one, which are given the time that their samples may be under way.
    mutating func horizon(besides stream: Int, at arrival: Timestamp) -> Timestamp {
        var time = Timestamp(microseconds: .max)
        // Nobody else can keep up with a trace that is played ahead of the clock.
        guard self.streams.count > 1, !self.streams[stream].isAhead(at: arrival) else { return time }
        for index in self.streams.indices
        where index != stream && self.streams[index].isRead && self.isAwaited(index) {
            time = min(time, self.streams[index].horizon(at: arrival))
        }
        return time
    }

    /// Whether a hit of a sensor could have a say in a motion that is not over.
    private mutating func isAwaited(_ stream: Int) -> Bool {
        let open = self.arbiter.openGroups
        guard !open.isEmpty else { return false }
        let audiences = self.audiences ?? self.makeAudiences()
        self.audiences = audiences
        return open.contains { audiences[$0].contains(stream) }
    }

    /// Finds out which sensors the apps of each group listen to.
    private func makeAudiences() -> [Set<Int>] {
        var audiences = [Set<Int>](repeating: [], count: self.arbiter.policy.groups.count)
        for (index, owner) in self.owners.enumerated() {
            guard let owner, let stream = self.index(of: owner.sensor) else { continue }
            for group in self.arbiter.groups(of: DetectorID(UInt32(truncatingIfNeeded: index))) {
                audiences[Int(group)].insert(stream)
            }
        }
        return audiences
    }

    /// Gives the arbiter hits of a stream, or lets them wait.
    mutating func pass(_ hits: [Hit], of stream: Int, at arrival: Timestamp) {
        guard let last = hits.last?.time else { return }
        let horizon = self.horizon(besides: stream, at: arrival)
        let isNothingDue = self.arbiter.nextMotionDeadline.map { last < $0 } ?? true
        if self.waiting.isEmpty, isNothingDue || last <= horizon { return self.tell(.hits(hits), at: arrival) }
        for hit in hits {
            // Behind those of its time.
            let place = self.waiting.lastIndex { $0.time <= hit.time }.map { $0 + 1 } ?? 0
            self.waiting.insert(hit, at: place)
        }
        self.release(upTo: self.waiting.count > Self.mostWaiting ? nil : horizon, at: arrival)
    }

    /// Gives the arbiter the hits that wait, up to the first deadline that a slower sensor may still have a say in; all of
    /// them without a time.
    mutating func release(upTo time: Timestamp?, at arrival: Timestamp) {
        var count = 0
        while count < self.waiting.count {
            let next = self.waiting[count].time
            if let deadline = self.arbiter.nextMotionDeadline, deadline <= next {
                if let time, deadline > time { break }
                self.tell(.motion(deadline), at: arrival)
                continue
            }
            let end = self.waiting[count...].firstIndex { $0.time > next } ?? self.waiting.count
            self.tell(.hits(Array(self.waiting[count..<end])), at: arrival)
            count = end
        }
        self.waiting.removeFirst(count)
    }
}
