import BusGrammar
import Glibc

/// Some guests who talk at the daemons across one another, and what is wrong with what they hear.
final class Talk {
    private struct Count { var sent = 0, answered = 0, refused = 0 }

    private let grammar: BusGrammar
    private let methods: [BusGrammar.Member]
    private let signals: [BusGrammar.Member]
    private let address: String
    /// The names of the daemons, and who has them.
    private let daemons: [(name: String, unique: String)]
    private var babble: Babble
    private var guests: [Guest] = []
    private let watch: Watch
    private var counts: [Count]
    private var sent = 0
    private var closed = 0
    private var problems = 0

    private static let mostGuests = 12
    /// How many of its calls wait for answers: some have more than a daemon lets wait.
    private static let windows = [8, 32, 32, 200]
    private static let apps = (0..<8).map { "org.example.Stranger\($0)" }
    /// How long an answer may take, in milliseconds.
    private static let patience = 10_000

    init(_ grammar: BusGrammar, at address: String, daemons: [String], seed: UInt64) {
        (self.grammar, self.address) = (grammar, address)
        (self.methods, self.signals) = (grammar.methods, grammar.signals)
        self.counts = Array(repeating: Count(), count: self.methods.count)
        self.babble = Babble(grammar, apps: Self.apps, seed: seed)
        self.babble.numbers = [1]
        self.watch = Watch(address, daemons)
        self.daemons = daemons.map { ($0, Watch.owner(of: $0, at: address)) }
        self.guests = (0..<Self.mostGuests).map { Guest(address, most: Self.windows[$0 % Self.windows.count]) }
        self.nameApps()
        self.own("org.gnome.Shell", by: self.shell)
    }

    private func nameApps() {
        self.babble.apps =
            Self.apps + Self.apps + self.guests.map(\.peer.unique) + [
                "", "org.example.Nobody", "no app", "org.gnome.Shell",
            ]
    }

    // MARK: Talking

    func run(messages: Int) {
        while self.sent < messages {
            self.say()
            if self.sent % 32 == 0 { self.listen(waiting: 0) }
        }
        self.finish()
    }

    /// Whose turn it is, with room for more.
    private func turn() -> Guest { self.turn(of: self.babble.one(of: self.guests)) }

    private func turn(of guest: Guest) -> Guest {
        if guest.peer.isClosed {
            self.closed += 1
            self.leave(guest)
        }
        if guest.isFull { guest.isReading = true }
        let end = now() + Int64(Self.patience) * 1_000
        while guest.isFull, !guest.peer.isClosed {
            self.listen(waiting: 10)
            if now() > end {
                self.problem("no room for more: \(self.names(guest.openCalls)) are not answered")
                self.leave(guest)
            }
        }
        return guest
    }

    /// Who is believed about windows.
    private var shell: Guest { self.guests[0] }

    private func leave(_ guest: Guest) {
        guest.leave()
        self.nameApps()
        if guest === self.shell { self.own("org.gnome.Shell", by: guest) }
    }

    private func send(_ message: BusMessage, from guest: Guest, as method: Int? = nil) {
        guest.send(message, as: method)
        self.sent += 1
        if let method { self.counts[method].sent += 1 }
    }

    private func say() {
        let guest = self.turn()
        switch self.babble.below(100) {
        case 0..<68: self.call(self.babble.below(self.methods.count), from: guest)
        case 68..<74: self.callWhatAllHave(from: guest)
        case 74..<80: self.signal(from: guest)
        case 80..<86: self.answer(from: guest)
        case 86..<96: self.beginSomething(from: guest)
        case 96: guest.isReading.toggle()
        case 97: self.name(from: guest)
        case 98 where self.babble.once(in: 8): self.leave(guest)
        default: self.call(self.babble.below(self.methods.count), from: guest)
        }
    }

    // MARK: Calls

    private func destination(of interface: String) -> (name: String, unique: String) {
        let own = self.daemons.first { interface == $0.name || interface.hasPrefix($0.name + ".") }
        return self.babble.once(in: 50) ? self.babble.one(of: self.daemons) : own ?? self.daemons[0]
    }

