import Arbitration
import BrokerCore
import Motion

/// What an app registers for good: what `DurableLink` does. Only the last app asks for that.
extension World {
    static let durableClient = Setup.clients - 1

    private var hasDurableFile: Bool {
        let app = Setup.apps[Self.durableClient]
        return Setup.files.indices.contains { Setup.files[$0].app == app && self.files[$0] > 0 }
    }

    /// A client wants what it registers to last (1), or no more (0); or its user has it forgotten (2).
    mutating func last(_ client: Int, _ wish: Int) {
        guard client == Self.durableClient else { return }
        if wish == 2 { return self.setDurable(Setup.apps[client], nil) }
        self.clients[client].wantsToLast = wish == 1
        if wish == 1 { self.say(client, .register) }
    }

    /// A client has registered: it is noted if that is to last, or did.
    mutating func bind(_ client: Int) {
        guard client == Self.durableClient, self.hasDurableFile else { return }
        let app = Setup.apps[client]
        let known = self.process?.durable[app]
        guard self.clients[client].wantsToLast || known != nil else { return }
        self.setDurable(app, known ?? [])
    }

    /// A client has added detectors.
    mutating func last(_ numbers: [Int], of client: Int) {
        guard client == Self.durableClient, self.clients[client].wantsToLast,
            let known = self.process?.durable[Setup.apps[client]]
        else { return }
        self.setDurable(Setup.apps[client], known.union(numbers))
    }

    /// A client has removed one.
    mutating func lastNoMore(_ number: Int, of client: Int) {
        guard let known = self.process?.durable[Setup.apps[client]] else { return }
        self.setDurable(Setup.apps[client], known.subtracting([number]))
    }

    mutating func setDurable(_ app: AppID, _ numbers: Set<Int>?) {
        guard let process = self.process, process.durable[app] != numbers else { return }
        process.durable[app] = numbers
        process.changedDurable.insert(app)
        process.store.set(app, to: numbers)
        if self.hasDurableFile { self.readFile(of: app, hasChanged: true) }
    }

    /// The disk says what was registered for good before. What has changed since counts.
    mutating func restoreDurable(_ apps: [AppID: Set<Int>]) {
        guard let process = self.process else { return }
        for (app, numbers) in apps.sorted(by: { $0.key < $1.key }) where !process.changedDurable.contains(app) {
            process.durable[app] = numbers
            if self.hasDurableFile { self.readFile(of: app, hasChanged: true) }
        }
    }

    mutating func storeDurableAgain() {
        guard let process = self.process else { return }
        for (app, numbers) in process.durable { process.store.set(app, to: numbers) }
    }

    /// Whoever registered for good is there with that, as long as its file is.
    func checkDurable() -> String? {
        guard self.hasDurableFile, let process = self.process else { return nil }
        for (app, numbers) in process.durable {
            guard let handle = process.installed[app], let known = process.core.registry[handle] else {
                return "\(app) registered for good, and is not there"
            }
            for number in numbers where known.detectors["d\(number)"] == nil {
                return "\(app) registered d\(number) for good, and does not have it"
            }
        }
        return nil
    }
}
