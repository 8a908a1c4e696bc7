import DeviceCore
import Loop
import Motion

/// The light sensors beside the keyboard of older MacBooks: an attribute `light` that holds a pair of numbers.
///
/// Nobody knows what they mean but that 255 is the most, so the brighter of the two is told in percent of that.
final class LightPair: SensorReader {
    weak var sink: (any ReadingSink)?
    private let directory: AttributeDirectory
    private let poll: AttributePoll

    static let attribute = "light"
    static let unit = "%"
    /// Each reading is a talk with the keyboard's controller, which has other things to do.
    static let fastest = 10.0

    init(in directory: AttributeDirectory, _ poll: AttributePoll) {
        self.directory = directory
        self.poll = poll
        poll.sink = self
    }

    var method: String { "polled" }

    func probe() throws(DeviceProblem) -> SensorFacts {
        try self.poll.checkAnswers()
        var facts = SensorFacts()
        facts.range = 100
        facts.isSteady = false
        _ = try AttributeFile(self.directory, Self.attribute)
        return facts
    }

    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        let rate = min(pace.rate, Self.fastest)
        try self.poll.run(at: rate, { AttributeText.brightness($0) }) { () throws(DeviceProblem) in
            [try AttributeFile(self.directory, Self.attribute)]
        }
        return SensorPace(rate: rate)
    }

    func stop() { self.poll.stop() }
}

extension LightPair: PollSink {
    func polled(at time: Timestamp, _ numbers: Span<Double>) { self.sink?.reading(at: time, numbers) }

    func pollDone() { self.sink?.readingDone() }

    func pollFailed(_ problem: DeviceProblem) { self.sink?.readingFailed(problem) }

    func pollReturned() { self.sink?.deviceAnswers() }
}
