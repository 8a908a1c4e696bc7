import DeviceCore
import Loop
import Motion

/// The light sensors beside the keyboard of older MacBooks: an attribute `light` that holds a pair of numbers.
///
/// Nobody knows what they mean but that 255 is the most, so the brighter of the two is told in percent of that.
final class LightPair: SensorReader {
    weak var sink: (any ReadingSink)?
    private let directory: AttributeDirectory
    private let loop: EventLoop
    private var timer: PollTimer?
    private var file: AttributeFile?

    static let attribute = "light"
    static let unit = "%"
    /// Each reading is a talk with the keyboard's controller, which has other things to do.
    static let fastest = 10.0

    init(in directory: AttributeDirectory, on loop: EventLoop) {
        self.directory = directory
        self.loop = loop
    }

    var method: String { "polled" }

    func probe() throws(DeviceProblem) -> SensorFacts {
        var facts = SensorFacts()
        facts.range = 100
        _ = try AttributeFile(self.directory, Self.attribute)
        return facts
    }

    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace {
        if self.file == nil { self.file = try AttributeFile(self.directory, Self.attribute) }
        let timer = PollTimer.running(self.timer, at: pace.rate, atMost: Self.fastest, on: self.loop) { [weak self] in
            self?.read(at: $0)
        }
        self.timer = timer
        return SensorPace(rate: timer.rate)
    }

    func stop() {
        self.timer?.cancel()
        self.timer = nil
        self.file = nil
    }

    private func read(at time: Timestamp) {
        guard let file = self.file else { return }
        let brightness: Double
        do throws(DeviceProblem) {
            brightness = try file.reading { AttributeText.brightness($0) }
        } catch {
            self.sink?.readingFailed(error)
            return
        }
        let row = [brightness]
        self.sink?.reading(at: time, row.span)
        self.sink?.readingDone()
    }
}
