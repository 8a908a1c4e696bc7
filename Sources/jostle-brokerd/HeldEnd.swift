import DBus
import Loop

/// Our end of the pipe that stands for what an app holds: an assertion or an activity.
///
/// The app has the end that reads, so that it sees a hang-up when we end it, and has nothing to write that we would have to
/// drain. When every copy of its end is closed, writing fails, and epoll says so on ours.
final class HeldEnd {
    private let loop: EventLoop
    private let end: OwnedDescriptor
    private var watch: EventLoop.Registration?

    private init(_ end: consuming OwnedDescriptor, on loop: EventLoop) {
        self.end = end
        self.loop = loop
    }

    deinit {
        if let watch { self.loop.cancel(watch) }
    }

    /// Makes a pipe; `closed` runs once when nobody holds the other end any more.
    ///
    /// - Throws: also when hardly a descriptor would be left for anything else.
    static func make(
        on loop: EventLoop, closed: @escaping () -> Void
    ) throws(SystemError) -> (own: HeldEnd, given: WireDescriptor) {
        let (own, given) = try Pipe().split { (reader, writer) throws(SystemError) in
            (HeldEnd(writer, on: loop), WireDescriptor(reader))
        }
        try own.end.checkSpare(WireDescriptor.spare)
        own.watch = try loop.watch(own.end.raw, for: .read) { [weak own] readiness in
            guard let own, !readiness.isDisjoint(with: [.failed, .hangUp]), let watch = own.watch else { return }
            own.watch = nil
            own.loop.cancel(watch)
            closed()
        }
        return (own, given)
    }
}
