import DBus
import Loop
import Motion
import Protocol
import SensorCore

/// Our end of a stream of samples: packets out, as many as fit, and requests for all that waits in.
///
/// What the socket cannot take waits here, the newest of it; what gives way is told as a gap. The other side never makes us
/// wait.
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
    private let channels: Int
    private var ledger = StreamLedger()
    private var backlog: SampleBacklog
    private var words: [UInt64] = []
    private var request = [UInt64](repeating: 0, count: 2)
    private var hasEnded = false

    private init(_ number: UInt64, _ end: consuming OwnedDescriptor, channels: Int, on loop: EventLoop) {
        self.number = number
        self.end = end
        self.channels = channels
        self.backlog = SampleBacklog(channels: channels, bytes: Self.kept)
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
        let most = StreamCodec.rows(channels: self.channels)
        var sent = 0
        while self.backlog.isEmpty, sent < times.count {
            let rows = sent..<min(times.count, sent + most)
            guard self.send(rows, first: first, times, values) else { break }
            sent = rows.upperBound
        }
        if self.hasEnded { return nil }
        var lost = 0
        if sent < times.count {
            let rest = sent..<times.count
            lost = self.backlog.append(
                first: first + UInt64(sent), times: times.extracting(rest),
                values: values.extracting(sent * self.channels..<values.count))
        }
        self.setInterest()
        return (sent, lost)
    }

    /// Sends rows of a block in one packet, and before it what is missing. False when there is no room.
    private func send(_ rows: Range<Int>, first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Bool {
        let number = first + UInt64(rows.lowerBound)
        guard self.tellGap(before: number) else { return false }
        let columns = rows.lowerBound * self.channels..<rows.upperBound * self.channels
        StreamCodec.write(
            first: number, times: times.extracting(rows), values: values.extracting(columns), into: &self.words)
        guard self.sendWords() else { return false }
        self.ledger.told(before: first + UInt64(rows.upperBound))
        return true
    }

    /// What waits here is not to be had any more. The numbers tell the reader that it is missing.
    func forget() {
        self.backlog.removeFirst(self.backlog.count)
        self.setInterest()
    }

    /// Tells the reader that all that waited has come.
    func caughtUp() {
        self.ledger.asked()
        self.settle()
    }

    /// Sends what waits and tells what is owed, as far as there is room.
    private func settle() {
        let most = StreamCodec.rows(channels: self.channels)
        var sent = 0
        while let went = self.backlog.withFirst(
            most,
            { first, times, values in
                self.send(0..<times.count, first: first, times, values) ? times.count : 0
            }), went > 0
        {
            self.backlog.removeFirst(went)
            sent += went
        }
        if self.backlog.isEmpty, self.ledger.owesWord {
            StreamCodec.write(StreamCodec.Header(.caughtUp, sequence: self.ledger.next), into: &self.words)
            if self.sendWords() { self.ledger.gaveWord() }
        }
        self.setInterest()
        if sent > 0 { self.onSent(sent) }
    }

    /// Tells what is missing before a number. False when there is no room for that.
    private func tellGap(before number: UInt64) -> Bool {
        guard let gap = self.ledger.gap(before: number) else { return true }
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
        let isBehind = !self.backlog.isEmpty || self.ledger.owesWord
        try? self.loop.update(watch, for: isBehind ? [.read, .write] : .read)
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
