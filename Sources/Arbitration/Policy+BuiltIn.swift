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
            ])
    }()
}
