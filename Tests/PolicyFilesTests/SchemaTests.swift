import Arbitration
import Motion
import Testing

@testable import PolicyFiles

@Suite struct SchemaTests {
    /// What the table says holds without a key is what holds without it.
    private func checkDefaults<Target: Equatable>(_ keys: [Key<Target>], _ fresh: Target) throws {
        for key in keys where !key.standard.isEmpty {
            let text = PlacedText(text: key.standard, place: Place(file: "default", line: 1))
            var target = fresh
            try key.set(&target, key.type.isList ? text.words : [text])
            #expect(target == fresh, "\(key.name)")
        }
    }

    @Test func defaultsAreWhatHoldsWithoutTheKey() throws {
        let place = Place(file: "a", line: 1)
        try self.checkDefaults(Schema.policy, PolicyDraft())
        try self.checkDefaults(Schema.group, GroupConfiguration(name: "g", place: place))
        try self.checkDefaults(Schema.sessionClass, SessionClass(name: "c", place: place))
        try self.checkDefaults(Schema.interaction, Interaction(holder: "c", requester: "d", place: place))
        try self.checkDefaults(Schema.app, AppSettings())
        try self.checkDefaults(Schema.rule, RuleDraft(name: "r", place: place))
    }

    /// Every key has an example, which can be read and is not the default.
    private func checkExamples<Target: Equatable>(_ section: String, _ keys: [Key<Target>], _ fresh: Target) throws {
        let examples = try #require(Schema.examples[section])
        #expect(Set(examples.keys) == Set(keys.map(\.name)), "\(section)")
        for key in keys {
            let text = PlacedText(text: examples[key.name] ?? "", place: Place(file: "example", line: 1))
            var target = fresh
            try key.set(&target, key.type.isList ? text.words : [text])
            #expect(target != fresh, "\(section) \(key.name)")
        }
    }

    @Test func everyKeyHasAnExample() throws {
        let place = Place(file: "a", line: 1)
        try self.checkExamples("Policy", Schema.policy, PolicyDraft())
        try self.checkExamples("Group", Schema.group, GroupConfiguration(name: "g", place: place))
        try self.checkExamples("Class", Schema.sessionClass, SessionClass(name: "c", place: place))
        let interaction = Interaction(holder: "c", requester: "d", place: place)
        try self.checkExamples("Interaction", Schema.interaction, interaction)
        try self.checkExamples("App", Schema.app, AppSettings())
        try self.checkExamples("Rule", Schema.rule, RuleDraft(name: "r", place: place))
        #expect(Set(Schema.examples.keys) == Set(Schema.sections.map(\.name)))
    }

    @Test func everyLimitForUsersCanBeMadeSmaller() throws {
        var loose = AppSettings()
        loose.quota = Quota(count: 60, period: .seconds(60), burst: 60)
        loose.wakeQuota = loose.quota
        loose.grace = .seconds(60)
        loose.assertionsPerHour = 60
        loose.sensing.fastestRate = 1_000
        let values = [
            "Quota": "1/1h", "WakeQuota": "1/1h", "WakeTimeout": "1s",
            "Cooldown": "1h", "QueueBytes": "1", "Grace": "1ms",
            "AssertionBudget": "1ms", "AssertionsPerHour": "1", "RefreshInterval": "1h", "RefreshTime": "1s",
            "ProcessingTime": "1s",
            "FastestRate": "200Hz", "Clips": "no",
        ]
        for key in Schema.app where key.isForUsers {
            let value = try #require(values[key.name], "\(key.name)")
            var own = AppSettings()
            try key.set(&own, [PlacedText(text: value, place: Place(file: "u", line: 1))])
            var tightened = loose
            Schema.tighten(&tightened, to: own, key.name)
            #expect(tightened != loose, "\(key.name)")
        }
    }

    @Test func everyConditionHasItsKey() {
        let names = Set(Schema.rule.map(\.name).filter { $0.hasPrefix("When") })
        #expect(names == Set(Conditions.Keys.names.map(\.name)))
    }
}
