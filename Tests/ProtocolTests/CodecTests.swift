import Motion
import Testing

@testable import DBus
@testable import Protocol

/// A signal of ours that has not been sent.
private func message(_ body: (inout WireWriter) -> Void) throws -> Message {
    let header = SignalHeader(from: Path.sensors, InterfaceName.sensor, "Samples", to: ":1.1")
    guard let message = header?.copy() else { throw BusError.failed("no message") }
    message.withWriter(body)
    return message
}

@Suite struct CodecTests {
    /// A broker that does not say of an app file that a Flatpak brought it has none of a Flatpak.
    @Test(arguments: [true, false]) func aRowOfAnAppIsReadAsItIsWritten(isOfFlatpak: Bool) {
        let row = ListedApp(
            ObjectPath(literal: "/app"), app: "org.example.App", state: "dead", detectors: 2, hits: 3, delivered: 4,
            denied: 5, dropped: 6, activities: ["audio"], user: 7, process: nil, windows: ["a", "b-*"],
            isOfFlatpak: isOfFlatpak)
        let read = ListedApp(row.wire)
        #expect(read.object == row.object && read.app == row.app && read.state == row.state)
        #expect(read.windows == row.windows && read.isOfFlatpak == isOfFlatpak)
        #expect(read.user == 7 && read.process == nil && read.activities == ["audio"])
        #expect(row.wire.fields.1.keys.contains("flatpak") == isOfFlatpak)
    }

