import FleetCore
import Motion
import PolicyFiles

/// What comes to a device from a server.
enum FleetTarget {
    /// The first byte steers, the rest is the message.
    private static func parts(_ bytes: [UInt8]) -> (steering: UInt8, message: [UInt8], type: String?) {
        let steering = bytes.first ?? 0
        let format: PayloadFormat = steering & 1 == 0 ? .json : .cbor
        return (steering, Array(bytes.dropFirst()), format.contentType)
    }

    /// A value that is read is within its limits, and is read from what is written of it, in both forms.
    static func value(_ bytes: [UInt8]) -> String? {
        let (_, message, type) = self.parts(bytes)
        guard let value = try? PayloadFormat.read(message, contentType: type) else { return nil }
        var count = 0
        guard self.isWithinLimits(value, 0, &count) else { return "a value beyond its limits" }
        // Numbers of JSON have no width: what is whole there may be read as such.
        guard let again = try? CBORCoding.read(CBORCoding.bytes(value)),
            CBORCoding.bytes(again) == CBORCoding.bytes(value)
        else { return "what is written as CBOR does not read the same" }
        let text = JSONCoding.bytes(value)
        guard text.count <= DataLimits.bytes else { return nil }
        guard let same = try? JSONCoding.read(text), JSONCoding.bytes(same) == text else {
            return "what is written as JSON does not read the same"
        }
        _ = PositionMessage(value).map { $0.events.firstOpen(from: 1) &+ $0.verdicts.lastOpen(from: 1) }
        _ = AcknowledgementMessage(value)
        _ = DeviceAnswer(value)
        _ = DesiredReport(value)
        _ = DesiredMemory.Attempt(value)
        return nil
    }

    private static func isWithinLimits(_ value: DataValue, _ depth: Int, _ count: inout Int) -> Bool {
        count += 1
        guard depth < DataLimits.depth, count <= DataLimits.values else { return false }
        switch value {
        case .double(let number): return number.isFinite
        case .list(let values):
            for value in values where !self.isWithinLimits(value, depth + 1, &count) { return false }
            return true
        case .object(let fields):
            for field in fields where !self.isWithinLimits(field.value, depth + 1, &count) { return false }
            return true
        case .null, .bool, .integer, .text: return true
        }
    }

    /// What is wanted is taken as a whole and within its limits, or refused; and only of who signs, where somebody has to.
    static func desired(_ bytes: [UInt8]) -> String? {
        let (steering, message, type) = self.parts(bytes)
        let scope: DesiredScope = steering & 2 == 0 ? .device("kiosk-17") : .group("north")
        let mustBeSigned = steering & 4 != 0
        var isBelieved = false
        // A signature of ours: its first byte is the sum of what it signs.
        let sign: (SignedBundle) -> Bool = { bundle in
            isBelieved = bundle.signature.first == bundle.bytes.reduce(0, &+)
            return isBelieved
        }
        let state: DesiredState
        do throws(DesiredProblem) {
            state = try DesiredState.read(
                message, contentType: type, for: scope, isSigned: mustBeSigned ? sign : nil)
        } catch {
            guard let again = DesiredProblem(error.value), again == error else {
                return "a problem that cannot be told"
            }
            return self.step(.unusable(scope, error), steering)
        }
        if mustBeSigned, !isBelieved { return "what nobody signed is taken" }
        if mustBeSigned, state.addressee != "\(scope)" { return "what is for \(state.addressee ?? "nobody") is taken" }
        guard (1...DesiredLimits.version).contains(state.version) else { return "version \(state.version)" }
        for file in (state.policy ?? []) + (state.apps ?? []) {
            guard file.name.hasSuffix(".conf"), !file.name.hasPrefix("."), !file.name.contains("/") else {
                return "a file '\(file.name)'"
            }
        }
        for kind in [state.policy ?? [], state.apps ?? []]
        where kind.count > DesiredLimits.files || Set(kind.map(\.name)).count != kind.count {
            return "\(kind.count) files, some of one name"
        }
        guard (try? DesiredState(state.value)) == state else { return "what is kept of it does not read the same" }
        for file in state.policy ?? [] {
            let reading = PolicyReader.read([PolicyFile(name: file.name, layer: .outside, bytes: Array(file.text.utf8))]
            )
            _ = PolicyLinter.check(reading).map { "\($0)" }
        }
        return self.step(.offered(scope, state, isNew: true), steering)
    }

