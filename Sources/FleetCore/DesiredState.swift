package import Motion

/// What is wanted of a device, as one whole: it comes into force with all of it, or not at all.
///
/// What it does not name is left as it is: policy files, app files, thresholds and pause each by itself.
package struct DesiredState: Equatable, Sendable {
    /// Rises with each state, whoever it is for.
    package var version: UInt64
    /// All policy files from outside, by name.
    package var policy: [DesiredFile]?
    /// All app files from outside, by name.
    package var apps: [DesiredFile]?
    /// Other thresholds of detectors that the bridge has anyway, by name.
    package var thresholds: [DesiredThreshold]?
    /// Motion is switched off.
    package var isPaused: Bool?
    /// For whom it is, as `DesiredScope` has it. What is signed says so: so it cannot be given to another.
    package var addressee: String?
    /// When it goes back if it was not confirmed, instead of what the device's configuration says.
    package var confirmWithin: TimeSpan?

    package init(
        version: UInt64, policy: [DesiredFile]? = nil, apps: [DesiredFile]? = nil,
        thresholds: [DesiredThreshold]? = nil,
        isPaused: Bool? = nil, addressee: String? = nil, confirmWithin: TimeSpan? = nil
    ) {
        self.version = version
        self.policy = policy?.sorted { $0.name < $1.name }
        self.apps = apps?.sorted { $0.name < $1.name }
        self.thresholds = thresholds?.sorted { $0.detector < $1.detector }
        self.isPaused = isPaused
        self.addressee = addressee
        self.confirmWithin = confirmWithin
    }

    /// Before anything was wanted.
    package static let none = DesiredState(version: 0)

    /// What is in force when this comes behind what was.
    package func over(_ old: DesiredState) -> DesiredState {
        DesiredState(
            version: self.version, policy: self.policy ?? old.policy, apps: self.apps ?? old.apps,
            thresholds: self.thresholds ?? old.thresholds, isPaused: self.isPaused ?? old.isPaused)
    }

    /// The kinds of things it would change.
    package var changes: Set<BridgeConfiguration.Allow.Change> {
        var changes: Set<BridgeConfiguration.Allow.Change> = []
        if self.policy != nil { changes.insert(.policy) }
        if self.apps != nil { changes.insert(.apps) }
        if self.thresholds != nil { changes.insert(.detectors) }
        if self.isPaused != nil { changes.insert(.pause) }
        return changes
    }
}

package struct DesiredFile: Equatable, Sendable {
    /// Without a directory.
    package var name: String
    package var text: String

    package init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}

package struct DesiredThreshold: Equatable, Sendable {
    package var detector: String
    /// With its unit, such as `2.3g`.
    package var threshold: String

    package init(_ detector: String, _ threshold: String) {
        self.detector = detector
        self.threshold = threshold
    }
}

/// How much may be wanted.
package enum DesiredLimits {
    /// Bytes of a message.
    package static let bytes = 262_144
    /// Files of a kind, and bytes of one.
    package static let files = 64
    package static let fileBytes = 131_072
    package static let thresholds = 64
    /// The longest name of a file, and the longest threshold.
    package static let nameBytes = 255
    package static let thresholdBytes = 64
    /// What every reader of JSON can say exactly.
    package static let version: UInt64 = 1 << 53
}

/// Why what is wanted is not done.
package struct DesiredProblem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    package var message: String
    /// Where it stands, if it stands in a file.
    package var file: String?
    package var line: Int?
    package var column: Int?

    package init(_ message: String, file: String? = nil, line: Int? = nil, column: Int? = nil) {
        self.message = message
        self.file = file
        self.line = line
        self.column = column
    }

    package var description: String {
        let place = [self.file, self.line.map { "\($0)" }, self.column.map { "\($0)" }].compactMap { $0 }
        return place.isEmpty ? self.message : "\(place.joined(separator: ":")): \(self.message)"
    }
}

// MARK: As a message

extension DesiredState {
    package var value: DataValue {
        func object(_ files: [DesiredFile]?) -> DataValue? {
            files.map { .object($0.map { DataValue.Field($0.name, .text($0.text)) }) }
        }
        return .fields([
            "version": .count(self.version), "for": self.addressee.map { .text($0) },
            "confirm_within": self.confirmWithin.map { .text($0.text) }, "policy": object(self.policy),
            "apps": object(self.apps),
            "detectors": self.thresholds.map {
                .object($0.map { DataValue.Field($0.detector, .fields(["threshold": .text($0.threshold)])) })
            },
            "pause": self.isPaused.map { .bool($0) },
        ])
    }

