import Glibc
import Motion
import SensorCore
import Testing

/// What the drop-in for `net.hadess.SensorProxy` decides, transition by transition.
struct ProxyTests {
    private struct Table {
        var state = ProxyState()

        /// One that finds no place stops.
        mutating func claim(
            _ sensor: ProxySensor, _ client: String, of user: UInt32 = UserShares.root
        ) -> [ProxyState.Action] {
            self.take { state, actions in
                if state.claim(sensor, by: client, of: user, &actions) != nil { actions.append(.stop(sensor)) }
            }
        }
        mutating func take(_ act: (inout ProxyState, inout [ProxyState.Action]) -> Void) -> [ProxyState.Action] {
            var actions: [ProxyState.Action] = []
            act(&self.state, &actions)
            return actions
        }
        mutating func set(_ sensor: ProxySensor, _ isThere: Bool) -> [ProxyState.Action] {
            self.take { $0.set(sensor, to: isThere ? .there : .absent, &$1) }
        }
        mutating func release(_ sensor: ProxySensor, _ client: String) -> [ProxyState.Action] {
            self.take { $0.release(sensor, by: client, &$1) }
        }
    }

    @Test func aClaimIsAnsweredWithTheFirstReading() {
        var table = Table()
        #expect(table.set(.accelerometer, true) == [])
        #expect(table.claim(.accelerometer, ":1") == [.run(.accelerometer)])
        #expect(table.claim(.accelerometer, ":2") == [])
        #expect(table.claim(.accelerometer, ":1") == [])
        #expect(
            table.take { $0.accelerated(SIMD3(0, 1, 0), &$1) } == [
                .tell([":1", ":2"], [.orientation, .tilt]), .answer(.accelerometer, [":1", ":2"]),
            ])
        // Who comes later is told what the others know.
        #expect(
            table.claim(.accelerometer, ":3") == [
                .tell([":3"], [.orientation, .tilt]), .answer(.accelerometer, [":3"]),
            ])
        #expect(table.claim(.accelerometer, ":3") == [.answer(.accelerometer, [":3"])])
        #expect(table.take { $0.accelerated(SIMD3(0, 1, 0), &$1) } == [])
        #expect(table.take { $0.accelerated(SIMD3(0, 0.8, 0.6), &$1) } == [.tell([":1", ":2", ":3"], [.tilt])])
        #expect(table.release(.accelerometer, ":2") == [])
        #expect(table.release(.accelerometer, ":2") == [])
        #expect(table.release(.accelerometer, ":1") == [])
        #expect(table.release(.accelerometer, ":3") == [.stop(.accelerometer)])
        // What was known stays, and nobody is told of what comes late.
        #expect(table.state.orientation == .normal)
        #expect(table.take { $0.accelerated(SIMD3(1, 0, 0), &$1) } == [])
        #expect(table.claim(.accelerometer, ":4") == [.run(.accelerometer)])
    }

    @Test func claimsOutliveTheDevice() {
        var table = Table()
        #expect(table.claim(.light, ":1") == [.answer(.light, [":1"]), .run(.light)])
        #expect(table.set(.light, true) == [.tell([":1"], [.hasLight, .lightUnit, .lightLevel])])
        #expect(table.set(.light, true) == [])
        #expect(table.claim(.light, ":2") == [])
        // Gone before it said anything: who waits is not kept waiting.
        #expect(
            table.set(.light, false) == [
                .tell([":1", ":2"], [.hasLight, .lightUnit, .lightLevel]), .answer(.light, [":2"]),
            ])
        #expect(table.release(.light, ":1") == [])
        #expect(table.set(.light, true) == [.tell([":2"], [.hasLight, .lightUnit, .lightLevel])])
        #expect(table.take { $0.lit(40, in: .lux, &$1) } == [.tell([":2"], [.lightLevel])])
        #expect(table.take { $0.lit(40, in: .lux, &$1) } == [])
        // Another device, whose numbers mean something else.
        #expect(table.take { $0.lit(40, in: .vendor, &$1) } == [.tell([":2"], [.lightUnit])])
        #expect(table.take { $0.lit(41, in: .lux, &$1) } == [.tell([":2"], [.lightUnit, .lightLevel])])
        #expect(table.take { $0.lit(40, in: .lux, &$1) } == [.tell([":2"], [.lightLevel])])
        #expect(table.state.lightLevel == 40)
    }

    /// A broken device is tried again and again, and its claimants need not hear of each time.
    @Test func aBrokenSensorIsThereAgainWithAReading() {
        var table = Table()
        _ = table.set(.light, true)
        _ = table.claim(.light, ":1")
        let all: [ProxyProperty] = [.hasLight, .lightUnit, .lightLevel]
        #expect(
            table.take { $0.set(.light, to: .broken, &$1) } == [.tell([":1"], all), .answer(.light, [":1"])])
        #expect(table.set(.light, true) == [])
        #expect(table.take { $0.set(.light, to: .broken, &$1) } == [])
        #expect(table.set(.light, true) == [])
        #expect(!table.state.isThere(.light))
        #expect(table.claim(.light, ":2") == [.answer(.light, [":2"])])
        #expect(
            table.take { $0.lit(7, in: .lux, &$1) } == [.tell([":1", ":2"], all), .tell([":1", ":2"], [.lightLevel])])
        #expect(table.state.isThere(.light))
        // Another device in its place is believed, and so is one that nobody claims: it would never be read.
        for isReplaced in [true, false] {
            _ = table.take { $0.set(.light, to: .broken, &$1) }
            if isReplaced {
                #expect(table.set(.light, false) == [])
                #expect(table.set(.light, true) == [.tell([":1", ":2"], all)])
                for client in [":1", ":2"] { _ = table.release(.light, client) }
            } else {
                #expect(table.set(.light, true) == [])
            }
            #expect(table.state.isThere(.light))
        }
    }

    /// A device may tell nothing for long: who has waited is told of its first reading all the same.
    @Test func whoHasWaitedIsAnswered() {
        var table = Table()
        _ = table.set(.light, true)
        _ = table.claim(.light, ":1")
        _ = table.claim(.light, ":2")
        #expect(table.take { $0.waited(for: .light, by: ":1", &$1) } == [.answer(.light, [":1"])])
        #expect(table.take { $0.waited(for: .light, by: ":1", &$1) } == [])
        #expect(table.take { $0.waited(for: .light, by: ":3", &$1) } == [])
        #expect(table.claim(.light, ":1") == [.answer(.light, [":1"])])
        #expect(
            table.take { $0.lit(40, in: .lux, &$1) } == [
                .tell([":1", ":2"], [.lightUnit, .lightLevel]), .answer(.light, [":2"]),
            ])
    }

    @Test func whoWaitsAndReleasesIsAnswered() {
        var table = Table()
        _ = table.set(.proximity, true)
        _ = table.claim(.proximity, ":1")
        #expect(table.release(.proximity, ":1") == [.answer(.proximity, [":1"]), .stop(.proximity)])
        #expect(table.take { $0.approached(true, &$1) } == [])
        #expect(table.state.isNear)
    }

    /// Who believes that something is near keeps a screen dark.
    @Test func whatIsGoneIsNotNear() {
        var table = Table()
        let all: [ProxyProperty] = [.hasProximity, .isNear]
        _ = table.set(.proximity, true)
        _ = table.claim(.proximity, ":1")
        _ = table.take { $0.approached(true, &$1) }
        #expect(table.take { $0.set(.proximity, to: .broken, &$1) } == [.tell([":1"], all)])
        #expect(!table.state.isNear)
        #expect(table.take { $0.approached(true, &$1) } == [.tell([":1"], all), .tell([":1"], [.isNear])])
        #expect(table.state.isNear)
        #expect(table.set(.proximity, false) == [.tell([":1"], all)])
        #expect(!table.state.isNear)
    }

    @Test func eachSensorHasItsOwnClaimants() {
        var table = Table()
        for sensor in ProxySensor.allCases { #expect(table.set(sensor, true) == []) }
        for (index, sensor) in ProxySensor.allCases.enumerated() {
            #expect(table.claim(sensor, ":\(index)") == [.run(sensor)])
        }
        #expect(table.take { $0.approached(true, &$1) } == [.tell([":2"], [.isNear]), .answer(.proximity, [":2"])])
        #expect(table.take { $0.pointed(90, &$1) } == [.tell([":3"], [.heading]), .answer(.compass, [":3"])])
        #expect(table.take { $0.pointed(nil, &$1) } == [.tell([":3"], [.heading])])
        #expect(table.state.heading == -1)
        #expect(table.take { $0.accelerated(.zero, &$1) }.last == .answer(.accelerometer, [":0"]))
        #expect(
            table.set(.accelerometer, false) == [
                .tell([":0"], [.hasAccelerometer, .orientation, .tilt])
            ])
        #expect(table.state.orientation == .undefined && table.state.tilt == .undefined)
    }

    /// What rests wants nothing and is told nothing; what goes on is told all that is known first.
    @Test func claimsRestAndGoOn() {
        var table = Table()
        func rest(_ client: String) -> [ProxyState.Action] { table.take { $0.rest(client, &$1) } }
        func wake(_ client: String) -> [ProxyState.Action] { table.take { $0.wake(client, &$1) } }
        for sensor in [ProxySensor.light, .proximity] { _ = table.set(sensor, true) }
        for client in [":1", ":2"] { _ = table.claim(.light, client) }
        _ = table.take { $0.lit(7, in: .lux, &$1) }
        // One waits for its first reading: it is kept waiting no longer.
        #expect(table.claim(.proximity, ":1") == [.run(.proximity)])
        #expect(rest(":1") == [.answer(.proximity, [":1"]), .stop(.proximity)])
        #expect(rest(":1") == [])
        #expect(rest(":3") == [])
        #expect(!table.state.isTold(":1", of: .light) && table.state.isTold(":2", of: .light))
        #expect(table.state.claimants(of: .light) == [":2"])
        #expect(table.take { $0.lit(8, in: .lux, &$1) } == [.tell([":2"], [.lightLevel])])
        #expect(table.set(.proximity, false) == [])
        #expect(table.set(.proximity, true) == [])
        // The light is known, the proximity is with the next reading.
        #expect(
            wake(":1") == [
                .tell([":1"], [.hasLight]), .tell([":1"], [.lightUnit, .lightLevel]), .tell([":1"], [.hasProximity]),
                .run(.proximity),
            ])
        #expect(wake(":1") == [])
        #expect(table.take { $0.approached(false, &$1) } == [.tell([":1"], [.isNear])])
        #expect(table.take { $0.lit(9, in: .lux, &$1) } == [.tell([":2", ":1"], [.lightLevel])])
        // All rest, and nothing runs; nor does it when what rests is released.
        #expect(rest(":2") == [])
        #expect(rest(":1") == [.stop(.light), .stop(.proximity)])
        #expect(table.take { $0.lit(10, in: .lux, &$1) } == [])
        #expect(table.release(.light, ":2") == [])
        #expect(wake(":2") == [])
        #expect(
            wake(":1") == [
                .tell([":1"], [.hasLight]), .run(.light), .tell([":1"], [.hasProximity]), .run(.proximity),
            ])
        #expect(
            table.take { $0.lit(10, in: .lux, &$1) } == [.tell([":1"], [.lightUnit, .lightLevel])])
        // One that rested while the device came and went.
        #expect(rest(":1") == [.stop(.light), .stop(.proximity)])
        #expect(table.set(.light, false) == [])
        #expect(
            wake(":1") == [
                .tell([":1"], [.hasLight, .lightUnit, .lightLevel]), .run(.light), .tell([":1"], [.hasProximity]),
                .run(.proximity),
            ])
        #expect(table.set(.light, true) == [.tell([":1"], [.hasLight, .lightUnit, .lightLevel])])
        #expect(table.take { $0.lit(10, in: .lux, &$1) } == [])
    }

    /// Who missed a change is told all that is true by now, of what it claims and may know.
    @Test func whoMissedAChangeIsToldAllAnew() {
        var table = Table()
        func tellAnew(_ client: String) -> [ProxyState.Action] { table.take { $0.tellAnew(client, &$1) } }
        let light: [ProxyProperty] = [.hasLight, .lightUnit, .lightLevel]
        for sensor in ProxySensor.allCases { _ = table.set(sensor, true) }
        for client in [":1", ":2"] { _ = table.claim(.light, client) }
        _ = table.claim(.proximity, ":1")
        _ = table.take { $0.lit(7, in: .lux, &$1) }
        // The first reading of the other is yet to come, and is told when it does.
        #expect(tellAnew(":1") == [.tell([":1"], light), .tell([":1"], [.hasProximity])])
        #expect(tellAnew(":2") == [.tell([":2"], light)])
        #expect(
            table.take { $0.approached(false, &$1) } == [.tell([":1"], [.isNear]), .answer(.proximity, [":1"])])
        // It missed that the sensor went, and perhaps that it came back.
        for isThere in [false, true] {
            _ = table.set(.light, isThere)
            #expect(tellAnew(":2") == [.tell([":2"], light)])
        }
        // Whose claims rest, or who has none, is told nothing.
        _ = table.take { $0.rest(":2", &$1) }
        for client in [":2", ":3"] { #expect(tellAnew(client) == [], "\(client)") }
    }

    @Test func thereAreNotTooManyClaimants() {
        var table = Table()
        for index in 0..<SensorLimits.claimants { #expect(table.claim(.light, ":\(index)") != [.stop(.light)]) }
        #expect(table.claim(.light, ":more") == [.stop(.light)])
        #expect(table.claim(.proximity, ":more") == [.answer(.proximity, [":more"]), .run(.proximity)])
        _ = table.release(.light, ":5")
        #expect(table.claim(.light, ":more") == [.answer(.light, [":more"])])
    }

    /// A user has half of the places that are not root's, of each sensor, and those that the user releases are there again.
    @Test func nobodyTakesAllPlaces() {
        var table = Table()
        let share = SensorHub.strangers.share
        for index in 0..<share { #expect(table.claim(.light, ":\(index)", of: 1_000) != [.stop(.light)]) }
        #expect(table.claim(.light, ":more", of: 1_000) == [.stop(.light)])
        var actions: [ProxyState.Action] = []
        let problem = table.state.claim(.light, by: ":more", of: 1_000, &actions)
        #expect(problem?.description.hasPrefix("proxy-claimants is at its limit of \(share) for one user") == true)
        #expect(table.claim(.light, ":5", of: 1_000) == [.answer(.light, [":5"])])
        #expect(table.claim(.proximity, ":more", of: 1_000) != [.stop(.proximity)])
        _ = table.release(.light, ":5")
        #expect(table.claim(.light, ":more", of: 1_000) == [.answer(.light, [":more"])])
        for user in [UserShares.root, 1_001] {
            #expect(table.claim(.light, ":of \(user)", of: user) == [.answer(.light, [":of \(user)"])])
        }
        let held = table.state.usage.map { "\($0.name): \($0.held(by: 1_000)) of \($0.held)" }
        #expect(
            held == [
                "proxy-claimants: 0 of 0", "proxy-claimants: \(share) of \(share + 2)", "proxy-claimants: 1 of 1",
                "proxy-claimants: 0 of 0",
            ])
    }

    /// As Linux reads it, by the angle of the axis above the horizon; the published thresholds are 35 degrees for an edge, 20 and 70 for the display.
    @Test(arguments: [
        (SIMD3(0, -1, 0.0), "normal", "vertical"), (SIMD3(0, 1, 0), "bottom-up", "vertical"),
        (SIMD3(1, 0, 0), "left-up", "vertical"), (SIMD3(-1, 0, 0), "right-up", "vertical"),
        (SIMD3(0, 0, 1), "undefined", "face-up"), (SIMD3(0, 0, -1), "undefined", "face-down"),
        // 36 degrees have an edge up, 35 do not.
        (SIMD3(0, -0.5878, 0.8090), "normal", "tilted-up"), (SIMD3(0, -0.5736, 0.8192), "undefined", "tilted-up"),
        (SIMD3(0, -0.9397, -0.3420), "normal", "vertical"), (SIMD3(0, -0.9336, -0.3584), "normal", "tilted-down"),
        (SIMD3(0, -0.3420, 0.9397), "undefined", "face-up"), (SIMD3(0, -0.3584, 0.9336), "undefined", "tilted-up"),
        // The border of two, and a freely falling body.
        (SIMD3(0.7071, -0.7071, 0), "undefined", "vertical"), (SIMD3(0, 0, 0), "undefined", "vertical"),
        // However hard it is shaken.
        (SIMD3(-26, 0, 0), "right-up", "vertical"),
    ])
    func postures(acceleration: SIMD3<Double>, orientation: String, tilt: String) {
        #expect(Orientation.undefined.next(acceleration).rawValue == orientation)
        #expect(Tilt(acceleration).rawValue == tilt)
        // Where nothing says otherwise, it stays as it was.
        let kept = Orientation.leftUp.next(acceleration).rawValue
        #expect(kept == (orientation == "undefined" ? "left-up" : orientation))
    }

    /// A field that points north and into the ground, as the device sees it when it points somewhere.
    @Test(arguments: [0.0, 1, 45, 90, 135, 180, 225, 270, 315, 359]) func headings(degrees: Double) {
        let (sine, cosine) = (sin(degrees), cos(degrees))
        // Flat: the upper edge points there.
        let flat = SIMD3(-sine * 20, cosine * 20, -40)
        #expect(Heading.degrees(flat, up: SIMD3(0, 0, 1)) == degrees)
        // Lifted by 40 degrees about x, and upright: then the back does.
        for (lift, scale) in [(40.0, 0.98), (90, 1.02)] {
            let (s, c) = (sin(lift), cos(lift))
            let up = SIMD3(0, s, c) * scale
            let field = SIMD3(flat.x, c * flat.y + s * flat.z, -s * flat.y + c * flat.z)
            #expect(Heading.degrees(field, up: up) == degrees, "\(lift)")
        }
    }

    @Test func noNorth() {
        #expect(Heading.degrees(SIMD3(0, 0, 40), up: SIMD3(0, 0, 1)) == nil)
        #expect(Heading.degrees(.zero, up: SIMD3(0, 0, 1)) == nil)
        #expect(Heading.degrees(SIMD3(1, 0, 0), up: .zero) == nil)
    }

    private func sin(_ degrees: Double) -> Double { Glibc.sin(degrees * .pi / 180) }
    private func cos(_ degrees: Double) -> Double { Glibc.cos(degrees * .pi / 180) }
}
