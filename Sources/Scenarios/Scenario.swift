package import Arbitration
package import Motion

/// What happens, when: a text file of timed inputs that runs through the real core in virtual time.
package struct Scenario: Equatable, Sendable {
    package struct Step: Equatable, Sendable {
        /// Since the scenario began; when the input arrives. Never decreases.
        package var time: TimeSpan
        package var event: Event
        /// Part of the same input as the step before.
        package var isJoined: Bool

        package init(_ time: TimeSpan, _ event: Event, isJoined: Bool = false) {
            self.time = time
            self.event = event
            self.isJoined = isJoined
        }
    }

    package enum Event: Equatable, Sendable {
        /// An app comes, or exists without being on the bus.
        case app(AppID, AppEntrance)
        /// An app that exists comes to the bus.
        case back(AppID, AppEntrance)
        /// An app leaves the bus and goes on existing, with its detectors.
        case away(AppID)
        case detector(AppID, DetectorFacts)
        case removeDetector(AppID, String)
        /// The sensor of a detector comes or goes.
        case available(AppID, String, Bool)
        /// An app is said to be in a state, whatever else is the case; `nil`: no more.
        case state(AppID, AppState?)
        /// Somebody says which apps are in front and which are seen beside, or stops saying so.
        case foreground(ForegroundReport)
        /// Somebody says which apps cannot run now.
        case frozen(Set<AppID>)
        /// Somebody says whose players play.
        case playing(Set<AppID>)
        /// Without a number it is the oldest of its mode that ends.
        case activity(AppID, BackgroundMode, isRunning: Bool, number: UInt64? = nil, session: SessionRequest? = nil)
        case assertion(AppID, AssertionStep)
        case locked(Bool)
        /// A task of an app begins, which keeps it going, or ends.
        case task(AppID, TaskStep)
        /// The system goes to sleep, or is back.
        case sleep(Bool)
        case power(Power)
        /// The wall clock, in minutes of the week.
        case clock(Int)
        /// A detector fires. Its condition stays true for `lasting`. The sample came with the hit, unless its time is said.
        case hit(
            AppID, String, peak: Double, lasting: TimeSpan = .zero, sample: TimeSpan? = nil, isClipped: Bool = false,
            note: HitNote = .none)
        /// An app answers an event; without an epoch the last one it got.
        case answer(AppID, Answer, epoch: UInt64?)
        /// An app leaves the bus and is forgotten.
        case leave(AppID)
        /// Something is due to an app that it is to be launched for, and of use for so long.
        case launch(AppID, LaunchReason, strength: Int = 0, lasting: TimeSpan, user: UInt32? = nil)
        /// There is word on the launch of an app; without a number on the one that is under way.
        case launched(AppID, LaunchResult, number: UInt64? = nil)
        /// A file of the policy that is in force from now on; `nil`: the built-in policy is. Several are joined.
        case policy(File?)
        /// In a recording: there are no more hits up to this sample time.
        case motion(TimeSpan)
        /// In a recording: sample time goes on from here, which is earlier.
        case rewind(TimeSpan)
        /// In a recording: nobody counts as silent from now on, or whoever has not answered does.
        case patience(Bool)
        /// In a recording: when a detector's condition was last true; `nil`: never.
        case lastTrue(AppID, String, TimeSpan?)
        /// Nothing happens, but time passes until here.
        case end
    }

    /// What an app does about an assertion; without a number about its oldest one, of the name if one is said.
    package enum AssertionStep: Equatable, Sendable {
        case begin(name: String?, warning: TimeSpan = AssertionRequest.standardWarning, number: UInt64? = nil)
        case end(name: String?, number: UInt64? = nil)
        /// It ends one and begins another, if it has less time left than `below`.
        case renew(name: String?, below: TimeSpan?)
    }

    /// A policy file as it was read.
    package struct File: Equatable, Sendable {
        /// Without the directory.
        package var name: String
        /// A user's own, which can only restrict.
        package var isUser: Bool
        /// From outside, which counts where the system says nothing.
        package var isOutside: Bool
        /// Its lines, without what ends them.
        package var lines: [String]

        package init(name: String, isUser: Bool, isOutside: Bool = false, lines: [String]) {
            self.name = name
            self.isUser = isUser
            self.isOutside = isOutside
            self.lines = lines
        }

        /// - Parameter path: Directories in front of the name do not count.
        package init(path: String, isUser: Bool, isOutside: Bool = false, bytes: [UInt8]) {
            let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] }
            self.name = String(name ?? path[...])
            self.isUser = isUser
            self.isOutside = isOutside
            var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            if lines.last?.isEmpty == true { lines.removeLast() }
            self.lines = lines.map { String(decoding: $0, as: UTF8.self) }
        }

        package var bytes: [UInt8] { Array(self.lines.map { $0 + "\n" }.joined().utf8) }
    }

    package var steps: [Step]
    /// Written down by a broker: sample time passes as it says, and nothing else is assumed.
    package var isRecording: Bool

    package init(_ steps: [Step] = [], isRecording: Bool = false) {
        self.steps = steps
        self.isRecording = isRecording
    }

    /// It says itself what policy it begins with.
    package var saysItsPolicy: Bool {
        if case .policy = self.steps.first?.event { return true }
        return self.isRecording
    }

    /// What can happen, as the second word of a line.
    package static let verbs: [String] = [
        "app", "back", "away", "detector", "remove", "available", "state", "foreground", "frozen", "playing",
        "activity", "assertion",
        "task",
        "locked", "sleep",
        "power", "clock", "hit", "consume", "pass", "launch", "launched", "leave", "policy", "end",
    ]
    /// What only a broker can write down.
    package static let verbsOfRecordings = ["motion", "rewind", "patience", "true"]

    /// The first line of a scenario that somebody wrote.
    static let header = "# jostle scenario 1"
    /// The first line of a recording.
    static let recordingHeader = "# jostle scenario 2"
    /// Longer than any scenario, and far from where times overflow.
    static let longest = TimeSpan.seconds(86_400 * 366)
}

extension Scenario.Event {
    /// What an input is about: only steps that share it can be one.
    enum Subject: Equatable {
        case device
        case motion
        case policy
    }

    var subject: Subject? {
        switch self {
        case .locked, .power, .clock: .device
        case .hit: .motion
        case .policy: .policy
        case .app, .back, .away, .state, .foreground, .frozen, .playing, .activity, .assertion, .task, .sleep,
            .detector,
            .removeDetector, .available, .answer,
            .launch, .launched, .leave, .motion, .rewind, .patience, .lastTrue, .end:
            nil
        }
    }
}

/// What is wrong with a scenario, and where.
package struct ScenarioProblem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int
    package var message: String

    package var description: String { "\(self.line):\(self.column): \(self.message)" }
}
