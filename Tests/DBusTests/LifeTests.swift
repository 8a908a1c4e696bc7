import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus

extension BusTests {
    /// A connection's beginning, end and return.
    @Suite(.serialized) struct Life {
        @Test func greetsOwnsAndAnswers() throws {
            let station = try Station()
            _ = Station.Echo.export(on: station.connection)
            #expect(station.connection.uniqueName.hasPrefix(":1."))
            #expect(station.connection.isReady)
            let answer = try station.busctl(
                "call", Station.name, "/org/example/Echo", "org.example.Echo", "Echo", "s", "hello")
            #expect(answer == Tool.Result(status: 0, stdout: "s \"hello\"\n", stderr: ""))
        }

        @Test func aTakenNameIsRefusedClearlyAndForGood() throws {
            let station = try Station()
            let second = Connection(
                to: .address(station.bus.address), on: station.loop, names: ["org.example.Free", Station.name],
                retry: .upTo(microseconds: 1_000))
            var refusals: [BusError] = []
            var losses = 0
            second.onRefused = { refusals.append($0) }
            second.onLost = { losses += 1 }
            try second.open()
            try station.until("refusal") { !refusals.isEmpty }
            try station.run(for: .milliseconds(100))
            #expect(refusals.count == 1 && losses == 0)
            let text = "the name org.example.Station is taken: another instance runs on the bus at"
            #expect(refusals.first?.message.hasPrefix(text) == true)
            #expect(second.state == .closed && second.uniqueName.isEmpty)
            #expect(throws: BusError.self) { try second.openAndWait() }
            let list = try station.busctl("list", "--no-legend").stdout
            #expect(list.contains(Station.name) && !list.contains("org.example.Free"))
        }

        @Test func aNameThatWasOursIsWaitedFor() throws {
            let buses = try (PrivateBus(), PrivateBus())
            defer { buses.1.stop() }
            let loop = try EventLoop()
            let link = "\(buses.1.directory)/current"
            #expect(symlink(buses.0.directory, link) == 0)
            let connection = Connection(
                to: .address("unix:path=\(link)/bus"), on: loop, names: [Station.name],
                retry: .upTo(microseconds: 100_000))
            var log: [String] = []
            connection.onReady = { log.append("ready") }
            connection.onLost = { log.append("lost") }
            connection.onRefused = { _ in log.append("refused") }
            connection.onHeldUp = { _, _ in if log.last != "held up" { log.append("held up") } }
            try connection.openAndWait()
            // Somebody is faster on the bus that takes the place of the first.
            let squatter = Connection(to: .address(buses.1.address), on: loop, names: [Station.name])
            try squatter.openAndWait()
            #expect(unlink(link) == 0 && symlink(buses.1.directory, link) == 0)
            buses.0.stop()
            func run(_ isDone: () -> Bool) throws {
                let deadline = ContinuousClock.now + .seconds(20)
                while !isDone(), ContinuousClock.now < deadline { try loop.runOnce(timeout: 20_000) }
            }
            try run { log.count == 3 }
            #expect(log == ["ready", "lost", "held up"])
            squatter.close()
            try run { log.count == 4 }
            #expect(log == ["ready", "lost", "held up", "ready"] && connection.isReady)
            connection.close()
        }

        @Test func addressesThatLeadNowhereAreErrors() throws {
            let loop = try EventLoop()
            for address in ["unix:path=/nonexistent/bus", "nonsense:", "unix:", "tcp:host=", "unix:path=%zz", ":"] {
                let connection = Connection(to: .address(address), on: loop)
                #expect(throws: BusError.self) { try connection.openAndWait() }
                #expect(connection.state == .closed)
            }
        }

