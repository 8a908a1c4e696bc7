import Glibc
import Loop

/// Takes everything out of a descriptor that does not wait.
func drain(_ descriptor: Int32) -> String {
    var result: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return String(decoding: result, as: UTF8.self) }
        result += bytes[..<count]
    }
}

/// The end of a datagram socket that a service manager or a journal listens on.
struct Listener: ~Copyable {
    let socket: OwnedDescriptor
    let address: String
    private let directory: String?

    init(isAbstract: Bool) throws {
        var address: String
        var bytes: [UInt8]
        var directory: String?
        if isAbstract {
            // Unlike any other in this or another run of the tests.
            address = "@jostle-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
            bytes = [0] + address.utf8.dropFirst()
        } else {
            var template = Array("/tmp/jostle-test-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
            directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            address = (directory ?? "") + "/notify"
            bytes = Array(address.utf8) + [0]
        }
        let raw = try systemCall("socket") {
            Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        try systemCall("bind") {
            withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(raw, $0, length) }
            }
        }
        self.socket = OwnedDescriptor(adopting: raw)
        self.address = address
        self.directory = directory
    }

    /// The next message, or `nil` when there is none.
    func receive() -> String? { self.receiveBytes().map { String(decoding: $0, as: UTF8.self) } }

    func receiveBytes() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.socket.raw, &bytes, bytes.count, 0)
        return count < 0 ? nil : Array(bytes[..<count])
    }

    deinit {
        if let directory {
            unlink(self.address)
            rmdir(directory)
        }
    }
}
