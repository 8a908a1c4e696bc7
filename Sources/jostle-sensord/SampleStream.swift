import DBus
import EventLoop
import Motion
import Protocol
import SensorCore

/// Our end of a stream of samples: packets out, as many as fit, and requests for all that waits in.
///
/// What the socket cannot take is lost, and told as a gap when there is room again. The other side never makes us wait.
final class SampleStream {
    /// How many bytes may wait to be read, the kernel's own counted with them.
    static let room = 256 << 10

    /// The stream's number, by which its claim is told from others of the same connection.
    let number: UInt64
    /// The reader wants all that waits: send it, then call `caughtUp`.
    var onRequest: () -> Void = {}
    /// Nobody reads any more.
    var onEnd: () -> Void = {}

    private let loop: EventLoop
    private let end: OwnedDescriptor
    private var watch: EventLoop.Registration?
    private var ledger = StreamLedger()
    private var words: [UInt64] = []
    private var request = [UInt64](repeating: 0, count: 2)
    private var hasEnded = false

    private init(_ number: UInt64, _ end: consuming OwnedDescriptor, on loop: EventLoop) {
        self.number = number
        self.end = end
        self.loop = loop
    }

    deinit {
        if let watch { self.loop.cancel(watch) }
    }

    /// Makes a stream and the descriptor that its reader gets.
    ///
    /// - Throws: also when hardly a descriptor would be left for anything else.
    static func make(
        _ number: UInt64, on loop: EventLoop
    ) throws(SystemError) -> (own: SampleStream, given: WireDescriptor) {
        let (own, given) = try PacketPair(room: self.room).split { (own, given) throws(SystemError) in
            (SampleStream(number, own, on: loop), WireDescriptor(given))
        }
        try own.end.checkSpare(WireDescriptor.spare)
        own.watch = try loop.watch(own.end.raw, for: .read) { [weak own] in own?.ready($0) }
        return (own, given)
    }

    /// Sends a block. Returns how many of its samples went out; `nil` when nobody reads any more, who could miss any.
    func send(first: UInt64, times: Span<Int64>, values: Span<Double>, channels: Int) -> Int? {
        let most = StreamCodec.rows(channels: channels)
        var sent = 0
        while sent < times.count, self.tellGap(before: first + UInt64(sent)) {
            let rows = sent..<min(times.count, sent + most)
            let number = first + UInt64(rows.lowerBound)
            StreamCodec.write(
                first: number, times: times.extracting(rows),
                values: values.extracting(rows.lowerBound * channels..<rows.upperBound * channels), into: &self.words)
            guard self.sendWords() else { break }
            sent = rows.upperBound
            self.ledger.told(before: first + UInt64(sent))
        }
        if self.hasEnded { return nil }
        if sent < times.count { self.ledger.lost(before: first + UInt64(times.count)) }
        self.setInterest()
        return sent
    }

    /// Tells the reader that all that waited has come.
    func caughtUp() {
        self.ledger.asked()
        self.settle()
    }

    /// Tells what is owed, as far as there is room.
    private func settle() {
        if let gap = self.ledger.gap { _ = self.tell(gap) }
        if self.ledger.gap == nil, self.ledger.owesWord {
            StreamCodec.write(StreamCodec.Header(.caughtUp, sequence: self.ledger.next), into: &self.words)
            if self.sendWords() { self.ledger.gaveWord() }
        }
        self.setInterest()
    }

    /// Tells what is missing before a number. False when there is no room for that.
    private func tellGap(before number: UInt64) -> Bool {
        guard let gap = self.ledger.gap(before: number) else { return true }
        return self.tell(gap)
    }

    private func tell(_ gap: StreamLedger.Gap) -> Bool {
        StreamCodec.write(
            StreamCodec.Header(.gap, count: UInt32(clamping: gap.count), sequence: gap.first), into: &self.words)
        guard self.sendWords() else { return false }
        self.ledger.told(before: gap.first + gap.count)
        return true
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
        try? self.loop.update(watch, for: self.ledger.isBehind ? [.read, .write] : .read)
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
        if let watch { self.loop.cancel(watch) }
        self.watch = nil
        self.loop.defer { [weak self] in self?.onEnd() }
    }
}
