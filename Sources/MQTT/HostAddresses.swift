import Glibc

/// The numeric addresses of a host. It may wait for a name server as long as that takes; the corresponding C function is `getaddrinfo`.
///
/// - Parameter flags: Its `AI_` flags.
package func addresses(of host: String, flags: Int32 = 0) -> [String] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = flags
    var list: UnsafeMutablePointer<addrinfo>?
    // SAFETY: the list is freed below and not used after; each address is as long as its entry says.
    guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
    defer { unsafe freeaddrinfo(list) }
    var found: [String] = []
    var next = unsafe list
    while let entry = unsafe next {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        if unsafe getnameinfo(
            entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
        {
            found.append(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        unsafe next = entry.pointee.ai_next
    }
    return found
}