    private func path(of interface: String, for guest: Guest? = nil) -> String {
        if self.babble.once(in: 30) { return self.babble.path() }
        if let guest, interface == "org.jostle.Broker1.App", !self.babble.once(in: 3) {
            return Babble.object(of: guest.app ?? guest.peer.unique)
        }
        return switch interface {
        case "org.jostle.Broker1": "/org/jostle/Broker1"
        case "org.jostle.Broker1.App": Babble.object(of: self.babble.one(of: self.babble.apps))
        case "org.jostle.Sensors1": "/org/jostle/Sensors1"
        case "org.jostle.Sensors1.Sensor": "/org/jostle/Sensors1/accelerometer"
        case "org.jostle.Focus1", "org.jostle.Focus1.Shell": "/org/jostle/Focus1"
        default: "/"
        }
    }

    private func call(_ method: Int, from any: Guest) {
        let member = self.methods[method]
        let isShells = member.interface == "org.jostle.Focus1.Shell" && !self.babble.once(in: 3)
        let guest = isShells ? self.turn(of: self.shell) : any
        let (name, unique) = self.destination(of: member.interface)
        var message = BusMessage.call(
            self.babble.once(in: 5) ? unique : name, self.path(of: member.interface, for: guest),
            member.interface, member.name)
        self.babble.descriptors =
            self.babble.once(in: 50) ? 1 + self.babble.below(self.babble.once(in: 10) ? 16 : 2) : 0
        message.descriptors = self.babble.descriptors
        self.babble.fill(&message, as: member)
        switch self.babble.below(60) {
        case 0: message.interface = nil
        case 1: message.interface = self.babble.one(of: self.methods).interface
        case 2: message.member = self.babble.one(of: self.methods).name
        case 3, 4: message.wantsAnswer = false
        default: break
        }
        if message.interface == member.interface, message.member == member.name {
            Self.shorten(&message)
            self.send(message, from: guest, as: method)
        } else {
            self.send(message, from: guest)
        }
    }

    /// Nobody is to wait for ten seconds when it is over.
    private static func shorten(_ message: inout BusMessage) {
        guard message.member == "Mute", message.signature == "ta{sv}" else { return }
        let long = wireNumber(UInt64.self, at: 0, of: message.body.bytes[...]) ?? 0
        guard (100_000...10_000_000).contains(long) else { return }
        message.body = WireBytes()
        message.body.number(UInt64(1_000))
        message.body.array(alignedTo: 8) { _ in }
    }

    /// What every object has, and what services have besides.
    private func callWhatAllHave(from guest: Guest) {
        let to = self.babble.one(of: self.daemons)
        let (interface, member, types) = self.babble.one(of: Self.common)
        var message = BusMessage.call(
            to.name, self.path(of: self.babble.one(of: self.methods).interface), interface, member)
        if interface.hasSuffix("Properties"), !self.babble.once(in: 4) {
            let property = self.babble.one(of: self.grammar.properties)
            message.path = self.path(of: property.interface)
            message.signature = types
            message.body.string(property.interface)
            if member != "GetAll" { message.body.string(property.name) }
            if member == "Set" { self.babble.write(.variant, into: &message.body, depth: 0) }
        } else {
            self.babble.fill(&message, as: WireType.read(types) ?? [])
        }
        self.send(message, from: guest)
    }

    private static let common: [(String, String, String)] = [
        ("org.freedesktop.DBus.Properties", "Get", "ss"), ("org.freedesktop.DBus.Properties", "GetAll", "s"),
        ("org.freedesktop.DBus.Properties", "Set", "ssv"), ("org.freedesktop.DBus.Introspectable", "Introspect", ""),
        ("org.freedesktop.DBus.Peer", "Ping", ""), ("org.freedesktop.DBus.Peer", "GetMachineId", ""),
        ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects", ""),
        ("net.hadess.SensorProxy", "ClaimAccelerometer", ""),
        ("org.freedesktop.LogControl1", "Set", "s"), ("org.freedesktop.DBus", "NameHasOwner", "s"),
    ]

    // MARK: What is no call

