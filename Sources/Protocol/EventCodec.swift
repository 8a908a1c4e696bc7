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

        /// What else there is to say; `simulated` and `clipped` only when it is.
        private var details: [String: Value] {
            var details: [String: Value] = [Key.generation: .uint64(self.generation)]
            if self.isSimulated { details[Key.simulated] = .boolean(true) }
            if self.isClipped { details[Key.clipped] = .boolean(true) }
            return details
        }

        /// The same as a property's value.
        package var structure: Wire {
            Wire(self.sequence, self.epoch, self.time.wire, self.detector, self.peak, self.details)
        }

        /// About how many bytes the message takes on the bus, header included.
        package var size: Int {
            280 + self.detector.utf8.count + (self.isSimulated ? 24 : 0) + (self.isClipped ? 24 : 0)
        }
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
            }
        }
    }

    /// The event of a message, or `nil` when it is not what it should be.
    package static func read(_ message: borrowing Message) -> Body? {
        guard message.hasSignature(self.signature),
            let body: Wire = try? message.read(Wire.self), let time = Timestamp(wire: body.fields.2)
        else { return nil }
        let details = body.fields.5
        let generation: UInt64 = if case .uint64(let count) = details[Key.generation] { count } else { 0 }
        return Body(
            sequence: body.fields.0, epoch: body.fields.1, time: time, detector: body.fields.3, peak: body.fields.4,
            generation: generation, isSimulated: details[Key.simulated] == .boolean(true),
            isClipped: details[Key.clipped] == .boolean(true))
    }
}
