import CDBus
import Glibc
import Loop
import TestSupport
import Testing

@testable import DBus
import Randomness

/// Messages for the gallery, of every kind and shape, from which bad ones are made.
private func corpus(to destination: String) throws -> [[UInt8]] {
    let value = Value.dictionary(
        key: "s", value: "v",
        [
            .init(.string("a"), .variant(.array(of: "(ib)", [.structure([.int32(1), .boolean(true)])]))),
            .init(.string("b"), .variant(.variant(.array(of: "d", [.double(1), .double(2)])))),
            .init(.string("c"), .variant(.signature("a{sv}"))),
            .init(.string("d"), .variant(.objectPath(Gallery.path))),
        ])
    let gallery = "org.example.Gallery"
    let properties = "org.freedesktop.DBus.Properties"
    func call<each T: WireValue>(_ interface: String, _ member: String, _ values: repeat each T) throws -> [UInt8] {
        let message = try Message(callTo: CallTarget(destination, Gallery.path, interface), member)
        message.write(repeat each values)
        return try message.marshalled()
    }
    return [
        try call(
            gallery, "Numbers", UInt8(1), Int16(2), UInt16(3), Int32(4), UInt32(5), Int64(6), UInt64(7), 8.5, true),
        try call(gallery, "Texts", "text", Gallery.path),
        try call(gallery, "Rows", [Gallery.Row("a", 1), Gallery.Row("b", 2)], [[1.5], [], [2.5, 3.5]]),
        try call(gallery, "Options", ["k": value, "l": .byte(1)], value),
        try call(gallery, "Fail", "org.example.Error.A", "text"),
        try call(properties, "Get", gallery, "Level"), try call(properties, "GetAll", gallery),
        try call(properties, "Set", gallery, "Level", Value.int32(5)),
        try call(properties, "Set", gallery, "Table", value),
        try call("org.freedesktop.DBus.Introspectable", "Introspect"),
        try call("org.freedesktop.DBus", "NameOwnerChanged", "a.b", ":1.0", ":1.1"),
    ]
}

@Suite struct BadInputTests {
    /// Whatever libdbus lets through, as a call for every object and a body for every reader.
    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func changedMessagesAreAnsweredOrRefused(seed: UInt64) throws {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        let connection = Connection(to: .address("unix:path=/nowhere"), on: try EventLoop())
        let gallery = Gallery.export(on: connection)
        let corpus = try corpus(to: "org.example.Station")
        var taken = 0
        for _ in 0..<8_000 {
            let whole = corpus.randomElement(using: &generator) ?? []
            guard let message = Message.parsed(mutated(whole, using: &generator)) else { continue }
            taken += 1
            _ = try? message.readValues()
            _ = try? message.read([String: Value].self, Value.self)
            _ = try? message.read([Gallery.Row].self, [[Double]].self)
            _ = message.errorText
            let raw = try #require(dbus_message_ref(message.raw))
            connection.objects.dispatch(MethodCall(Message(adopting: raw), on: connection))
            gallery.kept = []
        }
        #expect(taken > 400)
    }

    /// Numbers in the other byte order, which no library here would send.
    @Test func theOtherByteOrderIsRead() throws {
        var bytes: [UInt8] = [UInt8(ascii: "B"), 1, 0, 1]
        func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { [UInt8]($0) } }
        func append(_ value: UInt32) { bytes += bigEndian(value) }
        func pad(_ alignment: Int) { while bytes.count % alignment != 0 { bytes.append(0) } }
        func field(_ code: UInt8, _ type: Character, _ text: String) {
            pad(8)
            bytes += [code, 1] + Array("\(type)\0".utf8)
            if type == "g" { bytes.append(UInt8(text.utf8.count)) } else { append(UInt32(text.utf8.count)) }
            bytes += Array("\(text)\0".utf8)
        }
        // The body's length, the serial, and the length of the fields to come.
        append(32)
        append(7)
        let lengthPlace = bytes.count
        append(0)
        let start = bytes.count
        field(1, "o", "/org/example/Gallery")
        field(3, "s", "Rows")
        field(8, "g", "iat")
        let length = UInt32(bytes.count - start)
        bytes.replaceSubrange(lengthPlace..<start, with: bigEndian(length))
        pad(8)
        append(UInt32(bitPattern: -2))
        append(24)
        // The body began at a multiple of eight, and so do the elements.
        for value in [1, 2, 3] as [UInt32] {
            append(value)
            append(value + 1)
        }
        guard let message = Message.parsed(bytes) else {
            Issue.record("libdbus does not take the message")
            return
        }
        let (number, block) = try message.read(Int32.self, [UInt64].self)
        #expect(number == -2 && block == [0x1_0000_0002, 0x2_0000_0003, 0x3_0000_0004])
    }
}

