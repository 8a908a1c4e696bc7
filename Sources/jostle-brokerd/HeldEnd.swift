import BrokerCore
import DBus
import Loop
import Motion

/// Our end of the pipe that stands for what an app holds: an assertion or an activity.
///
/// The app has the end that reads, so that it sees a hang-up when we end it, and has nothing to write that we would have to
/// drain. When every copy of its end is closed, writing fails, and epoll says so on ours.
final class HeldEnd {
    private let ends: HeldEnds
    private let user: UInt32
    private let end: OwnedDescriptor
    private var watch: EventLoop.Registration?

    /// Takes over a place of the user's.
    fileprivate init(_ end: consuming OwnedDescriptor, of user: UInt32, _ ends: HeldEnds) {
        self.end = end
        self.user = user
        self.ends = ends
    }

    deinit {
        if let watch { self.ends.loop.cancel(watch) }
        self.ends.giveBack(self.user)
    }

    /// - Throws: also when hardly a descriptor would be left for anything else.
    fileprivate func watch(closed: @escaping () -> Void) throws(SystemError) {
        try self.end.checkSpare(WireDescriptor.spare)
        self.watch = try self.ends.loop.watch(self.end.raw, for: .read) { [weak self] readiness in
            guard let self, !readiness.isDisjoint(with: [.failed, .hangUp]), let watch = self.watch else { return }
            self.watch = nil
            self.ends.loop.cancel(watch)
            closed()
        }
    }
}

/// Makes the pipes for what apps hold. Each keeps a descriptor of ours, and each user has a share of them.
final class HeldEnds {
    fileprivate let loop: EventLoop
    private var shares: UserShares

    /// The most of all apps at a time, as far as there are descriptors.
    private static let most = 16_384

    init(on loop: EventLoop, _ limits: BrokerLimits) {
        self.loop = loop
        // Each is a descriptor, and others need some.
        self.shares = limits.shares(of: min(Self.most, descriptorLimit() / 2))
    }

    /// The names and numbers as `Limits` shows them.
    var limits: [String: UInt64] {
        ["held": UInt64(self.shares.limit), "held-per-user": UInt64(self.shares.share)]
    }

    /// Who has them.
    var usage: LimitUsage { LimitUsage("held", self.shares) }

    /// Makes a pipe; `closed` runs once when nobody holds the other end any more.
    func make(
        for user: UInt32, closed: @escaping () -> Void
    ) throws(BusError) -> (own: HeldEnd, given: WireDescriptor) {
        let (held, limit) = (self.shares.held(by: user), self.shares.limit)
        guard self.shares.room(for: user) > 0 else {
            throw .limitsExceeded("held: your user has \(held) of \(limit), as much as the others leave")
        }
        do throws(SystemError) {
            let (own, given) = try Pipe().split { (reader, writer) throws(SystemError) in
                _ = self.shares.take(1, for: user)
                return (HeldEnd(writer, of: user, self), WireDescriptor(reader))
            }
            try own.watch(closed: closed)
            return (own, given)
        } catch {
            throw .limitsExceeded("no descriptor is left: \(error)")
        }
    }

    fileprivate func giveBack(_ user: UInt32) { self.shares.giveBack(1, for: user) }
}
