package import Arbitration
package import Motion

/// What an app says of itself in its app file: what it wants motion for, and what it asks for.
///
/// Asking is not getting: policy decides.
package struct AppFile: Equatable, Sendable {
    package var id: AppID
    /// Where it stands; empty when it is not read from a file.
    package var path = ""
    /// Whose it is: in the system's directories the system's, elsewhere the user's whose directories are read.
    package var layer = PolicyLayer.system
    /// A Flatpak brought it: its windows are those of a sandbox.
    package var isOfFlatpak = false
    /// What the app wants motion for, as people read it.
    package var usage = ""
    /// Modes in which it wants to work in the background.
    package var modes = WordSet<BackgroundMode>.none
    /// It is at work in audio while its MPRIS player plays.
    package var hasPlayer = false
    /// Background work that the broker may launch, by name.
    package var tasks: [String] = []
    /// Detectors that exist while it is not running.
    package var detectors: [DetectorRequest] = []
    /// Windows that are its own: what they say of themselves, or desktop files.
    package var windows: [NamePattern] = []

    package init(id: AppID) { self.id = id }

    /// Whether it asks for something that people are to know the reason of.
    var asksForMore: Bool { !self.modes.isEmpty || !self.tasks.isEmpty || !self.detectors.isEmpty }

    static let longestUsage = 256
    static let mostTasks = 64
    /// Every row of a list of apps has them.
    static let mostWindows = 16
    static let longestWindow = 128
    /// They are installed at once, as those of a call are.
    static let mostDetectors = DetectorBatch.detectors
    static let mostConditionBytes = DetectorBatch.conditionBytes

    /// The keys of `[App]`.
    static let keys: [Key<AppFile>] = [
        Key("Usage", .text, "", "What it wants motion for, as people read it. Whoever asks for more has it.") {
            (file, words) throws(ValueProblem) in
            file.usage = try Values.text(words, atMost: AppFile.longestUsage)
        },
        Key(
            "Modes", .words, "",
            "Modes in which it wants to work in the background: audio, location, bluetooth, fetch, processing, voip, push."
        ) { (file, words) throws(ValueProblem) in
            file.modes = WordSet(try Values.list(words, "mode"))
        },
        Key(
            "Mpris", .flag, "no",
            "Whether it is at work in audio while its MPRIS player plays. It needs `Modes=audio`, and policy that grants it."
        ) { (file, words) throws(ValueProblem) in
            file.hasPlayer = try Values.flag(words)
        },
        Key("Tasks", .names, "", "Background work that the broker may launch, by name.") {
            (file, words) throws(ValueProblem) in
            guard words.count <= AppFile.mostTasks else {
                throw ValueProblem(
                    place: words[AppFile.mostTasks].place, message: "more than \(AppFile.mostTasks) tasks",
                    advice: "remove some")
            }
            file.tasks = try Values.plainNames(words)
        },
        Key(
            "Windows", .names, "",
            "What its windows call themselves, or its desktop files, where neither is the app's id. A `*` stands for anything."
        ) { (file, words) throws(ValueProblem) in
            guard words.count <= AppFile.mostWindows else {
                throw ValueProblem(
                    place: words[AppFile.mostWindows].place, message: "more than \(AppFile.mostWindows) windows",
                    advice: "remove some")
            }
            file.windows = try Values.windows(words)
        },
    ]

    static let examples = [
        "Usage": "Skips to the next track when you shake the device", "Modes": "audio", "Mpris": "yes",
        "Tasks": "sync tidy-up",
        "Windows": "player Player-*",
    ]

    /// The table of the keys of `[App]`, as the documentation has it.
    package static func keyTable() -> String {
        var lines = ["| key | value | example | meaning |", "|---|---|---|---|"]
        for key in self.keys {
            lines.append("| `\(key.name)` | \(key.type.rawValue) | `\(self.examples[key.name] ?? "")` | \(key.help) |")
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
