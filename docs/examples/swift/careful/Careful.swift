import Glibc
import JostleClient

/// Loses no event and does none twice: `example-careful APP FILE [--pass-below G] [PRESET [KEY=VALUE...]]`.
///
/// An app with a name, for which policy says `Reliability=ack`. FILE remembers the last event that it is done with, so
/// that it can say so when it comes back. In an ordered group it leaves motion below G to the next app.
@main
struct Careful {
    static func main() {
        var words = CommandLine.arguments.dropFirst()
        guard words.count >= 2 else { self.end("expected APP FILE [--pass-below G] [PRESET [KEY=VALUE...]]") }
        let (app, file) = (words.removeFirst(), words.removeFirst())
        var threshold = 0.0
        if words.first == "--pass-below" {
            guard let limit = words.dropFirst().first.flatMap(Double.init) else {
                self.end("--pass-below wants a number")
            }
            threshold = limit
            words = words.dropFirst(2)
        }
        do throws(JostleError) {
            let client = try JostleApp(app: app)
            var done = self.read(file)
            // Returning is the answer that we are done with it, and leaves copies of what we answered unheard.
            client.onEvent = { event in
                if event.answerBy != nil, event.peak < threshold {
                    self.say("event \(event.sequence) is for others, peak \(event.peak)")
                    return client.pass(event)
                }
                if event.isRedelivered, let done, event.sequence <= done.sequence, event.epoch <= done.epoch { return }
                // The work stands here. Then we note that it is done, and only then say so.
                self.write(event.name, to: file)
                done = event.name
                self.say(
                    "event \(event.sequence): \(event.detector), peak \(event.peak)"
                        + (event.isRedelivered ? ", sent again" : ""))
            }
            client.onGap = { gap in self.say("events \(gap.first) to \(gap.last) are missing") }
            client.onCaughtUp = { _ in self.say("nothing more is kept") }
            client.onRefusal = { error in if error.isFinal { self.end("\(error)") } }
            try client.connect()
            // Before the detectors, so that what was kept comes first, and the end of it is said.
            try client.subscribe(since: done)
            try client.add([Detector("watch", preset: words.first ?? "shake", options: self.options(words.dropFirst()))]
            )
            self.say("watching")
            try client.run()
        } catch {
            self.end("\(error)")
        }
    }

    private static func options(_ words: ArraySlice<String>) -> [String: Detector.Option] {
        var options: [String: Detector.Option] = [:]
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { self.end("expected KEY=VALUE, got '\(word)'") }
            options[parts[0]] = .text(parts[1])
        }
        return options
    }

    /// What a file says that we are done with: a number and an epoch.
    private static func read(_ path: String) -> MotionEvent.Name? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = fread(&bytes, 1, bytes.count, file)
        let numbers = String(decoding: bytes[..<count], as: UTF8.self).split { " \n".contains($0) }.map { UInt64($0) }
        guard numbers.count == 2, let sequence = numbers[0], let epoch = numbers[1] else { return nil }
        return MotionEvent.Name(sequence: sequence, epoch: epoch)
    }

    /// Replaces the file as a whole, once all of it is on the disk.
    private static func write(_ name: MotionEvent.Name, to path: String) {
        guard let file = fopen("\(path).new", "w") else { self.end("cannot write \(path).new") }
        fputs("\(name.sequence) \(name.epoch)\n", file)
        let isWritten = fflush(file) == 0 && fsync(fileno(file)) == 0
        guard fclose(file) == 0, isWritten, rename("\(path).new", path) == 0 else { self.end("cannot write \(path)") }
    }

    private static func say(_ line: String) {
        print(line)
        // Whoever reads a pipe wants the line now.
        fflush(nil)
    }

    private static func end(_ message: String) -> Never {
        let line = "example-careful: \(message)\n"
        _ = line.withCString { Glibc.write(STDERR_FILENO, $0, line.utf8.count) }
        exit(1)
    }
}
