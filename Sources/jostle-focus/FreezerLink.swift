import DaemonSupport
import FocusCore
import Glibc
import Loop
import Motion
import Processes

/// Watches whether the control groups of apps are frozen, and tells the broker. The kernel says when that changes.
///
/// The corresponding C functions are `inotify_init1`, `inotify_add_watch` and `inotify_rm_watch`.
/// Not `Sendable`: it belongs to the thread of its loop.
final class FreezerLink {
    private let loop: EventLoop
    private let log: Log
    private let roll: RollLink
    private var frozen = FrozenApps()
    private var apps: [AppNamer.KnownApp] = []
    private var watch: (descriptor: OwnedDescriptorBox, registration: EventLoop.Registration)?
    private var folders: [Int32: String] = [:]
    /// Folders of which the kernel does not tell what changes.
    private var unwatched: Set<String> = []
    private var timer: EventLoop.TimerID?
    private var lookedAt: Int64?
    private var isToldOfRoom = false

    /// Shortest time between two looks at where processes are, in µs.
    private static let pace: Int64 = 1_000_000
    /// Where the kernel does not tell of all that changes it is looked again after so long, in µs.
    private static let patience: Int64 = 10_000_000

    init(on loop: EventLoop, _ reporter: Reporter<AppList>, log: Log) {
        self.loop = loop
        self.log = log
        self.roll = RollLink(on: loop, reporter, pace: FrozenApps.pace)
        self.roll.apps = { [weak self] in self?.frozen.apps ?? [] }
        self.timer = loop.schedule(at: .max) { [weak self] in self?.look() }
    }

    deinit {
        if let watch { self.loop.cancel(watch.registration) }
        if let timer { self.loop.cancel(timer) }
    }

    /// The broker said something of its apps, whose processes may have moved.
    func take(_ apps: [AppNamer.KnownApp]) {
        self.apps = apps
        self.look()
    }

    // MARK: Where processes are

    private func look() {
        guard let timer else { return }
        let now = Clock.monotonic.now()
        if let lookedAt, now < lookedAt + Self.pace {
            return self.loop.reschedule(timer, at: lookedAt + Self.pace)
        }
        self.lookedAt = now
        let change = self.frozen.take(self.groups())
        for (number, folder) in self.folders where change.leave.contains(folder) { self.leave(number) }
        self.unwatched.subtract(change.leave)
        var isDeaf = false
        for folder in self.unwatched.union(change.watch).sorted() where !self.begin(folder) { isDeaf = true }
        self.loop.reschedule(timer, at: isDeaf ? now + Self.patience : .max)
        if self.frozen.leftOut > 0, !self.isToldOfRoom {
            self.isToldOfRoom = true
            self.log.warning(
                "apps are in more control groups than \(FrozenApps.mostGroups): of some it is not seen that they are frozen"
            )
        }
        self.roll.change()
    }

    /// The folders of the groups of each app's processes, where all of them are to be seen.
    private func groups() -> [AppID: Set<String>] {
        guard self.apps.contains(where: { $0.process != nil }), let own = try? ProcessFiles(of: getpid()) else {
            return [:]
        }
        let mounts = GroupMounts(own.mounts)
        // One process may have thousands of connections.
        var folders: [UInt32: String?] = [:]
        var groups: [AppID: Set<String>] = [:]
        var hidden: Set<AppID> = []
        for app in self.apps {
            guard let process = app.process else { continue }
            let folder = folders[process] ?? Self.folder(of: process, mounts)
            folders[process] = .some(folder)
            if let folder {
                groups[app.id, default: []].insert(folder)
            } else {
                hidden.insert(app.id)
            }
        }
        return groups.filter { !hidden.contains($0.key) }
    }

    private static func folder(of process: UInt32, _ mounts: GroupMounts) -> String? {
        guard let process = Int32(exactly: process), let files = try? ProcessFiles(of: process),
            let path = GroupPaths(files.groups).unified
        else { return nil }
        return mounts.folders(of: path).first { Self.events($0) != nil }
    }

    // MARK: What the kernel says of groups

    private static func file(_ folder: String) -> String { folder + "/cgroup.events" }

    /// `nil`: there is no such group, or it cannot be frozen.
    private static func events(_ folder: String) -> [UInt8]? {
        guard let file = try? InputFile(Self.file(folder)) else { return nil }
        var buffer = [UInt8](repeating: 0, count: 512)
        guard let count = try? file.read(into: &buffer) else { return nil }
        return Array(buffer[..<count])
    }

    private func hear(_ folder: String) {
        // One in which nobody is any more: its app ended, or is in another.
        if !self.frozen.hear(folder, Self.events(folder)) { self.look() }
        self.roll.change()
    }

    /// Watches a group and looks how it is; false when the kernel will not tell when that changes.
    private func begin(_ folder: String) -> Bool {
        var isWatched = true
        do throws(SystemError) {
            let raw = try self.descriptor()
            let number = try systemCall("inotify_add_watch") {
                // SAFETY: the path is NUL-terminated for the call.
                unsafe inotify_add_watch(raw, Self.file(folder), UInt32(IN_MODIFY | IN_DELETE_SELF))
            }
            self.folders[number] = folder
            self.unwatched.remove(folder)
        } catch {
            isWatched = false
            if self.unwatched.insert(folder).inserted {
                let seconds = Self.patience / 1_000_000
                self.log.warning("whether \(folder) is frozen is looked at every \(seconds) s: \(error)")
            }
        }
        // After the watch, so that nothing falls between the two. One in which nobody is any more is found out about anew.
        if !self.frozen.hear(folder, Self.events(folder)) { self.unwatched.remove(folder) }
        return isWatched
    }

    private func leave(_ number: Int32) {
        self.folders[number] = nil
        if let raw = self.watch?.descriptor.raw { inotify_rm_watch(raw, number) }
    }

    private func descriptor() throws(SystemError) -> Int32 {
        if let watch { return watch.descriptor.raw }
        let descriptor = OwnedDescriptor(
            adopting: try systemCall("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) })
        let raw = descriptor.raw
        let registration = try self.loop.watch(raw, for: .read) { [weak self] _ in self?.drain(raw) }
        self.watch = (OwnedDescriptorBox(descriptor), registration)
        return raw
    }

    private func drain(_ raw: Int32) {
        var changed: Set<String> = []
        unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            // SAFETY: as many bytes as there are in the buffer; the rest is there next time.
            let count = unsafe read(raw, buffer.baseAddress, buffer.count)
            var start = 0
            while start + MemoryLayout<inotify_event>.size <= count {
                // SAFETY: the kernel writes whole events: a number, a mask, a cookie, the length of what follows, and that.
                let event = unsafe buffer.load(fromByteOffset: start, as: inotify_event.self)
                if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { changed.formUnion(self.folders.values) }
                if let folder = self.folders[event.wd] { changed.insert(folder) }
                if event.mask & UInt32(IN_IGNORED) != 0 { self.folders[event.wd] = nil }
                start += MemoryLayout<inotify_event>.size + Int(event.len)
            }
        }
        for folder in changed { self.hear(folder) }
    }
}
