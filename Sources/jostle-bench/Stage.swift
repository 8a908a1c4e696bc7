import Glibc
import Loop
import TestSupport

/// A bus of its own, and the programs that are measured on it. All of it ends with the stage.
final class Stage {
    let bus: PrivateBus

    init(services: [PrivateBus.Service] = []) throws(Failure) {
        self.bus = try PrivateBus(.session, services: services, on: .dbusDaemon)
    }

    /// Starts a program of ours, and returns when it owns its name.
    ///
    /// - Parameter tool: a command that runs it, with its arguments.
    func daemon(
        _ name: String, owning busName: String, _ options: [String] = [], environment: [String: String] = [:],
        under tool: [String] = []
    ) throws(Failure) -> BackgroundProgram {
        let arguments = ["--bus", self.bus.address, "--exit-with-bus"] + options
        let program = try BackgroundProgram(name, arguments, environment: environment, under: tool)
        try self.bus.waitForName(busName, timeout: .seconds(60))
        return program
    }

    func broker(
        _ options: [String] = [], environment: [String: String] = [:], under tool: [String] = []
    ) throws(Failure) -> BackgroundProgram {
        try self.daemon(
            "jostle-brokerd", owning: "org.jostle.Broker1", self.brokerOptions + options, environment: environment,
            under: tool)
    }

    /// What the broker keeps goes with the stage.
    var brokerOptions: [String] { ["--state-dir", self.stateDirectory] }
    var stateDirectory: String { "\(self.bus.directory)/state" }

    func reader(_ options: [String]) throws(Failure) -> BackgroundProgram {
        try self.daemon("jostle-sensord", owning: "org.jostle.Sensors1", options)
    }

    /// Starts a command of `jostle-baseline`.
    func baseline(
        _ command: String, _ options: [String] = [], environment: [String: String] = [:], under tool: [String] = []
    ) throws(Failure) -> BackgroundProgram {
        try BackgroundProgram(
            "jostle-baseline", [command, "--bus", self.bus.address] + options, environment: environment, under: tool)
    }

    /// Starts the least that a daemon can be, in plain C: it owns a name, and does nothing else.
    func leastDaemon() throws(Failure) -> BackgroundProgram {
        let name = "org.jostle.Baseline.Daemon"
        let daemon = try self.baseline("daemon", ["--name", name])
        try self.bus.waitForName(name)
        return daemon
    }

    func end() { self.bus.stop() }

    /// Samples that the accelerometer's reader has sent.
    func samplesSent() throws(Failure) -> UInt64 {
        let answer = try self.bus.busctl([
            "get-property", "org.jostle.Sensors1", "/org/jostle/Sensors1/accelerometer", "org.jostle.Sensors1.Sensor",
            "Sent",
        ]).stdout
        guard let count = UInt64(answer.split { " \n".contains($0) }.last ?? "") else {
            throw Failure("the reader does not tell what it sent: \(answer)")
        }
        return count
    }
}

extension BackgroundProgram {
    /// Waits until a baseline client is connected and has claimed or registered; returns its unique name.
    func connected() throws(Failure) -> String {
        try self.waitForLine { $0.hasPrefix(":") }
    }

    /// Ends a baseline client, and reads what it has to say.
    func finalFigures() throws(Failure) -> Figures {
        _ = try self.terminate()
        guard let figures = Figures(try self.waitForLine { $0.hasPrefix("{") }) else {
            throw Failure("\(self.name) says nothing sensible: \(self.output)")
        }
        return figures
    }
}

extension Figures {
    func number(_ name: String) throws(Failure) -> Double {
        guard let value = self[name] else { throw Failure("a baseline does not tell '\(name)'") }
        return Double(value)
    }
}

/// Lets time pass. Only to measure through it, never to wait for something.
func pass(seconds: Double) {
    let end = Clock.monotonic.now() + Int64(seconds * 1_000_000)
    while case let left = end - Clock.monotonic.now(), left > 0 { usleep(UInt32(clamping: left)) }
}
