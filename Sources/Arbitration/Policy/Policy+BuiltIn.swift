import Motion

extension Policy {
    /// What holds when no policy file can be read: the rules of the phone, as `10-default.conf` has them.
    package static let builtIn: Policy = {
        func rule(
            _ line: Int, _ name: String, _ effect: Effect = .allow, priority: Int = 0, note: String = "",
            _ set: (inout Conditions) -> Void
        ) -> Rule {
            var conditions = Conditions()
            set(&conditions)
            return Rule(
                name: name, place: Place(file: "built-in", line: line), priority: priority, conditions: conditions,
                effect: effect, note: note)
        }
        let away = WordSet<AppState>([.inactive, .background])
        return Policy(
            otherwise: .deny,
            rules: [
                rule(1, "system-shake", .deny, priority: 100, note: "belongs to the foreground app") {
                    $0.presets.any = [NamePattern("system.shake")]
                    $0.states = WordSet<AppState>.all.subtracting(WordSet([.foreground]))
                },
                rule(2, "foreground") { $0.states = WordSet([.foreground]) },
                rule(3, "background-activity") {
                    $0.states = away
                    $0.activities.any = .all
                },
                rule(4, "background-assertion") {
                    $0.states = away
                    $0.assertion = true
                },
            ], matrix: InteractionMatrix(classes))
    }()

    /// The classes of the phone's sessions.
    private static let classes: [SessionClass] = {
        func one(_ line: Int, _ name: String, _ set: (inout SessionClass) -> Void) -> SessionClass {
            var made = SessionClass(name: name, place: Place(file: "built-in", line: line))
            set(&made)
            return made
        }
        return [
            one(5, "ambient") { ($0.isMixable, $0.whenLocked) = (true, .silence) },
            one(6, "soloAmbient") { ($0.whenLocked, $0.isDefault) = (.silence, true) },
            one(7, "playback") { $0.requiredGrants = WordSet([.audio]) },
            one(8, "record") { $0.requiredGrants = WordSet([.audio]) },
            one(9, "playAndRecord") { $0.requiredGrants = WordSet([.audio, .voip]) },
        ]
    }()
}
