import BrokerCore
import Detection
import Motion
import Testing

/// What all looks together may cost: limits for an app, and for all apps on a sensor.
@Suite struct FeatureLimits {
    private static func detector(_ name: String, _ condition: String, every: String? = nil) -> DetectorRequest {
        var options: [String: OptionValue] = ["when": .text(condition)]
        if let every { options["every"] = .text(every) }
        return DetectorRequest(name: name, options: options)
    }

    /// Two different features in one call where one may be.
    @Test(arguments: ["stateful-per-app", "stateful-per-sensor", "operations-per-app", "operations-per-sensor"])
    func eachIsNamedAndRefusesTheWholeCall(_ name: String) throws {
        var limits = BrokerLimits()
        switch name {
        case "stateful-per-app": limits.statefulPerApp = 1
        case "stateful-per-sensor": limits.statefulPerSensor = 1
        case "operations-per-app": limits.operationsPerApp = 1
        default: limits.operationsPerSensor = 1
        }
        var bench = Bench(limits: limits)
        let app = try bench.register(0, "org.example.App")
        do {
            _ = try bench.add(app, Self.detector("a", "mean(x, 1s) > 1g"), Self.detector("b", "mean(x, 2s) > 1g"))
            Issue.record("nothing was refused")
        } catch let refusal as Refusal {
            switch refusal {
            case .limit(name, 1, _): #expect(name.hasSuffix("-per-app"))
            case .noRoom(name, 1, _): #expect(name.hasSuffix("-per-sensor"))
            default: Issue.record("refused by \(refusal)")
            }
            #expect(limits.table[name] == 1)
        }
        #expect(bench.core.registry[app]?.detectors.isEmpty == true)
        // Nothing is left of the refused ones.
        _ = try bench.add(app, Self.detector("c", "mean(x, 3s) > 1g"))
    }

    @Test func whatIsSharedCountsOnce() throws {
        var limits = BrokerLimits()
        limits.statefulPerApp = 3
        var bench = Bench(limits: limits)
        let app = try bench.register(0, "org.example.App")
        for index in 1...50 { _ = try bench.add(app, Self.detector("\(index)", "norm(user) > \(index)g")) }
        // Another pace, or another sensor, is another look.
        #expect(throws: Refusal.self) { try bench.add(app, Self.detector("a", "norm(user) > 1g", every: "100ms")) }
        var light = Self.detector("b", "mean(lux, 1s) < 10lx")
        light.options["sensor"] = .text("light")
        #expect(throws: Refusal.self) { try bench.add(app, light) }
    }

    /// What a fast sensor has hit with each of its samples costs by that, however little its condition does.
    @Test func whoMayHitWithEachLookCostsMore() throws {
        var limits = BrokerLimits()
        // Eight of them, and what a shake looks at.
        limits.operationsPerApp = 65
        var bench = Bench(limits: limits)
        let app = try bench.register(0, "org.example.App")
        func detector(_ index: Int, _ options: [String: String]) -> DetectorRequest {
            var request = Self.detector("\(index)", "x > \(index)g")
            for (key, value) in options { request.options[key] = .text(value) }
            return request
        }
        for index in 1...4 {
            _ = try bench.add(app, detector(index, ["rest-mode": "none"]), detector(index + 4, ["rest": "9ms"]))
        }
        #expect(throws: Refusal.self) { try bench.add(app, detector(9, ["rest": "0ms"])) }
        #expect(throws: Refusal.self) { try bench.add(app, detector(9, ["rest-mode": "none", "every": "9ms"])) }
        for index in 9...19 {
            _ = try bench.add(app, detector(index, ["rest": "10ms"]), detector(index + 20, ["rest-mode": "restarting"]))
        }
        // Another pace is another look, which does nothing but compare.
        _ = try bench.add(app, detector(1, ["rest-mode": "none", "every": "10ms"]), detector(9, ["rest": "0ms"]))
        // A shake rests by itself.
        _ = try bench.add(app, Bench.planar("shake", 2, rest: "10ms"))
    }

