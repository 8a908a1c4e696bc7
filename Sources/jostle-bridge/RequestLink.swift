import DBus
import DaemonSupport
import FleetCore
import Glibc
import Loop
import MQTT
import Motion

/// Answers questions from afar, as far as the configuration lets it, with what `jostle` says here.
///
/// A process of its own does the work: what it costs is not the bridge's, and a question that goes wrong ends with it. One at a
/// time. Not `Sendable`: it belongs to the loop of the bridge.
final class RequestLink {
    private struct Question {
        var request: DeviceRequest
        var topic: String
        var correlation: [UInt8]?
    }

    private let topics: FleetTopics
    private let allowed: [DeviceRequest.Verb]
    private let format: PayloadFormat
    private let program: String
    private let bus: BusAddress
    private let journal: String?
    private let directory: String
    private let loop: EventLoop
    private let log: Log
    /// False: the server will never take it.
    private let publish: (Publication) -> Bool
    private var budget: RequestBudget
    /// How often it is said that too much is asked: an answer to each would hold up what else is to be said.
    private var refusals: RequestBudget
    private var waiting: [Question] = []
    private var isBusy = false

    private static let mostWaiting = 8
    /// How long an answer may take, in µs.
    private static let patience: Int64 = 10_000_000

    /// - Parameters:
    ///   - directory: of the bridge's own, for policies to try.
    ///   - journal: where the broker's journal is, for `what-if`; `nil`: where `jostle` looks for it.
    init(
        _ configuration: BridgeConfiguration, device: String, in directory: String, journal: String?, bus: BusAddress,
        loop: EventLoop, log: Log, publish: @escaping (Publication) -> Bool
    ) {
        self.topics = FleetTopics(device: device)
        self.allowed = configuration.allow.requests
        self.format = configuration.format
        // Beside this one, or where an installation puts commands; else wherever `PATH` finds it.
        self.program = OwnProgram.path(of: "jostle", in: ["", "../bin", "../../bin"]) ?? "jostle"
        (self.bus, self.journal, self.directory, self.loop, self.log) = (bus, journal, directory, loop, log)
        self.publish = publish
        self.budget = RequestBudget(at: Timestamp(microseconds: Clock.monotonic.now()))
        self.refusals = self.budget
        TrialDirectory.removeLeft(in: directory)
    }

    /// The topics of questions; none: nothing may be asked.
    var wanted: [String] { self.allowed.isEmpty ? [] : [self.topics.requests] }

    /// Takes a message, if it asks something.
    func take(_ publication: Publication) -> Bool {
        guard let word = self.topics.verb(of: publication.topic) else { return false }
        // Whoever cannot be answered, or could have us speak where he may not himself, is not.
        guard let topic = publication.properties.responseTopic, AnswerTopic.isAllowed(topic),
            publication.properties.correlation?.count ?? 0 <= 256, !publication.isRetained
        else { return true }
        let correlation = publication.properties.correlation
        func refuse(_ code: DeviceAnswer.Code, _ message: String) {
            self.answer(.problem(code, message), on: topic, correlation)
        }
        let now = Timestamp(microseconds: Clock.monotonic.now())
        guard self.budget.spend(at: now), self.waiting.count < Self.mostWaiting else {
            if self.refusals.spend(at: now) { refuse(.busy, "too many questions; ask again later") }
            return true
        }
        guard let verb = DeviceRequest.Verb(rawValue: word), self.allowed.contains(verb) else {
            refuse(.notAllowed, "this device does not answer that")
            return true
        }
        do throws(DesiredProblem) {
            let value: DataValue
            do throws(DataProblem) {
                guard publication.payload.count <= DesiredLimits.bytes else {
                    throw DataProblem("more than \(DesiredLimits.bytes) bytes", at: 0)
                }
                value =
                    publication.payload.isEmpty
                    ? .object([])
                    : try PayloadFormat.read(publication.payload, contentType: publication.properties.contentType)
            } catch {
                throw DesiredProblem("the question cannot be read: \(error)")
            }
            let request = try DeviceRequest(verb, value)
            self.log.info("asked for \(verb.rawValue)")
            self.waiting.append(Question(request: request, topic: topic, correlation: correlation))
            self.next()
        } catch {
            refuse(.invalid, "\(error)")
        }
        return true
    }

    private func next() {
        guard !self.isBusy, !self.waiting.isEmpty else { return }
        let question = self.waiting.removeFirst()
        self.isBusy = true
        do throws(SystemError) {
            try self.run(question)
        } catch {
            self.end(question, .problem(.failed, "\(error)"))
        }
    }

    private func end(_ question: Question, _ answer: DeviceAnswer) {
        self.isBusy = false
        self.answer(answer, on: question.topic, question.correlation)
        self.loop.defer { [weak self] in self?.next() }
    }

    private func answer(_ answer: DeviceAnswer, on topic: String, _ correlation: [UInt8]?) {
        var message = Publication(topic, self.format.bytes(answer.value))
        message.properties.contentType = self.format.contentType
        message.properties.isText = self.format == .json
        message.properties.correlation = correlation
        // Nobody waits longer.
        message.properties.expiry = 60
        guard !self.publish(message) else { return }
        // Who asked is not to wait for what no server brings.
        let problem = DeviceAnswer.problem(.failed, "the answer is longer than the server takes")
        message.payload = self.format.bytes(problem.value)
        _ = self.publish(message)
    }

