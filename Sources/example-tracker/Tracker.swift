import Glibc
import JostleClient

/// A tracker that goes on after it was killed: `example-tracker APPID [--bus ADDRESS]`.
///
/// What it registers outlives it, so its next report finds it gone, and the broker has the bus start it again. What it needs
/// besides is an app file, a D-Bus service file of its name, and a policy that grants the mode and says `Deliver=wake`:
///
///     # apps.d/APPID.conf                  # policy.d/50-tracker.conf
///     [App]                                [App APPID]
///     Usage=Draws where you went           Grants=location
///     Modes=location                       [Rule tracker-wake]
///                                          WhenApp=APPID
///     # services/APPID.service             WhenState=suspended dead
///     [D-BUS Service]                      Then=allow
///     Name=APPID                           Deliver=wake
///     Exec=/usr/bin/example-tracker APPID
///
/// It says what it does, a line each.
@main
struct Tracker {
    static func main() {
        var words = Array(CommandLine.arguments.dropFirst())
        let bus = self.option("--bus", &words).map { JostleApp.Bus.address($0) } ?? .session
        guard words.count == 1 else { self.end("expected APPID [--bus ADDRESS]") }
        do throws(JostleError) {
            let client = try JostleApp(app: words[0], on: bus)
            client.isDurable = true
            var isLaunched = false
            client.onLaunch = { launch in
                isLaunched = true
                self.say("launched: \(launch.reason)")
                launch.events.forEach(self.report)
            }
            client.onEvent = self.report
            client.onRefusal = { error in if error.isFinal { self.end("\(error)") } }
            client.onBrokerChange = { isThere in if !isThere { client.stop() } }
            // Whatever we are launched for is handled in here. Then nothing has to keep us going: the next report calls us.
            try client.connect()
            guard !isLaunched else { return try client.run() }
            // The value keeps us going in the background, for as long as it is there.
            let track = try client.beginActivity("location")
            try client.add([Detector("track", preset: "location.adaptive")])
            self.say("tracking")
            try client.run()
            track.end()
        } catch {
            self.end("\(error)")
        }
    }

    private static func report(_ event: MotionEvent) {
        self.say("report: \(event.detector), \(event.distance ?? 0) m")
    }

    private static func option(_ name: String, _ words: inout [String]) -> String? {
        guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
        let value = words.remove(at: index + 1)
        words.remove(at: index)
        return value
    }

    private static func say(_ line: String) {
        print(line)
        // Whoever reads a pipe wants the line now.
        fflush(nil)
    }

    private static func end(_ message: String) -> Never {
        let line = "example-tracker: \(message)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, line.utf8.count) }
        exit(1)
    }
}
