import DeviceCore
import Motion
import Testing

/// What is decided about a gpsd, without one.
@Suite struct GpsdTests {
    @Test(arguments: [
        ("", "127.0.0.1:2947"), ("localhost", "127.0.0.1:2947"), (":3000", "127.0.0.1:3000"),
        ("192.168.1.20", "192.168.1.20:2947"), ("192.168.1.20:99", "192.168.1.20:99"), ("::1", "[::1]:2947"),
        ("[::1]", "[::1]:2947"), ("[fe80::2]:7", "[fe80::2]:7"),
    ])
    func anAddressIsInNumbers(_ text: String, _ address: String) {
        #expect(GpsdAddress(text)?.description == address)
    }

    @Test(arguments: [
        "example.org", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:+7", "[::1", "[]", "[::1]7", "a b",
    ])
    func whatIsNoneIsRefused(_ text: String) {
        #expect(GpsdAddress(text) == nil)
    }

    @Test func linesAreCutHoweverTheyCome() {
        let text = Array("one\r\n\ntwo\nthr".utf8)
        for size in 1...text.count {
            var splitter = LineSplitter(longest: 4)
            var lines: [String] = []
            for start in stride(from: 0, to: text.count, by: size) {
                let piece = text.span.extracting(start..<min(text.count, start + size))
                let isGood = splitter.take(piece) { lines.append(String(decoding: $0, as: UTF8.self)) }
                #expect(isGood)
            }
            #expect(lines == ["one", "", "two"])
        }
        var splitter = LineSplitter(longest: 4)
        var lines: [String] = []
        func take(_ text: String) -> Bool {
            splitter.take(Array(text.utf8).span) { lines.append(String(decoding: $0, as: UTF8.self)) }
        }
        let isGood = take("one\r\n\ntwo\nthr") && take("e\n")
        #expect(isGood && lines == ["one", "", "two", "thre"])
        let isTooLong = !take("12345")
        #expect(isTooLong)
    }

    @Test func fixesGoOntoTheClockOfSamples() {
        var clock = FixClock()
        let now = Timestamp(microseconds: 50_000_000)
        #expect(
            clock.time(of: 1_700_000_000_000_000, wallClock: 1_700_000_000_250_000, now: now) == now
                - .milliseconds(250))
        // Told again by another sentence.
        #expect(clock.time(of: 1_700_000_000_000_000, wallClock: 1_700_000_000_300_000, now: now) == nil)
        // From a log, from the future, without a time, and absurd.
        #expect(clock.time(of: 1_000_000_000_000_000, wallClock: 1_700_000_001_000_000, now: now) == now)
        #expect(clock.time(of: 1_700_000_002_000_000, wallClock: 1_700_000_001_000_000, now: now) == now)
        #expect(clock.time(of: nil, wallClock: 0, now: now) == now)
        #expect(clock.time(of: .min, wallClock: .max, now: now) == now)
    }

    /// What a receiver told while nobody read is as old as it says, if it was right until then.
    @Test func fixesThatWaitedAreOld() {
        var clock = FixClock()
        let start: Int64 = 1_700_000_000_000_000
        func time(of second: Int64, at now: Int64) -> Int64? {
            clock.time(
                of: start + second * 1_000_000, wallClock: start + now * 1_000_000,
                now: Timestamp(microseconds: now * 1_000_000)
            )?.microseconds
        }
        #expect(time(of: 100, at: 100) == 100_000_000)
        #expect(time(of: 101, at: 200) == 101_000_000)
        #expect(time(of: 102, at: 200) == 102_000_000)
        // From before the last it cannot be, and then nothing is believed that is as old.
        #expect(time(of: 90, at: 200) == 200_000_000)
        #expect(time(of: 150, at: 200) == 200_000_000)
        #expect(time(of: 195, at: 200) == 195_000_000)
        // What is as old each time did not wait: a clock is off.
        #expect(time(of: 230, at: 260) == 230_000_000)
        #expect(time(of: 231, at: 261) == 261_000_000)
        #expect(time(of: 232, at: 262) == 262_000_000)
    }
}