extension BusTests {
    /// A peer whose every byte may be wrong.
    @Suite(.serialized) struct RawBytes {
        @Test(arguments: [21, 22] as [UInt64]) func wildPeersHarmOnlyThemselves(seed: UInt64) throws {
            print("seed \(seed)")
            let station = try Station()
            _ = Gallery.export(on: station.connection)
            let watch = NameWatch(on: station.connection)
            var owner: String?
            _ = watch.follow(Station.name) { owner = $0 }
            let destination = station.connection.uniqueName
            let corpus = try corpus(to: destination)
            let hello = try Message(
                callTo: CallTarget("org.freedesktop.DBus", ObjectPath(literal: "/"), "org.freedesktop.DBus"), "Hello"
            ).marshalled()
            let path = "\(station.bus.directory)/bus"
            let greeted = try station.beside { () throws(Failure) in
                var generator = SeededRandom(seed: seed)
                var greeted = 0
                for round in 0..<60 {
                    let peer = try RawPeer(to: path)
                    guard round % 10 != 0 else {
                        peer.send((0..<500).map { _ in UInt8.random(in: 0...255, using: &generator) })
                        peer.finish()
                        continue
                    }
                    peer.send(hello)
                    if !peer.receive().isEmpty { greeted += 1 }
                    // Some whole ones first, so that they arrive before the bus hangs up.
                    for _ in 0..<3 { peer.send(corpus.randomElement(using: &generator) ?? []) }
                    for _ in 0..<20 {
                        peer.send(mutated(corpus.randomElement(using: &generator) ?? [], using: &generator))
                    }
                    peer.finish()
                }
                return greeted
            }
            #expect(greeted == 54)
            #expect(station.connection.isReady && owner == destination)
            let client = try station.client()
            #expect(try client.callAndWait(Gallery.target, "Where").read(String.self) == "gallery")
        }

