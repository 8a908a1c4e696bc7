/// When a lane looks.
struct LookClock {
    let every: Int64
    /// The time of the first sample that the next look or bucket may begin with.
    var nextDue = Int64.min
    /// Negative before the first look after a start or a gap.
    var lastLook: Int64 = -1

    /// The first time after `time` at which a bucket of the grid begins.
    func boundary(after time: Int64, origin: Int64) -> Int64 {
        guard self.every > 0 else { return .min }
        return origin + ((time - origin) / self.every + 1) * self.every
    }
}

/// The looks of a stretch of samples whose features are computed together.
struct LookBlock {
    /// Where the next block begins.
    var nextRow = 0
    var count = 0
    /// The first look that is not done.
    var next = 0
    /// The time of the look before the block, negative without one.
    private(set) var before: Int64 = -1
    /// The longest time between two looks.
    private(set) var longestStep: Int64 = 0
    private(set) var times = [Int64](repeating: 0, count: most)
    private(set) var rows = [Int](repeating: 0, count: most)

    /// As many as a column is long at most.
    static let most = 64

    /// Takes the looks that are due among the rows from `nextRow` up to `end`, and puts their values into the channels'
    /// columns.
    mutating func fill(
        _ clock: inout LookClock, _ columns: inout [Double], stride: Int, _ times: Span<Int64>, _ values: Span<Double>,
        width: Int, to end: Int, origin: Int64
    ) {
        self.before = clock.lastLook
        self.next = 0
        self.count = Self.fill(
            &self.times, &self.rows, &self.nextRow, &self.longestStep, &clock, &columns, stride, times, values, width,
            end, origin)
    }

    private static func fill(
        _ lookTimes: inout [Int64], _ lookRows: inout [Int], _ nextRow: inout Int, _ longestStep: inout Int64,
        _ clock: inout LookClock, _ columns: inout [Double], _ stride: Int, _ times: Span<Int64>,
        _ values: Span<Double>, _ width: Int, _ end: Int, _ origin: Int64
    ) -> Int {
        var lookTimes = lookTimes.mutableSpan
        var lookRows = lookRows.mutableSpan
        var columns = columns.mutableSpan
        let first = nextRow
        var row = first
        var look = 0
        let every = clock.every
        var nextDue = clock.nextDue
        // Before the first look of all there is no step.
        var last = clock.lastLook >= 0 ? clock.lastLook : .max / 2
        var longest: Int64 = 0
        // SAFETY, here and below: the caller has seen to it that there is a value for each channel of each row; channels
        // have the first columns, and a column has `stride` places, which are no more than `most`.
        while row < end, look < stride {
            let time = times[unchecked: row]
            if time >= nextDue {
                if every > 0 {
                    // Without a division while looks come at their pace.
                    nextDue = nextDue &+ every
                    if time >= nextDue { nextDue = clock.boundary(after: time, origin: origin) }
                }
                lookTimes[unchecked: look] = time
                lookRows[unchecked: look] = row
                longest = max(longest, time &- last)
                last = time
                look &+= 1
            }
            row &+= 1
        }
        clock.nextDue = nextDue
        nextRow = row
        longestStep = longest
        if look == row - first {
            // Every row is a look.
            for channel in 0..<width {
                var place = first &* width &+ channel
                for look in channel &* stride..<channel &* stride &+ look {
                    columns[unchecked: look] = values[unchecked: place]
                    place &+= width
                }
            }
        } else {
            for channel in 0..<width {
                for look in 0..<look {
                    columns[unchecked: channel &* stride &+ look] =
                        values[unchecked: lookRows[unchecked: look] &* width &+ channel]
                }
            }
        }
        return look
    }

    /// The first look, from the next on, that lies at least `rest` after the one before, or the count.
    func firstStep(of rest: Int64) -> Int {
        var previous = self.next > 0 ? self.times[self.next - 1] : self.before
        for look in self.next..<self.count {
            if previous >= 0, self.times[look] - previous >= rest { return look }
            previous = self.times[look]
        }
        return self.count
    }
}
