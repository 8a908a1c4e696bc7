import CLinux

extension EventLoop {
    /// Runs `handler` with the number of each of `signals` that arrives. A signal has one handler; the last one given counts.
    ///
    /// Blocks the signals in the calling thread's mask, where they stay blocked after the loop is gone. A program with
    /// other threads blocks them before it starts those, or they go to a thread that does not block them. Several arrivals
    /// of one signal before it is read count as one, as signals do. Signals that cannot be caught are never told.
    ///
    /// The corresponding C functions are `pthread_sigmask` and `signalfd`.
    package func onSignals(_ signals: [Int32], _ handler: @escaping (Int32) -> Void) throws(SystemError) {
        try blockSignals(signals)
        let mask = (self.signals?.mask ?? 0) | signalMask(signals)
        if let watch = self.signals {
            try systemCall("signalfd") { CLinux_signalfd(watch.raw, mask) }
            watch.mask = mask
        } else {
            let watch = try SignalWatch(mask)
            try Self.control(self.epoll.raw, CLinux_EPOLL_CTL_ADD, watch.raw, .read, .own(watch.raw))
            self.signals = watch
        }
        for signal in signals { _ = self.signals?.handlers.updateValue(handler, forKey: signal) }
    }

    /// Reads what signals have arrived and runs their handlers.
    func readSignals() throws(SystemError) -> Bool {
        guard let watch = self.signals else { return false }
        var didWork = false
        // Bounded, so that a flood of signals leaves room for the rest of the round.
        for _ in 0..<Self.batch {
            let signal = try systemCall("read") { CLinux_signalfd_read(watch.raw) }
            guard signal > 0 else { break }
            guard let handler = watch.handlers[signal] else { continue }
            handler(signal)
            didWork = true
        }
        return didWork
    }
}

/// Blocks signals in the calling thread and in the threads and loops it starts from here on.
///
/// The first thing a daemon does: what arrives before its loop runs then waits for `onSignals` and is not lost.
/// The corresponding C function is `pthread_sigmask`.
package func blockSignals(_ signals: [Int32]) throws(SystemError) {
    let mask = signalMask(signals)
    try systemCall("pthread_sigmask") { CLinux_block_signals(mask) }
}

/// Whether one of `signals`, which this thread blocks, has arrived and was not read yet: for whoever waits outside of the loop.
///
/// The corresponding C function is `sigpending`.
package func isPending(_ signals: [Int32]) -> Bool { CLinux_is_pending(signalMask(signals)) != 0 }

/// Has a signal that this thread blocks, as `onSignals` has it, do what it does where nobody asks to be told of it.
///
/// What stops programs does so until somebody has this one go on; where nobody could, as in a session without a shell, it does nothing.
/// The corresponding C functions are `pthread_sigmask` and `raise`.
package func raiseUnblocked(_ signal: Int32) throws(SystemError) {
    try systemCall("pthread_sigmask") { CLinux_raise_unblocked(signal) }
}

/// Has a call in which the program is stopped fail with EINTR when it is to go on: the kernel would make it again, and whoever stopped
/// it there would do so again, whatever else was said to it meanwhile. The corresponding C function is `sigaction`.
package func interruptAtContinuing() { CLinux_interrupt_at_continuing() }

/// Whether whoever started the program has it ignore a signal. The corresponding C function is `sigaction`.
package func isIgnored(_ signal: Int32) -> Bool { CLinux_is_ignored(signal) != 0 }

/// A set of signals as CLinux takes it: bit n - 1 for signal n.
private func signalMask(_ signals: [Int32]) -> UInt64 {
    var mask: UInt64 = 0
    for signal in signals {
        invariant((1...64).contains(signal), "there is no signal \(signal)")
        mask |= 1 << UInt64(signal - 1)
    }
    return mask
}

/// The signalfd of a loop and what to run for each signal.
final class SignalWatch {
    var mask: UInt64
    var handlers: [Int32: (Int32) -> Void] = [:]
    private let descriptor: OwnedDescriptor

    init(_ mask: UInt64) throws(SystemError) {
        self.mask = mask
        self.descriptor = OwnedDescriptor(adopting: try systemCall("signalfd") { CLinux_signalfd(-1, mask) })
    }

    var raw: Int32 { self.descriptor.raw }
}
