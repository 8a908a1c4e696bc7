import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus

extension BusTests {
    /// Who owns which name.
    @Suite(.serialized) struct Names {
        /// Gives up or takes a name, and waits for the answer.
        private func request(_ name: String, _ member: String, _ client: Connection, _ station: Station) throws {
            var isDone = false
            if member == "RequestName" {
                client.callBus(member, name, UInt32(4)) { _ in isDone = true }
            } else {
                client.callBus(member, name) { _ in isDone = true }
            }
            try station.until("answer to \(member)") { isDone }
        }

        @Test(arguments: [false, true]) func ownersAreToldNowAndAtEveryChange(ownRule: Bool) throws {
            let station = try Station()
            let watch = NameWatch(on: station.connection)
            let (one, two) = try (station.client(), station.client())
            var told: [String?] = []
            try self.request("org.example.Fought", "RequestName", one, station)
            let token = watch.follow("org.example.Fought", ownRule: ownRule) { told.append($0) }
            #expect(told.isEmpty)
            try station.until("owner") { told.count == 1 }
            try self.request("org.example.Fought", "ReleaseName", one, station)
            try station.until("no owner") { told.count == 2 }
            try self.request("org.example.Fought", "RequestName", two, station)
            try station.until("new owner") { told.count == 3 }
            two.close()
            try station.until("owner left") { told.count == 4 }
            #expect(told == [one.uniqueName, nil, two.uniqueName.isEmpty ? told[2] : nil, nil])
            watch.unfollow(token)
            watch.unfollow(token)
            try self.request("org.example.Fought", "RequestName", one, station)
            try station.run(for: .milliseconds(30))
            #expect(told.count == 4)
        }

        @Test func aUniqueNameThatIsGoneAlreadyIsToldOf() throws {
            let station = try Station()
            let watch = NameWatch(on: station.connection)
            let client = try station.client()
            let name = client.uniqueName
            client.close()
            // The bus notices in its own time.
            let bus = CallTarget("org.freedesktop.DBus", ObjectPath(literal: "/"), "org.freedesktop.DBus")
            while try station.connection.callAndWait(bus, "NameHasOwner", name).read(Bool.self) {}
            var told: [String?] = []
            _ = watch.follow(name) { told.append($0) }
            // Texts that are no names, and one that would be another rule.
            for text in ["", "no name", "a'b", "org.example.A',arg1='", ":1.1\0"] {
                _ = watch.follow(text, ownRule: true) { told.append($0) }
            }
            try station.until("answers") { told.count == 6 }
            #expect(told == Array(repeating: nil, count: 6))
            #expect(station.connection.isReady)
        }

