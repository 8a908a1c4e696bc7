import CDBus
import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus

private func standard(_ name: String) -> String { "org.freedesktop.DBus.Error." + name }

extension BusTests {
    /// Calls that are wrong, unanswered or late.
    @Suite(.serialized) struct Calls {
        @Test func wrongCallsAreErrorsByTheirStandardNames() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            func error<each T: WireValue>(
                _ member: String, _ arguments: repeat each T, at path: ObjectPath = Gallery.path,
                _ interface: String = "org.example.Gallery"
            ) -> String {
                do throws(BusError) {
                    _ = try client.callAndWait(CallTarget(Station.name, path, interface), member, repeat each arguments)
                    return ""
                } catch {
                    return error.name
                }
            }
            #expect(error("Nowhere") == standard("UnknownMethod"))
            #expect(error("Nothing", at: ObjectPath(literal: "/org/example")) == standard("UnknownObject"))
            #expect(error("Nothing", at: ObjectPath(literal: "/")) == standard("UnknownObject"))
            #expect(error("Nothing", at: Gallery.path, "org.example.Galler") == standard("UnknownInterface"))
            // Too few, too many, others.
            #expect(error("Add", Int32(1)) == standard("InvalidArgs"))
            #expect(error("Add", Int32(1), Int32(1), Int32(1)) == standard("InvalidArgs"))
            #expect(error("Add", "1", "1") == standard("InvalidArgs"))
            #expect(error("Nothing", "") == standard("InvalidArgs"))
            #expect(error("Rows", [Double](), [[Double]]()) == standard("InvalidArgs"))
            // Too deep, too many.
            let deep = (0..<40).reduce(Value.byte(1)) { value, _ in .variant(value) }
            #expect(error("Options", [String: Value](), deep) == standard("InvalidArgs"))
            let rows = [Gallery.Row](repeating: Gallery.Row("", 0), count: WireReader.valueLimit / 2)
            #expect(error("Rows", rows, [[Double]]()) == standard("InvalidArgs"))
            // Errors with names that are none are errors all the same.
            #expect(error("Fail", "org.example.Error.Custom", "x") == "org.example.Error.Custom")
            for name in ["", "nodots", "1.2", "org.example.-", "org.\0", String(repeating: "a.b", count: 100)] {
                #expect(error("Fail", name, "x\0y") == standard("Failed"))
            }
            let properties = "org.freedesktop.DBus.Properties"
            let gallery = "org.example.Gallery"
            #expect(error("Get", gallery, "Nope", at: Gallery.path, properties) == standard("UnknownProperty"))
            #expect(
                error("Get", "org.example.No", "Level", at: Gallery.path, properties) == standard("UnknownInterface"))
            #expect(error("Get", properties, "Level", at: Gallery.path, properties) == standard("UnknownProperty"))
            #expect(error("Get", gallery, at: Gallery.path, properties) == standard("InvalidArgs"))
            #expect(error("GetAll", "org.example.No", at: Gallery.path, properties) == standard("UnknownInterface"))
            #expect(error("GetAll", at: Gallery.path, properties) == standard("InvalidArgs"))
            #expect(error("Gett", gallery, "Level", at: Gallery.path, properties) == standard("UnknownMethod"))
            func set(_ property: String, _ value: Value, of interface: String = gallery) -> String {
                error("Set", interface, property, value, at: Gallery.path, properties)
            }
            #expect(set("Title", .string("x")) == standard("PropertyReadOnly"))
            #expect(set("Nope", .string("x")) == standard("UnknownProperty"))
            #expect(set("Level", .int32(1), of: "org.example.No") == standard("UnknownInterface"))
            #expect(set("Level", .uint32(1)) == standard("InvalidArgs"))
            #expect(set("Level", .variant(.int32(1))) == standard("InvalidArgs"))
            #expect(set("Level", .int32(11)) == standard("InvalidArgs"))
            #expect(set("Table", .array(of: "{sv}", [])) == "")
            #expect(set("Table", .dictionary(key: "s", value: "s", [])) == standard("InvalidArgs"))
            #expect(
                set("Table", .dictionary(key: "s", value: "v", [.init(.string("k"), .variant(deep))]))
                    == standard("InvalidArgs"))
            #expect(error("Set", gallery, "Level", Int32(1), at: Gallery.path, properties) == standard("InvalidArgs"))
            #expect(
                error("Introspect", "x", at: Gallery.path, "org.freedesktop.DBus.Introspectable")
                    == standard("InvalidArgs"))
            #expect(
                error("Intro", at: Gallery.path, "org.freedesktop.DBus.Introspectable") == standard("UnknownMethod"))
            #expect(error("Peng", at: Gallery.path, "org.freedesktop.DBus.Peer") == standard("UnknownMethod"))
            #expect(object.level == 1 && object.sets == 0 && object.table.isEmpty)
            #expect(error("Nothing") == "")
        }

        @Test func longTextsOfAPeerDoNotComeBack() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let client = try station.client()
            let long = String(repeating: "x", count: 100_000)
            let properties = CallTarget(Station.name, Gallery.path, "org.freedesktop.DBus.Properties")
            for attempt in 0..<3 {
                do throws(BusError) {
                    switch attempt {
                    case 0: _ = try client.callAndWait(properties, "GetAll", long)
                    case 1: _ = try client.callAndWait(properties, "Get", long, long)
                    default: _ = try client.callAndWait(properties, "Get", "org.example.Gallery", long)
                    }
                    Issue.record("no error")
                } catch {
                    #expect(error.message.utf8.count < 300)
                }
            }
        }

        @Test func callsThatCannotBeSentAreErrors() throws {
            let station = try Station()
            let path = Gallery.path
            for (target, member) in [
                (CallTarget("", path, "a.b"), "M"), (CallTarget("not a name", path, "a.b"), "M"),
                (CallTarget("a.b", path, "ab"), "M"), (CallTarget("a.b", path, "a.b"), "1"),
                (CallTarget("a.b", path, "a.b"), ""), (CallTarget("a.b\0", path, "a.b"), "M"),
            ] {
                #expect(throws: BusError.self) { _ = try station.connection.callAndWait(target, member) }
            }
            #expect(!station.connection.signal(from: path, "org.example.A", "B", to: "no name") { _ in })
            do throws(BusError) {
                _ = try station.connection.callAndWait(CallTarget("org.example.Nobody", path, "a.b"), "M")
            } catch {
                #expect(error.isServiceMissing)
            }
        }

        @Test func callsWithoutAnInterfaceFindTheirMethod() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            // dbus-send cannot leave the interface out, so libdbus is asked itself.
            func call(_ member: String, _ arguments: [String] = []) throws -> Swift.Result<Message, BusError> {
                let raw = try #require(dbus_message_new_method_call(Station.name, "/org/example/Gallery", nil, member))
                let message = Message(adopting: raw)
                for argument in arguments { message.write(argument) }
                var result: CallResult?
                station.connection.send(message, timeout: 5_000) { result = .some(consume $0) }
                try station.until("answer") { result != nil }
                guard let taken = result.take() else { throw WireError.badDescriptor }
                do throws(BusError) { return .success(try taken.take()) } catch { return .failure(error) }
            }
            func text(_ result: consuming Swift.Result<Message, BusError>) throws -> String {
                try result.get().read(String.self)
            }
            #expect(try text(call("Where")) == "gallery")
            #expect(try text(call("Only")) == "only here")
            #expect(try text(call("Introspect")).contains("org.example.Other"))
            #expect(try call("Get", ["", "Limit"]).get().read(Value.self) == Value.uint32(5))
            #expect(try call("Ping").get().signature == "")
            #expect(throws: BusError.self) { try call("Ping", ["x"]).get().signature }
            // Not every machine has an id, but the method is there.
            do { _ = try call("GetMachineId").get() } catch {
                #expect((error as? BusError)?.name == standard("Failed"))
            }
            #expect(throws: BusError.self) { try call("Nope").get().signature }
        }

        @Test func whoWantsNoReplyGetsNeitherReplyNorError() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            // Anything that comes back without being asked for would be counted, or be the reply of the last call.
            for member in ["Nothing", "Nowhere", "Add", "Forget", "Keep"] {
                let message = try Message(callTo: Gallery.target, member)
                if member == "Keep" { message.write([UInt8(1)]) }
                message.setNoReply()
                client.send(message)
            }
            var answers = 0
            let probe = try client.callAndWait(Gallery.target, "Where")
            #expect(try probe.read(String.self) == "gallery")
            #expect(object.kept.count == 1)
            object.kept.removeFirst().reply("nobody asked")
            client.call(Gallery.target, "Nothing") { _ in answers += 1 }
            try station.until("answer") { answers == 1 }
            try station.run(for: .milliseconds(30))
            #expect(client.undeliverable == 0 && station.connection.undeliverable == 0)
            // A tool's word for it: busctl sends the call and does not wait.
            let result = try station.busctl(
                "call", "--expect-reply=no", Station.name, "/org/example/Gallery", "org.example.Gallery", "Nowhere")
            #expect(result == Tool.Result(status: 0, stdout: "", stderr: ""))
        }

        @Test func aCallThatIsForgottenGetsAnError() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let result = try station.busctl(
                "call", Station.name, "/org/example/Gallery", "org.example.Gallery", "Forget")
            #expect(result.status == 1 && result.stderr == "Call failed: the call was not answered\n")
        }

        @Test func repliesMayComeLateAndInAnyOrder() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            var answers: [Int: String] = [:]
            for number in 0..<5 {
                client.call(Gallery.target, "Keep", [UInt8(number)]) { result in
                    answers[number] = (try? result.take().read(reply: String.self)) ?? "?"
                }
            }
            try station.until("calls") { object.kept.count == 5 }
            for (number, call) in object.kept.enumerated().reversed() {
                #expect(call.sender == client.uniqueName)
                call.reply("answer \(number)")
            }
            try station.until("answers") { answers.count == 5 }
            #expect(answers == Dictionary(uniqueKeysWithValues: (0..<5).map { ($0, "answer \($0)") }))
        }

        @Test func aCallerThatVanishedHarmsNobody() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            client.call(Gallery.target, "Keep", [UInt8]()) { _ in }
            client.call(Gallery.target, "Keep", [UInt8]()) { _ in }
            try station.until("calls") { object.kept.count == 2 }
            client.close()
            try station.run(for: .milliseconds(50))
            object.kept[0].reply("late")
            object.kept = []
            let other = try station.client()
            #expect(try other.callAndWait(Gallery.target, "Where").read(String.self) == "gallery")
            #expect(station.connection.isReady)
        }

        @Test func aCallTimesOutAndItsLateReplyIsIgnored() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            var ends: [String] = []
            client.call(Gallery.target, "Keep", [UInt8](), timeout: 50) { ends.append($0.errorName()) }
            // The bus may be later than that with the call itself.
            try station.until("the call, and its end") { ends.count == 1 && object.kept.count == 1 }
            #expect(ends == [standard("NoReply")])
            object.kept[0].reply("late")
            try station.run(for: .milliseconds(30))
            #expect(ends.count == 1)
            #expect(try client.callAndWait(Gallery.target, "Where").read(String.self) == "gallery")
        }

        /// A program that was stopped takes what came meanwhile for answers.
        @Test func whoWasNotThereReadsBeforeItGivesUp() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let client = try station.client()
            let bus = CallTarget("org.freedesktop.DBus", Gallery.path, "org.freedesktop.DBus")
            var ends: [String] = []
            client.call(bus, "GetNameOwner", Station.name, timeout: 50) { ends.append($0.errorName()) }
            client.call(Gallery.target, "Keep", [UInt8](), timeout: 50) { ends.append($0.errorName()) }
            // Nobody runs the loop for longer than that, and until the bus has answered.
            #expect(try Tool.run(["sleep", "0.2"]).status == 0)
            try station.settle()
            try station.until("ends") { ends.count == 2 }
            #expect(ends == ["", standard("NoReply")])
        }

        /// To compare texts takes the square of a row of combining marks, and nobody else is served meanwhile.
        @Test func noTextAndNoCallIsTooMuch() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let client = try station.client()
            var ends: [String] = []
            let row = "a" + String(repeating: "\u{301}", count: 60_000) + String(repeating: "\u{323}", count: 60_000)
            client.call(Gallery.target, "Options", [row: Value.byte(1)], Value.byte(1)) { ends.append($0.errorName()) }
            // No row of marks, and nevertheless it would be understood before it is known to be nothing of ours.
            for key in ["\u{E9}", String(repeating: "e\u{301}", count: 100_000)] {
                client.call(Gallery.target, "Options", [key: Value.byte(1)], Value.byte(1)) {
                    ends.append($0.errorName())
                }
                #expect(Value.options([key: .byte(1), "k": .byte(2)]).asOptions == ["k": .byte(2)])
            }
            client.call(Gallery.target, "Texts", row, Gallery.path) { ends.append($0.errorName()) }
            let properties = CallTarget(Gallery.target.name, Gallery.path, "org.freedesktop.DBus.Properties")
            client.call(properties, "Get", row, "Level") { ends.append($0.errorName()) }
            // Who is refused is told in his turn, which may be behind what is served.
            var others: [Int: String] = [:]
            for count in [CallLimits.callBytes, CallLimits.callBytes - 1_024] {
                let text = String(repeating: "x", count: count)
                client.call(Gallery.target, "Nothing", text) { others[count] = $0.errorName() }
            }
            try station.until("ends") { ends.count + others.count == 7 }
            // What is not too large is looked at: that method takes nothing.
            let (refused, large) = (standard("InvalidArgs"), standard("LimitsExceeded"))
            #expect(ends == Array(repeating: refused, count: 5))
            #expect(others == [CallLimits.callBytes: large, CallLimits.callBytes - 1_024: refused])
        }

        @Test func guardiansDecideAtOnceOrLater() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            let target = CallTarget(Station.name, Gallery.guarded, "org.example.Gallery")
            #expect(try client.callAndWait(target, "Where").read(String.self) == "gallery")
            object.refusal = .accessDenied("not you")
            #expect(throws: BusError.accessDenied("not you")) { try client.callAndWait(target, "Where").signature }
            let introspect = CallTarget(Station.name, Gallery.guarded, "org.freedesktop.DBus.Introspectable")
            #expect(try client.callAndWait(introspect, "Introspect").signature == "s")

            object.isSlow = true
            var ends: [String] = []
            // Those of root may be all, those of another user its share.
            let places = "calls-waiting-for-leave" + (geteuid() == 0 ? "" : "-per-user")
            let limit = Int(try #require(CallLimits.table[places]))
            // One caller alone may not have so many open.
            let callers = try (0...(limit / CallLimits.outstanding)).map { _ in try station.client() }
            // Their user is known from now on.
            object.isSlow = false
            object.refusal = nil
            for caller in callers { _ = try caller.callAndWait(target, "Where").read(String.self) }
            object.isSlow = true
            for number in 0..<(limit + 10) {
                callers[number % callers.count].call(target, "Where") { ends.append($0.errorName()) }
            }
            try station.until("guardian") { object.asked.count == limit + 10 }
            try station.until("refusals") { ends.count == 10 }
            #expect(ends == Array(repeating: standard("LimitsExceeded"), count: 10))
            ends = []
            // Half of them hear, and the others' guardian forgets them; one is asked twice.
            for answer in object.asked.prefix(limit / 2) { answer(nil) }
            object.asked[0](.accessDenied("changed my mind"))
            object.asked = []
            try station.until("answers") { ends.count == limit }
            #expect(ends.count { $0.isEmpty } == limit / 2)
            // The places are free again.
            object.isSlow = false
            object.refusal = nil
            #expect(try client.callAndWait(target, "Where").read(String.self) == "gallery")
            object.isSlow = true
            var last = ""
            client.call(target, "Where") { last = $0.errorName() }
            try station.until("guardian") { object.asked.count == 1 }
            // Leave that comes when the object is gone is leave for nothing.
            station.connection.unexport(try #require(station.connection.objects.object(at: Gallery.guarded)))
            object.asked[0](nil)
            try station.until("answer") { !last.isEmpty }
            #expect(last == standard("UnknownObject"))
        }

        /// Whose a connection is has to be asked at its first call. Many who are new at once keep each other from nothing.
        @Test func manyNewConnectionsDenyNobody() throws {
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let target = CallTarget(Station.name, Gallery.guarded, "org.example.Gallery")
            let callers = try (0..<6).map { _ in try station.client() }
            var ends: [String] = []
            // More than may wait for leave.
            for caller in callers {
                for _ in 0..<50 { caller.call(target, "Where") { ends.append($0.errorName()) } }
            }
            let other = try station.client()
            other.call(target, "Where") { ends.append($0.errorName()) }
            try station.until("answers") { ends.count == 301 }
            #expect(ends.filter { !$0.isEmpty } == [])
            // Once for each.
            #expect(station.connection.incoming.unknown.asked == 7)
        }

        @Test func keptCallsDoNotStopTheReading() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            // More than libdbus may hold before it stops reading.
            let block = [UInt8](repeating: 1, count: 3 << 20)
            for _ in 0..<5 { client.call(Gallery.target, "Keep", block) { _ in } }
            try station.until("calls") { object.kept.count == 5 }
            #expect(try client.callAndWait(Gallery.target, "Where", timeout: 5_000).read(String.self) == "gallery")
            // Nor does what was read stay with us until it is answered.
            #expect(object.kept.allSatisfy { $0.message.size < 1_024 })
            object.kept = []
        }

        @Test func aCallThatWaitsForLeaveIsLittle() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let client = try station.client()
            let target = CallTarget(Station.name, Gallery.guarded, "org.example.Gallery")
            // It is known from now on whose the connection is: its guardian is asked at once.
            _ = try client.callAndWait(target, "Where").read(String.self)
            object.isSlow = true
            var ends: [String] = []
            for size in [ObjectTree.waitingBytes / 2, ObjectTree.waitingBytes] {
                client.call(target, "Keep", [UInt8](repeating: 1, count: size)) { ends.append($0.errorName()) }
            }
            try station.until("guardian") { object.asked.count == 2 }
            try station.until("refusal") { ends.count == 1 }
            #expect(ends == [standard("LimitsExceeded")])
            // One that waits is whole until it is read, and no longer.
            for answer in object.asked { answer(nil) }
            #expect(object.kept.count == 1 && object.kept.allSatisfy { $0.message.size < 1_024 })
            for call in object.kept { call.reply("read") }
            try station.until("answer") { ends.count == 2 }
            #expect(ends[1].isEmpty)
        }
    }
}
