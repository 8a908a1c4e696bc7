import DBus
import Motion
import SensorCore

/// Samples that travel together.
struct SimulatedRows {
    let first: UInt64
    let times: [Int64]
    /// The numbers of the samples, as the sensor's history has them.
    let samples: [Double]

    init(_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) {
        self.first = first
        self.times = times.indices.map { times[$0] }
        let channels = times.isEmpty ? 1 : values.count / times.count
        self.samples = times.indices.map { values[$0 * channels] }
    }
}

/// A connection of a program that listens, and what is under way between it and the reader: each way keeps its order.
final class ReaderConnection {
    /// What it says to the reader.
    enum Message {
        case claim(String, SensorRequest)
        case open(String, SensorRequest)
        case release(String)
        case flush(String)
        /// Its library has answered a ping for a claim.
        case pong(ReaderClient)
        /// It asks a stream for all that waits, or has closed it.
        case ask(SimulatedSocket)
        case close(SimulatedSocket)
        /// The bus says that it is gone.
        case gone
    }

    /// What it hears.
    enum Signal {
        case claimed(ReaderClaim)
        case opened(SimulatedSocket)
        case released(String)
        case samples(String, SimulatedRows)
        case ping(ReaderClient)
        case readerGone
        /// A refusal, or word of how something stands.
        case other
    }

    let name: String
    let listener: Int
    var isOpen = true
    var toReader: [Message] = []
    var toClient: [Signal] = []
    /// What it claims by its own name, as far as it has heard, by sensor.
    var claims: [String: ReaderClaim] = [:]
    var sockets: [SimulatedSocket] = []

    /// Nothing is under way, and nothing waits to be read.
    var isCalm: Bool {
        self.toReader.isEmpty && self.toClient.isEmpty && self.sockets.allSatisfy(\.packets.isEmpty)
    }

    init(_ name: String, of listener: Int) {
        self.name = name
        self.listener = listener
    }
}

/// The socket of a stream: what was put into it and not read.
final class SimulatedSocket: StreamEnd {
    enum Packet {
        case gap(StreamLedger.Gap)
        case rows(SimulatedRows)
        case caughtUp(UInt64)

        /// What it takes of the socket's room.
        var size: Int {
            switch self {
            case .gap, .caughtUp: 1
            case .rows(let rows): 1 + rows.times.count
            }
        }
    }

    private(set) var packets: [Packet] = []
    private var size = 0
    var claim: ReaderClaim?
    /// Its reader has closed it, or is gone.
    var isClosed = false
    /// Ours was told so.
    private(set) var hasEnded = false

    private func put(_ packet: Packet) -> Bool {
        if self.isClosed { self.hasEnded = true }
        guard !self.hasEnded, self.size == 0 || self.size + packet.size <= ReaderSetup.socket else { return false }
        self.size += packet.size
        self.packets.append(packet)
        return true
    }

    func put(_ gap: StreamLedger.Gap) -> Bool { self.put(.gap(gap)) }
    func put(first: UInt64, times: Span<Int64>, values: Span<Double>) -> Bool {
        self.put(.rows(SimulatedRows(first, times, values)))
    }
    func put(caughtUpTo next: UInt64) -> Bool { self.put(.caughtUp(next)) }

    func take() -> Packet? {
        guard !self.packets.isEmpty else { return nil }
        let packet = self.packets.removeFirst()
        self.size -= packet.size
        return packet
    }
}

/// Who claims one sensor, as the reader knows it: what `SensorClient`, `SignalLine` and `SampleStream` do.
final class ReaderClient {
    enum Receiver {
        case peer
        case stream(SimulatedSocket)
        /// In the reader itself.
        case taker
    }

    let id: ClientID
    unowned let sensor: ReaderSensor
    let caller: ReaderCaller
    let receiver: Receiver
    /// `nil` for our own.
    unowned let connection: ReaderConnection?
    /// Which process of the reader it is of.
    let process: Int
    var claim: ReaderClaim?
    var resting: Resting?
    private var isOwedWord = false
    private var peer = SimulatedPeer(0, limit: ReaderSetup.room)
    private var backlog: SampleBacklog
    private var queue: StreamQueue

    init(
        _ id: ClientID, at sensor: ReaderSensor, _ caller: ReaderCaller, _ receiver: Receiver,
        _ connection: ReaderConnection?
    ) {
        self.id = id
        self.sensor = sensor
        self.caller = caller
        self.receiver = receiver
        self.connection = connection
        self.process = sensor.scene.processes
        let channels = sensor.hub.sensor.channels.count
        self.backlog = SampleBacklog(channels: channels, bytes: ReaderSetup.kept)
        self.queue = StreamQueue(channels: channels, rows: ReaderSetup.rows, bytes: ReaderSetup.kept)
    }

    var isPeer: Bool { if case .peer = self.receiver { true } else { false } }
    var socket: SimulatedSocket? { if case .stream(let socket) = self.receiver { socket } else { nil } }

    // MARK: Samples

    /// Sends a block, or lets it wait. Returns how many samples went out, and how many of the oldest that waited are lost.
    func send(_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> (sent: Int, lost: Int) {
        switch self.receiver {
        case .peer:
            if self.backlog.isEmpty, self.signal(first, times, values) { return (times.count, 0) }
            return (0, self.backlog.append(first: first, times: times, values: values))
        case .stream(let socket):
            return self.queue.send(first: first, times: times, values: values, to: socket) ?? (0, 0)
        case .taker:
            let rows = SimulatedRows(first, times, values)
            if let wrong = self.claim?.take(first, rows.times, rows.samples) {
                self.sensor.scene.find("the reader's own claim on \(self.sensor.name): \(wrong)")
            }
            return (times.count, 0)
        }
    }

    private func signal(_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Bool {
        self.offer(
            .samples(self.sensor.name, SimulatedRows(first, times, values)), 16 + 8 * (times.count + values.count))
    }

    private func offer(_ signal: ReaderConnection.Signal, _ bytes: Int) -> Bool {
        let verdict = self.peer.offer(bytes)
        if verdict.goes { self.connection?.toClient.append(signal) }
        if verdict.pings { self.connection?.toClient.append(.ping(self)) }
        return verdict.goes
    }

    /// What waits is not to be had any more. Returns how many samples that were.
    func forget() -> Int {
        let count = self.backlog.count
        self.backlog.removeFirst(count)
        self.queue.forget()
        return count
    }

    /// Sends what waits, as far as there is room. Returns how many samples went out.
    func settle() -> Int {
        if let socket { return self.queue.settle(to: socket) }
        var sent = 0
        while let went = self.backlog.withFirst(
            ReaderSetup.rows, { self.signal($0, $1, $2) ? $1.count : 0 }), went > 0
        {
            self.backlog.removeFirst(went)
            sent += went
        }
        return sent
    }

    var isBehind: Bool { self.queue.isBehind }

    /// Its reader is to be told when all that waited has come.
    func caughtUp() -> Int {
        self.queue.asked()
        return self.settle()
    }

    /// It is told how its claim stands by now.
    func tell() { self.isOwedWord = !self.offer(.other, 300) }

    /// Its program has answered a ping. Returns whether there may be room by now.
    func pong() -> Bool {
        let (pings, room) = self.peer.answered()
        if pings { self.connection?.toClient.append(.ping(self)) }
        guard room != nil else { return false }
        if self.isOwedWord { self.tell() }
        return true
    }
}
