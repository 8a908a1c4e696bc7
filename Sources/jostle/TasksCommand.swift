import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// `jostle tasks`: background work that apps handed in.
struct TasksCommand {
    static let syntax = CommandSyntax(
        "tasks", "show background work that waits or runs", reaching: .broker, options: [CommonOption.json],
        action: {
            try TasksCommand(bus: $0.bus, isJSON: $0.isJSON, terminal: $0.terminal, loop: $0.loop).run()
        })

    let bus: BusAddress
    let isJSON: Bool
    let terminal: Terminal
    let loop: EventLoop

    /// A task as the broker shows it.
    struct Row {
        var app: String
        var identifier: String
        var kind: String
        var state: String
        var details: [String: Value]

        /// When it begins, or what it waits for.
        var next: String {
            if self.state == "running" {
                return "has until \(Moment(boottime: self.details.count("deadline")).line)"
            }
            if self.state == "starting" { return "now" }
            let waits = self.details.lines("waits-for")
            if !waits.isEmpty { return "waits for \(waits.joined(separator: ", "))" }
            let due = Int64(clamping: self.details.count("due"))
            return due <= Clock.wallClock() ? "now" : Moment(wall: due).line
        }

        var json: JSONLine {
            var line = JSONLine()
            if !self.app.isEmpty { line.add("app", self.app) }
            line.add("task", self.identifier)
            line.add("kind", self.kind)
            line.add("state", self.state)
            for key in ["earliest-begin", "latest-begin", "due", "deadline"] where self.details[key] != nil {
                line.add(
                    key.replacing("-", with: "_") + "_us", self.details.count(key),
                    on: key == "deadline" ? .boottime : .realtime)
            }
            for key in ["idle", "external-power", "discretionary"] {
                line.add(key.replacing("-", with: "_"), self.details.flag(key))
            }
            if case .uint32(let attempt) = self.details["attempt"] { line.add("attempt", UInt64(attempt)) }
            line.add("waits_for", self.details.lines("waits-for"))
            return line
        }
    }

    private func run() throws(CommandFailure) {
        let broker = try Service.broker(on: self.bus, self.loop, within: Service.brokerPatience)
        let rows = try Self.rows(of: broker)
        if self.isJSON {
            for row in rows { self.terminal.print(row.json.text) }
            return
        }
        if rows.isEmpty {
            self.terminal.print("no task waits")
            return
        }
        var table = Columns(["APP", "TASK", "KIND", "STATE", "BEGINS"])
        for row in rows {
            table.add([
                row.app, row.identifier, row.kind, row.state, row.next,
            ])
        }
        table.lines(self.terminal).forEach { self.terminal.print($0) }
    }

    static func rows(of broker: Service) throws(CommandFailure) -> [Row] {
        typealias Wire = Structure<String, String, String, String, [String: Value]>
        return try broker.read(
            try broker.call(Path.broker, InterfaceName.broker, "ListTasks", noOptions), [Wire].self
        ).map {
            let (app, identifier, kind, state, details) = $0.fields
            return Row(app: app, identifier: identifier, kind: kind, state: state, details: details)
        }
    }

    // MARK: What an app's own object holds

    static func rows(_ own: [String: Value]) -> [Row] {
        own.structures("Tasks").compactMap { fields in
            guard fields.count == 4, case .string(let identifier) = fields[0], case .string(let kind) = fields[1],
                case .string(let state) = fields[2]
            else { return nil }
            return Row(app: "", identifier: identifier, kind: kind, state: state, details: fields[3].asOptions)
        }
    }

    /// What came of a task.
    struct Outcome {
        var identifier: String
        var attempt: UInt32
        var end: String
        /// Times of the wall clock.
        var begun: UInt64
        var ended: UInt64

        var json: JSONLine {
            var line = JSONLine()
            line.add("task", self.identifier)
            line.add("attempt", self.attempt)
            line.add("end", self.end)
            line.add("begun_us", self.begun, on: .realtime)
            line.add("ended_us", self.ended, on: .realtime)
            return line
        }
    }

    static func outcomes(_ own: [String: Value]) -> [Outcome] {
        own.rows("TaskOutcomes").map { outcome in
            var attempt: UInt32 = 0
            if case .uint32(let number) = outcome[TaskKey.attempt] { attempt = number }
            return Outcome(
                identifier: outcome.text(TaskKey.identifier), attempt: attempt, end: outcome.text(TaskKey.result),
                begun: outcome.count(TaskKey.began),
                ended: outcome.count(TaskKey.ended))
        }
    }
}