        @Test func aKilledBusIsLostAndOneThatComesBackIsFoundAgain() throws {
            let buses = try (PrivateBus(), PrivateBus())
            let loop = try EventLoop()
            // The path leads to the first bus, and later to the second.
            let link = "\(buses.1.directory)/current"
            #expect(symlink(buses.0.directory, link) == 0)
            let connection = Connection(
                to: .address("unix:path=\(link)/bus"), on: loop, names: [Station.name],
                retry: .upTo(microseconds: 100_000))
            let context = Station.Echo.export(on: connection)
            connection.addMatch("type='signal',interface='org.example.Early'")
            var log: [String] = []
            connection.onReady = { log.append("ready") }
            connection.onLost = { log.append("lost") }
            var heard = 0
            connection.onSignal("org.example.Early", "Heard") { _ in heard += 1 }
            try connection.openAndWait()
            connection.addMatch("type='signal',interface='org.example.Other'")
            var results: [String] = []
            // Somebody whose unique name nobody has on the second bus.
            let caller = Connection(to: .address(buses.0.address), on: loop)
            try caller.openAndWait()
            for connection in [connection, caller, caller] {
                connection.call(Station.Echo.target, "Later") { result in
                    results.append(result.errorName())
                }
            }
            func run(_ isDone: () -> Bool) throws {
                let deadline = ContinuousClock.now + .seconds(20)
                while !isDone(), ContinuousClock.now < deadline { try loop.runOnce(timeout: 20_000) }
            }
            try run { context.kept.count == 3 }
            #expect(context.kept.count == 3)

            #expect(kill(buses.0.pid, SIGKILL) == 0)
            try run { results.count == 3 && log.count == 2 }
            #expect(log == ["ready", "lost"] && !connection.isReady)
            #expect(results == Array(repeating: "org.freedesktop.DBus.Error.Disconnected", count: 3))
            var lateError = ""
            connection.call(Station.Echo.target, "Echo", "x") { result in
                lateError = result.errorName()
            }
            #expect(lateError.isEmpty)
            try run { !lateError.isEmpty }
            #expect(lateError == "org.freedesktop.DBus.Error.Disconnected")

            #expect(unlink(link) == 0 && symlink(buses.1.directory, link) == 0)
            try run { connection.isReady }
            #expect(log == ["ready", "lost", "ready"])
            // Answers to callers of the bus that is gone reach nobody on the new one.
            for call in context.kept { call.reply("late") }
            context.kept = []
            for _ in 0..<5 { try loop.runOnce(timeout: 10_000) }
            #expect(connection.undeliverable == 0)

            let client = Connection(to: .address(buses.1.address), on: loop)
            try client.openAndWait()
            let reply = try client.callAndWait(Station.Echo.target, "Echo", "again")
            #expect(try reply.read(String.self) == "again")
            client.signal(from: Station.Echo.path, "org.example.Early", "Heard") { _ in }
            try run { heard == 1 }
            #expect(heard == 1 && connection.undeliverable == 0)
            connection.close()
            client.close()
        }

        /// Where sockets are in a place for all, as in /tmp, whoever comes first has the place of a bus that is gone.
        @Test(.enabled(if: geteuid() == 0, "only root starts a bus as somebody else"))
        func aBusOfAnotherUserIsNotTheOneThatWasThere() throws {
            let first = try PrivateBus()
            let second = try PrivateBus(files: ["stranger.conf": Self.openBus])
            defer { second.stop() }
            // The stranger has to read the file.
            #expect(chmod(second.directory, 0o755) == 0 && chmod("\(second.directory)/stranger.conf", 0o644) == 0)
            let stranger = try BackgroundProgram(tool: [
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "dbus-daemon",
                "--config-file=\(second.directory)/stranger.conf", "--nofork", "--nopidfile", "--print-address=1",
            ])
            let address = try stranger.waitForLine { $0.hasPrefix("unix:path=") }
            let place = String(address.dropFirst("unix:path=".count).prefix { $0 != "," })
            let loop = try EventLoop()
            // The path leads to the first bus, then to the stranger's, and in the end to the second.
            let link = "\(second.directory)/current"
            #expect(symlink("\(first.directory)/bus", link) == 0)
            let connection = Connection(
                to: .address("unix:path=\(link)"), on: loop, names: [Station.name], retry: .upTo(microseconds: 50_000))
            var log: [String] = []
            connection.onReady = { log.append("ready") }
            connection.onLost = { log.append("lost") }
            var strangers = 0
            connection.onHeldUp = { obstacle, _ in if obstacle == .stranger { strangers += 1 } }
            try connection.openAndWait()
            func run(for time: Duration = .seconds(20), _ isDone: () -> Bool) throws {
                let deadline = ContinuousClock.now + time
                while !isDone(), ContinuousClock.now < deadline { try loop.runOnce(timeout: 20_000) }
            }
            #expect(unlink(link) == 0 && symlink(place, link) == 0)
            first.stop()
            try run { log.count == 2 }
            try run { strangers > 2 || connection.state != .closed }
            #expect(log == ["ready", "lost"] && connection.state == .closed && strangers > 2)
            // One who comes for the first time knows of no other.
            let newcomer = Connection(
                to: .address("unix:path=\(link)"), on: loop, retry: .upTo(microseconds: 50_000))
            try newcomer.openAndWait()

            #expect(unlink(link) == 0 && symlink("\(second.directory)/bus", link) == 0)
            try run { connection.isReady }
            #expect(log == ["ready", "lost", "ready"])
            connection.close()
            // And it is let in by the true one, once the stranger is gone.
            var newcomerLosses = 0
            newcomer.onLost = { newcomerLosses += 1 }
            _ = try stranger.terminate()
            try run { newcomerLosses == 1 && newcomer.isReady }
            #expect(newcomerLosses == 1 && newcomer.isReady)
            newcomer.close()
        }

