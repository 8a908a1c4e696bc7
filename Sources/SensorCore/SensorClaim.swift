import Motion

/// One claim: what was asked for, what is in force, and what its samples wait in.
struct SensorClaim: Sendable {
    let client: ClientID
    let number: UInt64
    /// Whose it is; `nil`: our own or the broker's.
    let user: UInt32?
    /// Takes what there is whenever the device has been read, and lets nothing wait for company.
    let isPrompt: Bool
    private(set) var request: SensorRequest
    private(set) var inForce: SensorPace
    private(set) var gathering = Gathering.none
    /// Whether the device runs, as the claimant was told.
    private var isRunning = true
    var sent: UInt64 = 0
    var dropped: UInt64 = 0

    private var grid: ClaimGrid
    private var bucket = OpenBucket()
    private var block: ClaimBlock

    var requested: SensorPace { self.request.pace }
    /// Whether it takes of the samples only that all may see, together.
    private var isShared: Bool { Self.isShared(self.request, of: self.user, isPrompt: self.isPrompt) }
    /// When the first waiting sample must be on its way; `nil` when none waits.
    var deadline: Timestamp? { self.block.deadline }

    init(client: ClientID, number: UInt64, of user: UInt32?, channels: Int, _ request: SensorRequest, isPrompt: Bool) {
        self.client = client
        self.number = number
        self.user = user
        self.isPrompt = isPrompt
        self.request = request
        self.inForce = request.pace
        self.grid = ClaimGrid(isBounded: user != nil && !Self.isShared(request, of: user, isPrompt: isPrompt))
        self.block = ClaimBlock(channels: channels)
    }

    /// What is made of a sensor in this process is for all, too: a grid of its own would show others than the sensor itself does.
    private static func isShared(_ request: SensorRequest, of user: UInt32?, isPrompt: Bool) -> Bool {
        (user != nil || isPrompt) && request.pace.rate <= SensorLimits.rateForAll
    }

    /// Begins anew with another pace: numbers from 0, own grid. Returns whether samples waited, which are due now.
    mutating func replace(_ request: SensorRequest) -> Bool {
        let isDue = self.handOver()
        self.request = request
        self.bucket.empty()
        self.block.beginAnew()
        self.grid.beginAnew()
        self.grid.isBounded = self.user != nil && !self.isShared
        return isDue
    }

    /// Follows the device to another pace. Returns whether that changes what is in force here.
    mutating func follow(_ device: SensorPace) -> Bool {
        let rate = self.grid.follow(
            device, wanted: self.requested.rate, atMost: self.isShared ? SensorLimits.rateForAll : .infinity)
        // Waiting less than one period gathers nothing: the samples would come one at a time, only later.
        let gathers = Double(self.requested.batchLatency.microseconds) >= 1_000_000 / rate
        let pace = SensorPace(rate: rate, batchLatency: gathers ? self.requested.batchLatency : .zero)
        let gathering: Gathering = !gathers ? .none : device.batchLatency > .zero ? .device : .reader
        self.block.reserve(min(SensorLimits.batch, Int(pace.batchLatency.seconds * rate) + 2))
        if pace == self.inForce, gathering == self.gathering, self.isRunning { return false }
        self.inForce = pace
        self.gathering = gathering
        self.isRunning = true
        if !gathers { self.block.hurry() }
        return true
    }

    /// The device stands still: only who rides along can still be there. Returns whether that is news.
    mutating func standStill() -> Bool {
        defer { self.isRunning = false }
        self.gathering = .none
        return self.isRunning
    }

    /// Takes a sample of the device if it is due at this claimant's rate. Returns whether the block is due now.
    ///
    /// - Parameter isForAll: Whether it is one that all may see.
    mutating func offer(_ time: Timestamp, _ row: Span<Double>, since: Timestamp, isForAll: Bool) -> Bool {
        guard isForAll || !self.isShared else { return false }
        guard self.grid.reaches(time, at: self.inForce.rate) else {
            // Where every sample is due, what is not is more than there should be.
            if self.request.decimation != .last, !self.grid.takesAll {
                self.bucket.gather(time, row, self.request.decimation)
            }
            return false
        }
        if self.request.decimation == .last { return self.append(time, row, since) }
        if self.grid.takesAll {
            // What is left from when the device was faster goes along: a block that is due is overwritten by what comes next.
            if self.bucket.close(self.request.decimation) {
                let old = self.bucket.row
                self.put(self.bucket.time, old.span, since)
            }
            return self.append(time, row, since)
        }
        let isDue = self.closeBucket(since)
        self.bucket.gather(time, row, self.request.decimation)
        return isDue
    }

    /// Makes a sample of what the open bucket holds, at the time of the last one in it. Returns whether the block is due now.
    private mutating func closeBucket(_ since: Timestamp) -> Bool {
        guard self.bucket.close(self.request.decimation) else { return false }
        let row = self.bucket.row
        return self.append(self.bucket.time, row.span, since)
    }

    /// Puts a sample into the block. Returns whether the block is due now.
    private mutating func append(_ time: Timestamp, _ row: Span<Double>, _ since: Timestamp) -> Bool {
        self.put(time, row, since)
        // With a bucket two may come at once.
        let most = self.request.decimation == .last ? SensorLimits.batch : SensorLimits.batch - 1
        guard self.inForce.batchLatency == .zero || self.block.count >= most else { return false }
        return self.handOver()
    }

    private mutating func put(_ time: Timestamp, _ row: Span<Double>, _ since: Timestamp) {
        self.block.append(time, row, by: self.isPrompt ? nil : since + self.inForce.batchLatency)
    }

    /// Leaves out a number if there is a sample before it. Returns whether samples waited, which are due now.
    mutating func breakOff() -> Bool {
        // What a bucket holds was read, and nothing will be added to it.
        let isClosed = self.closeBucket(self.bucket.time)
        let isDue = self.handOver() || isClosed
        self.block.leaveGap()
        return isDue
    }

    /// Gives up what waits, and leaves out a number if there is a sample before it.
    mutating func giveUp() {
        self.bucket.empty()
        _ = self.handOver()
        self.block.leaveGap()
    }

    /// Declares the waiting samples due. Returns false when none wait.
    mutating func handOver() -> Bool { self.block.handOver() }

    /// Lends the block out, if there ever was one.
    func lend(_ body: (_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Void) -> Bool {
        self.block.lend(body)
    }
}
