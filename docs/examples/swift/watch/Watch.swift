import Glibc
import JostleClient

/// Prints motion events: `example-watch [PRESET [KEY=VALUE...]]`. Ends at Ctrl-C.
@main
struct Watch {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        do throws(JostleError) {
            // An app with a bus name of its own gives it here, as in JostleApp(app: "org.example.Player").
            let client = try JostleApp()
            client.onGap = { gap in print("events \(gap.first) to \(gap.last) are missing") }
            client.onEvent = { event in
                self.say("event \(event.sequence): \(event.detector), peak \(event.peak)")
            }
            // The client registers again by itself. An app may want to know that it hears nothing meanwhile.
            client.onBrokerChange = { isThere in
                self.say(isThere ? "the broker is back" : "the broker is gone")
            }
            client.onRefusal = { error in if error.isFinal { self.end("\(error)") } }
            try client.connect()
            let detector = Detector("watch", preset: words.first ?? "shake", options: self.options(words.dropFirst()))
            for effective in try client.add([detector]) {
                for setting in effective.settings { self.say("  \(setting.key) = \(setting.value)") }
                for warning in effective.warnings { self.say("  warning: \(warning)") }
            }
            self.say("watching")
            try client.run()
        } catch {
            self.end("\(error)")
        }
    }

    /// A value may be a text with a unit: `threshold=2.3g`. Programs can write `["threshold": 2.3]`.
    private static func options(_ words: ArraySlice<String>) -> [String: Detector.Option] {
        var options: [String: Detector.Option] = [:]
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { self.end("expected KEY=VALUE, got '\(word)'") }
            options[parts[0]] = .text(parts[1])
        }
        return options
    }

    private static func say(_ line: String) {
        print(line)
        // Whoever reads a pipe wants the line now.
        fflush(nil)
    }

    private static func end(_ message: String) -> Never {
        let line = "example-watch: \(message)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, line.utf8.count) }
        exit(1)
    }
}