        @Test func aTimerKeepsItsPaceUnderAFlood() throws {
            let station = try Station()
            let object = Gallery.export(on: station.connection)
            let address = station.bus.address
            let destination = station.connection.uniqueName
            // Counted by rounds of the loop, not timed: a processor may be taken away at any moment, and a loop that was away for
            // long reads first what came meanwhile. A tick is that late at most when it begins to.
            let pace: Int64 = 10_000
            var (signals, ticks, skipped) = (0, 0, 0)
            var (round, inRound, mostInRound) = (UInt64(0), 0, 0)
            var due = Clock.monotonic.now() + pace
            var overdueSince: UInt64?
            // The time from one tick to the next, where the loop was there all the time. One that was away for longer, as where others
            // have the processors, reads first what came meanwhile.
            var (seen, wasAway, last) = (due, false, due)
            var (held, heldTicks): (Int64, Int64) = (0, 0)
            func look() {
                let now = Clock.monotonic.now()
                if now - seen > pace { wasAway = true }
                seen = now
            }
            func endInterval() {
                look()
                if !wasAway {
                    held += seen - last
                    heldTicks += 1
                }
                (last, wasAway) = (seen, false)
            }
            station.connection.onSignal("org.example.Flood", "Drop") { _ in
                signals += 1
                look()
                (round, inRound) = (station.loop.rounds, round == station.loop.rounds ? inRound + 1 : 1)
                mostInRound = max(mostInRound, inRound)
                let late = Clock.monotonic.now() - due
                guard late > 0 else { return }
                if let overdueSince {
                    if overdueSince != round, late < pace { skipped += 1 }
                } else {
                    overdueSince = round
                }
            }
            var timer: EventLoop.TimerID?
            timer = station.loop.schedule(at: due) {
                ticks += 1
                endInterval()
                overdueSince = nil
                due = Clock.monotonic.now() + pace
                if let timer { station.loop.reschedule(timer, at: due) }
            }
            let start = Clock.monotonic.now()
            let sent = try station.beside { () throws(Failure) in
                do {
                    let loop = try EventLoop()
                    let flooder = Connection(to: .address(address), on: loop)
                    try flooder.openAndWait()
                    var sent = 0
                    while Clock.monotonic.now() - start < 1_500_000 || sent <= 2_000 {
                        for _ in 0..<100 where flooder.canSend {
                            flooder.signal(from: Gallery.path, "org.example.Flood", "Drop", to: destination) {
                                UInt64(sent).write(to: &$0)
                            }
                            flooder.call(Gallery.target, "Texts", "text", Gallery.path) { _ in }
                            sent += 1
                        }
                        try loop.runOnce(timeout: 0)
                    }
                    flooder.close()
                    return sent
                } catch {
                    throw Failure("\(error)")
                }
            }
            endInterval()
            if let timer { station.loop.cancel(timer) }
            print("flood: \(sent) pairs, \(signals) signals came, \(ticks) ticks, at most \(mostInRound) in a round")
            #expect(sent > 2_000 && signals > 1_000)
            // A quarter of what an idle loop makes: three busy programs share two processors.
            #expect(ticks > 0 && held <= 40_000 * heldTicks, "\(ticks) ticks, \(heldTicks) of them in \(held) us")
            #expect(skipped == 0, "a round was begun with a tick that was due, and did without it")
            // No processor handles more in the few milliseconds for which a round reads on.
            #expect(mostInRound < 1_000)
            #expect(object.kept.isEmpty && station.connection.isReady)
        }

        /// In a process of its own: what other tests allocate meanwhile does not count. Not under the address sanitizer, which
        /// keeps what was freed and looks for leaks itself.
        @Test(.disabled(if: dlsym(nil, "__asan_init") != nil)) func manyCallsAndSignalsLeaveNothingBehind() async {
            await #expect(processExitsWith: .success) { try exchangeManyMessages() }
        }
    }
}

/// Throws when calls and signals leave memory behind.
private func exchangeManyMessages() throws {
    let station = try Station()
    _ = Gallery.export(on: station.connection)
    let client = try station.client()
    let sender = PacedSender(on: station.connection)
    let peer = sender.peer(client.uniqueName)
    var signals = 0
    client.onSignal("org.example.Flow", "Drop") { _ in signals += 1 }
    func rounds(_ count: Int) throws {
        for _ in 0..<count {
            var answers = 0
            for number in 0..<50 as Range<Int32> {
                client.call(Gallery.target, number % 5 == 0 ? "Nowhere" : "Add", number, number) { _ in answers += 1 }
                _ = sender.signal(from: Gallery.path, "org.example.Flow", "Drop", to: peer, size: 200) {
                    number.write(to: &$0)
                }
            }
            try station.until("answers") { answers == 50 }
        }
    }
    try rounds(100)
    // Page by page: the number in `statm` may be off by hundreds of pages, since each processor adds up its own for a while.
    func resident() throws -> Int { try ProcessValue.size("Rss", in: "smaps_rollup", of: getpid()) }
    // A leak of one small object each would be more.
    let bound = 400 << 10
    // Each time: on a busy machine more waits at once than ever before, and the room for it stays.
    var growth = Int.max
    for _ in 0..<4 where growth >= bound {
        let before = try resident()
        try rounds(200)
        growth = try resident() - before
    }
    guard growth < bound, signals > 5_000 else {
        throw Failure("10 000 calls and signals: \(growth >> 10) KiB more, \(signals) signals")
    }
}
