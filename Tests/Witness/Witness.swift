import Glibc
import JostleClient
import Loop

/// An app that says whether its events come as was promised: `test-witness BUS APP SENSOR CONDITION EVERY [NOTES|slow]`.
///
/// It says "watching" once its detector is in force, once a second how much it heard, and "violation: …" for each promise that is
/// not kept. With a file for notes it notes each event before it answers it, goes on behind the last one when it comes back, and
/// hears nothing twice. A slow one takes longer for an event than the next one takes to come.
@main struct Witness {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard (5...6).contains(words.count), let every = UInt64(words[4]) else {
            self.end("usage: test-witness BUS APP SENSOR CONDITION EVERY [NOTES|slow]")
        }
        let isSlow = words.count == 6 && words[5] == "slow"
        do {
            let notes = try words.count == 6 && !isSlow ? Notes(words[5]) : nil
            let detector = Detector(
                "witnessed", when: words[3],
                options: ["sensor": .text(words[2]), "every": .count(every), "rest": .count(0)])
            let loop = try EventLoop()
            let client = JostleApp(app: words[1], on: .address(words[0]), loop: loop)
            try self.watch(client, detector, notes, delay: isSlow ? UInt32(every) * 2 : 0, loop)
        } catch {
            self.end("\(error)")
        }
    }

    private static func watch(
        _ client: JostleApp, _ detector: Detector, _ notes: Notes?, delay: UInt32, _ loop: EventLoop
    ) throws {
        var ledger = Ledger(done: notes?.done ?? [])
        client.onEvent = { event in
            if let problem = ledger.hear(event) { self.say("violation: \(problem)") }
            notes?.add(event.name)
            if delay > 0 { usleep(delay) }
        }
        client.onGap = { if let problem = ledger.hear($0) { self.say("violation: \(problem)") } }
        client.onBrokerChange = { _ in ledger.beginAnew() }
        client.onRefusal = { self.say("violation: the broker refuses what it took before: \($0)") }
        func tell() {
            self.say("heard \(ledger.heard) missing \(ledger.missing) again \(ledger.again)")
            _ = loop.schedule(after: 1_000_000) { tell() }
        }
        try client.connect(orWaiting: {})
        if let notes { try client.subscribe(since: notes.last) }
        try client.add([detector])
        self.say("watching")
        tell()
        try client.run()
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    static func end(_ message: String) -> Never {
        let line = Array("test-witness: \(message)\n".utf8)
        // SAFETY: the array lives for the call, and its length is given.
        _ = unsafe write(2, line, line.count)
        exit(2)
    }
}
