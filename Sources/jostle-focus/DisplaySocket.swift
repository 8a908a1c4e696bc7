import FocusCore
import Glibc
import Loop
import Motion

/// The socket of a display: when to try it, and that another one is there in its place.
///
/// The kernel says what changes in its folder, so nothing is asked again and again; where it does not, the display is looked for now and
/// then.
/// Not `Sendable`: it belongs to the thread of its loop.
final class DisplaySocket {
    let path: String
    private let loop: EventLoop
    private let folder: String
    private let file: String
    private var life = Reconnection()
    private var watch: (descriptor: OwnedDescriptorBox, registration: EventLoop.Registration)?
    private var timer: EventLoop.TimerID?
    /// When it is looked for again that nobody tells of.
    private var patience = RetryPatience()
    /// Opens the display; false when that is not possible now.
    var onTry: () -> Bool = { false }
    /// No attempt is left: only another socket helps.
    var onGivingUp: () -> Void = {}

    /// - Parameter path: an absolute path.
    init(_ path: String, on loop: EventLoop) {
        self.path = path
        self.loop = loop
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        self.folder = slash == path.startIndex ? "/" : String(path[..<slash])
        self.file = String(path[slash...].dropFirst())
        self.timer = loop.schedule(at: .max) { [weak self] in self?.attempt() }
    }

    deinit {
        self.stop()
        if let timer { self.loop.cancel(timer) }
    }

    /// Throws when nobody will tell that the display comes.
    func start() throws(SystemError) {
        // After the watch, so that no socket falls between the two.
        defer { self.appeared() }
        try self.watchFolder()
    }

    private func watchFolder() throws(SystemError) {
        let descriptor = OwnedDescriptor(
            adopting: try systemCall("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) })
        let raw = descriptor.raw
        let folder = self.folder
        try systemCall("inotify_add_watch") {
            // SAFETY: the path is NUL-terminated for the call.
            unsafe inotify_add_watch(raw, folder, UInt32(IN_CREATE | IN_MOVED_TO | IN_ONLYDIR))
        }
        let registration = try self.loop.watch(raw, for: .read) { [weak self] _ in self?.readEvents() }
        self.watch = (OwnedDescriptorBox(descriptor), registration)
    }

    private func appeared() {
        self.life.appeared(at: DeskLink.now())
        self.arm()
    }

    func stop() {
        if let watch { self.loop.cancel(watch.registration) }
        self.watch = nil
    }

    /// The display that was opened is gone, or could not be opened.
    func lost() {
        let now = DeskLink.now()
        let hadGivenUp = self.life.hasGivenUp
        self.life.failed(at: now)
        if !self.life.hasGivenUp {
            self.patience = RetryPatience()
        } else {
            if !hadGivenUp { self.onGivingUp() }
            if self.watch == nil { self.patience.failed(at: now) }
        }
        self.arm()
    }

    private func attempt() {
        self.patience.tried()
        // There may be a folder by now, or a watch to be had. What came before it nobody tells of, and it may not listen yet: it has all
        // the attempts of one that has just come.
        if self.watch == nil, (try? self.watchFolder()) != nil { self.life.appeared(at: DeskLink.now()) }
        guard self.onTry() else { return self.lost() }
        self.life.opened(at: DeskLink.now())
        self.arm()
    }

    private func arm() {
        let next = self.life.next ?? self.patience.nextTry
        if let timer { self.loop.reschedule(timer, at: next?.microseconds ?? .max) }
    }

    private func readEvents() {
        guard let descriptor = self.watch?.descriptor.raw else { return }
        var (isOurs, isFolderGone) = (false, false)
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.bytes, alignment: 8) { buffer in
            // SAFETY: as many bytes as there are in the buffer.
            let count = unsafe read(descriptor, buffer.baseAddress, Self.bytes)
            var start = 0
            while start + Self.header <= count {
                // SAFETY: the kernel writes whole events: wd, mask, cookie, the length of the name, the name.
                let mask = unsafe buffer.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)
                let length = Int(unsafe buffer.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
                let end = min(start + Self.header + length, count)
                let name = unsafe buffer[(start + Self.header)..<end].prefix { $0 != 0 }
                let isNamed = unsafe name.elementsEqual(self.file.utf8)
                if isNamed || mask & UInt32(IN_Q_OVERFLOW) != 0 { isOurs = true }
                if mask & UInt32(IN_IGNORED) != 0 { isFolderGone = true }
                start = end
            }
        }
        // Nothing is told any more of what is in its place by then.
        if isFolderGone { self.stop() }
        if isOurs || isFolderGone { self.appeared() }
    }

    private static let header = 16
    private static let bytes = 4_096
}

/// Keeps a descriptor for a tuple, which cannot hold one.
final class OwnedDescriptorBox {
    private let descriptor: OwnedDescriptor
    var raw: Int32 { self.descriptor.raw }
    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
}
