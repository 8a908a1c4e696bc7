import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus

extension BusTests {
    /// Many calls at once, and callers who do not read or do not stay.
    @Suite(.serialized) struct Incoming {
        /// A method that takes long, and one whose answer is large.
        private final class Counter {
            static let path = ObjectPath(literal: "/org/example/Counter")
            static let target = CallTarget(Station.name, path, "org.example.Counter")
            var log: [String] = []
            private var kept: [MethodCall] = []
            /// Is shown all calls that are kept, at each that comes.
            var onKept: ([MethodCall]) -> Void = { _ in }

            func count(_ name: String) {
                self.log.append(name)
                let end = Clock.monotonic.now() + 1_000
                while Clock.monotonic.now() < end {}
            }

            static func export(on connection: Connection) -> Counter {
                let counter = Counter()
                let table = Interface<Counter>(
                    "org.example.Counter",
                    methods: [
                        Method("Count", in: ["name"]) { (counter: Counter, _, name: String) throws(BusError) in
                            counter.count(name)
                        },
                        Method(later: "Keep", in: ["name"]) {
                            (counter: Counter, call: MethodCall, _: String) throws(BusError) in
                            counter.kept.append(call)
                            counter.onKept(counter.kept)
                        },
                        Method("Fetch", in: ["bytes"], out: ["data"]) {
                            (counter: Counter, _, bytes: UInt32) throws(BusError) -> [UInt8] in
                            counter.log.append("fetch")
                            return [UInt8](repeating: 7, count: Int(bytes))
                        },
                    ])
                connection.export(ExportedObject(Self.path, [(table, counter)]))
                return counter
            }
        }

        private func send(_ count: Int, _ member: String, _ argument: some WireValue, from client: Connection) throws {
            for _ in 0..<count {
                let message = try Message(callTo: Counter.target, member)
                message.write(argument)
                client.send(message)
            }
        }

        @Test func nobodyWaitsForAllThatAnotherAsks() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let (flooder, good) = (try station.client(), try station.client())
            try self.send(100, "Count", "flood", from: flooder)
            var answers = 0
            for _ in 0..<5 { good.call(Counter.target, "Count", "good") { _ in answers += 1 } }
            try station.settle()
            try station.until("the good one's answers") { answers == 5 }
            // Of the flood at most one for each of his five was served in between, besides what came before he asked.
            let first = try #require(counter.log.firstIndex(of: "good"))
            #expect(counter.log[first...].count { $0 == "flood" } <= 10, "\(counter.log)")
            try station.until("the rest") { counter.log.count == 105 }
        }

