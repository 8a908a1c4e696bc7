import Glibc
import JostleClient

/// A feed that refreshes itself while nobody looks: `example-refresh APPID [--slow N] [--bus ADDRESS]`.
///
/// What it needs besides is an app file that names the task, and a policy that grants the mode:
///
///     # apps.d/APPID.conf                  # policy.d/20-feed.conf
///     [App]                                [App APPID]
///     Usage=Has the news when you look     Grants=fetch
///     Modes=fetch
///     Tasks=refresh
///
/// It says what it does, a line each. With --slow its Nth refresh takes longer than the broker lets it.
@main
struct Refresh {
    static let task = "refresh"

    static func main() {
        var words = Array(CommandLine.arguments.dropFirst())
        var bus = JostleApp.Bus.session
        if let address = self.option("--bus", &words) { bus = .address(address) }
        let slow = self.option("--slow", &words).flatMap { Int($0) }
        guard words.count == 1 else { self.end("expected APPID [--slow N] [--bus ADDRESS]") }
        do throws(JostleError) {
            let client = try JostleApp(app: words[0], on: bus)
            client.onRefusal = { error in if error.isFinal { self.end("\(error)") } }
            try client.connect()
            // At launch, before anything else: may we run it at all?
            guard try client.registerTask(self.task) else { self.end("registered: no") }
            self.say("registered: yes")
            try self.submit(client)
            var refreshes = 0
            while let task = try client.nextTask() {
                refreshes += 1
                self.say("begun: attempt \(task.attempt)")
                // First thing, so that there is a next one whatever becomes of this one.
                try self.submit(client)
                let isDone = try self.fetch(client, takes: refreshes == slow ? .seconds(3_600) : .milliseconds(50))
                let isInTime = try client.finishTask(success: isDone)
                self.say(!isInTime ? "too late" : isDone ? "done" : "broken off")
            }
        } catch {
            self.end("\(error)")
        }
    }

    private static func submit(_ client: JostleApp) throws(JostleError) {
        var conditions = JostleApp.TaskConditions()
        conditions.after = .milliseconds(100)
        try client.submitTask(self.task, .refresh, conditions)
        self.say("submitted")
    }

    /// Fetches the news, in steps: between two of them we hear when our time ends.
    private static func fetch(_ client: JostleApp, takes time: Duration) throws(JostleError) -> Bool {
        let step = Duration.milliseconds(10)
        var left = time
        while left > .zero {
            try client.run(for: step)
            if client.isTaskExpiring {
                self.say("expiring")
                return false
            }
            left -= step
        }
        return true
    }

    private static func option(_ name: String, _ words: inout [String]) -> String? {
        guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
        let value = words.remove(at: index + 1)
        words.remove(at: index)
        return value
    }

    private static func say(_ line: String) {
        print(line)
        // Whoever reads us through a pipe wants each line at once.
        fflush(nil)
    }

    private static func end(_ message: String) -> Never {
        self.say(message)
        exit(1)
    }
}
