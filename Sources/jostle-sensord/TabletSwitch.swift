import DaemonSupport
import Detection
import Devices
import Loop
import Motion
import SensorCore

/// Tells the kernel when a laptop is a tablet, by a switch that it makes: what it knows of it is the preset `tablet-mode`.
///
/// Desktops follow such a switch where the machine has none of its own. It claims the hinge for as long as the reader runs,
/// because the kernel does not say whether anybody listens. Desktops give a tablet no keyboard: where nobody can see any more that it
/// is one, it is none.
final class TabletSwitch {
    private var watch: HingeWatch
    private let device: SwitchDevice
    private let loop: EventLoop
    private let log: Log
    /// When what was seen of a hinge that is not to be seen any more is forgotten.
    private var forgetting: EventLoop.TimerID?
    /// A sensor that only stumbles is back by then.
    private static let patience: Int64 = 3_000_000

    init(on loop: EventLoop, log: Log) throws(StartProblem) {
        do throws(DetectorProblem) {
            self.watch = try HingeWatch(["preset": .text("tablet-mode")])
        } catch {
            throw StartProblem("\(error)")
        }
        do throws(SwitchDevice.Problem) {
            self.device = try SwitchDevice(named: "Jostle tablet mode")
        } catch {
            throw StartProblem(error.message)
        }
        self.loop = loop
        self.log = log
    }

    /// Why there is none.
    struct StartProblem: Swift.Error {
        let message: String

        init(_ message: String) { self.message = message }
    }

    /// The hinge is there, for the first time.
    func follow(_ hinge: SensorService) {
        do throws(ClaimProblem) {
            _ = try hinge.claim(SensorPace(rate: self.watch.rate), for: self)
        } catch {
            self.log.warning("the tablet switch cannot have the hinge: \(error)")
        }
    }
}

extension TabletSwitch: SampleTaker {
    var names: [String] { ["tablet-switch"] }

    func take(_ times: Span<Int64>, _ values: Span<Double>, from sensor: SensorService) {
        self.loop.cancel(&self.forgetting)
        for index in times.indices where 2 * index + 1 < values.count {
            let time = Timestamp(microseconds: times[index])
            guard self.watch.take(angle: values[2 * index], confidence: values[2 * index + 1], at: time) else {
                continue
            }
            self.tell()
        }
    }

    private func tell() {
        self.log.info("the laptop is \(self.watch.isIn ? "a tablet" : "no tablet any more")")
        do throws(SwitchDevice.Problem) {
            try self.device.set(self.watch.isIn)
        } catch {
            self.log.warning("the tablet switch cannot be set: \(error.message)")
        }
    }

    func gap(in sensor: SensorService) { self.watch.gap() }

    /// What is wrong with the hinge the reader's root tells. A sensor that is broken is tried again and again, and does not look broken
    /// meanwhile: only what it shows is the end of that.
    func changed(_ sensor: SensorService) {
        guard !sensor.description.isAvailable, self.watch.isIn, self.forgetting == nil else { return }
        self.forgetting = self.loop.schedule(after: Self.patience) { [weak self] in self?.forget() }
    }

    private func forget() {
        self.loop.cancel(&self.forgetting)
        self.watch.forget()
        self.tell()
    }
}
