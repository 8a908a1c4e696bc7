import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Glibc
import Journal
import Loop
import Motion
import PolicyFiles

/// Has apps exist as their files say, on the bus or not.
final class AppFileLink {
    private unowned let service: BrokerService
    private let source: AppSource
    /// App files have been read.
    private var hasFiles = false
    private var round = AppFileRound()
    /// How many times all files began to be read.
    private var rounds = 0
    /// The apps of which it was not known, when all files were read last, what their files say.
    private var unclear: Set<AppID> = []
    /// The directories of which it was not known then what all stands in them.
    private var unlisted: Set<String> = []
    private var refusals = AppFileRefusals()
    /// Reads the files of apps that come.
    private let errands: Errands
    /// Its file system did not answer in time, and has not since.
    private var isOverdue = false
    /// The apps that came meanwhile, of which nobody knows what their files say.
    private var unread: Set<AppID> = []

    /// What is known of the file of an app: what it says, what is wrong with it, and in which directories nobody could look for it.
    typealias Told = (file: AppFile?, findings: [Finding], unlisted: [String])

    /// How long an app that comes waits for its file, in µs: as long as for the disk.
    private static let patience = RegistrationLink.diskPatience
    /// So many may wait for a file system that does not answer. The files of others are read with all.
    private static let most = 1_024

    init(_ service: BrokerService, from source: AppSource) {
        self.service = service
        self.source = source
        self.errands = Errands(on: service.loop)
    }

    /// All files are to be read, from here.
    func beginRound() -> AppSource {
        self.round.begin()
        self.rounds += 1
        return self.source
    }

    /// Has the apps exist whose files were read, and those that are durable, and no others but those that came meanwhile.
    ///
    /// - Returns: what does so, one app at a time; false when all is done.
    func take(_ reading: AppSource.Reading) -> () -> Bool {
        let isFirst = !self.hasFiles
        self.hasFiles = true
        self.service.log.report(reading.findings)
        self.unclear = Set(reading.broken + reading.restless)
        self.unlisted = Set(reading.unlisted)
        self.refusals.begin()
        // The last first: taken from the end, each is gone when it is done with.
        var files = Array(reading.files.reversed())
        var broken = reading.broken[...]
        var restless = (reading.restless + self.unlistedApps(atFirst: isFirst))[...]
        var next: UInt32 = 0
        return { [unowned self] in
            if let file = files.popLast() {
                guard self.round.see(file.id) else { return true }
                let known = self.service.links.clients[file.id]
                // The one that counts may be there still, and another one takes no place of its.
                guard known?.file?.path == file.path || !Self.isIn(self.unlisted, known?.file) else { return true }
                // What has not changed is as it was.
                if known?.file != file || known?.appState?.isInstalled != true { self.install(file) }
            } else if let app = broken.popFirst() {
                guard let durable = self.service.links.durable[app], self.round.see(app) else { return true }
                if self.service.links.clients[app]?.file != AppFile(durable) { self.install(AppFile(durable)) }
            } else if let app = restless.popFirst() {
                // Of those whose files do not hold still, or may be where nobody could look, nothing changes.
                guard self.round.see(app) else { return true }
                if self.service.links.clients[app]?.file == nil, let durable = self.service.links.durable[app] {
                    self.install(AppFile(durable))
                }
            } else if next < self.service.links.clients.handles {
                let last = min(next + Self.lookedAtOnce, self.service.links.clients.handles)
                for handle in next..<last {
                    guard let known = self.service.links.clients[AppHandle(handle)], self.round.isGone(known.app),
                        !Self.isIn(self.unlisted, known.file)
                    else { continue }
                    self.uninstall(known.app)
                }
                next = last
            } else {
                self.round.end()
                for line in self.refusals.end() { self.service.log.warning(line) }
                self.service.links.sensors.startIfNeeded()
                return false
            }
            return true
        }
    }

    /// Whether a file stands in one of these directories, or below it.
    private static func isIn(_ directories: Set<String>, _ file: AppFile?) -> Bool {
        guard !directories.isEmpty, var directory = file?.path[...] else { return false }
        while let slash = directory.utf8.lastIndex(of: UInt8(ascii: "/")) {
            directory = directory[..<slash]
            if directories.contains(String(directory)) { return true }
        }
        return false
    }

    /// The apps that registered for good and whose files may stand where nobody could look.
    ///
    /// - Parameter isFirst: Nothing is known yet of where they stood.
    private func unlistedApps(atFirst isFirst: Bool) -> [AppID] {
        guard !self.unlisted.isEmpty else { return [] }
        return self.service.links.durable.ids.filter { app in
            guard let file = self.service.links.clients[app]?.file else { return isFirst }
            return file.path.isEmpty || Self.isIn(self.unlisted, file)
        }
    }

