import Glibc
import Loop

/// A display's name as a broker takes it of a source: at most 56 bytes of letters, digits and `:._-`.
func sourceName(_ text: String) -> String {
    let bytes = text.utf8.prefix(56).map { byte in
        let isPlain =
            (0x30...0x3A).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2E || byte == 0x5F
            || byte == 0x2D
        return isPlain ? byte : UInt8(ascii: "_")
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// A stream to whoever listens at a path. Nothing waits: where nobody takes connections, there is none.
///
/// The corresponding C functions are `socket` and `connect`.
func connectedSocket(_ path: String) throws(SystemError) -> OwnedDescriptor {
    let socket = OwnedDescriptor(
        adopting: try systemCall("socket") {
            Glibc.socket(
                AF_UNIX,
                Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        })
    var address = sockaddr_un()
    let bytes = Array(path.utf8) + [0]
    guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else {
        throw SystemError(code: ENAMETOOLONG, function: "connect")
    }
    address.sun_family = sa_family_t(AF_UNIX)
    // SAFETY: the path has room for the bytes, as was checked.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let raw = socket.raw
    try systemCall("connect") {
        // SAFETY: the address is ours for the time of the call, and its size is passed along.
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
    return socket
}
