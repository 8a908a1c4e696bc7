import DBus
import DaemonSupport
import FocusCore
import Loop
import Motion
import Protocol

/// Tells the broker what one source sees: one call at a time, the newest next, and all of it again to a broker that comes.
final class Reporter<Report: WholeReport> {
    /// Calls the broker with a report.
    typealias Say = (Report, _ options: [String: Value], @escaping (consuming CallResult) -> Void) -> Void

    private let source: String
    private let loop: EventLoop
    private let log: Log
    private let say: Say
    private var queue = ReportQueue<Report>()
    /// What the broker said last that it was not: each refusal is told once.
    private var refusal: String?
    /// When a broker is told again that had no room, and what does so.
    private var patience = RetryPatience()
    private var timer: EventLoop.TimerID?

    init(_ source: String, _ names: NameWatch, on loop: EventLoop, log: Log, _ say: @escaping Say) {
        self.source = source
        self.loop = loop
        self.log = log
        self.say = say
        _ = names.follow(BusName.broker, ownRule: true) { [weak self] owner in
            self?.queue.brokerChanged(isThere: owner != nil)
            self?.patience = RetryPatience()
            self?.send()
        }
    }

    func add(_ report: Report) {
        self.queue.add(report)
        self.send()
    }

    private func send() {
        guard let (report, call) = self.queue.next() else { return }
        self.say(report, [FocusKey.source: .string(self.source)]) { [weak self] in self?.answered(call, $0) }
    }

    private func answered(_ call: UInt64, _ result: consuming CallResult) {
        do throws(BusError) {
            _ = try result.take()
            self.refusal = nil
            self.patience = RetryPatience()
            self.queue.answered(call)
        } catch {
            self.queue.answered(call, isHeard: !error.isForTheMoment)
            if self.refusal != error.name {
                self.log.warning("the broker does not take what \(self.source) sees: \(error)")
            }
            self.refusal = error.name
            // One that said nothing took its time already. What is new waits for no pause.
            if error.isForTheMoment, !error.isUnanswered { return self.sendLater() }
        }
        self.send()
    }

    private func sendLater() {
        self.patience.failed(at: Timestamp(microseconds: Clock.monotonic.now()))
        self.loop.set(&self.timer, at: self.patience.nextTry?.microseconds) { [weak self] in self?.send() }
    }
}

private let broker = CallTarget(BusName.broker, Path.broker, InterfaceName.broker.description)

extension Reporter where Report == Desk.Report {
    /// Tells of a source's windows.
    convenience init(windowsOf source: String, on bus: Connection, _ names: NameWatch, log: Log) {
        self.init(source, names, on: bus.loop, log: log) { report, options, then in
            // A broker that nobody needs is not started for it.
            switch report {
            case .windows(let rows):
                log.debug("\(source): \(Self.text(rows))")
                bus.call(broker, "SetWindows", rows.map(Self.wire), options, autoStart: false, then: then)
            case .forget:
                log.debug("\(source): nobody knows")
                bus.call(broker, "ForgetWindows", options, autoStart: false, then: then)
            }
        }
    }

    private static func wire(_ row: AppRow) -> Structure<String, [String: Value]> {
        var details: [String: Value] = [
            FocusKey.state: .string(row.state.rawValue), FocusKey.window: .string(row.window),
        ]
        details[FocusKey.process] = row.process.map { .uint32($0) }
        return Structure(row.app?.name ?? "", details)
    }

    private static func text(_ rows: [AppRow]) -> String {
        rows.isEmpty
            ? "no app has a window"
            : rows.map { "\($0.app?.name ?? "an unknown app") \($0.state.rawValue)" }.joined(separator: ", ")
    }
}

extension Reporter where Report == AppList {
    /// Tells with a method of the broker's of which apps something is true.
    convenience init(_ method: String, as source: String, on bus: Connection, _ names: NameWatch, log: Log) {
        self.init(source, names, on: bus.loop, log: log) { list, options, then in
            let names = list.apps.map(\.name)
            log.debug("\(source): \(names.isEmpty ? "no app" : names.joined(separator: ", "))")
            bus.call(broker, method, names, options, autoStart: false, then: then)
        }
    }
}
