import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus

/// A program of its own that takes signals and can be stopped.
private final class Listener {
    let program: BackgroundProgram
    let names: [String]

    init(on station: Station, connections: Int = 1) throws {
        let script = Programs.source("Tests/Scripts/listen.py")
        let address = station.bus.address
        let program = try BackgroundProgram(tool: ["python3", script, address, "\(connections)"])
        let line = try program.waitForLine { $0.hasPrefix(":") }
        self.program = program
        self.names = line.split(separator: " ").map(String.init)
    }

    /// Stops the program, and returns when it stands still.
    func stop() throws {
        try self.program.signal(SIGSTOP)
        let deadline = ContinuousClock.now + .seconds(20)
        while try Tool.run(["cut", "-d ", "-f3", "/proc/\(self.program.pid)/stat"]).stdout != "T\n" {
            guard ContinuousClock.now < deadline else { throw Failure("the listener does not stop") }
        }
    }

    /// The number of signals the first connection has seen, and the last number in one.
    var seen: (count: Int, last: UInt64) {
        _ = try? self.program.waitForLine(timeout: .milliseconds(1)) { _ in false }
        let line = self.program.output.split(separator: "\n").last { $0.first?.isNumber == true } ?? "0 0"
        let words = line.split(separator: " ")
        return (Int(words[0]) ?? 0, UInt64(words.last ?? "0") ?? 0)
    }
}

/// Has a bus be doubted, by an answer with a descriptor that nobody asked for.
private struct Doubter {
    private let station: Station
    private let program: BackgroundProgram
    private let target: CallTarget

    init(on station: Station) throws {
        let program = try BackgroundProgram(tool: [
            "python3", Programs.source("Tests/Scripts/bus-script.py"), station.bus.address, "p answer 1", "p name",
            "stay",
        ])
        let name = try program.waitForLine { $0.hasPrefix("p name ") }.dropFirst("p name ".count)
        self.station = station
        self.program = program
        self.target = CallTarget(String(name), ObjectPath(literal: "/"), "org.freedesktop.DBus.Peer")
    }

    /// Returns when that is over, and was told.
    func doubt() throws {
        var isOver = false
        self.station.connection.whenInDoubt { isOver = isOver || $0 }
        self.station.connection.call(self.target, "Ping") { _ in }
        try self.station.until("it is over") { isOver }
    }

    /// Returns when it has gone on so many times.
    func doubtOn(_ times: Int) throws {
        var told = 0
        self.station.connection.whenInDoubt { isOver in if !isOver { told += 1 } }
        for time in 1...times {
            for _ in 0..<2 { self.station.connection.call(self.target, "Ping") { _ in } }
            try self.station.until("it goes on") { told == time }
        }
    }
}

extension BusTests {
    /// Signals to peers that read, and to peers that do not.
    @Suite(.serialized) struct Pacing {
        private let path = ObjectPath(literal: "/org/example/Flow")
        private let text = String(repeating: "x", count: 900)

        /// Sends one signal of about 1 KiB that carries a number.
        private func send(_ number: UInt64, _ sender: PacedSender, to peer: PacedSender.Peer) -> Bool {
            sender.signal(from: self.path, "org.example.Flow", "Drop", to: peer, size: 1_024) {
                number.write(to: &$0)
                self.text.write(to: &$0)
            }
        }

        /// A peer that may have 10 KiB, and what sends to it.
        private func narrowLine(
            on station: Station
        ) throws -> (listener: Listener, sender: PacedSender, peer: PacedSender.Peer) {
            let listener = try Listener(on: station)
            let sender = PacedSender(on: station.connection)
            let peer = sender.peer(listener.names[0])
            peer.setLimit(10 << 10)
            return (listener, sender, peer)
        }

        /// More peers that do not read than may be asked at once, each with more than it may have.
        private func stoppedCrowd(
            on station: Station, _ sender: PacedSender, of user: UInt32? = nil
        ) throws -> (program: Listener, peers: [PacedSender.Peer]) {
            let stopped = try Listener(on: station, connections: 80)
            let peers = stopped.names.map { sender.peer($0) }
            if let user { for peer in peers { peer.setUser(user) } }
            try stopped.stop()
            for number in 0..<400 as Range<UInt64> {
                for peer in peers { _ = self.send(number, sender, to: peer) }
                try station.loop.runOnce(timeout: 0)
            }
            #expect(sender.openPings == (user == nil ? PacedSender.pingLimit : PacedSender.pingLimit / 2))
            return (stopped, peers)
        }

