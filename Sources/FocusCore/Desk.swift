package import Motion

/// The windows of one source, folded to a row for each app, and when that is worth a report.
///
/// Whoever feeds it tells what changed, and asks `step` once after all that came together.
package struct Desk: Sendable {
    /// The most windows that are kept, and the most bytes of what they say.
    package static let mostWindows = 2_048
    package static let mostBytes = 1 << 20
    /// The most rows that a broker takes of one source.
    package static let mostRows = 1_024
    /// The longest id of a window, in bytes.
    package static let longestID = 64
    /// Shortest time between two reports: where something else is in front, and else.
    package static let frontPace = TimeSpan.milliseconds(20)
    package static let pace = TimeSpan.milliseconds(100)
    /// How long what was said stands when the display is gone: as long as a broker lets it stand for a reporter that left.
    package static let leaving = TimeSpan.seconds(5)

    package enum Report: Hashable, Sendable {
        /// All that the source sees.
        case windows([AppRow])
        /// The source sees nothing any more, not even that there is nothing.
        case forget
    }

    /// A window as it is listed for people.
    package struct Listed: Hashable, Sendable {
        /// Its place in the list; later windows have greater ones.
        package let number: UInt64
        package let id: String
        package let claims: WindowClaims
        package let app: NamedApp
        package let state: WindowState
    }

    private struct Window: Sendable {
        let number: UInt64
        var claims: WindowClaims
        var app: NamedApp
        var isHidden: Bool
    }

    /// Whether the source sees its display.
    private enum Sight {
        /// Not, and never did.
        case none
        /// It looks at what there is.
        case gathering
        case whole
    }

    private var windows: [String: Window] = [:]
    private var bytes = 0
    private var lastNumber: UInt64 = 0
    /// The ids of what is in front, also of what is no window of an app.
    private var fronts: [String] = []
    private var sight = Sight.none
    /// Since when the display is gone.
    private var goneSince: Timestamp?
    private var isChanged = false
    private var calm = FrontCalm()
    private var told: [AppRow]?
    private var toldFront: [AppRow] = []
    private var toldAt: Timestamp?
    /// When to call `step` again, if nothing changes.
    package private(set) var deadline: Timestamp?
    /// How many windows were left out for want of room.
    package private(set) var leftOut: UInt64 = 0

    package init() {}

    // MARK: What the source tells

    /// A display is there. Nothing is reported before `complete`, and what was known of another is forgotten.
    package mutating func begin() {
        self.clear()
        self.sight = .gathering
    }

    /// All windows that were there have been told.
    package mutating func complete() {
        guard self.sight == .gathering else { return }
        self.sight = .whole
        self.goneSince = nil
        self.isChanged = true
    }

    /// The display is gone.
    package mutating func leave(at now: Timestamp) {
        self.clear()
        self.sight = .none
        if self.goneSince == nil { self.goneSince = now }
    }

    /// A window is there, or says something else.
    ///
    /// - Returns: false when there is no room for it.
    @discardableResult
    package mutating func put(_ id: String, _ claims: WindowClaims, as app: NamedApp, isHidden: Bool) -> Bool {
        guard !id.isEmpty, id.utf8.count <= Self.longestID else { return false }
        let old = self.windows[id]
        guard old != nil || self.hasRoom(for: claims) || self.makesRoom(for: claims, at: id) else {
            self.leftOut &+= 1
            return false
        }
        if old == nil { self.lastNumber += 1 }
        let window = Window(number: old?.number ?? self.lastNumber, claims: claims, app: app, isHidden: isHidden)
        self.bytes += claims.size - (old?.claims.size ?? 0)
        self.windows[id] = window
        if old?.app != app || old?.isHidden != isHidden || old?.claims.process != claims.process {
            self.isChanged = true
        }
        return true
    }

    /// The same, with whether it is in front: one that comes there has to be known for it before room is looked for.
    @discardableResult
    package mutating func put(
        _ id: String, _ claims: WindowClaims, as app: NamedApp, isInFront: Bool, isHidden: Bool
    ) -> Bool {
        self.setFront(id, isInFront)
        return self.put(id, claims, as: app, isHidden: isHidden)
    }

    package mutating func close(_ id: String) {
        self.fronts.removeAll { $0 == id }
        self.remove(id)
    }

    /// These are in front, and nothing else.
    package mutating func setFront(_ ids: [String]) {
        guard self.fronts != ids else { return }
        self.fronts = ids
        self.isChanged = true
    }

    /// One is in front, or no more.
    package mutating func setFront(_ id: String, _ isInFront: Bool) {
        guard self.fronts.contains(id) != isInFront else { return }
        if isInFront { self.fronts.append(id) } else { self.fronts.removeAll { $0 == id } }
        self.isChanged = true
    }

    /// Names all windows anew, because something else is known of apps.
    package mutating func rename(_ name: (WindowClaims) -> NamedApp) {
        for (id, window) in self.windows {
            let app = name(window.claims)
            guard app != window.app else { continue }
            self.windows[id]?.app = app
            self.isChanged = true
        }
    }

    // MARK: What comes of it

    /// Decides whether there is something to report.
    package mutating func step(at now: Timestamp) -> Report? {
        self.deadline = nil
        if let goneSince {
            guard now < goneSince + Self.leaving else {
                self.goneSince = nil
                self.calm = FrontCalm()
                defer { (self.told, self.toldFront) = (nil, []) }
                return self.told == nil ? nil : .forget
            }
            self.deadline = goneSince + Self.leaving
        }
        guard self.sight == .whole else { return nil }
        self.calm.see(self.frontRows, at: now)
        self.deadline = self.calm.deadline
        let isFrontNew = self.calm.rows != self.toldFront
        guard self.isChanged || isFrontNew || self.told == nil else { return nil }
        if let toldAt {
            let next = toldAt + (isFrontNew ? Self.frontPace : Self.pace)
            guard now >= next else {
                self.deadline = min(next, self.deadline ?? next)
                return nil
            }
        }
        self.isChanged = false
        let rows = self.rows
        guard rows != self.told else { return nil }
        (self.told, self.toldFront, self.toldAt) = (rows, self.calm.rows, now)
        return .windows(rows)
    }

    /// The windows, the first ones first, behind a place in the list.
    package func list(after number: UInt64 = 0) -> [Listed] {
        self.windows.filter { $0.value.number > number }.map { id, window in
            Listed(
                number: window.number, id: id, claims: window.claims, app: window.app, state: self.state(of: id, window)
            )
        }.sorted { $0.number < $1.number }
    }

    package func contains(_ id: String) -> Bool { self.windows[id] != nil }
    package var count: Int { self.windows.count }

    // MARK: How

    private mutating func clear() {
        self.windows = [:]
        self.bytes = 0
        self.fronts = []
        self.isChanged = true
    }

    private mutating func remove(_ id: String) {
        guard let window = self.windows.removeValue(forKey: id) else { return }
        self.bytes -= window.claims.size
        self.isChanged = true
    }

    private func hasRoom(for claims: WindowClaims) -> Bool {
        self.windows.count < Self.mostWindows && self.bytes + claims.size <= Self.mostBytes
    }

    /// What is in front always finds room, in the place of the latest of the others.
    private mutating func makesRoom(for claims: WindowClaims, at id: String) -> Bool {
        guard self.fronts.contains(id) else { return false }
        while !self.hasRoom(for: claims) {
            let others = self.windows.filter { !self.fronts.contains($0.key) }
            guard let latest = others.max(by: { $0.value.number < $1.value.number }) else { return false }
            self.remove(latest.key)
            self.leftOut &+= 1
        }
        return true
    }

    private func state(of id: String, _ window: Window) -> WindowState {
        self.fronts.contains(id) ? .front : window.isHidden ? .hidden : .visible
    }

    /// What is in front now, as far as it is a window of an app or might be.
    private var frontRows: [AppRow] {
        self.fronts.compactMap { id in
            self.windows[id].map { AppRow($0.app.id, .front, window: id, process: $0.claims.process) }
        }
    }

    /// A row for each app, in the order of their ids.
    private var rows: [AppRow] {
        var best: [AppID: (row: AppRow, number: UInt64)] = [:]
        // What is believed to be in front is told below; that its window has just closed, too.
        for (id, window) in self.windows {
            guard let app = window.app.id else { continue }
            let state: WindowState = window.isHidden ? .hidden : .visible
            if let (row, number) = best[app] {
                guard state > row.state || state == row.state && window.number < number else { continue }
            }
            best[app] = (AppRow(app, state, window: id, process: window.claims.process), window.number)
        }
        var front: [AppRow] = []
        for row in self.calm.rows where !front.contains(where: { $0.app == row.app }) {
            front.append(row)
            if let app = row.app { best[app] = nil }
        }
        var others = best.values.map { $0 }
        if front.count + others.count > Self.mostRows {
            others.sort { ($1.row.state, $0.number) < ($0.row.state, $1.number) }
            others.removeLast(others.count - max(0, Self.mostRows - front.count))
        }
        let rows = front.prefix(Self.mostRows) + others.map(\.row)
        return rows.sorted { ($0.app?.name ?? "") < ($1.app?.name ?? "") }
    }
}
