import Glibc
import JostleClient

/// A timer that goes on while you do something else:
/// `example-pomodoro APP [--work S] [--break S] [--tick S] [--reserve S] [--bus ADDRESS]`.
///
/// Work and breaks take turns, with a break three times as long after four times work. At the end of each it reminds, and a
/// shake begins the next. In the background it lives on a sound of its own, where it may play one, and on an assertion: every
/// tick it begins a new one when less than the reserve is left.
@main
final class Pomodoro {
    private let client: JostleApp
    private let settings: Settings
    private var sound: JostleApp.Activity?
    private var assertion: JostleApp.Assertion?
    /// Periods that ended; work has the even numbers.
    private var reminders = 0
    /// When the present period ends; `nil`: it ended, and the user has not answered.
    private var end: Double?
    private var nextTick = 0.0
    private var isAnswered = false
    private var isBrokerThere = true

    /// Times in seconds.
    struct Settings {
        var work = 1_500.0
        var pause = 300.0
        var tick = 25.0
        var reserve = 60.0
    }

    init(_ client: JostleApp, _ settings: Settings) {
        self.client = client
        self.settings = settings
    }

    private func run() throws(JostleError) {
        // Calls have to wait until the handler is done.
        self.client.onEvent = { _ in self.isAnswered = true }
        self.client.onSession = { change in if change.change != .began { say("the sound is \(change.change)") } }
        self.client.onBrokerChange = { isThere in
            self.isBrokerThere = isThere
            guard isThere else { return }
            try? self.hold()
            say("the broker is back")
        }
        try self.client.connect()
        try self.client.add([Detector("next", preset: "shake")])
        try self.hold()
        say("started")

        let start = now()
        self.end = start + self.settings.work
        self.nextTick = start
        while !self.isSuspended {
            if let end = self.end, now() >= end { self.remind() }
            if now() >= self.nextTick {
                self.renew()
                while self.nextTick <= now() { self.nextTick += self.settings.tick }
            }
            if self.isAnswered { self.begin() }
            self.wait(until: min(self.nextTick, self.end ?? .infinity))
            try self.client.dispatch()
        }
        // What a suspended app does.
        say("out of time")
        self.client.onBrokerChange = { _ in }
        self.client.onEvent = { _ in say("heard something all the same") }
        try self.client.run()
    }

    /// Begins what keeps it going in the background.
    private func hold() throws(JostleError) {
        do throws(JostleError) {
            self.sound = try self.client.beginActivity("audio", class: "playback", mixesWithOthers: true)
        } catch {
            say("silent: \(error.message)")
        }
        self.assertion = try self.client.beginAssertion("timer")
    }

    /// Neither a sound nor an assertion keeps it going. Both end with the broker, too, and then nobody suspends it.
    private var isSuspended: Bool {
        guard self.isBrokerThere, self.sound?.isEnded ?? true, self.assertion?.isEnded ?? true else { return false }
        do throws(JostleError) {
            // The broker may be gone, and we have not heard of that yet.
            _ = try self.client.backgroundTimeRemaining()
            return true
        } catch {
            return error.kind != .noService
        }
    }

    private func renew() {
        guard let left = try? self.client.backgroundTimeRemaining(), left < .seconds(self.settings.reserve) else {
            return
        }
        self.assertion = nil
        self.assertion = try? self.client.beginAssertion("timer")
        if self.assertion?.isEnded == false { say("renewed") }
    }

    private func remind() {
        self.end = nil
        self.isAnswered = false
        self.reminders += 1
        say("reminder \(self.reminders)")
    }

    /// The user shook it, to go on.
    private func begin() {
        self.isAnswered = false
        guard self.end == nil else { return }
        let isWork = self.reminders.isMultiple(of: 2)
        let isLong = self.reminders % 8 == 7
        self.end = now() + (isWork ? self.settings.work : isLong ? 3 * self.settings.pause : self.settings.pause)
        say(isWork ? "work" : "break")
    }

    private func wait(until time: Double) {
        var watched = pollfd(fd: self.client.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&watched, 1, Int32(max(0, min(60, time - now()) * 1_000).rounded(.up)))
    }

    static func main() {
        var (settings, bus, words) = (Settings(), JostleApp.Bus.session, CommandLine.arguments.dropFirst())
        guard let app = words.popFirst() else { complain("expected APP") }
        while let option = words.popFirst(), let value = words.popFirst() {
            switch option {
            case "--work": settings.work = seconds(value)
            case "--break": settings.pause = seconds(value)
            case "--tick": settings.tick = seconds(value)
            case "--reserve": settings.reserve = seconds(value)
            case "--bus": bus = .address(value)
            default: complain("there is no option '\(option)'")
            }
        }
        do throws(JostleError) {
            try Pomodoro(JostleApp(app: app, on: bus), settings).run()
        } catch {
            complain("\(error)")
        }
    }
}

private func seconds(_ text: String) -> Double {
    // Much shorter ones would be lost when they are added to the time, and the next tick would never come.
    guard let value = Double(text), (0.001..<1e6).contains(value) else { complain("'\(text)' is no number of seconds") }
    return value
}

private func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

private func say(_ line: String) {
    print(line)
    // Whoever reads a pipe wants the line now.
    fflush(nil)
}

private func complain(_ message: String) -> Never {
    let line = "example-pomodoro: \(message)\n"
    _ = line.withCString { write(STDERR_FILENO, $0, line.utf8.count) }
    exit(1)
}
