import Motion

/// The samples of one sensor that its hub took, numbered from 0 on: the number of each is its first value.
final class ReaderHistory {
    private var times: [Int64] = []
    /// The rate that was in force for each.
    private var rates: [Double] = []
    /// The samples before which something is missing.
    private var breaks: [Int] = []

    /// The number of the sample that comes next.
    var next: Int { self.times.count }

    func accepted(_ time: Timestamp, rate: Double) {
        self.times.append(time.microseconds)
        self.rates.append(rate)
    }

    /// What comes next does not follow on from what came before.
    func breaksOff() {
        if self.breaks.last != self.next { self.breaks.append(self.next) }
    }

    func time(of number: Int) -> Int64? { self.times.indices.contains(number) ? self.times[number] : nil }

    /// Whether something is missing between two samples.
    func isBroken(_ first: Double, _ second: Double, _ others: [Int]) -> Bool {
        self.breaks.contains { Double($0) > first && Double($0) <= second }
            || others.contains { Double($0) > first && Double($0) <= second }
    }

    /// The one rate that was in force from one sample to another, or `nil`.
    func rate(from first: Int, to last: Int) -> Double? {
        guard first >= 0, first <= last, last < self.next else { return nil }
        let rate = self.rates[first]
        return self.rates[first...last].allSatisfy { $0 == rate } ? rate : nil
    }
}

/// One claim as its owner may expect it, and what came of it.
final class ReaderClaim {
    let sensor: String
    /// The connection whose it is, and its user as the reader's books have it; `nil`: the reader's own.
    let owner: String?
    let user: UInt32?
    let request: SensorRequest
    let isStream: Bool
    private let history: ReaderHistory
    /// Samples from which on it was not resting any more.
    private var pauses: [Int] = []
    var isResting = false
    /// It ended as far as the reader knows, or another took its place.
    var isOver = false

    /// What its owner has read: the number that comes next, and the last sample.
    private(set) var next: UInt64 = 0
    private var last: (number: UInt64, sample: Double, time: Int64)?
    /// The first sample that may be its, and the first that it must have had in the end.
    private let first: Int
    private var begin: Int

    init(
        _ sensor: String, of owner: String?, _ user: UInt32?, _ request: SensorRequest, isStream: Bool,
        _ history: ReaderHistory
    ) {
        self.sensor = sensor
        self.owner = owner
        self.user = user
        self.request = request
        self.isStream = isStream
        self.history = history
        self.first = history.next
        self.begin = history.next
    }

    /// Whose it is, and of what.
    var words: String {
        "the \(self.isStream ? "stream" : "claim") of \(self.owner ?? "the reader") on \(self.sensor), user \(self.user.map { "\($0)" } ?? "-")"
    }

    func pause(_ isResting: Bool) {
        if self.isResting != isResting { self.pauses.append(self.history.next) }
        self.isResting = isResting
        if !isResting { self.begin = self.history.next }
    }

    /// Its owner is told that numbers do not come. Returns what is wrong.
    func takeGap(_ first: UInt64, _ count: UInt64) -> String? {
        defer { self.next = first + count }
        if first != self.next { return "a gap from \(first) on, and \(self.next) is next" }
        return count == 0 ? "a gap of nothing" : nil
    }

    /// Its owner has read samples. Returns what is wrong.
    func take(_ first: UInt64, _ times: [Int64], _ samples: [Double]) -> String? {
        if first < self.next { return "\(first) comes again, and \(self.next) is next" }
        if self.isStream, first > self.next { return "from \(self.next) to \(first) there is a hole that was not told" }
        for index in times.indices {
            let number = first + UInt64(index)
            if let wrong = self.take(number, times[index], samples[index]) { return "\(number): \(wrong)" }
            self.last = (number, samples[index], times[index])
            self.next = number + 1
        }
        return nil
    }

    private func take(_ number: UInt64, _ time: Int64, _ sample: Double) -> String? {
        if self.request.decimation != .mean {
            guard self.history.time(of: Int(sample)) != nil else { return "sample \(sample) never was" }
            if self.request.decimation == .last, self.history.time(of: Int(sample)) != time {
                return "the time of sample \(sample) is another's"
            }
        }
        guard let last = self.last else {
            return sample < Double(self.first) ? "sample \(sample) is older than the claim" : nil
        }
        if time <= last.time { return "its time is not after that of \(last.number)" }
        if sample <= last.sample { return "sample \(sample) comes after \(last.sample)" }
        guard number == last.number + 1 else { return nil }
        if self.history.isBroken(last.sample, sample, self.pauses) {
            return "it follows on from \(last.number), and something is missing between them"
        }
        return self.skips(Int(last.sample), Int(sample))
    }

    /// What is wrong with the samples that were left out between two that follow each other.
    private func skips(_ first: Int, _ second: Int) -> String? {
        guard self.request.decimation == .last, second > first + 1,
            let rate = self.history.rate(from: first, to: second)
        else { return nil }
        if rate <= self.request.pace.rate {
            return self.isTooMuch(from: first, to: second - 1, rate)
                ? nil : "sample \(first + 1) of \(rate) Hz is left out"
        }
        let begin = self.history.time(of: first) ?? 0
        let end = self.history.time(of: second - 1) ?? 0
        // One in between was due then; of those that all may see, the one before which the next could not be.
        let pause = self.isShared ? 1_000_000 / min(rate, SensorLimits.rateForAll) : 0
        return Double(end - begin) > 1_000_000 / self.request.pace.rate + pause + 2
            ? "sample \(second - 1) is left out, which is due \(end - begin) us after the one before" : nil
    }

    /// Whether it sees of the samples only that all may see, together, as a stranger does and the reader itself, whose name is none.
    private var isShared: Bool {
        (self.user != nil || self.owner == nil) && self.request.pace.rate <= SensorLimits.rateForAll
    }

    /// Whether a device gives more from one sample to another than it says, so that not all of it is for who is bounded.
    private func isTooMuch(from first: Int, to last: Int, _ rate: Double) -> Bool {
        let (begin, end) = (self.history.time(of: first) ?? 0, self.history.time(of: last) ?? 0)
        return (self.user != nil || self.isShared) && Double(end - begin) < 800_000 / rate
    }

    /// What is wrong when all was read that there is.
    func check() -> String? {
        guard !self.isResting, self.request.decimation == .last, self.begin < self.history.next,
            let rate = self.history.rate(from: self.begin, to: self.history.next - 1), rate <= self.request.pace.rate
        else { return nil }
        let newest = Double(self.history.next - 1)
        // It has had none yet where what all may see was taken just before it came.
        let last = self.last.map { Int($0.sample) } ?? self.begin - 1
        if last >= 0, self.isTooMuch(from: last, to: self.history.next - 1, rate) { return nil }
        return self.last?.sample == newest
            ? nil : "\(self.last.map { "\($0.sample)" } ?? "nothing") is the last of it, and \(newest) of the sensor"
    }
}
