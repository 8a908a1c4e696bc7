import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Loop
import Motion
import Protocol

/// Answers what became of events and what would become of others, from memory and from the journal.
final class ExplainLink {
    private unowned let service: BrokerService
    private let storeLink: StoreLink?
    /// Places for what is asked of the disk.
    private var questions = ExplainLink.shares

    private static let shares = UserShares(limit: Store.mostQuestions, reserve: 4)
    /// How many there may be, as `Limits` shows it.
    static let limits = [
        "journal-questions": UInt64(ExplainLink.shares.limit),
        "journal-questions-per-user": UInt64(ExplainLink.shares.share),
    ]

    /// - Parameter storeLink: `nil` when there is no journal.
    init(_ service: BrokerService, _ storeLink: StoreLink?) {
        self.service = service
        self.storeLink = storeLink
    }

    /// Whose questions wait for the disk.
    var usage: LimitUsage { LimitUsage("journal-questions", self.questions) }

    // MARK: Explain

    /// Answers with the verdicts of one epoch, as far as the caller may see them.
    func explain(_ number: UInt64, _ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let reader = try OptionReader(options, of: "Explain", known: [VerdictKey.app, VerdictKey.sequence])
        let word = try reader.text(VerdictKey.app)
        let isSequence = try reader.flag(VerdictKey.sequence) ?? false
        self.answer(call) { [unowned self] (viewer) throws(BusError) in
            var app = try word.map { word throws(BusError) in try self.app(word, for: viewer) } ?? viewer.itself
            guard app != nil || !isSequence else {
                throw .invalidArguments("Explain: with 'sequence', 'app' says whose number it is")
            }
            let event: VerdictQuery.Event = number == 0 ? .last : isSequence ? .sequence(number) : .epoch(number)
            // The app may have been another user's then. Numbers and the newest are those of whose it is.
            if case .epoch = event, viewer.seesAll, let id = app?.id, !id.isAnonymous { app = AppReference(id) }
            let query = VerdictQuery(event, of: app, for: viewer)
            self.find(query, call) { [weak self] records in
                guard let self else { return }
                let verdicts = self.service.core.records.show(records, for: query, among: self.service.core.registry)
                guard !verdicts.isEmpty else {
                    let absence = self.service.core.records.absence(of: query, self.service.core.arbiter)
                    return call.fail(.notFound(absence))
                }
                call.reply(verdicts.map(\.options))
            }
        }
    }

    /// Hands the verdicts that are asked for to `then`; not always at once, because those that are not kept in memory any
    /// more may have to be read from elsewhere.
    private func find(_ query: VerdictQuery, _ call: MethodCall, then: @escaping ([VerdictRecord]) -> Void) {
        let recent = self.service.core.records.find(query)
        if self.service.core.records.hasAll(of: query) || (query.event == .last && !recent.isEmpty) {
            return then(recent)
        }
        self.findStored(query, call) { stored in then(recent.joined(by: stored)) }
    }

    // MARK: What the journal knows

    /// Hands the verdicts of the epoch that a query is about to `then`, from the journal; none, if it does not know.
    private func findStored(_ query: VerdictQuery, _ call: MethodCall, then: @escaping ([VerdictRecord]) -> Void) {
        let wanted: JournalQuery
        switch query.event {
        case .epoch(let epoch):
            return self.askJournal(JournalQuery(epoch: epoch), for: query.viewer, call, then: then)
        case .last: wanted = Self.newest(of: query.app, for: query.viewer)
        case .sequence(let sequence): wanted = Self.newest(of: query.app, sequence, for: query.viewer)
        }
        self.askJournal(wanted, for: query.viewer, call) { [weak self] records in
            guard let self, let last = records.last(where: { query.concerns($0) }) else { return then([]) }
            self.askJournal(JournalQuery(epoch: last.verdict.epoch), for: query.viewer, call, then: then)
        }
    }

    /// The newest, looked through for one that the caller may see.
    private static func newest(of app: AppReference?, _ sequence: UInt64? = nil, for viewer: Viewer) -> JournalQuery {
        let user = viewer.seesAll ? app?.user : viewer.user
        return JournalQuery(app: app?.id, user: user, sequence: sequence, limit: 256)
    }

    /// Asks for a call what it is about. The disk answers many at once; each goes on in its caller's turn.
    private func askJournal(
        _ query: JournalQuery, for viewer: Viewer, _ call: MethodCall, then: @escaping ([VerdictRecord]) -> Void
    ) {
        guard let link = self.storeLink else { return then([]) }
        let user = viewer.user ?? UserShares.unknown
        guard self.questions.take(1, for: user) else {
            return call.fail(
                .limitsExceeded(
                    "too many questions wait for the disk: journal-questions-per-user is \(self.questions.share)"))
        }
        link.store.ask(query, for: user) { result in
            self.questions.giveBack(1, for: user)
            switch result {
            case .failure(let failure):
                self.service.log.warning("the journal cannot be read: \(failure)")
                then([])
            case .success(let answer):
                call.resume(keeping: answer.verdicts.count * Self.rowBytes) {
                    then(answer.verdicts.map { VerdictRecord($0, ofThisRun: $0.started == link.started) })
                }
            }
        }
    }

    /// What a row of the journal is taken to need in memory.
    private static let rowBytes = 512

    // MARK: Why not

