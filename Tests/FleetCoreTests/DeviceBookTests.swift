import FleetCore
import Testing

/// A book that is written in.
private final class Desk {
    var book = DeviceBook()

    func take(_ topic: String, _ text: String) -> DeviceBook.Change? {
        self.book.take(topic: topic, Array(text.utf8), contentType: nil)
    }
}

@Suite struct DeviceBookTests {
    @Test func itKnowsWhatMessagesSay() {
        let desk = Desk()
        #expect(desk.take("jostle/1/k1/presence", #"{"online":true}"#) == .presence("k1"))
        #expect(
            desk.take(
                "jostle/1/k1/birth",
                #"{"version":"0.1.0","groups":["north"],"detectors":[{"name":"knock"}],"requests":["explain"]}"#)
                == .birth("k1"))
        #expect(desk.take("jostle/1/k1/reported", #"{"version":4,"state":"applied","in_force":4}"#) == .report("k1"))
        #expect(
            desk.take("jostle/1/k1/apps/a.b/state", #"{"hits":7,"denied":2,"since_us":5,"hits_then":1}"#)
                == .counts("k1"))
        #expect(desk.take("jostle/1/k1/apps/a.c/state", #"{"hits":1,"denied":1}"#) == .counts("k1"))
        #expect(desk.take("jostle/1/@north/desired", #"{"version":6,"pause":true}"#) == .wanted(.group("north")))
        let device = desk.book.devices["k1"]
        #expect(device?.isOnline == true && device?.groups == ["north"] && device?.detectors == ["knock"])
        #expect(device?.report == DesiredReport(.applied, version: 4, inForce: 4))
        #expect(device?.hits == 8 && device?.denied == 3)
        #expect(device?.apps["a.b"] == DeviceBook.Counts(hits: 7, denied: 2, since: 5, hitsThen: 1))
        #expect(desk.book.devices(in: "north") == ["k1"] && desk.book.devices(in: "south") == [])
        #expect(desk.book.nextVersion == 7)
        // Gone.
        #expect(desk.take("jostle/1/k1/apps/a.b/state", "") == .counts("k1"))
        #expect(desk.book.devices["k1"]?.hits == 1)
    }

    @Test(arguments: [
        "jostle/2/k1/presence", "jostle/1/k1", "jostle/1/k 1/presence", "jostle/1/@/presence",
        "jostle/1/k1/event/knock",
        "other", "",
    ])
    func otherTopicsAreNothing(topic: String) {
        let desk = Desk()
        #expect(desk.take(topic, "{}") == nil)
    }

    @Test func noAppHasALongerName() {
        let desk = Desk()
        let longest = String(repeating: "%C3", count: 255)
        #expect(desk.take("jostle/1/k1/apps/\(longest)/state", #"{"hits":1}"#) == .counts("k1"))
        #expect(desk.take("jostle/1/k1/apps/\(longest)%/state", #"{"hits":1}"#) == nil)
        #expect(desk.book.devices["k1"]?.apps.count == 1)
    }

    @Test func whatCannotBeReadIsNothing() {
        let desk = Desk()
        _ = desk.take("jostle/1/k1/reported", "nonsense")
        #expect(desk.book.devices["k1"]?.report == nil && desk.book.nextVersion == 1)
    }

