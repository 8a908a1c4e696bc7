import DBus
import Loop
import Protocol

/// Our end of a stream of samples from the reader.
final class SampleStream {
    /// The number by which the reader tells what changes about it.
    let number: UInt64
    private let channels: Int
    private let loop: EventLoop
    private let end: OwnedDescriptor
    private var watch: EventLoop.Registration?
    private var packet = StreamPacket()

    /// Takes the samples of one packet.
    var onSamples: (_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Void = { _, _, _ in }
    /// The reader does not go on with it, or says what makes no sense.
    var onEnd: () -> Void = {}

    /// Packets read at one time: others want their turn, too.
    private static let batch = 16
    /// More packets than the reader's socket holds.
    private static let most = 1_024

    init(
        _ number: UInt64, _ end: consuming OwnedDescriptor, channels: Int, on loop: EventLoop
    ) throws(SystemError) {
        self.number = number
        self.channels = channels
        self.loop = loop
        self.end = end
        self.watch = try loop.watch(self.end.raw, for: .read) { [weak self] _ in self?.read() }
    }

    deinit {
        if let watch { self.loop.cancel(watch) }
    }

    /// Takes what has come, as far as others are not kept waiting for it.
    private func read() { self.read(atMost: Self.batch) }

    /// Takes all that has come, and hears nothing any more: another claim is in its place, whose numbers begin anew and would not
    /// show what was left here.
    func drain() {
        self.read(atMost: Self.most)
        self.close()
    }

    private func read(atMost packets: Int) {
        for _ in 0..<packets {
            // Whoever took samples may have let go of us.
            guard self.watch != nil else { return }
            let count: Int?
            do throws(SystemError) {
                count = try self.end.receive(packet: &self.packet.words)
            } catch {
                return self.finish()
            }
            guard let count else { return }
            // What is missing shows in the numbers of what comes: a gap needs no word besides.
            guard let header = self.packet.decode(bytes: count, channels: self.channels) else { return self.finish() }
            if header.kind == .samples {
                self.packet.lend { times, values in self.onSamples(header.sequence, times, values) }
            }
        }
    }

    /// Hears nothing any more.
    func close() {
        self.loop.cancel(&self.watch)
    }

    private func finish() {
        self.close()
        self.onEnd()
    }
}
