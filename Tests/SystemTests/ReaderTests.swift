import Glibc
import TestSupport
import Testing

extension Senses {
    /// jostle-sensord: who gets which samples, and from where.
    @Suite(.serialized) struct Reader {
        private static let sensor =
            "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor"

        private static func claim(_ rate: Double, latency: Int = 0) -> String {
            "\(self.sensor) Claim a{sv} [{'rate':V('d',\(rate)),'batch-latency':V('t',\(latency))}]"
        }

        /// What is made of the accelerometer.
        private static let motion = "\(Stage.Object.sensors)/motion"

        private static func callMotion(_ member: String, _ options: String) -> String {
            "call org.jostle.Sensors1 \(self.motion) org.jostle.Sensors1.Sensor \(member) a{sv} [{\(options)}]"
        }

        private static func claimMotion(_ rate: Double, latency: Int = 0) -> String {
            self.callMotion("Claim", "'rate':V('d',\(rate)),'batch-latency':V('t',\(latency))")
        }

        /// The body of a `Samples` that a script heard.
        private struct Samples {
            let first: Int
            let times: [Int64]
            let values: [Double]

            init?(_ line: String) {
                guard let start = line.firstIndex(of: "["), line[..<start].hasSuffix(" Samples ") else { return nil }
                let parts = line[start...].split(separator: "[").map { part in
                    part.split(whereSeparator: { ",] ".contains($0) }).map(String.init)
                }
                guard parts.count == 3, let first = parts[0].first.flatMap(Int.init) else { return nil }
                self.first = first
                self.times = parts[1].compactMap(Int64.init)
                self.values = parts[2].compactMap(Double.init)
            }
        }

        /// The samples of the next signals that a script hears.
        private func hear(_ count: Int, from script: BackgroundProgram) throws -> [Samples] {
            try (0..<count).map { _ in
                try #require(Samples(try script.waitForLine { $0.contains(" heard ") && $0.contains(" Samples ") }))
            }
        }

        @Test func eachClaimantHasItsOwnRateAndNumbers() throws {
            let stage = try Stage(broker: false)
            let slow = try stage.startScript("s hear", "s \(Self.claim(10))")
            _ = try self.hear(2, from: slow)
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 10")
            let fast = try stage.startScript("f hear", "f \(Self.claim(50))")
            _ = try fast.waitForLine { $0.hasPrefix("f ok ") && $0.contains("\"rate\": 50.0") }
            #expect(try stage.property("Rate", at: Stage.Object.accelerometer) == "d 50")
            let odd = try stage.startScript("o hear", "o \(Self.claim(30))")
            _ = try odd.waitForLine { $0.hasPrefix("o ok ") && $0.contains("\"rate\": 30.0") }

            for (script, from, step) in [(slow, 2, 100_000.0), (fast, 0, 20_000), (odd, 0, 1_000_000.0 / 30)] {
                let samples = try self.hear(10, from: script)
                #expect(samples.map(\.first) == Array(from..<from + 10))
                #expect(samples.allSatisfy { $0.times.count == 1 && $0.values.count == 3 })
                // At 30 Hz from a device of 50: each at the device's sample nearest to its own grid.
                let length = Double(samples[9].times[0] - samples[0].times[0])
                #expect(abs(length - 9 * step) <= 20_000, "\(length)")
            }
            // The device slows down again with the fastest gone, and the others do not notice.
            try stage.kill(fast)
            try stage.until("the device slows down") {
                try stage.property("Rate", at: Stage.Object.accelerometer) == "d 50"
            }
            try stage.kill(odd)
            try stage.until("the device slows down") {
                try stage.property("Rate", at: Stage.Object.accelerometer) == "d 10"
            }
            #expect(try self.hear(3, from: slow).map(\.first) == [12, 13, 14])
        }

        @Test func aSecondClaimReplacesAndReleaseEnds() throws {
            let stage = try Stage(broker: false)
            // What the first brings until it is replaced is no answer to the second: the peer counts anew.
            let lines = try stage.script(
                "p hear", "p \(Self.claim(100))", "p await 3", "p \(Self.claim(25))", "p hear", "p await 3",
                "p \(Self.sensor) Release a{sv} [{}]", "p \(Self.sensor) Release a{sv} [{}]",
                "p call org.jostle.Sensors1 /org/jostle/Sensors1 org.jostle.Sensors1 ListSensors a{sv} [{}]")
            let replaced = try #require(lines.lastIndex { $0.contains("\"rate\": 25.0") })
            let before = lines[..<replaced].compactMap(Samples.init).map(\.first)
            let after = lines[replaced...].compactMap(Samples.init).map(\.first)
            #expect(before == Array(0..<before.count) && before.count >= 3, "\(lines)")
            #expect(after == Array(0..<after.count) && after.count >= 3, "\(lines)")
            // Nothing came after the answer to the release; the second one is no error.
            #expect(lines.suffix(3).first == "p ok []")
            #expect(lines.suffix(2).first == "p ok []")
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b false")
        }

