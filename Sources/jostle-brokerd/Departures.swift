import DBus
import Loop

/// Cleans up after clients that have gone: after a few at once, after many one after the other.
///
/// When many go in one moment, the bus tells of each of them before it hands us anything that came later. What is urgent is
/// behind that, so what has come is read before each is cleaned up after. Not `Sendable`: it belongs to the loop's thread.
final class Departures {
    private struct Departure {
        let client: Client
        let error: BusError
    }

    private let loop: EventLoop
    private let bus: Connection
    private let leave: (Client, BusError) -> Void
    /// Those whose turn has not come; the first `taken` had theirs.
    private var waiting: [Departure] = []
    private var taken = 0
    /// How many were cleaned up after at once in this round of the loop.
    private var count = 0

    /// Of how many nobody notices that they are cleaned up after at once.
    private static let few = 8
    /// How long may be read before one is cleaned up after, in µs.
    private static let readingShare: Int64 = 2_000

    /// - Parameter leave: Cleans up after a client, unless that has been done.
    init(of bus: Connection, on loop: EventLoop, leave: @escaping (Client, BusError) -> Void) {
        self.bus = bus
        self.loop = loop
        self.leave = leave
    }

    /// Has a client cleaned up after.
    ///
    /// - Parameter error: What those of its calls get that have no answer yet.
    func add(_ client: Client, _ error: BusError) {
        if self.waiting.isEmpty, self.count < Self.few {
            if self.count == 0 { self.loop.defer { [weak self] in self?.count = 0 } }
            self.count += 1
            return self.leave(client, error)
        }
        if self.waiting.isEmpty { self.loop.turns.add { [weak self] in self?.next() ?? false } }
        self.waiting.append(Departure(client: client, error: error))
    }

    /// Cleans up after a client at once, if it has gone: its connection speaks again, or its app is there anew.
    func settle(_ client: Client) {
        guard let departure = self.waiting[self.taken...].first(where: { $0.client === client }) else { return }
        self.leave(client, departure.error)
    }

    private func next() -> Bool {
        self.bus.readOn(for: Self.readingShare)
        let departure = self.waiting[self.taken]
        self.taken += 1
        self.leave(departure.client, departure.error)
        guard self.taken == self.waiting.count else { return true }
        (self.waiting, self.taken) = ([], 0)
        return false
    }
}
