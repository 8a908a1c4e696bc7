extension PrivateBus {
    /// The bytes that the bus has queued for a connection and not yet written to its socket. Only dbus-daemon tells.
    package func outgoingBytes(to uniqueName: String) throws(Failure) -> UInt64 {
        let answer = try self.busctl([
            "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Debug.Stats",
            "GetConnectionStats", "s", uniqueName,
        ])
        let words = answer.stdout.split(separator: " ")
        guard let key = words.firstIndex(of: "\"OutgoingBytes\""), key + 2 < words.count,
            let bytes = UInt64(words[key + 2])
        else { throw Failure("the bus does not say what it holds for \(uniqueName): \(answer.stdout)\(answer.stderr)") }
        return bytes
    }
}
