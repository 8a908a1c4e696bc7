import Glibc
import TestSupport
import Testing

/// The policy that is installed for the system bus, on a bus that has the rules of one.
///
/// As root, the peers are other users; otherwise all have our uid, which the policy knows as little as any other.
@Suite(.serialized) struct BusPolicyTests {
    @Test func anybodyMay() throws {
        let messages = [
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.freedesktop.DBus.Introspectable,Introspect",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1,org.freedesktop.DBus.Properties,GetAll",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1,org.freedesktop.DBus.Properties,Get",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Claim",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,OpenStream",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Flush",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Release",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,ListClaimants",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1,org.jostle.Sensors1,ListUsage",
            "call,net.hadess.SensorProxy,/net/hadess/SensorProxy,net.hadess.SensorProxy,ClaimLight",
            "call,net.hadess.SensorProxy,/net/hadess/SensorProxy/Compass,net.hadess.SensorProxy.Compass,ClaimCompass",
            "call,net.hadess.SensorProxy,/net/hadess/SensorProxy,org.freedesktop.DBus.Properties,GetAll",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.freedesktop.DBus.Introspectable,Introspect",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.freedesktop.DBus.Properties,GetAll",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.freedesktop.DBus.Properties,Get",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.freedesktop.DBus.Peer,Ping",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Register",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,ListApps",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,ListCounters",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,ListUsage",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Watch",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,DescribePresets",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Explain",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,WhyNot",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,SetForeground",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,SetWindows",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,ForgetWindows",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,SetPlaying",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,SetFrozen",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Push",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,SetState",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,SetLock",
            "call,org.jostle.Broker1,/org/jostle/Broker1/apps/org_2eexample_2eA,org.jostle.Broker1.App,AddDetectors",
            "call,org.jostle.Broker1,/org/jostle/Broker1/apps/org_2eexample_2eA,org.jostle.Broker1.App,ListDetectors",
            "call,org.jostle.Broker1,/org/jostle/Broker1/apps/org_2eexample_2eA,org.jostle.Broker1.App,Ack",
            "call,org.jostle.Broker1,/org/jostle/Broker1/apps/org_2eexample_2eA,org.jostle.Broker1.App,Subscribe",
        ]
        try withServices { bus, sensors, broker in
            let outcomes = try send(messages, as: .stranger, on: bus)
            #expect(outcomes == messages.map { $0.hasSuffix(",OpenStream") ? "ok fd" : "ok" })
            for message in messages {
                let service = message.contains(",org.jostle.Broker1,") ? broker : sensors
                let line = try service.waitForLine { _ in true }
                #expect(line == arrival(of: message))
            }
        }
    }

    @Test func nobodyElseMay() throws {
        let messages = [
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Inject",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,NotYetInvented",
            "call+fd,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Claim",
            "signal,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Claim",
            "signal,org.jostle.Sensors1,/org/freedesktop/PolicyKit1/Authority,org.freedesktop.PolicyKit1.Authority,Changed",
            "call,org.jostle.Sensors1,/org/freedesktop/LogControl1,org.freedesktop.DBus.Properties,Set",
            // The other name of the same connection opens no other door.
            "call,net.hadess.SensorProxy,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Inject",
            "call,net.hadess.SensorProxy,/org/freedesktop/LogControl1,org.freedesktop.DBus.Properties,Set",
            "signal,net.hadess.SensorProxy,/org/freedesktop/DBus,org.freedesktop.DBus,NameOwnerChanged",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Reload",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Mute",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Pause",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Resume",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,NotYetInvented",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.freedesktop.DBus.Properties,Set",
            "call,org.jostle.Broker1,/org/freedesktop/LogControl1,org.freedesktop.DBus.Properties,Set",
            "call+fd,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Register",
            "call+fd,org.jostle.Sensors1,/org/jostle/Sensors1,org.freedesktop.DBus.Properties,GetAll",
            "signal,org.jostle.Broker1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Samples",
            "signal,org.jostle.Broker1,/org/freedesktop/DBus,org.freedesktop.DBus,NameOwnerChanged",
            "signal,org.jostle.Sensors1,/org/freedesktop/DBus,org.freedesktop.DBus,NameOwnerChanged",
        ]
        let allowed = [
            "call,org.jostle.Sensors1,/org/jostle/Sensors1,org.freedesktop.DBus.Properties,GetAll",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,ListApps",
        ]
        try withServices { bus, sensors, broker in
            let outcomes = try send(messages + allowed, as: .stranger, on: bus)
            #expect(outcomes == messages.map { _ in "org.freedesktop.DBus.Error.AccessDenied" } + ["ok", "ok"])
            // Sent last over the same connection, so all that got through would stand before them.
            for (service, message) in zip([sensors, broker], allowed) {
                let line = try service.waitForLine { _ in true }
                #expect(line == arrival(of: message))
            }
        }
    }

