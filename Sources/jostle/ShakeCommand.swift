import DBus
import EventLoop
import Protocol

/// `jostle shake`: adds a shake to the motion of a synth source.
struct ShakeCommand {
    /// The motion as the reader's script language writes it: `shake peak=3g axis=x`.
    var motion: String
    var sensor: String?
    var bus: BusAddress
    let loop: EventLoop

    func run() throws(CommandFailure) {
        let service = try Service.sensors(on: self.bus, self.loop)
        let (object, _) = try service.sensor(self.sensor)
        _ = try service.call(object, InterfaceName.sensor, "Inject", self.motion)
    }
}