    /// Reads a message. A key that is not known is refused: whoever wrote it wants something that would not be done.
    package init(_ value: DataValue) throws(DesiredProblem) {
        guard case .object(let fields) = value else { throw DesiredProblem("what is wanted is no object") }
        var state = DesiredState.none
        for field in fields {
            switch field.name {
            case "version":
                guard let version = field.value.count, (1...DesiredLimits.version).contains(version) else {
                    throw DesiredProblem("'version' is no number from 1 to 2^53")
                }
                state.version = version
            case "for":
                guard let name = field.value.text else { throw DesiredProblem("'for' is no text") }
                state.addressee = name
            case "confirm_within":
                guard let span = field.value.text.flatMap(Self.span), DesiredMachine.confirmRange.contains(span) else {
                    throw DesiredProblem("'confirm_within' is no time from 2s to 24h")
                }
                state.confirmWithin = span
            case "policy": state.policy = try Self.files(field)
            case "apps": state.apps = try Self.files(field)
            case "detectors": state.thresholds = try Self.thresholds(field)
            case "pause":
                guard let flag = field.value.bool else { throw DesiredProblem("'pause' is neither true nor false") }
                state.isPaused = flag
            default: throw DesiredProblem("unknown key '\(printable(field.name))'")
            }
        }
        guard state.version > 0 else { throw DesiredProblem("'version' is missing") }
        self.init(
            version: state.version, policy: state.policy, apps: state.apps, thresholds: state.thresholds,
            isPaused: state.isPaused, addressee: state.addressee, confirmWithin: state.confirmWithin)
    }

    private static func span(_ text: String) -> TimeSpan? {
        guard let quantity = try? Quantity.parse(text), quantity.dimension == .time else { return nil }
        return TimeSpan(seconds: quantity.value)
    }

    /// Whether a file may be called so: nothing that leads out of its directory, or that is not read there.
    static func isPolicyName(_ name: String) -> Bool {
        name.utf8.count <= DesiredLimits.nameBytes && name.hasSuffix(".conf") && !name.hasPrefix(".")
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
                    || [UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ".")].contains(byte)
            }
    }

    private static func files(_ field: DataValue.Field) throws(DesiredProblem) -> [DesiredFile] {
        guard case .object(let fields) = field.value else {
            throw DesiredProblem("'\(field.name)' is no object of files")
        }
        guard fields.count <= DesiredLimits.files else {
            throw DesiredProblem("'\(field.name)' has more than \(DesiredLimits.files) files")
        }
        var files: [DesiredFile] = []
        for file in fields {
            guard self.isPolicyName(file.name) else {
                throw DesiredProblem(
                    "'\(field.name)' has a file '\(printable(file.name))': expected letters, digits, '-', '_', '.', "
                        + "and '.conf' at the end")
            }
            guard let text = file.value.text, text.utf8.count <= DesiredLimits.fileBytes else {
                throw DesiredProblem(
                    "it is no text of at most \(DesiredLimits.fileBytes) bytes", file: file.name, line: 1)
            }
            files.append(DesiredFile(file.name, text))
        }
        return files
    }

    private static func thresholds(_ field: DataValue.Field) throws(DesiredProblem) -> [DesiredThreshold] {
        guard case .object(let fields) = field.value, fields.count <= DesiredLimits.thresholds else {
            throw DesiredProblem("'detectors' is no object of at most \(DesiredLimits.thresholds) detectors")
        }
        var thresholds: [DesiredThreshold] = []
        for one in fields {
            let name = printable(one.name)
            guard case .object(let keys) = one.value, keys.count == 1, let text = one.value["threshold"]?.text,
                !text.isEmpty, text.utf8.count <= DesiredLimits.thresholdBytes,
                text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { throw DesiredProblem("of detector '\(name)' a 'threshold' can be said, such as \"2.5g\"") }
            thresholds.append(DesiredThreshold(one.name, text))
        }
        return thresholds
    }
}
