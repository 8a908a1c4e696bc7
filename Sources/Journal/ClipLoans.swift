import Detection
import Motion

/// A clip that waits to be written, and when it was cut.
struct ClipRow: Sendable {
    var clip: MotionClip
    /// In µs of the wall clock.
    let wall: Int64
    /// By the clock of samples.
    let now: Timestamp
}

/// The memory of clips, which goes round between whoever cuts them and whoever writes them.
///
/// There is so much of it and no more. It is made with the first clip, or before.
struct ClipLoans: Sendable {
    private var spare: [MotionClip]?
    private var waiting: [ClipRow] = []
    private var forgotten: [(number: UInt64, user: UInt32?)] = []
    /// Clips for which there was no room, or that the disk did not take.
    private(set) var leftOut: UInt64 = 0

    /// So many are on their way at once.
    private static let most = 4

    // MARK: From the loop's thread

    /// Memory for a clip; `nil`: all is on its way.
    mutating func lend() -> MotionClip? {
        self.make()
        return self.spare?.popLast()
    }

    mutating func make() {
        guard self.spare == nil else { return }
        self.spare = (0..<Self.most).map { _ in MotionClip() }
        self.waiting.reserveCapacity(Self.most)
    }

    mutating func add(_ row: ClipRow) { self.waiting.append(row) }

    /// Takes back memory of which nothing is to be kept.
    mutating func takeBack(_ clip: MotionClip) { self.spare?.append(clip) }

    mutating func leaveOut() { self.leftOut &+= 1 }

    /// Has clips forgotten: those on their way, too.
    mutating func forget(of user: UInt32?, _ number: UInt64) { self.forgotten.append((number, user)) }

    // MARK: From the writer

    var isEmpty: Bool { self.waiting.isEmpty && self.forgotten.isEmpty }

    mutating func take(into rows: inout [ClipRow], _ forgotten: inout [(number: UInt64, user: UInt32?)]) {
        if !self.waiting.isEmpty {
            rows += self.waiting
            self.waiting.removeAll(keepingCapacity: true)
        }
        forgotten += self.forgotten
        self.forgotten.removeAll()
    }

    /// The writer is done with these.
    mutating func giveBack(_ rows: inout [ClipRow], areLost: Bool) {
        if areLost { self.leftOut &+= UInt64(rows.count) }
        while let row = rows.popLast() { self.spare?.append(row.clip) }
    }
}
