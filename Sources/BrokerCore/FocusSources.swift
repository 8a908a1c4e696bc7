package import Arbitration
package import Motion

/// Keeps what each source says of apps: which the user sees in front, beside or not, which play, and which are frozen.
///
/// A source is named by whoever reports it, a compositor of a session for example, and belongs to a user. Of each subject it is a
/// source of its own. What it said stands for a while after its reporter left the bus, so that one that starts anew changes nothing.
package struct FocusSources: Sendable {
    /// In the order in which they came.
    private var sources: [Source] = []
    private var shares = FocusSources.shares
    /// Counts what sources say of apps, so that who said it first is known.
    private var lastSaid: UInt64 = 0
    /// Counts changes of what `rows` shows.
    package private(set) var changes: UInt64 = 0

    /// A user has half of what the others leave.
    static let shares = UserShares(limit: 16, reserve: 0)
    /// What a source may say at the most.
    static let mostWindows = 1_024
    /// The same for a list of apps.
    static let mostListed = 256
    /// Of the name of a source, and of the id of a window.
    static let nameBytes = 64
    /// How long it stands what a reporter said that left.
    package static let standing = TimeSpan.seconds(5)

    /// What a source says something about.
    package enum Subject: Sendable {
        case windows
        /// Whose players play.
        case playing
        /// Who cannot run.
        case frozen
    }

    private struct Source: Sendable {
        let name: String
        let subject: Subject
        var reporter: Reporter
        /// Of windows.
        var apps: [AppID: Sight] = [:]
        /// Of a list, each since it is said, as a number.
        var listed: [AppID: UInt64] = [:]
        /// A window is in front whose app is not known.
        var strange: SeenWindow?
        /// Its reporter left, and it stands until then.
        var ends: Timestamp?
        /// False: its reporter may not say it any more.
        var counts = true

        var windows: Int { self.apps.count + (self.strange == nil ? 0 : 1) }

        func isSource(_ name: String, _ subject: Subject, of user: UInt32) -> Bool {
            self.name == name && self.subject == subject && self.reporter.user == user
        }
    }

    /// What a source says of an app.
    private struct Sight: Sendable {
        var window: SeenWindow
        /// Since when it says so, as a number.
        var since: UInt64
    }

    /// Who says what a source sees.
    package struct Reporter: Equatable, Sendable {
        /// The unique name of the connection.
        package var name: String
        package var user: UInt32
        package var process: UInt32?

        package init(name: String, user: UInt32, process: UInt32?) {
            self.name = name
            self.user = user
            self.process = process
        }
    }

    /// A source as it is shown.
    package struct Row: Equatable, Sendable {
        package var source: String
        package var process: UInt32?
        /// By their names.
        package var front: [AppID]
        /// Those in front, or that cannot run, of which it said so before the others.
        package var first: [AppID]
        package var visible: [AppID]
        package var hidden: [AppID]
        package var playing: [AppID]
        package var frozen: [AppID]
        package var windows: Int
        package var isLeaving: Bool
    }

    package init() {}

    /// Who has the places of sources.
    package var usage: LimitUsage { LimitUsage("focus-sources", self.shares) }

    // MARK: What is said

    /// Takes in all that a source sees, in place of what it said before; from another connection of its user, too.
    package mutating func say(
        _ windows: [SeenWindow], as name: String, by reporter: Reporter
    ) throws(Refusal) {
        let apps = try self.check(windows, name)
        let index = try self.index(of: name, .windows, by: reporter)
        let before = self.sources[index]
        var after = Source(
            name: name, subject: .windows, reporter: reporter, strange: windows.first { $0.app == nil })
        self.lastSaid += 1
        for (app, window) in apps {
            let known = before.apps[app].flatMap { $0.window.state == window.state ? $0.since : nil }
            after.apps[app] = Sight(window: window, since: known ?? self.lastSaid)
        }
        self.sources[index] = after
        let isSame =
            before.reporter.process == reporter.process && before.ends == nil && before.windows == after.windows
            && before.apps.mapValues(\.window.state) == after.apps.mapValues(\.window.state)
        if !isSame { self.changes += 1 }
    }

    /// Takes in all apps of which a source says that their players play, or that they are frozen. One that names none is none.
    package mutating func say(
        _ subject: Subject, of apps: [AppID], as name: String, by reporter: Reporter
    ) throws(Refusal) {
        guard apps.count <= Self.mostListed else {
            throw .limit(
                name: "apps-per-source", value: UInt64(Self.mostListed), message: "too many apps in one call")
        }
        try Self.check(name)
        guard !apps.isEmpty else {
            return self.remove { $0.isSource(name, subject, of: reporter.user) }
        }
        let index = try self.index(of: name, subject, by: reporter)
        let before = self.sources[index]
        var after = Source(name: name, subject: subject, reporter: reporter)
        self.lastSaid += 1
        for app in apps { after.listed[app] = before.listed[app] ?? self.lastSaid }
        self.sources[index] = after
        let isSame =
            before.reporter.process == reporter.process && before.ends == nil && before.listed == after.listed
        if !isSame { self.changes += 1 }
    }

    /// The place of a source, which may be new.
    private mutating func index(
        of name: String, _ subject: Subject, by reporter: Reporter
    ) throws(Refusal) -> Int {
        if let known = self.sources.firstIndex(where: { $0.isSource(name, subject, of: reporter.user) }) {
            return known
        }
        guard self.shares.take(1, for: reporter.user) else {
            throw Refusal("focus-sources", self.shares, reporter.user, "too many sources say something of apps")
        }
        self.sources.append(Source(name: name, subject: subject, reporter: reporter))
        self.changes += 1
        return self.sources.count - 1
    }

    /// Takes back what a source of a connection said of windows. A list ends with an empty one.
    package mutating func forget(_ name: String, by reporter: String) {
        self.remove {
            $0.subject == .windows && $0.name == name && $0.reporter.name == reporter && $0.ends == nil
        }
    }

    /// A connection left the bus: what it said stands for a while yet.
    package mutating func leave(_ reporter: String, at now: Timestamp) {
        for index in self.sources.indices
        where self.sources[index].reporter.name == reporter && self.sources[index].ends == nil {
            self.sources[index].ends = now + Self.standing
            self.changes += 1
        }
    }

    /// Another policy is in force: what a connection said counts on or does not, until it may say it again.
    package mutating func setCounts(_ counts: Bool, by reporter: String) {
        for index in self.sources.indices
        where self.sources[index].reporter.name == reporter && self.sources[index].counts != counts {
            self.sources[index].counts = counts
            self.changes += 1
        }
    }

    /// Time passes: what stood long enough without its reporter is over.
    package mutating func pass(to now: Timestamp) {
        self.remove { $0.ends.map { $0 <= now } ?? false }
    }

    /// The bus is gone, and with it all who said anything, and all apps.
    package mutating func forgetAll() { self.remove { _ in true } }

    private mutating func remove(_ isOver: (Source) -> Bool) {
        for source in self.sources where isOver(source) {
            self.shares.giveBack(1, for: source.reporter.user)
            self.changes += 1
        }
        self.sources.removeAll(where: isOver)
    }

    // MARK: What cannot be

    private func check(_ windows: [SeenWindow], _ name: String) throws(Refusal) -> [AppID: SeenWindow] {
        guard windows.count <= Self.mostWindows else {
            throw .limit(
                name: "windows-per-source", value: UInt64(Self.mostWindows),
                message: "too many windows in one call")
        }
        try Self.check(name)
        var apps: [AppID: SeenWindow] = [:]
        var isStrange = false
        for window in windows {
            guard window.id.utf8.count <= Self.nameBytes else {
                throw .limit(
                    name: "focus-name-bytes", value: UInt64(Self.nameBytes),
                    message: "the id of a window is too long")
            }
            guard let app = window.app else {
                guard window.state == .front, !isStrange else {
                    throw .badWindows("only the window in front may be of no known app, and only one")
                }
                isStrange = true
                continue
            }
            guard apps.updateValue(window, forKey: app) == nil else {
                throw .badWindows("'\(printable(app.name))' stands twice: say it once, with its best window")
            }
        }
        return apps
    }

    private static func check(_ name: String) throws(Refusal) {
        guard name.utf8.count <= Self.nameBytes, name.utf8.allSatisfy(Self.isNameByte) else {
            throw .badWindows(
                "'\(printable(name))' is no name of a source: give up to \(Self.nameBytes) "
                    + "letters, digits and :._-")
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || ":._-".utf8.contains(byte)
    }

    // MARK: What follows

    /// When something said is over without an input.
    package var nextDeadline: Timestamp? { self.sources.compactMap(\.ends).min() }

    /// The connections that must be followed.
    package var reporters: Set<String> { Set(self.present.map(\.name)) }

    /// Who said something and is still on the bus.
    package var present: [Reporter] { self.sources.filter { $0.ends == nil }.map(\.reporter) }

    /// Those that count, each with its place.
    private var counting: [(index: Int, source: Source)] {
        self.sources.enumerated().filter(\.element.counts).map { ($0.offset, $0.element) }
    }

    /// The apps in front, those of which it was said first before the others, each with who said it first.
    package var front: [(app: AppID, source: String, window: SeenWindow)] {
        let inOrder = self.firstInFront.sorted { a, b in
            (a.value.since, a.value.index, a.key) < (b.value.since, b.value.index, b.key)
        }
        return inOrder.compactMap { app, said in
            let source = self.sources[said.index]
            return source.apps[app].map { (app, source.name, $0.window) }
        }
    }

    /// Which source said it first of an app, by its place, and since when it says so.
    private typealias Said = (since: UInt64, index: Int)

    private var firstInFront: [AppID: Said] {
        var first: [AppID: Said] = [:]
        for (index, source) in self.counting {
            for (app, sight) in source.apps where sight.window.state == .front {
                if let known = first[app], known.since <= sight.since { continue }
                first[app] = (sight.since, index)
            }
        }
        return first
    }

    private var firstFrozen: [AppID: Said] {
        var first: [AppID: Said] = [:]
        for (index, source) in self.counting where source.subject == .frozen {
            for (app, since) in source.listed {
                if let known = first[app], known.since <= since { continue }
                first[app] = (since, index)
            }
        }
        return first
    }

    /// What all sources say together: whoever is in front by one of them is.
    package var report: ForegroundReport {
        guard self.counting.contains(where: { $0.source.subject == .windows }) else { return .none }
        var shown = ShownApps()
        for (_, source) in self.counting {
            for (app, sight) in source.apps {
                switch sight.window.state {
                case .front: shown.front.insert(app)
                case .visible: shown.visible.insert(app)
                case .hidden: break
                }
            }
        }
        shown.visible.subtract(shown.front)
        return .shown(shown)
    }

    /// Who says it; `nil`: nobody says anything.
    package var testimony: FocusTestimony? {
        guard let first = self.counting.first(where: { $0.source.subject == .windows })?.source else { return nil }
        let front = self.front
        guard !front.isEmpty else { return FocusTestimony([.init(source: first.name, app: nil)]) }
        return FocusTestimony(front.map { .init(source: $0.source, app: $0.app) })
    }

    /// The apps whose players play, by any source.
    package var playing: Set<AppID> {
        self.counting.reduce(into: []) { playing, said in
            if said.source.subject == .playing { playing.formUnion(said.source.listed.keys) }
        }
    }

    /// The apps that cannot run, each with the source that said so first.
    package var frozen: [AppID: FocusTestimony] {
        let testimonies = self.sources.map { FocusTestimony.frozen(by: $0.name) }
        return self.firstFrozen.mapValues { testimonies[$0.index] }
    }

    /// What each source says that counts, in the order in which they came.
    package var rows: [Row] {
        let (inFront, frozen) = (self.firstInFront, self.firstFrozen)
        return self.counting.map { index, source in
            func apps(_ state: SeenWindow.State) -> [AppID] {
                source.apps.filter { $0.value.window.state == state }.keys.sorted()
            }
            func listed(_ subject: Subject) -> [AppID] {
                source.subject == subject ? source.listed.keys.sorted() : []
            }
            let first = (source.subject == .frozen ? frozen : inFront).filter { $0.value.index == index }
            return Row(
                source: source.name, process: source.reporter.process, front: apps(.front),
                first: first.keys.sorted(), visible: apps(.visible),
                hidden: apps(.hidden), playing: listed(.playing), frozen: listed(.frozen), windows: source.windows,
                isLeaving: source.ends != nil)
        }
    }
}

/// The best window of an app, as a source sees it.
package struct SeenWindow: Equatable, Sendable {
    package enum State: String, CaseIterable, Sendable {
        /// The user works with it.
        case front
        case visible
        case hidden
    }

    /// `nil`: whose it is, is not known.
    package var app: AppID?
    package var state: State
    /// The source's name for it; empty, if it says none.
    package var id: String
    package var process: UInt32?

    package init(_ app: AppID?, _ state: State, id: String = "", process: UInt32? = nil) {
        self.app = app
        self.state = state
        self.id = id
        self.process = process
    }
}