    /// A device that lies about its versions does not use them up for the others.
    @Test func noDeviceUsesUpTheVersions() {
        let desk = Desk()
        _ = desk.take(
            "jostle/1/k1/reported", #"{"version":9007199254740991,"state":"applied","in_force":9007199254740991}"#)
        _ = desk.take("jostle/1/k2/reported", #"{"version":4,"state":"applied","in_force":4}"#)
        #expect(desk.book.nextVersion == 5)
    }

    /// Nor does one that says itself what is wanted of it.
    @Test func noWishOfOneDeviceUsesUpTheVersions() {
        let desk = Desk()
        _ = desk.take("jostle/1/k1/desired", #"{"version":9007199254740991}"#)
        _ = desk.take("jostle/1/@north/desired", #"{"version":4}"#)
        #expect(desk.book.nextVersion == 5)
        // At half of all numbers what canaries had counts on.
        _ = desk.take("jostle/1/k1/reported", #"{"version":4503599627370496,"state":"applied","in_force":0}"#)
        #expect(desk.book.nextVersion == 4_503_599_627_370_497)
        _ = desk.take("jostle/1/@north/desired", #"{"version":4503599627370497}"#)
        _ = desk.take("jostle/1/k2/desired", #"{"version":4503599627370499}"#)
        #expect(desk.book.nextVersion == 4_503_599_627_370_500)
    }

    /// What no device would read is not sent.
    @Test func noVersionIsBeyondWhatDevicesRead() {
        let desk = Desk()
        _ = desk.take("jostle/1/@north/desired", #"{"version":9007199254740990}"#)
        #expect(desk.book.nextVersion == 9_007_199_254_740_991)
        _ = desk.take("jostle/1/@north/desired", #"{"version":9007199254740991}"#)
        #expect(desk.book.nextVersion == nil)
        _ = desk.take("jostle/1/@north/desired", #"{"version":9007199254740992}"#)
        #expect(desk.book.nextVersion == nil)
    }

    /// What was not heard of is not taken for what is not there.
    @Test(arguments: [
        ("jostle/1/k1/birth", #"{"groups":["north"]}"#), ("jostle/1/@north/desired", #"{"version":4}"#),
        ("jostle/1/@north/previous", #"{"version":4}"#),
    ])
    func aGroupIsKnownByOneMessage(topic: String, text: String) {
        let desk = Desk()
        _ = desk.take("jostle/1/k1/presence", #"{"online":true}"#)
        #expect(!desk.book.knows(group: "north"))
        _ = desk.take(topic, text)
        #expect(desk.book.knows(group: "north") && !desk.book.knows(group: "south"))
    }

    @Test func whatADeviceHasIsTheNewestOfEachKind() {
        let desk = Desk()
        _ = desk.take("jostle/1/k1/birth", #"{"groups":["north","all"]}"#)
        _ = desk.take("jostle/1/@north/desired", #"{"version":4,"policy":{"a.conf":"north"},"pause":true}"#)
        _ = desk.take("jostle/1/@all/desired", #"{"version":6,"policy":{"a.conf":"all"}}"#)
        _ = desk.take("jostle/1/k1/desired", #"{"version":7,"pause":false}"#)
        _ = desk.take("jostle/1/@south/desired", #"{"version":9,"pause":true}"#)
        let all = DesiredState(version: 7, policy: [DesiredFile("a.conf", "all")], isPaused: false)
        #expect(desk.book.inForce(on: "k1") == all)
        // It has not all of it yet.
        _ = desk.take("jostle/1/k1/reported", #"{"version":7,"state":"refused","in_force":4}"#)
        #expect(
            desk.book.inForce(on: "k1")
                == DesiredState(version: 4, policy: [DesiredFile("a.conf", "north")], isPaused: true))
        #expect(desk.book.inForce(on: "k2") == DesiredState.none)
    }

    /// A device that refused the last has what was before; of another one nobody knows what it has, which is not nothing.
    @Test func whatADeviceKeptIsKnownOrSaidNotToBe() {
        let desk = Desk()
        _ = desk.take("jostle/1/k1/birth", #"{"groups":["north"]}"#)
        _ = desk.take("jostle/1/@north/previous", #"{"version":3,"policy":{"a.conf":"old"}}"#)
        _ = desk.take("jostle/1/@north/desired", #"{"version":4,"policy":{"a.conf":"new"}}"#)
        _ = desk.take("jostle/1/k1/reported", #"{"version":4,"state":"refused","in_force":3}"#)
        #expect(desk.book.inForce(on: "k1") == DesiredState(version: 3, policy: [DesiredFile("a.conf", "old")]))
        _ = desk.take("jostle/1/k1/reported", #"{"version":4,"state":"refused","in_force":2}"#)
        #expect(desk.book.inForce(on: "k1") == nil)
        _ = desk.take("jostle/1/k1/reported", #"{"version":4,"state":"refused","in_force":0}"#)
        #expect(desk.book.inForce(on: "k1") == DesiredState.none)
        // Nothing was before what is wanted now.
        _ = desk.take("jostle/1/@north/previous", #"{"version":1,"policy":{}}"#)
        _ = desk.take("jostle/1/@north/desired", #"{"version":1,"policy":{"a.conf":"first"}}"#)
        _ = desk.take("jostle/1/k1/reported", #"{"version":1,"state":"applied","in_force":1}"#)
        #expect(desk.book.inForce(on: "k1") == DesiredState(version: 1, policy: [DesiredFile("a.conf", "first")]))
    }

    @Test func whatWasSignedIsRead() {
        let desk = Desk()
        let bundle = SignedBundle(bytes: Array(#"{"version":9,"for":"@north"}"#.utf8), signature: [1])
        _ = desk.take("jostle/1/@north/desired", JSONCoding.text(bundle.value))
        #expect(desk.book.groups["north"]?.version == 9 && desk.book.nextVersion == 10)
    }

    @Test func undoingTouchesOnlyWhatWasChanged() {
        let new = DesiredState(version: 5, policy: [DesiredFile("a.conf", "new")], isPaused: true)
        let old = DesiredState(version: 4, policy: [DesiredFile("a.conf", "old")], apps: [])
        #expect(new.undone(by: old, version: 6) == DesiredState(version: 6, policy: old.policy, isPaused: false))
        #expect(new.undone(by: nil, version: 6) == DesiredState(version: 6, policy: [], isPaused: false))
    }

    /// What a server makes up as what was before is not what an operator signs.
    @Test func withAKeyOnlyWhatItSignedCounts() {
        let state = DesiredState(version: 4, isPaused: true, addressee: "@north previous")
        let bytes = JSONCoding.bytes(state.value)
        let topic = DeviceBook.previousTopic(of: "north")
        func previous(_ payload: [UInt8], _ topic: String, isSigned: Bool?) -> DesiredState? {
            var book = DeviceBook()
            _ = book.take(topic: topic, payload, contentType: nil, isSigned: isSigned.map { answer in { _ in answer } })
            return book.previous.values.first
        }
        let bundle = JSONCoding.bytes(SignedBundle(bytes: bytes, signature: [1]).value)
        #expect(previous(bytes, topic, isSigned: nil)?.version == 4)
        #expect(previous(bytes, topic, isSigned: true) == nil)
        #expect(previous(bundle, topic, isSigned: nil)?.version == 4)
        #expect(previous(bundle, topic, isSigned: true)?.version == 4)
        #expect(previous(bundle, topic, isSigned: false) == nil)
        #expect(previous(bundle, DeviceBook.previousTopic(of: "south"), isSigned: true) == nil)
    }

    /// What an operator signs to remember it is one thing, what is wanted another: neither stands for the other, whoever moves it there.
    @Test func whatWasSignedToBeRememberedIsNotWanted() {
        func bundle(for addressee: String) -> [UInt8] {
            let state = DesiredState(version: 4, isPaused: true, addressee: addressee)
            return JSONCoding.bytes(SignedBundle(bytes: JSONCoding.bytes(state.value), signature: [1]).value)
        }
        let remembered = bundle(for: DeviceBook.previousAddressee(of: "north"))
        #expect(throws: DesiredProblem.self) {
            try DesiredState.read(remembered, contentType: nil, for: .group("north"), isSigned: { _ in true })
        }
        var book = DeviceBook()
        _ = book.take(topic: "jostle/1/@north/desired", remembered, contentType: nil, isSigned: { _ in true })
        #expect(book.groups.isEmpty)
        let wanted = bundle(for: "@north")
        let topic = DeviceBook.previousTopic(of: "north")
        _ = book.take(topic: topic, wanted, contentType: nil, isSigned: { _ in true })
        #expect(book.previous.isEmpty)
        _ = book.take(topic: topic, remembered, contentType: nil, isSigned: { _ in true })
        #expect(book.previous["north"]?.version == 4)
    }
}
