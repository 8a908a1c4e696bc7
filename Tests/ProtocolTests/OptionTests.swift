import Motion
import Testing

@testable import DBus
@testable import Protocol

@Suite struct OptionTests {
    private func message(_ options: [String: Value]) -> String {
        do throws(BusError) {
            _ = try SensorRequest(options, of: "claim")
            return ""
        } catch {
            return error.name == "org.jostle.Error.InvalidConfiguration" ? error.message : error.name
        }
    }

    @Test func claimsAreReadStrictly() throws {
        let plain = try SensorRequest(["rate": .double(50), "batch-latency": .uint64(20_000)], of: "claim")
        #expect(plain == SensorRequest(SensorPace(rate: 50, batchLatency: TimeSpan(microseconds: 20_000))))
        #expect(try SensorRequest(["rate": .double(50)], of: "claim").pace.batchLatency == .zero)
        for decimation in Decimation.allCases {
            let request = SensorRequest(plain.pace, isPassive: true, decimation: decimation)
            #expect(try SensorRequest(request.options, of: "claim") == request)
        }
        #expect(try SensorRequest(plain.options, of: "claim") == plain)
        #expect(self.message([:]) == "claim: 'rate' (d, in Hz) is missing")
        #expect(self.message(["rate": .string("50")]) == "claim: rate is a number 'd', not a string 's'")
        #expect(self.message(["rate": .boolean(true)]) == "claim: rate is a number 'd', not a boolean 'b'")
        #expect(self.message(["rate": .double(50), "batch-latency": .string("soon")]).contains("is no time"))
        #expect(self.message(["rate": .double(50), "batch-latency": .string("-1ms")]).contains("is no time"))
        #expect(self.message(["rate": .double(1), "batch-latency": .double(1)]).contains("time 't' in microseconds"))
        #expect(self.message(["rat": .double(1)]) == "claim: unknown option 'rat', did you mean 'rate'?")
        #expect(
            self.message(["colour": .double(1)])
                == "claim: unknown option 'colour'; known are rate, batch-latency, passive, decimation, or-slower")
        #expect(self.message(["rate": .double(1), "batch-latency": .uint64(.max)]).contains("is too long"))
        #expect(!self.message(["\u{1B}[31m\n": .double(1)]).contains("\n"))
        let long = String(repeating: "k", count: 1 << 20)
        #expect(self.message([long: .double(1)]).utf8.count < 1_000)
    }

    @Test func anyNumberWillDo() throws {
        let plain = try SensorRequest(["rate": .double(50), "batch-latency": .uint64(20_000)], of: "claim")
        for rate: Value in [.byte(50), .int16(50), .uint16(50), .int32(50), .uint32(50), .int64(50), .uint64(50)] {
            for latency: Value in [.uint16(20_000), .int32(20_000), .int64(20_000), .string("20ms"), .string("0.02s")] {
                #expect(try SensorRequest(["rate": rate, "batch-latency": latency], of: "claim") == plain)
            }
        }
        #expect(self.message(["rate": .int32(-1), "batch-latency": .int32(-1)]).contains("time 't'"))
    }

    @Test func whatIsSomebodyElsesIsLeftAlone() throws {
        #expect(self.message(["rate": .double(50), "x-org.example": .descriptor]).isEmpty)
        #expect(self.message(["rate": .double(50), "X-org.example": .boolean(true)]).contains("unknown option"))
        try OptionReader.none(["x-": .boolean(true)], of: "Mute")
        let refused = #expect(throws: BusError.self) { try OptionReader.none(["duration": .uint64(1)], of: "Mute") }
        #expect(refused?.message == "Mute: unknown option 'duration'; Mute takes no options")
    }

    @Test func whatIsInForceIsReadOnlyWhenItMakesSense() {
        #expect(SensorPace(inForce: ["rate": .double(50), "batch-latency": .uint64(0)])?.rate == 50)
        for options: [String: Value] in [
            [:], ["rate": .double(50)], ["rate": .double(.nan), "batch-latency": .uint64(0)],
            ["rate": .double(0), "batch-latency": .uint64(0)], ["rate": .double(-1), "batch-latency": .uint64(0)],
            ["rate": .double(.infinity), "batch-latency": .uint64(0)],
            ["rate": .double(50), "batch-latency": .uint64(.max)], ["rate": .double(50), "batch-latency": .int64(1)],
        ] { #expect(SensorPace(inForce: options) == nil) }
    }

    @Test func sensorsDescribeThemselves() throws {
        let sensor = SensorDescription(
            name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: 4, rates: [50, 100],
            placement: "pocket", source: "synth", isSimulated: true)
        #expect(SensorDescription(sensor.options) == sensor)
        func changed(_ key: String, _ value: Value?) -> SensorDescription? {
            var options = sensor.options
            options[key] = value
            return SensorDescription(options)
        }
        #expect(changed("name", nil) == nil && changed("name", .string("")) == nil && changed("name", .byte(1)) == nil)
        #expect(changed("channels", .array(of: "s", [])) == nil && changed("channels", .string("x")) == nil)
        let many = [Value](repeating: .string("c"), count: SensorLimits.channels + 1)
        #expect(changed("channels", .array(of: "s", many)) == nil)
        for rate in [0, -1, .nan, .infinity] as [Double] {
            #expect(changed("rates", .array(of: "d", [.double(rate)])) == nil)
        }
        #expect(changed("range", .double(.nan))?.range == nil && changed("range", nil)?.range == nil)
        #expect(changed("simulated", nil)?.isSimulated == false)
    }

    @Test func pathsHoldAnyName() {
        #expect(Path.sensor("accelerometer").text == "/org/jostle/Sensors1/accelerometer")
        #expect(Path.app("org.example.App").text == "/org/jostle/Broker1/apps/org_2eexample_2eApp")
        #expect(Path.app(":1.42").text == "/org/jostle/Broker1/apps/_3a1_2e42")
        // Different names never meet.
        let names = ["a.b", "a_b", "a_2eb", "", "_", "ä", "A.b"]
        #expect(Set(names.map { Path.app($0) }).count == names.count)
    }
}
