import TestSupport

/// How much is asked of a fleet.
///
/// In the ordinary suite little happens, and only what does not depend on the speed of the machine is asked;
/// `JOSTLE_FLEET_OUTAGE` makes an outage last so many seconds, and asks for all.
struct FleetBars {
    let isAsked: Bool
    /// How long the server stays away, in µs.
    let outage: Int64
    /// How long it stays away before it is seen how fast the bridge catches up.
    let backlog: Int64
    /// How many events there are to be across an outage.
    let events: Int
    /// How long the bridge is watched while nothing happens.
    let rest: Int64
    /// How long catching up may take.
    let patience: Duration
    /// How many devices connect at once.
    let devices: Int
    /// After how many changes a server writes all that it has: with each it is too slow for what happens in the long form.
    let changes: Int
    /// How many messages a server lets be on their way: as many as a bridge wants by itself, in the long form.
    let window: Int

    init() {
        let asked = Programs.variable("JOSTLE_FLEET_OUTAGE").flatMap { Int64($0) }
        self.isAsked = asked != nil
        self.outage = (asked ?? 3) * 1_000_000
        self.backlog = asked == nil ? 3_000_000 : 60_000_000
        self.events = asked.map { Int(min(100_000, $0 * 400)) } ?? 30
        self.rest = asked == nil ? 3_000_000 : 150_000_000
        self.patience = asked == nil ? .seconds(60) : .seconds(600)
        self.devices = asked == nil ? 100 : 1_000
        self.changes = asked == nil ? 1 : 1_000
        self.window = asked == nil ? Int(MQTTServer.receiveMaximum) : 100
    }
}
