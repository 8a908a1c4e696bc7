import CWayland
import CWlrToplevel
import DaemonSupport
import FocusCore
import Glibc
import Loop

/// The windows of a compositor that has `zwlr_foreign_toplevel_manager_v1`, such as sway, phoc, labwc and Hyprland.
///
/// The protocol tells no process, and not what is seen: what is not minimised counts as visible.
/// Not `Sendable`: it belongs to the thread of its loop.
@safe
final class WlrSource: FocusSource {
    let name: String
    let desk: DeskLink
    private let loop: EventLoop
    private let log: Log
    private let socket: DisplaySocket
    private var display: OpaquePointer?
    private var registry: OpaquePointer?
    private var manager: OpaquePointer?
    /// What is told when the compositor has said all that was to be said until then.
    private var barrier: OpaquePointer?
    private var watch: EventLoop.Registration?
    private var toplevels: [UInt32: Toplevel] = [:]
    private var lastNumber: UInt32 = 0
    /// The compositor ended the list or said something wrong: seen to once nothing of it is being handled.
    private var isBroken = false
    private var leftOut = false

    /// The most of the protocol that we know.
    private static let version: UInt32 = 3

    /// One window as the compositor tells of it, a piece at a time.
    @safe
    fileprivate final class Toplevel {
        unowned let source: WlrSource
        let number: UInt32
        let raw: OpaquePointer
        var appID: String?
        var isActivated = false
        var isMinimized = false

        init(_ source: WlrSource, _ number: UInt32, _ raw: OpaquePointer) {
            self.source = source
            self.number = number
            unsafe self.raw = raw
        }
    }

    /// - Parameters:
    ///   - display: what `WAYLAND_DISPLAY` names.
    ///   - directory: where sockets are that are named without a path.
    init(_ display: String, in directory: String, _ desk: DeskLink, on loop: EventLoop, log: Log) {
        let file = display.split(separator: "/").last.map { String($0) } ?? ""
        self.name = "wlr:\(sourceName(file))"
        self.desk = desk
        self.loop = loop
        self.log = log
        self.socket = DisplaySocket(display.hasPrefix("/") ? display : "\(directory)/\(display)", on: loop)
        CWayland_be_silent()
        self.socket.onTry = { [unowned self] in self.open() }
        self.socket.onGivingUp = { [unowned self] in
            self.log.notice(
                "\(self.name): no compositor that tells of windows is at \(self.socket.path); waiting for one")
        }
    }

    deinit { self.drop() }

    func start() {
        do throws(SystemError) {
            try self.socket.start()
        } catch {
            self.log.error("\(self.name): \(self.socket.path) cannot be watched, and is looked for: \(error)")
        }
    }

    func stop() {
        self.socket.stop()
        self.drop()
    }

    // MARK: The connection

    private func open() -> Bool {
        do throws(SystemError) {
            let connection = try connectedSocket(self.socket.path)
            let raw = connection.raw
            // SAFETY: the library takes the descriptor over only if it makes a display of it.
            guard let display = unsafe wl_display_connect_to_fd(raw) else {
                throw SystemError.last("wl_display_connect_to_fd")
            }
            _ = connection.release()
            unsafe self.display = display
            unsafe self.registry = wl_display_get_registry(display)
            guard let registry = unsafe self.registry else { throw SystemError(code: ENOMEM, function: "wl_registry") }
            let context = unsafe Unmanaged.passUnretained(self).toOpaque()
            // SAFETY: listeners live as long as the program, and we longer than the registry.
            unsafe wl_registry_add_listener(registry, Listeners.shared.registry, context)
            self.awaitAll { $0.boundAll() }
            self.watch = try self.loop.watch(raw, for: .read) { [weak self] in self?.serve($0) }
            self.desk.begin()
            self.flush()
            return true
        } catch {
            self.log.debug("\(self.name): \(error)")
            self.drop()
            return false
        }
    }

    private func drop() {
        self.loop.cancel(&self.watch)
        // SAFETY: each is ended once, what depends on the display before it.
        for toplevel in self.toplevels.values { unsafe zwlr_foreign_toplevel_handle_v1_destroy(toplevel.raw) }
        self.toplevels = [:]
        if let manager = unsafe self.manager { unsafe zwlr_foreign_toplevel_manager_v1_destroy(manager) }
        if let barrier = unsafe self.barrier { unsafe wl_callback_destroy(barrier) }
        if let registry = unsafe self.registry { unsafe wl_registry_destroy(registry) }
        if let display = unsafe self.display { unsafe wl_display_disconnect(display) }
        unsafe (self.manager, self.barrier, self.registry, self.display) = (nil, nil, nil, nil)
        self.isBroken = false
    }

