import JostleClient
import TestSupport
import Testing

extension EndToEnd {
    /// Events of the client library, one after the other.
    @Suite(.serialized) struct Sequences {
        private func client(_ stage: Stage, app: String = "") throws -> JostleApp {
            let client = try JostleApp(app: app, on: .address(stage.address))
            try client.connect()
            try client.add([
                Detector("jolt", preset: "shake.magnitude", options: ["threshold": .number(0.5), "rest": .text("0s")])
            ])
            return client
        }

        @Test func eventsComeOneAfterTheOther() async throws {
            let stage = try Stage()
            let client = try self.client(stage)
            var last: UInt64 = 0
            for try await event in client.events() {
                #expect(event.detector == "jolt" && event.sequence == last + 1)
                last = event.sequence
                if last == 5 { break }
            }
            #expect(last == 5)
        }

        /// Whoever asks for the next event is done with the last one.
        @Test func theLastEventIsAcknowledgedWithTheNext() async throws {
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: "[Rule all]\nThen=allow\nReliability=ack\nLifespan=1min\n")
            let client = try self.client(stage, app: "org.example.Sequence")
            var iterator = client.events().makeAsyncIterator()
            let first = try #require(try await iterator.next())
            #expect(first.sequence == 1 && first.wantsAck)
            _ = try await iterator.next()
            try stage.until("the first is acknowledged") {
                try stage.jostle("explain", "\(first.epoch)", "--json").stdout.contains("S5.acknowledged")
            }
        }

        @Test func aCancelledTaskHearsTheEnd() async throws {
            let stage = try Stage()
            let address = stage.address
            let task = Task {
                let client = try JostleApp(on: .address(address))
                try client.connect()
                var count = 0
                for try await _ in client.events() { count += 1 }
                return count
            }
            task.cancel()
            #expect(try await task.value == 0)
        }
    }
}
