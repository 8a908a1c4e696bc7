package import DBus
package import Motion

/// The body of `Event`: `(tttsda{sv})` = sequence, epoch, sample time, detector, peak so far, and what else there is.
package enum EventCodec {
    package static let signature: StaticString = "(tttsda{sv})"

    package typealias Wire = Structure<UInt64, UInt64, UInt64, String, Double, [String: Value]>

    /// An event as it travels. `details` holds `policy-generation` (t), and `simulated` (b) when the samples were not
    /// measured now.
    package struct Body: Equatable, Sendable {
        package var sequence: UInt64
        package var epoch: UInt64
        package var time: Timestamp
        package var detector: String
        package var peak: Double
        package var details: [String: Value]

        package init(
            sequence: UInt64, epoch: UInt64, time: Timestamp, detector: String, peak: Double,
            details: [String: Value] = [:]
        ) {
            self.sequence = sequence
            self.epoch = epoch
            self.time = time
            self.detector = detector
            self.peak = peak
            self.details = details
        }

        /// The same as a property's value.
        package var structure: Wire {
            Wire(self.sequence, self.epoch, self.time.wire, self.detector, self.peak, self.details)
        }

        /// About how many bytes the message takes on the bus, header included.
        package var size: Int { 240 + self.detector.utf8.count + 64 * self.details.count }
    }

    package static func write(_ event: Body, to writer: inout WireWriter) {
        writer.structure { body in
            body.uint64(event.sequence)
            body.uint64(event.epoch)
            body.uint64(event.time.wire)
            body.string(event.detector)
            body.double(event.peak)
            body.options(event.details)
        }
    }

    /// The event of a message, or `nil` when it is not what it should be.
    package static func read(_ message: borrowing Message) -> Body? {
        guard message.hasSignature(self.signature),
            let body: Wire = try? message.read(Wire.self), let time = Timestamp(wire: body.fields.2)
        else { return nil }
        return Body(
            sequence: body.fields.0, epoch: body.fields.1, time: time, detector: body.fields.3, peak: body.fields.4,
            details: body.fields.5)
    }
}
