import DBus
import DaemonSupport
import FocusCore
import Motion
import Protocol

/// Tells the broker what one source sees: one call at a time, the newest next, and all of it again to a broker that comes.
final class Reporter {
    private let bus: Connection
    private let source: String
    private let log: Log
    private var queue = ReportQueue()
    /// What the broker said last that it was not: each refusal is told once.
    private var refusal: String?

    private static let broker = CallTarget(BusName.broker, Path.broker, InterfaceName.broker.description)

    init(_ source: String, on bus: Connection, _ names: NameWatch, log: Log) {
        self.bus = bus
        self.source = source
        self.log = log
        _ = names.follow(BusName.broker, ownRule: true) { [weak self] owner in
            self?.queue.brokerChanged(isThere: owner != nil)
            self?.send()
        }
    }

    func add(_ report: Desk.Report) {
        self.queue.add(report)
        self.send()
    }

    private func send() {
        guard let (report, call) = self.queue.next() else { return }
        let options: [String: Value] = [FocusKey.source: .string(self.source)]
        let then: (consuming CallResult) -> Void = { [weak self] in self?.answered(call, $0) }
        // A broker that nobody needs is not started for it.
        switch report {
        case .windows(let rows):
            self.log.debug("\(self.source): \(Self.text(rows))")
            self.bus.call(
                Self.broker, "SetWindows", rows.map(Self.wire), options, autoStart: false, then: then)
        case .forget:
            self.log.debug("\(self.source): nobody knows")
            self.bus.call(Self.broker, "ForgetWindows", options, autoStart: false, then: then)
        }
    }

    private func answered(_ call: UInt64, _ result: consuming CallResult) {
        do throws(BusError) {
            _ = try result.take()
            self.refusal = nil
            self.queue.answered(call)
        } catch {
            self.queue.answered(call, isSilence: error.name == BusError.noReply("").name)
            if self.refusal != error.name {
                self.log.warning("the broker does not take what \(self.source) sees: \(error)")
            }
            self.refusal = error.name
        }
        self.send()
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
