import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Who fell behind catches up, and presents nothing of the past as now.
    @Suite(.serialized) struct Stale {
        private static let sensor =
            "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor"
        private static let shakes = "shake.planar,threshold=2g"

        private func shake(_ stage: Stage) throws { try stage.inject("shake peak=4g for=500ms; rest 1s") }

        /// CLOCK_BOOTTIME in microseconds.
        private var now: Double {
            var time = timespec()
            #expect(clock_gettime(CLOCK_BOOTTIME, &time) == 0)
            return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
        }

        /// Waits until a clock that goes on by itself has gone on.
        private func pass(_ seconds: Double, _ stage: Stage) throws {
            let end = self.now + seconds * 1e6
            try stage.until("\(seconds) s") {
                _ = try stage.property("Sent", at: Stage.Object.sensors)
                return self.now >= end
            }
        }

        /// A broker that hangs, and a shake meanwhile; when it goes on, that is long ago.
        @Test func aBrokerThatHangsTellsNothingOld() throws {
            let stage = try Stage()
            let app = try stage.watch(Self.shakes, "--app", "org.example.App")
            try self.shake(stage)
            _ = try app.nextEvent()
            let broker = try #require(stage.broker)
            try self.pass(2, stage)
            try broker.stop()
            try self.shake(stage)
            try self.pass(5, stage)
            try broker.signal(SIGCONT)
            let object = Stage.Object.app("org.example.App")
            try stage.until("the old one is given up") { try stage.count("Expired", at: object) > 0 }
            let resumed = self.now
            try self.shake(stage)
            let event = try app.nextEvent()
            #expect(try #require(number("t_us", of: event)) >= resumed, "\(event)")
            try stage.until("all is as before") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("\"state\" s \"ready\"")
            }
        }

        /// Two seconds are not too long: what happened then is still told.
        @Test func aBrokerThatHangsForAMomentLosesNothing() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,threshold=2g,rest=0s", "--app", "org.example.App")
            let broker = try #require(stage.broker)
            var (begun, isMoment) = (0.0, false)
            // On a machine that is busy a moment may become longer: such a one is not what is meant, and is made again.
            for _ in 0..<5 where !isMoment {
                try self.pass(1, stage)
                begun = self.now
                try broker.stop()
                let sent = try stage.count("Sent", at: Stage.Object.accelerometer)
                try self.shake(stage)
                try stage.until("it is on its way") {
                    // The broker was sent the shake; ten samples a second.
                    try stage.count("Sent", at: Stage.Object.accelerometer) > sent + 8
                }
                try broker.signal(SIGCONT)
                isMoment = self.now - begun < 2e6
            }
            try #require(isMoment)
            _ = try app.nextEvent { (number("t_us", of: $0) ?? 0) > begun }
            let sensors = try stage.property("Sensors", at: Stage.Object.broker)
            #expect(sensors.contains("\"lost\" t 0") && sensors.contains("\"gaps\" t 0"), "\(sensors)")
        }

        /// A reader that is stopped is seen to be, and says nothing old when it goes on.
        @Test func aStoppedReaderHasStalled() throws {
            let stage = try Stage()
            let app = try stage.watch(Self.shakes, "--app", "org.example.App")
            try self.shake(stage)
            _ = try app.nextEvent()
            try self.pass(2, stage)
            func state() throws -> String { try stage.property("Sensors", at: Stage.Object.broker) }
            try stage.until("it runs") { try state().contains("\"state\" s \"ready\"") }
            let reader = try #require(stage.reader)
            try self.shake(stage)
            try reader.stop()
            let stopped = self.now
            try stage.until("the stop is seen") { try state().contains("\"state\" s \"stalled\"") }
            print("a stopped reader was seen to have stalled within \((self.now - stopped) / 1e3) ms")
            let status = try stage.jostle("status")
            #expect(status.stdout.contains("stalled"), "\(status.stdout)")
            let answer = try stage.jostle("why-not", "org.example.App").stdout
            #expect(answer.contains("it cannot fire, the accelerometer has stalled"), "\(answer)")
            let detectors = try stage.property("Detectors", at: Stage.Object.app("org.example.App"))
            #expect(detectors.contains("\"available\" b false"), "\(detectors)")

            let start = ContinuousClock.now
            let sensors = try stage.jostle("sensors")
            #expect(sensors.status == 3 && sensors.stderr.contains("does not answer"), "\(sensors)")
            #expect(ContinuousClock.now - start < .seconds(15))

            try self.pass(3.5, stage)
            let resumed = self.now
            try reader.signal(SIGCONT)
            try stage.until("it runs again") { try state().contains("\"state\" s \"ready\"") }
            try self.shake(stage)
            let shown = app.output.split(separator: "\n").filter { $0.hasPrefix("{\"detector\":") }.count
            let event = try app.nextEvent { (number("t_us", of: $0) ?? 0) > stopped }
            #expect(try #require(number("t_us", of: event)) >= resumed, "\(event), \(shown)")
        }

        /// Whatever comes of a trace comes as it was recorded, and its end is no fault.
        @Test func aTraceThatEndedHasNotStalled() throws {
            let trace = Stage.trace((0..<20).map { "\($0 * 20_000),0,0,1" })
            let stage = try Stage(source: nil, files: ["short.csv": trace])
            try stage.startReader("trace:\(stage.bus.directory)/short.csv")
            let app = try stage.watch(Self.shakes)
            try stage.until("it has begun") {
                let sensors = try stage.property("Sensors", at: Stage.Object.broker)
                return sensors.contains(#/"received" t [1-9]/#)
            }
            // It lasts for 0.4 s.
            try self.pass(2, stage)
            let sensors = try stage.property("Sensors", at: Stage.Object.broker)
            #expect(sensors.contains("\"state\" s \"ready\"") && !sensors.contains("stalled"), "\(sensors)")
            _ = try app.terminate()
        }

        /// After a stop comes what was on its way, one gap, and then the newest.
        @Test func aStreamFindsTheNewestAgain() throws {
            let stage = try Stage(
                source: "synth:rate=2000Hz; gap 2s; rest 24h", broker: false, readerPolicy: Stage.fast)
            let open = "\(Self.sensor) OpenStream a{sv} [{'rate':V('d',2000.0),'batch-latency':V('t',0)}]"
            let script = try stage.startScript("p \(open)", "p packets 6000", "p drop")
            _ = try script.waitForLine { $0.hasPrefix("p ok ") }
            try script.stop()
            try stage.until("samples are dropped") {
                try stage.count("Dropped", at: Stage.Object.accelerometer) > 2_000
            }
            let resumed = self.now
            try script.signal(SIGCONT)
            var (next, gaps, rows) = (0, 0, 0)
            var last = 0.0
            while last < resumed {
                let words = try script.waitForLine { $0.hasPrefix("p packet ") }.split(separator: " ", maxSplits: 5)
                let count = try #require(Int(words[3]))
                #expect(Int(words[4]) == next)
                next += count
                if words[2] == "2" {
                    gaps += 1
                    #expect(count > 2_000)
                    continue
                }
                if gaps > 0 { rows += count }
                let row = words[5].split(whereSeparator: { "[,] ".contains($0) })
                last = try #require(row.first.flatMap { Double($0) })
            }
            #expect(gaps == 1)
            // A row of three channels takes 40 bytes of the 128 KiB: a second and a half.
            #expect(rows >= 3_276, "\(rows)")
        }
    }
}
