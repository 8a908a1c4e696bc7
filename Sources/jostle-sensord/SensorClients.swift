import SensorCore

/// The clients of one sensor: found by the number that the hub knows them by, by their connection, or as who they are.
///
/// Not `Sendable`: it belongs to the loop's thread.
struct SensorClients {
    private var byID: [SensorClient?] = []
    private var freeIDs: [UInt32] = []
    /// Those that are connections, not streams of them.
    private var byName: [String: SensorClient] = [:]
    private var byTaker: [ObjectIdentifier: SensorClient] = [:]
    private var lastStream: UInt64 = 0

    subscript(_ id: ClientID) -> SensorClient? { self.byID[Int(id.index)] }

    /// The client that a connection is, its streams aside.
    func peer(_ name: String) -> SensorClient? { self.byName[name] }

    func taker(_ taker: any SampleTaker) -> SensorClient? { self.byTaker[ObjectIdentifier(taker)] }

    var takers: some Sequence<SensorClient> { self.byTaker.values }

    var all: some Sequence<SensorClient> { self.byID.lazy.compactMap { $0 } }

    /// How many streams of the sensor a connection has.
    func streams(of name: String) -> Int { self.all.count { $0.stream != nil && $0.names == [name] } }

    /// A number that no stream of the sensor had before.
    mutating func nextStream() -> UInt64 {
        self.lastStream += 1
        return self.lastStream
    }

    /// Adds a client, under a number that is free.
    mutating func add(_ receiver: SensorClient.Receiver) -> SensorClient {
        let client = SensorClient(self.makeID(), receiver)
        switch receiver {
        case .peer(let caller, _): self.byName[caller.name] = client
        case .stream: break
        case .taker(let taker): self.byTaker[ObjectIdentifier(taker)] = client
        }
        self.byID[Int(client.id.index)] = client
        return client
    }

    private mutating func makeID() -> ClientID {
        if let index = self.freeIDs.popLast() { return ClientID(index) }
        self.byID.append(nil)
        return ClientID(UInt32(self.byID.count - 1))
    }

    /// Lets a client be found by its number only: whoever comes back meanwhile is another one.
    mutating func hide(_ client: SensorClient) {
        switch client.receiver {
        case .peer(let caller, _): self.byName[caller.name] = nil
        case .stream: break
        case .taker(let taker): self.byTaker[ObjectIdentifier(taker)] = nil
        }
    }

    /// Lets go of a hidden client, whose number may be used again.
    mutating func remove(_ client: SensorClient) {
        self.byID[Int(client.id.index)] = nil
        self.freeIDs.append(client.id.index)
    }
}