    @Test func aForgedSignalToTheUniqueNameDoesNotArriveEither() throws {
        try withServices { bus, _, broker in
            let answer = try bus.busctl([
                "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetNameOwner", "s", "org.jostle.Broker1",
            ])
            let unique = try #require(answer.stdout.split(separator: "\"").dropFirst().first)
            let forged = "signal,\(unique),/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Samples"
            let allowed = "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,ListApps"
            let outcomes = try send([forged, allowed], as: .stranger, on: bus)
            #expect(outcomes == ["org.freedesktop.DBus.Error.AccessDenied", "ok"])
            let line = try broker.waitForLine { _ in true }
            #expect(line == arrival(of: allowed))
        }
    }

    /// The same signal on a bus without policy: what the policy is for, and proof that the peers would see it.
    @Test func withoutThePolicyAForgedSignalArrives() throws {
        try PrivateBus.with(.session, on: .dbusDaemon) { bus in
            let script = try peer()
            let service = try BackgroundProgram(
                tool: ["python3", "-c", script, "own", bus.address, "org.jostle.Broker1"])
            _ = try service.waitForLine { $0.hasPrefix("unique ") }
            let forged = "signal,org.jostle.Broker1,/org/jostle/Sensors1,org.jostle.Sensors1.Sensor,Samples"
            let result = try bus.run(["python3", "-c", script, "send", bus.address, forged])
            #expect(result.stdout == "silence\n")
            let line = try service.waitForLine { _ in true }
            #expect(line == "signal org.jostle.Sensors1.Sensor.Samples")
        }
    }

    @Test func broadcastsThatWereAskedForArrive() throws {
        let message = "broadcast,,/org/example,org.freedesktop.DBus.Properties,PropertiesChanged"
        try withServices { bus, sensors, broker in
            let outcomes = try send([message], as: .stranger, on: bus)
            #expect(outcomes == ["silence"])
            for service in [sensors, broker] {
                let line = try service.waitForLine { _ in true }
                #expect(line == "signal org.freedesktop.DBus.Properties.PropertiesChanged")
            }
        }
    }

    @Test func theServiceUserMayAll() throws {
        let messages = [
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Claim",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Release",
            "call,org.jostle.Sensors1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,OpenStream",
            "call,org.jostle.Broker1,/org/jostle/Broker1,org.jostle.Broker1,Reload",
            "signal,org.jostle.Broker1,/org/jostle/Sensors1/accelerometer,org.jostle.Sensors1.Sensor,Samples",
        ]
        try withServices(for: .service) { bus, _, broker in
            let outcomes = try send(messages, as: .service, on: bus)
            // The stream's descriptor comes back although no descriptor may go in.
            #expect(outcomes == ["ok", "ok", "ok fd", "ok", "silence"])
            let line = try broker.waitForLine { $0.hasPrefix("signal ") }
            #expect(line == "signal org.jostle.Sensors1.Sensor.Samples")
        }
    }

    @Test func theServiceUserMayCallApps() throws {
        try withServices(for: .service) { bus, _, _ in
            let app = try BackgroundProgram(tool: command(as: .stranger, try peer(), ["own", bus.address]))
            let unique = try app.waitForLine { $0.hasPrefix("unique ") }.dropFirst("unique ".count)
            let messages = [
                "call,\(unique),/org/example/A,org.jostle.Receiver1,Deliver",
                "call,\(unique),/org/example/A,org.freedesktop.DBus.Peer,Ping",
                "call,\(unique),/org/example/A,org.example.Other,Anything",
            ]
            let outcomes = try send(messages, as: .service, on: bus)
            #expect(outcomes == ["ok", "ok", "org.freedesktop.DBus.Error.AccessDenied"])
        }
    }