        @Test func aStoppedPeerCostsABoundedAmountAndFlowsAgain() throws {
            let station = try Station()
            let (stopped, healthy) = try (Listener(on: station), Listener(on: station))
            let sender = PacedSender(on: station.connection)
            let (slow, fast) = (sender.peer(stopped.names[0]), sender.peer(healthy.names[0]))
            #expect(self.send(1, sender, to: slow))
            try station.until("first signal") { stopped.seen.count == 1 }
            try stopped.stop()

            var sent = 0
            for number in 2...4_000 as ClosedRange<UInt64> {
                if self.send(number, sender, to: slow) { sent += 1 }
                #expect(self.send(number, sender, to: fast) || fast.window.isPingOpen)
                // The healthy peer answers only while the loop runs.
                while fast.window.unconfirmed > FlowWindow.limit / 2 { try station.loop.runOnce(timeout: 20_000) }
            }
            #expect(sent == FlowWindow.limit / (1_024 + PacedSender.overhead) - 1)
            #expect(slow.window.isPingOpen && slow.window.dropped == UInt64(3_999 - sent))
            #expect(fast.window.dropped == 0)
            try station.until("all at the healthy peer") { healthy.seen.count == 3_999 }
            // Once more nothing: the ping stays open, and there is one.
            #expect(!self.send(5_000, sender, to: slow) && sender.openPings <= 2)

            try stopped.program.signal(SIGCONT)
            try station.until("answer") { !slow.window.isPingOpen }
            #expect(self.send(6_000, sender, to: slow))
            try station.until("flow") { stopped.seen.last == 6_000 }
            #expect(stopped.seen.count == sent + 2)
            try station.until("pings") { sender.openPings == 0 }
            #expect(station.connection.undeliverable == 0)
        }

