import DBus
import Loop
import Motion
import Protocol
import SensorCore

/// Our end of a stream of samples: packets out, as many as fit, and requests for all that waits in.
///
/// What the socket cannot take waits in a `StreamQueue`. The other side never makes us wait.
final class SampleStream {
    /// How many bytes may wait in the socket to be read, the kernel's own counted with them: two packets at least.
    private static let socket = 128 << 10
    /// How many wait here besides.
    private static let kept = 128 << 10
    /// How many may wait to be read.
    static let room = socket + kept

    /// The stream's number, by which its claim is told from others of the same connection.
    let number: UInt64
    /// The reader wants all that waits: send it, then call `caughtUp`.
    var onRequest: () -> Void = {}
    /// Some of what waited went out.
    var onSent: (_ samples: Int) -> Void = { _ in }
    /// Nobody reads any more.
    var onEnd: () -> Void = {}

    private let loop: EventLoop
    private let end: OwnedDescriptor
    private var watch: EventLoop.Registration?
    private var queue: StreamQueue
    private var words: [UInt64] = []
    private var request = [UInt64](repeating: 0, count: 2)
    private(set) var hasEnded = false

    private init(_ number: UInt64, _ end: consuming OwnedDescriptor, channels: Int, on loop: EventLoop) {
        self.number = number
        self.end = end
        self.queue = StreamQueue(channels: channels, rows: StreamCodec.rows(channels: channels), bytes: Self.kept)
        self.loop = loop
    }

    deinit {
        if let watch { self.loop.cancel(watch) }
    }

    /// Makes a stream and the descriptor that its reader gets.
    ///
    /// - Throws: also when hardly a descriptor would be left for anything else.
    static func make(
        _ number: UInt64, channels: Int, on loop: EventLoop
    ) throws(SystemError) -> (own: SampleStream, given: WireDescriptor) {
        let (own, given) = try PacketPair(room: self.socket).split { (own, given) throws(SystemError) in
            (SampleStream(number, own, channels: channels, on: loop), WireDescriptor(given))
        }
        try own.end.checkSpare(WireDescriptor.spare)
        own.watch = try loop.watch(own.end.raw, for: .read) { [weak own] in own?.ready($0) }
        return (own, given)
    }

    /// Sends a block, or lets it wait. Returns how many samples went out, and how many of the oldest that waited are lost;
    /// `nil` when nobody reads any more, who could miss any.
    func send(first: UInt64, times: Span<Int64>, values: Span<Double>) -> (sent: Int, lost: Int)? {
        let result = self.queue.send(first: first, times: times, values: values, to: self)
        self.setInterest()
        return result
    }

    /// What waits here is not to be had any more. The numbers tell the reader that it is missing.
    func forget() {
        self.queue.forget()
        self.setInterest()
    }

    /// Tells the reader that all that waited has come.
    func caughtUp() {
        self.queue.asked()
        self.settle()
    }

    /// Sends what waits and tells what is owed, as far as there is room.
    private func settle() {
        let sent = self.queue.settle(to: self)
        self.setInterest()
        if sent > 0 { self.onSent(sent) }
    }

    private func sendWords() -> Bool {
        guard !self.hasEnded else { return false }
        let words = self.words
        do throws(SystemError) {
            return try self.end.send(packet: words.span)
        } catch {
            self.finish()
            return false
        }
    }

    /// Waits for room only while something is owed.
    private func setInterest() {
        guard let watch, !self.hasEnded else { return }
        try? self.loop.update(watch, for: self.queue.isBehind ? [.read, .write] : .read)
    }

    private func ready(_ readiness: EventLoop.Readiness) {
        guard readiness.isDisjoint(with: [.hangUp, .failed]) else { return self.finish() }
        if readiness.contains(.read) { self.takeRequest() }
        if readiness.contains(.write), !self.hasEnded { self.settle() }
    }

    /// Any packet is a request. Nothing at all is the end, or we would be told of it for ever.
    private func takeRequest() {
        do throws(SystemError) {
            guard let count = try self.end.receive(packet: &self.request) else { return }
            if count > 0 { self.onRequest() } else { self.finish() }
        } catch {
            self.finish()
        }
    }

    /// Ends the stream after the present round: whoever sends is in the middle of something.
    private func finish() {
        guard !self.hasEnded else { return }
        self.hasEnded = true
        self.loop.cancel(&self.watch)
        self.loop.defer { [weak self] in self?.onEnd() }
    }
}

extension SampleStream: StreamEnd {
    func put(_ gap: StreamLedger.Gap) -> Bool {
        StreamCodec.write(
            StreamCodec.Header(.gap, count: UInt32(clamping: gap.count), sequence: gap.first), into: &self.words)
        return self.sendWords()
    }

    func put(first: UInt64, times: Span<Int64>, values: Span<Double>) -> Bool {
        StreamCodec.write(first: first, times: times, values: values, into: &self.words)
        return self.sendWords()
    }

    func put(caughtUpTo next: UInt64) -> Bool {
        StreamCodec.write(StreamCodec.Header(.caughtUp, sequence: next), into: &self.words)
        return self.sendWords()
    }
}