    /// The bus does not hand on an answer with a descriptor to whoever takes none; that this is said is let through.
    @Test func whoTakesNoDescriptorIsTold() throws {
        let message = "call,org.jostle.Broker1,/org/jostle/Broker1/apps/a,org.jostle.Broker1.App,BeginAssertion"
        try withServices { bus, _, _ in
            let outcomes = try ["send", "plain"].map { try send([message], as: .stranger, on: bus, how: $0) }
            #expect(outcomes == [["ok fd"], ["org.freedesktop.DBus.Error.NotSupported"]])
        }
    }

    @Test func theNamesAreKept() throws {
        try PrivateBus.with(.system(policies: [Programs.source("dbus/org.jostle.conf")])) { bus in
            let names = [
                "org.jostle.Sensors1", "org.jostle.Sensors1.Polkit", "org.jostle.Broker1", "net.hadess.SensorProxy",
            ]
            for name in names {
                let request = [
                    "busctl", "--address=\(bus.address)", "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus",
                    "RequestName", "su", name, "4",
                ]
                let denied = try Tool.run(isRoot ? setpriv(strangeUser) + request : request)
                #expect(denied.stderr == "Call failed: Access denied\n")
            }
        }
    }
}

private enum Caller {
    /// A user the policy does not name.
    case stranger
    /// The user the daemons run as, which stands in the policy in place of `jostle`.
    case service
}

private let isRoot = geteuid() == 0
/// `nobody` and `daemon`, which every system has: dbus-daemon turns away a uid it cannot look up.
private let strangeUser: UInt32 = 65_534
private let otherUser: UInt32 = 1
private let serviceUser = isRoot ? otherUser : geteuid()

private func setpriv(_ user: UInt32) -> [String] {
    ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"]
}

/// The script as text: other users could not read it in a private source tree.
private func peer() throws -> String {
    try Tool.run(["cat", Programs.source("Tests/Scripts/bus-peer.py")]).stdout
}

private func command(as caller: Caller, _ script: String, _ arguments: [String]) -> [String] {
    let python = ["/usr/bin/python3", "-c", script] + arguments
    guard isRoot else { return python }
    return setpriv(caller == .stranger ? strangeUser : serviceUser) + python
}

/// A system bus with the policy, and a service for each name.
///
/// Root plays everybody: the services are root, strangers and the service user are two other uids. Without root one uid is
/// all there is; it may own the names, and is either a stranger or the service user, as the test asks.
private func withServices(
    for caller: Caller = .stranger,
    _ body: (_ bus: PrivateBus, _ sensors: BackgroundProgram, _ broker: BackgroundProgram) throws -> Void
) throws {
    var policy = try Tool.run(["cat", Programs.source("dbus/org.jostle.conf")]).stdout
    let user = caller == .service || isRoot ? serviceUser : otherUser
    let parts = policy.split(separator: "user=\"jostle\"", omittingEmptySubsequences: false)
    try #require(parts.count == 2)
    policy = parts.joined(separator: "user=\"\(user)\"")
    let mayOwn = """
        <policy user="\(geteuid())"><allow own="org.jostle.Sensors1"/><allow own="org.jostle.Broker1"/>
        <allow own="net.hadess.SensorProxy"/></policy>
        """
    try PrivateBus.with(
        .system(policies: ["org.jostle.conf"]), additions: mayOwn, files: ["org.jostle.conf": policy]
    ) { bus in
        let script = try peer()
        let services = try [["org.jostle.Sensors1", "net.hadess.SensorProxy"], ["org.jostle.Broker1"]].map { names in
            try BackgroundProgram(tool: ["python3", "-c", script, "own", bus.address] + names)
        }
        for service in services { _ = try service.waitForLine { $0.hasPrefix("unique ") } }
        try body(bus, services[0], services[1])
    }
}

/// Sends messages in order over one connection; one outcome each.
private func send(
    _ messages: [String], as caller: Caller, on bus: PrivateBus, how: String = "send"
) throws -> [String] {
    let result = try Tool.run(command(as: caller, try peer(), [how, bus.address] + messages))
    try #require(result.status == 0, "\(result.stderr)")
    return result.stdout.split(separator: "\n").map(String.init)
}

/// The line the service prints when the call arrives.
private func arrival(of message: String) -> String {
    let parts = message.split(separator: ",", omittingEmptySubsequences: false)
    return "method_call \(parts[3]).\(parts[4])"
}
