import DBus
import EventLoop
import Protocol

/// `jostle push`: has an app started or resumed, and waits for its answer.
struct PushCommand {
    let app: String
    /// The bus name under which we ask: the one that policy gives the right to.
    let name: String?
    let bus: BusAddress
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let service = try Service.broker(on: self.bus, self.loop, as: self.name)
        // Policy says how long the app may take.
        _ = try service.call(
            Path.broker, InterfaceName.broker, "Push", self.app, timeout: Connection.noTimeout)
    }
}
