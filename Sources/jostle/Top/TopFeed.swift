import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// Asks the broker what there is to see, one question after the other, and never waits for the answers.
///
/// Not `Sendable`: it belongs to the loop of its command. Lists come in pages, so that the broker answers none of them long; a round that
/// is not over when the next is due takes its place.
final class TopFeed {
    private let service: Service
    /// How the broker did; a failure leaves what was known.
    private let onRound: (Result<TopSnapshot, CommandFailure>) -> Void
    /// What this round has heard; `nil` between rounds.
    private var round: TopSnapshot?
    /// The properties of the broker that this round has yet to hear of.
    private var awaited = 0
    /// The broker is started for the first question at most: whoever stops it does not want it back.
    private var isFirst = true

    /// More apps than any broker has.
    private static let most = 65_536
    private static let properties = ["Sensors", "Paused", "Locked", "Durability"]

    init(_ service: Service, _ onRound: @escaping (Result<TopSnapshot, CommandFailure>) -> Void) {
        self.service = service
        self.onRound = onRound
    }

    /// Begins a round, unless one is under way.
    func begin() {
        guard self.round == nil else { return }
        self.round = TopSnapshot(time: 0)
        self.list([:])
    }

    private func list(_ options: [String: Value]) {
        self.ask("ListCounters", InterfaceName.broker, options) {
            (feed: TopFeed, answer: borrowing Message) throws(CommandFailure) in
            let rows = try feed.service.read(answer, [ListedCounters.Wire].self).map { ListedCounters($0) }
            guard let last = rows.last else { return feed.askProperties() }
            // Whoever answers may be anybody.
            let known = feed.round?.apps.last?.object.text ?? ""
            let isOrdered = zip([known] + rows.map(\.object.text), rows).allSatisfy { $0 < $1.object.text }
            guard isOrdered, (feed.round?.apps.count ?? 0) + rows.count <= Self.most else {
                throw CommandFailure(.no, "\(feed.service.title) lists in no order, or more than there can be")
            }
            feed.round?.apps += rows
            feed.list([ListOptions.after: .objectPath(last.object)])
        }
    }

    private func askProperties() {
        self.round?.time = Clock.boottime.now()
        self.awaited = Self.properties.count
        for name in Self.properties {
            self.ask("Get", "org.freedesktop.DBus.Properties", InterfaceName.broker.description, name) {
                (feed: TopFeed, answer: borrowing Message) throws(CommandFailure) in
                feed.take(name, try feed.service.read(answer, Value.self))
            }
        }
    }

    private func take(_ name: String, _ value: Value) {
        guard self.round != nil else { return }
        let known = [name: value]
        switch name {
        case "Sensors": self.round?.sensors = known.rows(name)
        case "Paused": self.round?.isPaused = known.flag(name)
        case "Locked": self.round?.isLocked = known.flag(name)
        default: self.round?.durability = known.text(name)
        }
        self.awaited -= 1
        if self.awaited == 0, let round { self.end(.success(round)) }
    }

    private func end(_ result: Result<TopSnapshot, CommandFailure>) {
        guard self.round != nil else { return }
        self.round = nil
        self.onRound(result)
    }

    /// Asks the broker something in a round; what goes wrong ends it.
    private func ask<each T: WireValue>(
        _ member: String, _ interface: StaticString, _ arguments: repeat each T,
        then: @escaping (TopFeed, borrowing Message) throws(CommandFailure) -> Void
    ) {
        let isStarted = self.isFirst
        self.isFirst = false
        self.service.ask(
            Path.broker, interface, member, repeat each arguments, timeout: Service.brokerPatience, starting: isStarted
        ) { [weak self] result in
            // Another round may have begun since.
            guard let self, self.round != nil else { return }
            do throws(CommandFailure) {
                try then(self, try self.service.answer(result))
            } catch {
                self.end(.failure(error))
            }
        }
    }

    /// Asks for the last verdict of an app, as lines for people.
    func explain(_ app: String, _ then: @escaping ([String]) -> Void) {
        let options: [String: Value] = [VerdictKey.app: .string(app)]
        self.service.ask(
            Path.broker, InterfaceName.broker, "Explain", UInt64(0), options, timeout: Service.brokerPatience,
            starting: false
        ) { [weak self] result in
            guard let self else { return }
            do throws(CommandFailure) {
                let verdicts = try self.service.read(try self.service.answer(result), [[String: Value]].self)
                then(verdicts.last?.explanation ?? ["nothing became of it yet"])
            } catch {
                then([error.message])
            }
        }
    }
}