        @Test func manyStoppedPeersDoNotStarveAHealthyOne() throws {
            let station = try Station()
            let healthy = try Listener(on: station)
            let sender = PacedSender(on: station.connection, patience: 100_000)
            let fast = sender.peer(healthy.names[0])
            let (stopped, peers) = try self.stoppedCrowd(on: station, sender)
            #expect(peers.count { $0.window.isPingOpen } == PacedSender.pingLimit)
            #expect(peers.allSatisfy { $0.window.unconfirmed <= FlowWindow.limit })

            // Three windows' worth go to the peer that cannot be asked.
            var sent = 0
            var number: UInt64 = 0
            try station.until("flow to the healthy peer", timeout: .seconds(20)) {
                while self.send(number, sender, to: fast) {
                    sent += 1
                    number += 1
                }
                return sent >= 3 * FlowWindow.limit / 1_024
            }
            try station.until("arrival") { healthy.seen.count == sent }
            // When the others go on, so do all, and nobody stays in line.
            try stopped.program.signal(SIGCONT)
            try station.until("pings") { sender.openPings == 0 }
            for peer in peers { #expect(self.send(1_000, sender, to: peer)) }
        }

        /// Those of one user that do not read keep no place from those of another, who waits for nobody.
        @Test func whoDoesNotReadTakesNoPlaceOfOtherUsers() throws {
            let station = try Station()
            let healthy = try Listener(on: station)
            // Longer than the test may take.
            let sender = PacedSender(on: station.connection, patience: 600_000_000)
            let fast = sender.peer(healthy.names[0])
            fast.setUser(8)
            let (stopped, _) = try self.stoppedCrowd(on: station, sender, of: 7)
            var number: UInt64 = 0
            try station.until("flow to the healthy peer") {
                while self.send(number, sender, to: fast) { number += 1 }
                return number >= 3 * UInt64(FlowWindow.limit) / 1_024
            }
            try station.until("arrival") { healthy.seen.count == Int(number) }
            try stopped.program.signal(SIGCONT)
            try station.until("pings") { sender.openPings == 0 }
        }

        /// Who has left in the middle of a ping is asked once more, and then is nobody.
        @Test func whoIsGoneIsNotAskedForEver() throws {
            let station = try Station()
            let listener = try Listener(on: station)
            let sender = PacedSender(on: station.connection, patience: 5_000)
            let peer = sender.peer(listener.names[0])
            peer.onRoom(for: listener) { _ in }
            try listener.stop()
            for number in 0..<400 as Range<UInt64> { _ = self.send(number, sender, to: peer) }
            #expect(sender.openPings == 1)
            try listener.program.signal(SIGKILL)
            _ = try listener.program.waitForEnd()
            var (asked, wasOpen) = (0, true)
            let end = ContinuousClock.now + .milliseconds(200)
            while ContinuousClock.now < end {
                try station.loop.runOnce(timeout: 1_000)
                if sender.openPings > 0, !wasOpen { asked += 1 }
                wasOpen = sender.openPings > 0
            }
            #expect(asked <= 1 && sender.openPings == 0)
            #expect(!self.send(0, sender, to: peer) && !sender.hasRoom(for: peer))
            withExtendedLifetime(listener) {}
        }

        /// Who may have nothing before it has read is told one thing at a time.
        @Test func whoHasNoRoomIsToldOneByOne() throws {
            let station = try Station()
            let (listener, sender, peer) = try self.narrowLine(on: station)
            peer.setLimit(0)
            #expect(sender.hasRoom(for: peer))
            func tell(_ number: UInt64) -> Bool {
                sender.signal(from: self.path, "org.example.Flow", "Drop", to: peer) { number.write(to: &$0) }
            }
            let isFirstTold = tell(1)
            let isSecondTold = tell(2)
            #expect(isFirstTold && !isSecondTold)
            try station.until("answer") { sender.openPings == 0 }
            let isThirdTold = tell(3)
            #expect(isThirdTold)
            try station.until("arrival") { listener.seen == (2, 3) }
        }

        /// One that does not answer and comes again under its name takes one place and one window.
        @Test func whoComesAgainIsTheSame() throws {
            let station = try Station()
            let listener = try Listener(on: station)
            let sender = PacedSender(on: station.connection)
            try listener.stop()
            for _ in 0..<10 {
                let peer = sender.peer(listener.names[0])
                peer.setLimit(10 << 10)
                for number in 0..<20 as Range<UInt64> { _ = self.send(number, sender, to: peer) }
                #expect(peer.window.unconfirmed == 10 << 10 && sender.openPings == 1)
            }
            try listener.program.signal(SIGCONT)
            try station.until("pings") { sender.openPings == 0 }
            #expect(sender.peer(listener.names[0]).window.unconfirmed == 0)
        }

        @Test func whoWasRefusedIsToldOfRoom() throws {
            let station = try Station()
            let (listener, sender, peer) = try self.narrowLine(on: station)
            var rooms: [Int] = []
            peer.onRoom(for: listener) { rooms.append($0) }
            try listener.stop()
            for number in 0..<20 as Range<UInt64> { _ = self.send(number, sender, to: peer) }
            #expect(peer.window.unconfirmed == 10 << 10 && sender.openPings == 1)
            try station.loop.runOnce(timeout: 50_000)
            #expect(rooms.isEmpty)
            try listener.program.signal(SIGCONT)
            try station.until("room") { !rooms.isEmpty }
            // Once for all that was refused, and not before it was again.
            #expect(rooms.count == 1 && rooms[0] >= 5 << 10)
            #expect(self.send(20, sender, to: peer))
            try station.until("arrival") { listener.seen.last == 20 }
            #expect(rooms.count == 1)
        }

        /// The bus drops an answer that finds no room with us, and does not tell us: after a flood who has not answered is asked once more.
        @Test func whoseAnswerMayBeLostIsAskedOnceMore() throws {
            let station = try Station()
            let line = try self.narrowLine(on: station)
            try line.listener.stop()
            for number in 0..<20 as Range<UInt64> { _ = self.send(number, line.sender, to: line.peer) }
            #expect(line.sender.openPings == 1)
            for _ in 0..<3 {
                try station.flood()
                #expect(line.sender.openPings == 1 && line.peer.window.isPingOpen)
            }
            try line.listener.program.signal(SIGCONT)
            try station.until("answers") { line.sender.openPings == 0 }
            #expect(self.send(20, line.sender, to: line.peer))
            try station.until("arrival") { line.listener.seen.last == 20 }
        }

        /// A bus forgets the call with an answer that it drops: nothing comes of it any more, also not when who answered leaves.
        @Test(arguments: [false, true]) func whoseAnswerIsLostKeepsNoPlace(_ isLeaving: Bool) throws {
            let station = try Station(
                additions: "<limit name=\"max_outgoing_bytes\">100000</limit>", on: .dbusDaemon)
            let doubter = try Doubter(on: station)
            let line = try self.narrowLine(on: station)
            try line.listener.stop()
            for number in 0..<20 as Range<UInt64> { _ = self.send(number, line.sender, to: line.peer) }
            #expect(line.sender.openPings == 1)
            // Nobody reads meanwhile what is for us, and behind that the answer finds no room. The listener answers in order.
            let script = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/bus-script.py"), station.bus.address,
                "p send \(station.connection.uniqueName) / org.example.Flood Drop ay [bytes(2<<20)]", "say sent",
                "p call \(line.listener.names[0]) / org.freedesktop.DBus.Peer Ping", "stay",
            ])
            try script.waitUntilSaid("sent")
            try line.listener.program.signal(SIGCONT)
            _ = try script.waitForLine { $0.hasPrefix("p ok") }
            var hasRead = false
            station.connection.onSignal("org.example.Flood", "Drop") { _ in hasRead = true }
            try station.until("it is read") { hasRead }
            #expect(line.sender.openPings == 1)
            if isLeaving { _ = try line.listener.program.terminate() }
            try doubter.doubt()
            try station.until("it is asked once more") { line.sender.openPings == 0 }
            #expect(self.send(20, line.sender, to: line.peer) == !isLeaving)
        }

