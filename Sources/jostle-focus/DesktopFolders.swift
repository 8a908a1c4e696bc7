import DaemonSupport
import FocusCore
import Glibc
import Loop

/// The desktop files of the session, read anew when their folders change, which the kernel says.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class DesktopFolders {
    private let folders: [String]
    private let loop: EventLoop
    private let log: Log
    private var watch: (descriptor: OwnedDescriptorBox, registration: EventLoop.Registration)?
    private var timer: EventLoop.TimerID?
    /// When the first change came of which nothing has been read.
    private var changed: Int64?
    /// The kernel does not tell of all that changes, and it was said so.
    private var isDeaf = false
    /// Folders are being read.
    private var reading: Reading?
    /// Runs when all has been read.
    var onRead: (DesktopFiles) -> Void = { _ in }

    /// A package brings many files: reading begins when it has been quiet for so long, or this long after the first. In µs.
    private static let quiet: Int64 = 300_000
    private static let latest: Int64 = 3_000_000
    /// Where the kernel does not tell of all that changes all is read again after so long, in µs.
    private static let patience: Int64 = 10_000_000

    init(_ folders: [String], on loop: EventLoop, log: Log) {
        self.folders = folders
        self.loop = loop
        self.log = log
        self.timer = loop.schedule(at: .max) { [weak self] in self?.begin() }
    }

    deinit {
        self.unwatch()
        if let timer { self.loop.cancel(timer) }
    }

    /// Reads all of them at once: before that nothing is known of any window.
    func start() {
        self.watchAll()
        let reading = Reading(self.folders)
        while reading.step() {}
        self.take(reading)
    }

    // MARK: Reading

    private func begin() {
        // What changes meanwhile is read next.
        guard self.reading == nil else {
            self.changed = self.changed ?? Clock.monotonic.now()
            return self.arm()
        }
        self.changed = nil
        // Before the folders are read, so that nothing falls between the two; also those that are new.
        self.watchAll()
        let reading = Reading(self.folders)
        self.reading = reading
        self.loop.turns.add(
            { reading.step() },
            then: { [weak self] in
                self?.reading = nil
                self?.take(reading)
            })
    }

    private func take(_ reading: Reading) {
        if reading.files.leftOut > 0 {
            self.log.warning(
                "\(reading.files.leftOut) desktop files are left out: \(DesktopFiles.most) are read, and of a Flatpak "
                    + "\(DesktopFiles.mostOfFlatpak.files) of \(DesktopFiles.mostOfFlatpak.bytes >> 20) MiB together")
        }
        self.log.debug("\(reading.files.count) desktop files are known")
        self.onRead(reading.files)
    }

    /// One reading of all folders, a file at a time.
    private final class Reading {
        /// A file or a folder, and its name below the folder where the reading began.
        private struct Place {
            var path: String
            var name = ""
            var depth = 0
            var isOfFlatpak: Bool
            /// It was put behind all that is no link.
            var isLate = false
        }

        private var folders: ArraySlice<Place>
        /// Those below the one that is being read.
        private var seen = SeenFolders()
        private var waiting: ArraySlice<Place> = []
        private(set) var files = DesktopFiles()
        private var buffer = [UInt8](repeating: 0, count: DesktopEntry.mostBytes + 1)

        init(_ folders: [String]) {
            self.folders =
                folders.map {
                    Place(path: $0, isOfFlatpak: DesktopPlaces.installation(ofFolder: $0) != nil)
                }[...]
        }

        /// Goes on for a moment; false when all is read.
        func step() -> Bool {
            if var place = self.waiting.popFirst() {
                if DesktopFiles.id(ofPath: place.name) != nil {
                    self.files.add(place.name, ofFlatpak: place.isOfFlatpak) { self.contents(place.path) }
                } else if place.depth < DesktopPlaces.deepest {
                    // What a link leads to may be one of these folders, whose files are known by its own name.
                    if !place.isLate, Self.isLink(place.path) {
                        place.isLate = true
                        self.waiting.append(place)
                    } else {
                        self.list(place, place.depth + 1)
                    }
                }
                return true
            }
            guard let folder = self.folders.popFirst() else { return false }
            self.seen = SeenFolders()
            self.list(folder, folder.depth)
            return true
        }

        /// What is no folder has no names.
        private func list(_ folder: Place, _ depth: Int) {
            guard self.seen.isNew(folder.path) else { return }
            let names = (try? directoryNames(folder.path)) ?? []
            self.waiting =
                names.filter { !$0.hasPrefix(".") && ($0.hasSuffix(".desktop") || !$0.contains(".")) }
                // Of a Flatpak few are read, but among many names stand those of others.
                .prefix(folder.isOfFlatpak ? Int.max : DesktopFiles.most + 1)
                .map { name in
                    Place(
                        path: "\(folder.path)/\(name)", name: folder.name.isEmpty ? name : "\(folder.name)/\(name)",
                        depth: depth, isOfFlatpak: folder.isOfFlatpak)
                }[...]
                + self.waiting
        }

        /// The corresponding C function is `lstat`.
        private static func isLink(_ path: String) -> Bool {
            var status = stat()
            // SAFETY: the path is NUL-terminated for the call, and the status is ours.
            return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
        }

        private func contents(_ path: String) -> [UInt8]? {
            guard let file = try? InputFile(path) else { return nil }
            var count = 0
            do throws(SystemError) {
                count = try file.read(into: &self.buffer)
            } catch {
                return nil
            }
            return count < self.buffer.count ? Array(self.buffer[..<count]) : nil
        }
    }

    // MARK: Watching

    private static let inFolder =
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF
        | IN_ONLYDIR
        | IN_MASK_ADD
    private static let above = IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD

    private func watchAll() {
        self.unwatch()
        do throws(SystemError) {
            let descriptor = OwnedDescriptor(
                adopting: try systemCall("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) })
            let raw = descriptor.raw
            var shortage: SystemError?
            do throws(SystemError) {
                for folder in self.folders { try Self.add(folder, to: raw) }
            } catch {
                shortage = error
            }
            let registration = try self.loop.watch(raw, for: .read) { [weak self] _ in self?.drain() }
            self.watch = (OwnedDescriptorBox(descriptor), registration)
            if let shortage { throw shortage }
            self.isDeaf = false
        } catch {
            self.lookLater(because: error)
        }
    }

    /// Has all read again when it may have changed, as nobody tells of it.
    private func lookLater(because error: SystemError) {
        if !self.isDeaf {
            let reason =
                error.code == ENOSPC
                ? "their user has no inotify watch left (fs.inotify.max_user_watches)" : error.description
            let seconds = Self.patience / 1_000_000
            self.log.warning("desktop files are read again every \(seconds) s to see changes: \(reason)")
        }
        self.isDeaf = true
        if let timer { self.loop.reschedule(timer, after: Self.patience) }
    }

    private func unwatch() {
        if let watch { self.loop.cancel(watch.registration) }
        self.watch = nil
    }

    /// Watches a folder and those in it, or where it would have to appear, and where Flatpak says what it has installed.
    private static func add(_ folder: String, to raw: Int32) throws(SystemError) {
        if let installation = DesktopPlaces.installation(ofFolder: folder) {
            _ = try self.add(installation, self.inFolder, to: raw)
        }
        if try self.add(folder, self.inFolder, to: raw) {
            var seen = SeenFolders()
            var level = [folder].filter { seen.isNew($0) }
            for _ in 0..<DesktopPlaces.deepest {
                let inner = level.flatMap { path in
                    ((try? directoryNames(path)) ?? []).filter { !$0.contains(".") }.prefix(self.mostInFolder).map {
                        "\(path)/\($0)"
                    }
                }
                level = []
                for path in inner where seen.isNew(path) {
                    if try self.add(path, self.inFolder, to: raw) { level.append(path) }
                }
            }
            return
        }
        var path = folder[...]
        while let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            path = path[..<slash]
            if try self.add(String(path), self.above, to: raw) { return }
        }
    }

    /// Folders in a folder that are watched.
    private static let mostInFolder = 64

    /// Watches one folder; false when it is not there, or may not be looked at.
    private static func add(_ path: String, _ mask: Int32, to raw: Int32) throws(SystemError) -> Bool {
        // SAFETY: the path is NUL-terminated for the call.
        if unsafe inotify_add_watch(raw, path, UInt32(mask)) >= 0 { return true }
        let error = SystemError.last("inotify_add_watch")
        guard error.code != ENOSPC, error.code != ENOMEM else { throw error }
        return false
    }

    private func drain() {
        guard let raw = self.watch?.descriptor.raw else { return }
        unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            // SAFETY: as many bytes as there are in the buffer. What they say does not matter; the rest is there next time.
            _ = unsafe read(raw, buffer.baseAddress, buffer.count)
        }
        if self.changed == nil { self.changed = Clock.monotonic.now() }
        self.arm()
    }

    private func arm() {
        guard let timer, let changed else { return }
        self.loop.reschedule(timer, at: min(Clock.monotonic.now() + Self.quiet, changed + Self.latest))
    }
}
