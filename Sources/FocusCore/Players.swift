package import Motion

/// The media players on a bus, and whose play.
///
/// A player says of which app it is as a window does, and is believed as much: see `AppNamer`.
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
        /// `nil`: not known yet.
        var claims: WindowClaims?
        var isPlaying = false
    }

    /// By the unique name of their connection.
    private var players: [String: Player] = [:]
    private var owners: [String: String] = [:]
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
        let player = self.players[owner]
        guard player.map({ $0.names.count < Self.mostNames }) ?? (self.players.count < Self.most) else {
            self.leftOut &+= 1
            return changes
        }
        self.players[owner, default: Player()].names.insert(name)
        self.owners[name] = owner
        if player == nil { changes.append(.come(owner)) }
        return changes
    }

    /// The bus is gone, and all who were on it.
    package mutating func clear() -> [Change] {
        defer { (self.players, self.owners) = ([:], [:]) }
        return self.players.keys.sorted().map { .leave($0) }
    }

    /// A player said of which app it is, and the bus of which process.
    package mutating func describe(_ owner: String, entry: String?, process: UInt32?) {
        self.players[owner]?.claims = WindowClaims(appID: entry, process: process)
    }

    /// A player said how it is: `Playing`, `Paused` or `Stopped`.
    package mutating func hear(_ owner: String, status: String) {
        self.players[owner]?.isPlaying = status == "Playing"
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