    private func lose(_ why: String) {
        self.log.info("\(self.name): \(why)")
        self.drop()
        self.desk.leave()
        self.socket.lost()
    }

    /// Reads what has come in and handles it.
    private func serve(_ readiness: EventLoop.Readiness) {
        guard let display = unsafe self.display else { return }
        // SAFETY: the display is ours and used by one thread; what is read does not wait, for it is there.
        while unsafe wl_display_prepare_read(display) != 0 {
            guard unsafe wl_display_dispatch_pending(display) >= 0 else {
                return unsafe self.lose(self.problem(of: display))
            }
        }
        guard unsafe wl_display_read_events(display) >= 0, unsafe wl_display_dispatch_pending(display) >= 0 else {
            return unsafe self.lose(self.problem(of: display))
        }
        guard !self.isBroken else { return self.lose("the compositor tells of windows no more") }
        self.flush()
    }

    /// Sends what waits to be sent; what the compositor does not take now it gets later.
    private func flush() {
        guard let display = unsafe self.display, let watch else { return }
        // SAFETY: the display is live.
        let isBehind = unsafe wl_display_flush(display) < 0 && errno == EAGAIN
        try? self.loop.update(watch, for: isBehind ? [.read, .write] : .read)
    }

    private func problem(of display: OpaquePointer) -> String {
        // SAFETY: the display is live.
        let code = unsafe wl_display_get_error(display)
        return [0, EPIPE, ECONNRESET].contains(code)
            ? "the compositor is gone" : "the compositor says what cannot be, or does not read what we say"
    }

    // MARK: What there is

