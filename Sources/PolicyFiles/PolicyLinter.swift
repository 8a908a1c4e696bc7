package import Arbitration
package import Motion

/// Finds what is probably not meant in a policy that can be read.
///
/// Pure: what apps there are is told, nothing is looked up. The same policy always gives the same findings.
package enum PolicyLinter {
    /// An app that is there, and what it listens to, as far as that is known.
    package struct InstalledApp: Sendable {
        package var id: AppID
        package var detectors: [DetectorFacts]
        /// Whether a call starts it.
        package var canBeStarted: Bool
        /// Where its app file stands, if it has one.
        package var file: String
        /// The windows that its app file says are its own.
        package var windows: [NamePattern]
        /// Whether a Flatpak brought that file.
        package var isOfFlatpak: Bool

        package init(
            _ id: AppID, detectors: [DetectorFacts] = [], canBeStarted: Bool = true, file: String = "",
            windows: [NamePattern] = [], isOfFlatpak: Bool = false
        ) {
            self.id = id
            self.detectors = detectors
            self.canBeStarted = canBeStarted
            self.file = file
            self.windows = windows
            self.isOfFlatpak = isOfFlatpak
        }

        /// As people are told of it.
        var shown: String { self.file.isEmpty ? "\(self.id)" : "\(self.id) (\(printable(self.file)))" }
    }

    /// Checks a policy.
    ///
    /// - Parameters:
    ///   - installed: The apps there are; `nil`: not known, and what depends on it is not checked.
    ///   - budget: How many rules and names may be compared with each other. What is left over then is said, not guessed.
    /// - Returns: What was found, in reading order, together with what reading found. Only that when it found an error.
    package static func check(
        _ reading: PolicyReading, installed: [InstalledApp]? = nil, budget: Int = 3_000_000
    ) -> [Finding] {
        // Who looks is to mend also what the rest is in force without.
        var findings = reading.ownErrors + reading.findings
        guard let policy = reading.policy else { return findings.inReadingOrder() }
        let notes = LintNotes(reading.sections)
        findings += PresetLinter.check(reading.sections)
        findings += AppLinter.check(policy, reading.sections)
        findings += RuleLinter.check(policy, notes, budget: budget)
        findings += GroupLinter.check(policy, notes)
        findings += MatrixLinter.check(policy, notes)
        findings += DeliveryLinter.check(policy, notes)
        findings += BuiltInLinter.check(reading, policy)
        if let installed {
            // Apps are held against all that decides about them.
            findings += InstalledAppLinter.check(reading.inForce ?? policy, reading.sections, installed, notes)
        }
        return findings.inReadingOrder()
    }
}
