import BrokerCore
import DBus
import Motion
import Protocol

/// Shows what is held of what there is for all, and by whom: read in the books by which the limits are checked.
struct UsageLink {
    private unowned let service: BrokerService

    init(_ service: BrokerService) { self.service = service }

    /// A user sees what is his, and what all have together; our own user and root see everything. Who is in a sandbox sees what those
    /// in sandboxes have.
    func list(_ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let last = try UsageTable.Key.after(options)
        self.service.authority.ifKnown(call) { [weak service = self.service] identity in
            guard let service else { return }
            let links = service.links
            let table = UsageTable(
                service.core.usage + service.bus.usage + [
                    links.reports.usage, links.clients.held.usage, links.clients.watchers.usage,
                    links.explanations.usage,
                ])
            let rows = table.rows(
                for: identity.isTrusted ? .everything : .user(identity.payer), after: last,
                atMost: service.core.limits.listRows)
            call.reply(rows.map(\.wire))
        }
    }
}
