import Motion

/// Keeps the lives of all apps, and what they have in common.
struct Lives: Sendable {
    /// By the index of the app.
    private var lives: [AppLife?] = []
    /// What was said of single apps.
    private var told: [AppState?] = []
    private var deadlines = DeadlineHeap()
    private(set) var clock = AwakeClock()
    private(set) var report = ForegroundReport.none
    /// Who said it, for people.
    private var testimony: FocusTestimony?
    /// The numbers of what was said last, so that a verdict names what held for it and nothing said since.
    private(set) var reports = Reports()
    /// The apps that cannot run now, and who said so.
    private var frozen: [AppID: FocusTestimony] = [:]
    /// The apps whose players play.
    private var playing: Set<AppID> = []
    private var isLocked = false

    /// Counts what is said. A number names one thing, so that one number in the facts of an app is enough.
    struct Reports: Sendable {
        private(set) var foreground: UInt32 = 0
        private(set) var frozen: UInt32 = 0
        private var last: UInt32 = 0

        mutating func hearForeground() { self.foreground = self.next() }
        mutating func hearFrozen() { self.frozen = self.next() }

        /// 0 stands for none.
        private mutating func next() -> UInt32 {
            self.last = self.last == .max ? 1 : self.last + 1
            return self.last
        }
    }

    subscript(_ app: AppHandle) -> AppLife? {
        get {
            let index = Int(app.index)
            return index < self.lives.count ? self.lives[index] : nil
        }
        set {
            let index = Int(app.index)
            while self.lives.count <= index {
                self.lives.append(nil)
                self.told.append(nil)
            }
            self.lives[index] = newValue
            if newValue == nil { self.told[index] = nil }
        }
    }

    // MARK: What is said

    mutating func tell(_ app: AppHandle, _ state: AppState?) { self.told[Int(app.index)] = state }

    /// Takes in what is said of the foreground, and by whom. Returns whether that is new.
    mutating func report(_ foreground: ForegroundReport, _ testimony: FocusTestimony?) -> Bool {
        guard foreground != self.report || testimony != self.testimony else { return false }
        self.report = foreground
        self.testimony = testimony
        self.reports.hearForeground()
        return true
    }

    /// Takes in which apps cannot run now. Returns whether that is new.
    mutating func freeze(_ frozen: [AppID: FocusTestimony]) -> Bool {
        guard frozen != self.frozen else { return false }
        self.frozen = frozen
        self.reports.hearFrozen()
        return true
    }

    /// Takes in whose players play. Returns whether that is new.
    mutating func play(_ playing: Set<AppID>) -> Bool {
        guard playing != self.playing else { return false }
        self.playing = playing
        return true
    }

    func isPlaying(_ id: AppID) -> Bool { self.playing.contains(id) }

    /// The number of what was said, if an app is in its place because of that; 0: it is not.
    func report(behind place: AppLife.Place) -> UInt32 {
        switch place {
        case .visible, .background: self.reports.foreground
        case .frozen: self.reports.frozen
        case .gone, .foreground, .behindLock, .told: 0
        }
    }

    mutating func lock(_ isLocked: Bool) { self.isLocked = isLocked }

    /// Takes in that the system goes to sleep or is back. Returns whether that is new.
    mutating func sleep(_ begins: Bool, at arrival: Timestamp) -> Bool { self.clock.sleep(begins, at: arrival) }

    /// What was said of this app alone.
    private func told(_ app: AppHandle) -> AppState? {
        let index = Int(app.index)
        return index < self.told.count ? self.told[index] : nil
    }

    /// Where an app is by all that was said.
    func place(of app: AppHandle, _ id: AppID) -> AppLife.Place {
        if let state = self.told(app) { return .told(state) }
        if !self.frozen.isEmpty, self.frozen[id] != nil { return .frozen }
        let front: AppLife.Place = self.isLocked ? .behindLock : .foreground
        switch self.report {
        case .none: return front
        case .shown(let apps):
            // Without a name it cannot be reported, and has nothing in the background.
            if id.isAnonymous || apps.front.contains(id) { return front }
            guard apps.visible.contains(id) else { return .background }
            return self.isLocked ? .behindLock : .visible
        }
    }

    // MARK: Deadlines

    /// The next arrival time at which something happens without an input.
    var nextDeadline: Timestamp? { self.deadlines.first?.time }

    /// Which app's deadline has come, and when it was.
    func due(by arrival: Timestamp) -> (app: AppHandle, time: Timestamp)? {
        guard let first = self.deadlines.first, first.time <= arrival else { return nil }
        return (first.app, first.time)
    }

    /// Brings the deadline of an app up to date. One that has passed already comes now.
    mutating func schedule(_ app: AppHandle, _ entry: AppEntry, notBefore now: Timestamp) {
        guard let life = self[app] else { return }
        let own = life.deadlines(entry.settings)
        let awake = own.awake.flatMap { self.clock.arrival(of: $0) }
        let earliest = [own.arrival, awake].compactMap { $0 }.min()
        self.deadlines.set(app, entry.order, to: earliest.map { max($0, now) })
    }

    mutating func shrink() {
        while let last = self.lives.last, last == nil, self.told[self.lives.count - 1] == nil {
            self.lives.removeLast()
            self.told.removeLast()
        }
        self.lives.shrink()
        self.told.shrink()
        self.deadlines.shrink()
    }

    /// Forgets an app, whose number may be used again.
    mutating func forget(_ app: AppHandle) {
        self[app] = nil
        self.deadlines.set(app, 0, to: nil)
    }
}
