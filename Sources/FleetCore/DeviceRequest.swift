package import Motion

/// A question to a device: what it asks, as somebody at the device would.
package struct DeviceRequest: Equatable, Sendable {
    package typealias Verb = BridgeConfiguration.Allow.Request

    package var verb: Verb
    /// What `jostle` is called with, but for the bus. Of another policy only the options: its files come first.
    package var arguments: [String]
    /// The policy to try, for `what-if`.
    package var policy: [DesiredFile]

    /// How long the time may be of which `what-if` asks, in s.
    package static let longestPast: Int64 = 7 * 86_400

    /// Reads a question. What it says becomes arguments, each of which is proved: none can be an option, or anything but itself.
    package init(_ verb: Verb, _ value: DataValue) throws(DesiredProblem) {
        guard case .object(let fields) = value else { throw DesiredProblem("the question is no object") }
        let known: [String] =
            switch verb {
            case .explain: ["epoch", "app", "sequence"]
            case .whyNot: ["app"]
            case .whatIf: ["policy", "since_s"]
            case .status: []
            }
        for field in fields where !known.contains(field.name) {
            throw DesiredProblem("'\(verb.rawValue)' does not know '\(printable(field.name))'")
        }
        self.verb = verb
        self.policy = []
        switch verb {
        case .explain: self.arguments = try Self.explain(value)
        case .whyNot:
            guard let app = value["app"]?.text, Self.isApp(app) else { throw DesiredProblem("'app' is no app id") }
            self.arguments = ["why-not", app, "--json"]
        case .whatIf:
            let state = try DesiredState(.fields(["version": .integer(1), "policy": value["policy"]]))
            guard let policy = state.policy, !policy.isEmpty else { throw DesiredProblem("'policy' has no file") }
            let since = value["since_s"] ?? .integer(3_600)
            guard let seconds = since.integer, (1...Self.longestPast).contains(seconds) else {
                throw DesiredProblem("'since_s' is no number from 1 to \(Self.longestPast)")
            }
            self.policy = policy
            self.arguments = ["policy", "whatif", "--since", "\(seconds)s", "--json"]
        case .status: self.arguments = ["status", "--json"]
        }
    }

    /// Of an event by its epoch, or by the number that its app knows it by; of neither the last one.
    private static func explain(_ value: DataValue) throws(DesiredProblem) -> [String] {
        func number(_ name: String) throws(DesiredProblem) -> Int64? {
            guard let value = value[name] else { return nil }
            guard let number = value.integer, number > 0 else { throw DesiredProblem("'\(name)' is no number above 0") }
            return number
        }
        let (epoch, sequence) = (try number("epoch"), try number("sequence"))
        guard epoch == nil || sequence == nil else { throw DesiredProblem("give 'epoch' or 'sequence', not both") }
        var arguments = ["explain", (epoch ?? sequence).map { "\($0)" } ?? "last"]
        if let app = value["app"] {
            guard let app = app.text, self.isApp(app) else { throw DesiredProblem("'app' is no app id") }
            arguments += ["--app", app]
        }
        if sequence != nil {
            guard value["app"] != nil else { throw DesiredProblem("'sequence' is an app's own number: say 'app'") }
            arguments.append("--sequence")
        }
        return arguments + ["--json"]
    }

    /// An app id, or the unique name of a client: nothing that begins with a hyphen.
    private static func isApp(_ text: String) -> Bool {
        guard let first = text.utf8.first, first != UInt8(ascii: "-"), text.utf8.count <= 255 else { return false }
        return text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
                || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":")].contains(byte)
        }
    }
}

/// What a device answers.
package enum DeviceAnswer: Equatable, Sendable {
    /// What `jostle` printed, an object a line, and whether there was more than fits.
    case lines([DataValue], isCut: Bool)
    case problem(Code, String)

    package enum Code: String, CaseIterable, Sendable {
        /// This device does not answer that.
        case notAllowed = "not-allowed"
        /// The question makes no sense.
        case invalid
        /// There is no such event, app or answer.
        case notFound = "not-found"
        /// Too many questions.
        case busy
        case failed
    }

    /// Bytes of an answer.
    package static let most = 131_072

    package var value: DataValue {
        switch self {
        case .lines(let lines, let isCut):
            .fields(["ok": .bool(true), "result": .list(lines), "cut": isCut ? .bool(true) : nil])
        case .problem(let code, let message):
            .fields(["ok": .bool(false), "error": .text(code.rawValue), "message": .text(message)])
        }
    }

    package init?(_ value: DataValue) {
        if value["ok"]?.bool == true, let lines = value["result"]?.list {
            self = .lines(lines, isCut: value["cut"]?.bool ?? false)
        } else if let code = value["error"]?.text.flatMap(Code.init), let message = value["message"]?.text {
            self = .problem(code, message)
        } else {
            return nil
        }
    }

    /// What is said of a program that had no answer when it was ended.
    ///
    /// - Parameter isLate: That was us, because its time was over; else it failed, or had not the memory that it wanted.
    package static func ended(isLate: Bool) -> DeviceAnswer {
        .problem(.failed, isLate ? "it took too long" : "it failed, or had not the memory that it wanted")
    }

    /// Takes what a program wrote, line by line.
    package static func read(_ output: [UInt8], isCut: Bool) -> DeviceAnswer {
        var lines: [DataValue] = []
        for line in output.split(separator: UInt8(ascii: "\n")) {
            // What is cut ends within a line.
            guard let value = try? JSONCoding.read(Array(line)) else {
                return isCut ? .lines(lines, isCut: true) : .problem(.failed, "the answer cannot be read")
            }
            lines.append(value)
        }
        return .lines(lines, isCut: isCut)
    }
}

/// Where answers may go: below one topic, so that nobody can have a device say something elsewhere.
package enum AnswerTopic {
    package static let root = "\(FleetTopics.root)/@/answer"

    package static func of(_ client: String) -> String { "\(self.root)/\(client)" }

    package static func isAllowed(_ topic: String) -> Bool {
        let prefix = "\(self.root)/"
        return topic.hasPrefix(prefix) && FleetTopics.isName(String(topic.dropFirst(prefix.count)))
    }
}

/// How many questions are answered: some in a row, then one after each pause, and a few may wait.
package struct RequestBudget: Sendable {
    package static let burst = 8
    package static let pause = TimeSpan.seconds(2)

    private var left = RequestBudget.burst
    private var since: Timestamp

    package init(at now: Timestamp) { self.since = now }

    package mutating func spend(at now: Timestamp) -> Bool {
        while self.left < Self.burst, now - self.since >= Self.pause {
            self.left += 1
            self.since = self.since + Self.pause
        }
        if self.left == Self.burst { self.since = now }
        guard self.left > 0 else { return false }
        self.left -= 1
        return true
    }
}
