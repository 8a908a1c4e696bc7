import CDBus
import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus

extension BusTests {
    /// Replies of those who were not asked. A bus of this kind hands them on; others refuse to.
    @Suite(.serialized) struct Replies {
        /// Sends an answer to a call that the forger never got.
        private func forge(_ serial: UInt32, from forger: Connection, to victim: String, isError: Bool, _ text: String)
        {
            guard
                let raw = dbus_message_new(isError ? DBUS_MESSAGE_TYPE_ERROR : DBUS_MESSAGE_TYPE_METHOD_RETURN)
            else { return }
            dbus_message_set_destination(raw, victim)
            dbus_message_set_reply_serial(raw, serial)
            dbus_message_set_no_reply(raw, 1)
            if isError { dbus_message_set_error_name(raw, "org.example.Error.Forged") }
            let message = Message(adopting: raw)
            message.write(text)
            forger.send(message)
        }

        /// The serial of a connection's next message: what anybody sees who is answered.
        private func nextSerial(of connection: Connection) throws -> UInt32 {
            let message = try Message(callTo: CallTarget(Station.name, Gallery.path, "org.example.Gallery"), "Nowhere")
            message.setNoReply()
            return connection.send(message) + 1
        }

        /// Whom the call is to.
        enum Target: CaseIterable { case peer, name, bus }

        @Test(arguments: Target.allCases)
        func onlyWhoWasAskedIsBelieved(target: Target) throws {
            let station = try Station(on: .dbusDaemon)
            let object = Gallery.export(on: station.connection)
            let (caller, forger) = (try station.client(), try station.client())
            let interface = "org.example.Gallery"
            var answers: [String] = []
            func note(_ result: consuming CallResult) {
                do throws(BusError) {
                    answers.append(try result.take().read(reply: String.self))
                } catch {
                    answers.append(error.name)
                }
            }
            // What following the name needs is sent before the call itself, the first time.
            if target == .name { _ = try caller.callAndWait(Gallery.target, "Where") }
            let serial = try self.nextSerial(of: caller)
            switch target {
            case .peer:
                caller.call(
                    CallTarget(station.connection.uniqueName, Gallery.path, interface), "Keep", [UInt8](), then: note)
            case .name: caller.call(Gallery.target, "Keep", [UInt8](), then: note)
            case .bus: break
            }
            let forged = 500
            func forgeAll() {
                for number in 0..<forged {
                    let (guess, isError) = (serial + UInt32(number % 50), number % 2 == 0)
                    self.forge(guess, from: forger, to: caller.uniqueName, isError: isError, "forged")
                }
            }
            if target == .bus {
                // The forgeries wait for us before the bus has even got the question.
                forgeAll()
                _ = try forger.callAndWait(Gallery.target, "Where")
                caller.callBus("GetNameOwner", Station.name, then: note)
            } else {
                try station.until("the call") { object.kept.count == 1 }
                forgeAll()
                try station.until("the forgeries") { caller.refusedReplies == UInt64(forged) }
                #expect(answers.isEmpty)
                object.kept.removeFirst().reply("true")
            }
            try station.until("the answer") { !answers.isEmpty }
            // And after the true one.
            forgeAll()
            try station.until("the forgeries") { caller.refusedReplies == UInt64(2 * forged) }
            #expect(answers == [target == .bus ? station.connection.uniqueName : "true"])
            #expect(caller.undeliverable == 0)
        }

        @Test func whoeverOwnsTheNameMayAnswer() throws {
            let station = try Station(on: .dbusDaemon)
            let object = Gallery.export(on: station.connection)
            let caller = try station.client()
            var answers: [String] = []
            func call() {
                caller.call(Gallery.target, "Keep", [UInt8]()) {
                    answers.append((try? $0.take().read(reply: String.self)) ?? "?")
                }
            }
            call()
            try station.until("the call") { object.kept.count == 1 }
            // The name goes to another while the call is under way: who was asked may still answer.
            var isReleased = false
            station.connection.callBus("ReleaseName", Station.name) { _ in isReleased = true }
            try station.until("the release") { isReleased }
            let heir = Connection(to: .address(station.bus.address), on: station.loop, names: [Station.name])
            let other = Gallery.export(on: heir)
            try heir.openAndWait()
            object.kept.removeFirst().reply("the first")
            try station.until("the answer") { answers == ["the first"] }
            call()
            try station.until("the call") { other.kept.count == 1 }
            other.kept.removeFirst().reply("the second")
            try station.until("the answer") { answers == ["the first", "the second"] }
            #expect(caller.refusedReplies == 0)
            // He who lost it may not any more.
            call()
            try station.until("the call") { other.kept.count == 1 }
            let serial = try #require(other.kept.first).message.serial
            self.forge(serial, from: station.connection, to: caller.uniqueName, isError: false, "late")
            try station.until("the forgery") { caller.refusedReplies == 1 }
            other.kept.removeFirst().reply("the third")
            try station.until("the answer") { answers == ["the first", "the second", "the third"] }
        }

        /// A bus of this kind does not hand on an answer with a descriptor to a connection that takes none, and tells us alone.
        @Test func whoTakesNoDescriptorIsTold() throws {
            let station = try Station(on: .dbusDaemon)
            let giver = Interface<Gallery>(
                "org.example.Giver",
                methods: [
                    Method("Give", out: ["fd"]) { (_: Gallery, _) throws(BusError) -> WireDescriptor in
                        guard let file = try? OwnedDescriptor(opening: "/dev/null", O_RDONLY) else { throw .failed("") }
                        return WireDescriptor(file)
                    }
                ])
            let gallery = Gallery()
            station.connection.export(ExportedObject(ObjectPath(literal: "/org/example/Giver"), [(giver, gallery)]))
            let program = """
                import asyncio, sys
                from dbus_fast import Message
                from dbus_fast.aio import MessageBus
                async def main():
                    for takes in True, False:
                        bus = await MessageBus(bus_address=sys.argv[1], negotiate_unix_fd=takes).connect()
                        def call():
                            return bus.call(Message('org.example.Station', '/org/example/Giver', 'org.example.Giver', 'Give'))
                        for reply in await asyncio.wait_for(asyncio.gather(*[call() for _ in range(3)]), 20):
                            print(reply.error_name, len(reply.unix_fds))
                asyncio.run(main())
                """
            let result = try station.run(["/usr/bin/python3", "-c", program, station.bus.address])
            let told = "org.freedesktop.DBus.Error.NotSupported 0\n"
            #expect(result.stdout == "None 1\nNone 1\nNone 1\n\(told)\(told)\(told)", "\(result.stderr)")
            #expect(station.connection.undeliverable == 3)
        }

        @Test func theBusMayOnlySayThatItFailed() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let caller = try station.client()
            var ends: [String] = []
            caller.call(Gallery.target, "Keep", [UInt8]()) { ends.append($0.errorName()) }
            try station.until("the call") { object.kept.count == 1 }
            station.connection.close()
            try station.until("the end") { ends.count == 1 }
            #expect(ends == ["org.freedesktop.DBus.Error.NoReply"] && caller.refusedReplies == 0)
            object.kept = []
        }

        @Test func aLateReplyIsNoForgery() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let caller = try station.client()
            var ends: [String] = []
            caller.call(Gallery.target, "Keep", [UInt8](), timeout: 20) { ends.append($0.errorName()) }
            try station.until("the call, and its end") { ends.count == 1 && object.kept.count == 1 }
            object.kept.removeFirst().reply("late")
            _ = try caller.callAndWait(Gallery.target, "Where")
            #expect(ends.count == 1 && caller.refusedReplies == 0)
        }
    }
}