        @Test func samplesTravelTogether() throws {
            let stage = try Stage(broker: false)
            let script = try stage.startScript("p hear", "p \(Self.claim(100, latency: 200_000))")
            let answer = try script.waitForLine { $0.hasPrefix("p ok ") }
            #expect(answer.contains("\"batch-latency\": 200000"))
            var batches = try self.hear(4, from: script)
            // Who wakes late reads more at once, and does not wake late each time.
            func isInTime() -> Bool { batches.contains { $0.times.count <= 25 } }
            while !isInTime(), batches.count < 40 { batches += try self.hear(1, from: script) }
            #expect(isInTime(), "\(batches.map(\.times.count))")
            var next = 0
            for batch in batches {
                #expect(batch.first == next)
                #expect(batch.times.count >= 15, "\(batch.times.count)")
                #expect(batch.values.count == 3 * batch.times.count)
                #expect(zip(batch.times, batch.times.dropFirst()).allSatisfy { $1 - $0 == 10_000 })
                next += batch.times.count
            }
        }

        /// The reader sleeps while samples gather: it wakes for all of them, not for each.
        @Test func samplesThatGatherWakeTheReaderOnce() throws {
            let stage = try Stage(broker: false)
            let reader = try #require(stage.reader)
            func waits() throws -> Int {
                let status = try Tool.run(["grep", "^voluntary_ctxt_switches", "/proc/\(reader.pid)/status"]).stdout
                return try #require(status.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
            }
            let script = try stage.startScript("p hear", "p \(Self.claim(100, latency: 200_000))")
            _ = try self.hear(2, from: script)
            let before = try waits()
            let batches = try self.hear(5, from: script)
            let samples = batches.reduce(0) { $0 + $1.times.count }
            #expect(try waits() - before <= samples / 4, "\(samples) samples")
        }

