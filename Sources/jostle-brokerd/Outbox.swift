import BrokerCore
import DBus
import Protocol

/// Sends apps their events and marks, and by their objects what else they are told; and never more than they take.
struct Outbox {
    private let sender: PacedSender

    init(on bus: Connection) { self.sender = PacedSender(on: bus) }

    /// A connection that events go to.
    func peer(_ uniqueName: String) -> PacedSender.Peer { self.sender.peer(uniqueName) }

    /// The same as the one that is told what changes of its object.
    func audience(_ peer: PacedSender.Peer) -> ExportedObject.Audience { .init(peer, by: self.sender) }

    /// Sends an event from the object of its app; false: it is left out, because the app does not read.
    func send(_ event: Event, from path: ObjectPath, to peer: PacedSender.Peer) -> Bool {
        let body = event.body
        return self.sender.signal(
            from: path, InterfaceName.app, "Event", to: peer, size: event.bytes, like: EventCodec.likeness(of: body)
        ) { EventCodec.write(body, to: &$0) }
    }

    /// Sends a mark likewise.
    func send(_ mark: Mark, from path: ObjectPath, to peer: PacedSender.Peer) -> Bool {
        switch mark {
        case .gap(let gap):
            let body = GapCodec.Body(
                first: gap.first, last: gap.last, dropped: UInt64(gap.losses.dropped),
                expired: UInt64(gap.losses.expired), removed: UInt64(gap.losses.removed))
            return self.sender.signal(from: path, InterfaceName.app, "Gap", to: peer, size: Mark.bytes) {
                GapCodec.write(body, to: &$0)
            }
        case .caughtUp(let mark):
            return self.sender.signal(from: path, InterfaceName.app, "CaughtUp", to: peer, size: Mark.bytes) {
                CaughtUpCodec.write(mark.last, to: &$0)
            }
        }
    }
}