        /// While somebody floods us answers are lost, however often one asks: who reads is to have what he may all the same, and who does not, not
        /// more than the bus has room for.
        @Test func whileDoubtGoesOnWhoWasAskedIsBelieved() throws {
            let station = try Station()
            let doubter = try Doubter(on: station)
            let listener = try Listener(on: station)
            let sender = PacedSender(on: station.connection, mostBelieved: 40 << 10)
            let peer = sender.peer(listener.names[0])
            peer.setLimit(10 << 10)
            var rooms: [Int] = []
            peer.onRoom(for: listener) { rooms.append($0) }
            try listener.stop()
            var sent = (0..<20 as Range<UInt64>).count { self.send($0, sender, to: peer) }
            #expect(sent == 8 && peer.window.isPingOpen)
            try doubter.doubtOn(1)
            #expect(rooms == [10 << 10] && peer.window.isPingOpen)
            // It is believed at once when it has had more than half: 5 times what 5 of these take, and then it gets what it may.
            sent = (20..<220 as Range<UInt64>).count { self.send($0, sender, to: peer) }
            #expect(sent == 5 * 5 + 8)
            try doubter.doubtOn(1)
            #expect(rooms.count == 1 && !self.send(220, sender, to: peer))
            try listener.program.signal(SIGCONT)
            try station.until("it has read, and is asked no more") { sender.openPings == 0 }
            #expect(rooms.count == 2 && self.send(220, sender, to: peer))
        }