        /// A faster pace begins where the slower one ended, also with samples that the source still held.
        @Test func noSampleIsLostWhenThePaceChanges() throws {
            let stage = try Stage(broker: false)
            let slow = try stage.startScript("s hear", "s \(Self.claim(50, latency: 400_000))")
            _ = try self.hear(1, from: slow)
            let fast = try stage.startScript("f hear", "f \(Self.claim(100, latency: 100_000))")
            let batches = try self.hear(4, from: fast)
            #expect(batches.map(\.first) == batches.indices.map { batches[..<$0].reduce(0) { $0 + $1.times.count } })
            let held = try self.hear(3, from: slow)
            let times = held.flatMap(\.times)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 20_000 }, "\(times)")
        }

        /// What is held back of the sensors that one is made of was read for those who claimed it until then.
        @Test func whoClaimsWhatIsMadeOfOthersHasNoSampleOfBefore() throws {
            let stage = try Stage(broker: false)
            let slow = try stage.startScript("s hear", "s \(Self.claimMotion(50, latency: 2_000_000))", "s wait 0.5")
            try slow.waitUntilSaid("staying")
            let prompt = try stage.startScript("p hear", "p \(Self.claimMotion(50))")
            let samples = try self.hear(10, from: prompt)
            // Where the reader is late, a block has several.
            #expect(samples.first?.first == 0, "\(samples)")
            let followed = zip(samples, samples.dropFirst()).allSatisfy { $1.first == $0.first + $0.times.count }
            #expect(followed, "\(samples)")
            let times = try self.hear(2, from: slow).flatMap(\.times)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 20_000 }, "\(times)")
        }

        /// Also what waits in the sensors that one is made of.
        @Test func aFlushReachesWhatASensorIsMadeOf() throws {
            let stage = try Stage(broker: false)
            let lines = try stage.script(
                "p hear", "p \(Self.claimMotion(50, latency: 10_000_000))", "p wait 0.5",
                "p \(Self.callMotion("Flush", ""))")
            let times = lines.compactMap(Samples.init).flatMap(\.times)
            #expect(times.count >= 20, "\(lines)")
            #expect(lines.last == "p ok []")
        }

        /// While samples of one sensor are lent to what is made of it, nothing else is asked of that one.
        @Test func aSensorThatIsMadeOfOthersSlowsDownInALateReading() throws {
            let stage = try Stage(broker: false)
            let slow = try stage.startScript("s \(Self.claimMotion(25))")
            let fast = try stage.startScript("f \(Self.claimMotion(200))")
            for script in [slow, fast] { try script.waitUntilSaid("staying") }
            let reader = try #require(stage.reader)
            try stage.kill(fast)
            // When a second is over less is asked for. By then samples are due, and nobody reads them.
            usleep(700_000)
            try reader.stop()
            usleep(600_000)
            try reader.signal(SIGCONT)
            try stage.until("the sensor slows down") { try stage.property("Rate", at: Self.motion) == "d 25" }
            #expect(try stage.property("ClaimCount", at: Self.motion) == "t 1")
        }

        /// A latency shorter than the time between two samples gathers nothing, and the answer says so.
        @Test func aLatencyThatGathersNothingIsNone() throws {
            let stage = try Stage(broker: false)
            let lines = try stage.script("p \(Self.claim(10, latency: 50_000))")
            #expect(lines.first?.contains("\"batch-latency\": 0") == true)
        }

        // MARK: Traces

        private static let rows = 200
        /// Fifty samples a second for four seconds; x counts them.
        private static let trace = Stage.trace((0..<rows).map { "\($0 * 20_000),\($0),0.5,-1" })

        @Test func aTracePlaysAtItsSpeedWithItsOwnSpacing() throws {
            let stage = try Stage(source: nil, broker: false, files: ["count.csv": Self.trace])
            try stage.startReader("trace:\(stage.bus.directory)/count.csv?speed=20")
            #expect(try stage.property("Rates", at: Stage.Object.accelerometer) == "ad 1 50")
            #expect(try stage.property("Simulated", at: Stage.Object.accelerometer) == "b true")
            let script = try stage.startScript("p hear", "p \(Self.claim(50))")
            let samples = try self.hear(Self.rows, from: script)
            #expect(samples.map(\.first) == Array(0..<Self.rows))
            #expect(samples.map { $0.values } == (0..<Self.rows).map { [Double($0), 0.5, -1] })
            #expect(zip(samples, samples.dropFirst()).allSatisfy { $1.times[0] - $0.times[0] == 20_000 })
        }

        @Test func aLoopIsAGap() throws {
            let stage = try Stage(source: nil, broker: false, files: ["count.csv": Self.trace])
            try stage.startReader("trace:\(stage.bus.directory)/count.csv?speed=50&loop")
            let script = try stage.startScript("p hear", "p \(Self.claim(50))")
            let samples = try self.hear(Self.rows + 10, from: script)
            #expect(samples.map(\.first) == Array(0..<Self.rows + 10))
            let steps = zip(samples, samples.dropFirst()).map { $1.times[0] - $0.times[0] }
            #expect(steps.indices.filter { steps[$0] != 20_000 } == [Self.rows - 1])
            #expect(steps[Self.rows - 1] > 1_000_000)
            #expect(samples[Self.rows].values == [0, 0.5, -1])
        }

        /// Faster than time, it is ahead of it when it is claimed again.
        @Test func aFastTraceIsPlayedToWhoComesLater() throws {
            let trace = Stage.trace((0..<Self.rows).map { "\($0 * 500_000),\($0),0.5,-1" })
            let stage = try Stage(source: nil, broker: false, files: ["slow.csv": trace])
            try stage.startReader("trace:\(stage.bus.directory)/slow.csv?speed=100")
            var last: Int64 = 0
            for _ in 0..<2 {
                let start = ContinuousClock.now
                let script = try stage.startScript("p hear", "p \(Self.claim(50))")
                let samples = try self.hear(Self.rows, from: script)
                // A second of what took a hundred: no machine is so slow that it comes to half of that.
                #expect(ContinuousClock.now - start < .milliseconds(250 * Self.rows))
                #expect(samples.map { $0.values } == (0..<Self.rows).map { [Double($0), 0.5, -1] })
                #expect(samples[0].times[0] > last)
                last = samples[Self.rows - 1].times[0]
                try stage.kill(script)
                try stage.until("the sensor stops") {
                    try stage.property("Running", at: Stage.Object.accelerometer) == "b false"
                }
            }
        }

        /// No machine plays a million samples a second to so many: it is behind for ever, and more is due whenever it looks.
        @Test func aTraceThatIsPlayedTooFastKeepsNobodyWaiting() throws {
            let trace = Stage.trace((0..<100_000).map { "\($0 * 1_000),\($0 % 7),0.5,-1" })
            let stage = try Stage(source: nil, broker: false, files: ["much.csv": trace])
            try stage.startReader("trace:\(stage.bus.directory)/much.csv?speed=1000&loop")
            let crowd = try Crowd.claimants(400).start(on: stage.address, [])
            for _ in 0..<5 {
                let start = ContinuousClock.now
                #expect(try stage.property("ClaimCount", at: Stage.Object.accelerometer) == "t 400")
                // One turn to the end of the trace takes some seconds for them.
                #expect(ContinuousClock.now - start < .seconds(1))
            }
            try stage.kill(crowd)
            #expect(try stage.reader?.terminate() == .exited(0))
        }

        @Test func aTraceOfSeveralSensorsIsSeveralSensors() throws {
            var text = "# jostle trace 1\n# accelerometer.unit: m/s2\n"
            text += "t,accelerometer.x,accelerometer.y,accelerometer.z,light.lux\n"
            for row in 0..<100 { text += "\(row * 10_000),9.80665,0,0,\(row % 2 == 0 ? "\(row)" : "")\n" }
            let stage = try Stage(source: nil, broker: false, files: ["two.csv": text])
            try stage.startReader("trace:\(stage.bus.directory)/two.csv?speed=5")
            let light = "/org/jostle/Sensors1/light"
            #expect(try stage.property("Channels", at: light) == "as 1 \"lux\"")
            #expect(try stage.property("Rates", at: light) == "ad 1 50")
            #expect(try stage.property("Rates", at: Stage.Object.accelerometer) == "ad 1 100")
            let both = try stage.startScript(
                "a hear", "l hear", "a \(Self.claim(100))",
                "l call org.jostle.Sensors1 \(light) org.jostle.Sensors1.Sensor Claim a{sv} [{'rate':V('d',50.0)}]")
            var (accelerations, lights): ([Samples], [Samples]) = ([], [])
            while accelerations.count < 100 || lights.count < 50 {
                let line = try both.waitForLine { $0.contains(" heard ") }
                guard let samples = Samples(line) else { continue }
                if line.hasPrefix("a ") { accelerations.append(samples) } else { lights.append(samples) }
            }
            #expect(accelerations.allSatisfy { $0.values == [1, 0, 0] })
            #expect(lights.map { $0.values } == stride(from: 0, to: 100, by: 2).map { [Double($0)] })
        }

        /// A device that runs faster than anybody may read it: what is made of it shows no other samples than it does itself.
        @Test func whatIsMadeOfASensorShowsNoOtherSamples() throws {
            let trace = Stage.trace((0..<16_000).map { "\($0 * 625),0,0,1" })
            let stage = try Stage(source: nil, broker: false, files: ["fast.csv": trace])
            try stage.startReader("trace:\(stage.bus.directory)/fast.csv?loop")
            let both = try stage.startScript("a hear", "m hear", "a \(Self.claim(200))", "m \(Self.claimMotion(200))")
            var (accelerations, motions): (Set<Int64>, [Int64]) = ([], [])
            while motions.count < 400 {
                let line = try both.waitForLine { $0.contains(" heard ") }
                guard let samples = Samples(line) else { continue }
                if line.hasPrefix("a ") { accelerations.formUnion(samples.times) } else { motions += samples.times }
            }
            // Of the two connections one may have been read further than the other.
            let (first, last) = (try #require(accelerations.min()), try #require(accelerations.max()))
            let times = motions.filter { (first...last).contains($0) }
            #expect(times.count > 300 && times.allSatisfy { accelerations.contains($0) })
        }

        /// Whichever sensor of a trace is played first, those that begin later are not behind it: what is made of both has both.
        @Test func theSensorsOfAFastTraceGoByOneClock() throws {
            var text = "# jostle trace 1\nt,accelerometer.x,accelerometer.y,accelerometer.z,"
            text += "accelerometer-base.x,accelerometer-base.y,accelerometer-base.z\n"
            for row in 0..<60_000 { text += "\(row * 10_000),0,1,0,0,0,1\n" }
            let stage = try Stage(source: nil, broker: false, files: ["laptop.csv": text])
            try stage.startReader("trace:\(stage.bus.directory)/laptop.csv?speed=20&loop")
            let first = try stage.startScript("a \(Self.claim(1))")
            try first.waitUntilSaid("staying")
            // Twenty times this is more than the 20 s of which the one would wait for the other.
            usleep(2_000_000)
            let hinge = "\(Stage.Object.sensors)/hinge"
            let second = try stage.startScript(
                "h hear",
                "h call org.jostle.Sensors1 \(hinge) org.jostle.Sensors1.Sensor Claim a{sv} [{'rate':V('d',50.0)}]")
            let samples = try self.hear(40, from: second)
            #expect(samples.last?.values == [90, 100])
            try stage.kill(second)
            try stage.kill(first)
            // The clock does not go back for whoever begins then.
            let last = try #require(samples.last?.times.last)
            let third = try stage.startScript("a hear", "a \(Self.claim(1))")
            #expect(try self.hear(1, from: third)[0].times[0] > last)
        }

        /// It is read in turns where it has nothing of a sensor for long, also before the first row of it.
        @Test func whatIsRareInATraceIsPlayedAllTheSame() throws {
            var text = "# jostle trace 1\nt,accelerometer.x,accelerometer.y,accelerometer.z,light.lux\n"
            let lights = [20_000: "1", 20_020: "2", 59_999: "3"]
            for row in 0..<60_000 { text += "\(row * 1_000),0,0,1,\(lights[row] ?? "")\n" }
            let stage = try Stage(source: nil, broker: false, files: ["rare.csv": text])
            try stage.startReader("trace:\(stage.bus.directory)/rare.csv?speed=1000&loop")
            let script = try stage.startScript(
                "l hear",
                "l call org.jostle.Sensors1 /org/jostle/Sensors1/light org.jostle.Sensors1.Sensor Claim a{sv} [{'rate':V('d',50.0)}]"
            )
            let samples = try self.hear(6, from: script)
            #expect(samples.map { $0.values } == [[1], [2], [3], [1], [2], [3]])
            let steps = zip(samples, samples.dropFirst()).map { $1.times[0] - $0.times[0] }
            #expect(steps == [20_000, 39_979_000, 1_100_000, 20_000, 39_979_000])
        }

        /// What is in its place by the time that somebody claims may have other channels, or another sensor.
        @Test(arguments: ["# sensor: accelerometer\nt,x\n", "# sensor: light\nt,lux\n"])
        func anotherTraceInItsPlaceIsNotPlayed(head: String) throws {
            let stage = try Stage(source: nil, broker: false, files: ["count.csv": Self.trace])
            let path = "\(stage.bus.directory)/count.csv"
            try stage.startReader("trace:\(path)")
            let rows = (0..<Self.rows).map { "\($0 * 20_000),0\n" }.joined()
            try FleetScene.write("# jostle trace 1\n" + head + rows, to: path)
            _ = try stage.script("p \(Self.claim(50))")
            #expect(try stage.property("State", at: Stage.Object.accelerometer) == "s \"broken\"")
            let detail = try stage.property("StateDetail", at: Stage.Object.accelerometer)
            #expect(detail.contains("count.csv: it has no accelerometer any more, or"), "\(detail)")
            // It is looked at anew by whoever claims.
            try FleetScene.write(Self.trace, to: path)
            let script = try stage.startScript("p hear", "p \(Self.claim(50))")
            #expect(try self.hear(2, from: script).map { $0.values } == [[0, 0.5, -1], [1, 0.5, -1]])
        }

        @Test func motionIsAddedToMadeMotionOnly() throws {
            let stage = try Stage(source: nil, broker: false, files: ["count.csv": Self.trace])
            try stage.startReader("trace:\(stage.bus.directory)/count.csv")
            let lines = try stage.script("p \(Self.sensor) Inject sa{sv} ['shake',{}]")
            #expect(lines.first?.hasPrefix("p error org.freedesktop.DBus.Error.NotSupported: ") == true)
        }

        /// Also when samples of the time before are still held.
        @Test(arguments: [(0, 5, 110), (100_000, 1, 12)])
        func injectedMotionIsRead(latency: Int, before: Int, after: Int) throws {
            let stage = try Stage(broker: false)
            let lines = try stage.script(
                "p hear", "p \(Self.claim(100, latency: latency))", "p await \(before)",
                "p \(Self.sensor) Inject sa{sv} ['shake peak=3g axis=y for=1s',{}]",
                "p await \(after)")
            func heard(_ lines: some Collection<String>) -> [Double] {
                lines.compactMap(Samples.init).flatMap { samples in
                    stride(from: 1, to: samples.values.count, by: 3).map { abs(samples.values[$0]) }
                }
            }
            let injected = try #require(lines.firstIndex(of: "p ok []"))
            #expect(heard(lines[..<injected]).allSatisfy { $0 <= 0.05 })
            let peak = try #require(heard(lines).max())
            #expect((2.8...3.1).contains(peak), "\(peak)")
            let times = lines.compactMap(Samples.init).flatMap(\.times)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 10_000 })
        }
    }
}