    private func signal(from guest: Guest) {
        let to = self.babble.one(of: self.daemons)
        var message = BusMessage(.signal, to: self.babble.once(in: 10) ? nil : to.unique)
        if self.babble.once(in: 3) {
            let (path, interface, member, types) = self.babble.one(of: Self.others)
            (message.path, message.interface, message.member) = (path, interface, member)
            self.babble.fill(&message, as: WireType.read(types) ?? [])
        } else {
            let signal = self.babble.one(of: self.signals)
            message.path = self.path(of: signal.interface)
            (message.interface, message.member) = (signal.interface, signal.name)
            self.babble.descriptors = self.babble.once(in: 40) ? 1 : 0
            message.descriptors = self.babble.descriptors
            self.babble.fill(&message, as: signal)
        }
        self.send(message, from: guest)
    }

    private static let others: [(String, String, String, String)] = [
        ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", "sss"),
        ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameLost", "s"),
        ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameAcquired", "s"),
        ("/org/jostle/Broker1", "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as"),
        ("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", "b"),
        ("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "SessionRemoved", "so"),
        ("/org/freedesktop/UPower", "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as"),
        ("/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.PolicyKit1.Authority", "Changed", ""),
    ]

    /// Answers who called, or nobody, with whatever comes to mind; some of them twice.
    private func answer(from guest: Guest) {
        let number = UInt32(truncatingIfNeeded: self.babble.number())
        let to = self.babble.one(of: self.daemons)
        let isError = self.babble.once(in: 4)
        let call = guest.takeCall()
        var message = BusMessage(isError ? .error : .answer, to: call?.sender ?? to.unique)
        message.answers = call?.serial ?? max(1, number)
        if isError { message.errorName = "org.example.Error.No" }
        switch self.babble.below(4) {
        case 0, 1:
            let word = self.babble.one(of: ["consume", "pass"])
            message.signature = "s"
            message.body.string(word)
        case 2: self.babble.fill(&message, as: [.basic(UInt8(ascii: "s"))])
        default: self.babble.fill(&message, as: [self.babble.type(depth: 0)])
        }
        for _ in 0...(self.babble.once(in: 8) ? 1 : 0) { self.send(message, from: guest) }
    }

    private func bus(_ member: String, _ signature: String, _ body: (inout WireBytes) -> Void) -> BusMessage {
        var message = BusMessage.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member)
        message.signature = signature
        body(&message.body)
        return message
    }

    private func name(from guest: Guest) {
        let app = self.babble.one(of: Self.apps)
        if self.babble.once(in: 2) {
            self.send(self.bus("ReleaseName", "s") { $0.string(app) }, from: guest)
        } else {
            self.send(
                self.bus("RequestName", "su") {
                    $0.string(app); $0.number(UInt32(3))
                }, from: guest)
        }
    }

    /// The last one who asks for a name has it.
    private func own(_ app: String, by guest: Guest) {
        self.send(
            self.bus("RequestName", "su") {
                $0.string(app)
                $0.number(UInt32(3))
            }, from: guest)
    }

    // MARK: Half a conversation

    private func method(_ name: String, _ path: String, from guest: Guest, _ body: (inout WireBytes) -> Void) {
        guard let index = self.methods.firstIndex(where: { $0.fullName == name }) else { fail("no method \(name)") }
        let member = self.methods[index]
        guard let daemon = self.daemons.first(where: { name.hasPrefix($0.name + ".") }) else { return }
        var message = BusMessage.call(daemon.name, path, member.interface, member.name)
        message.signature = member.inputs.signature
        body(&message.body)
        self.send(message, from: guest, as: index)
    }

    private static func options(_ body: inout WireBytes, _ texts: [(String, String)] = [], rate: Double? = nil) {
        body.array(alignedTo: 8) { body in
            for (key, text) in texts {
                body.align(8)
                body.string(key)
                body.signature("s")
                body.string(text)
            }
            if let rate {
                body.align(8)
                body.string("rate")
                body.signature("d")
                body.number(rate.bitPattern)
            }
        }
    }

