import Arbitration
import Motion

/// Knows connections and apps by their names and by their numbers, and gives the numbers out.
struct ClientTable {
    /// Connections by their unique names.
    private var byName: [String: Client] = [:]
    /// Apps by their ids, on the bus or not.
    private var byApp: [AppID: Client] = [:]
    private var byHandle: [Client?] = []
    private var spare: [UInt32] = []

    /// Those that are on the bus, completely registered or not.
    var connections: Dictionary<String, Client>.Values { self.byName.values }
    /// Those that have an id, on the bus or not.
    var apps: Dictionary<AppID, Client>.Values { self.byApp.values }

    /// `nil` when it is gone.
    subscript(handle: AppHandle) -> Client? {
        handle.index < self.byHandle.count ? self.byHandle[Int(handle.index)] : nil
    }

    subscript(app: AppID) -> Client? { self.byApp[app] }
    subscript(uniqueName: String) -> Client? { self.byName[uniqueName] }

    // MARK: Numbers

    /// All numbers are below this.
    var handles: UInt32 { UInt32(clamping: self.byHandle.count) }

    mutating func takeHandle() -> AppHandle {
        if let index = self.spare.popLast() { return AppHandle(index) }
        self.byHandle.append(nil)
        return AppHandle(UInt32(self.byHandle.count - 1))
    }

    mutating func free(_ handle: AppHandle) {
        self.byHandle[Int(handle.index)] = nil
        self.spare.append(handle.index)
    }

    // MARK: Who is there

    /// Takes in a connection, or an app that is not on the bus.
    mutating func add(_ client: Client) {
        if client.isConnected { self.byName[client.uniqueName] = client }
        self.byHandle[Int(client.id.index)] = client
    }

    /// Gives a connection the number of its app, if that exists without it, and says whose place it took.
    mutating func takeOver(_ client: Client) -> Client? {
        guard let known = self.byApp.removeValue(forKey: client.app) else { return nil }
        self.free(client.id)
        client.id = known.id
        self.byHandle[Int(client.id.index)] = client
        return known
    }

    /// Has an app found by its id.
    mutating func show(_ client: Client) {
        if !client.app.isAnonymous { self.byApp[client.app] = client }
    }

    /// Has an app no longer found by its id, unless that is another's by now.
    mutating func hide(_ client: Client) {
        if self.byApp[client.app] === client { self.byApp[client.app] = nil }
    }

    /// Forgets a connection, whose number stays taken.
    mutating func disconnect(_ client: Client) { self.byName[client.uniqueName] = nil }

    /// Gives back memory that was needed for clients that are gone.
    mutating func shrink() {
        self.byName.shrink()
        self.byApp.shrink()
        while let last = self.byHandle.last, last == nil { self.byHandle.removeLast() }
        self.byHandle.shrink()
        let count = UInt32(clamping: self.byHandle.count)
        self.spare.removeAll { $0 >= count }
        self.spare.shrink()
    }
}
