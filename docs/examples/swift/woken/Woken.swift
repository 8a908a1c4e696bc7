import Glibc
import JostleClient

/// Is started for its events, and told why: `example-woken APPID LOG`. After five quiet seconds it ends.
///
/// The bus starts it by a service file when the broker calls it, as it does woken.py.
@main
struct Woken {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        guard words.count == 2, let app = words.first, let log = words.last else {
            return self.end("give an app id and a file")
        }
        do throws(JostleError) {
            let client = try JostleApp(app: app)
            client.onLaunch = { launch in
                // The work comes before the answer, which the client sends when this returns.
                let events = launch.events.map(\.detector).joined(separator: " ")
                self.note("launched for \(launch.reason): \(events)\n", in: log)
                alarm(5)
            }
            alarm(5)
            try client.connect()
            try client.run()
        } catch {
            self.end("\(error)")
        }
    }

    private static func note(_ line: String, in log: String) {
        let file = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { return self.end("cannot write to \(log)") }
        _ = line.withCString { write(file, $0, line.utf8.count) }
        close(file)
    }

    private static func end(_ message: String) {
        let line = "example-woken: \(message)\n"
        _ = line.withCString { write(STDERR_FILENO, $0, line.utf8.count) }
        exit(1)
    }
}