    /// Begins what makes sense, and perhaps never ends it.
    private func beginSomething(from guest: Guest) {
        // Most have a name that nobody takes from them.
        let place = self.guests.firstIndex { $0 === guest } ?? 0
        let other = self.babble.one(of: Self.apps)
        let app = self.babble.once(in: 4) ? other : Self.apps[place % Self.apps.count]
        let object = Babble.object(of: guest.app ?? guest.peer.unique)
        let sensors = "/org/jostle/Sensors1"
        // What is made of others asks for their samples, and less of them when it is asked for less.
        let sensor = "\(sensors)/\(self.babble.one(of: ["accelerometer", "motion"]))"
        let (broker, own) = ("org.jostle.Broker1", "org.jostle.Broker1.App")
        switch self.babble.below(14) {
        case 0, 1:
            // One connection is one app, for as long as it lasts.
            if guest.isNameless { self.leave(guest) }
            let name = guest.app ?? app
            guest.app = name
            self.own(name, by: guest)
            self.method("\(broker).Register", "/org/jostle/Broker1", from: guest) {
                $0.string(name); Self.options(&$0)
            }
            self.addDetector(Babble.object(of: name), from: guest)
            if self.babble.once(in: 12) { self.leave(guest) }
        case 2 where guest.app == nil:
            guest.isNameless = true
            self.method("\(broker).Register", "/org/jostle/Broker1", from: guest) {
                $0.string(""); Self.options(&$0)
            }
            self.addDetector(Babble.object(of: guest.peer.unique), from: guest)
            if self.babble.once(in: 12) { self.leave(guest) }
        case 3:
            let rate = self.babble.one(of: [20.0, 50, 200])
            self.method("org.jostle.Sensors1.Sensor.Claim", sensor, from: guest) { Self.options(&$0, rate: rate) }
            if self.babble.once(in: 3) { guest.isReading = false }
        case 4:
            self.method("org.jostle.Sensors1.Sensor.OpenStream", sensor, from: guest) { Self.options(&$0, rate: 100) }
        case 5: self.method("org.jostle.Sensors1.Sensor.Flush", sensor, from: guest) { Self.options(&$0) }
        case 6:
            self.method("org.jostle.Sensors1.Sensor.Inject", "\(sensors)/accelerometer", from: guest) {
                $0.string("shake peak=3g"); Self.options(&$0)
            }
        case 7:
            let number = self.babble.one(of: self.babble.numbers)
            let epoch = self.babble.one(of: self.babble.numbers)
            let answer = self.babble.once(in: 2) ? "consume" : "pass"
            self.method("\(own).Ack", object, from: guest) {
                $0.number(number); $0.number(epoch); $0.string(answer); Self.options(&$0)
            }
        case 8: self.method("\(own).Subscribe", object, from: guest) { Self.options(&$0) }
        case 9:
            let mode = self.babble.one(of: ["audio", "processing", "fetch", "location"])
            self.method("\(own).BeginActivity", object, from: guest) {
                $0.string(mode); Self.options(&$0)
            }
        case 10:
            self.method("\(own).BeginAssertion", object, from: guest) {
                $0.string("upload"); Self.options(&$0)
            }
        case 11:
            self.method("\(own).SubmitTask", object, from: guest) {
                $0.string("\(app).refresh"); $0.string("refresh"); Self.options(&$0, [("earliest-in", "15min")])
            }
        case 12:
            self.method("\(broker).RunTask", "/org/jostle/Broker1", from: guest) {
                $0.string(app); $0.string("\(app).refresh"); Self.options(&$0)
            }
        default:
            self.method("\(broker).Push", "/org/jostle/Broker1", from: guest) {
                $0.string(app); Self.options(&$0)
            }
        }
    }

    private func addDetector(_ object: String, from guest: Guest) {
        let name = "d\(self.babble.below(4))"
        self.method("org.jostle.Broker1.App.AddDetector", object, from: guest) {
            $0.string(name)
            Self.options(&$0, [("when", "norm(x, y, z) > 0.5g"), ("every", "100ms"), ("rest", "0s")])
        }
    }

    // MARK: Listening

    private func listen(waiting milliseconds: Int32) {
        self.watch.look()
        for guest in self.guests { guest.take { head, body, asked in self.hear(head, body, asked) } }
        guard milliseconds > 0 else { return }
        var polled = self.guests.filter { !$0.peer.isClosed }.map { guest in
            let wanted = (guest.isReading ? POLLIN : 0) | (guest.peer.backlog > 0 ? POLLOUT : 0)
            return pollfd(fd: guest.peer.socket, events: Int16(wanted), revents: 0)
        }
        _ = unsafe poll(&polled, nfds_t(polled.count), milliseconds)
    }

