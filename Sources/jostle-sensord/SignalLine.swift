import DBus
import Protocol
import SensorCore

/// The samples of one claim as signals to one connection, no more of them on their way than it reads.
///
/// What it does not take waits here, the newest of it.
final class SignalLine {
    let peer: PacedSender.Peer
    /// Some of what waited went out.
    var onSent: (_ samples: Int) -> Void = { _ in }

    private let sender: PacedSender
    private let path: ObjectPath
    private let channels: Int
    private var backlog: SampleBacklog

    /// Bytes that the bus may hold of it.
    static let room = 64 << 10
    /// Bytes that wait here besides.
    static let kept = 64 << 10
    /// Rows of what waited that go out in one message.
    private static let rows = 128

    init(to peer: PacedSender.Peer, from path: ObjectPath, channels: Int, _ sender: PacedSender) {
        self.peer = peer
        self.path = path
        self.channels = channels
        self.sender = sender
        self.backlog = SampleBacklog(channels: channels, bytes: Self.kept)
        peer.setLimit(Self.room)
    }

    /// Sends a block, or lets it wait. Returns how many samples went out, and how many of the oldest that waited are lost.
    func send(first: UInt64, times: Span<Int64>, values: Span<Double>) -> (sent: Int, lost: Int) {
        if self.backlog.isEmpty, self.signal(first, times, values) { return (times.count, 0) }
        return (0, self.backlog.append(first: first, times: times, values: values))
    }

    /// What waits is of a claim that was replaced. Returns how many samples that were.
    func forget() -> Int {
        let count = self.backlog.count
        self.backlog.removeFirst(count)
        return count
    }

    /// Sends what waits, as far as it is taken. To be called when there is room for the peer.
    func settle() {
        var sent = 0
        while let went = self.backlog.withFirst(
            Self.rows, { first, times, values in self.signal(first, times, values) ? times.count : 0 }), went > 0
        {
            self.backlog.removeFirst(went)
            sent += went
        }
        if sent > 0 { self.onSent(sent) }
    }

    private func signal(_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Bool {
        let size = SampleCodec.size(samples: times.count, channels: self.channels)
        return self.sender.signal(from: self.path, InterfaceName.sensor, "Samples", to: self.peer, size: size) {
            SampleCodec.write(first: first, times: times, values: values, to: &$0)
        }
    }
}
