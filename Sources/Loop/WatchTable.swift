/// Who watches which descriptor for what, and what the kernel has been told of it.
///
/// A value: it says what has to change in the kernel's set (`Change`) and which handler runs for an event. Several watches
/// may share a descriptor; the kernel knows it once, with the union of their interests. A descriptor that nobody is
/// interested in is taken out of the kernel's set, because epoll reports hang-ups even of an empty interest.
struct WatchTable {
    typealias Handler = (EventLoop.Readiness) -> Void

    /// What the kernel has to be told.
    enum Change: Equatable {
        case none
        case add(EventLoop.Interest)
        case modify(EventLoop.Interest)
        case remove
    }

    /// What the kernel gives back with an event: the descriptor, and which of its number's successive uses is meant.
    struct Token: Equatable {
        var descriptor: Int32
        var generation: UInt32

        init(descriptor: Int32, generation: UInt32) {
            self.descriptor = descriptor
            self.generation = generation
        }

        init(bits: UInt64) {
            self.descriptor = Int32(truncatingIfNeeded: bits)
            self.generation = UInt32(truncatingIfNeeded: bits >> 32)
        }

        /// The token of one of the loop's own descriptors, which no watch stands behind.
        static func own(_ descriptor: Int32) -> Token { Token(descriptor: descriptor, generation: 0) }

        var bits: UInt64 { UInt64(self.generation) << 32 | UInt64(UInt32(bitPattern: self.descriptor)) }
    }

    private struct Watch {
        var generation: UInt32 = 0
        /// -1: the slot is free.
        var descriptor: Int32 = -1
        var interest: EventLoop.Interest = []
        /// The next watch of the same descriptor, in order of registration; -1: none.
        var next: Int32 = -1
        var handler: Handler?
    }

    /// Everything about one descriptor number.
    private struct Port {
        /// Rises whenever the number comes into use. Starts at 1: tokens of generation 0 are the loop's own.
        var generation: UInt32 = 0
        /// -1: the number is not in use.
        var first: Int32 = -1
        /// What the kernel watches for; empty: the kernel does not know the descriptor.
        var kernel: EventLoop.Interest = []
        /// A regular file: epoll refuses it because it never has to be waited for.
        var isAlwaysReady = false
    }

    private var watches: [Watch] = []
    private var freeWatches: [UInt32] = []
    /// By descriptor number, which the kernel keeps small and dense.
    private var ports: [Port] = []
    /// Descriptors in use that are always ready.
    private(set) var alwaysReady: [Int32] = []

    /// Adds a watch behind those that the descriptor already has.
    mutating func add(
        _ descriptor: Int32, for interest: EventLoop.Interest, _ handler: @escaping Handler
    ) -> (EventLoop.Registration, Change) {
        let index = Int(descriptor)
        while self.ports.count <= index { self.ports.append(Port()) }
        let slot: UInt32
        if let reused = self.freeWatches.popLast() {
            slot = reused
        } else {
            slot = UInt32(self.watches.count)
            self.watches.append(Watch())
        }
        self.watches[Int(slot)].descriptor = descriptor
        self.watches[Int(slot)].interest = interest
        self.watches[Int(slot)].next = -1
        self.watches[Int(slot)].handler = handler
        if self.ports[index].first < 0 {
            self.ports[index].generation &+= 1
            if self.ports[index].generation == 0 { self.ports[index].generation = 1 }
            self.ports[index].first = Int32(slot)
        } else {
            var last = Int(self.ports[index].first)
            while self.watches[last].next >= 0 { last = Int(self.watches[last].next) }
            self.watches[last].next = Int32(slot)
        }
        let registration = EventLoop.Registration(slot: slot, generation: self.watches[Int(slot)].generation)
        return (registration, self.settle(descriptor))
    }

    /// What a watch waits for, and on which descriptor; `nil` when the watch is gone.
    func interest(of registration: EventLoop.Registration) -> (interest: EventLoop.Interest, descriptor: Int32)? {
        guard self.isLive(registration) else { return nil }
        let watch = self.watches[Int(registration.slot)]
        return (watch.interest, watch.descriptor)
    }

    /// Replaces what a watch waits for.
    mutating func update(_ registration: EventLoop.Registration, for interest: EventLoop.Interest) -> Change {
        guard self.isLive(registration) else { return .none }
        let slot = Int(registration.slot)
        self.watches[slot].interest = interest
        return self.settle(self.watches[slot].descriptor)
    }

