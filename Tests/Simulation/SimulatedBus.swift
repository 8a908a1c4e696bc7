import Arbitration
import Background
import BrokerCore
import DBus
import Motion

/// A connection of a client to the bus, and what is under way between it and the broker: each way keeps its order.
struct SimulatedConnection {
    /// What an app says to the broker.
    enum Message {
        case register
        case listen([Int])
        case forget(Int)
        case subscribe(since: EventName?)
        case answer(EventName, Answer)
        /// Its library has answered a ping.
        case pong
        /// It hands in a task, by number, takes one back, or is through with one.
        case submit(Int)
        case cancel(String)
        case taskDone(Bool)
        /// A run did not get to it, or it did not take it.
        case taskLost(TaskOwner, UInt64)
        /// It answers a call by which it was launched, or that is lost.
        case called(Launch, Answer)
        case notCalled(Launch, LaunchFailure)
        /// The bus says that its name is there, which was asked for.
        case started(SimulatedStart)
        /// The bus says that it is gone.
        case left
    }

    /// What it hears.
    enum Signal {
        case registered
        case event(Event)
        case mark(Mark)
        /// It is to begin a task of its user.
        case runTask(TaskOwner, TaskRun, process: Int)
        /// It is launched with these, by such a process of the broker.
        case call(Launch, [Event], process: Int)
        /// Such a process of the broker asks whether it reads.
        case ping(process: Int)
        case brokerGone
        case brokerCame
    }

    let client: Int
    var isOpen = true
    var toBroker: [Message] = []
    var toClient: [Signal] = []
    /// Bytes of events and marks that this broker sent and the client has not read.
    var unread = 0

    mutating func say(_ message: Message) { self.toBroker.append(message) }
    mutating func hear(_ signal: Signal) { self.toClient.append(signal) }

    mutating func takeMessage() -> Message? { self.toBroker.isEmpty ? nil : self.toBroker.removeFirst() }

    mutating func takeSignal() -> Signal? {
        guard !self.toClient.isEmpty else { return nil }
        let signal = self.toClient.removeFirst()
        switch signal {
        case .event(let event): self.unread -= Self.size(event.bytes)
        case .mark: self.unread -= Self.size(Mark.bytes)
        case .registered, .call, .runTask, .ping, .brokerGone, .brokerCame: break
        }
        return signal
    }

    /// What a signal counts for, as who sends it counts.
    static func size(_ bytes: Int) -> Int { bytes + PacedSender.overhead }
}

/// Which connections are registered, as which apps; in the order of the connections.
struct SimulatedHandles {
    private(set) var all: [(connection: Int, app: AppHandle)] = []

    subscript(connection: Int) -> AppHandle? {
        get { self.all.first { $0.connection == connection }?.app }
        set {
            let index = self.all.firstIndex { $0.connection >= connection } ?? self.all.count
            if index < self.all.count, self.all[index].connection == connection { self.all.remove(at: index) }
            if let newValue { self.all.insert((connection, newValue), at: index) }
        }
    }
}

/// A program that the bus was asked to start.
struct SimulatedStart {
    let launch: Launch
    let handover: Handover
}

/// A connection that events go to: sends as `PacedSender` does while it may ping.
struct SimulatedPeer {
    /// The number of the connection.
    let connection: Int
    private(set) var flow: FlowWindow
    /// Bytes that its queue kept when it was looked at last.
    var kept = 0
    /// It is to be told of room.
    private var isRefused = false

    init(_ connection: Int, limit: Int) {
        self.connection = connection
        self.flow = FlowWindow(limit: limit)
    }

    mutating func setLimit(_ bytes: Int) { self.flow.limit = bytes }

    /// Whether a signal goes, and whether a ping goes behind it.
    mutating func offer(_ bytes: Int) -> (goes: Bool, pings: Bool) {
        switch self.flow.offer(SimulatedConnection.size(bytes)) {
        case .send: return (true, self.pingsIfNeeded())
        case .sendAndPing: return (true, true)
        case .drop:
            self.isRefused = true
            return (false, self.pingsIfNeeded())
        }
    }

    private mutating func pingsIfNeeded() -> Bool {
        guard self.flow.needsPing else { return false }
        self.flow.pingSent()
        return true
    }

    /// The client has answered a ping. Returns whether another goes, and the room of which the broker is to be told.
    mutating func answered() -> (pings: Bool, room: Int?) {
        self.flow.pingAnswered()
        guard self.isRefused else { return (false, nil) }
        if self.pingsIfNeeded() { return (true, nil) }
        self.isRefused = false
        return (false, self.flow.room)
    }
}