    // MARK: The process

    private func run(_ question: Question) throws(SystemError) {
        var arguments = question.request.arguments
        var trial: TrialDirectory?
        if question.request.verb == .whatIf {
            let directory = try TrialDirectory(in: self.directory, question.request.policy)
            arguments += ["--policy", directory.path]
            if let journal { arguments += ["--state-dir", journal] }
            trial = directory
        }
        // The bus is said where it counts: what reads the journal in a directory asks nobody.
        let asksNobody = trial != nil && self.journal != nil
        var command = ChildProcess.Command(
            self.program, (asksNobody ? [] : ["--bus", self.bus.option]) + arguments)
        (command.input, command.output, command.errorOutput) = (.null, .pipe, .pipe)
        let output = OutputCollector(atMost: DeviceAnswer.most)
        let errors = OutputCollector(atMost: 4_096)
        var ending: ChildProcess.Ending?
        var (isDone, isLate) = (false, false)
        let whenAllIsThere: () -> Void = { [weak self] in
            guard let self, let ending, output.isEnded, errors.isEnded, !isDone else { return }
            isDone = true
            _ = trial.take()
            self.end(question, Self.answer(ending, isLate: isLate, output, errors))
        }
        var timer: EventLoop.TimerID?
        let child = try ChildProcess(command, on: self.loop) { [unowned loop] in
            ending = $0
            if let timer { loop.cancel(timer) }
            whenAllIsThere()
        }
        // Its end ends the timer.
        timer = self.loop.schedule(after: Self.patience) {
            isLate = true
            try? child.send(SIGKILL)
        }
        if let pipe = child.takeOutput() { try output.read(pipe, on: self.loop, whenAllIsThere) }
        if let pipe = child.takeErrorOutput() { try errors.read(pipe, on: self.loop, whenAllIsThere) }
    }

    private static func answer(
        _ ending: ChildProcess.Ending, isLate: Bool, _ output: OutputCollector, _ errors: OutputCollector
    ) -> DeviceAnswer {
        let message = String(decoding: errors.bytes, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
        switch ending {
        case .exited(0): return .read(output.bytes, isCut: output.isCut)
        case .exited(1): return .problem(.notFound, message)
        case .exited(2): return .problem(.invalid, message)
        case .exited(4): return .problem(.notAllowed, message)
        case .exited: return .problem(.failed, message)
        case .killed: return output.isCut ? .read(output.bytes, isCut: true) : .ended(isLate: isLate)
        }
    }
}

/// A policy to try, in a directory that goes with it.
private final class TrialDirectory {
    let path: String

    private static let prefix = "what-if-"
    /// What `mkdtemp` puts a name of its own in the place of.
    private static let hole = "XXXXXX"

    init(in directory: String, _ files: [DesiredFile]) throws(SystemError) {
        var template = Array("\(directory)/\(Self.prefix)\(Self.hole)".utf8CString)
        // SAFETY: the template is a NUL-terminated array of our own.
        guard unsafe mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
        self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for file in files {
            let descriptor = try OwnedDescriptor(
                opening: "\(self.path)/\(file.name)", O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try writeAll(file.text, to: descriptor.raw)
        }
    }

    deinit { Self.remove(self.path) }

    /// Removes what bridges left in a directory that were killed while something was tried.
    static func removeLeft(in directory: String) {
        let length = (Self.prefix + Self.hole).utf8.count
        for name in (try? directoryNames(directory)) ?? []
        where name.hasPrefix(Self.prefix) && name.utf8.count == length {
            let path = "\(directory)/\(name)"
            var status = stat()
            // SAFETY: the path lives for the call, and the structure is ours.
            guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid()
            else { continue }
            Self.remove(path)
        }
    }

    private static func remove(_ path: String) {
        for name in (try? directoryNames(path)) ?? [] {
            // SAFETY: the paths are NUL-terminated strings for the time of the calls.
            unsafe unlink("\(path)/\(name)")
        }
        unsafe rmdir(path)
    }
}

/// What a child writes, up to a bound; what is beyond it is read and thrown away, so that the child can end.
private final class OutputCollector {
    private(set) var bytes: [UInt8] = []
    private(set) var isCut = false
    private(set) var isEnded = false
    private let most: Int
    private var descriptor: OwnedDescriptor?
    private var registration: EventLoop.Registration?

    init(atMost most: Int) { self.most = most }

    /// The loop keeps it until the other side closes the pipe.
    func read(
        _ pipe: consuming OwnedDescriptor, on loop: EventLoop, _ ended: @escaping () -> Void
    ) throws(SystemError) {
        let raw = pipe.raw
        self.descriptor = consume pipe
        self.registration = try loop.watch(raw, for: .read) { [unowned loop] _ in
            guard !self.take(raw) else { return }
            if let registration = self.registration { loop.cancel(registration) }
            self.descriptor = nil
            self.isEnded = true
            ended()
        }
    }

    /// False at the end.
    private func take(_ raw: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        // SAFETY: the kernel writes at most the buffer's size.
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(raw, $0.baseAddress, $0.count) }
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        let room = self.most - self.bytes.count
        self.bytes += buffer[..<min(count, room)]
        if count > room { self.isCut = true }
        return true
    }
}
