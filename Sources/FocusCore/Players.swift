package import Motion

/// The media players on a bus, and whose play.
///
/// A player says of which app it is as a window does, and is believed as much: see `AppNamer`.
///
/// Anybody may have many connections. When there is no room, whose process has most of them gives up one: all of a sandbox come from
/// one process, its proxy.
package struct Players: Sendable {
    /// The most connections that are players, and the most names of one of them that are kept.
    package static let most = 64
    package static let mostNames = 4
    /// What players' names begin with, and a dot.
    package static let prefix = "org.mpris.MediaPlayer2"
    /// Shortest time between two reports: a player stops between two pieces.
    package static let pace = TimeSpan.seconds(1)

    /// What is to be done about a connection.
    package enum Change: Hashable, Sendable {
        /// Ask what it is, and hear it.
        case come(String)
        /// Hear it no more.
        case leave(String)
    }

    private struct Player: Sendable {
        var names: Set<String> = []
        /// Its place among those that came.
        let number: UInt64
        /// `nil`: not known yet.
        var process: UInt32?
        /// `nil`: not known yet.
        var claims: WindowClaims?
        var isPlaying = false
        /// The question how it is that it has not answered yet.
        var question: UInt64?
        /// It said by itself how it is since it was asked.
        var isOvertaken = false
    }

    /// By the unique name of their connection.
    private var players: [String: Player] = [:]
    private var owners: [String: String] = [:]
    private var lastQuestion: UInt64 = 0
    private var lastNumber: UInt64 = 0
    /// How many were left out for want of room.
    package private(set) var leftOut: UInt64 = 0

    package init() {}

    /// A name has this owner now, or none.
    package mutating func put(_ name: String, owner: String?) -> [Change] {
        guard name.hasPrefix(Self.prefix + "."), self.owners[name] != owner else { return [] }
        var changes: [Change] = []
        if let old = self.owners.removeValue(forKey: name) {
            self.players[old]?.names.remove(name)
            if self.players[old]?.names.isEmpty == true {
                self.players[old] = nil
                changes.append(.leave(old))
            }
        }
        guard let owner else { return changes }
        if self.players[owner] == nil {
            if self.players.count == Self.most {
                self.leftOut &+= 1
                guard let last = self.lastOfMost else { return changes }
                self.remove(last)
                changes.append(.leave(last))
            }
            self.lastNumber += 1
            self.players[owner] = Player(number: self.lastNumber)
            changes.append(.come(owner))
        } else if self.players[owner]?.names.count == Self.mostNames {
            self.leftOut &+= 1
            return changes
        }
        self.players[owner]?.names.insert(name)
        self.owners[name] = owner
        return changes
    }

    /// The last to come of those of the process that has most of them; `nil`: none that is known has more than one.
    private var lastOfMost: String? {
        var last: [UInt32: (count: Int, number: UInt64, owner: String)] = [:]
        for (owner, player) in self.players {
            guard let process = player.process else { continue }
            let known = last[process] ?? (0, 0, owner)
            last[process] = (
                known.count + 1, max(known.number, player.number), player.number > known.number ? owner : known.owner
            )
        }
        let most = last.values.max { ($0.count, $0.number) < ($1.count, $1.number) }
        return most.flatMap { $0.count > 1 ? $0.owner : nil }
    }

    private mutating func remove(_ owner: String) {
        for name in self.players.removeValue(forKey: owner)?.names ?? [] { self.owners[name] = nil }
    }

    /// The bus is gone, and all who were on it.
    package mutating func clear() -> [Change] {
        defer { (self.players, self.owners) = ([:], [:]) }
        return self.players.keys.sorted().map { .leave($0) }
    }

    /// The bus said of which process a player is.
    package mutating func identify(_ owner: String, process: UInt32?) { self.players[owner]?.process = process }

    /// A player said of which app it is.
    package mutating func describe(_ owner: String, entry: String?) {
        guard let player = self.players[owner] else { return }
        self.players[owner]?.claims = WindowClaims(appID: entry, process: player.process)
    }

    /// A player said how it is: `Playing`, `Paused` or `Stopped`.
    package mutating func hear(_ owner: String, status: String) {
        self.players[owner]?.isPlaying = status == "Playing"
        self.players[owner]?.isOvertaken = true
    }

    /// It is to be found out how a player is. Returns the question that is to be asked; `nil`: there is one that will be answered, or
    /// it is no player.
    package mutating func ask(_ owner: String) -> UInt64? {
        guard let player = self.players[owner] else { return nil }
        self.players[owner]?.isOvertaken = false
        guard player.question == nil else { return nil }
        self.lastQuestion += 1
        self.players[owner]?.question = self.lastQuestion
        return self.lastQuestion
    }

    /// A player answered a question, or did not (`nil`): then nobody takes it to play. Returns whether that counts.
    ///
    /// What a player said by itself meanwhile counts more: one that answers nothing is known to have answered nothing only much later.
    package mutating func answer(_ owner: String, to question: UInt64, status: String?) -> Bool {
        guard let player = self.players[owner], player.question == question else { return false }
        self.players[owner]?.question = nil
        guard !player.isOvertaken else { return false }
        self.hear(owner, status: status ?? "")
        return true
    }

    package func contains(_ owner: String) -> Bool { self.players[owner] != nil }

    /// The apps whose players play, by those who know whose they are.
    package func playing(_ name: (WindowClaims) -> NamedApp) -> Set<AppID> {
        var apps: Set<AppID> = []
        for player in self.players.values where player.isPlaying {
            if let claims = player.claims, let app = name(claims).id { apps.insert(app) }
        }
        return apps
    }
}
