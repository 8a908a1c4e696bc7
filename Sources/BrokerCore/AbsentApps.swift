import Arbitration
import Motion

/// What is kept for an app that left the bus, until it is back or all of it has expired.
struct AbsentApp {
    let id: AppID
    /// Another user's app of the same name gets nothing of it; `nil`: it is nobody's yet, and goes to who comes first.
    let user: UInt32?
    var queue: EventQueue
    /// Of whose share it is. What is nobody's comes from what is installed: whoever looks after the system put it there.
    fileprivate var payer: UInt32 { Self.payer(for: self.user) }

    fileprivate static func payer(for user: UInt32?) -> UInt32 { user ?? UserShares.root }
}

/// What is kept for apps that left, and how much of it each user may have.
///
/// Who came first keeps what it has: what another leaves when there is no room is not taken in.
struct AbsentApps {
    private var apps: [AbsentApp] = []
    private var places: UserShares
    private var bytes: UserShares

    init(_ limits: BrokerLimits) {
        self.places = limits.shares(of: limits.absentApps)
        self.bytes = limits.shares(of: limits.keptBytes)
    }

    var indices: Range<Int> { self.apps.indices }
    var all: [AbsentApp] { self.apps }

    subscript(index: Int) -> AbsentApp {
        get { self.apps[index] }
        _modify { yield &self.apps[index] }
    }

    func index(of id: AppID, _ user: UInt32?) -> Int? { self.apps.firstIndex { $0.id == id && $0.user == user } }

    /// What there is for all, and who has it.
    var usage: [LimitUsage] { [LimitUsage("absent-apps", self.places), LimitUsage("kept-bytes", self.bytes)] }

    /// How many bytes of one more app of a user can be kept; `nil`: there is no place for an app more.
    func room(for user: UInt32?) -> Int? {
        let payer = AbsentApp.payer(for: user)
        return self.places.room(for: payer) > 0 ? max(0, self.bytes.room(for: payer)) : nil
    }

    /// Takes an app in, room or not: what comes from the disk was promised before.
    @discardableResult
    mutating func append(_ app: AbsentApp) -> Int {
        self.apps.append(app)
        self.book(app.user)
        return self.apps.count - 1
    }

    mutating func take(_ index: Int) -> AbsentApp {
        let app = self.apps.remove(at: index)
        self.book(app.user)
        return app
    }

    /// Forgets apps for which nothing is kept any more.
    mutating func tidy() {
        for index in self.apps.indices.reversed() where !self.apps[index].queue.isKeeping { _ = self.take(index) }
    }

    /// Books what is kept for a user's apps now.
    mutating func book(_ user: UInt32?) {
        let payer = AbsentApp.payer(for: user)
        var (count, bytes) = (0, 0)
        for index in self.apps.indices where self.apps[index].payer == payer {
            count += 1
            bytes += self.apps[index].queue.bytes
        }
        self.places.set(count, for: payer)
        self.bytes.set(bytes, for: payer)
    }
}
