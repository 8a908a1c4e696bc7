import DBus
import DaemonSupport
import Detection
import Loop
import Motion
import Protocol
import Teaching

/// Asks for examples one after another, counts down, and draws what was made.
struct LiveLessons {
    let name: String
    let count: Int
    let sensor: String?
    let bus: ReaderBus
    let loop: EventLoop
    let terminal: Terminal
    /// Has people told a line.
    let say: (String) -> Void

    /// How long an example may take to come, in µs.
    private static let patience: Int64 = 15_000_000
    /// How often in all an example is asked for again that was not made or is odd.
    private static let again = 6
    /// Weaker motion is that of a hand that waits, in g.
    private static let weakest = 0.08

    /// What the examples say so far: they are asked for again until they make a gesture.
    ///
    /// - Parameter teach: throws for the one that is odd.
    func lessons(
        _ teach: ([GestureTeacher.Lesson]) throws(GestureTeacher.Problem) -> TaughtGesture
    ) throws(CommandFailure) -> [GestureTeacher.Lesson] {
        let service = try Service.sensors(on: self.bus, self.loop)
        let (object, sensor) = try service.sensor(self.sensor ?? SensorDescription.accelerometer)
        guard SensorDescription.kind(of: sensor.name) == SensorDescription.accelerometer, sensor.channels.count == 3
        else { throw .usage("teach: a gesture is taught with an accelerometer, not with '\(sensor.name)'") }
        let ear = Ear()
        let reader = SampleReader(service, [(object, 3)])
        reader.onSamples = { _, _, times, values in ear.hear(times, values) }
        let lose = { (what: String) in ear.failure = CommandFailure(.noService, "\(what) went away") }
        service.connection.onLost = { lose("the bus") }
        reader.onLoss = { lose(service.title) }
        stopOnSignals(self.loop) { ear.failure = CommandFailure(.no, "nothing was taught") }
        let pace = SensorPace(rate: 50, batchLatency: .milliseconds(40))
        _ = try service.call(object, InterfaceName.sensor, "Claim", pace.options)

        var lessons: [GestureTeacher.Lesson] = []
        var left = Self.again
        self.say("Make the gesture '\(self.name)' \(self.count) times, each between two calm moments.")
        while true {
            while lessons.count < self.count {
                let number = lessons.count + 1
                guard let found = try self.ask(number, ear) else {
                    guard left > 0 else { throw CommandFailure(.no, "nothing moved: nothing was taught") }
                    left -= 1
                    self.say("  no motion of 0.2 to 3 s came; once more")
                    continue
                }
                lessons.append(GestureTeacher.Lesson(source: "example \(number)", motion: found))
                self.say("  \(rounded(found.example.seconds)) s, \(rounded(found.strength)) g")
                for line in found.example.picture(self.terminal) { self.say(line) }
            }
            do throws(GestureTeacher.Problem) {
                _ = try teach(lessons)
                return lessons
            } catch {
                guard case .odd(let source, _, _) = error, left > 0 else { return lessons }
                left -= 1
                self.say("\(error); once more")
                lessons.removeAll { $0.source == source }
                for index in lessons.indices { lessons[index].source = "example \(index + 1)" }
            }
        }
    }

    /// Counts down and waits for a motion; `nil` when none came.
    private func ask(_ number: Int, _ ear: Ear) throws(CommandFailure) -> MotionFinder.Found? {
        for seconds in [3, 2, 1] {
            self.say("example \(number) in \(seconds)")
            try self.pass(1_000_000, ear) { false }
        }
        self.say("example \(number): now")
        ear.begin()
        try self.pass(Self.patience, ear) { ear.found != nil }
        return ear.found
    }

    /// Runs the loop for a while, or until something holds.
    private func pass(_ microseconds: Int64, _ ear: Ear, until isDone: () -> Bool) throws(CommandFailure) {
        var isOver = false
        let timer = self.loop.schedule(after: microseconds) { isOver = true }
        try self.loop.wait { isOver || isDone() || ear.failure != nil }
        self.loop.cancel(timer)
        if let failure = ear.failure { throw failure }
    }

    /// Hears the sensor; a class of the command's one thread, not `Sendable`: the callbacks of the bus share it.
    private final class Ear {
        var failure: CommandFailure?
        private(set) var found: MotionFinder.Found?
        private var finder = MotionFinder()
        private var isListening = false
        private var last: Int64 = -1
        /// A motion that began before "now" is none.
        private var since: Int64 = 0

        func begin() {
            (self.found, self.isListening, self.since) = (nil, true, self.last)
        }

        func hear(_ times: Span<Int64>, _ values: Span<Double>) {
            for index in times.indices where times[index] > self.last {
                let value = SIMD3(values[index * 3], values[index * 3 + 1], values[index * 3 + 2])
                guard value.x.isFinite, value.y.isFinite, value.z.isFinite else { continue }
                self.last = times[index]
                guard let found = self.finder.take(value, at: times[index]), self.isListening, self.found == nil,
                    found.start >= self.since - 200_000, found.strength >= LiveLessons.weakest
                else { continue }
                (self.found, self.isListening) = (found, false)
            }
        }
    }
}