        /// A bus that fails has not said that nobody has the name.
        @Test func aBusThatFailsIsAskedAgain() throws {
            let station = try Station()
            let path = "\(station.bus.directory)/faulty"
            let faulty = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/faulty-bus.py"), path, "confused",
                "\(station.bus.directory)/bus",
            ])
            _ = try faulty.waitForLine { $0 == "listening" }
            let connection = Connection(to: .address("unix:path=\(path)"), on: station.loop)
            try connection.openAndWait()
            let watch = NameWatch(on: connection)
            var told: [String?] = []
            _ = watch.follow(Station.name) { told.append($0) }
            try station.until("owner") { !told.isEmpty }
            #expect(told == [station.connection.uniqueName])
            #expect(faulty.end == nil)
            connection.close()
        }

        /// Whoever floods us has everything asked anew every few seconds, and the bus drop the answers: a question that another one has
        /// followed is not asked again, or there would be more and more of them.
        @Test func onlyTheLastQuestionIsAskedAgain() throws {
            let station = try Station()
            let path = "\(station.bus.directory)/faulty"
            let faulty = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/faulty-bus.py"), path, "confused",
                "\(station.bus.directory)/bus",
            ])
            _ = try faulty.waitForLine { $0 == "listening" }
            let connection = Connection(to: .address("unix:path=\(path)"), on: station.loop)
            try connection.openAndWait()
            let watch = NameWatch(on: connection)
            var told: [String?] = []
            _ = watch.follow(Station.name) { told.append($0) }
            // The first comes to nothing, and would be asked again a second later.
            for _ in 0..<3 { watch.refresh() }
            try station.until("owner") { !told.isEmpty }
            try station.run(for: .milliseconds(1_500))
            #expect(told == [station.connection.uniqueName])
            #expect(watch.asked == 4)
            #expect(faulty.end == nil)
            connection.close()
        }

        /// The bus drops what finds no room with us, and tells us nothing: who came meanwhile is found all the same.
        @Test(arguments: [false, true]) func whoCameWhileTheBusHadNoRoomIsFound(ownRule: Bool) throws {
            let station = try Station(additions: "<limit name=\"max_outgoing_bytes\">40000000</limit>", on: .dbusDaemon)
            let watch = NameWatch(on: station.connection)
            var told: [String?] = []
            _ = watch.follow("org.example.Late", ownRule: ownRule) { told.append($0) }
            try station.until("nobody") { told == [nil] }
            // Nothing of it is read meanwhile.
            let send = "p send \(station.connection.uniqueName) / org.example.Flood Drop ay [bytes(2<<20)]"
            let program = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/bus-script.py"), station.bus.address]
                    + Array(repeating: send, count: 24) + ["p own org.example.Late", "p name", "stay"])
            let name = try program.waitForLine { $0.hasPrefix("p name ") }.dropFirst("p name ".count)
            try station.until("who came is told") { told == [nil, String(name)] }
        }

        @Test func aHandlerMayUnfollowItselfAndOthers() throws {
            let station = try Station()
            let watch = NameWatch(on: station.connection)
            var told: [String] = []
            var tokens: [NameWatch.Token] = []
            for number in 0..<3 {
                let token = watch.follow(Station.name) { _ in
                    told.append("\(number)")
                    for token in tokens { watch.unfollow(token) }
                }
                tokens.append(token)
            }
            try station.until("first") { !told.isEmpty }
            try station.run(for: .milliseconds(30))
            #expect(told == ["0"])
        }

        @Test func forgedChangesAreIgnored() throws {
            let station = try Station()
            let watch = NameWatch(on: station.connection)
            let client = try station.client()
            var told: [String?] = []
            _ = watch.follow(Station.name) { told.append($0) }
            try station.until("owner") { told.count == 1 }
            var heard = 0
            station.connection.onSignal("org.freedesktop.DBus", "NameOwnerChanged") { _ in heard += 1 }
            for _ in 0..<3 {
                client.signal(
                    from: ObjectPath(literal: "/org/freedesktop/DBus"), "org.freedesktop.DBus", "NameOwnerChanged",
                    to: station.connection.uniqueName
                ) {
                    Station.name.write(to: &$0)
                    station.connection.uniqueName.write(to: &$0)
                    "".write(to: &$0)
                }
            }
            let forged = try station.busctl(
                "emit", "--destination=\(station.connection.uniqueName)", "/org/freedesktop/DBus",
                "org.freedesktop.DBus", "NameOwnerChanged", "sss", Station.name, ":1.0", ":1.666")
            #expect(forged.status == 0)
            try station.until("forged signals") { heard >= 4 }
            #expect(told == [station.connection.uniqueName])
        }

        @Test func ownersAreAskedForAgainAfterAReturn() throws {
            let buses = try (PrivateBus(), PrivateBus())
            let loop = try EventLoop()
            let link = "\(buses.1.directory)/current"
            #expect(symlink(buses.0.directory, link) == 0)
            let connection = Connection(
                to: .address("unix:path=\(link)/bus"), on: loop, names: [Station.name],
                retry: .upTo(microseconds: 20_000))
            let watch = NameWatch(on: connection)
            connection.onReady = { watch.refresh() }
            connection.onLost = { watch.forgetAll() }
            var told: [String?] = []
            // Before there is a bus at all.
            _ = watch.follow(Station.name) { told.append($0) }
            func run(_ count: Int) throws {
                let deadline = ContinuousClock.now + .seconds(20)
                while told.count < count, ContinuousClock.now < deadline { try loop.runOnce(timeout: 20_000) }
            }
            try connection.openAndWait()
            try run(1)
            let first = connection.uniqueName
            #expect(kill(buses.0.pid, SIGKILL) == 0)
            try run(2)
            #expect(unlink(link) == 0 && symlink(buses.1.directory, link) == 0)
            try run(3)
            #expect(told == [first, nil, connection.uniqueName])
            // Changes are heard on the new bus, too: the rule went along.
            connection.callBus("ReleaseName", Station.name) { _ in }
            try run(4)
            #expect(told.count == 4 && told.last == .some(nil))
            connection.close()
        }

        @Test func aWatchAndItsConnectionDoNotHoldEachOther() throws {
            let station = try Station()
            weak var gone: Connection?
            weak var sender: PacedSender?
            func live() throws {
                let client = try station.client()
                let watch = NameWatch(on: client)
                let paced = PacedSender(on: client)
                client.onReady = { watch.refresh() }
                client.onLost = { _ = paced.openPings }
                (gone, sender) = (client, paced)
            }
            try live()
            #expect(gone == nil && sender == nil)
            // Those that are left alone do nothing.
            let watch = try NameWatch(on: station.client())
            let paced = try PacedSender(on: station.client())
            watch.unfollow(watch.follow(Station.name, ownRule: true) { _ in })
            watch.refresh()
            #expect(!paced.signal(from: Gallery.path, "a.b", "Cd", to: paced.peer(":1.0"), size: 1) { _ in })
        }

        @Test func manyFollowersShareOneRule() throws {
            let station = try Station(
                additions: "<limit name=\"max_match_rules_per_connection\">3</limit>", on: .dbusDaemon)
            let watch = NameWatch(on: station.connection)
            var told = 0
            let tokens = (0..<50).map { _ in watch.follow(Station.name) { _ in told += 1 } }
            try station.until("owners") { told == 50 }
            for token in tokens.dropLast() { watch.unfollow(token) }
            // The last one still hears.
            let client = try station.client()
            station.connection.callBus("ReleaseName", Station.name) { _ in }
            try station.until("change") { told == 51 }
            client.close()
        }
    }
}
