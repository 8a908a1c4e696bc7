package import DBus
package import Motion

/// Reads an `a{sv}` strictly: every key must be known and of its type. A key that begins with `x-` is somebody else's and ignored.
package struct OptionReader {
    private let options: [String: Value]
    private let subject: String

    /// - Parameter subject: what the options belong to, for messages: `claim`.
    package init(_ options: [String: Value], of subject: String, known: [String]) throws(BusError) {
        self.options = options
        self.subject = subject
        for key in options.keys.sorted() where !known.contains(key) && !Self.isForeign(key) {
            let advice = Suggestion.advice(on: key, among: known, orElse: "; \(subject) takes no options")
            throw .invalidConfiguration("\(subject): unknown option '\(printable(key))'\(advice)")
        }
    }

    /// Takes the options of a call for which there are none yet.
    package static func none(_ options: [String: Value], of subject: String) throws(BusError) {
        _ = try OptionReader(options, of: subject, known: [])
    }

    package static func isForeign(_ key: String) -> Bool { key.hasPrefix("x-") }

    /// A number of any type: a shell does not know which one we would like.
    package func number(_ key: String) throws(BusError) -> Double? {
        guard let value = self.options[key] else { return nil }
        switch OptionValue(wire: value) {
        case .number(let number): return number
        case .count(let count): return Double(count)
        default: throw self.wrongType(key, "a number 'd'", value)
        }
    }

    /// A time in microseconds, of any whole type, or a text with a unit, as detectors take it.
    package func time(_ key: String) throws(BusError) -> TimeSpan? {
        guard let value = self.options[key] else { return nil }
        switch OptionValue(wire: value) {
        case .count(let count):
            guard let time = Timestamp(wire: count) else {
                throw .invalidConfiguration("\(self.subject): \(key) \(count) us is too long")
            }
            return time - .zero
        case .text(let text):
            guard let quantity = try? Quantity.parse(text), quantity.dimension == .time,
                let span = TimeSpan(seconds: quantity.value), span >= .zero
            else {
                throw .invalidConfiguration(
                    "\(self.subject): \(key) '\(printable(text))' is no time: give one such as 100ms")
            }
            return span
        default: throw self.wrongType(key, "a time 't' in microseconds, or a text such as 100ms", value)
        }
    }

    package func flag(_ key: String) throws(BusError) -> Bool? {
        switch self.options[key] {
        case nil: return nil
        case .boolean(let value): return value
        case .some(let other): throw self.wrongType(key, "a boolean 'b'", other)
        }
    }

    package func text(_ key: String) throws(BusError) -> String? {
        switch self.options[key] {
        case nil: return nil
        case .string(let value): return value
        case .some(let other): throw self.wrongType(key, "a text 's'", other)
        }
    }

    package func object(_ key: String) throws(BusError) -> ObjectPath? {
        switch self.options[key] {
        case nil: return nil
        case .objectPath(let path): return path
        case .some(let other): throw self.wrongType(key, "an object path 'o'", other)
        }
    }

    /// A row of a list, as it was shown.
    package func row(_ key: String) throws(BusError) -> [String: Value]? {
        guard let value = self.options[key] else { return nil }
        guard case .dictionary("s", "v", _) = value else { throw self.wrongType(key, "a row 'a{sv}'", value) }
        return value.asOptions
    }

    /// A number that counts.
    package func count(_ key: String) throws(BusError) -> UInt64? {
        guard let value = self.options[key] else { return nil }
        guard case .count(let count) = OptionValue(wire: value) else {
            throw self.wrongType(key, "a whole number 't'", value)
        }
        return count
    }

    /// An event: its sequence and its epoch.
    package func event(_ key: String) throws(BusError) -> (sequence: UInt64, epoch: UInt64)? {
        switch self.options[key] {
        case nil: return nil
        case .structure(let fields):
            if fields.count == 2, case .uint64(let sequence) = fields[0], case .uint64(let epoch) = fields[1] {
                return (sequence, epoch)
            }
            throw self.wrongType(key, "an event '(tt)'", .structure(fields))
        case .some(let other): throw self.wrongType(key, "an event '(tt)'", other)
        }
    }

    private func wrongType(_ key: String, _ expected: String, _ found: Value) -> BusError {
        .invalidConfiguration("\(self.subject): \(key) is \(expected), not a \(found.typeName)")
    }
}

extension SensorPace {
    /// The keys of a claim's options and of its answer.
    package enum Key {
        package static let rate = "rate"
        package static let batchLatency = "batch-latency"
        package static let passive = "passive"
        package static let decimation = "decimation"
        package static let orSlower = "or-slower"
        /// In answers only: the fastest rate that the claimant may have, where that is less than it asked for.
        package static let allowed = "allowed"
        /// In answers only: where samples wait for each other, how long in the device, and whether that runs.
        package static let gathering = "gathering"
        package static let deviceLatency = "device-latency"
        /// In lists only: the claim's number, and whose it is.
        package static let claim = "claim"
        package static let user = "user"
        package static let running = "running"
        /// In `ClaimChanged` and lists only: why the claim gets no samples; missing while it may.
        package static let resting = "resting"
        /// In answers only: the stream's number.
        package static let stream = "stream"
    }