    /// Has `then` run when the compositor has done all that it was asked for until now.
    private func awaitAll(_ then: @escaping @convention(thin) (WlrSource) -> Void) {
        guard let display = unsafe self.display else { return }
        // SAFETY: the callback is ours until it is told.
        unsafe self.barrier = wl_display_sync(display)
        self.onBarrier = then
        if let barrier = unsafe self.barrier {
            unsafe wl_callback_add_listener(
                barrier, Listeners.shared.callback, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    private var onBarrier: ((WlrSource) -> Void)?

    fileprivate func reachedBarrier() {
        if let barrier = unsafe self.barrier { unsafe wl_callback_destroy(barrier) }
        unsafe self.barrier = nil
        self.onBarrier?(self)
    }

    /// All globals are known.
    private func boundAll() {
        guard unsafe self.manager != nil else {
            self.log.notice("\(self.name): the compositor has no zwlr_foreign_toplevel_manager_v1, or not for us")
            return
        }
        self.awaitAll { $0.desk.complete() }
    }

    fileprivate func found(_ global: UInt32, _ interface: UnsafePointer<CChar>, _ version: UInt32) {
        // SAFETY: the name is terminated and lives for the call.
        guard unsafe self.manager == nil, unsafe CWlrToplevel_is_manager(interface) != 0,
            let registry = unsafe self.registry,
            let manager = unsafe CWlrToplevel_bind(registry, global, min(version, Self.version))
        else { return }
        unsafe self.manager = manager
        unsafe zwlr_foreign_toplevel_manager_v1_add_listener(
            manager, Listeners.shared.manager, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func finished() { self.isBroken = true }

    fileprivate func opened(_ raw: OpaquePointer) {
        guard self.toplevels.count < Desk.mostWindows else {
            // Told of no more, it costs nothing.
            unsafe zwlr_foreign_toplevel_handle_v1_destroy(raw)
            if !self.leftOut { self.log.warning("\(self.name): there are more than \(Desk.mostWindows) windows") }
            self.leftOut = true
            return
        }
        self.lastNumber &+= 1
        let toplevel = unsafe Toplevel(self, self.lastNumber, raw)
        self.toplevels[toplevel.number] = toplevel
        // SAFETY: the object lives as long as it is in our table, and so does what refers to it.
        unsafe zwlr_foreign_toplevel_handle_v1_add_listener(
            raw, Listeners.shared.toplevel, Unmanaged.passUnretained(toplevel).toOpaque())
    }

    /// A window has told all that changed together.
    fileprivate func changed(_ toplevel: Toplevel) {
        self.desk.put(
            String(toplevel.number), WindowClaims(appID: toplevel.appID), isInFront: toplevel.isActivated,
            isHidden: toplevel.isMinimized && !toplevel.isActivated)
    }

    fileprivate func closed(_ toplevel: Toplevel) {
        self.desk.close(String(toplevel.number))
        // SAFETY: it is told of no more from here on.
        unsafe zwlr_foreign_toplevel_handle_v1_destroy(toplevel.raw)
        self.toplevels[toplevel.number] = nil
    }
}

@available(*, unavailable)
extension WlrSource: Sendable {}

/// What libwayland calls, made once: it keeps pointers to these.
@safe
private struct Listeners {
    let registry: UnsafePointer<wl_registry_listener>
    let callback: UnsafePointer<wl_callback_listener>
    let manager: UnsafePointer<zwlr_foreign_toplevel_manager_v1_listener>
    let toplevel: UnsafePointer<zwlr_foreign_toplevel_handle_v1_listener>

    // SAFETY: made once, and only read afterwards.
    nonisolated(unsafe) static let shared = Listeners()

    private static func constant<T>(_ value: T) -> UnsafePointer<T> {
        // SAFETY: it is never freed.
        let place = UnsafeMutablePointer<T>.allocate(capacity: 1)
        unsafe place.initialize(to: value)
        return unsafe UnsafePointer(place)
    }

    private init() {
        unsafe self.registry = Self.constant(
            wl_registry_listener(
                global: { context, _, name, interface, version in
                    guard let interface = unsafe interface else { return }
                    unsafe source(context)?.found(name, interface, version)
                },
                global_remove: { _, _, _ in }))
        unsafe self.callback = Self.constant(
            wl_callback_listener(done: { context, _, _ in unsafe source(context)?.reachedBarrier() }))
        unsafe self.manager = Self.constant(
            zwlr_foreign_toplevel_manager_v1_listener(
                toplevel: { context, _, raw in
                    guard let raw = unsafe raw else { return }
                    unsafe source(context)?.opened(raw)
                },
                finished: { context, _ in unsafe source(context)?.finished() }))
        unsafe self.toplevel = Self.constant(
            zwlr_foreign_toplevel_handle_v1_listener(
                // Not even looked at: it says what somebody reads or writes.
                title: { _, _, _ in },
                app_id: { context, _, text in
                    guard let toplevel = unsafe window(context), let text = unsafe text else { return }
                    // SAFETY: terminated, and within a message of 4 KiB. A text that is no name is not kept.
                    let isName = unsafe strnlen(text, WindowClaims.longestName + 1) <= WindowClaims.longestName
                    toplevel.appID = unsafe isName ? String(cString: text) : nil
                },
                output_enter: { _, _, _ in },
                output_leave: { _, _, _ in },
                state: { context, _, states in
                    guard let toplevel = unsafe window(context), let states = unsafe states else { return }
                    (toplevel.isActivated, toplevel.isMinimized) = (false, false)
                    // SAFETY: an array of as many bytes, which the library has aligned for whole numbers.
                    guard let start = unsafe states.pointee.data else { return }
                    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: states.pointee.size)
                    for offset in stride(from: 0, to: bytes.count - 3, by: 4) {
                        let state = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                        if state == ZWLR_FOREIGN_TOPLEVEL_HANDLE_V1_STATE_ACTIVATED.rawValue {
                            toplevel.isActivated = true
                        } else if state == ZWLR_FOREIGN_TOPLEVEL_HANDLE_V1_STATE_MINIMIZED.rawValue {
                            toplevel.isMinimized = true
                        }
                    }
                },
                done: { context, _ in
                    guard let toplevel = unsafe window(context) else { return }
                    toplevel.source.changed(toplevel)
                },
                closed: { context, _ in
                    guard let toplevel = unsafe window(context) else { return }
                    toplevel.source.closed(toplevel)
                },
                parent: { _, _, _ in }))
    }
}

private func source(_ context: UnsafeMutableRawPointer?) -> WlrSource? {
    // SAFETY: a source outlives the objects that it gave itself to.
    unsafe context.map { unsafe Unmanaged<WlrSource>.fromOpaque($0).takeUnretainedValue() }
}

private func window(_ context: UnsafeMutableRawPointer?) -> WlrSource.Toplevel? {
    // SAFETY: it stands in its source's table for as long as its object lives.
    unsafe context.map { unsafe Unmanaged<WlrSource.Toplevel>.fromOpaque($0).takeUnretainedValue() }
}