    /// Takes a watch out. The handler is handed out so that its captures are released outside any access to the table.
    mutating func remove(_ registration: EventLoop.Registration) -> (
        handler: Handler?, descriptor: Int32, change: Change
    )? {
        guard self.isLive(registration) else { return nil }
        let slot = Int32(registration.slot)
        let descriptor = self.watches[Int(slot)].descriptor
        let next = self.watches[Int(slot)].next
        if self.ports[Int(descriptor)].first == slot {
            self.ports[Int(descriptor)].first = next
        } else {
            var previous = Int(self.ports[Int(descriptor)].first)
            while self.watches[previous].next != slot { previous = Int(self.watches[previous].next) }
            self.watches[previous].next = next
        }
        self.watches[Int(slot)].generation &+= 1
        self.watches[Int(slot)].descriptor = -1
        self.freeWatches.append(registration.slot)
        let handler = self.watches[Int(slot)].handler.take()
        let change = self.settle(descriptor)
        if self.ports[Int(descriptor)].first < 0, self.ports[Int(descriptor)].isAlwaysReady {
            self.ports[Int(descriptor)].isAlwaysReady = false
            self.alwaysReady.removeAll { $0 == descriptor }
        }
        return (handler, descriptor, change)
    }

    /// Notes that epoll refused the descriptor as a regular file.
    mutating func markAlwaysReady(_ descriptor: Int32) {
        guard !self.ports[Int(descriptor)].isAlwaysReady else { return }
        self.ports[Int(descriptor)].isAlwaysReady = true
        self.ports[Int(descriptor)].kernel = []
        self.alwaysReady.append(descriptor)
    }

    /// Notes that the kernel refused the last change to the descriptor, and still holds `interest`.
    mutating func revert(_ descriptor: Int32, to interest: EventLoop.Interest) {
        self.ports[Int(descriptor)].kernel = interest
    }

    /// What the kernel watches the descriptor for.
    func kernelInterest(in descriptor: Int32) -> EventLoop.Interest {
        Int(descriptor) < self.ports.count ? self.ports[Int(descriptor)].kernel : []
    }

    /// The token of a descriptor's present use.
    func token(of descriptor: Int32) -> Token {
        Token(descriptor: descriptor, generation: self.ports[Int(descriptor)].generation)
    }

    /// Appends the watches that stand behind an event, in order of registration; none when the event is stale.
    func collect(_ token: Token, into list: inout [EventLoop.Registration]) {
        guard token.descriptor >= 0, Int(token.descriptor) < self.ports.count else { return }
        let port = self.ports[Int(token.descriptor)]
        guard port.generation == token.generation else { return }
        var slot = Int(port.first)
        while slot >= 0 {
            list.append(EventLoop.Registration(slot: UInt32(slot), generation: self.watches[slot].generation))
            slot = Int(self.watches[slot].next)
        }
    }

    /// What a watch is to be told of an event and by which handler, or `nil`: it is gone, or the event is none of its.
    func delivery(
        of readiness: EventLoop.Readiness, to registration: EventLoop.Registration
    ) -> (Handler, EventLoop.Readiness)? {
        guard self.isLive(registration) else { return nil }
        let watch = self.watches[Int(registration.slot)]
        guard !watch.interest.isEmpty, let handler = watch.handler else { return nil }
        let wanted = readiness.intersection(watch.interest.readiness.union([.hangUp, .failed]))
        return wanted.isEmpty ? nil : (handler, wanted)
    }

    /// Whether a descriptor that is always ready has somebody who waits for it.
    var hasAlwaysReadyWork: Bool {
        self.alwaysReady.contains { !self.union(of: $0).isEmpty }
    }

    private func isLive(_ registration: EventLoop.Registration) -> Bool {
        let slot = Int(registration.slot)
        return slot < self.watches.count && self.watches[slot].generation == registration.generation
            && self.watches[slot].descriptor >= 0
    }

    private func union(of descriptor: Int32) -> EventLoop.Interest {
        var interest: EventLoop.Interest = []
        var slot = Int(self.ports[Int(descriptor)].first)
        while slot >= 0 {
            interest.formUnion(self.watches[slot].interest)
            slot = Int(self.watches[slot].next)
        }
        return interest
    }

    /// Brings the port's word for the kernel up to date with its watches.
    private mutating func settle(_ descriptor: Int32) -> Change {
        let index = Int(descriptor)
        guard !self.ports[index].isAlwaysReady else { return .none }
        let old = self.ports[index].kernel
        let new = self.union(of: descriptor)
        guard old != new else { return .none }
        self.ports[index].kernel = new
        if new.isEmpty { return .remove }
        return old.isEmpty ? .add(new) : .modify(new)
    }
}
