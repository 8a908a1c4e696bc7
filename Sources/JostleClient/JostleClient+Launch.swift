import DBus
import Protocol

/// Being started or resumed for events.
extension JostleClient {
    /// Answers a launch when the handler is done with it. Only the broker launches us; who else says so is refused.
    func handle(_ launch: Launch, _ call: MethodCall) {
        guard call.sender == self.broker else {
            self.forgeries &+= 1
            return call.fail(.accessDenied("only the broker launches apps"))
        }
        guard let onLaunch = self.onLaunch else {
            return call.fail(.notSupported("the app does nothing when it is launched"))
        }
        onLaunch(launch)
        for event in launch.events { self.remember(event.name) }
        call.reply("consume")
    }
}
