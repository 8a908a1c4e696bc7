import BusGrammar
import Glibc

/// A connection to the bus that says byte by byte what it is told to.
final class Peer {
    let socket: Int32
    private(set) var unique = ""
    private(set) var isClosed = false
    /// What was not taken yet, and how much of it was.
    private var waiting: [(bytes: [UInt8], descriptors: Int)] = []
    private var written = 0
    private var came: [UInt8] = []
    private var taken = 0
    private var serial: UInt32 = 0

    /// How many bytes wait to be taken.
    private(set) var backlog = 0

    init(_ address: String) {
        let prefix = "unix:path="
        let path = String(address.dropFirst(prefix.count).prefix { $0 != "," && $0 != ";" })
        self.socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        guard address.hasPrefix(prefix), path.utf8.count < 100 else { fail("no address of a bus here: \(address)") }
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        // SAFETY: the name is a socket's address of that size.
        let result = unsafe withUnsafePointer(to: &name) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(self.socket, $0, size) }
        }
        guard result == 0 else { fail("cannot connect: errno \(errno)") }
        self.shakeHands()
        _ = fcntl(self.socket, F_SETFL, O_NONBLOCK)
        let hello = self.queue(
            .call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"))
        let answer = self.answer(to: hello, within: 10_000)
        guard let (head, body) = answer, head.kind == 2, let length = wireNumber(UInt32.self, at: 0, of: body) else {
            fail("no answer to Hello")
        }
        self.unique = String(decoding: body.dropFirst(4).prefix(Int(length)), as: UTF8.self)
    }

    deinit { self.end() }

    func end() {
        guard !self.isClosed else { return }
        self.isClosed = true
        close(self.socket)
    }

    private func shakeHands() {
        let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        for (said, expected) in [
            ("\0AUTH EXTERNAL \(user)\r\n", "OK"), ("NEGOTIATE_UNIX_FD\r\n", "AGREE"), ("BEGIN\r\n", ""),
        ] {
            let bytes = Array(said.utf8)
            guard unsafe Glibc.send(self.socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
                fail("the bus hung up")
            }
            guard !expected.isEmpty else { return }
            var line: [UInt8] = []
            while line.last != 0x0A {
                var byte: UInt8 = 0
                guard unsafe recv(self.socket, &byte, 1, 0) == 1, line.count < 512 else { fail("no handshake") }
                line.append(byte)
            }
            guard line.starts(with: Array(expected.utf8)) else {
                fail("handshake: \(String(decoding: line, as: UTF8.self))")
            }
        }
    }

    // MARK: Sending

    /// Hands a message in, and returns its serial.
    @discardableResult
    func queue(_ message: BusMessage) -> UInt32 {
        self.serial &+= 1
        let bytes = message.bytes(serial: self.serial)
        self.waiting.append((bytes, message.descriptors))
        self.backlog += bytes.count
        return self.serial
    }

    /// Lets the bus take what it takes.
    func write() {
        while let next = self.waiting.first, !self.isClosed {
            let count = self.send(next.bytes[self.written...], next.descriptors)
            guard count >= 0 else {
                if errno != EAGAIN, errno != EINTR { self.end() }
                return
            }
            self.written += count
            self.backlog -= count
            if self.written == next.bytes.count {
                self.waiting.removeFirst()
                self.written = 0
            }
        }
    }

    /// Descriptors go with the first byte of their message.
    private func send(_ bytes: ArraySlice<UInt8>, _ descriptors: Int) -> Int {
        let sent = self.written == 0 ? descriptors : 0
        // SAFETY: all that the call reads lives until it returns; a control message is a head of 16 bytes and the numbers behind it.
        return unsafe bytes.withUnsafeBytes { buffer in
            var part = unsafe iovec(
                iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
            var control = [UInt32](repeating: 0, count: 4 + sent + sent % 2)
            control[0] = UInt32(16 + 4 * sent)
            (control[2], control[3]) = (UInt32(SOL_SOCKET), UInt32(0x01))
            for index in 0..<sent { control[4 + index] = UInt32(bitPattern: Self.devNull) }
            return unsafe withUnsafeMutablePointer(to: &part) { part in
                unsafe control.withUnsafeMutableBytes { control in
                    var message = unsafe msghdr()
                    unsafe (message.msg_iov, message.msg_iovlen) = (part, 1)
                    if sent > 0 {
                        unsafe (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
                    }
                    return unsafe sendmsg(self.socket, &message, Int32(MSG_NOSIGNAL))
                }
            }
        }
    }

    private static let devNull = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)

    // MARK: Receiving

    /// Takes in what has come; descriptors that come with it are closed.
    func read() {
        while !self.isClosed {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            var control = [UInt64](repeating: 0, count: 64)
            // SAFETY: as in `send`.
            let (count, got) = unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe control.withUnsafeMutableBytes { control in
                    var part = unsafe iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
                    return unsafe withUnsafeMutablePointer(to: &part) { part in
                        var message = unsafe msghdr()
                        unsafe (message.msg_iov, message.msg_iovlen) = (part, 1)
                        unsafe (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
                        let count = unsafe recvmsg(self.socket, &message, Int32(MSG_CMSG_CLOEXEC))
                        return (count, unsafe Int(message.msg_controllen))
                    }
                }
            }
            if count > 0, got >= 16 { self.drop(control, got) }
            guard count > 0 else {
                if count == 0 || (errno != EAGAIN && errno != EINTR) { self.end() }
                return
            }
            self.came += buffer[..<count]
            if count < buffer.count { return }
        }
    }

    /// Closes what came in control messages.
    private func drop(_ control: [UInt64], _ size: Int) {
        var place = 0
        while place + 16 <= size {
            let length = Int(control[place / 8])
            guard length >= 16, place + length <= size else { return }
            for index in 0..<(length - 16) / 4 {
                let word = control[(place + 16 + index * 4) / 8]
                close(Int32(truncatingIfNeeded: index.isMultiple(of: 2) ? word : word >> 32))
            }
            place += (length + 7) & ~7
        }
    }

    /// The next message that is there.
    func next() -> (ReceivedHead, ArraySlice<UInt8>)? {
        guard self.came.count - self.taken >= 16, let head = ReceivedHead(self.came[self.taken...]) else {
            self.came.removeFirst(self.taken)
            self.taken = 0
            return nil
        }
        let body = self.came[(self.taken + head.body)..<(self.taken + head.size)]
        self.taken += head.size
        return (head, body)
    }

    /// Waits for one answer, and drops what else comes.
    func answer(to serial: UInt32, within milliseconds: Int) -> (ReceivedHead, ArraySlice<UInt8>)? {
        let end = now() + Int64(milliseconds) * 1_000
        while now() < end, !self.isClosed {
            self.write()
            self.read()
            while let (head, body) = self.next() {
                if head.kind == 2 || head.kind == 3, head.answers == serial { return (head, body) }
            }
            var polled = pollfd(fd: self.socket, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&polled, 1, 10)
        }
        return nil
    }
}

/// The monotonic clock, in microseconds.
func now() -> Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}

func fail(_ message: String) -> Never {
    print("problem \(message)")
    fflush(nil)
    exit(1)
}
