import CLinux

/// Who has the other end of a socket.
package enum SocketPeer {
    /// Whose it is; `nil` when the kernel does not say, as of what is no Unix socket. Of a server it is whose that was when it began
    /// to listen.
    ///
    /// The corresponding C function is `getsockopt` with `SO_PEERCRED`.
    package static func user(of descriptor: Int32) -> UInt32? { UInt32(exactly: CLinux_peer_user(descriptor)) }
}
