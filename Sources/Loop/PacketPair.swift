import Glibc

/// Two connected sockets that carry packets whole and in order, close-on-exec. Both wait unless a call says otherwise.
package struct PacketPair: ~Copyable, Sendable {
    /// The end that we keep.
    package let own: OwnedDescriptor
    /// The end that somebody else gets.
    package let given: OwnedDescriptor

    /// Makes a pair.
    ///
    /// - Parameter room: about how many bytes that we sent may wait to be read, the kernel's own counted with them.
    ///
    /// The corresponding C function is `socketpair` with `SOCK_SEQPACKET`.
    package init(room: Int) throws(SystemError) {
        let kind = Int32(bitPattern: SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        var ends: (Int32, Int32) = (-1, -1)
        try systemCall("socketpair") {
            // SAFETY: a tuple of two Int32 is laid out as an array of two ints.
            unsafe withUnsafeMutablePointer(to: &ends) { pointer in
                unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) {
                    unsafe socketpair(AF_UNIX, kind, 0, $0)
                }
            }
        }
        let own = OwnedDescriptor(adopting: ends.0)
        let given = OwnedDescriptor(adopting: ends.1)
        // The kernel doubles it, and keeps to its own limit without a word.
        var half = Int32(clamping: room / 2)
        try systemCall("setsockopt") {
            // SAFETY: the kernel reads four bytes of a variable that outlives the call.
            unsafe setsockopt(ends.0, SOL_SOCKET, SO_SNDBUF, &half, socklen_t(MemoryLayout<Int32>.size))
        }
        self.own = own
        self.given = given
    }

    /// Gives the ends to different owners.
    package consuming func split<Result>(
        _ body: (_ own: consuming OwnedDescriptor, _ given: consuming OwnedDescriptor) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        try body(self.own, self.given)
    }
}

extension OwnedDescriptor {
    /// Sends one packet, if there is room for it now.
    ///
    /// - Returns: false when there is none.
    ///
    /// The corresponding C function is `send`.
    package borrowing func send(packet: Span<UInt64>) throws(SystemError) -> Bool {
        let raw = self.raw
        do throws(SystemError) {
            try systemCall("send") {
                unsafe packet.withUnsafeBytes { bytes in
                    // SAFETY: the kernel reads `bytes.count` bytes of memory that is lent for the call.
                    unsafe Glibc.send(raw, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                }
            }
            return true
        } catch {
            // The kernel being out of memory passes as well as a full buffer does.
            guard [EAGAIN, ENOBUFS, ENOMEM].contains(error.code) else { throw error }
            return false
        }
    }

    /// Takes one packet, if there is one, into the front of `words`.
    ///
    /// - Returns: how many bytes the packet had, which may be more than there is room for; 0 at the end, or for a packet
    ///   without content; `nil` when there is none.
    ///
    /// The corresponding C function is `recv`.
    package borrowing func receive(packet words: inout [UInt64]) throws(SystemError) -> Int? {
        let raw = self.raw
        do throws(SystemError) {
            return try systemCall("recv") {
                unsafe words.withUnsafeMutableBytes { bytes in
                    // SAFETY: the kernel writes at most `bytes.count` bytes at its base.
                    unsafe recv(raw, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_TRUNC))
                }
            }
        } catch {
            guard error.code == EAGAIN else { throw error }
            return nil
        }
    }
}
