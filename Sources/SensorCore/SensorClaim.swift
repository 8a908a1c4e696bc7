import Motion

/// One claim: what was asked for, what is in force, and the samples that wait to travel together.
///
/// The block stays readable after it was handed over, until the next sample due to the claimant overwrites it. So a
/// block costs no copy, and its memory is used again.
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

    /// The sequence number of the block's first sample.
    private(set) var first: UInt64 = 0
    private(set) var times: [Int64] = []
    private(set) var values: [Double] = []
    /// When the first waiting sample must be on its way; `nil` when none waits.
    private(set) var deadline: Timestamp?

    private let channels: Int
    private var nextSequence: UInt64 = 0
    private var isHandedOver = true
    /// False until a sample comes that the next one could follow on from.
    private var isFollowing = false
    /// True when every sample of the device is due to this claimant.
    private var takesAll = true
    /// Half the time between two samples of the device, in µs.
    private var halfStep = 0.0
    /// The first sample's time, where the grid of the claimant's rate begins.
    private var origin: Timestamp?
    /// The grid's bucket that the last due sample fell into, or that is open.
    private var bucket = 0.0
    /// What the open bucket holds so far, for a claim that wants the mean or the peak of it.
    private var open: [Double] = []
    private var openCount = 0
    private var openTime = Timestamp.zero

    var requested: SensorPace { self.request.pace }

    init(client: ClientID, number: UInt64, of user: UInt32?, channels: Int, _ request: SensorRequest, isPrompt: Bool) {
        self.client = client
        self.number = number
        self.user = user
        self.isPrompt = isPrompt
        self.channels = channels
        self.request = request
        self.inForce = request.pace
    }

    /// Begins anew with another pace: numbers from 0, own grid. Returns whether samples waited, which are due now.
    mutating func replace(_ request: SensorRequest) -> Bool {
        let isDue = self.handOver()
        self.request = request
        self.openCount = 0
        self.nextSequence = 0
        self.isFollowing = false
        self.origin = nil
        return isDue
    }

    /// Follows the device to another pace. Returns whether that changes what is in force here.
    mutating func follow(_ device: SensorPace) -> Bool {
        self.takesAll = device.rate <= self.requested.rate * (1 + SensorDescription.rateTolerance)
        let rate = self.takesAll ? device.rate : self.requested.rate
        self.halfStep = 500_000 / device.rate
        // Waiting less than one period gathers nothing: the samples would come one at a time, only later.
        let gathers = Double(self.requested.batchLatency.microseconds) >= 1_000_000 / rate
        let pace = SensorPace(rate: rate, batchLatency: gathers ? self.requested.batchLatency : .zero)
        let gathering: Gathering = !gathers ? .none : device.batchLatency > .zero ? .device : .reader
        let room = min(SensorLimits.batch, Int(pace.batchLatency.seconds * rate) + 2)
        self.times.reserveCapacity(room)
        self.values.reserveCapacity(room * self.channels)
        if pace == self.inForce, gathering == self.gathering, self.isRunning { return false }
        self.inForce = pace
        self.gathering = gathering
        self.isRunning = true
        if !gathers, self.deadline != nil { self.deadline = .zero }
        return true
    }

    /// The device stands still: only who rides along can still be there. Returns whether that is news.
    mutating func rest() -> Bool {
        defer { self.isRunning = false }
        self.gathering = .none
        return self.isRunning
    }

    /// Takes a sample of the device if it is due at this claimant's rate. Returns whether the block is due now.
    ///
    /// The sample nearest to each grid point is due: the first at or after the point, less half a step of the device.
    /// Without the half step, a device with jitter would hit the wrong side of a point every other time.
    mutating func offer(_ time: Timestamp, _ row: Span<Double>, since: Timestamp) -> Bool {
        if let origin = self.origin {
            let elapsed = Double((time - origin).microseconds) + self.halfStep
            let bucket = (elapsed * self.inForce.rate / 1_000_000).rounded(.down)
            guard self.takesAll || bucket > self.bucket else {
                if self.request.decimation != .last { self.gather(time, row) }
                return false
            }
            self.bucket = bucket
        } else {
            self.origin = time
            self.bucket = 0
        }
        if self.request.decimation == .last { return self.append(time, row, since) }
        let isDue = self.closeBucket(since)
        if self.takesAll { return self.append(time, row, since) || isDue }
        self.gather(time, row)
        return isDue
    }

    /// Takes a sample into the open bucket.
    private mutating func gather(_ time: Timestamp, _ row: Span<Double>) {
        if self.openCount == 0 {
            self.open.removeAll(keepingCapacity: true)
            for _ in row.indices { self.open.append(0) }
        }
        self.openCount += 1
        self.openTime = time
        for channel in row.indices {
            let value = row[channel]
            if self.request.decimation == .mean {
                self.open[channel] += value
            } else if value.magnitude > self.open[channel].magnitude {
                self.open[channel] = value
            }
        }
    }

    /// Makes a sample of what the open bucket holds, at the time of the last one in it. Returns whether the block is due now.
    private mutating func closeBucket(_ since: Timestamp) -> Bool {
        guard self.openCount > 0 else { return false }
        if self.request.decimation == .mean {
            for channel in self.open.indices { self.open[channel] /= Double(self.openCount) }
        }
        self.openCount = 0
        let row = self.open
        return self.append(self.openTime, row.span, since)
    }

    /// Puts a sample into the block. Returns whether the block is due now.
    private mutating func append(_ time: Timestamp, _ row: Span<Double>, _ since: Timestamp) -> Bool {
        if self.isHandedOver {
            self.isHandedOver = false
            self.first = self.nextSequence
            self.times.removeAll(keepingCapacity: true)
            self.values.removeAll(keepingCapacity: true)
            self.deadline = self.isPrompt ? nil : since + self.inForce.batchLatency
        }
        self.nextSequence &+= 1
        self.isFollowing = true
        self.times.append(time.microseconds)
        for index in row.indices { self.values.append(row[index]) }
        guard self.inForce.batchLatency == .zero || self.times.count >= SensorLimits.batch else { return false }
        return self.handOver()
    }

    /// Leaves out a number if there is a sample before it. Returns whether samples waited, which are due now.
    mutating func breakOff() -> Bool {
        // What a bucket holds was read, and nothing will be added to it.
        let isClosed = self.closeBucket(self.openTime)
        let isDue = self.handOver() || isClosed
        if self.isFollowing { self.nextSequence &+= 1 }
        self.isFollowing = false
        return isDue
    }

    /// Declares the waiting samples due. Returns false when none wait.
    mutating func handOver() -> Bool {
        guard !self.isHandedOver else { return false }
        self.isHandedOver = true
        self.deadline = nil
        return true
    }

    /// Lends the block out, if there ever was one.
    func lend(_ body: (_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Void) -> Bool {
        if self.times.isEmpty { return false }
        body(self.first, self.times.span, self.values.span)
        return true
    }
}