    private func hear(_ head: ReceivedHead, _ body: ArraySlice<UInt8>, _ asked: Int??) {
        switch head.kind {
        case 2:
            guard let asked else { return self.problem("an answer that nobody waits for, to \(head.answers)") }
            guard let method = asked else { return }
            self.counts[method].answered += 1
            if head.signature != self.methods[method].outputs {
                self.problem("\(self.methods[method].fullName) answers \(head.signature)")
            }
        case 3:
            guard let asked else {
                // A bus says so, too, of signals and of answers that it does not hand on.
                if head.sender == "org.freedesktop.DBus" { return }
                return self.problem("\(head.errorName), for which nobody waits")
            }
            if let method = asked {
                self.counts[method].refused += 1
            }
            if !head.errorName.hasPrefix("org.jostle.Error."), !head.errorName.hasPrefix("org.freedesktop.DBus.Error.")
            {
                self.problem("an error of nobody's: \(head.errorName)")
            }
            if head.errorName.hasSuffix(".NoReply") || head.errorName.hasSuffix(".ServiceUnknown") {
                self.problem("\(head.errorName) to \(self.names([asked]))")
            }
        case 4 where head.member == "Event":
            for place in [0, 8, 16] { self.learn(wireNumber(UInt64.self, at: place, of: body)) }
        default: break
        }
    }

    private func learn(_ number: UInt64?) {
        guard let number else { return }
        self.babble.numbers.append(number)
        if self.babble.numbers.count > 24 { self.babble.numbers.removeFirst(8) }
    }

    private func names(_ methods: [Int?]) -> String {
        Set(methods.map { $0.map { self.methods[$0].fullName } ?? "others" }).sorted().joined(separator: ", ")
    }

    private func problem(_ text: String) {
        self.problems += 1
        if self.problems <= 20 { print("problem \(text)") }
    }

    // MARK: The end

    /// Hears every answer that is due, and puts right for others what may be put right.
    private func finish() {
        for guest in self.guests { guest.isReading = true }
        let end = now() + Int64(Self.patience) * 1_000
        while self.guests.contains(where: { !$0.peer.isClosed && !$0.openCalls.isEmpty }), now() < end {
            self.listen(waiting: 10)
        }
        for guest in self.guests where !guest.peer.isClosed && !guest.openCalls.isEmpty {
            self.problem("never answered: \(self.names(guest.openCalls))")
        }
        self.watch.finish()
        for guest in self.guests { guest.peer.end() }
        self.putRight()
        for (method, count) in zip(self.methods, self.counts) {
            print("method \(method.fullName) \(count.sent) \(count.answered) \(count.refused)")
        }
        let uncalled = self.counts.count { $0.sent == 0 }
        let refused = self.counts.reduce(0) { $0 + $1.refused }
        let answered = self.counts.reduce(0) { $0 + $1.answered }
        print(
            "{\"sent\":\(self.sent),\"answered\":\(answered),\"refused\":\(refused),\"closed\":\(self.closed),"
                + "\"problems\":\(self.problems),\"uncalled\":\(uncalled),\"pings\":\(self.watch.answered),"
                + "\"longest_us\":\(self.watch.longest)}")
    }

    /// What strangers of the same user may say stands until somebody says otherwise.
    private func putRight() {
        let last = Guest(self.address, most: 32)
        let said: [(String, [String], Bool)] = [
            ("Resume", [], false), ("SetLock", ["unlocked"], false), ("SetForeground", [""], false),
            ("SetPlaying", [], true), ("SetFrozen", [], true),
        ]
        for (member, texts, list) in said + Self.apps.map({ ("Forget", [$0], false) }) {
            self.method("org.jostle.Broker1.\(member)", "/org/jostle/Broker1", from: last) { body in
                for text in texts { body.string(text) }
                if list { body.array(alignedTo: 4) { _ in } }
                Self.options(&body)
            }
        }
        let end = now() + Int64(Self.patience) * 1_000
        while !last.openCalls.isEmpty, now() < end { last.take { _, _, _ in } }
        if !last.openCalls.isEmpty { self.problem("nothing is put right") }
    }
}
