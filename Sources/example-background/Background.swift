import Glibc
import JostleClient

/// An app that listens to shakes wherever it is: in front, in the background, behind the lock.
///
///     example-background --bus ADDRESS APP [--work MODE] PRESET[,THRESHOLD]...
///
/// It asks for nothing but its detectors. With `--work` it is at work in a mode, as a player is while it plays: what keeps it
/// going in the background is that, if its app file asks for the mode and policy grants it. It says each event on a line:
/// the detector and its peak.
@main
struct Background {
    static func main() {
        var words = ArraySlice(CommandLine.arguments.dropFirst())
        let bus = self.value(of: "--bus", in: &words).map { JostleApp.Bus.address($0) } ?? .session
        let mode = self.value(of: "--work", in: &words)
        guard let app = words.popFirst(), !words.isEmpty else { self.end("expected APP PRESET[,THRESHOLD]...") }
        do throws(JostleError) {
            let client = try JostleApp(app: app, on: bus)
            client.onEvent = { event in self.say("\(event.detector) \(event.peak)") }
            client.onRefusal = { error in if error.isFinal { self.end("\(error)") } }
            try client.connect()

            // The value is the activity: it goes on until the value goes, which is when this program does.
            if let mode {
                let activity = try client.beginActivity(mode)
                try self.listen(client, words)
                activity.end()
            } else {
                try self.listen(client, words)
            }
        } catch {
            self.end("\(error)")
        }
    }

    /// Registers the detectors, and handles their events until the bus goes.
    private static func listen(_ client: JostleApp, _ presets: ArraySlice<String>) throws(JostleError) {
        try client.add(
            presets.map { word in
                let parts = word.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map {
                    String($0)
                }
                return Detector(
                    parts[0], preset: parts[0], options: parts.count > 1 ? ["threshold": .text(parts[1])] : [:])
            })
        self.say("listening")
        try client.run()
    }

    /// Takes an option and its value out of the command line.
    private static func value(of option: String, in words: inout ArraySlice<String>) -> String? {
        guard let index = words.firstIndex(of: option), index + 1 < words.endIndex else { return nil }
        let value = words[index + 1]
        words.removeSubrange(index...index + 1)
        return value
    }

    private static func say(_ line: String) {
        print(line)
        // Whoever reads a pipe wants the line now.
        fflush(nil)
    }

    private static func end(_ message: String) -> Never {
        let line = "example-background: \(message)\n"
        _ = line.withCString { Glibc.write(STDERR_FILENO, $0, line.utf8.count) }
        exit(1)
    }
}
