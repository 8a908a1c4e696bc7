import DeviceCore
import Loop
import Motion

/// Reads attributes of one sensor again and again, on a thread of its own: a driver answers when its device does, which may
/// be after seconds or never, and the loop waits for none.
///
/// The thread is there only while there is something to read, and there is never a second one for the sensor: while a
/// reading does not come back, nothing new is begun.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class AttributePoll {
    weak var sink: (any PollSink)?
    private let loop: EventLoop
    private let threads: ReadingThreads
    private let limits: Limits
    private let desk = Monitor(Desk(), canListen: false)
    private var wakeup: Wakeup?
    private var watch: EventLoop.Registration?
    /// What was read between this start and the next stop; `nil`: nothing is to be read.
    private var opening: UInt64?
    private var openings: UInt64 = 0
    /// A reading has not come back: until it does, nothing of the device may be touched where others wait for it.
    private(set) var isStuck = false
    /// Serves the next readings, empty.
    private var spare = Readings()

    /// How long a reading may take, in µs.
    struct Limits: Sendable {
        /// One that takes longer is of a time that nobody knows.
        let longest: Int64
        /// One that has not come back by then is told as a failure.
        let patience: Int64
        /// It is of when it came back, rather than of when it was asked for.
        let isOfItsEnd: Bool

        /// What moves does so meanwhile.
        static let motion = Limits(longest: 250_000, patience: 1_000_000, isOfItsEnd: false)
        /// What tells light, or what is near, may measure for most of a second before it answers, and some drivers wait a
        /// second for it.
        static let level = Limits(longest: 2_000_000, patience: 3_000_000, isOfItsEnd: true)
    }

    /// Who lets go and begins anew, again and again, has no more readings than the fastest that a device is polled at.
    private static let shortestPause = Int64(1_000_000 / IIOSensor.fastestPolling)

    init(on loop: EventLoop, _ threads: ReadingThreads, _ limits: Limits) {
        self.loop = loop
        self.threads = threads
        self.limits = limits
    }

    deinit {
        self.stop()
        if let watch { self.loop.cancel(watch) }
        if let wakeup { self.loop.cancel(wakeup) }
    }

    /// Says what is wrong while a reading has not come back.
    func checkAnswers() throws(DeviceProblem) {
        if self.isStuck { throw self.stuck }
    }

    private var stuck: DeviceProblem {
        DeviceProblem("a reading has not come back for \(self.limits.patience / 1_000) ms")
    }

    /// Reads at this rate from now on, what runs already included. The first reading comes at once, as far as no other came just
    /// before, but not before this returns.
    ///
    /// - Parameters:
    ///   - open: Opens the files, which the kernel does without asking their driver.
    ///   - parse: Makes a number of what a file holds.
    ///   - prepare: Sets the device up, before the next reading and where that is done.
    func run(
        at rate: Double, _ parse: @escaping AttributeFile.Parser,
        preparedBy prepare: @escaping @Sendable () -> Void = {}, _ open: () throws(DeviceProblem) -> [AttributeFile]
    ) throws(DeviceProblem) {
        if self.opening != nil {
            return self.desk.change { desk in
                desk.order?.change(to: rate, prepare)
                return ((), true)
            }
        }
        try self.checkAnswers()
        let files = try open()
        let wakeup = try self.prepare()
        self.openings += 1
        let order = Order(
            opening: self.openings, rate: rate, files: files, parse: parse, limits: self.limits, prepare: prepare)
        let isServed = self.desk.change { desk in
            desk.order = order
            desk.readings.removeAll()
            defer { desk.isServed = true }
            return (result: desk.isServed, wakes: true)
        }
        self.opening = order.opening
        guard !isServed else { return }
        let desk = self.desk
        if !self.threads.start({ AttributeThread(desk, wakeup).work() }) {
            self.stop()
            desk.withLock { $0.isServed = false }
            throw DeviceProblem("no thread is left to read it: \(ReadingThreads.most) are the most")
        }
    }

    /// Lets the thread end, as soon as it has come back. Nothing that was read is told any more.
    func stop() {
        guard self.opening != nil else { return }
        self.opening = nil
        self.desk.change { desk in
            desk.order = nil
            return ((), true)
        }
    }

    private func prepare() throws(DeviceProblem) -> Wakeup {
        if self.watch == nil {
            let alarm = Alarm()
            do throws(SystemError) {
                guard let descriptor = alarm.descriptor else { throw SystemError.last("timerfd_create") }
                self.watch = try self.loop.watch(descriptor, for: .read) { [weak self] _ in self?.look() }
            } catch {
                throw DeviceProblem(error, on: "its alarm")
            }
            self.desk.withLock { $0.alarm = alarm }
        }
        if let wakeup { return wakeup }
        let wakeup = self.loop.wakeup { [weak self] in self?.fetch() }
        self.wakeup = wakeup
        return wakeup
    }

    /// A reading has not come back in time.
    private func look() {
        let isLate = self.desk.withLock { $0.alarm?.takeDue(at: Clock.monotonic.now()) ?? false }
        guard isLate else { return }
        self.isStuck = true
        if self.opening != nil { self.sink?.pollFailed(self.stuck) }
    }

    /// Takes what was read.
    private func fetch() {
        var taken = Readings()
        swap(&taken, &self.spare)
        let isReading = self.desk.withLock { desk in
            swap(&desk.readings, &taken)
            return desk.isReading
        }
        let opening = self.opening
        var value = 0
        for item in taken.items {
            // Whoever is told may let go of the sensor.
            guard let opening, self.opening == opening else { break }
            switch item {
            case .reading(let time, let count):
                self.sink?.polled(at: time, taken.values.span.extracting(value..<value + count))
                value += count
            case .failure(let problem): self.sink?.pollFailed(problem)
            }
        }
        if !taken.items.isEmpty { self.sink?.pollDone() }
        taken.removeAll()
        swap(&taken, &self.spare)
        guard self.isStuck, !isReading else { return }
        self.isStuck = false
        self.sink?.pollReturned()
    }

    /// What is to be read.
    struct Order: Sendable {
        let opening: UInt64
        private(set) var rate: Double
        let files: [AttributeFile]
        let parse: AttributeFile.Parser
        let limits: Limits
        private(set) var prepare: @Sendable () -> Void
        /// Which one that is of this opening.
        private(set) var preparation = 1

        mutating func change(to rate: Double, _ prepare: @escaping @Sendable () -> Void) {
            self.rate = rate
            self.prepare = prepare
            self.preparation += 1
        }
    }

    /// What was read and is not fetched yet.
    struct Readings: Sendable {
        enum Item: Sendable {
            /// So many values, and of when they are.
            case reading(Timestamp, Int)
            case failure(DeviceProblem)
        }

        private(set) var items: [Item] = []
        private(set) var values: [Double] = []

        /// While the loop has no time for more, more is left out.
        private static let most = 64

        mutating func add(_ result: Result<Timestamp, DeviceProblem>, _ values: [Double]) {
            guard self.items.count < Self.most else { return }
            switch result {
            case .success(let time):
                self.items.append(.reading(time, values.count))
                self.values += values
            case .failure(let problem): self.items.append(.failure(problem))
            }
        }

        mutating func removeAll() {
            self.items.removeAll(keepingCapacity: true)
            self.values.removeAll(keepingCapacity: true)
        }
    }

    /// What the loop's thread and the one that reads hand to each other.
    struct Desk: Sendable {
        /// `nil`: the thread is to end.
        var order: Order?
        /// The thread is there, and looks at the order once more before it ends.
        var isServed = false
        /// When it was at a reading last, in the time of `Clock.monotonic`, whoever wanted that.
        var lastReading: Int64?
        /// It is at a reading.
        var isReading = false
        /// When that is to be done at the latest; `nil` before the first start.
        var alarm: Alarm?
        var readings = Readings()
    }

    /// The thread that reads.
    private struct AttributeThread {
        private let desk: Monitor<Desk>
        private let wakeup: Wakeup
        private var opening: UInt64 = 0
        private var preparation = 0
        private var grid = PollGrid(rate: 1, from: 0)
        private var files: [AttributeFile] = []
        private var values: [Double] = []
        private var bytes = [UInt8](repeating: 0, count: AttributeFile.longestNumber)

        init(_ desk: Monitor<Desk>, _ wakeup: Wakeup) {
            self.desk = desk
            self.wakeup = wakeup
        }

        /// Reads as it is told, until there is nothing to read.
        consuming func work() {
            var thread = self
            while let order = thread.nextReading() {
                if order.preparation != thread.preparation {
                    order.prepare()
                    thread.preparation = order.preparation
                }
                let result = thread.read(order)
                thread.hand(over: result)
            }
        }

        /// Waits until it is time for a reading; `nil` when there will be none.
        private mutating func nextReading() -> Order? {
            var (opening, grid) = (self.opening, self.grid)
            let order: Order? = self.desk.wait { desk in
                guard let order = desk.order else {
                    desk.isServed = false
                    return .done(nil)
                }
                let now = Clock.monotonic.now()
                let earliest = max(now, desk.lastReading.map { $0 + AttributePoll.shortestPause } ?? now)
                if order.opening != opening {
                    opening = order.opening
                    grid = PollGrid(rate: order.rate, from: earliest)
                } else if order.rate != grid.rate {
                    grid = grid.changed(to: order.rate, at: earliest)
                }
                guard now >= grid.due else { return .wait(until: grid.due) }
                grid.advance(to: now)
                desk.lastReading = now
                desk.isReading = true
                desk.alarm?.set(for: now + order.limits.patience)
                return .done(order)
            }
            if let order, self.opening != opening {
                self.files = order.files
                self.preparation = 0
            }
            (self.opening, self.grid) = (opening, grid)
            return order
        }

        private mutating func read(_ order: Order) -> Result<Timestamp, DeviceProblem> {
            let start = Clock.boottime.now()
            self.values.removeAll(keepingCapacity: true)
            do throws(DeviceProblem) {
                for index in self.files.indices {
                    if self.files[index].isReplaced { self.files[index] = try self.files[index].reopened() }
                    self.values.append(try self.files[index].number(order.parse, &self.bytes))
                }
            } catch {
                return .failure(error)
            }
            let end = Clock.boottime.now()
            guard end - start <= order.limits.longest else {
                return .failure(DeviceProblem(passing: "a reading takes \((end - start) / 1_000) ms"))
            }
            return .success(Timestamp(microseconds: order.limits.isOfItsEnd ? end : start))
        }

        /// Hands a reading over, unless it was begun for somebody who has let go since.
        private mutating func hand(over result: Result<Timestamp, DeviceProblem>) {
            let (opening, values) = (self.opening, self.values)
            self.desk.withLock { desk in
                desk.isReading = false
                desk.alarm?.set(for: nil)
                if desk.order?.opening == opening { desk.readings.add(result, values) }
            }
            self.wakeup.fire()
        }
    }
}

@available(*, unavailable)
extension AttributePoll: Sendable {}

/// What a poll tells while it runs.
protocol PollSink: AnyObject {
    /// One reading, a number for each file; they are lent.
    func polled(at time: Timestamp, _ numbers: Span<Double>)
    /// All readings that were there are told.
    func pollDone()
    func pollFailed(_ problem: DeviceProblem)
    /// A reading came back that had been given up.
    func pollReturned()
}
