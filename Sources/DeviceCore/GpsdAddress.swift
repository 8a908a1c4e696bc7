import Motion

/// Where a gpsd listens: an address in numbers, because a name would have to be looked up and waited for.
package struct GpsdAddress: Hashable, Sendable, CustomStringConvertible {
    package var host: String
    package var port: UInt16

    /// The port that gpsd has everywhere.
    package static let usualPort: UInt16 = 2947

    /// What stands behind `gpsd:`: nothing, `HOST`, `HOST:PORT` or `[HOST]:PORT`; `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        var host = Substring(text)
        var port: UInt16? = Self.usualPort
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let rest = host[host.index(after: end)...]
            host = host[host.index(after: host.startIndex)..<end]
            guard !host.isEmpty, rest.isEmpty || rest.hasPrefix(":") else { return nil }
            if !rest.isEmpty { port = Self.port(rest.dropFirst()) }
        } else if host.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1, let colon = host.firstIndex(of: ":") {
            port = Self.port(host[host.index(after: colon)...])
            host = host[..<colon]
        }
        guard let port else { return nil }
        self.port = port
        let isNumeric = host.utf8.allSatisfy {
            $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 6 || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":")
        }
        switch host {
        case "", "localhost": self.host = "127.0.0.1"
        case _ where isNumeric && host.utf8.count < 64: self.host = String(host)
        default: return nil
        }
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ $0 &- 0x30 <= 9 }), let port = UInt16(text), port > 0 else { return nil }
        return port
    }

    package var description: String {
        self.host.utf8.contains(UInt8(ascii: ":")) ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}
