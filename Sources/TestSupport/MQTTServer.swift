import Glibc

/// A real mosquitto of a test's own, on a port of the loopback, in a directory that goes with it.
///
/// Not `Sendable`: one test, one thread.
package final class MQTTServer {
    /// What it lets clients have on their way, less than it would by itself, so that going beyond it shows.
    package static let receiveMaximum: UInt16 = 20

    package let port: UInt16
    package let directory: String
    package let isSecure: Bool
    /// Holds the directory.
    private let keeper: TetheredProcess
    private var process: TetheredProcess

    /// Starts a server, and returns when clients can connect.
    ///
    /// - Parameters:
    ///   - isSecure: Only clients with a certificate of `authority` are taken, under the name that stands in it.
    ///   - lines: What its configuration says besides.
    package init(isSecure: Bool = false, lines: [String] = []) throws(Failure) {
        let directory = try Self.makeDirectory()
        let keeper = try TetheredProcess([], removing: directory)
        if isSecure { try Self.makeCertificates(in: directory) }
        let port = try Self.freePort()
        var all = [
            "user root", "log_dest stderr", "log_type error", "log_type warning", "log_type information",
            "max_inflight_messages \(Self.receiveMaximum)", "persistence_location \(directory)/",
            "listener \(port) 127.0.0.1", "allow_anonymous \(!isSecure)",
        ]
        if isSecure {
            all += [
                "cafile \(directory)/authority.crt", "certfile \(directory)/server.crt",
                "keyfile \(directory)/server.key",
                "require_certificate true", "use_identity_as_username true",
            ]
        }
        try Self.write((all + lines).joined(separator: "\n") + "\n", to: "\(directory)/mosquitto.conf")
        self.process = try Self.start(directory)
        (self.port, self.directory, self.isSecure, self.keeper) = (port, directory, isSecure, keeper)
    }

    deinit {
        self.process.release()
        self.keeper.release()
    }

    private static func start(_ directory: String) throws(Failure) -> TetheredProcess {
        let process = try TetheredProcess(["/usr/sbin/mosquitto", "-c", "\(directory)/mosquitto.conf"])
        let isReady = try process.wait(.seconds(30)) {
            process.errors.text.contains(" running\n") || process.end != nil
        }
        guard isReady, process.end == nil else { throw Failure("mosquitto is not ready: \(process.errors.text)") }
        return process
    }

    package var pid: Int32 { self.process.pid }
    /// What it wrote to its log since its last start.
    package var log: String { self.process.errors.text }

    // MARK: What happens to it

    /// Ends it as only the kernel can. Its port stays its own.
    package func kill() throws(Failure) {
        try self.process.signal(SIGKILL)
        _ = try self.process.waitForEnd(.seconds(20))
    }

    /// Ends it in order: what it is to remember it writes down.
    package func end() throws(Failure) {
        try self.process.signal(SIGTERM)
        _ = try self.process.waitForEnd(.seconds(60))
    }

    /// Starts it again after `kill` or `end`, with what it has on the disk.
    package func restart() throws(Failure) { self.process = try Self.start(self.directory) }

    /// Has it do nothing, with all connections open, until `goOn`.
    package func stop() throws(Failure) {
        try self.process.signal(SIGSTOP)
        // The signal goes by way of the tether.
        while try !Tool.run(["cat", "/proc/\(self.pid)/stat"]).stdout.contains(") T ") {}
    }

    package func goOn() throws(Failure) { try self.process.signal(SIGCONT) }

    /// Has it read anew who may say what.
    package func reload() throws(Failure) {
        try self.process.signal(SIGHUP)
        let isRead = try self.process.wait(.seconds(20)) { self.log.contains("Reloading config") }
        guard isRead else { throw Failure("mosquitto does not read its lists anew: \(self.log)") }
    }

    // MARK: Certificates

    /// The certificate of the authority; of a client by its name, which is made when it is asked for; and its key.
    package var authority: String { "\(self.directory)/authority.crt" }
    package func certificate(of client: String) -> String { "\(self.directory)/\(client).crt" }
    package func key(of client: String) -> String { "\(self.directory)/\(client).key" }

    /// Makes the certificate of a client.
    package func certify(_ client: String) throws(Failure) {
        try Self.certify(client, "subjectAltName=DNS:\(client)", in: self.directory)
    }

    private static func makeCertificates(in directory: String) throws(Failure) {
        try self.run(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=authority "
                + "-keyout \(directory)/authority.key -out \(directory)/authority.crt")
        try self.certify("server", "subjectAltName=DNS:localhost", in: directory)
        try self.certify("device", "subjectAltName=DNS:device", in: directory)
    }

    private static func certify(_ name: String, _ extensions: String, in directory: String) throws(Failure) {
        try self.run(
            """
            cd \(directory) && openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(name) \
            -keyout \(name).key -out \(name).csr && printf '%s' '\(extensions)' > \(name).ext && \
            openssl x509 -req -in \(name).csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 30 \
            -extfile \(name).ext -out \(name).crt
            """)
    }

    private static func run(_ command: String) throws(Failure) {
        let result = try Tool.run(["sh", "-c", command])
        guard result.status == 0 else { throw Failure("\(command): \(result.stderr)") }
    }

    // MARK: Places

    private static func makeDirectory() throws(Failure) -> String {
        // In memory, where there is such a place: a server that keeps each message is as slow as the disk of a busy machine.
        // SAFETY: the path lives for the call.
        let place = unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(place)/jostle-mqtt-XXXXXX\0".utf8CString.dropLast())
        // SAFETY: the array is the terminated template that mkdtemp writes into.
        guard unsafe mkdtemp(&template) != nil else { throw .system("mkdtemp") }
        return String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A port that nobody has now. Who takes it meanwhile makes the server say so, and the test fail.
    private static func freePort() throws(Failure) -> UInt16 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw .system("socket") }
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: the address is ours, and as large as is said.
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(socket, $0, size) | getsockname(socket, $0, &size)
            }
        }
        guard result == 0 else { throw .system("bind") }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func write(_ text: String, to path: String) throws(Failure) {
        // SAFETY: the strings live for the calls.
        guard let file = unsafe fopen(path, "w") else { throw .system("open \(path)") }
        unsafe fputs(text, file)
        guard unsafe fclose(file) == 0 else { throw .system("write \(path)") }
    }
}
