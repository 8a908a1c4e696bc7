import BrokerCore
import DBus
import Motion
import Protocol

/// Shows what is held of what there is for all, and by whom: read in the books by which the limits are checked.
struct UsageLink {
    private unowned let service: BrokerService

    init(_ service: BrokerService) { self.service = service }

    /// A user sees what is his, and what all have together; our own user and root see everything.
    func list(_ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let last = try UsageTable.Key.after(options)
        self.service.authority.ifKnown(call) { [weak service = self.service] uid in
            guard let service else { return }
            let links = service.links
            let table = UsageTable(
                service.core.usage + service.bus.usage + [
                    links.reports.usage, links.clients.held.usage, links.clients.watchers.usage,
                    links.explanations.usage,
                ])
            let rows = table.rows(
                for: Authority.isTrusted(uid) ? .everything : .user(uid), after: last,
                atMost: service.core.limits.listRows)
            call.reply(rows.map(\.wire))
        }
    }
}
