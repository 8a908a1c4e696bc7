import Motion
import Testing

@testable import DBus
@testable import Protocol

@Suite struct OptionTests {
    private func message(_ options: [String: Value]) -> String {
        do throws(BusError) {
            _ = try SensorRequest(claim: options)
            return ""
        } catch {
            return error.name == "org.jostle.Error.InvalidConfiguration" ? error.message : error.name
        }
    }

    @Test func claimsAreReadStrictly() throws {
        let plain = try SensorRequest(claim: ["rate": .double(50), "batch-latency": .uint64(20_000)])
        #expect(plain == SensorRequest(SensorPace(rate: 50, batchLatency: TimeSpan(microseconds: 20_000))))
        #expect(try SensorRequest(claim: ["rate": .double(50)]).pace.batchLatency == .zero)
        for decimation in Decimation.allCases {
            let request = SensorRequest(plain.pace, isPassive: true, decimation: decimation)
            #expect(try SensorRequest(claim: request.options) == request)
        }
        #expect(try SensorRequest(claim: plain.options) == plain)
        #expect(self.message([:]) == "claim: 'rate' (d, in Hz) is missing")
        #expect(self.message(["rate": .uint32(50)]) == "claim: rate is a number 'd', not a whole number 'u'")
        #expect(self.message(["rate": .double(1), "batch-latency": .double(1)]).contains("time 't' in microseconds"))
        #expect(self.message(["rat": .double(1)]) == "claim: unknown option 'rat', did you mean 'rate'?")
        #expect(self.message(["rate": .double(1), "batch-latency": .uint64(.max)]).contains("is too long"))
        #expect(!self.message(["\u{1B}[31m\n": .double(1)]).contains("\n"))
        let long = String(repeating: "k", count: 1 << 20)
        #expect(self.message([long: .double(1)]).utf8.count < 1_000)
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
