import DeviceCore
import Motion

/// What is around a life's reader: devices, programs that listen, and their users.
enum ReaderSetup {
    /// A device that may be there.
    struct Hardware {
        let kind: SensorKind
        let driver: String
        let rates: [Double]
        /// How long it can hold readings back.
        let gathers: TimeSpan
        /// Bits of its stamps; `nil`: it has none.
        let bits: Int?
    }

    /// Two of one kind, of which the first counts the wall clock; the second takes any rate, and never quite keeps it; the stamps of
    /// the third begin again every four seconds.
    static let hardware = [
        Hardware(
            kind: .accelerometer, driver: "first", rates: [10, 25, 50, 100], gathers: .milliseconds(500), bits: 64),
        Hardware(kind: .accelerometer, driver: "second", rates: [], gathers: .zero, bits: nil),
        Hardware(kind: .gyroscope, driver: "third", rates: [20, 200], gathers: .milliseconds(200), bits: 32),
    ]
    /// Their names, as far as they have any yet.
    static let sensors = ["accelerometer", "accelerometer-2", "gyroscope"]
    /// Two of each user, and one of root.
    private static let users: [UInt32] = [1_000, 1_000, 1_001, 1_001, 1_002, 1_002, UserShares.root]
    static let listeners = users.count
    /// Whose sessions may be in front.
    static let seats: [UInt32] = [1_000, 1_001, 1_002]
    /// So fast everybody may read whom policy does not name; it names the last of the seated users' programs.
    static let fastest = 450.0
    static let fast = 5

    /// Streams of all.
    static let streams = UserShares(limit: 12, reserve: 1)
    /// Streams of one connection for each sensor.
    static let streamsOfOne = 4
    /// What a stream's socket holds, in rows, of which a packet is one besides.
    static let socket = 48
    /// Rows of a packet, and of a message.
    static let rows = 16
    /// Bytes that wait for a stream or a line, and that the bus holds for a line.
    static let kept = 40 * 40
    static let room = 3_000

    static func user(of listener: Int) -> UInt32 { self.users[listener] }

    private static let rates = [1, 10, 30, 100, 200, 400, 10_000]
    private static let latencies = [0, 0, 200, 2_000]
    private static let decimations: [Decimation] = [.last, .last, .mean, .peak]
    /// How many requests there are; those behind them are out of range.
    static let requests = 7 * 4 * 4 * 4 * 2

    /// What is asked for, by number.
    static func request(_ number: Int) -> SensorRequest {
        var rest = max(0, number)
        func next(_ count: Int) -> Int {
            defer { rest /= count }
            return rest % count
        }
        guard number < self.requests else { return SensorRequest(SensorPace(rate: 0)) }
        let rate = Double(self.rates[next(7)])
        let latency = TimeSpan.milliseconds(Int64(self.latencies[next(4)]))
        let isPassive = next(4) == 3
        let decimation = self.decimations[next(4)]
        return SensorRequest(
            SensorPace(rate: rate, batchLatency: latency), isPassive: isPassive, decimation: decimation,
            orSlower: next(2) == 1)
    }
}

/// A device as its driver shows it.
struct SimulatedDevice {
    enum Mood: Int {
        case well
        /// Readings fail, or end for good.
        case failing, ending
        /// It cannot be started, or not be looked at.
        case refusing, blind
        /// It says nothing.
        case hanging
        /// What it tells is nonsense: its stamps, or its values.
        case misdated, spoilt
    }

    var isThere = true
    var mood = Mood.well
    var running: SensorPace?
    /// Readings that it holds.
    var held = 0
    /// What the wall clock was ahead when it was read last.
    var wall: Int64 = 0
}
