package import Arbitration
package import Motion

/// Writes what the arbiter decided, one line each, without anything that differs from run to run.
package struct DecisionLog: Sendable {
    /// What happened, as words with names: machines get the names, too.
    package struct Entry: Equatable, Sendable {
        package enum Kind: String, Sendable {
            case deliver, verdict
            /// A hit that changed nothing.
            case again
            /// An app is in another state now, and nobody had said so.
            case state
            /// An assertion began, or was refused.
            case assertion
            /// An activity was refused.
            case activity
            /// A session stands otherwise.
            case session
            /// An assertion ends soon.
            case expiring
            /// An assertion or activity ended that the app had not ended.
            case ended
            /// An app is launched.
            case launch
            /// A launch is over.
            case launched
            /// Nobody is launched for something any more.
            case gaveUp = "gave-up"
        }

        package var time: TimeSpan
        /// `nil` for what is no event's.
        package var epoch: UInt64?
        package var kind: Kind
        package var app: String
        /// The words behind the app. Those without a name in the text are named here all the same.
        package var words: [(name: String, value: String, isNamed: Bool)] = []

        mutating func add(_ name: String, _ value: String) { self.words.append((name, value, true)) }
        mutating func addPlain(_ name: String, _ value: String) { self.words.append((name, value, false)) }

        package static func == (a: Self, b: Self) -> Bool { a.description == b.description }
    }

    /// What times count from.
    private let origin: Timestamp
    /// The last epoch before the first one.
    private let epoch: UInt64

    package init(origin: Timestamp = .zero, epoch: UInt64 = 0) {
        self.origin = origin
        self.epoch = epoch
    }

    /// What an action says; `nil` for one that was said to us.
    ///
    /// - Parameter name: The id of an app that is there.
    package func entry(_ action: ArbiterAction, at time: Timestamp, name: (AppHandle) -> AppID?) -> Entry? {
        switch action {
        case .deliver(let delivery):
            var entry = self.entry(.deliver, delivery.epoch, delivery.id, time)
            entry.addPlain("detector", Scenario.word(delivery.detector))
            entry.add("peak", "\(delivery.hit.peak)")
            if delivery.hit.isClipped { entry.addPlain("clipped", "yes") }
            if delivery.hit.note != .none { entry.addPlain("note", "\(delivery.hit.note.rawValue)") }
            if delivery.route != .live { entry.addPlain("route", delivery.route.rawValue) }
            if let answerBy = delivery.answerBy { entry.add("answer-by", self.clock(answerBy)) }
            return entry
        case .verdict(let verdict):
            var entry = self.entry(.verdict, verdict.epoch, verdict.id, time)
            self.describe(verdict, in: &entry)
            return entry
        case .repeated(let app, _, let epoch, let reason):
            var entry = self.entry(.again, epoch, name(app) ?? AppID(""), time)
            entry.addPlain("reason", reason.name)
            return entry
        case .life(let app, let effect): return self.entry(effect, name(app) ?? AppID(""), time)
        case .assertion(let app, let request, let refusal, let remaining):
            var entry = self.entry(.assertion, nil, name(app) ?? AppID(""), time)
            entry.addPlain("assertion", Scenario.word(request.name))
            if let refusal { entry.add("refused", refusal.name) }
            if let remaining { entry.add("for", Self.clock(remaining)) }
            return entry
        case .activity(let app, let mode, let refusal):
            guard let refusal else { return nil }
            var entry = self.entry(.activity, nil, name(app) ?? AppID(""), time)
            entry.addPlain("mode", mode.name)
            entry.add("refused", refusal.name)
            if case .rejected(let meeting) = refusal { self.describe(meeting, in: &entry) }
            return entry
        case .session(let effect):
            var entry = self.entry(.session, nil, name(effect.key.app) ?? AppID(""), time)
            entry.addPlain("class", effect.request.name)
            entry.addPlain("change", effect.change.name)
            switch effect.change {
            case .resumed(let hint): entry.add("hint", hint ? "yes" : "no")
            case .ducked(let meeting): entry.add("share", "\(meeting.cell.ducking?.share ?? 1)")
            case .began, .waits, .interrupted, .restored, .silenced, .audible: break
            }
            if let meeting = effect.change.meeting { self.describe(meeting, in: &entry) }
            return entry
        case .launch(let effect): return self.entry(effect, time)
        }
    }

    private func entry(_ effect: LaunchEffect, _ time: Timestamp) -> Entry {
        switch effect {
        case .begin(let launch):
            var entry = self.entry(.launch, nil, launch.app, time)
            entry.addPlain("launch-reason", launch.reason.description)
            entry.addPlain("start", launch.isCold ? "cold" : "warm")
            return entry
        case .ended(let launch, let result, let again):
            var entry = self.entry(.launched, nil, launch.app, time)
            entry.addPlain("launch-reason", launch.reason.description)
            entry.addPlain("result", result.name)
            if let again { entry.add("again", self.clock(again)) }
            return entry
        case .gaveUp(let request, let failure):
            var entry = self.entry(.gaveUp, nil, request.app, time)
            entry.addPlain("launch-reason", request.reason.description)
            entry.add("by", failure?.name ?? "age")
            return entry
        }
    }

    private func describe(_ meeting: SessionMeeting, in entry: inout Entry) {
        entry.add("holder", meeting.cell.holder)
        entry.add("requester", meeting.cell.requester)
        entry.add("other", Self.shown(meeting.other))
        entry.add("cell", meeting.cell.outcome.name)
        if let place = meeting.cell.place { entry.add("at", Self.shown(place)) }
    }

    /// Without directories: the log is the same wherever the files are.
    private static func shown(_ place: Place) -> String {
        let path = place.lineDescription
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] }
        return Scenario.word(String(name ?? path[...]))
    }

    private func entry(_ effect: LifeEffect, _ app: AppID, _ time: Timestamp) -> Entry? {
        switch effect {
        case .changed(let change):
            switch change.cause {
            case .came, .left, .told: return nil
            case .foreground, .lock, .grace, .overrun, .task, .launched, .frozen, .player: break
            }
            var entry = self.entry(.state, nil, app, time)
            entry.addPlain("state", change.to.name)
            entry.add("by", change.cause.rawValue)
            return entry
        case .expiring(_, let name, let remaining):
            var entry = self.entry(.expiring, nil, app, time)
            entry.addPlain("assertion", Scenario.word(name))
            entry.add("for", Self.clock(remaining))
            return entry
        case .assertionEnded(_, let name, let end):
            var entry = self.entry(.ended, nil, app, time)
            entry.addPlain("assertion", Scenario.word(name))
            entry.add("by", end.rawValue)
            return entry
        case .player: return nil
        case .activityEnded(_, let mode):
            var entry = self.entry(.ended, nil, app, time)
            entry.addPlain("mode", mode.name)
            return entry
        }
    }

    private func entry(_ kind: Entry.Kind, _ epoch: UInt64?, _ app: AppID, _ time: Timestamp) -> Entry {
        Entry(time: time - self.origin, epoch: epoch.map { $0 &- self.epoch }, kind: kind, app: Self.shown(app))
    }

    private func describe(_ verdict: Verdict, in entry: inout Entry) {
        entry.addPlain("reason", verdict.reason.name)
        if let rule = verdict.rule, !rule.name.isEmpty {
            entry.add("rule", rule.name)
            entry.add("at", Self.shown(rule.place))
        }
        if let contest = verdict.contest {
            entry.add("group", contest.group)
            if let winner = contest.winner, let key = verdict.decidedBy {
                if verdict.id != winner {
                    entry.add(contest.mode == .ordered ? "first" : "winner", Self.shown(winner))
                }
                entry.add("by", key.name)
            }
            if let inherits = contest.inherits { entry.add("inherits", "\(inherits &- self.epoch)") }
        }
        if let mixing = verdict.mixing {
            entry.add("class", mixing.requester)
            if let meeting = mixing.meeting {
                entry.add("other", Self.shown(meeting.other))
                entry.add("cell", "\(meeting.cell.name):\(meeting.cell.outcome.name)")
            }
        }
        if let until = verdict.limits?.until { entry.add("until", self.clock(until)) }
        entry.add("policy", "\(verdict.generation)")
    }

    private static func shown(_ id: AppID) -> String {
        let text = id.description
        return text.isEmpty ? "-" : text
    }

    private func clock(_ time: Timestamp) -> String { Self.clock(time - self.origin) }

    /// Seconds with as many digits as say it all: three or six.
    static func clock(_ time: TimeSpan) -> String {
        let (seconds, rest) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let digits = String(rest.magnitude)
        let padded = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        let sign = time.microseconds < 0 && seconds == 0 ? "-" : ""
        return "\(sign)\(seconds).\(padded.hasSuffix("000") ? String(padded.dropLast(3)) : padded)"
    }
}

extension DecisionLog.Entry: CustomStringConvertible {
    /// The entry as a line of the log, without its end: the time in seconds, the epoch, and what happened.
    package var description: String {
        let epoch = self.epoch.map { " epoch=\($0)" } ?? ""
        var text = "\(DecisionLog.clock(self.time))\(epoch) \(self.kind.rawValue) \(self.app)"
        for word in self.words { text += word.isNamed ? " \(word.name)=\(word.value)" : " \(word.value)" }
        return text
    }
}
