import CLinux
import Glibc

extension EventLoop {
    /// Runs `handler` whenever the descriptor is ready for what `interest` names, as long as it stays so.
    ///
    /// The descriptor is borrowed: the caller cancels before it closes it. A descriptor may be watched several times; its
    /// watches are told in order of registration. A regular file, which epoll refuses, counts as always ready.
    /// The corresponding C function is `epoll_ctl`.
    package func watch(
        _ descriptor: Int32, for interest: Interest, _ handler: @escaping (Readiness) -> Void
    ) throws(SystemError) -> Registration {
        invariant(descriptor >= 0, "a descriptor cannot be \(descriptor)")
        let before = self.table.kernelInterest(in: descriptor)
        let (registration, change) = self.table.add(descriptor, for: interest, handler)
        do {
            try self.perform(change, on: descriptor)
        } catch {
            self.table.revert(descriptor, to: before)
            // Without the watch the table wants what the kernel still holds: there is nothing to perform.
            _ = self.table.remove(registration)
            throw error
        }
        if self.table.hasAlwaysReadyWork { self.ringIfNested() }
        return registration
    }

    /// Replaces what a watch waits for. Does nothing when the watch is cancelled.
    package func update(_ registration: Registration, for interest: Interest) throws(SystemError) {
        guard let old = self.table.interest(of: registration), old.interest != interest else { return }
        let before = self.table.kernelInterest(in: old.descriptor)
        let change = self.table.update(registration, for: interest)
        do {
            try self.perform(change, on: old.descriptor)
        } catch {
            self.table.revert(old.descriptor, to: before)
            _ = self.table.update(registration, for: old.interest)
            throw error
        }
        if self.table.hasAlwaysReadyWork { self.ringIfNested() }
    }

    /// Ends a watch. Its handler does not run again, not even for events that were fetched already.
    package func cancel(_ registration: Registration) {
        guard let removed = self.table.remove(registration) else { return }
        do {
            try self.perform(removed.change, on: removed.descriptor)
        } catch {
            // Only a descriptor that was closed before its watch was cancelled can fail here.
            invariant(false, "\(error) while descriptor \(removed.descriptor) was cancelled")
        }
    }

    /// Ends somebody's watch, if there is one.
    package func cancel(_ registration: inout Registration?) {
        if let registration { self.cancel(registration) }
        registration = nil
    }

    /// Tells the kernel of a change to a descriptor's interest.
    private func perform(_ change: WatchTable.Change, on descriptor: Int32) throws(SystemError) {
        let token = self.table.token(of: descriptor)
        switch change {
        case .none:
            return
        case .add(let interest):
            do {
                try Self.control(self.epoll.raw, CLinux_EPOLL_CTL_ADD, descriptor, interest, token)
            } catch {
                guard error.code == EPERM else { throw error }
                self.table.markAlwaysReady(descriptor)
            }
        case .modify(let interest):
            try Self.control(self.epoll.raw, CLinux_EPOLL_CTL_MOD, descriptor, interest, token)
        case .remove:
            try Self.control(self.epoll.raw, CLinux_EPOLL_CTL_DEL, descriptor, [], token)
        }
    }

    static func control(
        _ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ interest: Interest, _ token: WatchTable.Token
    ) throws(SystemError) {
        var events: UInt32 = 0
        if interest.contains(.read) { events |= CLinux_EPOLLIN }
        if interest.contains(.write) { events |= CLinux_EPOLLOUT }
        try systemCall("epoll_ctl") { CLinux_epoll_ctl(epoll, operation, descriptor, events, token.bits) }
    }
}
