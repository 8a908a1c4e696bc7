import Arbitration
import Background
import BrokerCore
import DBus
import Motion
import Protocol

/// The app's background work, as it sees it.
extension Client {
    /// Answers when the task is on the disk.
    func submitTask(
        _ identifier: String, _ word: String, _ options: [String: Value], _ call: MethodCall
    ) throws(BusError) {
        let request = try TaskRequest(identifier, word, options)
        try self.task(.submit(self.id, request, declared: self.declaredTasks))
        let waiting = self.tasks?.pending.first { $0.request.identifier == identifier }
        guard let record = waiting?.record ?? self.tasks?.current?.record else {
            throw .failed("the task is over already")
        }
        self.service.links.tasks.wait(for: record.revision) { isDurable in
            call.reply([
                "earliest-begin": Value.uint64(record.request.earliest.wire), "durable": .boolean(isDurable),
            ])
        }
    }

    func task(_ input: TaskInput) throws(BusError) {
        do throws(Refusal) {
            try self.service.links.tasks.input(input)
        } catch {
            throw BusError(error)
        }
    }

    func tellExpiring(_ identifier: String, _ remaining: TimeSpan) {
        guard let object = self.object else { return }
        self.service.bus.signal(from: object.path, InterfaceName.app, "TaskExpiring", to: self.uniqueName) {
            identifier.write(to: &$0)
            (Timestamp.zero + remaining).wire.write(to: &$0)
        }
    }

    // MARK: What there is to see

    private var tasks: AppTasks? {
        (self.appState?.owner).flatMap { self.service.core.work.tasks[$0] }
    }

    var taskList: [Structure<String, String, String, [String: Value]>] {
        let rows = self.tasks.map { self.service.links.tasks.rows(of: $0) } ?? []
        return rows.map { Structure($0.identifier, $0.kind, $0.state, $0.details) }
    }

    /// Identifier, attempt, how it ended, and when it began and ended, of the wall clock.
    var taskOutcomes: [Structure<String, UInt32, String, UInt64, UInt64>] {
        (self.tasks?.outcomes ?? []).map {
            Structure($0.identifier, $0.attempt, $0.end.name, $0.begun.wire, $0.ended.wire)
        }
    }
}

extension TaskRequest {
    /// A task as an app asks for it.
    init(_ identifier: String, _ word: String, _ options: [String: Value]) throws(BusError) {
        let reader = try OptionReader(
            options, of: "task",
            known: ["earliest-begin", "latest-begin", "idle", "external-power", "discretionary"])
        guard let kind = TaskKind.allCases.first(where: { $0.name == word }) else {
            let names = TaskKind.allCases.map(\.name)
            let near = Suggestion.nearest(to: word, among: names)
            throw .invalidConfiguration(
                "there is no kind of task '\(printable(word))', "
                    + (near.map { "did you mean '\($0)'?" } ?? "give one of: \(names.joined(separator: ", "))"))
        }
        var needs = WordSet<TaskNeed>.none
        if try reader.flag("idle") == true { needs.insert(.idle) }
        if try reader.flag("external-power") == true { needs.insert(.power) }
        let earliest = try reader.time("earliest-begin").map { Timestamp.zero + $0 }
        let latest = try reader.time("latest-begin").map { Timestamp.zero + $0 }
        if let earliest, let latest, latest < earliest {
            throw .invalidConfiguration("task: latest-begin comes before earliest-begin")
        }
        self.init(
            identifier, kind, earliest: earliest ?? .zero, latest: latest, needs: needs,
            isDiscretionary: try reader.flag("discretionary") ?? false)
    }
}
