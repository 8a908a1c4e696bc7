import Glibc
import Loop
import MQTT

/// Finds the addresses of a server's name, in a process of its own.
///
/// To resolve a name waits for the network, in whatever module the system has for it, for seconds or more; no descriptor says
/// when it is done. So a child does it, and is killed when it takes too long.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class Resolution {
    /// What has this program answer with addresses instead.
    static let flag = "--resolve"

    private var child: ChildProcess?
    private var output: OwnedDescriptor?
    private var watch: EventLoop.Registration?
    private var timer: EventLoop.TimerID?
    private var text: [UInt8] = []
    private let loop: EventLoop
    private var then: (([String]) -> Void)?

    private static let patience: Int64 = 15_000_000
    private static let most = 16

    /// Tells `then` the addresses, as numbers; none when there are none.
    init(of name: String, on loop: EventLoop, then: @escaping ([String]) -> Void) {
        self.loop = loop
        self.then = then
        if Self.isNumeric(name) {
            loop.defer { [weak self] in self?.finish([name]) }
            return
        }
        do throws(SystemError) {
            var command = ChildProcess.Command("/proc/self/exe", [Self.flag, name])
            command.input = .null
            command.output = .pipe
            command.errorOutput = .null
            let child = try ChildProcess(command, on: loop)
            self.child = child
            // It was asked for, so it is there.
            guard let output = child.takeOutput() else { return }
            let raw = output.raw
            self.watch = try loop.watch(raw, for: .read) { [unowned self] _ in self.read(raw) }
            self.output = consume output
            self.timer = loop.schedule(after: Self.patience) { [unowned self] in self.finish([]) }
        } catch {
            loop.defer { [weak self] in self?.finish([]) }
        }
    }

    deinit { self.end() }

    private func end() {
        if let watch { self.loop.cancel(watch) }
        if let timer { self.loop.cancel(timer) }
        try? self.child?.send(SIGKILL)
        (self.watch, self.timer, self.child) = (nil, nil, nil)
        self.output = nil
    }

    private func finish(_ addresses: [String]) {
        self.end()
        self.then.take()?(addresses)
    }

    private func read(_ raw: Int32) {
        var piece = [UInt8](repeating: 0, count: 4_096)
        // SAFETY: the kernel writes at most as many bytes as there are.
        let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(raw, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? () : self.finish([]) }
        self.text += piece.prefix(count)
        guard count == 0 || self.text.count > 4_096 else { return }
        let lines = String(decoding: self.text, as: UTF8.self).split(separator: "\n").map(String.init)
        self.finish(Array(lines.filter(Self.isNumeric).prefix(Self.most)))
    }

    private static func isNumeric(_ text: String) -> Bool {
        var address = in6_addr()
        let plain = text.split(separator: "%").first.map(String.init) ?? text
        // SAFETY: the larger of the two addresses; the text lives for the call.
        return unsafe inet_pton(AF_INET, plain, &address) == 1 || inet_pton(AF_INET6, plain, &address) == 1
    }

    /// What the child does: prints the addresses of a name, one a line, and ends.
    static func answer(_ name: String) -> Never {
        let found = addresses(of: name, flags: AI_ADDRCONFIG)
        for address in found { print(address) }
        // What was printed goes out with this.
        exit(found.isEmpty ? 1 : 0)
    }
}