    /// Answers what would happen to an app's detectors now.
    func whyNot(_ word: String, _ options: [String: Value], _ call: MethodCall) throws(BusError) {
        self.service.refreshClock()
        let reader = try OptionReader(options, of: "WhyNot", known: [VerdictKey.detector, VerdictKey.peak])
        let detector = try reader.text(VerdictKey.detector)
        let peak = try reader.number(VerdictKey.peak)
        if let peak, !peak.isFinite { throw .invalidConfiguration("WhyNot: peak is a finite number") }
        self.answer(call) { [unowned self] (viewer) throws(BusError) in
            guard let app = word.isEmpty ? viewer.itself : try self.app(word, for: viewer) else {
                throw .invalidArguments("WhyNot: say which app; you are none")
            }
            guard let client = self.service.links.clients.find(app) else { throw self.isGone(app, viewer) }
            if let detector, client.appState?.detectors[detector] == nil {
                throw .notFound("there is no detector '\(printable(detector))'")
            }
            let answer = self.service.now { core, now in WhyNot(client.id, of: core, detector: detector, at: now) }
            guard let answer else { throw Self.gone }
            self.look(answer, peak, for: viewer, call) { [unowned self] answer in
                self.tell(answer, of: app, for: viewer, call)
            }
        }
    }

    private static let gone = BusError.notFound("the app is gone")

    /// Looks at the detectors that an answer is about, one in each turn of the caller's.
    private func look(
        _ begun: WhyNot, _ peak: Double?, for viewer: Viewer, _ call: MethodCall, then: @escaping (WhyNot) -> Void
    ) {
        guard !begun.isComplete else { return then(begun) }
        var answer = begun
        let isThere = self.service.now { core, now in answer.look(in: core, peak: peak, for: viewer, at: now) }
        guard isThere else { return call.fail(Self.gone) }
        guard !answer.isComplete else { return then(answer) }
        call.resume(keeping: answer.detectors.count * Self.rowBytes) { [unowned self] in
            self.look(answer, peak, for: viewer, call, then: then)
        }
    }

    /// Answers what would happen, with what the journal knows.
    private func tell(_ answer: WhyNot, of app: AppReference, for viewer: Viewer, _ call: MethodCall) {
        // Launches are counted from the start of the broker; the journal remembers longer.
        guard answer.tally.launches.begun == 0, !app.id.isAnonymous else { return call.reply(answer.options) }
        let query = VerdictQuery(.last, of: app, for: viewer)
        self.askJournal(Self.newest(of: app, for: viewer), for: viewer, call) { records in
            var answer = answer
            // A launch of this run, which may merely wait, hides none that failed before.
            let last = records.last {
                query.concerns($0) && $0.verdict.isLaunching && $0.origin?.isPast == true
            }
            answer.pastFailure = last.flatMap { WhyNot.PastFailure($0, at: Clock.wallClock()) }
            call.reply(answer.options)
        }
    }

    private func isGone(_ app: AppReference, _ viewer: Viewer) -> BusError {
        let last = self.service.core.records.find(VerdictQuery(.last, of: app, for: viewer)).last?.verdict
        let story = last.map { "; the last that became of it: \($0.reason.name) in epoch \($0.epoch)" } ?? ""
        return .notFound("\(app.id.name) is not registered\(story)")
    }

    // MARK: Who asks, and about whom

    /// Lets `body` answer a call when it is known who asks; an error it throws is the answer.
    private func answer(_ call: MethodCall, _ body: @escaping (Viewer) throws(BusError) -> Void) {
        func run(_ viewer: Viewer) {
            do throws(BusError) {
                try body(viewer)
            } catch {
                call.fail(error)
            }
        }
        if let app = self.service.links.clients.registered(call.sender)?.appState { return run(.app(app.reference)) }
        self.service.authority.ifKnown(call) { [weak self] identity in
            switch identity.sandbox {
            // Our own user reads all of it in the journal: so does whoever answers questions from afar beside us.
            case nil: run(.user(identity.isTrusted ? UserShares.root : identity.user))
            case .app(let id) where AppID.isValid(id):
                let app = AppReference(AppID(id), user: identity.user)
                run(.app(self?.service.links.clients.find(app)?.appState?.reference ?? app))
            case .app, .unknown: call.fail(.accessDenied("who is in a sandbox can ask about its own app only"))
            }
        }
    }

    /// The app that a word means: an app id, or the unique name of a client without one.
    private func app(_ word: String, for viewer: Viewer) throws(BusError) -> AppReference {
        guard BusNames.isValid(word) else {
            throw .invalidConfiguration("'\(printable(word))' is no app id and no unique name")
        }
        let client =
            word.hasPrefix(":")
            ? self.service.links.clients.registered(word) : self.service.links.clients.find(AppReference(AppID(word)))
        let found = client?.appState?.reference
        switch viewer {
        case .app(let own):
            let isItself = found.map { $0.registration == own.registration } ?? (own.id == AppID(word))
            guard isItself else { throw .accessDenied("an app can ask about itself only") }
            return own
        case .user(let user):
            if let found, user == 0 || found.user == user { return found }
            if word.hasPrefix(":") { throw .notFound("\(word) is not registered") }
            return AppReference(AppID(word), user: user == 0 ? nil : user)
        }
    }
}

extension VerdictRecord {
    /// Registrations of other runs are nobody's any more.
    fileprivate init(_ stored: StoredVerdict, ofThisRun isOurs: Bool) {
        var verdict = stored.verdict
        if let end = stored.end { verdict.reason = end }
        self.init(
            verdict: verdict, user: stored.user, registration: isOurs ? stored.registration : 0,
            aftermath: stored.aftermath,
            origin: Origin(wall: stored.wall, policyFiles: stored.policy.files, isPast: !isOurs))
    }
}

extension Viewer {
    /// The app that asks about itself; `nil` for a program that is none.
    fileprivate var itself: AppReference? {
        switch self {
        case .app(let app): app
        case .user: nil
        }
    }
}
