/// How much a bus hands us, and when it may have left something out.
///
/// A bus keeps what we have not read up to a limit (dbus-daemon `max_outgoing_bytes`: 127 MiB on a system's bus, 1 GB on a session's), and drops
/// what finds no room, without a word to us: a signal to all, or the answer to a call of ours. Whoever may send to us can fill that. What was kept
/// then comes after that moment: once a part of it has come we doubt, and ask anew how things are. Should the answer find no
/// room either, as much comes behind that, and we doubt once more.
struct Intake {
    /// Something may have been left out, and it was not asked since how things are.
    private(set) var isInDoubt = false
    /// What has come lately: what came before goes from it as time goes by.
    private var level = 0
    /// When that was seen last, and how much has come since.
    private var seen: Int64 = 0
    private var since = 0

    /// So many bytes at once, or each `window` µs, are more than anybody of ours sends.
    static let most = 32 << 20
    static let window: Int64 = 10_000_000
    /// How long after that it is asked, in µs, and how often at most.
    static let pause: Int64 = 2_000_000
    /// libdbus reads no more at a time, however much is there.
    private static let mouthful = 4 << 10
    /// With so many bytes more it is looked at the clock.
    private static let step = 1 << 20

    /// Some is about to be read. Returns whether a doubt begins with it: it is to be asked after a pause.
    ///
    /// - Parameters:
    ///   - bytes: how many are there.
    ///   - now: looked at once in a while.
    mutating func took(of bytes: Int, at now: @autoclosure () -> Int64) -> Bool {
        self.since += min(bytes, Self.mouthful)
        guard self.since >= Self.step else { return false }
        let time = now()
        let gone = Int64(Self.most) * max(0, min(time - self.seen, Self.window)) / Self.window
        self.level = max(0, self.level - Int(gone)) + self.since
        (self.seen, self.since) = (time, 0)
        guard self.level >= Self.most, !self.isInDoubt else { return false }
        self.level = 0
        self.isInDoubt = true
        return true
    }

    /// Descriptors came that nobody asked for. A bus counts those, too, that wait for us (dbus-daemon `max_outgoing_unix_fds`: 64 on a system's
    /// bus), and a few small messages are enough to fill that. Returns whether a doubt begins with it.
    mutating func tookDescriptors() -> Bool {
        guard !self.isInDoubt else {
            self.level = Self.most
            return false
        }
        self.level = 0
        self.isInDoubt = true
        return true
    }

    /// It is asked how things are. Returns whether that is the last time: where as much has come again, it is to be asked after another pause.
    mutating func ask() -> Bool {
        self.isInDoubt = self.level >= Self.most
        self.level = 0
        return !self.isInDoubt
    }
}
