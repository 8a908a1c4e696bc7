import DBus
import Motion
import SensorCore

/// Somebody who claims one sensor: a connection, a stream of one, or somebody in this process.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class SensorClient {
    enum Receiver {
        /// A connection.
        case peer(ClaimRights.Caller, SignalLine)
        /// A descriptor that a connection asked for.
        case stream(ClaimRights.Caller, SampleStream, PacedSender.Peer)
        case taker(any SampleTaker)
    }

    let id: ClientID
    let receiver: Receiver
    /// The fastest rate it may have, if it asked for more.
    var allowed: Double?
    /// Why its claim gets no samples, if that is so.
    var resting: Resting?
    /// There was no room to tell it how its claim stands by now.
    var isOwedWord = false
    var watch: NameWatch.Token?

    init(_ id: ClientID, _ receiver: Receiver) {
        self.id = id
        self.receiver = receiver
    }

    var stream: SampleStream? {
        if case .stream(_, let stream, _) = self.receiver { stream } else { nil }
    }

    /// Whose it is; `nil` for our own.
    var caller: ClaimRights.Caller? {
        switch self.receiver {
        case .peer(let caller, _), .stream(let caller, _, _): caller
        case .taker: nil
        }
    }

    /// Who it is, as `Claimants` shows it.
    var names: [String] {
        switch self.receiver {
        case .peer(let caller, _), .stream(let caller, _, _): [caller.name]
        case .taker(let taker): taker.names
        }
    }
}