    /// What is believed goes through the machine to its end, whatever the disk and the broker say.
    private static func step(_ input: DesiredMachine.Input, _ steering: UInt8) -> String? {
        var now = Timestamp.zero
        var machine = DesiredMachine(
            DesiredMemory(), allowing: [.policy, .apps, .detectors, .pause], confirmWithin: .seconds(4), at: now)
        var effects = machine.begin(at: now) + machine.step(.broker(isThere: true), at: now)
        effects += machine.step(.connection(true), at: now) + machine.step(input, at: now)
        for round in 0..<64 {
            guard !effects.isEmpty else { break }
            let effect = effects.removeFirst()
            let isWell = steering >> 3 & UInt8(1 << (round % 4)) == 0
            let problem = isWell ? nil : DesiredProblem("no", file: "50-x.conf", line: 1, column: 1)
            switch effect {
            case .stage: effects += machine.step(.staged(problem), at: now)
            case .reload(let number): effects += machine.step(.reloaded(number, problem), at: now)
            case .keep: effects += machine.step(.kept, at: now)
            case .probe: effects += machine.step(.probed(isWell), at: now)
            case .report(let report):
                guard DesiredReport(report.value) == report else { return "a report that is told otherwise" }
                effects += machine.step(.told(report), at: now)
            case .wake(let time):
                now = max(now, time)
                effects += machine.step(.time, at: now)
            case .note, .switchTo, .clear, .follow, .say: break
            }
        }
        return nil
    }

    /// A question becomes arguments that are what they seem, or a refusal; its answer goes where answers go, or nowhere.
    static func request(_ bytes: [UInt8]) -> String? {
        let (steering, message, type) = self.parts(bytes)
        let lines = message.split(separator: FuzzTarget.separator, maxSplits: 1, omittingEmptySubsequences: false)
        let topic = lines.count > 1 ? String(decoding: lines[0], as: UTF8.self) : ""
        let rest = Array(lines.last ?? [])
        if AnswerTopic.isAllowed(topic) {
            guard topic.hasPrefix("jostle/1/@/answer/"), !topic.contains("#"), !topic.contains("+"),
                topic.split(separator: "/", omittingEmptySubsequences: false).count == 5
            else { return "answers may go to '\(topic)'" }
        }
        if let verb = FleetTopics(device: "kiosk-17").verb(of: topic), verb.contains("/") {
            return "the verb '\(verb)'"
        }
        _ = HomeAssistant.isBirth(rest)
        _ = DeviceAnswer.read(rest, isCut: steering & 8 != 0).value
        let verb = DeviceRequest.Verb.allCases[Int(steering >> 1 & 3) % DeviceRequest.Verb.allCases.count]
        guard let value = try? PayloadFormat.read(rest, contentType: type),
            let request = try? DeviceRequest(verb, value)
        else { return nil }
        let known: Set = ["--json", "--app", "--sequence", "--since"]
        for argument in request.arguments where argument.isEmpty || argument.hasPrefix("-") && !known.contains(argument)
        {
            return "the argument '\(argument)'"
        }
        return request.arguments.count > 6 ? "\(request.arguments)" : nil
    }

    /// A configuration that is read says whom to reach; one that is not says why.
    static func configuration(_ bytes: [UInt8]) -> String? {
        let (configuration, findings) = BridgeFileReader.read(PolicyFile(name: "bridge.conf", bytes: bytes))
        _ = findings.map { "\($0)" }
        guard let configuration else { return findings.isEmpty ? "nothing is read, and nobody says why" : nil }
        return configuration.server.host.isEmpty ? "a server without a name" : nil
    }
}
