import DaemonSupport
import Detection
import Devices
import Motion
import SensorCore

/// Tells the kernel when a laptop is a tablet, by a switch that it makes: what it knows of it is the preset `tablet-mode`.
///
/// Desktops follow such a switch where the machine has none of its own. It claims the hinge for as long as the reader runs,
/// because the kernel does not say whether anybody listens.
final class TabletSwitch {
    private var watch: HingeWatch
    private let device: SwitchDevice
    private let log: Log

    init(log: Log) throws(StartProblem) {
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
        for index in times.indices where 2 * index + 1 < values.count {
            let time = Timestamp(microseconds: times[index])
            guard self.watch.take(angle: values[2 * index], confidence: values[2 * index + 1], at: time) else {
                continue
            }
            self.log.info("the laptop is \(self.watch.isIn ? "a tablet" : "no tablet any more")")
            do throws(SwitchDevice.Problem) {
                try self.device.set(self.watch.isIn)
            } catch {
                self.log.warning("the tablet switch cannot be set: \(error.message)")
            }
        }
    }

    func gap(in sensor: SensorService) { self.watch.gap() }
    /// Of that the reader's root tells.
    func changed(_ sensor: SensorService) {}
}
