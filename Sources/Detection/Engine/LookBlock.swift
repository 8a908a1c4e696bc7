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
    /// The longest time between two looks; negative until it is asked for.
    private var longestStep: Int64 = -1
    private(set) var times = [Int64](repeating: 0, count: most)
    /// The row of the first look; and the rows of all, unless they follow each other.
    private var firstRow = 0
    private var isSparse = false
    private var rows = [Int](repeating: 0, count: most)

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
        self.longestStep = -1
        self.firstRow = self.nextRow
        self.count = Self.fillDense(
            &self.times, &self.nextRow, &clock, times, min(end, self.nextRow + stride))
        self.isSparse = self.nextRow < end && self.count < stride
        if self.isSparse {
            self.count = Self.fillSparse(
                &self.times, &self.rows, &self.nextRow, self.count, &clock, stride, times, end, origin)
            Self.gather(self.rows, self.count, &columns, stride, values, width)
        } else {
            Self.gather(from: self.firstRow, self.count, &columns, stride, values, width)
        }
    }

    func row(of look: Int) -> Int { self.isSparse ? self.rows[look] : self.firstRow + look }

    /// Takes rows as long as each of them is a look at its place in the grid. Returns how many.
    private static func fillDense(
        _ lookTimes: inout [Int64], _ nextRow: inout Int, _ clock: inout LookClock, _ times: Span<Int64>, _ end: Int
    ) -> Int {
        var lookTimes = lookTimes.mutableSpan
        let first = nextRow
        let every = clock.every
        // Without a pace everything is due, always: `nextDue` stays at the beginning of time.
        let span = every == 0 ? .max : UInt64(every)
        var row = first
        var nextDue = clock.nextDue
        while row < end {
            // SAFETY: the rows are the caller's, and a block has as many places as `end` lies ahead at most.
            let time = times[unchecked: row]
            // What is not due yet wraps round and lies behind the span too.
            guard UInt64(bitPattern: time &- nextDue) < span else { break }
            nextDue = nextDue &+ every
            lookTimes[unchecked: row &- first] = time
            row &+= 1
        }
        clock.nextDue = nextDue
        nextRow = row
        return row - first
    }

    /// Goes on after some dense looks where rows are left out, or the grid jumps.
    private static func fillSparse(
        _ lookTimes: inout [Int64], _ lookRows: inout [Int], _ nextRow: inout Int, _ dense: Int,
        _ clock: inout LookClock, _ stride: Int, _ times: Span<Int64>, _ end: Int, _ origin: Int64
    ) -> Int {
        let first = nextRow - dense
        for look in 0..<dense { lookRows[look] = first + look }
        var lookTimes = lookTimes.mutableSpan
        var lookRows = lookRows.mutableSpan
        var row = nextRow
        var look = dense
        let every = clock.every
        var nextDue = clock.nextDue
        while row < end, look < stride {
            // SAFETY: the rows are the caller's, and a column has `stride` places, which are no more than `most`.
            let time = times[unchecked: row]
            if time >= nextDue {
                if every > 0 {
                    // Without a division while looks come at their pace.
                    nextDue = nextDue &+ every
                    if time >= nextDue { nextDue = clock.boundary(after: time, origin: origin) }
                }
                lookTimes[unchecked: look] = time
                lookRows[unchecked: look] = row
                look &+= 1
            }
            row &+= 1
        }
        clock.nextDue = nextDue
        nextRow = row
        return look
    }

    // SAFETY, in both: the caller has seen to it that there is a value for each channel of each row; channels have the
    // first columns, and a column has `stride` places.

    private static func gather(
        from first: Int, _ count: Int, _ columns: inout [Double], _ stride: Int, _ values: Span<Double>, _ width: Int
    ) {
        var columns = columns.mutableSpan
        for channel in 0..<width {
            var place = first &* width &+ channel
            for look in channel &* stride..<channel &* stride &+ count {
                columns[unchecked: look] = values[unchecked: place]
                place &+= width
            }
        }
    }

    private static func gather(
        _ rows: borrowing [Int], _ count: Int, _ columns: inout [Double], _ stride: Int, _ values: Span<Double>,
        _ width: Int
    ) {
        var columns = columns.mutableSpan
        for channel in 0..<width {
            for look in 0..<count {
                columns[unchecked: channel &* stride &+ look] = values[unchecked: rows[look] &* width &+ channel]
            }
        }
    }

    /// The first look, from the next on, that lies at least `rest` after the one before, or the count.
    mutating func firstStep(of rest: Int64) -> Int {
        if self.longestStep < 0 { self.measureSteps() }
        guard self.longestStep >= rest else { return self.count }
        var previous = self.next > 0 ? self.times[self.next - 1] : self.before
        for look in self.next..<self.count {
            if previous >= 0, self.times[look] - previous >= rest { return look }
            previous = self.times[look]
        }
        return self.count
    }

    private mutating func measureSteps() {
        // Before the first look of all there is no step.
        var last = self.before >= 0 ? self.before : .max / 2
        self.longestStep = 0
        for look in 0..<self.count {
            self.longestStep = max(self.longestStep, self.times[look] &- last)
            last = self.times[look]
        }
    }
}
