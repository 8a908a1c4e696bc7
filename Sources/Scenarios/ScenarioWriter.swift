import Arbitration
import Motion

extension Scenario: CustomStringConvertible {
    /// The scenario as a file. Reading it gives the same scenario.
    package var description: String {
        (self.isRecording ? Self.recordingHeader : Self.header) + "\n" + self.steps.map(\.description).joined()
    }

    /// In whole microseconds where milliseconds would not do.
    static func text(_ span: TimeSpan) -> String {
        let (milliseconds, rest) = span.microseconds.quotientAndRemainder(dividingBy: 1_000)
        return rest == 0 ? "\(milliseconds)ms" : "\(span.microseconds)us"
    }

    /// A name as one word: what would end it, and the sign of that itself, stand as `%` and two digits.
    package static func word(_ name: String) -> String {
        guard name.utf8.contains(where: isEscaped) else { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            if self.isEscaped(byte) {
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isEscaped(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "%") }
}

extension Scenario.Step: CustomStringConvertible {
    /// The step as it stands in a file, with the end of its line.
    package var description: String {
        var text = "\(self.isJoined ? "&" : Scenario.text(self.time)) \(self.event)\n"
        if case .policy(.some(let file)) = self.event {
            for line in file.lines { text += line.isEmpty ? "|\n" : "| \(line)\n" }
        }
        return text
    }
}

extension Scenario.Event: CustomStringConvertible {
    package var description: String {
        switch self {
        case .app(let id, let entrance): return "app \(id) \(Self.text(entrance))"
        case .back(let id, let entrance): return "back \(id) \(Self.text(entrance))"
        case .away(let id): return "away \(id)"
        case .detector(let id, let facts): return "detector \(id) \(Self.text(facts))"
        case .removeDetector(let id, let name): return "remove \(id) \(Scenario.word(name))"
        case .available(let id, let name, let isAvailable):
            return "available \(id) \(Scenario.word(name)) \(Self.yesOrNo(isAvailable))"
        case .state(let id, let state): return "state \(id) \(state?.name ?? "auto")"
        case .foreground(.none): return "foreground unreported"
        case .foreground(.shown(let apps)):
            let visible = apps.visible.isEmpty ? nil : Self.text(apps.visible)
            return "foreground \(apps.front.isEmpty ? "nobody" : Self.text(apps.front))"
                + Self.option("visible", visible)
        case .frozen(let apps): return "frozen \(apps.isEmpty ? "nobody" : Self.text(apps))"
        case .playing(let apps): return "playing \(apps.isEmpty ? "nobody" : Self.text(apps))"
        case .activity(let id, let mode, let isRunning, let number, let session):
            return "activity \(id) \(mode.name) \(isRunning ? "begin" : "end")"
                + Self.option("class", session.map { Scenario.word($0.name) })
                + (session?.mixes == true ? " mix-with-others=yes" : "") + Self.option("number", number)
        case .assertion(let id, let step): return "assertion \(id) \(Self.text(step))"
        case .task(let id, let step): return "task \(id) \(step.rawValue)"
        case .sleep(let begins): return "sleep \(begins ? "begin" : "end")"
        case .locked(let isLocked): return "locked \(Self.yesOrNo(isLocked))"
        case .power(.ac): return "power ac"
        case .power(.battery(.none)): return "power battery"
        case .power(.battery(.some(let charge))): return "power battery \(Self.text(charge: charge))"
        case .clock(let minute):
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][min(6, max(0, minute / 1_440))]
            return "clock \(day) \(two(minute % 1_440 / 60)):\(two(minute % 60))"
        case .hit(let id, let name, let peak, let lasting, let sample, let isClipped, let note):
            return "hit \(id) \(Scenario.word(name)) \(peak)"
                + (lasting == .zero ? "" : " for=\(Scenario.text(lasting))")
                + (isClipped ? " clipped=yes" : "") + (note == .none ? "" : " note=\(note.rawValue)")
                + (sample.map { " sample=\(Scenario.text($0))" } ?? "")
        case .answer(let id, let answer, let epoch):
            return "\(answer.rawValue) \(id)" + (epoch.map { " epoch=\($0)" } ?? "")
        case .launch(let id, let reason, let strength, let lasting, let user):
            return "launch \(id) \(Scenario.word(reason.description)) for=\(Scenario.text(lasting))"
                + (strength == 0 ? "" : " strength=\(strength)") + Self.option("user", user)
        case .launched(let id, let result, let number):
            return "launched \(id) \(result.name)" + Self.option("number", number)
        case .leave(let id): return "leave \(id)"
        case .policy(.none): return "policy"
        case .policy(.some(let file)):
            return "policy \(Scenario.word(file.name))" + (file.isUser ? " user" : file.isOutside ? " outside" : "")
        case .motion(let time): return "motion \(Scenario.text(time))"
        case .rewind(let time): return "rewind \(Scenario.text(time))"
        case .patience(let begins): return "patience \(begins ? "begin" : "end")"
        case .lastTrue(let id, let name, let time):
            return "true \(id) \(Scenario.word(name)) \(time.map { Scenario.text($0) } ?? "never")"
        case .end: return "end"
        }
    }

    /// App ids in an order that is always the same.
    private static func text(_ apps: Set<AppID>) -> String {
        apps.sorted().map(\.description).joined(separator: ",")
    }

    private static func text(_ entrance: AppEntrance) -> String {
        var words = ["proof=\(entrance.proof.name)"]
        if let told = entrance.told { words.insert("state=\(told.name)", at: 0) }
        if let user = entrance.user { words.append("user=\(user)") }
        if !entrance.isProvenEnough { words.append("proven=no") }
        if !entrance.isConnected { words.append("connected=no") }
        if entrance.hasPlayer { words.append("player=yes") }
        if !entrance.declared.isAll {
            let modes = entrance.declared.elements.map(\.name).joined(separator: ",")
            words.append("modes=\(modes.isEmpty ? "none" : modes)")
        }
        return words.joined(separator: " ")
    }

    private static func text(_ step: Scenario.AssertionStep) -> String {
        switch step {
        case .begin(let name, let warning, let number):
            let isStandard = warning == AssertionRequest.standardWarning
            return "begin" + self.option("name", name.map(Scenario.word))
                + self.option("warning", isStandard ? nil : Scenario.text(warning)) + self.option("number", number)
        case .end(let name, let number):
            return "end" + self.option("name", name.map(Scenario.word)) + self.option("number", number)
        case .renew(let name, let below):
            return "renew" + self.option("name", name.map(Scenario.word))
                + self.option("below", below.map(Scenario.text))
        }
    }

    private static func option(_ key: String, _ value: (some CustomStringConvertible)?) -> String {
        value.map { " \(key)=\($0)" } ?? ""
    }

    private static func text(_ facts: DetectorFacts) -> String {
        var words = [Scenario.word(facts.name)]
        if !facts.preset.isEmpty { words.append("preset=\(Scenario.word(facts.preset))") }
        // What a reader takes it to measure: a share has no unit of its own.
        var said = Dimension.acceleration
        if facts.sensor != SensorDescription.accelerometer { words.append("sensor=\(Scenario.word(facts.sensor))") }
        if let threshold = facts.threshold {
            // Infinity is no number, and stands alone.
            let hasUnit = threshold.isFinite && !facts.dimension.canonicalUnit.isEmpty
            words.append("threshold=\(threshold)\(hasUnit ? facts.dimension.canonicalUnit : "")")
            said = hasUnit ? facts.dimension : .none
        }
        if facts.dimension != said { words.append("measures=\(self.name(of: facts.dimension))") }
        words.append("rest=\(Scenario.text(facts.rest))")
        if facts.startsResting { words.append("starts-resting=yes") }
        if !facts.isAvailable { words.append("available=no") }
        return words.joined(separator: " ")
    }

    /// A dimension as one word.
    static func name(of dimension: Dimension) -> String {
        String(dimension.rawValue.map { $0 == " " ? "-" : $0 })
    }

    /// In percent, as people think of it, where that reads back as the same number.
    private static func text(charge: Double) -> String {
        let percent = "\(charge * 100)%"
        return (try? Quantity.parse(percent))?.value == charge ? percent : "\(charge)"
    }

    private static func yesOrNo(_ flag: Bool) -> String { flag ? "yes" : "no" }
}