        /// Calls that were kept, and can all be ended at the same time, are ended in turns, too.
        @Test func whatIsReadyTogetherIsNotDoneAtOnce() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let (flooder, good) = (try station.client(), try station.client())
            var answers = 0
            counter.onKept = { [unowned station] calls in
                guard calls.count == 60 else { return }
                good.call(Counter.target, "Count", "good") { _ in answers += 1 }
                #expect(throws: Never.self) { try station.settle() }
                for call in calls {
                    call.resume(keeping: 100) {
                        counter.count("kept")
                        call.reply()
                    }
                }
            }
            try self.send(60, "Keep", "", from: flooder)
            try station.until("the good one's answer") { answers == 1 }
            #expect(counter.log.count < 40, "\(counter.log)")
            try station.until("the rest") { counter.log.count == 61 }
        }

        /// A flood whose calls never wait takes memory, too; what apps say as a rule is none.
        @Test func memoryIsGivenBackAfterCallsThatNeverWaited() throws {
            let station = try Station()
            _ = Counter.export(on: station.connection)
            let client = try station.client()
            let tidying = station.connection.incoming.tidying
            // One after the other, each a millisecond, until it is much.
            for _ in 0..<Tidying.much.time / 1_000 {
                _ = try client.callAndWait(Counter.target, "Count", "flood").signature
            }
            try station.until("memory is given back") { tidying.count == 1 }
            // Few calls in each second are not worth it.
            var now = Clock.monotonic.now()
            for _ in 0..<1_000 {
                now += Tidying.pause / 10
                tidying.served(Tidying.much.time / 20, bytes: Tidying.much.bytes / 20, at: now)
            }
            try station.run(for: .milliseconds(1_500))
            #expect(tidying.count == 1)
            // Large ones are.
            for _ in 0..<40 { tidying.served(1, bytes: Tidying.much.bytes / 20, at: now) }
            try station.until("memory is given back") { tidying.count == 2 }
        }

        @Test func whatIsUrgentIsNotBehindCalls() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let (flooder, good) = (try station.client(), try station.client())
            var served = -1
            station.connection.onSignal("org.example.Urgent", "Now") { _ in served = counter.log.count }
            try self.send(100, "Count", "flood", from: flooder)
            good.signal(
                from: Counter.path, "org.example.Urgent", "Now", to: station.connection.uniqueName
            ) { _ in }
            try station.settle()
            try station.until("the signal") { served >= 0 }
            #expect(served < 50)
            try station.until("the rest") { counter.log.count == 100 }
        }

        @Test func whoAsksForTooMuchAtOnceIsRefusedAtOnce() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let client = try station.client()
            var ends: [String] = []
            let count = 2 * CallLimits.outstanding
            for _ in 0..<count { client.call(Counter.target, "Count", "flood") { ends.append($0.errorName()) } }
            try station.settle()
            try station.until("the answers") { ends.count == count }
            let refused = ends.count { $0 == "org.freedesktop.DBus.Error.LimitsExceeded" }
            #expect(refused > 0 && counter.log.count == count - refused)
            #expect(ends.allSatisfy { $0.isEmpty || $0 == "org.freedesktop.DBus.Error.LimitsExceeded" })
            // And is served again when he has his answers.
            _ = try client.callAndWait(Counter.target, "Count", "again")
        }

        /// What we send without end is no reason never to answer.
        @Test func whoCallsIsAnsweredThoughTheBusNeverCatchesUp() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let (reader, good) = (try station.client(), try station.client())
            let block = String(repeating: "7", count: 16 << 10)
            var answers = 0
            for _ in 0..<5 { good.call(Counter.target, "Count", "good") { _ in answers += 1 } }
            var rounds = 0
            try station.until("the answers") {
                rounds += 1
                // A bus that takes it as fast as it is sent is given no more at a time, either.
                for _ in 0..<64 where station.connection.underWay < 1 << 20 {
                    station.connection.signal(
                        from: Counter.path, "org.example.Samples", "Came", to: reader.uniqueName
                    ) { $0.string(block) }
                }
                return answers == 5
            }
            #expect(counter.log.count == 5 && rounds > 5)
        }

        /// Where it takes nothing at all, what is urgent is not to be behind answer after answer.
        @Test func whileTheBusStandsStillNextToNothingIsAnswered() throws {
            let station = try Station(on: .dbusDaemon)
            let counter = Counter.export(on: station.connection)
            let client = try station.client()
            try self.send(100, "Count", "call", from: client)
            let incoming = station.connection.incoming
            try station.until("calls that wait") { incoming.queue.waiting(of: client.uniqueName) >= 20 }
            #expect(kill(station.bus.pid, SIGSTOP) == 0)
            defer { kill(station.bus.pid, SIGCONT) }
            station.connection.signal(
                from: Counter.path, "org.example.Samples", "Came", to: client.uniqueName
            ) { $0.string(String(repeating: "7", count: 16 << 10)) }
            let before = counter.log.count
            var times: [Int64] = []
            try station.until("two answers") {
                if counter.log.count > before + times.count { times.append(Clock.monotonic.now()) }
                return times.count == 2
            }
            #expect(counter.log.count == before + 2 && times[1] - times[0] > 500_000)
            kill(station.bus.pid, SIGCONT)
            try station.until("the rest") { counter.log.count == 100 }
        }

        @Test func whoDoesNotReadHisAnswersIsNotServed() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            // A connection on a loop of its own, which nobody runs for now: it sends and does not read.
            let loop = try EventLoop()
            let deaf = Connection(to: .address(station.bus.address), on: loop)
            try deaf.openAndWait()
            let size = UInt32(64 << 10)
            var answered = 0
            for _ in 0..<100 { deaf.call(Counter.target, "Fetch", size) { _ in answered += 1 } }
            let good = try station.client()
            for _ in 0..<20 { _ = try good.callAndWait(Counter.target, "Fetch", UInt32(1)) }
            try station.run(for: .milliseconds(100))
            let served = counter.log.count - 20
            #expect(served <= CallLimits.unreadBytes / Int(size) + 1, "\(served) answers that nobody reads")
            // Once he reads, all is served.
            try station.until("the answers") {
                while (try? loop.runOnce(timeout: 0)) == true {}
                return answered == 100
            }
            #expect(counter.log.count == 120)
        }

        /// A program that blocks for each of its answers reads them and hears no Ping. It is not kept from asking on for seconds.
        @Test func whoBlocksForEachAnswerIsSoonServedOn() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            // Nobody runs its loop: it hears nothing that it has not asked for.
            let blocking = Connection(to: .address(station.bus.address), on: try EventLoop())
            try blocking.openAndWait()
            let size = 64 << 10
            let holds = 8
            let begin = Clock.monotonic.now()
            for number in 1...holds * CallLimits.unreadBytes / size {
                blocking.call(Counter.target, "Fetch", UInt32(size)) { _ in }
                try station.until("it is served") { counter.log.count == number }
            }
            // Held as who asks on without a look at his answers, it takes half a minute.
            #expect(Clock.monotonic.now() - begin < 10_000_000)
        }

        /// libdbus reads no more, from anybody, while it holds too many descriptors of messages.
        @Test func descriptorsThatNobodyTakesHoldUpNobody() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let deaf = Connection(to: .address(station.bus.address), on: try EventLoop())
            try deaf.openAndWait()
            let count = CallLimits.unreadBytes / (64 << 10) + 1
            try self.send(count, "Fetch", UInt32(64 << 10), from: deaf)
            try station.until("the answers that nobody reads") { counter.log.count >= count - 1 }
            try station.run(for: .milliseconds(20))
            let served = counter.log.count
            for _ in 0..<100 {
                let message = try Message(callTo: Counter.target, "Fetch")
                message.write(UInt32(1), WireDescriptor(try OwnedDescriptor(opening: "/dev/null", O_RDONLY)))
                deaf.send(message)
            }
            let good = try station.client()
            for _ in 0..<10 { _ = try good.callAndWait(Counter.target, "Count", "good") }
            #expect(counter.log.count == served + 10, "\(counter.log)")
        }

        @Test func whoWasRefusedWhileHeDidNotReadIsToldWhenHeDoes() throws {
            let station = try Station()
            _ = Counter.export(on: station.connection)
            let loop = try EventLoop()
            let deaf = Connection(to: .address(station.bus.address), on: loop)
            try deaf.openAndWait()
            let count = CallLimits.unreadBytes / (64 << 10) + 1
            var ends: [String] = []
            for _ in 0..<count {
                deaf.call(Counter.target, "Fetch", UInt32(64 << 10)) { ends.append($0.errorName()) }
            }
            let incoming = station.connection.incoming
            try station.until("he is held") { incoming.queue.isHeld(deaf.uniqueName) }
            for _ in 0..<10 {
                let descriptor = WireDescriptor(try OwnedDescriptor(opening: "/dev/null", O_RDONLY))
                deaf.call(Counter.target, "Count", "x", descriptor) { ends.append($0.errorName()) }
            }
            let good = try station.client()
            _ = try good.callAndWait(Counter.target, "Count", "good")
            #expect(ends.isEmpty)
            try station.until("the answers") {
                while (try? loop.runOnce(timeout: 0)) == true {}
                return ends.count == count + 10
            }
            #expect(ends.count(where: \.isEmpty) == count)
            #expect(ends.count { $0 == BusError.invalidArguments("").name } == 10)
            #expect(incoming.refusals.outstanding(of: deaf.uniqueName) == 0)
        }

        @Test func aCallWithDescriptorsThatNobodyTakesIsRefused() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let client = try station.client()
            var ends: [String] = []
            for _ in 0..<100 {
                let descriptor = WireDescriptor(try OwnedDescriptor(opening: "/dev/null", O_RDONLY))
                client.call(Counter.target, "Count", "x", descriptor) { ends.append($0.errorName()) }
            }
            try station.until("the answers") { ends.count == 100 }
            #expect(ends.allSatisfy { $0 == BusError.invalidArguments("").name } && counter.log.isEmpty)
        }

        /// A bus keeps so many rules for a connection. What it refuses to keep is never heard of.
        @Test func manyWhoAreWatchedLeaveRoomForOtherRules() throws {
            let station = try Station(
                additions: "<limit name=\"max_match_rules_per_connection\">80</limit>", on: .dbusDaemon)
            let counter = Counter.export(on: station.connection)
            let loop = try EventLoop()
            var crowd: [Connection] = []
            let each = CallLimits.unreadBytes / (64 << 10) + 1
            for _ in 0..<100 {
                let deaf = Connection(to: .address(station.bus.address), on: loop)
                try deaf.openAndWait()
                try self.send(each, "Fetch", UInt32(64 << 10), from: deaf)
                crowd.append(deaf)
            }
            try station.until("the answers that nobody reads") { counter.log.count >= 100 * (each - 1) }
            let names = NameWatch(on: station.connection)
            var owners: [String?] = []
            let client = try station.client()
            _ = names.follow(client.uniqueName) { owners.append($0) }
            try station.until("the name") { !owners.isEmpty }
            let name = client.uniqueName
            client.close()
            try station.until("the end of \(name)") { owners.last == .some(nil) }
            #expect(owners == [name, nil] && crowd.count == 100)
        }

        @Test func whoseCallsWaitIsLearntWithFewQuestionsAtATime() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let clients = try (0..<(IncomingCalls.questions + 8)).map { _ in try station.client() }
            for client in clients { try self.send(20, "Count", "call", from: client) }
            let incoming = station.connection.incoming
            var (known, most) = (Set<String>(), 0)
            try station.until("the calls") {
                most = max(most, incoming.asking)
                for client in clients where incoming.queue.user(of: client.uniqueName) == geteuid() {
                    known.insert(client.uniqueName)
                }
                return counter.log.count == 20 * clients.count
            }
            // Of who has nothing waiting any more when it is his turn to be asked for, nobody asks.
            #expect(!known.isEmpty && most > 0 && most <= IncomingCalls.questions)
            try station.until("the answers") { incoming.asking == 0 }
        }

        @Test func whoIsRefusedOftenKeepsNobodyElseFromHearing() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let (flooder, good) = (try station.client(), try station.client())
            // Far more than he may be told at a time, and as many as the other may.
            try self.send(20 * CallLimits.outstanding, "Count", "flood", from: flooder)
            var ends: [String] = []
            let count = 2 * CallLimits.outstanding
            for _ in 0..<count { good.call(Counter.target, "Count", "good") { ends.append($0.errorName()) } }
            var most = 0
            try station.until("the answers") {
                most = max(most, station.connection.incoming.refusals.outstanding(of: flooder.uniqueName))
                return ends.count == count
            }
            #expect(most > 0 && most <= CallLimits.outstanding)
            #expect(ends.allSatisfy { $0.isEmpty || $0 == "org.freedesktop.DBus.Error.LimitsExceeded" })
            #expect(counter.log.count { $0 == "good" } == ends.count { $0.isEmpty })
        }

        @Test func theCallsOfWhoLeftAreNotServed() throws {
            let station = try Station()
            let counter = Counter.export(on: station.connection)
            let client = try station.client()
            try self.send(CallLimits.outstanding, "Count", "flood", from: client)
            try station.until("the first") { !counter.log.isEmpty }
            client.close()
            try station.settle()
            let good = try station.client()
            for _ in 0..<10 { _ = try good.callAndWait(Counter.target, "Count", "good") }
            let served = counter.log.count { $0 == "flood" }
            try station.run(for: .milliseconds(100))
            #expect(counter.log.count { $0 == "flood" } == served && served < CallLimits.outstanding)
        }
    }
}
