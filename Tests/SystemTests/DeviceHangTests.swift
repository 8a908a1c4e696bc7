import Glibc
import TestSupport
import Testing

/// Devices that do not answer, and such as never end: nobody else waits for them.
extension Senses.Devices {
    /// A FIFO that attributes can be made to wait for.
    private struct Silence {
        let path: String
        /// What an attribute holds that does not answer.
        var content: String { "'hangs until \(self.path)'" }

        init(on stage: Stage) throws {
            self.path = "\(stage.bus.directory)/answer"
            try #require(mkfifo(self.path, 0o600) == 0)
        }

        /// Waits until somebody waits, whom `end` answers.
        func begin() throws -> Int32 {
            let writer = open(self.path, O_WRONLY | O_CLOEXEC)
            try #require(writer >= 0)
            return writer
        }

        /// Answers who waits with this, and all others with nothing.
        func end(_ answer: String = "") throws {
            let writer = try self.begin()
            self.end(writer, answer)
        }

        func end(_ writer: Int32, _ answer: String) {
            #expect(write(writer, answer, answer.utf8.count) == answer.utf8.count)
            close(writer)
        }
    }

    private func startWithSilence(_ stage: Stage, _ bed: DeviceBed) throws -> BackgroundProgram {
        let others = try #require(bed.environment["LD_PRELOAD"])
        return try self.start(
            stage, bed, environment: ["LD_PRELOAD": "\(Programs.directory)/libhanging-reads.so \(others)"])
    }

    private func threads(of program: BackgroundProgram) throws -> Int {
        try Tool.run(["ls", "/proc/\(program.pid)/task"]).stdout.split(separator: "\n").count
    }