        /// What a dbus-daemon goes by that takes in anybody, in a place for all.
        private static let openBus = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <auth>EXTERNAL</auth>
              <listen>unix:dir=/tmp</listen>
              <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
              </policy>
            </busconfig>

            """

        @Test func aBusThatVanishesDuringTheGreetingIsToldOf() throws {
            // A socket that takes connections and never greets, then goes.
            let bus = try PrivateBus()
            let path = "\(bus.directory)/mute"
            let listener = try listen(at: path)
            let loop = try EventLoop()
            let connection = Connection(to: .address("unix:path=\(path)"), on: loop)
            var losses = 0
            connection.onLost = { losses += 1 }
            try connection.open()
            #expect(connection.state == .opening)
            let accepted = accept(listener, nil, nil)
            #expect(accepted >= 0)
            try loop.runOnce(timeout: 0)
            close(accepted)
            let deadline = ContinuousClock.now + .seconds(20)
            while losses == 0, ContinuousClock.now < deadline { try loop.runOnce(timeout: 50_000) }
            #expect(losses == 1 && connection.state == .closed)

            // The same for who waits for it, and one that begins to answer and then talks nonsense.
            for answer in ["", "OK\r\n", "OK 1234\r\nnonsense", "REJECTED EXTERNAL\r\n", "\0\0\0\0"] {
                try connection.open()
                let accepted = accept(listener, nil, nil)
                try loop.runOnce(timeout: 0)
                _ = send(accepted, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
                close(accepted)
                while connection.state != .closed, ContinuousClock.now < deadline { try loop.runOnce(timeout: 50_000) }
                #expect(connection.state == .closed)
            }
            close(listener)
        }

        /// Anybody can have a bus take nobody, by many connections that never say whose they are, or by listening where one was.
        @Test func aBusWithoutRoomKeepsNobodyWaiting() throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            let path = "\(bus.directory)/full"
            let listener = try listen(at: path)
            var waiting: [Int32] = []
            while let other = try reach(path) { waiting.append(other) }
            #expect(!waiting.isEmpty)
            let loop = try EventLoop()
            let connection = Connection(
                to: .address("unix:path=\(path)"), on: loop, retry: .upTo(microseconds: 100_000))
            let start = ContinuousClock.now
            let error = #expect(throws: BusError.self) { try connection.open() }
            #expect(error?.isOverLimit == true && connection.state == .closed)
            #expect(throws: BusError.self) { try connection.openAndWait(timeout: 100) }
            // Nor does it keep who tries again from all else.
            let isThere = connection.openOrRetry()
            #expect(!isThere)
            #expect(ContinuousClock.now - start < .seconds(10))
            // When there is room it is let in.
            for other in waiting {
                close(accept(listener, nil, nil))
                close(other)
            }
            while connection.state == .closed, ContinuousClock.now - start < .seconds(20) {
                try loop.runOnce(timeout: 20_000)
            }
            #expect(connection.state == .opening)
            connection.close()
            close(listener)
        }

        @Test func aBusThatNeverGreetsIsToldOfOnceAndTriedAgain() throws {
            let bus = try PrivateBus()
            let path = "\(bus.directory)/mute"
            let listener = try listen(at: path)
            let loop = try EventLoop()
            let connection = Connection(
                to: .address("unix:path=\(path)"), on: loop, retry: .upTo(microseconds: 1_000))
            var losses = 0
            connection.onLost = { losses += 1 }
            let isThere = connection.openOrRetry()
            #expect(isThere)
            let deadline = ContinuousClock.now + .seconds(20)
            // Each but the first comes after the loss of the one before.
            for tries in 0..<4 {
                var accepted = accept(listener, nil, nil)
                while accepted < 0, ContinuousClock.now < deadline {
                    try loop.runOnce(timeout: 20_000)
                    accepted = accept(listener, nil, nil)
                }
                try #require(accepted >= 0)
                #expect(losses == min(tries, 1))
                close(accepted)
            }
            connection.close()
            close(listener)
        }

        @Test func closingInAHandlerIsAllowedEverywhere() throws {
            let station = try Station()
            // In a call's handler, between two calls that are already here.
            let server = try station.client()
            _ = Station.Echo.export(on: server)
            let quitter = Interface<Quitter>(
                "org.example.Quit",
                methods: [
                    Method("Quit", out: ["text"]) { (quitter: Quitter, _) throws(BusError) -> String in
                        quitter.connection?.close()
                        return "closed"
                    }
                ])
            server.export(ExportedObject(ObjectPath(literal: "/quit"), [(quitter, Quitter(server))]))
            var ends: [String] = []
            let quit = CallTarget(server.uniqueName, ObjectPath(literal: "/quit"), "org.example.Quit")
            for _ in 0..<3 {
                station.connection.call(quit, "Quit") { result in
                    ends.append(result.errorName())
                }
            }
            try station.until("end of calls") { ends.count == 3 }
            // The bus had taken some of the calls to the peer, and some not yet.
            let gone: Set = ["org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown"]
            #expect(gone.isSuperset(of: ends))
            // In a reply's handler, in a signal's and in deferred work.
            for place in 0..<3 {
                let client = try station.client()
                var isClosed = false
                let close = { [unowned client] in
                    client.close()
                    isClosed = true
                }
                switch place {
                case 0: client.callBus("ListNames") { _ in close() }
                case 1:
                    client.onSignal("org.freedesktop.DBus", "NameOwnerChanged") { _ in close() }
                    client.addMatch("type='signal',member='NameOwnerChanged'")
                    _ = try station.client()
                default: client.afterRound(close)
                }
                try station.until("close") { isClosed }
                try station.run(for: .milliseconds(20))
                #expect(client.state == .closed)
            }
        }

        @Test func whatWasSentBeforeClosingArrives() throws {
            let station = try Station()
            let client = try station.client()
            var seen = 0
            station.connection.onSignal("org.example.Last", "Word") { _ in seen += 1 }
            let block = [UInt8](repeating: 7, count: 100_000)
            for _ in 0..<30 {
                client.signal(from: Station.Echo.path, "org.example.Last", "Word", to: station.connection.uniqueName) {
                    block.write(to: &$0)
                }
            }
            client.close()
            try station.until("signals") { seen == 30 }
        }

        @Test func aStoppedBusDoesNotKeepUsFromClosing() throws {
            let station = try Station(on: .dbusDaemon)
            let client = try station.client()
            #expect(kill(station.bus.pid, SIGSTOP) == 0)
            defer { kill(station.bus.pid, SIGCONT) }
            let block = [UInt8](repeating: 7, count: 1_000_000)
            while client.signal(
                from: Station.Echo.path, "org.example.Last", "Word", to: station.connection.uniqueName,
                { block.write(to: &$0) })
            {}
            let start = ContinuousClock.now
            client.close()
            #expect(ContinuousClock.now - start < .seconds(5))
        }

        @Test func anIdleConnectionMakesNoWakeUps() throws {
            let station = try Station(retry: .upTo(microseconds: 1_000_000))
            _ = Station.Echo.export(on: station.connection)
            let client = try station.client()
            _ = try client.callAndWait(Station.Echo.target, "Echo", "x")
            // What is on its way arrives first.
            try station.run(for: .milliseconds(100))
            let before = station.loop.rounds
            try station.loop.runOnce(timeout: 400_000)
            #expect(station.loop.rounds - before == 1)
            #expect(try station.loop.runOnce(timeout: 0) == false)
        }

        @Test func nothingIsLeftOfAConnection() throws {
            let station = try Station()
            weak var connection: Connection?
            weak var context: Station.Echo?
            weak var watch: NameWatch?
            func live() throws {
                let client = try station.client()
                // An object and what stands behind it hold each other.
                let echo = Station.Echo.export(on: client)
                echo.object = client.objects.object(at: Station.Echo.path)
                let names = NameWatch(on: client)
                _ = names.follow(Station.name) { _ in }
                client.call(Station.Echo.target, "Nothing") { _ in }
                (connection, context, watch) = (client, echo, names)
                #expect(throws: BusError.self) { try client.callAndWait(Station.Echo.target, "Nothing").kind }
                #expect(connection != nil && context != nil && watch != nil)
            }
            try live()
            try station.run(for: .milliseconds(50))
            #expect(connection == nil && context == nil && watch == nil)
        }

        private final class Quitter {
            weak var connection: Connection?
            init(_ connection: Connection) { self.connection = connection }
        }
    }
}

/// A listening unix socket.
private func listen(at path: String) throws -> Int32 {
    let descriptor = try unixSocket()
    let bound = withAddress(of: path) { bind(descriptor, $0, $1) }
    try #require(bound == 0 && Glibc.listen(descriptor, 8) == 0)
    return descriptor
}

/// A connection to such a socket; `nil` when there is no room for one more.
private func reach(_ path: String) throws -> Int32? {
    let descriptor = try unixSocket()
    let reached = withAddress(of: path) { connect(descriptor, $0, $1) }
    if reached == 0 { return descriptor }
    let code = errno
    close(descriptor)
    #expect(code == EAGAIN)
    return nil
}

private func unixSocket() throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    try #require(descriptor >= 0)
    return descriptor
}

private func withAddress(of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
