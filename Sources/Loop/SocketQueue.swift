import CLinux

/// What is under way in a socket.
package enum SocketQueue {
    /// Bytes of memory that hold what was written to a socket and its other end has not read; 0 when the kernel does not say.
    ///
    /// The corresponding C function is `ioctl` with `SIOCOUTQ`.
    package static func unread(_ descriptor: Int32) -> Int { max(0, Int(CLinux_unread_by_peer(descriptor))) }

    /// Bytes that have come into a socket and were not read; 0 when the kernel does not say.
    ///
    /// The corresponding C function is `ioctl` with `SIOCINQ`.
    package static func waiting(_ descriptor: Int32) -> Int { max(0, Int(CLinux_unread_by_us(descriptor))) }
}
