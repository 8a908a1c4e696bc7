package import DBus
package import Motion

/// The body of `Event`: `(tttsda{sv})` = sequence, epoch, sample time, detector, peak so far, and what else there is.
package enum EventCodec {
    package static let signature: StaticString = "(tttsda{sv})"

    package typealias Wire = Structure<UInt64, UInt64, UInt64, String, Double, [String: Value]>

    private enum Key {
        static let generation = "policy-generation"
        static let simulated = "simulated"
        static let clipped = "clipped"
        static let ack = "ack"
        static let answerBy = "answer-by"
        static let redelivered = "redelivered"
        static let persistent = "persistent"
        static let transition = "transition"
        static let distance = "distance"
        static let filter = "filter"
        static let stay = "stay"
    }

    /// An event as it travels.
    package struct Body: Equatable, Sendable {
        package var sequence: UInt64
        package var epoch: UInt64
        package var time: Timestamp
        package var detector: String
        package var peak: Double
        /// Which policy decided; they are counted from 1.
        package var generation: UInt64
        /// The samples were made or replayed, not measured now.
        package var isSimulated: Bool
        /// A sample that led to it lay at the limit of the sensor's range.
        package var isClipped: Bool
        /// The event is sent again until it is acknowledged.
        package var wantsAck = false
        /// The app may leave the event to the next until then.
        package var answerBy: Timestamp?
        /// It was sent before, and may have come.
        package var isRedelivered = false
        /// It outlives the broker.
        package var isPersistent = false
        /// What the detector says besides the peak.
        package var note = HitNote.none

        package init(
            sequence: UInt64, epoch: UInt64, time: Timestamp, detector: String, peak: Double, generation: UInt64,
            isSimulated: Bool, isClipped: Bool = false
        ) {
            self.sequence = sequence
            self.epoch = epoch
            self.time = time
            self.detector = detector
            self.peak = peak
            self.generation = generation
            self.isSimulated = isSimulated
            self.isClipped = isClipped
        }

        /// No event yet.
        package static let none = Body(
            sequence: 0, epoch: 0, time: .zero, detector: "", peak: 0, generation: 0, isSimulated: false)

        /// What else there is to say; a yes only when it is one.
        private var details: [String: Value] {
            var details: [String: Value] = [Key.generation: .uint64(self.generation)]
            if let answerBy { details[Key.answerBy] = .uint64(answerBy.wire) }
            for (key, isSo) in self.flags where isSo { details[key] = .boolean(true) }
            if let transition = self.note.transition { details[Key.transition] = .string(transition) }
            if let distance = self.note.distance(self.peak) { details[Key.distance] = .double(distance) }
            if let filter = self.note.filter { details[Key.filter] = .double(filter) }
            if let stay = self.note.stay(self.peak) { details[Key.stay] = .uint64((Timestamp.zero + stay).wire) }
            return details
        }

        private var flags: [(String, Bool)] {
            [
                (Key.simulated, self.isSimulated), (Key.clipped, self.isClipped), (Key.ack, self.wantsAck),
                (Key.redelivered, self.isRedelivered),
                (Key.persistent, self.isPersistent),
            ]
        }

        /// The same as a property's value.
        package var structure: Wire {
            Wire(self.sequence, self.epoch, self.time.wire, self.detector, self.peak, self.details)
        }
    }

    /// What tells an event from others like it; `nil` for one that says what no other does.
    package static func likeness(of event: Body) -> BodyLikeness? {
        guard event.note == .none, event.answerBy == nil, event.generation <= .max >> 5 else { return nil }
        let rest =
            event.generation << 5 | (event.isSimulated ? 1 : 0) | (event.isClipped ? 2 : 0) | (event.wantsAck ? 4 : 0)
            | (event.isRedelivered ? 8 : 0) | (event.isPersistent ? 16 : 0)
        return BodyLikeness(
            BodyLikeness.Numbers(
                event.sequence, event.epoch, event.time.wire, behindText: event.peak.bitPattern),
            text: event.detector, rest: rest)
    }

    package static func write(_ event: Body, to writer: inout WireWriter) {
        writer.structure { body in
            body.uint64(event.sequence)
            body.uint64(event.epoch)
            body.uint64(event.time.wire)
            body.string(event.detector)
            body.double(event.peak)
            body.array(of: "{sv}") { details in
                details.entry(Key.generation, event.generation)
                if event.isSimulated { details.entry(Key.simulated, true) }
                if event.isClipped { details.entry(Key.clipped, true) }
                if event.wantsAck { details.entry(Key.ack, true) }
                if let answerBy = event.answerBy { details.entry(Key.answerBy, answerBy.wire) }
                if event.isRedelivered { details.entry(Key.redelivered, true) }
                if event.isPersistent { details.entry(Key.persistent, true) }
                if let transition = event.note.transition { details.entry(Key.transition, transition) }
                if let distance = event.note.distance(event.peak) { details.entry(Key.distance, distance) }
                if let filter = event.note.filter { details.entry(Key.filter, filter) }
                if let stay = event.note.stay(event.peak) {
                    details.entry(Key.stay, (Timestamp.zero + stay).wire)
                }
            }
        }
    }

    /// The event of a message, or `nil` when it is not what it should be.
    package static func read(_ message: borrowing Message) -> Body? {
        guard message.hasSignature(self.signature), let body: Wire = try? message.read(Wire.self) else { return nil }
        return self.body(body)
    }

    /// The event that a structure says; `nil` when its time is none.
    package static func body(_ body: Wire) -> Body? {
        guard let time = Timestamp(wire: body.fields.2) else { return nil }
        let details = body.fields.5
        let generation: UInt64 = if case .uint64(let count) = details[Key.generation] { count } else { 0 }
        var event = Body(
            sequence: body.fields.0, epoch: body.fields.1, time: time, detector: body.fields.3, peak: body.fields.4,
            generation: generation, isSimulated: details[Key.simulated] == .boolean(true),
            isClipped: details[Key.clipped] == .boolean(true))
        event.wantsAck = details[Key.ack] == .boolean(true)
        if case .uint64(let until) = details[Key.answerBy] { event.answerBy = Timestamp(wire: until) }
        event.isRedelivered = details[Key.redelivered] == .boolean(true)
        event.isPersistent = details[Key.persistent] == .boolean(true)
        event.note = self.note(details)
        return event
    }

    /// The note that the details of an event tell of; what we do not know is none.
    private static func note(_ details: [String: Value]) -> HitNote {
        if case .double(let filter) = details[Key.filter] {
            return HitNote(.movedThrough(filter: Int(max(0, min(filter.isNaN ? 0 : filter, 1e6)))))
        }
        guard case .string(let word) = details[Key.transition] else {
            return details[Key.distance] == nil ? .none : HitNote(.moved)
        }
        let all: [HitNote.Meaning] = [.entered, .left, .arrived, .departed]
        return all.map { HitNote($0) }.first { $0.transition == word } ?? .none
    }
}
