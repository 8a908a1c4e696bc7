import Motion

/// The reader of sensors, beside the broker in the same life: it has the same time, sleeps and clocks.
extension World {
    mutating func takeReader(_ step: Step) {
        self.setReaderClocks()
        let (a, b) = (step.a, step.b)
        switch step.kind {
        case .up: self.reader.begin()
        case .down: self.reader.kill()
        case .plug: self.reader.plug(a, b != 0)
        case .ail: self.reader.ail(a, b)
        case .measure: self.reader.measure(a, b)
        case .join: self.reader.join(a)
        case .part: self.reader.part(a, leavesStreams: b == 1)
        case .claim: self.reader.claim(a, b, asStream: false)
        case .open: self.reader.claim(a, b, asStream: true)
        case .flush: self.reader.flush(a, b)
        case .release: self.reader.release(a, b)
        case .drain: self.reader.drain(a, b)
        case .heed: self.reader.heed(a, b)
        case .crowd: self.reader.crowd(a, b)
        case .own: self.reader.own(a, b)
        case .polkit: self.reader.setPolkit(a)
        case .front: self.reader.setFront(a)
        case .verdict: self.reader.answer(a)
        default: break
        }
        self.reader.check()
    }

    private func setReaderClocks() { self.reader.set(self.now, wall: self.wallOffset) }

    /// Time has passed for all.
    func passReader() {
        self.reader.sleep(until: self.slept)
        self.reader.pass(to: self.now)
    }

    /// All listeners are well and have time, and then there are none.
    mutating func finishReader() {
        self.setReaderClocks()
        self.reader.finish { milliseconds in self.pass(.milliseconds(milliseconds)) }
    }
}