    package var options: [String: Value] {
        [
            Key.rate: .double(self.rate),
            Key.batchLatency: .uint64(UInt64(max(0, self.batchLatency.microseconds))),
        ]
    }

    /// What the reader says is in force; `nil` when it says nothing sensible.
    package init?(inForce options: [String: Value]) {
        guard case .double(let rate) = options[Key.rate], rate.isFinite, rate > 0,
            case .uint64(let latency) = options[Key.batchLatency], let latency = Timestamp(wire: latency)
        else { return nil }
        self.init(rate: rate, batchLatency: latency - .zero)
    }
}

extension Resting {
    /// What the reader says of a claim; a word that is not known is no reason that we know.
    package init?(inForce options: [String: Value]) {
        switch options[SensorPace.Key.resting] {
        case nil: return nil
        case .string(let word): self = Resting(rawValue: word) ?? .unknown
        case .some: self = .unknown
        }
    }
}

extension SensorRequest {
    private typealias Key = SensorPace.Key

    /// What a claim or a stream asks for. The rate must be given.
    ///
    /// - Parameter subject: which of the two, for messages.
    package init(_ options: [String: Value], of subject: String) throws(BusError) {
        let reader = try OptionReader(
            options, of: subject, known: [Key.rate, Key.batchLatency, Key.passive, Key.decimation, Key.orSlower])
        guard let rate = try reader.number(Key.rate) else {
            throw .invalidConfiguration("\(subject): 'rate' (d, in Hz) is missing")
        }
        let pace = SensorPace(rate: rate, batchLatency: try reader.time(Key.batchLatency) ?? .zero)
        let word = try reader.text(Key.decimation) ?? Decimation.last.rawValue
        guard let decimation = Decimation(rawValue: word) else {
            let words = Decimation.allCases.map(\.rawValue)
            let near = Suggestion.nearest(to: word, among: words)
            throw .invalidConfiguration(
                "\(subject): decimation is one of \(words.joined(separator: ", ")), not '\(printable(word))'"
                    + (near.map { "; did you mean '\($0)'?" } ?? ""))
        }
        self.init(
            pace, isPassive: try reader.flag(Key.passive) ?? false, decimation: decimation,
            orSlower: try reader.flag(Key.orSlower) ?? false)
    }

    package var options: [String: Value] {
        var options = self.pace.options
        if self.isPassive { options[Key.passive] = .boolean(true) }
        if self.decimation != .last { options[Key.decimation] = .string(self.decimation.rawValue) }
        if self.orSlower { options[Key.orSlower] = .boolean(true) }
        return options
    }
}

extension SensorDescription {
    package var options: [String: Value] {
        var options: [String: Value] = [
            "name": .string(self.name),
            "channels": .array(of: "s", self.channels.map { .string($0) }),
            "unit": .string(self.unit),
            "rates": .array(of: "d", self.rates.map { .double($0) }),
            "placement": .string(self.placement),
            "source": .string(self.source),
            "simulated": .boolean(self.isSimulated),
            "available": .boolean(self.isAvailable),
        ]
        if let range = self.range { options["range"] = .double(range) }
        if self.isSteady { options["steady"] = .boolean(true) }
        if self.hasOwnClock { options["own-clock"] = .boolean(true) }
        return options
    }

    /// A description as the reader gives it; `nil` when it is not one we can work with.
    package init?(_ options: [String: Value]) {
        func text(_ key: String) -> String {
            if case .string(let text) = options[key] { text } else { "" }
        }
        func array(_ key: String) -> [Value] {
            if case .array(_, let values) = options[key] { values } else { [] }
        }
        let channels = array("channels").compactMap { if case .string(let name) = $0 { name } else { nil } }
        let rates = array("rates").compactMap { if case .double(let rate) = $0 { rate } else { nil } }
        guard !text("name").isEmpty, (1...SensorLimits.channels).contains(channels.count),
            rates.allSatisfy({ $0.isFinite && $0 > 0 })
        else { return nil }
        var range: Double?
        if case .double(let value) = options["range"], value.isFinite, value > 0 { range = value }
        self.init(
            name: text("name"), channels: channels, unit: text("unit"), range: range, rates: rates,
            placement: text("placement"), source: text("source"), isSimulated: options["simulated"] == .boolean(true),
            // A reader that does not say so has nothing that comes and goes.
            isAvailable: options["available"] != .boolean(false))
        self.isSteady = options["steady"] == .boolean(true)
        self.hasOwnClock = options["own-clock"] == .boolean(true)
    }
}
