import Motion

/// The last samples of a sensor. It is as large from the beginning as it ever gets.
struct MotionRing: Sendable {
    private let width: Int
    private var times: [Int64]
    private var values: [Double]
    /// The place of the next sample.
    private var next = 0
    private var count = 0
    /// The time of the newest sample, in µs; negative without one.
    private(set) var last: Int64 = -1

    init(width: Int, capacity: Int) {
        self.width = max(1, width)
        self.times = Array(repeating: 0, count: max(1, capacity))
        self.values = Array(repeating: 0, count: max(1, capacity) * max(1, width))
    }

    /// Takes in the samples that rise and are no later than `latest`: what detectors refused is not kept either.
    mutating func append(_ times: Span<Int64>, _ values: Span<Double>, upTo latest: Int64) {
        let width = self.width
        for row in 0..<min(times.count, values.count / width) {
            let time = times[row]
            guard time > self.last, time <= latest else { continue }
            let (from, to) = (row * width, self.next * width)
            for channel in 0..<width { self.values[to + channel] = values[from + channel] }
            self.times[self.next] = time
            self.last = time
            self.next = self.next + 1 == self.times.count ? 0 : self.next + 1
            if self.count < self.times.count { self.count += 1 }
        }
    }

    /// Copies what there is of a time, the newest of it if that is too much. What is no number is left out.
    func copy(_ range: ClosedRange<Int64>, into clip: inout MotionClip) {
        let most = min(MotionClip.mostSamples, MotionClip.mostValues / self.width)
        let fitting = (0..<self.count).reduce(0) { $0 + (range.contains(self.times[self.place($1)]) ? 1 : 0) }
        var excess = fitting - most
        for age in 0..<self.count {
            let place = self.place(age)
            guard range.contains(self.times[place]) else { continue }
            excess -= 1
            guard excess < 0 else { continue }
            let row = place * self.width..<(place + 1) * self.width
            var isFinite = true
            for index in row where !self.values[index].isFinite { isFinite = false }
            guard isFinite else { continue }
            clip.times.append(self.times[place])
            for index in row { clip.values.append(self.values[index]) }
        }
    }

    /// Where a sample is, counted from the oldest.
    private func place(_ age: Int) -> Int {
        let place = self.next - self.count + age
        return place < 0 ? place + self.times.count : place
    }

    mutating func removeAll() {
        (self.next, self.count, self.last) = (0, 0, -1)
    }
}