        /// However often somebody is asked who holds his answers back, the bus has one place for that: it has few for a connection, and whoever
        /// took all would leave us none to call anybody.
        @Test func whoHoldsHisAnswersBackHasOnePlace() throws {
            let station = try Station(
                additions: "<limit name=\"max_replies_per_connection\">4</limit>", on: .dbusDaemon)
            let doubter = try Doubter(on: station)
            let listener = try Listener(on: station)
            let sender = PacedSender(on: station.connection, patience: 20_000)
            let peer = sender.peer(listener.names[0])
            peer.setLimit(10 << 10)
            try listener.stop()
            for number in 0..<20 as Range<UInt64> { _ = self.send(number, sender, to: peer) }
            for _ in 0..<3 {
                try doubter.doubt()
                // He is asked again besides, a few times.
                try station.run(for: .milliseconds(500))
                #expect(sender.openPings == 1 && peer.window.isPingOpen)
            }
            var errors: [String] = []
            let target = CallTarget(peer.name, self.path, "org.freedesktop.DBus.Peer")
            for _ in 0..<3 {
                station.connection.call(target, "Ping") { result in
                    do throws(BusError) {
                        _ = try result.take()
                    } catch {
                        errors.append(error.name)
                    }
                }
            }
            try station.run(for: .milliseconds(500))
            #expect(errors.isEmpty)
            try listener.program.signal(SIGCONT)
            try station.until("pings") { sender.openPings == 0 }
            #expect(self.send(20, sender, to: peer))
        }

        /// Where others leave his user no place he stays asked: he would be believed to read, who was asked and has not answered.
        @Test func whoHasNoPlaceToBeAskedOnceMoreStaysAsked() throws {
            let station = try Station()
            let stopped = try Listener(on: station, connections: 7)
            let sender = PacedSender(on: station.connection, patience: 50_000, pings: 8)
            let peers = stopped.names.map { sender.peer($0) }
            for (peer, user) in zip(peers, [7, 7, 7, 7, 8, 8, 9] as [UInt32]) {
                peer.setUser(user)
                peer.setLimit(10 << 10)
            }
            try stopped.stop()
            for peer in peers {
                for number in 0..<20 as Range<UInt64> { _ = self.send(number, sender, to: peer) }
            }
            #expect(sender.openPings == 7)
            try station.flood()
            #expect(sender.openPings == 7 && peers.allSatisfy { $0.window.isPingOpen })
            try stopped.program.signal(SIGCONT)
            try station.until("pings") { sender.openPings == 0 }
        }

        /// Who does not answer is the same to all who send to it, and each of them is told of room.
        @Test func allWhoSendToOneAreToldOfRoom() throws {
            let station = try Station()
            let listener = try Listener(on: station)
            let sender = PacedSender(on: station.connection)
            final class Owner {}
            let (first, second) = (Owner(), Owner())
            var told: [Int] = []
            let peer = sender.peer(listener.names[0])
            peer.setLimit(10 << 10)
            peer.onRoom(for: first) { _ in told.append(1) }
            try listener.stop()
            for number in 0..<20 as Range<UInt64> { _ = self.send(number, sender, to: peer) }
            let again = sender.peer(listener.names[0])
            #expect(again === peer)
            again.onRoom(for: second) { _ in told.append(2) }
            again.onRoom(for: Owner()) { _ in told.append(3) }
            try listener.program.signal(SIGCONT)
            try station.until("room") { !told.isEmpty }
            #expect(told == [1, 2])
        }

        /// How things stand is told to who does not read when it reads, and not how they stood meanwhile.
        @Test func newsAreHeldUntilThereIsRoom() throws {
            let station = try Station()
            let (listener, sender, peer) = try self.narrowLine(on: station)
            let object = ExportedObject(self.path, [], audience: .init(peer, by: sender))
            station.connection.export(object)
            func tell(_ number: UInt64, about subject: NewsSubject) {
                object.tell("org.example.Flow", "Stands", about: subject) { [number] }
            }
            try listener.stop()
            for number in 1...1_000 as ClosedRange<UInt64> { tell(number, about: NewsSubject(1, "level")) }
            tell(1_001, about: NewsSubject(2, "level"))
            object.forget(2)
            object.tell("org.example.Flow", "Stands", about: NewsSubject(3, "level")) { nil }
            tell(1_002, about: NewsSubject(1, "end"))
            #expect(peer.window.unconfirmed <= 10 << 10 && sender.openPings == 1)
            let sent = peer.window.unconfirmed / PacedSender.overhead
            try listener.program.signal(SIGCONT)
            try station.until("the last") { listener.seen.last == 1_002 }
            // What went before there was no room, and the newest of both sides.
            #expect(listener.seen.count <= sent + 2)
        }