    /// So many apps are looked at in a step, whether they are to go.
    private static let lookedAtOnce: UInt32 = 32

    /// Has apps exist with what they registered for good, once that is known: one at a time, as there may be very many.
    func install(_ apps: [DurableApp], then done: @escaping () -> Void) {
        // They all are taken in with the files.
        guard self.hasFiles, !apps.isEmpty else { return done() }
        var apps = apps[...]
        self.service.loop.turns.add { [unowned self] in
            // Those that were forgotten or registered anew meanwhile are as that made them.
            guard let app = apps.popFirst() else {
                self.service.links.sensors.startIfNeeded()
                done()
                return false
            }
            guard self.service.links.durable[app.id] == app else { return true }
            if let file = self.service.links.clients[app.id]?.file {
                self.install(file)
            } else if self.unclear.contains(app.id) || !self.unlisted.isEmpty {
                // As it was when it registered.
                self.install(AppFile(app))
            }
            return true
        }
    }

    /// Has an app exist as its file says.
    func install(_ file: AppFile) {
        let known = self.service.links.clients[file.id]
        let id = known?.id ?? self.service.links.clients.takeHandle()
        let durable = self.service.links.durable[file.id]
        let file = durable.map { file.sharing($0) } ?? file
        let entrance = AppEntrance(
            proof: durable?.binding.proof ?? .name, declared: file.modes, hasPlayer: file.hasPlayer)
        // What a user installs, or has a Flatpak install, is his, and takes nothing of what the system has.
        let owner = durable?.binding.user ?? (file.layer == .user ? getuid() : nil)
        let registered = durable.map { Installation.Part($0.detectors, payer: $0.binding.user) }
        func install(_ registered: Installation.Part?) -> Bool {
            let filed = Installation.Part(
                file.detectors(besides: registered?.requests ?? []),
                payer: file.layer == .user ? owner ?? UserShares.root : UserShares.root)
            let installation = Installation(filed, registered: registered)
            do throws(Refusal) {
                try self.service.input(.install(id, file.id, entrance, installation, user: owner))
                return true
            } catch {
                self.refused(file, error)
                return false
            }
        }
        // What the file asks for is there, whatever became of what the app registered besides.
        guard install(registered) || registered != nil && install(nil) else {
            if known == nil { self.service.links.clients.free(id) }
            return
        }
        guard let known else { return self.service.links.clients.exportInstalled(id, file.id, file) }
        self.service.links.clients.watchers.changed(known)
        known.file = file
        if !known.isConnected { known.uid = known.appState?.reader }
        known.changed("Grants")
        known.detectorsChanged()
    }

    private func refused(_ file: AppFile, _ refusal: Refusal) {
        let reason = BusError(refusal).message
        let line = "\(file.id) is not installed as its app file says: \(reason)"
        guard self.refusals.isNews(refusal) else { return self.service.log.debug(line) }
        self.service.log.warning(line, as: .appFileRefused, about: [.app: file.id.name, .reason: reason])
    }

    /// Has an app exist only while it is on the bus, and have nothing of what its file gave.
    private func uninstall(_ app: AppID) {
        // One that could not be installed as its file says has that file nevertheless.
        guard let known = self.service.links.clients[app], known.file != nil || known.appState?.isInstalled == true
        else { return }
        self.service.happened(.uninstall(known.id))
        guard known.isConnected else { return self.service.links.clients.forgetInstalled(known) }
        known.file = nil
        known.changed("Grants")
        known.detectorsChanged()
    }

    // MARK: Apps that come

    /// Reads the file of an app that comes, and tells what is known of it then. Of a file system that takes longer nothing
    /// is, and what the file says counts when it has been read.
    func look(at app: AppID, _ then: @escaping (Told?) -> Void) {
        guard !app.isAnonymous else { return then((nil, [], [])) }
        guard !self.isFull else { return then(nil) }
        var waiting: ((Told?) -> Void)? = then
        self.read(app) { [unowned self] in
            self.unread.insert(app)
            if !self.isOverdue {
                self.isOverdue = true
                self.service.log.warning(
                    "the app file of \(app) is not read: its file system has not answered for "
                        + "\(Self.patience / 1_000_000) s; until it does, apps are as they were")
            }
            waiting.take()?(nil)
        } then: { [unowned self] told in
            self.isOverdue = false
            self.unread.remove(app)
            if let then = waiting.take() { then(told) } else { self.apply(told, to: app) }
        }
    }

