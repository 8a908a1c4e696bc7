import Motion

/// For whom something is wanted: a device, or each device of a group.
package enum DesiredScope: Hashable, Sendable, CustomStringConvertible {
    case device(String)
    case group(String)

    package var topic: String {
        switch self {
        case .device(let name): FleetTopics(device: name).desired
        case .group(let name): FleetTopics.desired(ofGroup: name)
        }
    }

    /// As commands and reports name it: a group begins with '@'.
    package var description: String {
        switch self {
        case .device(let name): name
        case .group(let name): "@\(name)"
        }
    }
}

/// What was signed: the bytes of a state, and the signature over exactly these.
package struct SignedBundle: Equatable, Sendable {
    package var bytes: [UInt8]
    package var signature: [UInt8]

    package init(bytes: [UInt8], signature: [UInt8]) {
        self.bytes = bytes
        self.signature = signature
    }

    package var value: DataValue {
        .fields(["bundle": .text(Base64.text(self.bytes)), "signature": .text(Base64.text(self.signature))])
    }

    /// `nil`: it is no bundle at all.
    package static func read(_ value: DataValue) throws(DesiredProblem) -> SignedBundle? {
        guard let bundle = value["bundle"] else { return nil }
        guard case .object(let fields) = value, fields.count == 2, let bytes = bundle.text.flatMap(Base64.bytes),
            let signature = value["signature"]?.text.flatMap(Base64.bytes)
        else { throw DesiredProblem("a signed message has 'bundle' and 'signature', both in base64") }
        return SignedBundle(bytes: bytes, signature: signature)
    }
}

extension DesiredState {
    /// Reads what came for somebody, signed or not.
    ///
    /// - Parameter isSigned: whether the owner of the key signed some bytes; `nil`: no key is configured, and nobody has to.
    package static func read(
        _ payload: [UInt8], contentType: String?, for scope: DesiredScope,
        isSigned: ((SignedBundle) -> Bool)?
    ) throws(DesiredProblem) -> DesiredState {
        guard payload.count <= DesiredLimits.bytes else {
            throw DesiredProblem("the message is longer than \(DesiredLimits.bytes) bytes")
        }
        func read(_ bytes: [UInt8], _ type: String?) throws(DesiredProblem) -> DataValue {
            do throws(DataProblem) {
                return try PayloadFormat.read(bytes, contentType: type, atMost: DataLimits.valuesDown)
            } catch {
                throw DesiredProblem("the message cannot be read: \(error)")
            }
        }
        let outer = try read(payload, contentType)
        let bundle = try SignedBundle.read(outer)
        if let isSigned {
            guard let bundle else { throw DesiredProblem("it is not signed, and only what is signed is taken") }
            guard isSigned(bundle) else { throw DesiredProblem("the signature is not that of the configured key") }
        }
        let state = try DesiredState(
            bundle.map { bundle throws(DesiredProblem) in try read(bundle.bytes, nil) } ?? outer)
        guard state.addressee == nil ? isSigned == nil : state.addressee == "\(scope)" else {
            let said = state.addressee.map { "for '\(printable($0))'" } ?? "for nobody by name"
            throw DesiredProblem("what came for \(scope) is \(said)")
        }
        return state
    }
}

/// What has been wanted of a device last, and what came of it: what it reports.
package struct DesiredReport: Equatable, Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        /// Nothing is wanted.
        case none
        /// It is in force, until that is confirmed or taken back.
        case trial = "waiting"
        case applied
        /// It never came into force.
        case refused
        /// It was in force, and what was before is again.
        case rolledBack = "rolled-back"
    }

    package var outcome: Outcome
    /// Of what is told here; 0: it says none.
    package var version: UInt64
    /// What is in force now; 0: nothing from outside.
    package var inForce: UInt64
    /// For whom it was wanted.
    package var scope: String?
    package var problem: DesiredProblem?

    package init(
        _ outcome: Outcome, version: UInt64, inForce: UInt64, scope: String? = nil, problem: DesiredProblem? = nil
    ) {
        self.outcome = outcome
        self.version = version
        self.inForce = inForce
        self.scope = scope
        self.problem = problem
    }

    package var value: DataValue {
        .fields([
            "version": .count(self.version), "state": .text(self.outcome.rawValue), "in_force": .count(self.inForce),
            "for": self.scope.map { .text($0) }, "problems": self.problem.map { .list([$0.value]) },
        ])
    }

    /// Reads what a device reported; `nil`: it is nothing of the kind.
    package init?(_ value: DataValue) {
        guard let outcome = value["state"]?.text.flatMap(Outcome.init), let version = value["version"]?.count,
            let inForce = value["in_force"]?.count
        else { return nil }
        self.init(
            outcome, version: version, inForce: inForce, scope: value["for"]?.text,
            problem: value["problems"]?.list?.first.flatMap { DesiredProblem($0) })
    }
}

extension DesiredProblem {
    package var value: DataValue {
        .fields([
            "file": self.file.map { .text($0) }, "line": self.line.map { .count($0) },
            "column": self.column.map { .count($0) }, "message": .text(self.message),
        ])
    }

    package init?(_ value: DataValue) {
        guard let message = value["message"]?.text else { return nil }
        self.init(
            message, file: value["file"]?.text, line: value["line"]?.integer.flatMap { Int(exactly: $0) },
            column: value["column"]?.integer.flatMap { Int(exactly: $0) })
    }
}
