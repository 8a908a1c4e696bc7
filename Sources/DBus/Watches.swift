import CDBus
import Loop

/// Puts the descriptors and timeouts of a libdbus connection on the loop.
///
/// libdbus holds the connection's lock while it calls these functions, so they touch nothing but the loop.
///
/// - Parameter onInput: told how many bytes are there whenever some are about to be read; without that lock.
func installWatches(on raw: OpaquePointer, _ loop: EventLoop, onInput: @escaping (Int) -> Void) {
    let host = WatchHost(loop, onInput)
    // SAFETY: libdbus owns a retained reference to the host per function set and gives it back through `release`.
    let release: DBusFreeFunction = { context in
        if let context = unsafe context { unsafe Unmanaged<WatchHost>.fromOpaque(context).release() }
    }
    invariant(
        unsafe dbus_connection_set_watch_functions(
            raw,
            { watch, context in
                guard let watch = unsafe watch, let host = unsafe borrow(context) else { return 0 }
                return unsafe addWatch(watch, to: host) ? 1 : 0
            },
            { watch, context in
                guard let watch = unsafe watch, let loop = unsafe borrow(context)?.loop else { return }
                if let slot = unsafe slot(dbus_watch_get_data(watch)) { loop.cancel(slot.registration) }
            },
            { watch, context in
                guard let watch = unsafe watch, let loop = unsafe borrow(context)?.loop else { return }
                guard let slot = unsafe slot(dbus_watch_get_data(watch)) else { return }
                // The descriptor is registered, so the kernel has no reason to refuse.
                try? unsafe loop.update(slot.registration, for: interest(of: watch))
            }, Unmanaged.passRetained(host).toOpaque(), release) != 0, "out of memory")
    invariant(
        unsafe dbus_connection_set_timeout_functions(
            raw,
            { timeout, context in
                guard let timeout = unsafe timeout, let loop = unsafe borrow(context)?.loop else { return 0 }
                unsafe addTimeout(timeout, to: loop)
                return 1
            },
            { timeout, context in
                guard let timeout = unsafe timeout, let loop = unsafe borrow(context)?.loop else { return }
                if let slot = unsafe timerSlot(dbus_timeout_get_data(timeout)) { loop.cancel(slot.timer) }
            },
            { timeout, context in
                guard let timeout = unsafe timeout, let loop = unsafe borrow(context)?.loop else { return }
                if let slot = unsafe timerSlot(dbus_timeout_get_data(timeout)) { loop.cancel(slot.timer) }
                unsafe addTimeout(timeout, to: loop)
            }, Unmanaged.passRetained(host).toOpaque(), release) != 0, "out of memory")
}

/// Where the watches of a connection are, and who is told of what they bring.
private final class WatchHost {
    let loop: EventLoop
    let onInput: (Int) -> Void

    init(_ loop: EventLoop, _ onInput: @escaping (Int) -> Void) {
        self.loop = loop
        self.onInput = onInput
    }
}

private func borrow(_ context: UnsafeMutableRawPointer?) -> WatchHost? {
    // SAFETY: libdbus passes back what `installWatches` gave it.
    unsafe context.map { unsafe Unmanaged<WatchHost>.fromOpaque($0).takeUnretainedValue() }
}

/// What a libdbus watch remembers: its place on the loop.
private final class WatchSlot {
    let registration: EventLoop.Registration
    init(_ registration: EventLoop.Registration) { self.registration = registration }
}

private final class TimerSlot {
    var timer: EventLoop.TimerID
    init(_ timer: EventLoop.TimerID) { self.timer = timer }
}

private func slot(_ data: UnsafeMutableRawPointer?) -> WatchSlot? {
    // SAFETY: only `addWatch` stores data in a watch.
    unsafe data.map { unsafe Unmanaged<WatchSlot>.fromOpaque($0).takeUnretainedValue() }
}

private func timerSlot(_ data: UnsafeMutableRawPointer?) -> TimerSlot? {
    // SAFETY: only `addTimeout` stores data in a timeout.
    unsafe data.map { unsafe Unmanaged<TimerSlot>.fromOpaque($0).takeUnretainedValue() }
}

private func interest(of watch: OpaquePointer) -> EventLoop.Interest {
    // SAFETY: the watch is live.
    guard unsafe dbus_watch_get_enabled(watch) != 0 else { return [] }
    let flags = unsafe dbus_watch_get_flags(watch)
    var interest: EventLoop.Interest = []
    if flags & DBUS_WATCH_READABLE.rawValue != 0 { interest.insert(.read) }
    if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { interest.insert(.write) }
    return interest
}

private func addWatch(_ watch: OpaquePointer, to host: WatchHost) -> Bool {
    // SAFETY: the watch is live.
    let descriptor = unsafe dbus_watch_get_unix_fd(watch)
    // SAFETY: libdbus removes a watch before it frees it; the loop never calls a cancelled registration.
    let handler: (EventLoop.Readiness) -> Void = { readiness in
        guard unsafe dbus_watch_get_enabled(watch) != 0 else { return }
        var flags: UInt32 = 0
        if readiness.contains(.read) {
            flags |= DBUS_WATCH_READABLE.rawValue
            host.onInput(SocketQueue.waiting(descriptor))
        }
        if readiness.contains(.write) { flags |= DBUS_WATCH_WRITABLE.rawValue }
        if readiness.contains(.hangUp) { flags |= DBUS_WATCH_HANGUP.rawValue }
        if readiness.contains(.failed) { flags |= DBUS_WATCH_ERROR.rawValue }
        invariant(unsafe dbus_watch_handle(watch, flags) != 0, "out of memory")
    }
    do throws(SystemError) {
        let registration = try unsafe host.loop.watch(descriptor, for: interest(of: watch), handler)
        unsafe dbus_watch_set_data(
            watch, Unmanaged.passRetained(WatchSlot(registration)).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<WatchSlot>.fromOpaque(data).release() } })
        return true
    } catch {
        return false
    }
}

private func addTimeout(_ timeout: OpaquePointer, to loop: EventLoop) {
    // SAFETY: libdbus removes a timeout before it frees it.
    guard unsafe dbus_timeout_get_enabled(timeout) != 0 else {
        return unsafe dbus_timeout_set_data(timeout, nil, nil)
    }
    let interval = unsafe Int64(dbus_timeout_get_interval(timeout)) * 1_000
    // A timeout fires until it is removed.
    var slot: TimerSlot?
    let timer = loop.schedule(after: interval) { [weak loop] in
        guard let loop, let timer = slot?.timer else { return }
        loop.reschedule(timer, at: Clock.monotonic.now() + interval)
        _ = unsafe dbus_timeout_handle(timeout)
    }
    let made = TimerSlot(timer)
    slot = made
    unsafe dbus_timeout_set_data(
        timeout, Unmanaged.passRetained(made).toOpaque(),
        { data in if let data = unsafe data { unsafe Unmanaged<TimerSlot>.fromOpaque(data).release() } })
}
