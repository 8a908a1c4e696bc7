import CDBus

extension Message {
    /// Reads bytes as libdbus reads a message from a socket, and then all that is in it; for fuzzing.
    package static func readAnything(_ bytes: [UInt8]) {
        // SAFETY: libdbus validates the bytes and keeps nothing of them.
        let raw = unsafe bytes.withUnsafeBytes { buffer in
            unsafe dbus_message_demarshal(
                buffer.bindMemory(to: CChar.self).baseAddress, Int32(clamping: buffer.count), nil)
        }
        guard let raw = unsafe raw else { return }
        let message = unsafe Message(adopting: raw)
        _ = try? message.readValues()
        _ = try? message.read(String.self, [String: Value].self)
        _ = try? message.read([Structure<String, [String: Value]>].self)
        _ = try? message.read(Structure<UInt64, [UInt64], [Double]>.self)
        _ = (message.sender, message.path, message.interface, message.member, message.errorName, message.errorText)
    }
}
