import DBus
import Motion
import Protocol

extension JostleApp {
    /// Keeps the app going in the background while `body` runs, for as long as policy allows.
    ///
    ///     try client.withAssertion("save") { assertion in
    ///         for page in pages where !assertion.isEnded { page.save() }
    ///     }
    ///
    /// - Parameter warning: How long before the end `onExpiring` is called; nothing is called while `body` does not let the
    ///   client `dispatch`.
    /// - Throws: What `body` throws, or a `JostleError` when the broker refuses.
    public func withAssertion<Result>(
        _ name: String, warning: Duration = .seconds(5), _ body: (borrowing Assertion) throws -> Result
    ) throws -> Result {
        let assertion = try self.beginAssertion(name, warning: warning)
        return try body(assertion)
    }

    /// Begins an assertion, which lasts until the value goes, or its time is over, or the app is in the foreground again.
    public func beginAssertion(_ name: String, warning: Duration = .seconds(5)) throws(JostleError) -> Assertion {
        let options: [String: Value] = [HeldKey.warning: .uint64((Timestamp.zero + TimeSpan(warning)).wire)]
        let (descriptor, inForce) = try self.ask { (link) throws(BusError) in
            try link.ask("BeginAssertion", name, options).read(reply: WireDescriptor.self, [String: Value].self)
        }
        var deadline: UInt64?
        if case .uint64(let time) = inForce[HeldKey.deadline] { deadline = time }
        return Assertion(name, Self.number(inForce), deadline: deadline, try Lifeline(descriptor))
    }

    /// Says that the app is at work in a mode: audio, location, bluetooth, fetch, processing, voip or push.
    ///
    ///     let sound = try client.beginActivity("audio", class: "playback", mixesWithOthers: true)
    ///
    /// - Parameter class: a class of sessions that policy has; `onSession` is told how it stands beside those of other apps.
    /// - Parameter mixesWithOthers: this one mixes, whatever its class does.
    public func beginActivity(
        _ mode: String, class name: String? = nil, mixesWithOthers: Bool = false
    ) throws(JostleError) -> Activity {
        var options: [String: Value] = [:]
        if let name { options = [HeldKey.sessionClass: .string(name), HeldKey.mixes: .boolean(mixesWithOthers)] }
        let (descriptor, inForce) = try self.ask { (link) throws(BusError) in
            try link.ask("BeginActivity", mode, options).read(reply: WireDescriptor.self, [String: Value].self)
        }
        return Activity(mode, Self.number(inForce), try Lifeline(descriptor))
    }

    private static func number(_ inForce: [String: Value]) -> UInt64 {
        if case .uint64(let number) = inForce[HeldKey.number] { number } else { 0 }
    }

    /// How long the app can go on as things are; `nil`: nothing ends it.
    public func backgroundTimeRemaining() throws(JostleError) -> Duration? {
        let value = try self.ask { (link) throws(BusError) in try link.property("BackgroundTimeRemaining") }
        guard case .uint64(let time) = value, time < .max else { return nil }
        return .microseconds(Int64(clamping: time))
    }
}