    /// A sensor hangs in the kernel: the other one is read on and can be claimed, and the first is broken and says so until
    /// its device answers.
    @Test func aReadingThatHangsKeepsNobodyWaiting() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.accelerometer(0), DeviceBed.accelerometer(1))
        let silence = try Silence(on: stage)
        let reader = try self.startWithSilence(stage, bed)
        let other = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 20))")
        let hung = try stage.startScript("h hear Samples", "h \(Self.claim("accelerometer_2d2", 20))")
        for script in [other, hung] { _ = try self.samples(script, 2) }
        #expect(try self.threads(of: reader) == 3)
        let path = DeviceBed.accelerometerPath(1)
        var (before, told): (Int64, Int64) = (0, 0)
        // The longest time without a sample of the other one, each time that it hangs.
        var pauses: [Int64] = []
        // A machine that stands still keeps that one waiting, too, but not each time.
        while pauses.count < 3, pauses.allSatisfy({ $0 >= 900_000 }) {
            if !pauses.isEmpty {
                try bed.perform("set \(path) in_accel_y_raw 0")
                try silence.end("0\n")
                try self.until("accelerometer_2d2", is: "running", on: stage)
            }
            try bed.perform("set \(path) in_accel_y_raw \(silence.content)")
            before = Self.boottime()
            try self.until("accelerometer_2d2", is: "broken", on: stage)
            told = Self.boottime()
            #expect(try self.sensor("accelerometer-2", on: stage).contains("a reading has not come back for 1000 ms"))
            // Sensors can be claimed, that one included.
            for sensor in ["accelerometer", "accelerometer_2d2"] {
                #expect(try stage.script("c \(Self.claim(sensor, 10))").first?.hasPrefix("c ok ") == true)
            }
            var times: [Int64] = []
            while times.last ?? 0 <= told { times += try self.samples(other, 1).times }
            times = times.filter { $0 >= before }
            pauses.append(zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0)
            #expect(try self.threads(of: reader) == 3)
        }
        #expect(pauses.contains { $0 < 900_000 }, "\(pauses)")
        // It is tried again meanwhile, which changes nothing.
        try stage.until("time has passed") { Self.boottime() > told + 2_000_000 }
        #expect(field("state", of: try self.sensor("accelerometer-2", on: stage)) == "\"broken\"")
        #expect(try self.threads(of: reader) == 3)
        // What was asked for before it was given up is no sample any more.
        try bed.perform("set \(path) in_accel_y_raw 500")
        let answered = Self.boottime()
        try silence.end("7\n")
        try self.until("accelerometer_2d2", is: "running", on: stage)
        var later: (times: [Int64], values: [Double]) = ([], [])
        while later.times.last ?? 0 < answered {
            let next = try self.samples(hung, 1)
            later.times += next.times
            later.values += next.values
        }
        for index in later.times.indices {
            #expect(later.times[index] <= before || later.times[index] >= answered, "\(later) \(before) \(answered)")
            let value = later.values[3 * index + 1].magnitude
            #expect(abs(value - (later.times[index] >= answered ? 0.5 : 0)) < 1e-9, "\(later) \(before) \(answered)")
        }
        for script in [other, hung] { _ = try script.terminate() }
        try stage.until("its threads are gone") { try self.threads(of: reader) == 1 }
        #expect(try reader.terminate() == .exited(0))
    }

    /// A reader is stopped while a device answers: that the answer waited for the reader says nothing of the device.
    @Test func aReaderThatWasStoppedBlamesNoDevice() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.accelerometer(0))
        let silence = try Silence(on: stage)
        let reader = try self.startWithSilence(stage, bed)
        let script = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 20))")
        _ = try self.samples(script, 2)
        try bed.perform("set \(Self.flat) in_accel_y_raw \(silence.content)")
        /// The next reading, when the one before it is over.
        func next() throws -> Int32 {
            usleep(100_000)
            return try silence.begin()
        }
        // Which of its threads goes on first is chance.
        for _ in 0..<8 {
            let answer = try next()
            try reader.stop()
            usleep(1_100_000)
            silence.end(answer, "0\n")
            try reader.signal(SIGCONT)
            // Several that took so long, one behind the other, say something of the device.
            silence.end(try next(), "0\n")
        }
        let answer = try next()
        try bed.perform("set \(Self.flat) in_accel_y_raw 0")
        silence.end(answer, "0\n")
        try self.until("accelerometer", is: "running", on: stage)
        #expect(try reader.terminate() == .exited(0))
        #expect(!reader.errors.contains("has not come back"), "\(reader.errors)")
        _ = try script.terminate()
    }

    /// Many sensors of light measure for most of a second before they answer: what they say then is of now, and nothing is wrong.
    @Test func aLightMayTakeItsTime() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        let silence = try Silence(on: stage)
        try bed.perform(
            DeviceBed.add("ambient"),
            "set /devices/platform/ambient/iio:device7 in_illuminance_raw \(silence.content)")
        let reader = try self.startWithSilence(stage, bed)
        let script = try stage.startScript("l hear Samples", "l \(Self.claim("light", 10))")
        var answered: [Int64] = []
        for _ in 0..<5 {
            usleep(600_000)
            answered.append(Self.boottime())
            try silence.end("400\n")
        }
        let told = try self.samples(script, 4)
        #expect(told.values == [50, 50, 50, 50])
        for (time, answer) in zip(told.times, answered) { #expect(time >= answer) }
        #expect(try stage.property("State", at: "\(Stage.Object.sensors)/light") == "s \"running\"")
        #expect(try reader.terminate() == .exited(0))
    }

    /// However many hang, there are no more threads than that; who needs none is read on, and the end waits for none.
    @Test func devicesThatHangAreBounded() throws {
        let count = 18
        let most = 16
        let node = "/dev/input/event6"
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        let silence = try Silence(on: stage)
        for number in 0..<count {
            try bed.perform(
                DeviceBed.accelerometer(number),
                "set \(DeviceBed.accelerometerPath(number)) in_accel_x_raw \(silence.content)")
        }
        try bed.perform(
            DeviceBed.add("laptop"), "input \(node) asked 0=-512,512,256 1=-512,512,256 2=-512,512,256",
            "axis \(node) 2 256")
        let reader = try self.startWithSilence(stage, bed)
        let sensors = ["accelerometer"] + (2...count).map { "accelerometer_2d\($0)" }
        let claims = try stage.startScript(
            sensors.map { "c \(Self.claim($0, 10))" }
                + ["c hear Samples", "c \(Self.claim("accelerometer_2d\(count + 1)", 10))"])
        func broken(_ reason: String) throws -> Int {
            try stage.jostle("sensors", "--json").stdout.split(separator: "\n").count {
                // `motion` says what its accelerometer says.
                field("sensor", of: String($0)) != "\"motion\"" && $0.contains("\"broken\"") && $0.contains(reason)
            }
        }
        try stage.until("each is told") {
            try broken("a reading has not come back") == most && broken("no thread is left to read it") == count - most
        }
        #expect(try self.threads(of: reader) == most + 1)
        let now = Self.boottime()
        while try self.samples(claims, 1).times.last ?? 0 <= now {}
        // Those that hang come back, and those that waited for a thread still do.
        for number in 0..<count { try bed.perform("set \(DeviceBed.accelerometerPath(number)) in_accel_x_raw 0") }
        try silence.end()
        try stage.until("most are read") {
            try broken("") == count - most && broken("no thread is left to read it") == count - most
        }
        #expect(try self.threads(of: reader) == most + 1)
        _ = try claims.terminate()
        try stage.until("its threads are gone") { try self.threads(of: reader) == 1 }
        // Hung again, it ends all the same.
        try bed.perform("set \(Self.flat) in_accel_x_raw \(silence.content)")
        let last = try stage.startScript("h \(Self.claim("accelerometer", 10))")
        try self.until("accelerometer", is: "broken", on: stage)
        #expect(try reader.terminate() == .exited(0))
        _ = try last.terminate()
    }

    /// A node that always has something to read.
    private func flood(_ node: String, of bed: DeviceBed) throws -> BackgroundProgram {
        let root = try #require(bed.environment["UMOCKDEV_DIR"])
        return try BackgroundProgram(tool: ["dd", "if=/dev/zero", "of=\(root)\(node)", "bs=64K", "conv=notrunc"])
    }

    @Test func aBufferThatNeverEndsKeepsNobodyWaiting() throws {
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(DeviceBed.buffered(), "pipe /dev/iio:device3", DeviceBed.accelerometer(0))
        let reader = try self.start(stage, bed)
        let flooded = try stage.startScript("f hear Samples", "f \(Self.claim("accelerometer_2d2", 100))")
        _ = try flooded.waitForLine { $0.hasPrefix("f ok ") }
        let flood = try self.flood("/dev/iio:device3", of: bed)
        _ = try self.samples(flooded, 2)
        let other = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 20))")
        #expect(try self.samples(other, 5).times.count >= 5)
        #expect(try flood.terminate() == .killed(signal: SIGTERM))
        #expect(try reader.terminate() == .exited(0))
    }

    @Test(arguments: ["followed", "asked"])
    func anInputDeviceThatNeverEndsKeepsNobodyWaiting(how: String) throws {
        let node = "/dev/input/event4"
        let stage = try Stage(source: nil, broker: false)
        let bed = try DeviceBed(stage)
        try bed.perform(
            DeviceBed.add("phone"), "input \(node) \(how)", "pipe \(node)", DeviceBed.accelerometer(0))
        let reader = try self.start(stage, bed)
        let flooded = try stage.startScript("f hear Samples", "f \(Self.claim("proximity", 10))")
        _ = try self.samples(flooded, 1)
        let flood = try self.flood(node, of: bed)
        let other = try stage.startScript("a hear Samples", "a \(Self.claim("accelerometer", 20))")
        #expect(try self.samples(other, 5).times.count >= 5)
        // Nor does it keep itself from being read.
        let now = Self.boottime()
        while try self.samples(flooded, 1).times.last ?? 0 <= now {}
        #expect(try flood.terminate() == .killed(signal: SIGTERM))
        #expect(try reader.terminate() == .exited(0))
    }
}
