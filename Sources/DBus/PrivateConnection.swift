import CDBus
import Loop
import Motion

/// A connection of libdbus that is ours alone: what goes through it as bytes, and nothing of what that means.
@safe
struct PrivateConnection {
    private let raw: OpaquePointer

    /// Bytes of messages that may wait in memory for us to read them. libdbus stops reading the socket beyond it.
    private static let receiveLimit = 8 << 20

    init(to address: String) throws(BusError) {
        // SAFETY: libdbus validates the address.
        let opened = try unsafe withDBusError { unsafe dbus_connection_open_private(address, $0) }
        guard let raw = unsafe opened else { throw .failed("cannot open \(address)") }
        unsafe self.raw = raw
    }

    func isSame(as other: PrivateConnection?) -> Bool { unsafe self.raw == other?.raw }

    // MARK: Life

    /// Hands each message to `filter`, and has `hasStatus` told when there are some.
    func install(
        _ filter: DBusHandleMessageFunction, hasStatus: DBusDispatchStatusFunction, _ context: UnsafeMutableRawPointer,
        on loop: EventLoop, onInput: @escaping (Int) -> Void
    ) {
        // SAFETY: the connection is open. The functions run on this thread, until `end` takes them back.
        unsafe dbus_connection_set_exit_on_disconnect(self.raw, 0)
        unsafe dbus_connection_set_max_received_size(self.raw, Self.receiveLimit)
        unsafe dbus_connection_set_max_received_unix_fds(self.raw, 64)
        // A Ping is a call like others: answered by libdbus, a flood of them would come before whatever we send.
        unsafe dbus_connection_set_route_peer_messages(self.raw, 1)
        unsafe installWatches(on: self.raw, loop, onInput: onInput)
        invariant(unsafe dbus_connection_add_filter(self.raw, filter, context, nil) != 0, "out of memory")
        unsafe dbus_connection_set_dispatch_status_function(self.raw, hasStatus, context, nil)
    }

    /// Closes it, after which nothing of it may be used. What was installed is told nothing more.
    func end(_ filter: DBusHandleMessageFunction, _ context: UnsafeMutableRawPointer) {
        // SAFETY: the functions must not outlive whom they tell. A private connection is closed before its last reference goes, or
        // libdbus aborts; closing takes the watches and timeouts off the loop.
        unsafe dbus_connection_set_dispatch_status_function(self.raw, nil, nil, nil)
        unsafe dbus_connection_remove_filter(self.raw, filter, context)
        self.close()
    }

    /// Closes one in which nothing is installed.
    func close() {
        // SAFETY: as above; what was not set is taken back without effect.
        unsafe dbus_connection_close(self.raw)
        unsafe dbus_connection_set_watch_functions(self.raw, nil, nil, nil, nil, nil)
        unsafe dbus_connection_set_timeout_functions(self.raw, nil, nil, nil, nil, nil)
        unsafe dbus_connection_unref(self.raw)
    }

    /// - Parameter name: as the bus gave it to us.
    func setUniqueName(_ name: String) {
        // SAFETY: the name comes from the bus and is valid.
        unsafe dbus_bus_set_unique_name(self.raw, name)
    }

    // MARK: Out

    func send(_ message: borrowing Message) -> UInt32 {
        var serial: UInt32 = 0
        // SAFETY: libdbus takes a reference of its own. It fails only when memory is out.
        invariant(unsafe dbus_connection_send(self.raw, message.raw, &serial) != 0, "out of memory")
        return serial
    }

    /// Bytes that the bus has not taken yet.
    var backlog: Int {
        // SAFETY: the connection is open.
        unsafe dbus_connection_get_outgoing_size(self.raw)
    }

    /// Writes out what waits to be sent, for so many microseconds at most. Nothing is dispatched.
    func flush(for limit: Int64) {
        let deadline = Clock.monotonic.now() + limit
        // SAFETY: the connection is open.
        while unsafe dbus_connection_has_messages_to_send(self.raw) != 0, Clock.monotonic.now() < deadline {
            guard unsafe dbus_connection_read_write(self.raw, 100) != 0 else { return }
        }
    }

    // MARK: In

    /// Takes in what is there, and does not wait.
    func read() {
        // SAFETY: the connection is open.
        _ = unsafe dbus_connection_read_write(self.raw, 0)
    }

    /// Handles so many messages at most. Tells whether more remain.
    ///
    /// - Parameter isOpen: asked before each: a handler may close the connection.
    func dispatch(atMost count: Int, while isOpen: () -> Bool) -> Bool {
        // SAFETY: our reference keeps the memory until we are done.
        unsafe dbus_connection_ref(self.raw)
        defer { unsafe dbus_connection_unref(self.raw) }
        for _ in 0..<count {
            guard isOpen() else { return false }
            let status = unsafe dbus_connection_dispatch(self.raw)
            invariant(status != DBUS_DISPATCH_NEED_MEMORY, "out of memory")
            guard status == DBUS_DISPATCH_DATA_REMAINS else { return false }
        }
        return true
    }

    var descriptor: Int32? {
        var descriptor: Int32 = -1
        // SAFETY: the connection is open, and the descriptor stays its own.
        return unsafe dbus_connection_get_unix_fd(self.raw, &descriptor) != 0 ? descriptor : nil
    }
}
