extension Conditions {
    /// What a rule asks, as its file says it: `WhenState=foreground`. The key alone where it asks for ranges.
    package func setting(_ key: Keys) -> String {
        key.names.joined() + (self.value(key).map { "=\($0)" } ?? "")
    }

    private func value(_ key: Keys) -> String? {
        switch key {
        case .app: Self.words(self.apps.any.map(\.text), except: self.apps.except.map(\.text))
        case .preset: Self.words(self.presets.any.map(\.text), except: self.presets.except.map(\.text))
        case .state: self.states.shortest
        case .locked: self.locked.map(Self.flag)
        case .grant: Self.words(self.grants)
        case .activity: Self.words(self.activities)
        case .assertion: self.assertion.map(Self.flag)
        case .identity: self.proofs.shortest
        default: nil
        }
    }

    private static func flag(_ flag: Bool) -> String { flag ? "yes" : "no" }

    private static func words(_ any: [String], except: [String]) -> String {
        (any + except.map { "!\($0)" }).joined(separator: " ")
    }

    private static func words(_ modes: ModeCondition) -> String {
        let any = modes.any.map { $0.isAll ? ["*"] : $0.elements.map(\.name) } ?? []
        return self.words(any, except: modes.except.isAll ? ["*"] : modes.except.elements.map(\.name))
    }

    /// The conditions that it has.
    package var asked: Keys {
        var keys = Keys()
        if !self.apps.isOpen { keys.insert(.app) }
        if !self.presets.isOpen { keys.insert(.preset) }
        if !self.states.isAll { keys.insert(.state) }
        if self.locked != nil { keys.insert(.locked) }
        if !self.grants.isOpen { keys.insert(.grant) }
        if !self.activities.isOpen { keys.insert(.activity) }
        if self.assertion != nil { keys.insert(.assertion) }
        if !self.proofs.isAll { keys.insert(.identity) }
        if self.intensity != nil { keys.insert(.intensity) }
        if self.times != nil { keys.insert(.time) }
        if self.power != nil { keys.insert(.power) }
        return keys
    }
}

extension WordSet {
    /// Its words, or those that are not among them where these are fewer.
    fileprivate var shortest: String {
        let others = Self.all.subtracting(self)
        return others.elements.count < self.elements.count
            ? others.elements.map { "!\($0.name)" }.joined(separator: " ")
            : self.elements.map(\.name).joined(separator: " ")
    }
}

extension Conditions.Keys {
    /// What was the case in place of what one of them asks for.
    func found(_ app: AppFacts, _ device: DeviceFacts) -> String? {
        switch self {
        case .state: app.state.sentence
        case .locked: "the screen is \(device.isLocked ? "locked" : "unlocked")"
        case .grant: "the app is granted \(Self.list(app.grants))"
        case .activity: "of what it is granted the app does \(Self.list(app.countingActivities))"
        case .assertion: "the app holds \(app.hasAssertion ? "an assertion" : "no assertion")"
        case .identity: "the app is proven by its \(app.proof.name)"
        case .power:
            switch device.power {
            case .ac: "the device is on AC"
            case .battery(.none): "the device is on battery, with an unknown charge"
            case .battery(.some): "the device is on battery"
            }
        default: nil
        }
    }

    private static func list(_ modes: WordSet<BackgroundMode>) -> String {
        modes.isEmpty ? "nothing" : modes.elements.map(\.name).joined(separator: " ")
    }
}

extension AppState {
    /// Where the app is, in words.
    var sentence: String {
        switch self {
        case .foreground: "the app is in the foreground"
        case .inactive: "the app is inactive"
        case .background: "the app is in the background"
        case .suspended: "the app is suspended"
        case .dead: "the app is not running"
        }
    }
}