    /// Where the file system answers, all apps may come at once and have their files read.
    private var isFull: Bool {
        self.errands.count >= (self.isOverdue ? Self.most : self.service.core.limits.apps)
    }

    /// Whether an app has come, or may have, while its file could not be read, and that has not been read since.
    func isUnread(_ app: AppID) -> Bool { self.unread.contains(app) || self.isFull }

    private func read(_ app: AppID, overdue: @escaping () -> Void, then: @escaping (Told) -> Void) {
        let (source, rounds) = (self.source, self.rounds)
        self.errands.run({ source.read(app) }, patience: Self.patience, overdue: overdue) { [unowned self] told in
            // What all files said since then may be newer.
            if self.rounds == rounds { then(told) } else { self.read(app, overdue: overdue, then: then) }
        }
    }

    /// What is known of an app when it comes: how well it is proven, and what its app file asks for.
    ///
    /// - Parameter told: What its file says; `nil`: nobody knows yet.
    func entrance(of client: Client, _ told: Told?) -> AppEntrance {
        guard !client.app.isAnonymous else { return AppEntrance(proof: client.proof, declared: .none) }
        if let told {
            client.file = self.apply(told, to: client.app)
        } else {
            client.file = self.service.links.clients[client.app]?.file ?? self.durableFile(of: client.app)
        }
        return AppEntrance(
            proof: client.proof, declared: client.file?.modes ?? .none, hasPlayer: client.file?.hasPlayer ?? false)
    }

    /// What an app said when it registered for good, which counts while its file says nothing.
    private func durableFile(of app: AppID) -> AppFile? { self.service.links.durable[app].map { AppFile($0) } }

    /// Has an app exist as its own file says, which was read alone; returns what counts of it.
    @discardableResult private func apply(_ told: Told, to app: AppID) -> AppFile? {
        self.service.log.report(told.findings)
        let known = self.service.links.clients[app]?.file
        // As where all are read: the one that counts may be there still, and another one takes no place of its.
        let stays = told.file?.path != known?.path && Self.isIn(Set(told.unlisted), known)
        let file = stays ? known : told.file ?? (told.findings.isEmpty ? nil : self.durableFile(of: app))
        // Of a file with an error in it, that does not hold still or cannot be seen, a reading under way may know more.
        if !stays, file != nil || told.findings.isEmpty { self.round.readAlone(app) }
        if let file { self.install(file) } else { self.uninstall(app) }
        return file
    }
}

/// Which limits leave no room for app files: there may be very many files, and each such limit is told of once. What a file is
/// refused for by itself is told of each.
private struct AppFileRefusals {
    /// How many files each limit kept out since files were read, and those limits that were told of.
    private var files: [String: Int] = [:]
    private var told: Set<String> = []
    private var toldBefore: Set<String> = []

    /// Files are read anew.
    mutating func begin() {
        self.files = [:]
        self.toldBefore = self.told
    }

    /// Whether people do not know yet that there is no room for what files install.
    mutating func isNews(_ refusal: Refusal) -> Bool {
        guard case .noRoom(let name, _, _) = refusal else { return true }
        self.files[name, default: 0] += 1
        return self.told.insert(name).inserted
    }

    /// All files have been read: says how many were kept out by limits that were not told of before. Where there is room again
    /// people are told anew when there is none.
    mutating func end() -> [String] {
        self.told = Set(self.files.keys)
        return self.files.sorted { $0.key < $1.key }.filter { $0.value > 1 && !self.toldBefore.contains($0.key) }.map {
            "\($0.value) app files in all are not installed because of \($0.key)"
        }
    }
}

extension AppFile {
    /// What stood in it when the app registered for good: it counts while the file has an error in it, and is its user's.
    init(_ app: DurableApp) {
        self.init(id: app.id)
        self.layer = .user
        self.usage = app.usage
        self.modes = app.modes
    }

    /// The same, with the memory of what a durable app says as well: there may be very many.
    func sharing(_ app: DurableApp) -> AppFile {
        var file = self
        file.id = app.id
        if file.usage == app.usage { file.usage = app.usage }
        return file
    }

    /// Those of its detectors that have no name of others, which count where the names are the same.
    func detectors(besides others: [DetectorRequest]) -> [DetectorRequest] {
        if self.detectors.isEmpty || others.isEmpty { return self.detectors }
        let names = Set(others.map(\.name))
        return self.detectors.filter { !names.contains($0.name) }
    }
}