    @Test func whatIsReplacedOrRemovedCountsNoMore() throws {
        var limits = BrokerLimits()
        limits.statefulPerApp = 1
        var bench = Bench(limits: limits)
        let app = try bench.register(0, "org.example.App")
        for span in ["1s", "2s", "2s", "3s"] { _ = try bench.add(app, Self.detector("a", "mean(x, \(span)) > 1g")) }
        // A refused one leaves the old one where it is.
        #expect(throws: Refusal.self) {
            try bench.add(app, Self.detector("a", "mean(x, 4s) > 1g and mean(y, 4s) > 1g"))
        }
        _ = try bench.add(app, Self.detector("b", "mean(x, 3s) > 2g"))
        try bench.core.removeDetectors(app, ["a"], at: bench.now, &bench.actions)
        #expect(throws: Refusal.self) { try bench.add(app, Self.detector("c", "mean(x, 1s) > 1g")) }
        try bench.core.removeDetectors(app, ["b"], at: bench.now, &bench.actions)
        _ = try bench.add(app, Self.detector("c", "mean(x, 1s) > 1g"))
    }

    @Test func anAppThatLeavesMakesRoomOnTheSensor() throws {
        var limits = BrokerLimits()
        limits.statefulPerSensor = 2
        var bench = Bench(limits: limits)
        let first = try bench.register(0, "org.example.First")
        let second = try bench.register(1, "org.example.Second")
        _ = try bench.add(first, Self.detector("a", "mean(x, 1s) > 1g"))
        _ = try bench.add(second, Self.detector("a", "mean(x, 1s) > 2g"), Self.detector("b", "mean(y, 1s) > 1g"))
        let third = try bench.register(2, "org.example.Third")
        #expect(throws: Refusal.self) { try bench.add(third, Self.detector("a", "mean(z, 1s) > 1g")) }
        bench.core.leave(second, at: bench.now, &bench.actions)
        _ = try bench.add(third, Self.detector("a", "mean(z, 1s) > 1g"))
        #expect(throws: Refusal.self) { try bench.add(third, Self.detector("b", "mean(y, 1s) > 1g")) }
    }

    /// A name that no sensor has may be one's that comes, and has an engine: so there are not any number of them.
    @Test func sensorsHaveALimitForEachUser() throws {
        func light(_ index: Int) -> DetectorRequest {
            var request = Self.detector("\(index)", "lux > 1lx")
            request.options["sensor"] = .text("light-\(index)")
            return request
        }
        var bench = Bench()
        let apps = try (0..<3).map {
            try bench.register(UInt32($0), "org.example.A\($0)", user: [1_000, 1_000, 1_001][$0])
        }
        let share = SensorPlaces.shares.share
        for index in 0..<share { _ = try bench.add(apps[index % 2], light(index)) }
        for app in apps.prefix(2) {
            let refusal = #expect(throws: Refusal.self) { try bench.add(app, light(share)) }
            guard case .noRoom("sensors-per-user", UInt64(share), _) = refusal else {
                Issue.record("refused by \(String(describing: refusal))")
                return
            }
        }
        #expect(bench.core.sensing.sensors.count == share + 1)
        // One on a sensor that the user has costs nothing more, and another user has a share of his own.
        _ = try bench.add(apps[1], light(0))
        _ = try bench.add(apps[2], light(share))
        // All or nothing, also within a call.
        let calls = (share..<2 * share).map(light)
        #expect(throws: Refusal.self) {
            try bench.core.addDetectors(apps[2], calls, at: bench.now, &bench.actions)
        }
        #expect(bench.core.sensing.sensors.count == share + 2)
        bench.leave(apps[2])
        while bench.isCleaningDue { bench.clean() }
        // What is removed makes room, and is forgotten.
        try bench.remove(apps[0], ["0"])
        #expect(throws: Refusal.self) { try bench.add(apps[0], light(share)) }
        try bench.remove(apps[1], ["0"])
        _ = try bench.add(apps[0], light(share))
        for app in apps.prefix(2) { bench.leave(app) }
        while bench.isCleaningDue { bench.clean() }
        #expect(bench.core.sensing.sensors.map(\.name) == ["accelerometer"])
        #expect(bench.core.usage.first { $0.name == "sensors" }?.held == 0)
    }

    /// The sensor's channels are other than thought, so its detectors are compiled anew and counted anew.
    @Test func aSensorThatAppearsKeepsTheCountsRight() throws {
        var limits = BrokerLimits()
        limits.statefulPerSensor = 1
        var bench = Bench(limits: limits, sensor: nil)
        let app = try bench.register(0, "org.example.App")
        _ = try bench.add(app, Self.detector("a", "mean(x, 1s) > 1g"))
        let sensor = SensorDescription(
            name: "accelerometer", channels: ["z", "y", "x"], unit: "g", range: 16, rates: [50], source: "test",
            isSimulated: false)
        bench.core.sensorAppeared(sensor, at: bench.now, &bench.actions)
        #expect(throws: Refusal.self) { try bench.add(app, Self.detector("b", "mean(y, 1s) > 1g")) }
        try bench.core.removeDetectors(app, ["a"], at: bench.now, &bench.actions)
        _ = try bench.add(app, Self.detector("b", "mean(y, 1s) > 1g"))
    }
}
