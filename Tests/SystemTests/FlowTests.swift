import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// A receiver that does not read costs a bounded amount, and nobody else anything.
    @Suite(.serialized) struct Flow {
        /// What may wait on the bus for one claimant of samples, or anywhere for one app.
        private let limit = 256 << 10

        @Test func aStoppedSubscriber() throws {
            // No reader yet, so that every event is sent after the stop.
            let stage = try Stage(source: nil)
            let detector = "\(Stage.always),every=1ms,name=d"
            let stopped = try stage.watch(detector, "--app", "org.example.Stopped")
            // It hears so seldom that what may wait for it is of several seconds: a machine may let it stand still.
            let other = try stage.reader(of: "norm(x, y, z) > 0.5g", every: 10_000, "org.example.Other")
            let object = Stage.Object.app("org.example.Stopped")
            try stopped.stop()
            try stage.startReader("synth:rate=1000Hz")
            try stage.until("events are dropped") { try stage.count("Dropped", at: object) > 100 }

            // The smallest such message: 16 bytes of fixed header, four addresses, and the body. Half of all that may wait
            // is the bus's, and not a byte is sent beyond it.
            let delivered = try stage.count("Delivered", at: object)
            #expect(delivered > 100)
            #expect(delivered * 250 <= UInt64(self.limit / 2))
            #expect(try stage.count("Delivered", at: object) == delivered)
            let unread = try stage.count("UnreadBytes", at: object)
            #expect(unread > UInt64(self.limit / 2 - 1_000) && unread <= UInt64(self.limit / 2))
            let queued = try stage.count("QueuedBytes", at: object)
            #expect(queued > UInt64(self.limit / 2 - 1_000) && queued <= UInt64(self.limit / 2))

            // The other one loses nothing.
            #expect(try stage.count("Dropped", at: Stage.Object.app("org.example.Other")) == 0)

            try stopped.signal(SIGCONT)
            for sequence in 1...delivered {
                #expect(field("sequence", of: try stopped.nextEvent()) == "\(sequence)")
            }
            // Then it is told of a gap, and gets the newest, one after the other.
            try stage.kill(stage.reader)
            let hits = try stage.count("Hits", at: object)
            var last = delivered
            var missed: UInt64 = 0
            while last < hits {
                let line = try stopped.waitForLine { _ in true }
                if let count = field("gap", of: line).flatMap(UInt64.init) {
                    #expect(field("first", of: line) == "\(last + 1)")
                    #expect(count > 0)
                    missed += count
                    last += count
                } else {
                    last += 1
                    #expect(field("sequence", of: line) == "\(last)")
                }
            }
            #expect(missed > 100)
            let (dropped, expired) = (try stage.count("Dropped", at: object), try stage.count("Expired", at: object))
            #expect(missed == dropped + expired)
            #expect(try stage.count("Delivered", at: object) + missed == hits)
            #expect(try stage.count("Gaps", at: object) >= 1)
            #expect(try stage.count("QueuedBytes", at: object) == 0)
            let due = try stage.count("Hits", at: Stage.Object.app("org.example.Other"))
            let figures = try stage.figures(of: other)
            #expect(due > 50 && (number("events", of: figures) ?? 0) >= Double(due) - 10)
            #expect(field("lost", of: figures) == "0" && field("refused", of: figures) == "0")
        }

        /// Another's session begins and ends all the time. Whoever does not read costs the bus no more by it than by its events, none
        /// of which is lost without a word, and learns how its session stands.
        @Test func aStoppedAppBesideOneThatBeginsAndEnds() throws {
            let bus = try PrivateBus(additions: "<limit name=\"max_outgoing_bytes\">200000</limit>", on: .dbusDaemon)
            let stage = try Stage(broker: false, on: bus)
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n\n[Class soloAmbient]\n")
            let (root, object) = (Stage.Object.broker, Stage.Object.app("org.example.A"))
            func app(_ name: String) -> [String] {
                let register = "call org.jostle.Broker1 \(root) org.jostle.Broker1 Register"
                return [
                    "\(name) own org.example.\(name)", "\(name) \(register) sa{sv} ['org.example.\(name)',{}]",
                ]
            }
            func call(_ name: String, _ method: String, _ body: String) -> String {
                let path = Stage.Object.app("org.example.\(name)")
                return "\(name) call org.jostle.Broker1 \(path) org.jostle.Broker1.App \(method) sa{sv} \(body)"
            }
            let session = "['audio',{'class':V('s','soloAmbient')}]"
            let detector = "'when':V('s','norm(x, y, z) > 0.5g'),'every':V('s','20ms'),'rest':V('s','0s')"
            let stopped = try stage.startScript(
                app("A") + [
                    "A hear Event Gap SessionChanged", call("A", "BeginActivity", session),
                    call("A", "AddDetector", "['d',{\(detector)}]"),
                ])
            try stopped.waitUntilSaid("staying")
            try stopped.stop()
            let toggle = [call("B", "BeginActivity", session), "B drop"]
            let lines = try stage.script(app("B") + (0..<600).flatMap { _ in toggle })
            #expect(lines.count { $0.hasPrefix("B ok ") } == 601)
            try stage.until("no more is sent") {
                try stage.count("UnreadBytes", at: object) > UInt64(self.limit / 2 - 2_000)
            }
            let atBus = try bus.outgoingBytes(to: stage.uniqueName("org.example.A"))
            let unread = try stage.count("UnreadBytes", at: object)
            #expect(atBus <= unread && unread <= UInt64(self.limit / 2))
            let before = try stage.count("Hits", at: object)
            try stage.until("events are due") { try stage.count("Hits", at: object) > before + 10 }
            try stage.kill(stage.reader)
            let hits = try stage.count("Hits", at: object)

            try stopped.signal(SIGCONT)
            var last: UInt64 = 0
            var standing = ""
            while last < hits {
                let line = try stopped.waitForLine { $0.hasPrefix("A heard ") }
                let words = line.split(separator: " ", maxSplits: 4).map(String.init)
                let (member, body) = (words[3], words[4])
                if member == "SessionChanged" {
                    standing = String(body.split(separator: "\"")[3])
                    continue
                }
                let numbers = body.split { !$0.isWholeNumber }.compactMap { UInt64($0) }
                try #require(numbers.count > 1)
                // A number or a gap, one behind the other.
                try #require(numbers[0] == last + 1, "\(line)")
                last = member == "Gap" ? numbers[1] : numbers[0]
            }
            #expect(standing == "resumed")
        }

        private static let claim =
            "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor Claim a{sv}"

        /// What was sent to a claimant, and what was left out.
        private func row(of name: Substring, on stage: Stage) throws -> (sent: UInt64, dropped: UInt64) {
            let words = try stage.property("Claimants", at: Stage.Object.accelerometer).split(separator: " ")
            let index = try #require(words.firstIndex(of: "\"\(name)\""))
            return (try #require(UInt64(words[index + 3])), try #require(UInt64(words[index + 4])))
        }

        /// Somebody who claims samples and is stopped. Nothing is read for so many seconds after the claim, so that
        /// every sample is sent after the stop; `nil`: this machine took longer for it.
        private func stopClaimant(
            within seconds: Int
        ) throws -> (stage: Stage, script: BackgroundProgram, name: Substring)? {
            let stage = try Stage(
                source: "synth:rate=2000Hz; gap \(seconds)s; rest 24h", broker: false, readerPolicy: Stage.fast)
            let script = try stage.startScript("p name", "p hear", "p \(Self.claim) [{'rate':V('d',2000.0)}]")
            let name = try script.waitForLine { $0.hasPrefix("p name ") }.dropFirst("p name ".count)
            try script.waitUntilSaid("staying")
            try script.stop()
            let (sent, dropped) = try self.row(of: name, on: stage)
            return sent == 0 && dropped == 0 ? (stage, script, name) : nil
        }

        @Test func aStoppedClaimant() throws {
            guard let (stage, stopped, name) = try self.stopClaimant(within: 2) ?? self.stopClaimant(within: 8) else {
                Issue.record("the gap is over")
                return
            }
            let other = try stage.startScript("q hear", "q \(Self.claim) [{'rate':V('d',100.0)}]")
            func row() throws -> (sent: UInt64, dropped: UInt64) { try self.row(of: name, on: stage) }
            try stage.until("samples are dropped") { try row().dropped > 100 }

            // One sample of three channels: at least 160 bytes of message.
            let (sent, _) = try row()
            #expect(sent > 100)
            #expect(sent * 160 <= UInt64(self.limit))
            #expect(try row().sent == sent)
            // The other one loses nothing: from 0 on, one after the other.
            for sequence in 0..<50 {
                #expect(try other.waitForLine { $0.contains(" Samples ") }.contains(" Samples [[\(sequence), ["))
            }

            try stopped.signal(SIGCONT)
            for sequence in 0..<sent {
                #expect(try stopped.waitForLine { $0.contains(" Samples ") }.contains(" Samples [[\(sequence), ["))
            }
            let next = try stopped.waitForLine { $0.contains(" Samples ") }
            let first = try #require(UInt64(next.split(separator: "[")[1].dropLast(2)))
            #expect(first > sent + 100)
            #expect(try row().dropped >= first - sent)
        }

        @Test func aStoppedBrokerCountsWhatItMissed() throws {
            let stage = try Stage(source: "synth:rate=2000Hz")
            let app = try stage.watch("\(Stage.always),every=1ms")
            _ = try app.nextEvent()
            let broker = try #require(stage.broker)
            try broker.stop()
            try stage.until("samples are dropped") { try stage.count("Dropped", at: Stage.Object.accelerometer) > 100 }
            try broker.signal(SIGCONT)
            // It goes on by itself, and knows what it has not seen.
            let resumed = try #require(number("t_us", of: try app.nextEvent()))
            _ = try app.nextEvent { (number("t_us", of: $0) ?? 0) > resumed + 1_000_000 }
            try stage.kill(app)
            try stage.until("the sensor stops") {
                try stage.property("Running", at: Stage.Object.accelerometer) == "b false"
            }
            let words = try stage.property("Sensors", at: Stage.Object.broker).split(separator: " ")
            let lost = try #require(words.firstIndex(of: "\"lost\"").flatMap { UInt64(words[$0 + 2]) })
            let gaps = try #require(words.firstIndex(of: "\"gaps\"").flatMap { UInt64(words[$0 + 2]) })
            #expect(lost == (try stage.count("Dropped", at: Stage.Object.accelerometer)))
            #expect(gaps >= 1)
        }
    }
}
