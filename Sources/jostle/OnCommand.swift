import DaemonSupport
import Glibc
import JostleClient
import Loop
import Motion

/// `jostle on PRESET… -- COMMAND…`: runs a command on events, the event in its environment.
struct OnCommand {
    private static let overlap = CommandOption.flag(
        "overlap",
        "do not wait for the command before: run one for each event at once, up to \(CommandRunner.most) at a time; what "
            + "comes beyond is skipped")

    static let syntax = CommandSyntax(
        "on",
        "run a command on events, one at a time",
        reaching: .broker,
        options: [
            CommonOption.app, overlap, CommonOption.gesture, CommonOption.when, CommonOption.sensorOfCondition,
            CommonOption.every,
            CommonOption.rest,
        ],
        arguments: [CommonArgument.presets],
        trailing: CommandArgument(
            "COMMAND",
            "the command, with the event in its environment; of the events that come while it runs, the newest waits for its "
                + "end and the others are skipped, which is told", .nonEmptyList, naming: .program),
        notes: [HelpTable("Environment of COMMAND", variables.map { HelpTable.Row($0.name, $0.help) })],
        exits: [
            .done: "it was told to end (Ctrl-C, SIGTERM), and every command that ended had status 0",
            .no:
                "a command ended with another status, was killed (but by SIGINT or SIGTERM) or could not be run, which is "
                + "told; or it did not work out",
        ]
    ) {
        try OnCommand(
            detectors: try $0.arguments.detectors(), command: $0.arguments.trailing,
            overlaps: $0.arguments.has(overlap),
            app: $0.arguments.value(of: CommonOption.app) ?? "", loop: $0.loop, bus: JostleApp.Bus($0.bus)
        ).run()
    }

    /// One thing that the command learns of its event.
    private struct Variable {
        let name: String
        let help: String
        let value: @Sendable (MotionEvent) -> String

        init(_ name: String, _ help: String, _ value: @escaping @Sendable (MotionEvent) -> String) {
            self.name = name
            self.help = help
            self.value = value
        }
    }

    private static let variables = [
        Variable("JOSTLE_DETECTOR", "the detector's name") { $0.detector },
        Variable("JOSTLE_SEQUENCE", "the event's number of this app, from 1") { "\($0.sequence)" },
        Variable("JOSTLE_EPOCH", "the number of the broker's decision, as 'jostle explain' takes it") { "\($0.epoch)" },
        Variable("JOSTLE_TIME", "the time of the sample that decided, in us of CLOCK_BOOTTIME") { "\($0.time)" },
        Variable("JOSTLE_PEAK", "the largest value the detector's quantity had, in its unit") { "\($0.peak)" },
        Variable("JOSTLE_SIMULATED", "1: the motion was made or replayed; else 0") { $0.isSimulated ? "1" : "0" },
        Variable("JOSTLE_CLIPPED", "1: the motion may have been harder than the sensor can show; else 0") {
            $0.isClipped ? "1" : "0"
        },
        Variable("JOSTLE_REDELIVERED", "1: the event was sent before and may have come; else 0") {
            $0.isRedelivered ? "1" : "0"
        },
        Variable("JOSTLE_TRANSITION", "enter, leave, arrive or depart, where the preset tells it; else empty") {
            $0.transition ?? ""
        },
        Variable("JOSTLE_DISTANCE", "how far in m, where the preset measures it; else empty") {
            $0.distance.map { "\($0)" } ?? ""
        },
    ]

    private let detectors: [Detector]
    private let command: [String]
    private let overlaps: Bool
    private let app: String
    private let loop: EventLoop
    private let bus: JostleApp.Bus

    private func run() throws(CommandFailure) {
        guard let program = self.command.first else { throw .usage("on: give a command after '--'") }
        guard isProgram(program) else {
            throw .usage("on: '\(printable(program))' is no program" + (program.contains("/") ? "" : " in PATH"))
        }
        let runner = CommandRunner(
            program, Array(self.command.dropFirst()), atOnce: self.overlaps ? CommandRunner.most : 1, on: self.loop,
            environment: Self.environment)
        do throws(JostleError) {
            let client = JostleApp(app: self.app, on: self.bus, loop: self.loop)
            client.onEvent = { event in
                switch runner.take(event) {
                case .taken: break
                case .skipped: client.pass(event)
                case .notBegun: client.leaveOpen(event)
                }
            }
            client.onGap = { complain($0.line) }
            endOnSignals(self.loop)
            try client.connectForGood()
            // Standard output is the command's.
            let effective = try client.askForGood(on: self.loop) { () throws(JostleError) in
                try client.add(self.detectors)
            }
            for detector in effective {
                complain("listening for \(detector.line)")
                detector.warn()
            }
            stopOnSignals(self.loop) { client.stop() }
            try client.run(watching: effective, on: self.loop)
        } catch {
            throw CommandFailure(error)
        }
        try runner.close()
    }

