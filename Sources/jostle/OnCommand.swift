import DaemonSupport
import JostleClient
import Loop
import Motion

/// `jostle on PRESET… -- COMMAND…`: runs a command on every event, the event in its environment.
struct OnCommand {
    static let syntax = CommandSyntax(
        "on", "run a command on every event: jostle on PRESET... -- COMMAND...",
        options: [
            CommonOption.app, CommonOption.when, CommonOption.sensor, CommonOption.every, CommonOption.rest,
        ],
        arguments: [CommonArgument.presets],
        trailing: CommandArgument(
            "COMMAND", "the command, with the event in its environment", .nonEmptyList, naming: .program),
        action: Invocation.action {
            try OnCommand(
                detectors: try $0.arguments.detectors(), command: $0.arguments.trailing,
                app: $0.arguments.value(of: CommonOption.app) ?? "", loop: $0.loop, bus: JostleApp.Bus($0.bus)
            ).run()
        })

    var detectors: [Detector]
    var command: [String]
    var app: String
    let loop: EventLoop
    var bus: JostleApp.Bus

    /// Commands at work at the same time. An event beyond that is told, not queued: a gesture goes stale.
    static let commandLimit = 16

    func run() throws(CommandFailure) {
        guard let program = self.command.first else { throw .usage("on: give a command after '--'") }
        do throws(JostleError) {
            let client = JostleApp(app: self.app, on: self.bus, loop: self.loop)
            var running = 0
            client.onEvent = { event in
                guard running < Self.commandLimit else {
                    client.pass(event)
                    return complain("\(event.detector): \(Self.commandLimit) commands are still at work; left out")
                }
                var command = ChildProcess.Command(program, Array(self.command.dropFirst()))
                command.environment = inheritedEnvironment() + event.environment
                do {
                    // The loop keeps the child until it has ended.
                    _ = try ChildProcess(command, on: self.loop) { _ in running -= 1 }
                    running += 1
                } catch {
                    complain("cannot run '\(printable(program))': \(error)")
                }
            }
            client.onGap = { complain($0.line) }
            client.onRefusal = { complain("\($0)") }
            stopOnSignals(self.loop) { client.stop() }
            try client.connect()
            for detector in try client.add(self.detectors) {
                for warning in detector.warnings { complain("\(detector.name): \(warning)") }
            }
            try client.run()
        } catch {
            throw CommandFailure(error)
        }
    }
}

extension MotionEvent {
    fileprivate var environment: [String] {
        [
            "JOSTLE_DETECTOR=\(self.detector)", "JOSTLE_SEQUENCE=\(self.sequence)", "JOSTLE_EPOCH=\(self.epoch)",
            "JOSTLE_TIME=\(self.time)", "JOSTLE_PEAK=\(self.peak)", "JOSTLE_SIMULATED=\(self.isSimulated ? 1 : 0)",
            "JOSTLE_CLIPPED=\(self.isClipped ? 1 : 0)", "JOSTLE_REDELIVERED=\(self.isRedelivered ? 1 : 0)",
            "JOSTLE_TRANSITION=\(self.transition ?? "")", "JOSTLE_DISTANCE=\(self.distance.map { "\($0)" } ?? "")",
        ]
    }
}
