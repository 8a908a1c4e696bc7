import FleetCore
import Motion
import Testing

@Suite struct HomeAssistantTests {
    private func home(hasCounters: Bool = true, mayPause: Bool = true) -> HomeAssistant {
        HomeAssistant(
            FleetTopics(device: "kiosk-17.north"), softwareVersion: "0.1.0",
            detectors: [HomeAssistant.Detector(name: "knock", preset: "shake"), .init(name: "lies", preset: "still")],
            sensors: ["accelerometer"], hasCounters: hasCounters, mayPause: mayPause)
    }

    private func names(_ value: DataValue?) -> [String] {
        guard case .object(let fields)? = value else { return [] }
        return fields.map(\.name)
    }

    @Test func thereIsOneMessageForADevice() {
        let home = self.home()
        #expect(home.topic == "homeassistant/device/jostle_kiosk_2d17_2enorth/config")
        #expect(self.names(home.config) == ["dev", "o", "avty", "qos", "cmps"])
        #expect(self.names(home.config["dev"]) == ["ids", "name", "mf", "mdl", "sw"])
        #expect(self.names(home.config["o"]) == ["name", "sw"])
        #expect(
            self.names(home.config["cmps"]) == [
                "event_knock", "trigger_knock", "event_lies", "trigger_lies", "moving", "still", "locked", "sent",
                "past", "gaps", "connections", "sensor_accelerometer", "pause",
            ])
    }

    /// No key that is not meant. Home Assistant 2025.2.5 knows each of them: docs/fleet.md says how it was asked.
    @Test func thereAreNoOtherKeys() {
        let known: [String: [String]] = [
            "event": ["p", "name", "unique_id", "state_topic", "event_types", "value_template"],
            "device_automation": ["p", "automation_type", "topic", "type", "subtype"],
            "binary_sensor": ["p", "name", "unique_id", "state_topic", "device_class", "value_template"],
            "sensor": [
                "p", "name", "unique_id", "state_topic", "value_template", "state_class", "entity_category",
                "device_class", "options",
            ],
            "switch": ["p", "name", "unique_id", "command_topic", "state_topic", "value_template", "entity_category"],
        ]
        guard case .object(let components)? = self.home().config["cmps"] else {
            Issue.record("there are no components")
            return
        }
        for component in components {
            let platform = component.value["p"]?.text ?? ""
            #expect(Set(self.names(component.value)).isSubset(of: known[platform] ?? []), "\(component.name)")
        }
    }

    @Test func idsDifferWhereNamesDo() {
        var home = self.home()
        home.detectors = ["a-b", "a_b", "a.b", "a2db"].map { .init(name: $0, preset: "") }
        let names = self.names(home.config["cmps"])
        #expect(Set(names).count == names.count)
    }

    @Test func withoutTheRightThereIsNoSwitch() {
        #expect(self.home(mayPause: false).config["cmps"]?["pause"] == nil)
    }

    /// An entity that nothing is ever said of is in nobody's way, and of no use.
    @Test func whatIsNotCountedIsNoSensor() {
        let all = self.names(self.home(hasCounters: false).config["cmps"])
        #expect(!all.contains("sent") && all.contains("sensor_accelerometer"))
    }

    /// What is caught up after an outage must not turn on a light.
    @Test func noEntityReadsWhatIsPast() {
        let topics = FleetTopics(device: "kiosk-17.north")
        let text = JSONCoding.text(self.home().config)
        #expect(!text.contains("/past/"))
        #expect(text.contains(topics.event(of: "knock")))
        for topic in [topics.pastEvents, topics.pastVerdicts] { #expect(!text.contains(topic)) }
    }

    @Test func aBirthIsAWord() {
        #expect(HomeAssistant.isBirth(Array("online".utf8)))
        #expect(!HomeAssistant.isBirth(Array("offline".utf8)))
    }

    @Test func movedForAWhileAndStillUntilMoved() {
        var state = MotionState()
        let start = Timestamp(microseconds: 50_000_000)
        let until = state.event(preset: "shake", at: start)
        #expect(until == start + .seconds(10))
        #expect(state.isMoving && !state.isStill)
        _ = state.event(preset: "shake", at: start + .seconds(5))
        state.timePassed(start + .seconds(10))
        #expect(state.isMoving)
        state.timePassed(start + .seconds(15))
        #expect(!state.isMoving && !state.isStill)
        let later = state.event(preset: "still", at: start + .seconds(30))
        #expect(later == nil)
        #expect(state.isStill && !state.isMoving)
        _ = state.event(preset: "shake", at: start + .seconds(31))
        #expect(!state.isStill)
    }
}