    /// What the command is started with: what we were, but for another event's variables.
    private static func environment(of event: MotionEvent) -> [String] {
        let names = Set(self.variables.map(\.name))
        let inherited = inheritedEnvironment().filter { line in !names.contains(String(line.prefix { $0 != "=" })) }
        return inherited + self.variables.map { "\($0.name)=\($0.value(event))" }
    }
}

/// Runs one command for events: so many at once, and for the newest of those that come meanwhile when there is room again.
private final class CommandRunner {
    /// What becomes of an event.
    enum Course {
        /// Its command was begun, or it waits for its turn.
        case taken
        /// It is skipped at once: somebody else may have it.
        case skipped
        /// Its command could not be begun, which may go better when it comes again.
        case notBegun
    }

    /// Commands at work at the same time.
    static let most = 16

    private let program: String
    private let arguments: [String]
    private let atOnce: Int
    private let loop: EventLoop
    private let environment: (MotionEvent) -> [String]
    private var running = 0
    /// The newest event that came while the one command ran; with several at once nothing waits.
    private var waiting: MotionEvent?
    private var skipped = 0
    private var ended = 0
    private var failed = 0

    init(
        _ program: String, _ arguments: [String], atOnce: Int, on loop: EventLoop,
        environment: @escaping (MotionEvent) -> [String]
    ) {
        self.program = program
        self.arguments = arguments
        self.atOnce = atOnce
        self.loop = loop
        self.environment = environment
    }

    /// Runs the command for an event, now or later.
    func take(_ event: MotionEvent) -> Course {
        if self.running < self.atOnce { return self.start(event) ? .taken : .notBegun }
        guard self.atOnce == 1 else {
            complain("\(Self.title(event)) is skipped: \(self.atOnce) commands are still at work")
            return .skipped
        }
        // What is newest counts: of a gesture that it is wanted, of a place where one is now.
        if self.waiting != nil { self.skipped += 1 }
        self.waiting = event
        return .taken
    }

    /// Nothing is started any more. What is at work goes on by itself and does not count.
    func close() throws(CommandFailure) {
        if let waiting { complain("\(Self.title(waiting)) is skipped: it waited for the command to end") }
        self.waiting = nil
        guard self.failed > 0 else { return }
        throw CommandFailure(.no, "\(self.failed) of \(self.ended) commands did not end with status 0")
    }

    /// - Returns: false when it cannot be begun, which is told.
    @discardableResult
    private func start(_ event: MotionEvent) -> Bool {
        var command = ChildProcess.Command(self.program, self.arguments)
        command.environment = self.environment(event)
        do {
            // The loop keeps the child until it has ended.
            _ = try ChildProcess(command, on: self.loop) { [weak self] in self?.childEnded($0, event) }
            self.running += 1
            return true
        } catch {
            self.ended += 1
            self.failed += 1
            complain("cannot run '\(printable(self.program))': \(SystemError.message(for: error.code))")
            return false
        }
    }

    private func childEnded(_ ending: ChildProcess.Ending, _ event: MotionEvent) {
        self.running -= 1
        self.ended += 1
        switch ending {
        case .exited(0): break
        // Somebody ended it; what ends us, such as Ctrl-C, often reaches the command first.
        case .killed(SIGINT), .killed(SIGTERM): break
        case .exited(let status): self.fail("the command for \(Self.title(event)) ended with status \(status)")
        case .killed(let signal): self.fail("the command for \(Self.title(event)) was killed by signal \(signal)")
        }
        guard let next = self.waiting.take() else { return }
        if self.skipped > 0 {
            complain("\(self.skipped) \(self.skipped == 1 ? "event is" : "events are") skipped that came while it ran")
        }
        self.skipped = 0
        self.start(next)
    }

    private func fail(_ what: String) {
        self.failed += 1
        complain(what)
    }

    private static func title(_ event: MotionEvent) -> String { "event \(event.sequence) of \(event.detector)" }
}