        /// When there is no place for a ping, time tells of room.
        @Test func whoCannotBeAskedIsToldOfRoomAllTheSame() throws {
            let station = try Station()
            let healthy = try Listener(on: station)
            let sender = PacedSender(on: station.connection, patience: 50_000)
            let fast = sender.peer(healthy.names[0])
            let (stopped, _) = try self.stoppedCrowd(on: station, sender)
            var sent: UInt64 = 0
            let all = 3 * UInt64(FlowWindow.limit) / 1_024
            func fill() { while sent < all, self.send(sent, sender, to: fast) { sent += 1 } }
            fast.onRoom(for: sender) { _ in fill() }
            fill()
            try station.until("flow", timeout: .seconds(20)) { sent == all }
            try station.until("arrival") { healthy.seen.count == all }
            try stopped.program.signal(SIGCONT)
            try station.until("pings") { sender.openPings == 0 }
        }

        @Test func peersThatAreGoneGiveTheirPlacesBack() throws {
            let station = try Station()
            let listener = try Listener(on: station, connections: 70)
            let sender = PacedSender(on: station.connection)
            let peers = listener.names.map { sender.peer($0) }
            try listener.stop()
            // While the bus takes nothing, nothing is sent: how many rounds it needs is the bus's to say.
            var number: UInt64 = 0
            try station.until("all places are taken") {
                for peer in peers { _ = self.send(number, sender, to: peer) }
                number += 1
                return sender.openPings == PacedSender.pingLimit
            }
            try listener.program.signal(SIGKILL)
            try station.until("pings") { sender.openPings == 0 }
            // A name that was never anybody's is a peer that is gone.
            let nobody = sender.peer(":1.99999")
            for number in 0..<80 as Range<UInt64> { _ = self.send(number, sender, to: nobody) }
            try station.until("pings") { sender.openPings == 0 }
            #expect(
                !sender.signal(from: self.path, "org.example.Flow", "Drop", to: sender.peer("no name"), size: 1) { _ in
                })
        }

        @Test func aLostBusClosesAllPings() throws {
            let station = try Station()
            let listener = try Listener(on: station)
            let sender = PacedSender(on: station.connection)
            let peer = sender.peer(listener.names[0])
            try listener.stop()
            for number in 0..<100 as Range<UInt64> { _ = self.send(number, sender, to: peer) }
            #expect(sender.openPings == 1)
            #expect(kill(station.bus.pid, SIGKILL) == 0)
            try station.until("loss") { sender.openPings == 0 && station.connection.state == .closed }
            #expect(!self.send(0, sender, to: peer))
            try listener.program.signal(SIGKILL)
        }

        @Test func theHeaderFollowsWhatIsSent() throws {
            let station = try Station()
            let client = try station.client()
            let sender = PacedSender(on: station.connection)
            let peer = sender.peer(client.uniqueName)
            var seen: [String] = []
            client.onOtherSignal { message in
                guard message.sender == station.connection.uniqueName else { return }
                let body = (try? message.readValues()) ?? []
                seen.append("\(message.path ?? "") \(message.interface ?? "").\(message.member ?? "") \(body.count)")
            }
            let other = ObjectPath(literal: "/other")
            _ = sender.signal(from: self.path, "org.example.Flow", "A", to: peer, size: 1) { UInt8(1).write(to: &$0) }
            _ = sender.signal(from: self.path, "org.example.Flow", "A", to: peer, size: 1) { _ in }
            _ = sender.signal(from: self.path, "org.example.Flow", "Be", to: peer, size: 1) { _ in }
            _ = sender.signal(from: other, "org.example.Flow", "Be", to: peer, size: 1) { UInt8(1).write(to: &$0) }
            _ = sender.signal(from: other, "org.example.Flew", "Be", to: peer, size: 1) { _ in }
            try station.until("signals") { seen.count == 5 }
            #expect(
                seen == [
                    "/org/example/Flow org.example.Flow.A 1", "/org/example/Flow org.example.Flow.A 0",
                    "/org/example/Flow org.example.Flow.Be 0", "/other org.example.Flow.Be 1",
                    "/other org.example.Flew.Be 0",
                ])
        }
    }
}
