import Glibc
import Loop

/// The socket on which the journal takes messages with fields, each in one datagram.
///
/// Spoken without systemd's library; the corresponding C function is `sd_journal_sendv`. Every value is told with its length, so
/// that nothing in it can begin another field.
struct JournalSocket {
    /// One field of a message.
    struct Field: Equatable {
        let name: String
        let value: String
    }

    private let address: UnixAddress

    /// Where the journal listens.
    static let path = "/run/systemd/journal/socket"
    /// The longest value of a field, in bytes.
    private static let longestValue = 4_096

    /// `nil` unless the journal reads what is written to the descriptor: whoever led it elsewhere is to find our words there.
    init?(behind descriptor: Int32, at path: String = Self.path, environment: (String) -> String? = environmentValue) {
        guard let stream = environment("JOURNAL_STREAM"), let address = UnixAddress(path) else { return nil }
        var status = stat()
        // SAFETY: the status is ours, and a descriptor that is closed is an error like any other.
        guard unsafe fstat(descriptor, &status) == 0, stream == "\(status.st_dev):\(status.st_ino)" else { return nil }
        self.address = address
    }

    /// Sends one message; false when the journal did not take it at once.
    func send(_ fields: [Field]) -> Bool {
        do {
            try self.address.send(Self.datagram(of: fields), waiting: false)
            return true
        } catch {
            return false
        }
    }

    /// The name, a line feed, the length in eight bytes, the least first, the value, a line feed.
    static func datagram(of fields: [Field]) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in fields {
            var value: [UInt8] = []
            appendEscaped(field.value, to: &value, limit: Self.longestValue)
            bytes += Array(field.name.utf8)
            bytes.append(UInt8(ascii: "\n"))
            bytes += stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: value.count >> $0) }
            bytes += value
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }
}