    @Test(arguments: [1, 3, 16], [1, 2, 1_000])
    func samplesRoundTrip(channels: Int, count: Int) throws {
        let times = (0..<count).map { Int64($0) * 10_000 }
        let values = (0..<count * channels).map { Double($0) / 8 }
        let message = try message {
            SampleCodec.write(first: 77, times: times.span, values: values.span, to: &$0)
        }
        #expect(message.signature == SampleCodec.signature.description)
        var reads = 0
        let isWhole = SampleCodec.read(message, channels: channels) { first, readTimes, readValues in
            reads += 1
            #expect(first == 77 && readTimes.count == count && readValues.count == values.count)
            for index in readTimes.indices { #expect(readTimes[index] == times[index]) }
            for index in readValues.indices { #expect(readValues[index] == values[index]) }
        }
        #expect(isWhole && reads == 1)
        // The estimate pays for the body, and not for much more.
        let size = SampleCodec.size(samples: count, channels: channels)
        #expect(size >= 8 * count * (1 + channels) + 24)
    }

    /// An app that can have so many detectors can name them all; of more, not one name is read.
    @Test func noneOfTooManyNamesIsBuilt() throws {
        func names(_ count: Int) throws -> [String]? {
            let message = try message { Array(repeating: "a", count: count).write(to: &$0) }
            return try message.read(DetectorNames.self).names
        }
        #expect(try names(DetectorBatch.mostOfApp)?.count == DetectorBatch.mostOfApp)
        #expect(try names(DetectorBatch.mostOfApp + 1) == nil)
    }

    @Test func samplesThatDoNotFitAreRefused() throws {
        func isRead(_ channels: Int, _ body: (inout WireWriter) -> Void) throws -> Bool {
            SampleCodec.read(try message(body), channels: channels) { _, _, _ in }
        }
        func wire(_ times: [UInt64], _ values: [Double]) -> (inout WireWriter) -> Void {
            { writer in Structure(UInt64(1), times, values).write(to: &writer) }
        }
        #expect(try isRead(3, wire([1], [1, 2, 3])))
        #expect(try !isRead(3, wire([1], [1, 2])))
        #expect(try !isRead(3, wire([], [])))
        #expect(try !isRead(3, wire([1, 2], [1, 2, 3])))
        #expect(try !isRead(Int.max, wire([1, 2], [1, 2, 3])))
        // Other signatures, with the same bytes or none.
        #expect(try !isRead(1) { _ in })
        #expect(try !isRead(1) { Structure(UInt64(1), [Int64(1)], [1.0]).write(to: &$0) })
        #expect(try !isRead(1) { Structure(UInt64(1), [UInt64(1)], [UInt64(1)]).write(to: &$0) })
        #expect(try !isRead(1) { UInt64(1).write(to: &$0) })
        #expect(
            try !isRead(1) { writer in
                wire([1], [1])(&writer)
                UInt8(1).write(to: &writer)
            })
        // Times and values that no engine will take come through whole, and trap nothing.
        var seen: [Int64] = []
        let odd = try message(wire([0, .max, 1 << 63], [.nan, .infinity, -0.0]))
        #expect(SampleCodec.read(odd, channels: 1) { _, times, _ in seen = times.indices.map { times[$0] } })
        #expect(seen == [0, -1, .min])
    }

    @Test func eventsRoundTrip() throws {
        #expect(EventCodec.signature.description == EventCodec.Wire.signature)
        for (isSimulated, isClipped) in [(false, false), (true, false), (false, true), (true, true)] {
            let event = EventCodec.Body(
                sequence: .max, epoch: 1 << 60, time: Timestamp(microseconds: 123_456), detector: "shake-ä", peak: 2.75,
                generation: 7, isSimulated: isSimulated, isClipped: isClipped)
            let written = try message { EventCodec.write(event, to: &$0) }
            #expect(written.signature == EventCodec.signature.description)
            #expect(EventCodec.read(written) == event)
            let asProperty = try message { event.structure.write(to: &$0) }
            #expect(EventCodec.read(asProperty) == event)
        }
    }

    @Test func eventsThatAreNoneAreRefused() throws {
        func read(_ body: (inout WireWriter) -> Void) throws -> EventCodec.Body? { EventCodec.read(try message(body)) }
        #expect(try read { _ in } == nil)
        #expect(try read { Structure(UInt64(1), UInt64(2)).write(to: &$0) } == nil)
        // A time beyond what we compute with.
        #expect(try read { EventCodec.Wire(1, 1, .max, "d", 1, [:]).write(to: &$0) } == nil)
        let deep = (0..<40).reduce(Value.byte(1)) { value, _ in .variant(value) }
        #expect(try read { EventCodec.Wire(1, 1, 1, "d", 1, ["deep": deep]).write(to: &$0) } == nil)
        // What we do not know is no reason to refuse an event.
        let extra: [String: Value] = ["extra": .array(of: "s", [.string("x")])]
        let event = try #require(try read { EventCodec.Wire(1, 1, 1, "", .nan, extra).write(to: &$0) })
        #expect(event.peak.isNaN && event.detector.isEmpty && event.generation == 0 && !event.isSimulated)
    }

    @Test func detectorsTakeAnyNumber() throws {
        let options: [String: Value] = [
            "a": .string("text"), "b": .double(0.5), "c": .boolean(true), "d": .byte(1), "e": .uint16(2),
            "f": .uint32(3),
            "g": .uint64(.max), "h": .int16(-4), "i": .int32(5), "j": .int64(.min),
        ]
        let request = try DetectorRequest(name: "d", wire: options)
        #expect(
            request.options == [
                "a": .text("text"), "b": .number(0.5), "c": .flag(true), "d": .count(1), "e": .count(2), "f": .count(3),
                "g": .count(.max), "h": .number(-4), "i": .count(5), "j": .number(-9_223_372_036_854_775_808),
            ])
        #expect(try DetectorRequest(name: "d", wire: request.wire.fields.1).options == request.options)
        for value in [Value.array(of: "s", []), .variant(.byte(1)), .objectPath(Path.broker), .structure([.byte(1)])] {
            do {
                _ = try DetectorRequest(name: "my\ndetector", wire: ["key": value])
                Issue.record("taken: \(value)")
            } catch {
                #expect(error.name == "org.jostle.Error.InvalidConfiguration")
                #expect(error.message.contains("key") && !error.message.contains("\n"))
            }
        }
    }
}
